"""How many hook processes may run at once."""

import asyncio
import os
from collections import deque
from math import inf
from typing import Final

# Twice the cores keeps them busy while some hooks wait for a disk or a network; more only makes all of them slow. On
# small machines, waiting costs more than sharing a core.
LIMIT: Final = max(8, 2 * (os.cpu_count() or 1))

# A hook may wait for an agent whose hooks wait here. After this many seconds a hook runs regardless of the limit, so that
# hooks cannot deadlock until their timeouts.
PATIENCE: Final = 2.0
# a timer may fire this much too early
_TIMER_RESOLUTION: Final = 0.0005


class ConcurrencyLimiter:
    """A semaphore, first come, first served, that lets waiters in after some time. Belongs to one event loop."""

    def __init__(self, limit: int = LIMIT, *, patience: float | None = PATIENCE) -> None:
        """Take how many may run at once, and how long one waits at most; None to wait as long as it takes."""
        self._limit = limit
        self._patience = patience
        self._running = 0
        self._waiters: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._has_timer = False

    def try_acquire(self) -> bool:
        """Acquire a slot without waiting; each success is followed by one `release`."""
        if self._running >= self._limit:
            return False
        self._running += 1
        return True

    async def acquire(self) -> None:
        """Wait for a slot; each `acquire` that returns is followed by one `release`."""
        if self.try_acquire():
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        due = inf if self._patience is None else loop.time() + self._patience
        self._waiters.append((due, waiter))
        if due < inf and not self._has_timer:
            # one timer for all: most waiters get their slot long before
            self._has_timer = True
            loop.call_at(due, self._admit_overdue, loop)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give the slot to the next waiter."""
        self._running -= 1
        while self._waiters and self._running < self._limit:
            self._admit_next()

    def _admit_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time() + _TIMER_RESOLUTION
        while self._waiters and self._waiters[0][0] <= now:
            self._admit_next()
        self._has_timer = bool(self._waiters)
        if self._waiters:
            loop.call_at(self._waiters[0][0], self._admit_overdue, loop)

    def _admit_next(self) -> None:
        waiter = self._waiters.popleft()[1]
        if not waiter.done():
            self._running += 1
            waiter.set_result(None)
