import pytest

from hookline.model.hook import Hook
from hookline.trust.reachability import Reachability, analyse_reach


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("make lint", ("make",)),
        ("cd x && python3 y.py 2>&1 | grep -v foo > out.txt", ("python3", "grep")),
        ("X=1 env -i node a.js", ("env", "node")),
        ("bash -c 'curl x | sh'", ("bash", "curl", "sh")),
        ("if true; then node x; fi", ("node",)),
        ('echo "$(whoami)" `date`', ("whoami", "date")),
        ("diff <(sort a) <(uniq b)", ("sort", "uniq", "diff")),
        ("/usr/bin/python3 x", ("/usr/bin/python3",)),
        ("timeout 5s node x", ("timeout", "node")),
        ("one\ntwo # three", ("one", "two")),
        ("echo 'not closed", ("echo", "not", "closed")),
        ("./x.sh", ()),
        ("find . -exec sed -n 1p {} +", ("find", "sed")),
        ("env echo a; command ls; xargs printf", ("env", "echo", "ls", "xargs", "printf")),
        ("tool 'node x.js'", ("tool", "node")),
    ],
)
def test_programs_of_a_line_are_found(line: str, wanted: tuple[str, ...]) -> None:
    assert analyse_reach(Hook(id="h", command=line), "/w").programs == wanted


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("node", "x.js", "test"), ("node",)),
        (("env", "A=1", "node", "x.js"), ("env", "node")),
        (("/bin/sh", "-c", "curl x | node"), ("/bin/sh", "curl", "node")),
        (("hooks/x.sh", "curl"), ()),
    ],
)
def test_programs_of_words_are_found(words: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    assert analyse_reach(Hook(id="h", command=words[0], args=words[1:]), "/w", is_line=False).programs == wanted


@pytest.mark.parametrize(
    "line",
    [
        "jq . >> log.txt",
        "jq . 2>log.txt | cat",
        "jq . &> 'log.txt'",
        'bash -c "jq . > log.txt"',
        'jq . >| "$PWD"/log.txt 2>&1',
    ],
)
def test_file_that_is_only_written_is_no_part_of_a_hook(line: str) -> None:
    assert "/w/log.txt" not in analyse_reach(Hook(id="h", command=line), "/w").files


@pytest.mark.parametrize("line", ["cat > x.sh; bash x.sh", "jq . >> log; . ./x.sh", "bash <x.sh >out", "x.sh>>log"])
def test_file_that_is_also_read_is_part_of_a_hook(line: str) -> None:
    assert "/w/x.sh" in analyse_reach(Hook(id="h", command=line), "/w").files


def test_name_behind_a_link_counts_in_both_readings() -> None:
    files = analyse_reach(Hook(id="h", command="bash", args=("link/../x.sh",)), "/w").files

    assert "/w/x.sh" in files
    assert "/w/link/../x.sh" in files


def test_hook_without_a_command_reaches_nothing() -> None:
    assert analyse_reach(Hook(id="h", url="https://example.org"), "/w").files == ()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ('case $(cat) in *"rm -rf"*) echo no >&2; exit 2;; esac', ()),
        ('[[ $(cat) == *"rm -rf"* ]] && exit 2', ()),
        ('lint "$1" docs/*.md', ()),
        ("case $x in *.md) sh *.sh;; esac", ("/w/*.sh",)),
        ("for f in *.sh; do ./$f; done", ("/w/*.sh",)),
        ('for f in *.sh; do sh "$CLAUDE_PROJECT_DIR/$f"; done', ("/w/*.sh",)),
        ('eval "$(cat *.sh)"', ("/w/*.sh",)),
        ('sh -c "$(cat *.sh)"', ("/w/*.sh",)),
        ('timeout 5 "$tool" *.sh', ("/w/*.sh",)),
        ("cat *.sh | sh", ("/w/*.sh",)),
    ],
)
def test_only_patterns_of_what_is_run_are_looked_for(line: str, wanted: tuple[str, ...]) -> None:
    assert analyse_reach(Hook(id="h", command=line), "/w").patterns == wanted


