"""Feedback loops: hooks that change files, which runs hooks, which change files.

A change while nothing runs is the user's: it starts in round 0. A change while hooks run, or right after, may be
theirs: its round is one higher than the highest of those. Runs that ended earlier do not count, so that a hook on a
schedule does not push each save into a later round. The first rounds run at once. Later ones wait until it was quiet
for longer and longer, and after the last nothing runs until a change comes in round 0. So every loop ends, and a user
who saves a file while hooks run is served all the same.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

AT_ONCE: Final = 5
# seconds of quiet before each of the further rounds
WAITS: Final = (2.0, 10.0, 60.0)
LAST: Final = AT_ONCE + len(WAITS)
# seconds at least until a waiting file is looked at again
_SHORTEST_SLEEP: Final = 0.05

Clock = Callable[[], float]


class LoopGuard:
    """Tracks the runs of hooks, and assigns changes to rounds.

    Up to `grace` seconds after a run, a change counts as one that the run made.
    """

    def __init__(self, grace: float, *, clock: Clock = monotonic) -> None:
        self._grace = grace
        self._clock = clock
        self._running: list[int] = []
        # when the last run of each round ended
        self._ended: dict[int, float] = {}

    @property
    def number(self) -> int:
        """The round of a change that arrives now; 0 for one by the user."""
        since = self._clock() - self._grace
        recent = [number for number, ended in self._ended.items() if ended > since]
        return max((*self._running, *recent), default=-1) + 1

    @property
    def quiet(self) -> float:
        """Seconds since the last run ended."""
        return 0.0 if self._running else self._clock() - max(self._ended.values(), default=float("-inf"))

    @contextmanager
    def running(self, number: int = 0) -> Iterator[None]:
        """Note that hooks run for a change of this round."""
        self._running.append(number)
        try:
            yield
        finally:
            self._running.remove(number)
            self._ended[number] = self._clock()


def required_quiet(number: int) -> float | None:
    """Return the seconds of quiet before a round may run, or None where it may not run at all."""
    if number <= AT_ONCE:
        return 0.0
    return WAITS[number - AT_ONCE - 1] if number <= LAST else None


class FileQueue:
    """Queue of the files that may have changed, each with its round; a file is delivered to one worker at a time."""

    def __init__(self, guard: LoopGuard) -> None:
        self._guard = guard
        self._ready: dict[str, int] = {}
        self._later: dict[str, int] = {}
        self._again: dict[str, int] = {}
        self._taken: set[str] = set()
        self._is_ready = asyncio.Event()
        self._is_later = asyncio.Event()

    def __len__(self) -> int:
        """Return how many files wait or are being delivered."""
        return len(self._ready) + len(self._later) + len(self._again) + len(self._taken)

    def put(self, path: str, number: int) -> bool:
        """Enqueue a file; return False where it has had too many rounds."""
        wait = required_quiet(number)
        if wait is None:
            return False
        if path in self._taken:
            self._again[path] = number
            return True
        self._later.pop(path, None)
        self._ready.pop(path, None)
        if wait:
            self._later[path] = number
            self._is_later.set()
        else:
            self._ready[path] = number
            self._is_ready.set()
        return True

    def has(self, path: str) -> bool:
        """Return whether a file waits already."""
        return path in self._ready or path in self._later or path in self._again

    async def take(self) -> tuple[str, int]:
        """Wait for the next file; no other worker gets it until it is `done`."""
        while not self._ready:
            self._is_ready.clear()
            await self._is_ready.wait()
        path = next(iter(self._ready))
        self._taken.add(path)
        return path, self._ready.pop(path)

    def done(self, path: str) -> None:
        """Release a file; a change that arrived meanwhile is enqueued."""
        self._taken.discard(path)
        if path in self._again:
            self.put(path, self._again.pop(path))

    async def revive(self) -> None:
        """Move files that wait for quiet to the queue when it is, for ever."""
        while True:
            if not self._later:
                self._is_later.clear()
                await self._is_later.wait()
            left = {path: (required_quiet(number) or 0.0) - self._guard.quiet for path, number in self._later.items()}
            for path in [path for path, seconds in left.items() if seconds <= 0]:
                self._ready[path] = self._later.pop(path)
                self._is_ready.set()
            await asyncio.sleep(max(min(left.values()), _SHORTEST_SLEEP))
