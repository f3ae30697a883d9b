import pytest

from hookline.core.closure import reach
from hookline.model.hook import Hook


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("make lint", ("make",)),
        ("cd x && python3 y.py 2>&1 | grep -v foo > out.txt", ("cd", "python3", "grep")),
        ("X=1 env -i node a.js", ("env", "node")),
        ("bash -c 'curl x | sh'", ("bash", "curl", "sh")),
        ("if true; then node x; fi", ("true", "node")),
        ('echo "$(whoami)" `date`', ("echo", "whoami", "date")),
        ("diff <(sort a) <(uniq b)", ("diff", "sort", "uniq")),
        ("/usr/bin/python3 x", ("/usr/bin/python3",)),
        ("timeout 5s node x", ("timeout", "node")),
        ("one\ntwo # three", ("one", "two")),
        ("echo 'not closed", ("echo", "not", "closed")),
        ("./x.sh", ()),
    ],
)
def test_programs_of_a_line_are_found(line: str, wanted: tuple[str, ...]) -> None:
    assert reach(Hook(id="h", command=line), "/w").programs == wanted


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
    assert reach(Hook(id="h", command=words[0], args=words[1:]), "/w").programs == wanted


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
    assert "/w/log.txt" not in reach(Hook(id="h", command=line), "/w").files


@pytest.mark.parametrize("line", ["cat > x.sh; bash x.sh", "jq . >> log; . ./x.sh", "bash <x.sh >out", "x.sh>>log"])
def test_file_that_is_also_read_is_part_of_a_hook(line: str) -> None:
    assert "/w/x.sh" in reach(Hook(id="h", command=line), "/w").files


def test_name_behind_a_link_counts_in_both_readings() -> None:
    files = reach(Hook(id="h", command="bash", args=("link/../x.sh",)), "/w").files

    assert "/w/x.sh" in files
    assert "/w/link/../x.sh" in files


def test_hook_without_a_command_reaches_nothing() -> None:
    assert reach(Hook(id="h", url="https://example.org"), "/w").files == ()


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
    assert reach(Hook(id="h", command=line), "/w").patterns == wanted


@pytest.mark.parametrize(
    "line",
    [
        "grep -q x.sh && exit 2",
        'grep -q "run x.sh" && exit 2',
        "case $(cat) in x.sh|*/x.sh) exit 2;; esac",
        '[[ $(cat) == *" x.sh "* ]] && exit 2',
        "jq -e '.command | test(\"x.sh\")' && { echo x.sh >&2; exit 2; }",
        "if cat | grep -q x.sh; then exit 2; fi",
    ],
)
def test_name_that_is_only_looked_for_is_data(line: str) -> None:
    assert "/w/x.sh" in reach(Hook(id="h", command=line), "/w").data


@pytest.mark.parametrize(
    "line",
    [
        "./x.sh",
        "sh x.sh",
        "grep -q x.sh && sh x.sh",
        'echo "$(sh x.sh)"',
        "echo `./x.sh`",
        "case $(./x.sh) in a) exit 2;; esac",
        'case "$(./x.sh)" in a) exit 2;; esac',
        "echo x.sh | sh",
        "echo x.sh | xargs -n1 timeout 5",
        'x=x.sh; "$x"',
        'x=x.sh; eval "$x"',
        "uv run x.sh",
        'sh "$(git rev-parse --show-toplevel)"/x.sh',
        "$(git rev-parse --show-toplevel)/x.sh",
        "tool --file=./x.sh",
        "sh x.sh # don't",
        'echo "$(sh x.sh # don\'t\n)"',
        "bash -c 'grep -q y && ./x.sh'",
        "cd . && ./x.sh",
        "[ -x x.sh ] && ./x.sh",
    ],
)
def test_name_that_could_be_run_is_no_data(line: str) -> None:
    assert "/w/x.sh" not in reach(Hook(id="h", command=line), "/w").data


@pytest.mark.parametrize("line", ['sh "$CURSOR_PROJECT_DIR"/x.sh', 'cd "$CURSOR_PROJECT_DIR" && sh x.sh'])
def test_folder_of_the_project_is_also_the_one_that_the_agent_above_us_named(
    monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("CURSOR_PROJECT_DIR", "/other")

    found = reach(Hook(id="h", command=line), "/w")

    assert {"/w/x.sh", "/other/x.sh"} <= set(found.files)
    assert not {"/w/x.sh", "/other/x.sh"} & found.data
    assert {"/w/x.sh", "/other/x.sh"} <= {path for paths in found.scripts for path in paths}