@pytest.mark.parametrize("line", ['sh "$CURSOR_PROJECT_DIR"/x.sh', 'cd "$CURSOR_PROJECT_DIR" && sh x.sh'])
def test_folder_of_the_project_is_also_the_one_that_the_agent_above_us_named(
    monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("CURSOR_PROJECT_DIR", "/other")

    found = analyse_reach(Hook(id="h", command=line), "/w")

    assert {"/w/x.sh", "/other/x.sh"} <= set(found.files)


def started(*words: str, line: str = "") -> set[str]:
    hook = Hook(id="h", command=line or words[0], args=words[1:])
    found = analyse_reach(hook, "/w", is_line=bool(line)).started
    return {*found.files, *found.operands}


@pytest.mark.spec("U-10", "O-12")
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("python3", "/me/guard.py", "check"), "check.sh"),
        (("python3", "/me/guard.py", "check"), "check"),
        (("python3", "-u", "/me/guard.py", "--mode", "strict"), "strict.js"),
        (("node", "/me/guard.js", "--mode", "strict"), "strict.js"),
        (("/me/guard", "lint.py"), "lint.sh"),
        (("sh", "/me/guard.sh", "./x.sh"), "x.sh"),
        (("sh", "-c", "exit 2", "x.sh"), "x.sh"),
        (("python3", "-c", "print(1)", "x.py"), "x.py"),
        (("bash", "-c", "grep -q x.sh && exit 2"), "x.sh"),
        (("env", "A=1", "timeout", "5", "perl", "/me/guard.pl", "x.pl"), "x.pl"),
        (("jq", "-e", "x.sh"), "x.sh"),
    ],
)
def test_words_behind_a_script_are_data(words: tuple[str, ...], name: str) -> None:
    assert f"/w/{name}" not in started(*words)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("python3", "guard.py"), "guard.py"),
        (("python3", "-u", "-W", "error", "guard.py", "check"), "guard.py"),
        (("python3", "tool"), "tool/__main__.py"),
        (("node", "guard"), "guard.js"),
        (("node", "--require", "./hook.js", "/me/guard.js"), "hook.js"),
        (("env", "A=1", "timeout", "5", "sh", "guard.sh"), "guard.sh"),
        (("bash", "-c", "cd sub && ./tool x"), "sub/tool"),
        (("bash", "--rcfile", "rc.sh", "-i"), "rc.sh"),
        (("unknown-runner", "hook.js"), "hook.js"),
        (("unknown-runner", "--file=./x.sh"), "x.sh"),
        (("find", ".", "-exec", "./x.sh", "{}", "+"), "x.sh"),
    ],
)
def test_file_that_a_command_starts_is_found(words: tuple[str, ...], name: str) -> None:
    assert f"/w/{name}" in started(*words)


@pytest.mark.parametrize(
    "line",
    [
        "grep -q x.sh && exit 2",
        'grep -q "run x.sh" && exit 2',
        "case $(cat) in x.sh|*/x.sh) exit 2;; esac",
        '[[ $(cat) == *" x.sh "* ]] && exit 2',
        "jq -e '.command | test(\"x.sh\")' && { echo x.sh >&2; exit 2; }",
        "if cat | grep -q x.sh; then exit 2; fi",
        "python3 ~/guard.py ./x.sh",
        "/me/guard x.sh >/dev/null || exit 2",
        "[ -e x.sh ] && exit 2",
    ],
)
def test_name_in_a_line_that_nothing_runs_is_data(line: str) -> None:
    # of the words given to an unknown program, only an existing script counts
    hook = Hook(id="h", command=line)
    assert "/w/x.sh" not in analyse_reach(hook, "/w").started.files


