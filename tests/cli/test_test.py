import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import pytest

from tests.cli.program import environment, hookline
from tests.waiting import until

T = TypeVar("T")

GUARD = """
import json, os, sys
event = json.loads(input())
print("looked at it", file=sys.stderr)
command = event["args"].get("command", "")
if "rm" in command:
    print(json.dumps({"decision": "deny", "reason": "no removing"}))
elif "odd" in command:
    sys.exit(3)
else:
    print(json.dumps({"context": "fine", "args": {"command": "echo changed"}}))
"""
CONFIG = """
[[hook]]
name = "guard"
on = ["before_tool", "after_tool"]
tools = ["shell"]
run = "python3 guard.py"
timeout = 20
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".config" / "hookline"
    folder.mkdir(parents=True)
    (folder / "guard.py").write_text(GUARD)
    (folder / "hookline.toml").write_text(CONFIG)
    (tmp_path / "project").mkdir()
    return tmp_path / "home"


def tried(home: Path, *arguments: str, code: int = 0) -> dict[str, object]:
    done = hookline(home, "test", "guard", "--json", *arguments)
    assert done.returncode == code, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


@pytest.mark.spec("D-16", "C-17")
def test_hook_runs_for_real_with_a_sample(home: Path) -> None:
    document = tried(home)

    assert document["event"] == {
        "name": "before_tool",
        "tool": "shell",
        "args": {"command": "echo hello"},
        "data": {},
    }
    assert (document["ran"], document["verdict"], document["failure"]) == (True, "pass", None)
    assert document["effects"] == [
        {"kind": "rewrite", "path": ["args", "command"], "value": "echo changed"},
        {"kind": "context", "path": [], "value": "fine"},
    ]
    assert json.loads(str(document["stdout"]))["context"] == "fine"
    assert (document["stderr"], document["exit_code"]) == ("looked at it\n", 0)
    assert document["argv"][0] == "python3"  # type: ignore[index]


def test_no_is_a_successful_test(home: Path) -> None:
    document = tried(home, "--args", '{"command": "rm x"}')

    assert (document["verdict"], document["blocks"], document["reason"]) == ("deny", True, "no removing")


def test_hook_that_falls_over_exits_with_1(home: Path) -> None:
    document = tried(home, "--args", '{"command": "odd"}', code=1)

    assert document["failure"]["kind"] == "exit_code"  # type: ignore[index]
    assert document["exit_code"] == 3


def test_people_read_verdict_output_and_time(home: Path) -> None:
    text = hookline(home, "test", "guard", "--args", '{"command": "rm x"}').stdout

    assert "verdict    deny (blocks)\n" in text
    assert "reason     no removing\n" in text
    assert "stderr     looked at it\n" in text
    assert "exit code  0\n" in text
    assert "took       " in text


def test_host_of_a_dialect_would_get_its_own_words(home: Path) -> None:
    document = tried(home, "--as", "cli-agent", "--args", '{"command": "rm x"}')

    answer: dict[str, object] = document["answer"]  # type: ignore[assignment]
    assert json.loads(str(answer["stdout"]))["decision"] == "block"
    text = hookline(home, "test", "guard", "--as", "ollm", "--args", '{"command": "rm x"}').stdout
    assert '"continue":false' in text


def test_own_event_comes_from_a_file_or_stdin(home: Path) -> None:
    event = json.dumps({"tool": "shell", "args": {"command": "rm y"}})
    (home.parent / "project/event.json").write_text(event)

    for given in ("@event.json", "-"):
        done = hookline(home, "test", "guard", "--data", given, "--json", stdin=event)
        assert json.loads(done.stdout)["verdict"] == "deny"


def test_event_may_be_named_as_the_hooks_own_system_names_it(home: Path) -> None:
    settings = home / ".config/agent/settings.json"
    settings.parent.mkdir(parents=True)
    hook = {"type": "command", "name": "seen", "command": "true"}
    settings.write_text(json.dumps({"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))

    done = hookline(home, "test", "seen", "--event", "PostToolUse", "--json")

    assert json.loads(done.stdout)["event"]["name"] == "after_tool"


def test_event_the_hook_would_not_run_for_is_tried_and_said(home: Path) -> None:
    document = tried(home, "--tool", "read_file")

    assert document["ran"] is True
    assert "does not match" in str(document["would_not_run"])


@pytest.mark.spec("D-16")
def test_hook_that_nobody_approved_is_not_run(home: Path) -> None:
    project = home.parent / "project"
    (project / "hookline.toml").write_text('[[hook]]\nname = "foreign"\non = "before_tool"\nrun = "python3 mark.py"\n')
    (project / "mark.py").write_text("open('marked', 'w')\n")

    done = hookline(home, "test", "foreign")

    assert (done.returncode, done.stdout) == (1, "")
    assert 'hook "foreign" was not run: ' in done.stderr
    assert "hookline trust approve foreign" in done.stderr
    assert not (project / "marked").exists()
    assert json.loads(hookline(home, "test", "foreign", "--json").stdout)["ran"] is False


@pytest.mark.spec("C-17")
def test_verbose_shows_start_and_end_on_stderr(home: Path) -> None:
    lines = hookline(home, "test", "guard", "-v").stderr.splitlines()

    assert lines[0] == "hook guard (hookline): starts at before_tool"
    assert lines[1].startswith("hook guard (hookline): pass after ")


@pytest.mark.spec("A-19")
def test_debugging_shows_what_was_exchanged(home: Path) -> None:
    text = hookline(home, "test", "guard", "--debug").stderr

    assert "  argv      | [" in text
    assert "  stdin     | {" in text
    assert "  stderr    | looked at it" in text


def test_a_try_leaves_no_trace(home: Path) -> None:
    tried(home)

    assert json.loads(hookline(home, "list", "--json").stdout)[0]["last_run"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gard"], 'did you mean "guard"'),
        (["guard", "--event", "sesion_start"], 'did you mean "session_start"'),
        (["guard", "--data", "nonsense"], "--data is no JSON"),
        (["guard", "--data", "@gone.json"], "cannot read gone.json"),
        (["guard", "--data", "-", "--args", "-"], "cannot both be read from stdin"),
        (["guard", "--event", "session_start", "--tool", "shell"], "is not for session_start"),
    ],
)
def test_wrong_call_is_explained(home: Path, arguments: list[str], says: str) -> None:
    done = hookline(home, "test", *arguments)

    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def test_hook_ends_when_the_try_is_ended(home: Path) -> None:
    (home / ".config/hookline/guard.py").write_text(
        "import os, time\nprint(os.getpid(), file=open('pid.new', 'w'))\nos.rename('pid.new', 'pid')\ntime.sleep(600)\n"
    )
    project = home.parent / "project"
    child = subprocess.Popen(
        [sys.executable, "-m", "hookline", "test", "guard"],
        cwd=project,
        env=environment(home),
        stdin=subprocess.DEVNULL,
    )
    try:
        pid = until(lambda: int((project / "pid").read_text() or 0) if (project / "pid").exists() else 0)
    finally:
        child.terminate()
    assert child.wait(timeout=60) == 143
    until(lambda: not alive(pid))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.spec("U-19")
def test_all_runs_the_tests_beside_hooks(tmp_path: Path) -> None:
    rule = '[[hook]]\nid = "a"\nruns = ["git push"]\ndeny = "no"\n[[hook.test]]\ngiven = { command = "%s" }\nexpect = "deny"\n'
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), "HOOKLINE_DAEMON": "off"}
    project = tmp_path / "project"
    project.mkdir()
    codes = []
    for command in ("git push", "ls"):
        (project / "hookline.toml").write_text(rule % command, "utf-8")
        program = [sys.executable, "-m", "hookline", "test", "--all", "--json"]
        done = subprocess.run(program, cwd=project, env=environ, capture_output=True, timeout=100, check=False)
        codes.append((done.returncode, json.loads(done.stdout)["failed"]))

    assert codes == [(0, 0), (1, 1)]
