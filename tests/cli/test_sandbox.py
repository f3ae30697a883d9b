import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.process.containment import find_layers
from tests.cli.program import configure, environment, hookline
from tests.waiting import PATIENCE

CONTAINED = pytest.mark.skipif(not find_layers().can_contain, reason="this machine cannot contain a process")
STRACE = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")

OWN = """
[[hook]]
name = "mine"
on = "before_tool"
run = ["sh", "mine.sh"]

[[hook]]
name = "rule"
on = "before_tool"
runs = "git push --force"
deny = "no"
"""
THEIRS = """
[[hook]]
name = "theirs"
on = "before_tool"
run = "sh theirs.sh"
sandbox = { write = ["build/**"], env = ["MY_VALUE"], memory = "1GB" }

[[hook]]
name = "plain"
on = "before_tool"
run = "sh theirs.sh"
"""
SCRIPT = "cat > /dev/null\nmkdir -p build/a; echo $MY_VALUE > build/a/b\necho '{}'\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    folder = home / ".config" / "hookline"
    configure(home, OWN.replace("mine.sh", str(folder / "mine.sh")), {"mine.sh": SCRIPT})
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("SECRET")
    (tmp_path / "project" / "hookline.toml").write_text(THEIRS)
    (tmp_path / "project" / "theirs.sh").write_text(SCRIPT)
    return home


def explained(home: Path, hook: str, **env: str) -> dict[str, object]:
    document: dict[str, object] = json.loads(hookline(home, "sandbox", "explain", hook, "--json", **env).stdout)
    return document


def suggested(home: Path, hook: str, **env: str) -> dict[str, object]:
    done = hookline(home, "sandbox", "suggest", hook, "--json", **env)
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


@pytest.mark.spec("U-18")
def test_explain_says_what_a_hook_may_do_and_why(home: Path) -> None:
    shown = hookline(home, "sandbox", "explain", "theirs").stdout

    assert "writes build/** and a temporary folder of its own" in shown
    assert "sees MY_VALUE of your variables" in shown
    assert "1024 MB of memory" in shown
    assert "its definition says so" in shown
    assert "the default for workspace hooks" in hookline(home, "sandbox", "explain", "plain").stdout
    assert "not contained: it may do everything that you may do" in hookline(home, "sandbox", "explain", "mine").stdout
    assert "there is nothing to contain" in hookline(home, "sandbox", "explain", "rule").stdout


def test_explain_tells_programs_the_same(home: Path) -> None:
    document = explained(home, "theirs")

    assert document["sandbox"]["value"] == {"write": ["build/**"], "env": ["MY_VALUE"], "memory": 1 << 30}  # type: ignore[index]
    assert document["sandbox"]["from"] == "definition"  # type: ignore[index]
    assert document["machine"]["layers"] == list(find_layers().layers)  # type: ignore[index]
    assert document["lately"] is None
    assert explained(home, "rule")["sandbox"] is None


@CONTAINED
def test_explain_says_which_layers_were_in_force(home: Path) -> None:
    hookline(home, "trust", "approve", "plain", "--yes")
    hookline(home, "emit", "before_tool", "--tool", "shell")

    assert explained(home, "plain")["lately"]["layers"] == list(find_layers().layers)  # type: ignore[index]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain", "thiers"], 'did you mean "theirs"'),
        (["suggest", "rule"], "is no command"),
        (["run"], "say what to run"),
        (["run", "--"], "say what to run"),
        (["run", "--level", "strict", "--", "ls"], "invalid choice: 'strict'"),
        (["run", "--sandbox", "strict", "--", "ls"], '"strict" is no level; there are none, read-only, project'),
        (["run", "--sandbox", "{ memry = 1 }", "--", "ls"], 'unknown key "memry" (did you mean "memory"?)'),
        (["run", "--level", "none", "--sandbox", "project", "--", "ls"], "not allowed with"),
        (["run", "--project", "nowhere", "--", "ls"], "there is no folder nowhere"),
    ],
)
def test_wrong_words_are_explained(home: Path, words: list[str], said: str) -> None:
    done = hookline(home, "sandbox", *words)

    assert done.returncode == 1
    assert said in done.stderr


@CONTAINED
@pytest.mark.spec("O-28", "P-22")
def test_a_command_is_tried_under_a_level(home: Path) -> None:
    shell = "echo x > made && echo made; echo x > ../outside; cat ~/.ssh/id; exit 7"

    project = hookline(home, "sandbox", "run", "-v", "--", "sh", "-c", shell)
    read_only = hookline(home, "sandbox", "run", "--level", "read-only", "--", "sh", "-c", shell)

    assert (project.returncode, project.stdout) == (7, "made\n")
    assert f"layers: {', '.join(find_layers().layers)}" in project.stderr
    assert (read_only.returncode, read_only.stdout) == (7, "")
    assert "layers" not in read_only.stderr
    assert not (home.parent / "outside").exists()


