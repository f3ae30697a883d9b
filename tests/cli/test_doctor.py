import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hookline.hosts import HOSTS
from hookline.hosts.command_line import command_line
from hookline.hosts.host import Scope
from tests.cli.program import configure, hookline
from tests.worker_home import Home

pytestmark = pytest.mark.slow

CONFIG = """
[[hook]]
name = "guard"
on = "before_tool"
run = "python3 guard.py"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG, {"guard.py": "print()"})
    return tmp_path / "home"


def findings(home: Path, **env: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(hookline(home, "doctor", "--json", **env).stdout)
    return found


def texts(found: list[dict[str, str]], health: str) -> str:
    return "\n".join(f"{one['area']}: {one['text']} | {one['advice']}" for one in found if one["health"] == health)


def test_sound_machine_has_no_errors_and_every_area_is_looked_at(home: Path) -> None:
    done = hookline(home, "doctor")
    found = findings(home)

    assert done.returncode == 0
    assert "ERROR" not in done.stdout
    assert texts(found, "error") == ""
    fine = texts(found, "ok")
    assert f"{home}/.config/hookline/hookline.toml: 1 hook (user, hookline)" in fine
    assert f"data in {home}/.local/share/hookline" in fine
    assert "python3 is /" in fine
    assert "a hook that does nothing takes" in fine


def test_hook_that_needs_approval_is_told_with_the_command(home: Path) -> None:
    project = home.parent / "project"
    (project / "hookline.toml").write_text(CONFIG.replace("guard", "theirs"))
    (project / "theirs.py").touch()

    told = texts(findings(home), "warning")

    assert 'hook "theirs" does not run: workspace hook that is not approved' in told
    assert "hookline trust approve theirs" in told


def test_broken_configuration_is_an_error_that_leads_to_check(home: Path) -> None:
    (home.parent / "project" / "hookline.toml").write_text("[[hook]\n")

    done = hookline(home, "doctor")

    assert done.returncode == 1
    assert "hookline check" in done.stdout


def test_damaged_databases_and_unreadable_approvals_are_errors(home: Path) -> None:
    data = home / ".local/share/hookline"
    data.mkdir(parents=True, mode=0o700)
    (data / "traces.db").write_bytes(b"no database" * 100)
    (data / "approvals.json").write_text("{")
    for name in ("traces.db", "approvals.json"):
        (data / name).chmod(0o600)

    told = texts(findings(home), "error")

    assert "traces.db" in told
    assert "approvals.json" in told


def test_files_that_others_may_use_are_warned_about(home: Path) -> None:
    hookline(home, "emit", "before_tool", "--tool", "shell")
    data = home / ".local/share/hookline"
    data.chmod(0o755)

    assert f"chmod go= {data}" in texts(findings(home), "warning")


def test_switched_off_hooks_are_warned_about(home: Path) -> None:
    assert "HOOKS_ENABLED switches every hook off" in texts(findings(home, HOOKS_ENABLED="false"), "warning")


def test_missing_interpreter_is_an_error(home: Path) -> None:
    (home.parent / "bin").mkdir()
    (home.parent / "bin" / "true").symlink_to("/bin/true")

    told = texts(findings(home, PATH=str(home.parent / "bin")), "error")

    assert "1 hooks need python3, which is not on PATH" in told


def test_interpreter_of_the_project_is_said(home: Path) -> None:
    inside = home.parent / "project" / "bin"
    inside.mkdir()
    (inside / "python3").write_text("#!/bin/sh\n")
    (inside / "python3").chmod(0o755)

    told = texts(findings(home, PATH=f"{inside}:{os.environ['PATH']}"), "note")

    assert f"python3 on PATH is the project's own ({inside}/python3)" in told


def test_last_trace_and_size_are_told(home: Path) -> None:
    hookline(home, "emit", "before_tool", "--tool", "shell")

    assert "the newest just now" in texts(findings(home), "ok")
    with closing(sqlite3.connect(home / ".local/share/hookline/traces.db")) as connection, connection:
        connection.execute("UPDATE records SET at = at + 100000")
    assert "from the future" in texts(findings(home), "warning")


def test_ci_is_told_that_nobody_is_asked(home: Path) -> None:
    assert "this is CI" in texts(findings(home, CI="1"), "note")


def test_folder_that_is_not_there_is_refused(home: Path) -> None:
    done = hookline(home, "doctor", "--project", "nowhere")

    assert (done.returncode, "there is no folder nowhere" in done.stderr) == (1, True)


def test_problem_of_the_environment_is_not_counted_among_those_of_files(home: Path) -> None:
    found = findings(home, HOOKS_TIMEOUT="soon")

    assert "HOOKS_TIMEOUT" in texts(found, "error")
    assert "in configuration files" not in texts(found, "error")


def test_folder_the_environment_moved_into_the_project_is_an_error(home: Path) -> None:
    inside = home.parent / "project" / "data"
    inside.mkdir()

    told = texts(findings(home, XDG_DATA_HOME=str(inside)), "error")

    assert "folders: XDG_DATA_HOME points into this workspace" in told


def test_background_jobs_that_were_given_up_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path, monkeypatch)
    home.configure(run="true")
    assert "background job" not in home.hookline("doctor").stdout
    home.put()
    assert "1 background job and no worker" in home.hookline("doctor").stdout
    [job] = home.queue.claim("test")
    home.queue.bury(job, "given up")

    said = home.hookline("doctor").stdout

    assert "1 background job given up; `hookline queue list --all --dead` says why" in said


@pytest.mark.parametrize("broken", [False, True])
def test_each_event_of_an_agent_that_has_us_is_tried(tmp_path: Path, *, broken: bool) -> None:
    home = tmp_path / "home"
    configure(home, "")
    python = str(home / "gone") if broken else sys.executable
    hooks = {
        event: [
            {
                "hooks": [
                    {"type": "command", "command": command_line("claude-code", event, python=python, policy="allow")}
                ]
            }
        ]
        for event in ("PreToolUse", "Stop")
    }
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    done = hookline(home, "doctor", "--json")
    (found,) = [one for one in json.loads(done.stdout) if one["area"] == "agents"]
    if broken:
        assert found["health"] == "error"
        assert f"PreToolUse, Stop in {home}/.claude/settings.json do not reach us: its Python is gone" in found["text"]
        assert found["advice"] == "`hookline install claude-code` writes the entries anew"
        assert done.returncode == 1
    else:
        assert (found["health"], found["text"]) == ("ok", "claude-code: 2 events of 2 reach us: PreToolUse, Stop")


def test_a_guard_that_was_not_asked_is_an_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")
    talk = tmp_path / "talk.jsonl"
    parts = [
        {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {}},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "hi"},
    ]
    lines = [json.dumps({"timestamp": "2999-01-01T00:00:00Z", "message": {"content": [part]}}) for part in parts]
    talk.write_text("\n".join(lines))
    payload = {
        "session_id": "s",
        "cwd": str(tmp_path / "project"),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "toolu_1",
        "transcript_path": str(talk),
    }
    assert hookline(home, "hook", "claude-code", "PreToolUse", stdin=json.dumps(payload)).returncode == 0
    done = hookline(home, "doctor", "--json")
    texts = {one["health"]: one["text"] for one in json.loads(done.stdout) if one["area"] == "sessions"}
    assert texts["error"].startswith(
        "in a session of the last days a tool call ran that claude-code never asked us about"
    )
    assert "Bash toolu_2" in texts["error"]
    assert done.returncode == 1


def _installed(tmp_path: Path, agent: str, events: str = "before_tool,session_start") -> tuple[Path, Path]:
    """Install for an agent; give the home folder, and the settings that were written."""
    home = tmp_path / "home"
    configure(home, "")
    done = hookline(home, "install", agent, "--events", events)
    assert done.returncode == 0, done.stdout
    host = HOSTS[agent]
    return home, home / host.home / host.files[Scope.USER]


def _agents(home: Path) -> tuple[int, str]:
    done = hookline(home, "doctor", "--json")
    found = [one for one in json.loads(done.stdout) if one["area"] == "agents" and one["health"] == "error"]
    return done.returncode, " ".join(f"{one['text']} {one['advice']}" for one in found)


GUARDS = {
    "claude-code": "PreToolUse",
    "codex-cli": "PreToolUse",
    "gemini-cli": "BeforeTool",
    "copilot-cli": "preToolUse",
}


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("agent", GUARDS)
def test_an_event_that_is_gone_from_the_settings_is_an_error_until_it_is_installed_again(
    agent: str, tmp_path: Path
) -> None:
    home, path = _installed(tmp_path, agent)
    assert _agents(home) == (0, "")
    value = json.loads(path.read_text())
    del value["hooks"][GUARDS[agent]]
    path.write_text(json.dumps(value))

    code, said = _agents(home)

    assert code == 1
    assert f"no entry of ours at {GUARDS[agent]} any more" in said
    assert f"`hookline install {agent}`" in said
    hookline(home, "install", agent, "--events", "before_tool,session_start")
    assert _agents(home) == (0, "")


@pytest.mark.spec("U-10")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"matcher": "Write"}, "`matcher` is added"),
        ({"hooks": []}, "no entry of ours at PreToolUse any more"),
    ],
)
def test_an_entry_that_was_narrowed_is_an_error(change: dict[str, object], said: str, tmp_path: Path) -> None:
    home, path = _installed(tmp_path, "claude-code")
    value = json.loads(path.read_text())
    value["hooks"]["PreToolUse"][0].update(change)
    path.write_text(json.dumps(value))

    code, found = _agents(home)

    assert code == 1
    assert said in found


def test_an_entry_at_an_event_that_the_agent_does_not_know_is_an_error(tmp_path: Path) -> None:
    home, path = _installed(tmp_path, "claude-code")
    path.write_text(path.read_text().replace('"PreToolUse": [', '"PreToolUs": ['))

    code, found = _agents(home)

    assert code == 1
    assert "it stands at hooks.PreToolUs" in found


def test_settings_that_were_deleted_after_installing_are_an_error(tmp_path: Path) -> None:
    home, path = _installed(tmp_path, "claude-code")
    path.unlink()

    code, found = _agents(home)

    assert code == 1
    assert "`hookline uninstall claude-code` forgets it" in found
    hookline(home, "uninstall", "claude-code")
    assert _agents(home) == (0, "")


def test_a_comment_in_installed_settings_is_an_error(tmp_path: Path) -> None:
    home, path = _installed(tmp_path, "claude-code")
    path.write_text(f"// mine\n{path.read_text()}")

    code, found = _agents(home)

    assert code == 1
    assert f"{path}:1: because of a comment, Claude Code ignores the whole file" in found
    assert "hookline install claude-code --clean" in found


@pytest.mark.spec("U-10")
def test_the_agent_is_told_when_the_entry_of_a_guarded_event_is_gone(tmp_path: Path) -> None:
    home, path = _installed(tmp_path, "copilot-cli")
    value = json.loads(path.read_text())
    del value["hooks"]["preToolUse"]
    path.write_text(json.dumps(value))
    payload = {"sessionId": "s", "cwd": str(tmp_path / "project"), "timestamp": 1, "source": "new"}

    done = hookline(home, "hook", "copilot-cli", "sessionStart", stdin=json.dumps(payload))

    assert "has no entry of ours at preToolUse any more" in done.stdout


@pytest.mark.spec("U-10")
def test_calls_that_no_guard_was_asked_about_are_an_alarm_though_the_entry_is_gone(tmp_path: Path) -> None:
    home, path = _installed(tmp_path, "claude-code", "before_tool,permission_request,after_agent")
    value = json.loads(path.read_text())
    del value["hooks"]["PreToolUse"], value["hooks"]["PermissionRequest"]
    path.write_text(json.dumps(value))
    talk = tmp_path / "talk.jsonl"
    parts = [
        {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {}},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "hi"},
    ]
    lines = [json.dumps({"timestamp": "2999-01-01T00:00:00Z", "message": {"content": [part]}}) for part in parts]
    talk.write_text("\n".join(lines))
    payload = {
        "session_id": "s",
        "cwd": str(tmp_path / "project"),
        "hook_event_name": "Stop",
        "transcript_path": str(talk),
    }

    done = hookline(home, "hook", "claude-code", "Stop", stdin=json.dumps(payload))

    assert "a tool call ran that claude-code never asked us about" in done.stdout
    assert "has no entry of ours at PreToolUse, PermissionRequest any more" in done.stdout


@pytest.mark.parametrize(("event", "is_asked"), [("after_model", False), ("before_tool", True), ("file_edited", True)])
def test_a_hook_for_an_event_that_no_installed_agent_asks_about_is_a_warning(
    event: str, tmp_path: Path, *, is_asked: bool
) -> None:
    home, _ = _installed(tmp_path, "claude-code")
    configure(home, f'[[hook]]\nname = "waits"\non = "{event}"\nrun = "true"\n')

    said = texts(findings(home), "warning")

    assert (f'hook "waits" waits for {event}, which Claude Code does not ask about' in said) is not is_asked
