"""`hookline hosts` as a person calls it."""

import json
from pathlib import Path

import pytest

from hookline.hosts import HOSTS
from tests.cli.program import configure, hookline


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", "")
    return tmp_path / "home"


def test_every_agent_has_a_row(home: Path) -> None:
    done = hookline(home, "hosts", PATH="/nowhere")

    assert done.returncode == 0
    assert all(host.title in done.stdout and name in done.stdout for name, host in HOSTS.items())
    assert "no agent asks the hooks yet; `hookline install` shows how" in done.stdout


def test_list_is_what_it_does_by_itself(home: Path) -> None:
    assert hookline(home, "hosts", "list").stdout == hookline(home, "hosts").stdout


def test_json_has_program_version_and_every_file_with_hooks(home: Path) -> None:
    program = home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    program.chmod(0o755)
    shared = home.parent / "project" / ".claude" / "settings.json"
    shared.parent.mkdir()
    shared.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./theirs.sh"}]}]}}')
    hookline(home, "install", "claude", "--events", "PreToolUse")

    rows = {row["host"]: row for row in json.loads(hookline(home, "hosts", "--json", PATH=f"{home}/bin:/bin").stdout)}
    claude = rows["claude-code"]

    assert (claude["program"], claude["version"]) == (str(program), "2.1.325")
    assert (claude["found"], claude["installed"], claude["events"]) == (True, ["user"], ["PreToolUse"])
    assert claude["files"] == [
        {
            "path": f"{home}/.claude/settings.json",
            "scope": "user",
            "of": "claude-code",
            "ours": [{"event": "PreToolUse", "if_broken": "allow", "http": False}],
            "foreign": 0,
            "problem": None,
        },
        {
            "path": str(shared),
            "scope": "project",
            "of": "claude-code",
            "ours": [],
            "foreign": 1,
            "problem": None,
        },
    ]
    # Cursor runs Claude Code's settings, and is not installed by that
    assert [file["of"] for file in rows["cursor"]["files"]] == ["claude-code", "claude-code"]
    assert rows["cursor"]["installed"] == []


def test_a_person_sees_each_file_once(home: Path) -> None:
    hookline(home, "install", "claude")

    done = hookline(home, "hosts")

    assert done.stdout.count(f"{home}/.claude/settings.json (claude-code, user): ours at ") == 1


def test_what_keeps_ours_from_running_is_a_problem(home: Path) -> None:
    hookline(home, "install", "codex", "--no-approve")

    done = hookline(home, "hosts")
    rows = json.loads(hookline(home, "hosts", "--json").stdout)

    assert "problem: Codex CLI does not run ours in " in done.stdout
    assert [row["host"] for row in rows if row["problems"]] == ["codex-cli"]


def test_names_of_others_do_not_steer_the_screen(home: Path) -> None:
    folder = home / ".copilot" / "hooks"
    folder.mkdir(parents=True)
    (folder / "a\x1b[31m.json").write_text('{"hooks": {"preToolUse": [{"bash": "./x"}]}}')

    done = hookline(home, "hosts")

    assert "\x1b" not in done.stdout
    assert "1 hook of others" in done.stdout


def test_files_that_are_one_for_each_event_are_one_line(home: Path) -> None:
    hookline(home, "install", "cline")
    (home / "Documents" / "Cline" / "Hooks" / "TaskCancel").write_text("#!/bin/sh\n")

    done = hookline(home, "hosts")

    ours = len(HOSTS["cline"].usual_events)
    assert f"{home}/Documents/Cline/Hooks/ (cline, user): ours at {ours} events, 1 hook of others\n" in done.stdout