@CONTAINED
def test_a_command_is_tried_under_a_table(home: Path) -> None:
    shell = "echo x > build/a && cat build/a; echo $MY_VALUE; echo x > other"
    table = '{ write = ["build/**"], env = ["MY_VALUE"] }'

    done = hookline(home, "sandbox", "run", "--sandbox", table, "--", "sh", "-c", shell, MY_VALUE="v")

    assert done.stdout == "x\nv\n"
    assert not (home.parent / "project" / "other").exists()
    assert hookline(home, "sandbox", "run", "--", "sh", "-c", "echo $MY_VALUE", MY_VALUE="v").stdout == "\n"
    assert (
        hookline(home, "sandbox", "run", "--level", "none", "--", "sh", "-c", "echo $MY_VALUE", MY_VALUE="v").stdout
        == "v\n"
    )


@CONTAINED
@pytest.mark.skipif(not find_layers().library, reason="only our own library counts processes")
@pytest.mark.spec("P-21", "O-29")
def test_a_command_that_exceeds_a_limit_is_ended(home: Path) -> None:
    shell = "for i in 1 2 3 4 5; do sleep 60 & done; wait"

    done = hookline(home, "sandbox", "run", "--sandbox", "{ processes = 3 }", "--", "sh", "-c", shell)

    assert done.returncode == 137
    assert "ended by its limit of 3 for processes (sandbox.processes)" in done.stderr


def test_a_program_that_does_not_exist_has_the_exit_code_of_shells(home: Path) -> None:
    done = hookline(home, "sandbox", "run", "--", "no-such-program")

    assert done.returncode == 127
    assert 'there is no program "no-such-program"' in done.stderr


@STRACE
def test_a_hook_that_nobody_approved_is_not_run_to_find_out_what_it_needs(home: Path) -> None:
    done = hookline(home, "sandbox", "suggest", "theirs")

    assert done.returncode == 1
    assert "not approved" in done.stderr
    assert "hookline trust approve theirs" in done.stderr
    assert not (home.parent / "project" / "build").exists()


@STRACE
def test_suggest_prints_the_smallest_sandbox_that_a_hook_needs(home: Path) -> None:
    done = hookline(home, "sandbox", "suggest", "mine", MY_VALUE="v", OTHER_VALUE="w")

    line, *notes = done.stdout.splitlines()
    assert line == 'sandbox = {write = ["build/**"], env = ["MY_VALUE"]}'
    assert all(note.startswith("# ") for note in notes)
    assert (home.parent / "project" / "build" / "a" / "b").read_text() == "v\n"


@STRACE
def test_suggest_runs_an_approved_hook_of_others(home: Path) -> None:
    hookline(home, "trust", "approve", "plain", "--yes")

    assert suggested(home, "plain")["sandbox"] == {"write": ["build/**"]}


@STRACE
def test_what_suggest_prints_is_enough(home: Path) -> None:
    value = suggested(home, "mine", MY_VALUE="v")["line"]
    file = home / ".config" / "hookline" / "hookline.toml"
    file.write_text(file.read_text().replace('name = "mine"\n', f'name = "mine"\n{value}\n'))
    shutil.rmtree(home.parent / "project" / "build")

    tried = json.loads(hookline(home, "test", "mine", "--json", MY_VALUE="v").stdout)

    assert tried["failure"] is None
    assert tried["layers"] == list(find_layers().layers)
    assert (home.parent / "project" / "build" / "a" / "b").read_text() == "v\n"


@STRACE
def test_suggest_sees_secrets_sockets_and_connections(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port})).close()"
        script = f'cat > /dev/null\ncat ~/.ssh/id > /dev/null\n{sys.executable} -c "{connect}"\necho "{{}}"\n'
        (home / ".config" / "hookline" / "mine.sh").write_text(script)

        document = suggested(home, "mine")

    assert document["sandbox"]["net"] == [f"localhost:{port}"]  # type: ignore[index]
    assert document["sandbox"]["level"] == "read-only"  # type: ignore[index]
    assert any("/.ssh, which no contained hook may" in note for note in document["notes"])  # type: ignore[attr-defined]


