"""Hooks that are functions of the embedding program.

A plain function runs at once on the event loop, so it must be quick: it cannot be ended. An `async def` function is
cancelled at its timeout. Both get an `Event` whose `args` and `data` are the hook's own copies; the session is shared
with the program and read-only by convention.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Coroutine
from typing import Final

from msgspec.structs import replace

from hookline.model.event import Event, copy_fields
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.process.module_loader import describe_exception

# seconds that a hook has to clean up after its timeout
GRACE_SECONDS: Final = 1.0
# tasks that ignore their cancellation; the event loop itself holds only weak references
_UNENDED: Final[set[asyncio.Task[Reply]]] = set()


class Function:
    """Calls functions of the embedding program."""

    def refusal(self, hook: Hook) -> str:
        """Return why the hook cannot be called, or ""."""
        return "" if callable(hook.call) else f'hook "{hook.id}" names no function: give it one with call='

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Call the function with the event; only an `async def` function can be ended after `timeout`."""
        function = hook.call
        if function is None:
            return Reply(failure=Failure(FailureKind.NOT_FOUND, self.refusal(hook)))
        try:
            value = function(_copy_event(request.event))
        # nothing was awaited, so a cancellation seen here is the hook's own doing, as sys.exit() is
        except (Exception, SystemExit, asyncio.CancelledError) as problem:  # noqa: BLE001 - a hook may raise anything
            return exception_reply(problem)
        if hasattr(value, "__await__"):
            return await finish(value, timeout=timeout)
        return Reply(value=value)

    async def close(self) -> None:
        """Release nothing: a function holds no resources."""


async def finish(value: Awaitable[object], *, timeout: float) -> Reply:
    """Wait for the answer of an `async def` hook; a hook that ignores its cancellation is left behind."""
    task = asyncio.create_task(_await_reply(value))
    try:
        await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        await _end(task)
        _close_unstarted(value)
        raise
    if task.done() and not task.cancelled():
        return task.result()
    ended = await _end(task)
    return Reply(
        failure=timeout_failure(timeout)
        if ended
        else timeout_failure(timeout, what_now="it does not let itself be ended")
    )


def _close_unstarted(value: Awaitable[object]) -> None:
    """Close a coroutine that was cancelled before its first step; Python would warn about it."""
    if isinstance(value, Coroutine) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
        value.close()


async def _await_reply(value: Awaitable[object]) -> Reply:
    try:
        return Reply(value=await value)
    except asyncio.CancelledError as problem:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return exception_reply(problem)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - a hook may raise anything
        return exception_reply(problem)


async def _end(task: asyncio.Task[Reply]) -> bool:
    """Cancel the task of a hook, and return whether it ended."""
    _UNENDED.add(task)
    task.add_done_callback(_UNENDED.discard)
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE_SECONDS)
    return task.done()


def exception_reply(problem: BaseException) -> Reply:
    """Return the reply for a hook that raised an exception."""
    return Reply(failure=Failure(FailureKind.RAISED, describe_exception(problem)))


def timeout_failure(timeout: float, *, what_now: str = "ended") -> Failure:
    """Return the failure of a hook that took too long; `what_now` says what became of it."""
    return Failure(FailureKind.TIMEOUT, f"gave no answer within {timeout:g} s; {what_now}")


def _copy_event(event: Event) -> Event:
    """Return an event with copies of what a hook could change by accident."""
    copies: dict[int, object] = {}
    args = copy_fields(event.args, copies) if event.args else {}
    return replace(event, args=args, data=copy_fields(event.data, copies))
