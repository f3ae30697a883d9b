from collections.abc import Callable

import pytest

from hookline.model.hook import Hook

Reads = Callable[..., tuple[list[Hook], list[str]]]

HOOK = {"type": "command", "name": "guard", "command": "python3 g.py", "timeout": 5000, "env": {"A": "b"}}


def _settings(event: str = "BeforeTool", **config: object) -> dict[str, object]:
    return {"hooksConfig": config, "hooks": {event: [{"matcher": "write", "hooks": [HOOK]}], "notifications": True}}


def test_time_is_in_milliseconds_and_hooks_run_beside_each_other(reads: Reads) -> None:
    (hook,), problems = reads("gemini-cli", _settings())

    assert problems == []
    assert (hook.id, hook.timeout, hook.parallel, hook.env) == ("guard", 5.0, True, {"A": "b"})


def test_sequential_group_runs_one_after_another(reads: Reads) -> None:
    (hook,), _ = reads("gemini-cli", {"hooks": {"BeforeTool": [{"sequential": True, "hooks": [HOOK]}]}})

    assert not hook.parallel


@pytest.mark.parametrize("name", ["guard", "python3 g.py"])
def test_hook_that_is_disabled_by_name_or_command_is_switched_off(reads: Reads, name: str) -> None:
    (hook,), problems = reads("gemini-cli", _settings(disabled=[name]))

    assert problems == []
    assert not hook.enabled


def test_switch_for_all_hooks_counts(reads: Reads) -> None:
    (hook,), (problem,) = reads("gemini-cli", _settings(enabled=False))

    assert not hook.enabled
    assert '"hooksConfig.enabled" switches its hooks off' in problem


def test_matcher_of_a_session_is_one_word_and_no_pattern(reads: Reads) -> None:
    (start,), _ = reads("gemini-cli", {"hooks": {"SessionStart": [{"matcher": "a|b", "hooks": [HOOK]}]}})

    assert start.matcher == r"^a\|b$"


def test_matcher_of_a_prompt_is_not_looked_at(reads: Reads) -> None:
    (hook,), _ = reads("gemini-cli", _settings("BeforeAgent"))

    assert hook.matcher == ""


def test_after_a_tool_is_after_one_that_failed_as_well(reads: Reads) -> None:
    (hook,), _ = reads("gemini-cli", _settings("AfterTool"))

    assert hook.on == ("after_tool", "tool_failed")
