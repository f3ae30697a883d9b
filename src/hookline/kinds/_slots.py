"""How many children may run at once."""

import asyncio
import os
from collections import deque
from math import inf
from typing import Final

# Twice the cores keeps them busy while some hooks wait for a disk or a network; more only makes all of them slow. On small
# machines, to wait for a turn costs more than to share a core.
LIMIT: Final = max(8, 2 * (os.cpu_count() or 1))

# A hook may itself wait for an agent whose hooks wait here. Whoever has waited this long goes on regardless, so
# that hooks that wait for each other cannot hold each other up until their timeouts.
PATIENCE: Final = 2.0
# a timer may come this much before its time
_RESOLUTION: Final = 0.0005


class Slots:
    """Smooth bursts of short hooks: let some run, the others wait their turn, first come, first served.

    Belongs to one event loop.
    """

    __slots__ = ("_is_timed", "_limit", "_patience", "_running", "_waiting")

    def __init__(self, limit: int = LIMIT, *, patience: float | None = PATIENCE) -> None:
        """Take how many may run at once, and how long one waits at most; None for as long as it takes."""
        self._limit = limit
        self._patience = patience
        self._running = 0
        # with the times until which they wait
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._is_timed = False

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
        due = inf if self._patience is None else loop.time() + self._patience
        self._waiting.append((due, turn))
        if due < inf and not self._is_timed:
            # one for all who wait: most have their turn long before
            self._is_timed = True
            loop.call_at(due, self._let_in, loop)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Let the next one run."""
        self._running -= 1
        while self._waiting and self._running < self._limit:
            self._admit(self._waiting.popleft()[1])

    def _let_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let those run who have waited long enough."""
        late = loop.time() + _RESOLUTION
        while self._waiting and self._waiting[0][0] <= late:
            self._admit(self._waiting.popleft()[1])
        self._is_timed = bool(self._waiting)
        if self._waiting:
            loop.call_at(self._waiting[0][0], self._let_in, loop)

    def _admit(self, turn: asyncio.Future[None]) -> None:
        if not turn.done():
            self._running += 1
            turn.set_result(None)
