import asyncio
import errno
import socket
from collections.abc import Mapping

import pytest

from hookline.engine.session import classify, run_tool
from hookline.errors import Blocked
from hookline.model.verdict import Decision, Outcome


class PoolTimeout(Exception):  # noqa: N818 - as they spell it
    """What client libraries raise."""


@pytest.mark.spec("C-11")
@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (PermissionError(errno.EACCES, "no"), "permission"),
        (OSError(errno.EROFS, "read only"), "permission"),
        (FileNotFoundError("x"), "not_found"),
        (KeyError("x"), "not_found"),
        (ModuleNotFoundError("x"), "not_found"),
        (TimeoutError(), "timeout"),
        (PoolTimeout(), "timeout"),
        (ConnectionRefusedError(), "network"),
        (OSError(errno.ENETUNREACH, "x"), "network"),
        (socket.gaierror(-2, "x"), "network"),
        (MemoryError(), "resource"),
        (ValueError(), "invalid_input"),
        (OSError(errno.ENOSPC, "full"), "io"),
        (RuntimeError("x"), "unknown"),
    ],
)
def test_errors_are_sorted_into_classes(error: Exception, wanted: str) -> None:
    assert classify(error) == wanted


class Emitter:
    """Answers events from a table, and remembers them."""

    def __init__(self, **answers: Outcome) -> None:
        self._answers = answers
        self.seen: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = []

    async def __call__(
        self, name: str, data: Mapping[str, object] | None = None, /, *, tool: str = "", args: Mapping[str, object] = {}
    ) -> Outcome:
        assert tool == "shell"
        self.seen.append((name, data or {}, args))
        return self._answers.get(name, Outcome())


async def run(command: str) -> str:
    return f"ran {command}"


@pytest.mark.spec("A-14")
def test_tool_runs_between_its_hooks() -> None:
    emit = Emitter()

    assert asyncio.run(run_tool(emit, "shell", {"command": "ls"}, run)) == "ran ls"
    before, after = emit.seen
    assert before == ("before_tool", {}, {"command": "ls"})
    assert after[0] == "after_tool"
    assert after[1]["result"] == "ran ls"
    assert isinstance(after[1]["duration"], float)


@pytest.mark.spec("A-14")
def test_rewritten_arguments_reach_the_tool_and_the_report() -> None:
    emit = Emitter(before_tool=Outcome(args={"command": "ls -l"}))

    assert asyncio.run(run_tool(emit, "shell", {"command": "ls"}, lambda command: command)) == "ls -l"
    assert emit.seen[1][2] == {"command": "ls -l"}


@pytest.mark.spec("A-14")
@pytest.mark.parametrize("decision", [Decision.ASK, Decision.DENY, Decision.STOP])
def test_blocked_tool_does_not_run(decision: Decision) -> None:
    ran: list[object] = []
    emit = Emitter(before_tool=Outcome(decision=decision, reasons=("too risky",)))

    with pytest.raises(Blocked, match="shell blocked by a hook: too risky"):
        asyncio.run(run_tool(emit, "shell", {"command": "ls"}, ran.append))
    assert ran == []


@pytest.mark.spec("A-14", "C-11")
def test_error_of_the_tool_is_reported_and_still_raised() -> None:
    def fails(command: str) -> None:
        raise FileNotFoundError(command)

    emit = Emitter()
    with pytest.raises(FileNotFoundError, match="ls"):
        asyncio.run(run_tool(emit, "shell", {"command": "ls"}, fails))
    name, data, _ = emit.seen[1]
    assert name == "tool_failed"
    assert (data["error"], data["error_type"], data["error_code"]) == ("ls", "not_found", "FileNotFoundError")
    assert "raise FileNotFoundError(command)" in str(data["error_stack"])


def test_replaced_result_is_what_the_caller_gets() -> None:
    emit = Emitter(after_tool=Outcome(output=None))

    assert asyncio.run(run_tool(emit, "shell", {"command": "ls"}, run)) is None


def test_denied_result_is_withheld() -> None:
    emit = Emitter(after_tool=Outcome(decision=Decision.DENY, reasons=("holds a key",)))

    with pytest.raises(Blocked, match="holds a key"):
        asyncio.run(run_tool(emit, "shell", {"command": "env"}, run))


def test_what_else_the_hooks_said_can_be_heard() -> None:
    emit = Emitter(before_tool=Outcome(trace="a"), after_tool=Outcome(trace="b"))
    heard: list[str] = []

    asyncio.run(run_tool(emit, "shell", {"command": "ls"}, run, on_outcome=lambda outcome: heard.append(outcome.trace)))

    assert heard == ["a", "b"]
