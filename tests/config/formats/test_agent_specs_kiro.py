import re
from collections.abc import Callable

import pytest

from hookline.conditions.compiler import PolicyCondition
from hookline.model.hook import Hook

Reads = Callable[..., tuple[list[Hook], list[str]]]


def _one(reads: Reads, **hook: object) -> tuple[list[Hook], list[str]]:
    whole = {"name": "guard", "trigger": "PreToolUse", "action": {"type": "command", "command": "a"}, **hook}
    return reads("kiro", {"version": "v1", "hooks": [whole]})


def _legacy(reads: Reads, **hook: object) -> tuple[list[Hook], list[str]]:
    return reads("kiro-legacy", {"enabled": True, "name": "lint", "version": "1", **hook}, agent="kiro")


def test_hook_in_a_list_has_a_trigger_and_an_action(reads: Reads) -> None:
    (hook,), problems = _one(reads, timeout=20, enabled=False, description="d")

    assert problems == []
    assert (hook.id, hook.command, hook.timeout, hook.enabled) == ("guard", "a", 20, False)
    assert (hook.on, hook.native_event, hook.source_pointer) == (("before_tool",), "PreToolUse", ("hooks", 0))


def test_prompt_asks_the_agent(reads: Reads) -> None:
    (hook,), problems = _one(reads, trigger="Stop", action={"type": "agent", "prompt": "Run the tests."})

    assert problems == []
    assert (hook.kind, hook.prompt) == ("ask_agent", "Run the tests.")


def test_no_time_at_all_is_an_hour(reads: Reads) -> None:
    (hook,), _ = _one(reads, timeout=0)

    assert hook.timeout == 3600


@pytest.mark.parametrize(
    ("matcher", "tools", "others"),
    [
        ("shell|execute_bash", ["shell", "execute_bash"], ["read_file"]),
        ("write", ["write_file", "apply_patch", "fs_write", "write"], ["read_file", "shell"]),
        ("read", ["read_file", "grep"], ["write_file"]),
        ("web", ["web_fetch"], ["shell"]),
        ("fs_*", ["fs_read", "fs_write"], ["use_aws"]),
        ("@git", ["mcp__git__status"], ["mcp__github__x"]),
        ("@git/status", ["mcp__git__status"], ["mcp__git__push"]),
        ("@mcp", ["mcp__git__status"], ["shell"]),
        ("@builtin", ["builtin:shell"], ["mcp__git__status"]),
        ("fs_.*|shell", ["fs_read", "shell"], ["x"]),
    ],
)
def test_matcher_names_tools_categories_and_servers(
    reads: Reads, matcher: str, tools: list[str], others: list[str]
) -> None:
    (hook,), _ = _one(reads, matcher=matcher)

    wanted = [tool for tool in tools if re.fullmatch(hook.matcher, tool) or tool in {"fs_write", "write"}]
    assert wanted == tools
    assert [tool for tool in others if re.fullmatch(hook.matcher, tool)] == []


def test_matcher_of_a_file_event_looks_at_the_path(reads: Reads) -> None:
    (hook,), _ = _one(reads, trigger="PostFileSave", matcher=r"\.py$")
    runs = PolicyCondition(hook.condition)

    assert (hook.on, hook.matcher) == (("file_edited",), "")
    assert runs({"file": {"path": "a/b.py"}})
    assert not runs({"file": {"path": "a/b.pyc"}})


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ({"action": 5}, 'needs an object "action", got the number 5'),
        ({"action": {"type": "command"}}, "has no command"),
        ({"trigger": "PreTaskExec"}, 'the event "PreTaskExec" has no counterpart'),
        ({"acton": 1}, 'unknown key "acton"'),
    ],
)
def test_what_is_wrong_with_a_hook_is_told(reads: Reads, hook: dict[str, object], said: str) -> None:
    _, problems = _one(reads, **hook)

    assert said in problems[0]


@pytest.mark.parametrize("content", [{"hooks": {}}, [], {"hooks": [5]}])
def test_file_of_another_shape_is_an_error(reads: Reads, content: object) -> None:
    hooks, (problem,) = reads("kiro", content)

    assert hooks == []
    assert "error: wanted" in problem


def test_older_file_has_when_and_then(reads: Reads) -> None:
    when = {"type": "fileEdited", "patterns": ["src/**/*.ts"]}
    (hook,), problems = _legacy(reads, when=when, then={"type": "runCommand", "command": "npm run lint", "timeout": 30})

    assert problems == []
    assert (hook.id, hook.on, hook.files) == ("lint", ("file_edited",), ("src/**/*.ts",))
    assert (hook.command, hook.timeout, hook.run_by) == ("npm run lint", 30, ("kiro",))


def test_older_file_names_its_tools(reads: Reads) -> None:
    when = {"type": "preToolUse", "toolTypes": ["shell", "@git"]}
    (hook,), _ = _legacy(reads, when=when, then={"type": "askAgent", "prompt": "Careful."})

    assert (hook.matcher, hook.prompt) == ("shell|mcp__git__.*", "Careful.")


@pytest.mark.parametrize("name", ["when", "then"])
def test_older_file_without_a_part_is_an_error(reads: Reads, name: str) -> None:
    parts = {"when": {"type": "agentStop"}, "then": {"type": "askAgent", "prompt": "x"}}
    hooks, (problem,) = _legacy(reads, **{key: part for key, part in parts.items() if key != name})

    assert hooks == []
    assert f'needs an object "{name}"' in problem


def test_hooks_of_an_agent_count_in_milliseconds_and_may_keep_answers(reads: Reads) -> None:
    entry = {"matcher": "fs_write", "command": "a", "timeout_ms": 5000, "cache_ttl_seconds": 60}
    document = {"name": "demo", "tools": ["*"], "hooks": {"preToolUse": [entry], "agentSpawn": [{"command": "b"}]}}
    (guard, start), problems = reads("kiro-agent", document, agent="kiro")

    assert problems == []
    assert (guard.timeout, guard.cache.seconds if guard.cache else 0) == (5.0, 60)
    assert (start.on, start.cache) == (("session_start",), None)


@pytest.mark.parametrize(("event", "limit"), [("fileEdited", "patterns"), ("preToolUse", "toolTypes")])
def test_older_hook_for_no_file_and_no_tool_at_all_is_not_one_for_all_of_them(
    reads: Reads, event: str, limit: str
) -> None:
    hook = {"name": "x", "when": {"type": event, limit: []}, "then": {"type": "runCommand", "command": "x"}}
    hooks, (problem,) = reads("kiro-legacy", hook, agent="kiro")

    assert hooks == []
    assert 'hook "x" never runs' in problem


@pytest.mark.parametrize(("key", "value"), [("files", 5), ("files", ["*.py"]), ("matcher", "write")])
def test_keys_of_the_inner_objects_mean_nothing_beside_them(key: str, value: object, reads: Reads) -> None:
    then = {"type": "runCommand", "command": "a"}
    hooks, problems = _legacy(reads, when={"type": "fileEdited"}, then=then, **{key: value})

    assert hooks == []
    assert [f'unknown key "{key}"' in problem for problem in problems] == [True]
