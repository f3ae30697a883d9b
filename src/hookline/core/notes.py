"""Notifications that nobody waits for, until somebody does."""

import asyncio
import logging
from collections.abc import Awaitable
from contextvars import ContextVar
from typing import Final

from hookline.errors import EngineError
from hookline.model.verdict import Outcome

logger = logging.getLogger(__name__)

# the notification that is under way here, also in tasks that its hooks run in
_NOTE: Final[ContextVar[object]] = ContextVar("note", default=None)


def running_loop() -> asyncio.AbstractEventLoop:
    """Give the loop that a notification is sent with.

    Raises:
        EngineError: No event loop is running here.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise EngineError('no event loop is running here: use `engine.emit_sync("notification", …)`') from None


class Notes:
    """Hold the notifications that are under way; one that fails is logged."""

    def __init__(self) -> None:
        # the loop holds tasks weakly; one that nobody else holds may vanish in the middle
        self._under_way: set[asyncio.Task[Outcome]] = set()

    def send(self, emitted: Awaitable[Outcome], loop: asyncio.AbstractEventLoop) -> None:
        """Let one go its way."""
        task = loop.create_task(_as_note(emitted))
        self._under_way.add(task)
        task.add_done_callback(self._ended)

    async def drain(self) -> None:
        """Wait for those that are still under way."""
        loop, mine = asyncio.get_running_loop(), _NOTE.get()
        # what belongs to another loop is waited for there, and nobody waits for themselves
        while others := {note for note in self._under_way if note is not mine and note.get_loop() is loop}:
            await asyncio.wait(others)

    def _ended(self, task: asyncio.Task[Outcome]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("a notification could not be sent", exc_info=task.exception())


async def _as_note(emitted: Awaitable[Outcome]) -> Outcome:
    _NOTE.set(asyncio.current_task())
    return await emitted
