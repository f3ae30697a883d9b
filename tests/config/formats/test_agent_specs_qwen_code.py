from collections.abc import Callable

import pytest

from hookline.model.hook import Hook

Reads = Callable[..., tuple[list[Hook], list[str]]]


def _one(reads: Reads, **entry: object) -> tuple[list[Hook], list[str]]:
    group = {"matcher": "^run_shell_command$", "hooks": [{"type": "command", "command": "q", **entry}]}
    return reads("qwen-code", {"hooks": {"PreToolUse": [group]}})


@pytest.mark.parametrize(("said", "seconds"), [(30, 30), (999, 999), (1000, 1), (30000, 30)])
def test_a_thousand_and_more_are_milliseconds(reads: Reads, said: int, seconds: float) -> None:
    (hook,), problems = _one(reads, timeout=said)

    assert problems == []
    assert hook.timeout == seconds


def test_everything_an_entry_may_say_is_known(reads: Reads) -> None:
    more = {
        "name": "guard",
        "description": "d",
        "env": {"A": "b"},
        "async": True,
        "statusMessage": "s",
        "shell": "bash",
    }
    (hook,), problems = _one(reads, **more)

    assert problems == []
    assert (hook.id, hook.background, hook.env, hook.matcher) == ("guard", True, {"A": "b"}, "^run_shell_command$")


def test_line_for_powershell_is_not_loaded(reads: Reads) -> None:
    hooks, (problem,) = _one(reads, shell="powershell")

    assert hooks == []
    assert "a line for PowerShell" in problem
