"""What shell lines do. Wherever a list is not said to be vague, nothing may be missing in it."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.effects.effects import EVERYTHING, MOST, Effects, Target
from hookline.shell.programs import PROGRAMS
from hookline.shell.reader import LONGEST
from tests.effects.calls import done, line
from tests.helpers.each import each

WRITES = frozenset({"writes"})
READS = frozenset({"reads"})
DELETES = frozenset({"writes", "deletes"})


def exact(command: str, **lists: str | frozenset[str]) -> object:
    """Write down the effects of one line; paths are counted from the folder it runs in."""
    return pytest.param(command, lists, id=command)


@each(
    ("command", "lists"),
    [
        exact("ls"),
        exact("ls -la src docs"),
        exact("pwd; whoami && true"),
        exact("cat a.txt | head -n 5 | wc -l", reads="/p/a.txt"),
        exact("cat 'a b'\"c\"d", reads="/p/a bcd"),
        exact("cat < in.txt > out.txt", reads="/p/in.txt", writes="/p/out.txt"),
        exact("echo x >> log 2>&1", writes="/p/log"),
        exact("echo x >|log", writes="/p/log"),
        exact("echo x &> all", writes="/p/all"),
        exact("echo x >& all", writes="/p/all"),
        exact("echo x 2> err 1>out", writes="/p/err /p/out"),
        exact("ls 2>/dev/null >/dev/stderr"),
        exact("> made", writes="/p/made"),
        exact("cat > new", writes="/p/new"),
        exact("echo x | tee -a one two", writes="/p/one /p/two"),
        exact("touch a ../b /c ~/d '~/e'", writes="/p/a /b /p/../b /c ~/d /p/~/e"),
        exact("mkdir -p a/b", writes="/p/a/b"),
        exact("rm -f a b", writes="/p/a /p/b", deletes="/p/a /p/b"),
        exact("/bin/rm a", writes="/p/a", deletes="/p/a"),
        exact("rm -- -r", writes="/p/-r", deletes="/p/-r"),
        exact("rmdir a", writes="/p/a", deletes="/p/a"),
        exact("rm -rf build", writes="/p/build", deletes="/p/build"),
        exact("rm out/*.o", writes="/p/out/*.o", deletes="/p/out/*.o"),
        exact("cat src/*.py", reads="/p/src/*.py"),
        exact("cp a b", reads="/p/a", writes="/p/b /p/b/a"),
        exact("cp a b dir/", reads="/p/a /p/b", writes="/p/dir /p/dir/a /p/dir/b"),
        exact("cp -r a b", reads="/p/a", writes="/p/b /p/b/a"),
        exact("mv a b", reads="/p/a", writes="/p/a /p/b /p/b/a", deletes="/p/a"),
        exact("ln -s ../secret x", writes="/p/x /p/x/secret"),
        exact("ln a x", reads="/p/a", writes="/p/x /p/x/a /p/a"),
        exact("chmod +x run.sh", writes="/p/run.sh"),
        exact("truncate -s 0 log", writes="/p/log"),
        exact("dd if=a of=b bs=1k", reads="/p/a", writes="/p/b"),
        exact("sed -n '1,20p' a", reads="/p/a"),
        exact("sed -i.bak 's/a/b/g' f", reads="/p/f", writes="/p/f /p/f.bak"),
        exact("sed -i 's/a/b/' f", reads="/p/f", writes="/p/f"),
        exact("grep -n 'a.*b' f g", reads="/p/f /p/g"),
        exact("grep -rn foo src", reads="/p/src"),
        exact("rg foo", reads="/p"),
        exact("find src -name '*.py' -newer stamp", reads="/p/stamp"),
        exact("sort -u a | uniq -c", reads="/p/a"),
        exact("printf '%s\\n' x > f", writes="/p/f"),
        exact("date +%F", writes=""),
        exact("cd web && touch a", writes="/p/web/a"),
        exact("cd web && cd src && touch a", writes="/p/web/src/a"),
        exact("cd ~/x && touch a", writes="~/x/a"),
        exact("cd && touch a", writes="~/a"),
        # the folder may not be there, and then the rest happens here
        exact("cd web; touch a", writes="/p/a /p/web/a"),
        exact("cd web || touch a", writes="/p/a /p/web/a"),
        exact("cd web && ls; touch a", writes="/p/a /p/web/a"),
        # redirections are opened before it goes anywhere
        exact("cd web > log && touch a", writes="/p/log /p/web/a"),
        exact("cd web &> log && touch a", writes="/p/log /p/web/a"),
        # what went well is not tried again
        exact("ls || cd web && touch a", writes="/p/a /p/web/a"),
        exact(
            "ls || ls || cd web && cd x && touch a; ls",
            writes="/p/a /p/web/a /p/x/a /p/web/x/a",
        ),
        exact("ls || ls; cd web && touch a", writes="/p/web/a"),
        exact("cd web && ls &> log", writes="/p/web/log"),
        exact("echo *"),
        exact("cat /proc/cpuinfo", reads="/proc/cpuinfo"),
        exact("cat /proc/self/cwd/a", reads="/proc/self/cwd/a", unknown=READS),
        exact("rm /proc/12/root/a", writes="/proc/12/root/a", deletes="/proc/12/root/a", unknown=DELETES),
        exact("cat dev/x/../a", reads="/p/dev/a /p/dev/x/../a"),
        exact("curl file:/etc/passwd", urls="http://file:/etc/passwd", unknown=frozenset({"reads", "urls"})),
        exact("curl http:/10.0.0.1/", urls="http://http:/10.0.0.1/", unknown=frozenset({"reads", "urls"})),
        exact("curl localhost:8080/a", urls="http://localhost:8080/a"),
        exact("sed 's/[[:space:]]*[^a-c]$/x/' f", reads="/p/f"),
        exact("touch x/../a", writes="/p/a /p/x/../a"),
        exact("curl -fsSL https://example.com/a -o b", urls="https://example.com/a", writes="/p/b"),
        exact("curl -O https://example.com/a.tgz", urls="https://example.com/a.tgz", writes="/p/a.tgz"),
        exact("curl -d @body https://example.com/", urls="https://example.com/", reads="/p/body"),
        exact("curl example.com", urls="http://example.com"),
        exact("wget -qO- https://example.com/a", urls="https://example.com/a"),
        exact("echo see https://example.com/a."),
        exact("cat <<'EOF' > f\n$(rm x) `y`\nEOF", writes="/p/f"),
        exact("cat <<EOF > f && touch g\nplain\nEOF\nls h", writes="/p/f /p/g"),
        exact("cat <<-EOF\n\tx\n\tEOF", writes=""),
    ],
)
def test_plain_line_does_exactly_this(command: str, lists: dict[str, str | frozenset[str]]) -> None:
    effects = line(command)

    unknown = lists.pop("unknown", frozenset())
    for kind in ("writes", "deletes", "reads", "urls"):
        wanted = lists.get(kind, "")
        assert isinstance(wanted, str)
        assert set(getattr(effects, kind)) == set(_split(wanted)), kind
    assert effects.unknown == unknown
    assert effects.runs[0] == command


def _split(wanted: str) -> list[str]:
    return [wanted] if wanted == "/p/a bcd" else wanted.split()


# each of them would write .env, or might, and must not pass for a line that does not
TRICKS = [
    "$(echo rm .env)",
    "`echo rm .env`",
    "ls $(touch .env)",
    "ls `touch .env`",
    'ls "$(touch .env)"',
    "ls <(touch .env)",
    "ls >(tee .env)",
    "ls; (touch .env)",
    "{ touch .env; }",
    "touch {.env,b}",
    "touch .e{n,}v",
    "touch .[e]nv",
    "touch .en?",
    "touch ${X:-.env}",
    "touch ~root/.env",
    "touch .\\env",
    "touch .en\\\nv",
    "to\\\nuch .env",
    "touch $'.\\x65nv'",
    "$'touch' .env",
    'touch "$X"',
    "X=touch; $X .env",
    "PATH=. ls",
    "LD_PRELOAD=./x.so ls",
    "env X=1 touch .env",
    "command touch .env",
    "\\touch .env",
    "'touch' .env; sh x",
    "exec > .env",
    "exec touch .env",
    "eval 'touch .env'",
    "alias ls='touch .env'; ls",
    "ls() { touch .env; }; ls",
    "function ls { touch .env; }",
    "if true; then touch .env; fi",
    "for f in .env; do touch $f; done",
    "while read f; do touch $f; done",
    "case x in x) touch .env;; esac",
    "! touch .env",
    "time touch .env",
    "sudo touch .env",
    "nohup touch .env",
    "timeout 5 touch .env",
    "xargs touch < list",
    "echo .env | xargs touch",
    "find . -delete",
    "find . -exec touch .env ';'",
    "find . -fprint .env",
    "find . -fls .env",
    "sort -o .env a",
    "sort --output=.env a",
    "sort --outpu=.env a",
    "sort -ro.env a",
    "uniq a .env",
    "tree -o .env",
    "rg --pre ./x foo",
    "sed 'w .env' a",
    "sed -n '1w .env' a",
    "sed 's/a/b/w .env' a",
    "sed 's/a/b/e' a",
    "sed '1e touch .env' a",
    "sed -e p -e 'w .env' a",
    "sed -e 'w .env' -e p a",
    "sed -f script a",
    "sed --file=script a",
    "awk '{print > \".env\"}' a",
    "dd of=.env of2=x",
    "dd if=a $X",
    "curl -K config https://example.com",
    "curl 'https://example.com/[1-2]' -o '#1'",
    "curl -OJ https://example.com/a",
    "curl --output-dir . -O https://example.com/.env",
    "curl https://example.com -c .env",
    "curl https://example.com --dump-header .env",
    "wget https://example.com/.env",
    "wget -i list",
    "wget -P . https://example.com/.env",
    "cp --target-directory=. a/.env",
    "cp -t . a/.env",
    "cp a/. .",
    "cp -a x y",
    "mv -t . a/.env",
    "install a .env",
    "rsync a .env",
    "tar xf a.tar",
    "unzip a.zip",
    "git checkout .env",
    "git -c alias.x='!touch .env' x",
    'python -c \'open(".env", "w")\'',
    "python x.py",
    "node x.js",
    "bash",
    "bash -c 'touch .env'",
    "sh <<'EOF'\ntouch .env\nEOF",
    "cat <<'EOF' | sh\ntouch .env\nEOF",
    "cat <<EOF\n$(touch .env)\nEOF",
    "cat <<EOF\n`touch .env`\nEOF",
    "cat <<'A' <<\"B\nC\"\nx\nA\n",
    "cat <<'EOF'\nx",
    "cat <<$X\nx\n$X",
    "cat <<'EOF'\nx\n EOF\ntouch .env",
    "source x",
    ". x",
    "./ls",
    "../bin/ls",
    "/opt/x/ls",
    "~/bin/ls",
    "*ls",
    "ls & touch $X",
    "ls | & touch .env",
    "ls |& tee $X",
    "ls # ; \n touch $X",
    "ls\rtouch .env",
    "ls\x0btouch .env",
    "ls\x00touch .env",
    "ls\u2028touch .env",
    "ls\u00a0; touch\u00a0.env",
    "echo hi > .env$X",
    "echo hi > $X",
    "echo hi > *",
    "echo hi > ~root/x",
    "echo hi >! .env",
    "echo hi {fd}> .env",
    "ls 'unfinished",
    'ls "unfinished',
    "ls 'a\\'; touch .env; ls 'b'",
    "cat 'a\\",
    "cd - && touch a",
    "cd $X && touch a",
    "cd */ && touch a",
    "ln -s .git x && touch x/config",
    "ln -s .git x; echo y > x/config",
    "printf '%d' 'a[$(touch .env)]'",
    "test -v 'a[$(touch .env)]'",
    "[ -f x ] && touch .env",
    "export PATH=.",
    "trap 'touch .env' EXIT",
    "psql",
    "make",
    "npm test",
    "RM .env",
    "=ls",
    "^a^b",
    "%1",
    "!!",
    "; ls",
    "vim a",
    "column --x a",
    "rm *",
    "uniq a*",
    "unlink a?",
    # a slash in brackets ends the pattern to GNU, and does not to others
    "sed 's/[/]/; s/w .git/hooks/p' a",
    "sed 's/[^]/]/; s/w .git/p' a",
    "sed 's/[[:alpha:]/]/; s/w .git/p' a",
    # bash reads the target once more without its quotes
    "echo x >&'$(touch .env)'",
    "echo x >&'~/.env'",
    # sh runs what stands behind the file
    "echo &> log rm .env",
    # a word to sh
    "touch 10>.env",
    "echo x >& '`touch .env`'",
    "cat <&'$(touch .env)'",
    # what is moved or copied may be a link, which is not there yet when paths are compared
    "mv innocent x && echo y > x/config",
    "cp -R innocent x && rm x/config",
    "/bin/cp -r innocent x; rm x/config",
    "ln -s /proc/self/cwd x",
    "ln -s /dev/fd x",
]


@each("command", TRICKS)
def test_line_that_hides_something_is_found_out_or_unknown(command: str) -> None:
    effects = line(command)

    assert (
        "writes" in effects.unknown or "/p/.env" in effects.writes or any(map(_may_be_env, effects.targets["writes"]))
    )


def _may_be_env(target: Target) -> bool:
    is_below = target.path in {"/p", "/p/y", "/p/y/x", "/p/x"} and (target.is_recursive or target.is_partial)
    return (
        is_below
        or (bool(target.pattern) and fnmatchcase("/p/.env", target.pattern))
        or target.pattern in {"/p/*", "/p/a?"}
    )


HARMLESS = st.sampled_from(["ls", "cat a.txt", "grep -n foo a.txt", "echo done", "touch made", "cd web"])
JOINTS = st.sampled_from([" && ", " || ", "; ", " | ", "\n"])


@given(
    st.lists(st.tuples(HARMLESS, JOINTS), max_size=4), st.sampled_from(["echo x > .env", "rm .env", "tee .env", "./x"])
)
def test_what_writes_is_found_at_every_place_of_a_line(before: list[tuple[str, str]], last: str) -> None:
    effects = line("".join(f"{command}{joint}" for command, joint in before) + last)

    assert effects.opaque or any(path.endswith("/.env") for path in effects.writes)


@given(st.text(max_size=60))
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    assert isinstance(line(text), Effects)


@given(st.text(alphabet="ls;|&<>$(){}'\"`\\ \n#!~*=-a.", max_size=40))
def test_line_of_signs_is_read_or_opaque(text: str) -> None:
    effects = line(text)

    if not effects.opaque:
        for command in effects.commands:
            assert not command.words or command.words[0].text.rpartition("/")[2] in PROGRAMS, command


def test_every_command_of_a_line_is_told_beside_the_whole() -> None:
    effects = line("cd web && /bin/rm  'a' | tee b")

    assert effects.runs == ("cd web && /bin/rm  'a' | tee b", "cd web", "rm a", "tee b")


def test_what_shows_of_an_opaque_line_is_told_all_the_same() -> None:
    effects = line("sudo rm -f /etc/a > log; bash -c 'echo x > b'; X=1 touch c; make")

    assert effects.opaque
    assert set(effects.writes) == {"/etc/a", "/p/log", "/p/b", "/p/c"}
    assert effects.deletes == ("/etc/a",)


def test_shells_in_shells_end() -> None:
    nested = "x"
    for _ in range(30):
        nested = f'bash -c "{nested}"'.replace('"', "'") if "'" not in nested else f'bash -c "{nested}"'

    assert line(nested).opaque
    assert line("env " * 5000 + "ls").opaque


def test_long_line_may_do_anything() -> None:
    assert line("ls " + "a" * LONGEST).opaque
    assert line("touch " + " ".join(f"f{number}" for number in range(MOST + 1))).unknown >= WRITES


@pytest.mark.parametrize("command", [None, 5, "", "  ", ["ls", "-l"], {"a": "b"}])
def test_command_that_is_no_line_may_do_anything(command: object) -> None:
    assert done("shell", command=command).unknown == EVERYTHING


def test_words_of_a_list_are_looked_at_as_a_line_and_each_alone() -> None:
    assert set(done("shell", command=["rm", "a b"]).deletes) == {"/p/a b"}
    assert set(done("shell", command=["rm a", "rm b"]).deletes) == {"/p/a", "/p/b"}


def test_folder_of_the_call_counts() -> None:
    assert done("shell", command="touch a", cwd="web").writes == ("/p/web/a",)
    assert done("shell", command="touch a", cwd="/x").writes == ("/x/a",)


def test_line_for_another_language_or_a_running_program_may_do_anything() -> None:
    assert done("shell", command="ls", session="1").opaque
    assert done("shell", command="ls", native="PowerShell").opaque


@each(
    "command",
    [
        "git {} status",
        "git {} restore x",
        "git {} apply x",
        "git {} rm --cached x",
        "git {} worktree list",
        "git {} config -l",
    ],
)
def test_setting_that_names_a_program_for_git_may_run_it_whatever_the_subcommand(command: str) -> None:
    assert "runs" in line(command.format("-c core.fsmonitor=x")).unknown
    assert line(command.format("-c user.name=x")).unknown == line(command.format("--no-pager")).unknown


def test_what_is_restored_in_the_index_only_is_no_file_that_is_written() -> None:
    assert line("git restore --staged x").writes == ()
    assert line("git restore -S -W x").writes == ("/p/x",)
    assert line("git restore x").writes == ("/p/x",)
