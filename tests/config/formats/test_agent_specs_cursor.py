from collections.abc import Callable

import pytest

from hookline.conditions.compiler import PolicyCondition
from hookline.model.hook import Hook, Layer, OnError

Reads = Callable[..., tuple[list[Hook], list[str]]]


def _one(reads: Reads, event: str, **entry: object) -> tuple[list[Hook], list[str]]:
    return reads("cursor", {"version": 1, "hooks": {event: [{"command": "./guard.py", **entry}]}})


def test_matcher_of_a_shell_event_looks_at_the_command(reads: Reads) -> None:
    (hook,), problems = _one(reads, "beforeShellExecution", matcher="curl|wget", timeout=15, failClosed=True)
    runs = PolicyCondition(hook.condition)

    assert problems == []
    assert (hook.on, hook.matcher, hook.native_event) == (("before_tool",), "^(?:shell)$", "beforeShellExecution")
    assert runs({"args": {"command": "sudo wget x"}})
    assert not runs({"args": {"command": "ls"}})
    assert (hook.timeout, hook.on_error) == (15, OnError.BLOCK)


def test_mcp_event_is_about_tools_of_servers_alone(reads: Reads) -> None:
    (every,), _ = _one(reads, "beforeMCPExecution")
    (some,), _ = _one(reads, "beforeMCPExecution", matcher="search")

    assert (every.matcher, every.condition) == ("^(?:mcp__.*)$", "")
    assert (some.matcher, some.condition) == ("search", 'tool.matches("^(?:mcp__.*)$")')


@pytest.mark.parametrize(
    ("event", "matcher", "loaded"),
    [
        ("beforeSubmitPrompt", "UserPromptSubmit", True),
        ("stop", "Stop|Other", True),
        ("stop", "^St.*", True),
        ("beforeReadFile", "Read", True),
        ("beforeReadFile", "TabRead", False),
        ("stop", "UserPromptSubmit", False),
    ],
)
def test_event_that_is_always_called_the_same_is_matched_by_that_word(
    reads: Reads, event: str, matcher: str, *, loaded: bool
) -> None:
    hooks, problems = _one(reads, event, matcher=matcher)

    assert len(hooks) == int(loaded)
    assert ["never runs" in problem for problem in problems] == ([] if loaded else [True])


def test_commands_run_in_the_project_and_a_persons_own_beside_their_file(reads: Reads) -> None:
    document = {"hooks": {"stop": [{"command": "./a", "loop_limit": None}]}}
    (theirs,), _ = reads("cursor", document)
    (own,), _ = reads("cursor", document, path="/home/x/.cursor/hooks.json", layer=Layer.USER)

    assert (theirs.working_directory, own.working_directory) == ("/p", "/home/x/.cursor")


def test_failure_counts_as_the_agent_says_where_nothing_is_said(reads: Reads) -> None:
    (said,), _ = _one(reads, "preToolUse", failClosed=False)
    (unsaid,), _ = _one(reads, "preToolUse")

    assert (said.on_error, unsaid.on_error) == (OnError.CONTINUE, None)