def test_suggest_says_that_strace_is_missing(home: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "sh").symlink_to(str(shutil.which("sh")))

    done = subprocess.run(
        [sys.executable, "-m", "hookline", "sandbox", "suggest", "mine"],
        cwd=tmp_path / "project",
        env=environment(home, PATH=str(programs)),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert done.returncode == 1
    assert "install strace" in done.stderr


@CONTAINED
def test_a_hook_is_tested_as_if_it_had_another_level(home: Path) -> None:
    hookline(home, "trust", "approve", "plain", "--yes")

    done = hookline(home, "test", "plain", "--sandbox", "read-only")

    assert "Read-only file system" in done.stdout or "Permission denied" in done.stdout
    assert not (home.parent / "project" / "build" / "a" / "b").exists()
    hookline(home, "test", "plain", "--sandbox", "project")
    assert (home.parent / "project" / "build" / "a" / "b").exists()


def test_another_level_does_not_run_what_nobody_approved(home: Path) -> None:
    done = hookline(home, "test", "plain", "--sandbox", "none")

    assert done.returncode == 1
    assert "not approved" in done.stderr
    assert not (home.parent / "project" / "build").exists()


def test_a_hook_is_added_with_a_sandbox(home: Path) -> None:
    hookline(home, "add", "one", "--on", "before_tool", "--run", "python3 x.py", "--sandbox", "read-only")
    table = '{ net = true, memory = "1GB" }'
    hookline(home, "add", "two", "--on", "before_tool", "--run", "python3 x.py", "--sandbox", table)

    assert explained(home, "one")["sandbox"]["value"] == "read-only"  # type: ignore[index]
    assert explained(home, "two")["sandbox"]["value"] == {"net": True, "memory": 1 << 30}  # type: ignore[index]
    hookline(home, "edit", "two", "sandbox=project")
    assert explained(home, "two")["sandbox"]["value"] == "project"  # type: ignore[index]
    wrong = hookline(home, "add", "three", "--on", "before_tool", "--run", "python3 x.py", "--sandbox", "strict")
    assert (wrong.returncode, '"strict" is no level' in wrong.stderr) == (1, True)


@pytest.mark.spec("U-18")
def test_every_command_about_a_hook_says_what_it_may_do(home: Path) -> None:
    sentence = "writes build/** and a temporary folder of its own"

    for words in (["show", "theirs"], ["why", "theirs"], ["trust", "show", "theirs"]):
        assert sentence in hookline(home, *words).stdout
    listed = json.loads(hookline(home, "list", "--json").stdout)
    assert sentence in next(one for one in listed if one["id"] == "theirs")["sandbox"]["allows"]
    assert sentence in json.loads(hookline(home, "trust", "show", "theirs", "--json").stdout)["sandbox"]["allows"]


def test_doctor_says_which_layers_there_are(home: Path) -> None:
    found = json.loads(hookline(home, "doctor", "--json").stdout)
    without = json.loads(hookline(home, "doctor", "--json", HOOKLINE_WITHOUT="landlock,mounts,bubblewrap").stdout)

    if find_layers().can_contain:
        assert any(one["area"] == "sandbox" and one["health"] == "ok" for one in found)
    warning = next(one for one in without if one["area"] == "sandbox")
    assert warning["health"] == "warning"
    assert "theirs" in warning["text"]
    assert "install bubblewrap" in warning["advice"]


def test_variable_of_a_project_does_not_switch_off_what_contains_its_hooks(home: Path) -> None:
    project = home.parent / "project"
    hook = '[[hook]]\nid = "peek"\non = "before_tool"\nrun = "touch ../outside"\nshell = true\n'
    (project / "hookline.toml").write_text(hook)
    assert hookline(home, "trust", "approve", "peek", "--yes").returncode == 0
    call = json.dumps({"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": str(project)})
    off = {"HOOKLINE_WITHOUT": "landlock,mounts,bubblewrap", "HOOKLINE_NATIVE": "0", "HOOKLINE_DAEMON": "0"}

    hookline(home, "hook", "claude-code", "PreToolUse", stdin=call, **off)

    (trace,) = json.loads(hookline(home, "trace", "list", "--hook", "peek", "--json").stdout)
    records = json.loads(hookline(home, "trace", "show", trace["trace"], "--json").stdout)
    layers = next(record["detail"]["sandbox"] for record in records if "sandbox" in record["detail"])
    assert "uncontained" not in layers
    assert not (project.parent / "outside").exists()


def test_command_that_is_not_contained_leaves_nothing_to_say(home: Path) -> None:
    done = hookline(home, "sandbox", "run", "--level", "none", "--", "echo", "hi")

    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")
