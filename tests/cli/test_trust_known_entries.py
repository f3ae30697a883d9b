import json
import shutil
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

CALL = json.dumps(
    {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}
)


def write_cursor(home: Path, *commands: str) -> None:
    path = home / ".cursor" / "hooks.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = [{"command": command} for command in commands]
    path.write_text(json.dumps({"version": 1, "hooks": {"beforeShellExecution": entries}}))


def write_ollm(home: Path, name: str, line: str) -> None:
    path = home / ".ollm" / "hooks" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"id": name, "event": "pre-tool-call", "command": "sh", "args": ["-c", line]}))


def states(home: Path) -> dict[str, str]:
    listed = json.loads(hookline(home, "list", "--json").stdout)
    return {row["id"]: row["trust"] for row in listed}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    configure(made, "")
    return made


@pytest.mark.spec("P-02")
def test_what_is_in_the_home_at_the_first_load_runs(home: Path) -> None:
    write_ollm(home, "mine", f"touch {home}/ran")

    assert states(home) == {"mine": "trusted"}
    hookline(home, "hook", "claude-code", "PreToolUse", stdin=CALL)

    assert (home / "ran").exists()


@pytest.mark.spec("P-02")
@pytest.mark.parametrize("agent", ["claude-code", "gemini-cli"])
def test_file_planted_in_the_home_does_not_run_before_it_is_approved(home: Path, agent: str) -> None:
    hookline(home, "list")
    ran = home.parent / "project" / "ran"
    write_ollm(home, "planted", f"touch {ran}")
    event = {"claude-code": "PreToolUse", "gemini-cli": "BeforeTool"}[agent]
    call = CALL.replace("PreToolUse", event)

    told = hookline(home, "hook", agent, event, stdin=call).stdout

    assert not ran.exists()
    assert "new in" in told
    assert "hookline trust approve planted" in told
    assert "new in" in hookline(home, "doctor").stdout
    assert hookline(home, "trust", "approve", "planted", "--yes").returncode == 0
    hookline(home, "hook", agent, event, stdin=call)
    assert ran.exists()


@pytest.mark.spec("P-02")
def test_approval_of_an_entry_in_the_home_holds_in_every_project_and_for_its_content_only(home: Path) -> None:
    write_cursor(home, "true")
    hookline(home, "list")
    write_cursor(home, "true", "echo new")
    assert list(states(home).values()) == ["trusted", "needs approval"]
    hookline(home, "trust", "approve", "--all", "--yes")
    other = home.parent / "other"
    other.mkdir()
    listed = json.loads(hookline(home, "list", "--json", "--project", str(other)).stdout)

    assert [row["trust"] for row in listed] == ["trusted", "approved"]
    write_cursor(home, "true", "echo newer")
    assert "approved" not in states(home).values()


def test_entry_that_is_moved_or_stands_beside_others_stays_known(home: Path) -> None:
    write_cursor(home, "first", "second")
    hookline(home, "list")
    write_cursor(home, "second")

    assert list(states(home).values()) == ["trusted"]


def test_entry_that_hookline_writes_is_known_and_what_stands_beside_it_is_not(home: Path) -> None:
    path = home / ".ollm" / "hooks" / "both.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"hooks": []}')
    hookline(home, "list")
    planted = {"id": "planted", "event": "pre-tool-call", "command": "sh", "args": ["-c", "true"]}
    path.write_text(json.dumps({"hooks": [planted]}))
    added = hookline(home, "add", "mine", "--on", "before_tool", "--run", "sh -c true", "--to", str(path))
    assert added.returncode == 0, added.stderr

    assert states(home) == {"planted": "needs approval", "mine": "trusted"}
    assert hookline(home, "remove", "mine").returncode == 0
    assert hookline(home, "undo").returncode == 0
    assert states(home) == {"planted": "needs approval", "mine": "trusted"}
    assert hookline(home, "edit", "planted", "timeout=7").returncode == 0
    assert states(home)["planted"] == "trusted"
    assert hookline(home, "remove", "planted").returncode == 0
    assert states(home) == {"mine": "trusted"}


def test_copy_of_an_approved_project_hook_in_the_home_does_not_take_it_away(home: Path) -> None:
    project = home.parent / "project"
    write_ollm(project, "guard", "exit 1")
    hookline(home, "trust", "approve", "guard", "--yes")
    write_ollm(home, "guard", "exit 1")

    assert states(home)["guard"] == "approved"


@pytest.mark.slow
def test_missing_record_is_made_anew_with_a_warning_once_installed(home: Path) -> None:
    hookline(home, "install", "claude-code")
    shutil.rmtree(home / ".local" / "share" / "hookline")
    write_ollm(home, "planted", "true")

    said = hookline(home, "check")

    assert 'counts as known: "planted"' in said.stdout + said.stderr
    assert "was missing and was made anew" in hookline(home, "doctor").stdout
    hookline(home, "install", "claude-code")
    assert "was missing and was made anew" not in hookline(home, "doctor").stdout


def test_own_hookline_toml_may_change_at_any_time(home: Path) -> None:
    hookline(home, "list")
    configure(home, '[[hook]]\nid = "mine"\non = "before_tool"\nrun = "true"\n')

    assert states(home) == {"mine": "trusted"}


@pytest.mark.spec("A-18")
def test_hook_that_was_added_by_hand_and_approved_is_the_users_own(home: Path) -> None:
    """The log of the cli-agent document is in the home folder, which hooks of others cannot write."""
    hookline(home, "list")
    settings = home / ".config" / "agent" / "settings.json"
    settings.parent.mkdir(parents=True)
    entry = {"type": "command", "command": "echo '{{tool_name}}' >> ~/.cli-agent-log"}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [entry]}]}}))
    (name,) = states(home)
    assert hookline(home, "trust", "approve", name, "--yes").returncode == 0

    shown = hookline(home, "show", name).stdout
    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')

    assert "not contained: it may do everything that you may do" in shown, shown
    assert (done.returncode, done.stderr) == (0, "")
    assert (home / ".cli-agent-log").read_text().strip()
