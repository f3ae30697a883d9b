"""Feedback loops: hooks that change files, which runs hooks, which change files.

A change while nothing runs is the user's: it starts in round 0. A change while hooks run, or right after, may be
theirs: its round is one higher than the highest of those. Runs that ended earlier do not count, so that a hook on a
schedule does not push each save into a later round. The first rounds run at once. Later ones wait until it was quiet
for longer and longer, and after the last nothing runs until a change comes in round 0. So every loop ends, and a user
who saves a file while hooks run is served all the same.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
        self._waiting: dict[str, int] = {}
        self._taken: set[str] = set()
        self._is_changed = asyncio.Event()

    def __len__(self) -> int:
        """Return how many files wait or are being delivered."""
        return len(self._waiting) + len(self._taken)

    def put(self, path: str, number: int) -> bool:
        """Enqueue a file; return False where it has had too many rounds."""
        if required_quiet(number) is None:
            return False
        self._waiting.pop(path, None)
        self._waiting[path] = number
        self._is_changed.set()
        return True

    def has(self, path: str) -> bool:
        """Return whether a file waits already."""
        return path in self._waiting

    async def take(self) -> tuple[str, int]:
        """Wait for the next file, and for the quiet that its round needs; no other worker gets it until it is `done`."""
        while True:
            pause: float | None = None
            quiet = self._guard.quiet
            for path, number in self._waiting.items():
                if path in self._taken:
                    continue
                left = (required_quiet(number) or 0.0) - quiet
                if left <= 0:
                    self._taken.add(path)
                    return path, self._waiting.pop(path)
                pause = left if pause is None else min(pause, left)
            self._is_changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if pause is None else max(pause, _SHORTEST_SLEEP)):
                    await self._is_changed.wait()

    def done(self, path: str) -> None:
        """Release a file; a change that arrived meanwhile is delivered."""
        self._taken.discard(path)
        self._is_changed.set()
