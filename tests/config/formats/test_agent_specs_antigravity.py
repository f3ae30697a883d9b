from collections.abc import Callable

from hookline.model.hook import Hook

Reads = Callable[..., tuple[list[Hook], list[str]]]

GROUP = {"matcher": "run_command", "hooks": [{"type": "command", "command": "guard", "timeout": 10}]}
BUNDLE = {"PreToolUse": [GROUP], "Stop": [{"type": "command", "command": "stop"}]}


def test_bundles_hold_groups_at_tools_and_plain_hooks_elsewhere(reads: Reads) -> None:
    (guard, stop), problems = reads("antigravity", {"my-guard": BUNDLE}, path="/p/.agents/hooks.json")

    assert problems == []
    assert (guard.matcher, guard.timeout, guard.working_directory) == ("run_command", 10, "/p/.agents")
    assert (stop.on, stop.source_pointer) == (("after_agent",), ("my-guard", "Stop", 0))


def test_bundle_that_is_switched_off_keeps_its_hooks_switched_off(reads: Reads) -> None:
    hooks, problems = reads("antigravity", {"a": {"enabled": False, **BUNDLE}, "b": {"enabled": True, **BUNDLE}})

    assert problems == []
    assert [hook.enabled for hook in hooks] == [False, False, True, True]


def test_what_is_no_bundle_is_told(reads: Reads) -> None:
    hooks, (problem,) = reads("antigravity", {"a": [GROUP]})

    assert hooks == []
    assert 'wanted a bundle of hooks for "a", got a list' in problem
