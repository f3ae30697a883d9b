"""Matchers in agents' own files catch what they catch in their agent, and the same under every other."""

import json

import pytest

from hookline.config.formats import read
from hookline.config.reader import FileOrigin, KnownNames
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.wiring import make_components, native_names, native_tools, shell_dialects

WORDS = KnownNames(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects())


def _hook(agent: str, event: str, matcher: str) -> Hook:
    entry = {"type": "command", "command": "x"}
    group: object = {"matcher": matcher, "hooks": [entry]}
    flat: object = {"matcher": matcher, "command": "x"}
    shapes: dict[str, object] = {
        "cursor": {"hooks": {event: [flat]}},
        "copilot-cli": {"hooks": {event: [flat]}},
        "kiro-agent": {"hooks": {event: [flat]}},
        "kiro": {"hooks": [{"name": "x", "trigger": event, "matcher": matcher, "action": entry}]},
        "antigravity": {"bundle": {event: [group]}},
        "factory-droid": {event: [group]},
    }
    whose = agent.removesuffix("-agent")
    origin = FileOrigin(path="/p/x.json", dialect=whose, agent=whose, root="/p", known_names=WORDS)
    text = json.dumps(shapes.get(agent, {"hooks": {event: [group]}}))
    (hook,), problems = read(text, origin=origin, formats=(agent,))
    assert problems == []
    return hook


def _runs(hook: Hook, event: Event) -> bool:
    registry = HookRegistry()
    registry.add(hook)
    planner = HookPlanner.from_components(registry, make_components())
    planned = bool(planner.plan(event).hooks)
    assert planned is all(gate.passed for gate in planner.gates(hook, event))
    return planned


def _call(tool: str, **args: object) -> Event:
    return Event(name=EventName.BEFORE_TOOL, tool=tool, args=args or {"command": "ls"})


@pytest.mark.parametrize(
    ("agent", "event", "matcher", "wanted", "others"),
    [
        # whole names in a list, or an expression that is searched for
        ("claude-code", "PreToolUse", "Bash", ["shell"], ["write_file", "read_file"]),
        ("claude-code", "PreToolUse", "Edit|Write", ["edit_file", "write_file", "apply_patch"], ["shell", "read_file"]),
        ("claude-code", "PreToolUse", "Edit, Write", ["edit_file", "write_file"], ["shell"]),
        ("claude-code", "PreToolUse", "mcp__git__.*", ["mcp__git__push"], ["mcp__github__push", "shell"]),
        ("claude-code", "PreToolUse", "mcp__git", [], ["mcp__git__push"]),
        ("claude-code", "PreToolUse", "^Bas", ["shell"], ["write_file"]),
        ("codex-cli", "PreToolUse", "Bash", ["shell"], ["write_file"]),
        ("codex-cli", "PreToolUse", "apply_patch", ["apply_patch", "write_file", "edit_file"], ["shell"]),
        ("codex-cli", "PreToolUse", "Write|Edit", ["apply_patch", "write_file"], ["shell"]),
        # searched for, also as a plain word
        ("gemini-cli", "BeforeTool", "write", ["write_file"], ["shell"]),
        ("gemini-cli", "BeforeTool", "run_shell_command", ["shell"], ["write_file"]),
        ("gemini-cli", "BeforeTool", "^write_file$", ["write_file"], ["shell"]),
        ("qwen-code", "PreToolUse", "Bash", ["shell"], ["write_file"]),
        ("qwen-code", "PreToolUse", "^run_shell_command$", ["shell"], ["write_file"]),
        ("factory-droid", "PreToolUse", "Execute", ["shell"], ["write_file"]),
        ("factory-droid", "PreToolUse", "Create|Edit", ["write_file", "edit_file"], ["shell"]),
        ("antigravity", "PreToolUse", "run_command", ["shell"], ["write_file"]),
        ("cursor", "preToolUse", "Shell|Write", ["shell", "write_file"], ["read_file"]),
        ("cursor", "beforeMCPExecution", "", ["mcp__git__push"], ["shell"]),
        # the whole name
        ("copilot-cli", "preToolUse", "bash|edit", ["shell", "edit_file"], ["read_file"]),
        ("copilot-cli", "preToolUse", "bas", [], ["shell"]),
        ("copilot-cli", "PreToolUse", "Write", ["write_file"], ["shell", "read_file"]),
        ("kiro", "PreToolUse", "execute_bash", ["shell"], ["write_file"]),
        ("kiro", "PreToolUse", "write", ["write_file", "edit_file", "apply_patch"], ["shell", "read_file"]),
        ("kiro-agent", "preToolUse", "fs_*", ["read_file", "write_file"], ["shell"]),
        ("kiro-agent", "preToolUse", "@git", ["mcp__git__push"], ["mcp__github__push", "shell"]),
        ("kiro-agent", "preToolUse", "@git/push", ["mcp__git__push"], ["mcp__git__pull"]),
        ("kiro-agent", "preToolUse", "@builtin", ["shell", "write_file"], ["mcp__git__push"]),
    ],
)
def test_matcher_means_what_its_agent_says(
    agent: str, event: str, matcher: str, wanted: list[str], others: list[str]
) -> None:
    hook = _hook(agent, event, matcher)

    assert [tool for tool in wanted if not _runs(hook, _call(tool))] == []
    assert [tool for tool in others if _runs(hook, _call(tool))] == []


def test_matcher_at_a_shell_event_of_cursor_finds_commands_of_every_agent() -> None:
    hook = _hook("cursor", "beforeShellExecution", "curl|wget")

    assert _runs(hook, _call("shell", command="sudo curl x"))
    assert not _runs(hook, _call("shell", command="ls"))
    assert not _runs(hook, _call("write_file", path="curl"))


@pytest.mark.parametrize(
    ("agent", "event", "matcher", "runs"),
    [
        ("claude-code", "SessionStart", "startup|resume", True),
        ("claude-code", "SessionStart", "clear", False),
        ("gemini-cli", "SessionStart", "startup", True),
        ("gemini-cli", "SessionStart", "start", False),
        ("gemini-cli", "SessionStart", "startup|resume", False),
    ],
)
def test_matcher_of_a_session_looks_at_how_it_began(agent: str, event: str, matcher: str, *, runs: bool) -> None:
    begun = Event(name=EventName.SESSION_START, data={"source": "startup"})

    assert _runs(_hook(agent, event, matcher), begun) is runs
