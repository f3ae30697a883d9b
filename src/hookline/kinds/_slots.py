"""How many children may run at once."""

import asyncio
import os
from collections import deque
from typing import Final

# Twice the cores keeps them busy while some hooks wait for a disk or a network; more only makes all of them slow.
LIMIT: Final = max(4, 2 * (os.cpu_count() or 1))

# A hook may itself wait for an agent whose hooks wait here. Whoever has waited this long goes on regardless, so
# that hooks that wait for each other cannot hold each other up until their timeouts.
PATIENCE: Final = 2.0


class Slots:
    """Smooth bursts of short hooks: let some run, the others wait their turn, first come, first served.

    Belongs to one event loop.
    """

    __slots__ = ("_limit", "_patience", "_running", "_waiting")

    def __init__(self, limit: int = LIMIT, *, patience: float | None = PATIENCE) -> None:
        """Take how many may run at once, and how long one waits at most; None for as long as it takes."""
        self._limit = limit
        self._patience = patience
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take_now(self) -> bool:
        """Have a turn, if nobody has to wait for one; then it is followed by one `give`."""
        if self._running >= self._limit:
            return False
        self._running += 1
        return True

    async def take(self) -> None:
        """Wait for a turn; every `take` that returns is followed by one `give`."""
        if self.take_now():
            return
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        timer = None if self._patience is None else loop.call_later(self._patience, self._admit, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def give(self) -> None:
        """Let the next one run."""
        self._running -= 1
        while self._waiting and self._running < self._limit:
            self._admit(self._waiting.popleft())

    def _admit(self, turn: asyncio.Future[None]) -> None:
        if not turn.done():
            self._running += 1
            turn.set_result(None)