@pytest.mark.parametrize(
    "line",
    [
        "./x.sh",
        "sh x.sh",
        "sh <x.sh",
        ". ./x.sh",
        'echo "step # 1"; . ./x.sh',
        "grep -q x.sh && sh x.sh",
        'echo "$(sh x.sh)"',
        "echo `./x.sh`",
        "case $(./x.sh) in a) exit 2;; esac",
        'case "$(./x.sh)" in a) exit 2;; esac',
        "cat x.sh | sh",
        'x=./x.sh; "$x"',
        'x=./x.sh; eval "$x"',
        "uv run x.sh",
        'sh "$(git rev-parse --show-toplevel)"/x.sh',
        "$(git rev-parse --show-toplevel)/x.sh",
        'sh "$CLAUDE_PROJECT_DIR"/x.sh',
        "tool --file=./x.sh",
        "sh x.sh # don't",
        'echo "$(sh x.sh # don\'t\n)"',
        "bash -c 'grep -q y && ./x.sh'",
        "cd . && ./x.sh",
        "cd /tmp; cd /w && ./x.sh",
        "[ -x x.sh ] && ./x.sh",
        "for f in 1 2; do ./x.sh $f; done",
        "f() { ./x.sh; }; f",
    ],
)
def test_name_in_a_line_that_could_be_run_is_found(line: str) -> None:
    assert "/w/x.sh" in started(line=line)


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("line", ["echo no >&2; exit 2", "test -f x && printf a; true", "[ 1 = 1 ] && exit 2; :"])
def test_builtins_of_the_shell_are_not_looked_up(line: str) -> None:
    assert analyse_reach(Hook(id="h", command=line), "/w").started.programs == ()


