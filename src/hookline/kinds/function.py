"""Hooks that are functions of the embedding program.

A plain function runs at once on the event loop, so it must be quick: nobody can end it. An `async def`
function is given its time and then cancelled. Both get an `Event` whose `args` and `data` are the hook's
own copies; the session is shared with the program and is there to be read.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Coroutine
from typing import Final

from msgspec.structs import replace

from hookline.kinds._modules import describe
from hookline.model.copying import copied
from hookline.model.event import Event
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook

# seconds that a hook has to clean up after its time is over
GRACE: Final = 1.0
_STUBBORN: Final[set[asyncio.Task[Reply]]] = set()


class Function:
    """Call functions of this program."""

    def refusal(self, hook: Hook) -> str:
        """Say why this hook cannot be called."""
        return "" if callable(hook.call) else f'hook "{hook.id}" names no function: give it one with call='

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Call the function with the event; only an `async def` function can be ended after `timeout`."""
        function = hook.call
        if function is None:
            return Reply(failure=Failure(FailureKind.NOT_FOUND, self.refusal(hook)))
        try:
            value = function(_own(request.event))
        # nothing was awaited, so a cancellation seen here is the hook's own doing, as sys.exit() is
        except (Exception, SystemExit, asyncio.CancelledError) as problem:  # noqa: BLE001 - a hook may raise anything
            return raised(problem)
        if hasattr(value, "__await__"):
            return await finish(value, timeout=timeout)
        return Reply(value=value)

    def fell_over(self, problem: BaseException) -> Reply:
        """Give the reply of a hook that raised, to whoever called it on the spot."""
        return raised(problem)

    async def finish(self, value: Awaitable[object], *, timeout: float) -> Reply:
        """Wait for what an `async def` hook answers, for whoever called it on the spot."""
        return await finish(value, timeout=timeout)

    async def close(self) -> None:
        """Give back nothing: nothing is kept."""


async def finish(value: Awaitable[object], *, timeout: float) -> Reply:
    """Wait for what an `async def` hook answers; one that will not be ended is left behind, not waited for."""
    task = asyncio.create_task(_answer(value))
    try:
        await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        await _end(task)
        _never_mind(value)
        raise
    if task.done() and not task.cancelled():
        return task.result()
    ended = await _end(task)
    return Reply(failure=late(timeout) if ended else late(timeout, what_now="it does not let itself be ended"))


def _never_mind(value: Awaitable[object]) -> None:
    """Give up a coroutine that was cancelled before its first step; Python would complain about it."""
    if isinstance(value, Coroutine) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
        value.close()


async def _answer(value: Awaitable[object]) -> Reply:
    try:
        return Reply(value=await value)
    except asyncio.CancelledError as problem:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return raised(problem)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - a hook may raise anything
        return raised(problem)


async def _end(task: asyncio.Task[Reply]) -> bool:
    """End a hook's task, and say whether it did end."""
    # somebody has to hold it: a loop forgets tasks that nobody knows
    _STUBBORN.add(task)
    task.add_done_callback(_STUBBORN.discard)
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE)
    return task.done()


def raised(problem: BaseException) -> Reply:
    """Give the reply of a hook that raised."""
    return Reply(failure=Failure(FailureKind.RAISED, describe(problem)))


def late(timeout: float, *, what_now: str = "ended") -> Failure:
    """Name the failure of a hook that took too long, and what became of it."""
    return Failure(FailureKind.TIMEOUT, f"gave no answer within {timeout:g} s; {what_now}")


def _own(event: Event) -> Event:
    """Copy what a hook could change by accident."""
    copies: dict[int, object] = {}
    return replace(event, args=copied(event.args, copies), data=copied(event.data, copies))
