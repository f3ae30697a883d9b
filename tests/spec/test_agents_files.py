"""Hooks that people wrote for an agent run under every other: found where they stand, approved, told in their language."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

pytestmark = pytest.mark.slow

# a hook that writes down who it was written for and what it was told, and has no opinion
NOTES = """\
#!/usr/bin/env python3
import json, os, sys

said = json.load(sys.stdin)
with open(os.path.join({folder!r}, sys.argv[1]), "a") as notes:
    notes.write(json.dumps(said) + "\\n")
"""
CLINE = """\
#!/bin/sh
exec python3 {script} cline
"""


def _shell(command: str) -> dict[str, object]:
    """Give one hook for commands in each agent's own file."""
    entry = {"type": "command", "command": command}
    return {
        ".claude/settings.json": {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [entry]}]}},
        ".codex/hooks.json": {"hooks": {"PreToolUse": [{"matcher": "^Bash$", "hooks": [entry]}]}},
        ".gemini/settings.json": {"hooks": {"BeforeTool": [{"matcher": "shell_command", "hooks": [entry]}]}},
        ".qwen/settings.json": {"hooks": {"PreToolUse": [{"matcher": "run_shell_command", "hooks": [entry]}]}},
        ".cursor/hooks.json": {"version": 1, "hooks": {"beforeShellExecution": [{"command": command}]}},
        ".github/hooks/a.json": {"version": 1, "hooks": {"preToolUse": [{"matcher": "bash", "bash": command}]}},
        ".windsurf/hooks.json": {"hooks": {"pre_run_command": [{"command": command}]}},
        ".factory/hooks.json": {"PreToolUse": [{"matcher": "Execute", "hooks": [entry]}]},
        ".agents/hooks.json": {"mine": {"PreToolUse": [{"matcher": "run_command", "hooks": [entry]}]}},
        ".kiro/hooks/a.json": {
            "version": "v1",
            "hooks": [{"name": "kiro", "trigger": "PreToolUse", "matcher": "execute_bash", "action": entry}],
        },
        ".kiro/agents/b.json": {"hooks": {"preToolUse": [{"matcher": "execute_*", "command": command}]}},
    }


# by whose file: where the hook finds the command it is asked about
COMMAND_AT = {
    ".claude/settings.json": ("tool_input", "command"),
    ".codex/hooks.json": ("tool_input", "command"),
    ".gemini/settings.json": ("tool_input", "command"),
    ".qwen/settings.json": ("tool_input", "command"),
    ".cursor/hooks.json": ("command",),
    ".github/hooks/a.json": ("toolArgs", "command"),
    ".windsurf/hooks.json": ("tool_info", "command_line"),
    ".factory/hooks.json": ("tool_input", "command"),
    ".agents/hooks.json": ("toolCall", "args", "CommandLine"),
    ".kiro/hooks/a.json": ("tool_input", "command"),
    ".kiro/agents/b.json": ("tool_input", "command"),
    "cline": ("preToolUse", "toolName"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    configure(home, "")
    project = tmp_path / "project"
    notes = project / "notes"
    notes.mkdir()
    script = project / "note.py"
    script.write_text(NOTES.format(folder=str(notes)))
    for path in _shell(""):
        name = path.replace("/", "_")
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(_shell(f"python3 {script} {name}")[path], indent=2))
    program = project / ".clinerules" / "hooks" / "PreToolUse"
    program.parent.mkdir(parents=True)
    program.write_text(CLINE.format(script=script))
    program.chmod(0o755)
    return home


def _notes(home: Path) -> dict[str, list[dict[str, object]]]:
    folder = home.parent / "project" / "notes"
    return {file.name: [json.loads(line) for line in file.read_text().splitlines()] for file in folder.iterdir()}


def _emit(home: Path, *more: str) -> int:
    call = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "git push"}', *more)
    return hookline(home, *call).returncode


@pytest.mark.spec("A-02", "D-01")
def test_hook_in_every_agents_own_file_runs_once_it_is_approved_and_is_told_in_its_language(home: Path) -> None:
    assert _emit(home) == 0
    assert _notes(home) == {}

    approved = hookline(home, "trust", "approve", "--all", "--yes")
    assert approved.returncode == 0, approved.stderr
    assert _emit(home) == 0

    notes = _notes(home)
    assert set(notes) == {path.replace("/", "_") for path in COMMAND_AT}
    for path, keys in COMMAND_AT.items():
        (said,) = notes[path.replace("/", "_")]
        found: object = said
        for key in keys:
            assert isinstance(found, dict)
            found = found[key]
        assert found in {"git push", "execute_command", "run_commands"}, path


def test_hook_of_an_agent_is_listed_with_its_file_and_shown_with_its_agent(home: Path) -> None:
    listed = json.loads(hookline(home, "list", "--json").stdout)
    shown = hookline(home, "show", "claude-code:PreToolUse:1").stdout

    paths = {os.path.relpath(hook["path"], home.parent / "project") for hook in listed}
    assert set(_shell("")) <= paths
    assert '["claude-code"]' in shown
    assert hookline(home, "check").returncode == 0


def test_under_an_agent_its_own_hooks_are_left_to_it(home: Path) -> None:
    assert hookline(home, "trust", "approve", "--all", "--yes").returncode == 0
    project = str(home.parent / "project")
    document = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": project,
        "transcript_path": "",
        "tool_name": "Bash",
        "tool_input": {"command": "git push"},
    }
    answered = hookline(home, "hook", "claude-code", "PreToolUse", stdin=json.dumps(document))

    assert answered.returncode == 0, answered.stderr
    ran = set(_notes(home))
    assert ".claude_settings.json" not in ran
    assert {".cursor_hooks.json", ".gemini_settings.json"} <= ran


def test_files_of_agents_can_be_left_to_them(home: Path) -> None:
    configure(home, '[settings]\nagents_files = ["cursor"]\ntrust_workspace = true\n')
    assert _emit(home) == 0
    assert set(_notes(home)) == {".cursor_hooks.json"}

    configure(home, "[settings]\nagents_files = false\ntrust_workspace = true\n")
    assert json.loads(hookline(home, "list", "--json").stdout) == []