def reach_line(line: str) -> Reachability:
    return analyse_reach(Hook(id="h", command=line), "/w")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cd a && x", ["/w/a"]),
        ("cd a; cd b; x", ["/w/a", "/w/b", "/w/a/b"]),
        ('cd "$PWD/my dir"; x', ["/w/my dir"]),
        ("make -Csub --directory=other x", ["/w/sub", "/w/other", "/w/sub/other"]),
        ("npm --prefix ~/x run x", ["/h/x"]),
        ("cd; x", ["/h"]),
        ("abcd x; --dirty x", []),
        ("f() { cd a; }; f; x", ["/w/a"]),
    ],
)
def test_names_are_counted_from_every_folder_that_a_line_goes_to(
    monkeypatch: pytest.MonkeyPatch, text: str, wanted: list[str]
) -> None:
    monkeypatch.setenv("HOME", "/h")

    assert {f"{folder}/x" for folder in ["/w", *wanted]} <= set(reach_line(text).files)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("sh $PWD/x ${PWD}/y", ["/w/x", "/w/y"]),
        ("a=1; sh d$a ${b:-2}", ["/w/d1", "/w/2"]),
        ("sh $(pwd)/x `pwd`/y ~/z $HOME/u", ["/w/x", "/w/y", "/h/z", "/h/u"]),
        ("sh $e/x", ["/env/x", "/w/x"]),
        ("sh $unset/a/$unset/x.sh", ["/w/a/x.sh", "/w/x.sh"]),
        ("sh {a,b}.sh", ["/w/a.sh", "/w/b.sh"]),
        ("python3 -c 'open(\"a/x.py\")'", ["/w/a/x.py"]),
        ("tool --config=a/x.sh", ["/w/a/x.sh"]),
        ("sh <<E\n. $PWD/x.sh\nE", ["/w/x.sh"]),
        ("'my x.sh'", ["/w/my x.sh"]),
    ],
)
def test_files_of_a_line_are_named(monkeypatch: pytest.MonkeyPatch, text: str, wanted: list[str]) -> None:
    for name in ("a", "b", "unset"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("e", "/env")
    monkeypatch.setenv("HOME", "/h")

    assert set(wanted) <= set(reach_line(text).files)


def test_folders_that_a_line_puts_on_its_search_path_are_found() -> None:
    found = reach_line('PATH="$PWD/bin:$PATH" x; export PATH=node_modules/.bin:${PATH}; env PATH=a:$PATH y')

    assert found.search == ("/w/bin", "node_modules/.bin", "a")


@pytest.mark.parametrize(
    "line",
    [
        "bash <<E\nPYTHONPATH=lib python3 -m pkg $D\nE",
        "cat <<E | sh\nPYTHONPATH=lib python3 -m pkg $D\nE",
        "bash -c 'PYTHONPATH=lib python3 -m pkg'",
        "export PYTHONPATH=lib; unknown-wrapper python3 -m pkg",
        "env PYTHONPATH=lib python3.12 -m pkg",
    ],
)
def test_modules_of_python_are_named_wherever_it_is_started(line: str) -> None:
    found = reach_line(line)

    assert found.python_path == ("/w/lib",)
    assert {"/w/pkg/__main__.py", "/w/lib/pkg/__main__.py"} <= set(found.files)
    assert "/w" in found.code_folders


@pytest.mark.parametrize(
    "line", ["if true; then sh x.sh", 'sh x.sh "not closed', "sh x.sh )", "case x in a) sh x.sh", "x.sh | & y"]
)
def test_every_word_of_a_line_that_cannot_be_read_counts(line: str) -> None:
    found = reach_line(line)

    assert "/w/x.sh" in found.files
    assert found.doubts


@pytest.mark.parametrize(
    "line",
    [
        "case $(cat) in *.md) exit 2;; esac",
        "case $x in (*.md|*.txt) exit 2;; *) true;; esac",
        "if true; then case $x in *.md) exit 2;; esac; fi",
        "case $x in\n  # any *.doc\n  *.md)\n    exit 2 ;;\nesac",
        "case $x in *.md) case $y in *.txt) exit 2;; esac;; esac",
        "[[ $x =~ (rm|dd).*x ]] && exit 2",
        "bash -c 'case $(cat) in *.md) exit 2;; esac'",
        "x=$(case $y in *.md) echo 1;; esac)",
        "case $x in *.md) $tool;; esac",
        "lint  src/*.js # all",
    ],
)
def test_patterns_that_are_only_compared_or_given_to_a_program_are_not_looked_for(line: str) -> None:
    assert reach_line(line).patterns == ()


@pytest.mark.parametrize(
    "line",
    [
        "case $x in *.md) sh *.sh;; esac",
        "case $(sh *.sh) in a) exit;; esac",
        "case `sh *.sh` in a) exit;; esac",
        "case x in $(sh *.sh)) exit;; esac",
        "[[ $(sh *.sh) == x ]]",
        "[[ x == *.md ]] && *.sh",
        'names=(*.sh); "${names[@]}"',
        "case $(sh -c 'shift; $1' _ in *.sh) in a) exit;; esac",
        "for case in *.sh; do $case; done",
        "echo case x in; (sh *.sh)",
        "(printf '%s' *.sh | sh)",
        "sh -c 'case x in a) esac; *.sh'",
        "bash -c 'for f in *.sh; do $X/$f; done'",
    ],
)
def test_patterns_of_what_may_run_are_looked_for(line: str) -> None:
    assert "/w/*.sh" in reach_line(line).patterns


@pytest.mark.slow
def test_long_lines_are_read_in_no_time() -> None:
    for piece in ('"$(', "case x in ", '"', "(", "[[ ", '$("', "a) ;; "):
        reach_line("case x in " + piece * (65_536 // len(piece) - 1))


@pytest.mark.parametrize(
    "line", ["set -- x y; shift; sh hooks/$1.sh", '"$tool" x', "git ls-files | xargs sh", 'eval "$x"']
)
def test_line_that_runs_what_is_only_known_at_run_time_says_so(line: str) -> None:
    assert "runs what is only known when it runs" in "".join(reach_line(line).doubts)


@pytest.mark.parametrize(
    "line",
    ['sh "$CLAUDE_PROJECT_DIR"/x.sh', 'sh "$(git rev-parse --show-toplevel)"/x.sh', "ls | xargs grep x", "sh x.sh $1"],
)
def test_line_whose_scripts_are_known_says_nothing(line: str) -> None:
    assert reach_line(line).doubts == ()
