"""Hooks of agents, carried from one agent's file into another's."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

GUARD = {"type": "command", "command": "python3 guard.py", "timeout": 20}
SETTINGS = {"model": "opus", "hooks": {"PreToolUse": [{"matcher": "Bash|Write", "hooks": [GUARD]}]}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    configure(home, "")
    file = tmp_path / "project" / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(SETTINGS, indent=4))
    return home


def test_hooks_of_one_agent_are_shown_as_another_writes_them(home: Path) -> None:
    done = hookline(home, "migrate", "claude", "gemini")

    assert json.loads(done.stdout)["hooks"]["BeforeTool"] == [
        {
            "matcher": "run_shell_command|write_file",
            "hooks": [
                {
                    "name": "claude-code:PreToolUse:1",
                    "type": "command",
                    "command": "python3 guard.py",
                    "timeout": 20000,
                }
            ],
        }
    ]
    assert "it speaks claude-code; hooks in this file are spoken to in gemini-cli" in done.stderr
    assert not (home.parent / "project" / ".gemini").exists()


@pytest.mark.parametrize(
    ("goal", "path"),
    [
        ("codex", ".codex/hooks.json"),
        ("cursor", ".cursor/hooks.json"),
        ("copilot", ".github/hooks/hooks.json"),
        ("kiro", ".kiro/hooks/hooks.json"),
        ("windsurf", ".windsurf/hooks.json"),
        ("droid", ".factory/hooks.json"),
        ("antigravity", ".agents/hooks.json"),
        ("qwen", ".qwen/settings.json"),
    ],
)
def test_hooks_are_written_where_the_other_agent_looks_and_are_found_there(home: Path, goal: str, path: str) -> None:
    done = hookline(home, "migrate", "claude", goal, "--write")
    again = hookline(home, "migrate", "claude", goal, "--write")

    assert done.returncode == 0, done.stderr
    assert "nothing to change" in again.stdout
    hooks = json.loads(hookline(home, "list", "--json").stdout)
    there = home.parent / "project" / path
    assert there.is_file()
    # where the tools can be said alike, the copy is the same hook for both of them
    assert {"python3 guard.py"} == {hook["runs"].removeprefix("sh: ") for hook in hooks}
    assert hookline(home, "check").returncode in {0, 1}


def test_hook_stays_a_persons_own_and_goes_to_their_own_file(home: Path) -> None:
    configure(home, '[[hook]]\nname = "mine"\non = "after_agent"\nrun = "python3 stop.py"\n')
    done = hookline(home, "migrate", "native", "windsurf", "--write")

    assert done.returncode == 0, done.stderr
    written = json.loads((home / ".codeium" / "windsurf" / "hooks.json").read_text())
    assert list(written["hooks"]) == ["post_cascade_response"]


def test_toml_of_codex_is_read_and_migrated_into_our_own_format(home: Path) -> None:
    project = home.parent / "project"
    (project / ".codex").mkdir()
    (project / ".codex" / "config.toml").write_text(
        '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "make test"\ntimeout = 9\n'
    )
    done = hookline(home, "migrate", "codex", "native")

    assert done.returncode == 0, done.stderr
    assert 'run = "make test"' in done.stdout
    assert 'dialect = "codex-cli"' in done.stdout
    assert 'on = "after_agent"' in done.stdout


def test_event_of_its_own_that_our_format_has_no_word_for_is_said(home: Path) -> None:
    file = home.parent / "project" / ".cursor" / "hooks.json"
    file.parent.mkdir()
    file.write_text('{"version": 1, "hooks": {"beforeShellExecution": [{"command": "a"}]}}')
    done = hookline(home, "migrate", "cursor", "native")

    assert "it was written for beforeShellExecution, and would be sent preToolUse" in done.stderr


def test_hook_of_an_agent_is_changed_and_removed_where_it_stands(home: Path) -> None:
    file = home.parent / "project" / ".claude" / "settings.json"
    changed = hookline(home, "edit", "claude-code:PreToolUse:1", "timeout=30")
    assert changed.returncode == 0, changed.stderr
    assert file.read_text() == json.dumps(SETTINGS, indent=4).replace("20", "30")

    other = hookline(home, "edit", "claude-code:PreToolUse:1", "matcher=Bash")
    assert other.returncode == 0, other.stderr
    assert file.read_text() == json.dumps(SETTINGS, indent=4).replace("20", "30").replace("Bash|Write", "Bash")

    removed = hookline(home, "remove", "claude-code:PreToolUse:1")
    assert removed.returncode == 0, removed.stderr
    assert json.loads(file.read_text())["model"] == "opus"
    assert "guard.py" not in file.read_text()


def test_switch_that_the_agent_does_not_have_is_refused(home: Path) -> None:
    file = home.parent / "project" / ".claude" / "settings.json"
    before = file.read_bytes()
    done = hookline(home, "disable", "claude-code:PreToolUse:1")

    assert done.returncode == 1
    assert "is defined in a file of claude-code, where a hook cannot be switched off" in done.stderr
    assert file.read_bytes() == before


def test_switch_that_the_agent_has_is_used(home: Path) -> None:
    file = home.parent / "project" / ".kiro" / "hooks" / "a.json"
    file.parent.mkdir(parents=True)
    hook = {"name": "guard", "trigger": "Stop", "action": {"type": "command", "command": "a"}, "enabled": True}
    file.write_text(json.dumps({"version": "v1", "hooks": [hook]}))
    done = hookline(home, "disable", "guard")

    assert done.returncode == 0, done.stderr
    assert json.loads(file.read_text())["hooks"][0]["enabled"] is False


def test_program_that_is_a_hook_is_not_ours_to_take_away(home: Path) -> None:
    program = home.parent / "project" / ".clinerules" / "hooks" / "PreToolUse"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho '{}'\n")
    program.chmod(0o755)
    for command in ("remove", "disable"):
        done = hookline(home, command, "cline:PreToolUse:1")
        assert done.returncode == 1
        assert "is this program itself" in done.stderr
    assert program.is_file()


def formatter(home: Path, **keys: object) -> Path:
    """Let the project have a hook of Claude Code that is only for some files."""
    entry = {"type": "command", "command": "prettier --write", "if": "Edit(*.ts)", **keys}
    file = home.parent / "project" / ".claude" / "settings.json"
    file.write_text(json.dumps({"hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [entry]}]}}))
    return file


def test_hook_that_would_run_more_often_there_stays_behind_unless_that_is_asked_for(home: Path) -> None:
    old = formatter(home).read_text()
    goal = home.parent / "project" / ".cursor" / "hooks.json"
    done = hookline(home, "migrate", "claude", "cursor", "--write", "--remove-old")

    assert done.returncode == 0
    assert "not written, as it would run more often than it does now" in done.stderr
    assert "--wider" in done.stderr
    assert not goal.exists()
    assert (home.parent / "project" / ".claude" / "settings.json").read_text() == old

    wide = hookline(home, "migrate", "claude", "cursor", "--write", "--wider", "--remove-old")

    assert "there is no key for files" in wide.stderr
    assert json.loads(goal.read_text())["hooks"]["postToolUse"][0]["command"] == "prettier --write"
    assert (home.parent / "project" / ".claude" / "settings.json").read_text() == old


def test_what_stays_behind_is_said_in_json_as_well(home: Path) -> None:
    formatter(home)
    shown = json.loads(hookline(home, "migrate", "claude", "gemini", "--json").stdout)

    assert (shown["documents"], shown["written"]) == ([], [])
    assert "no key for files" in shown["lost"][0]


def test_hook_with_limits_of_ours_stays_behind_and_goes_whole_into_our_own_format(home: Path) -> None:
    configure(
        home, '[[hook]]\nname = "fmt"\non = "after_tool"\nwrites = ["*.py"]\nrun = "ruff format"\nobserve = true\n'
    )

    for goal in ("claude", "codex", "qwen", "copilot", "kiro", "windsurf", "droid", "antigravity", "kiro-agent"):
        done = hookline(home, "migrate", "hookline", goal)
        assert done.stdout.strip() == ""
        assert "no key for writes; there is no key for observe" in done.stderr
