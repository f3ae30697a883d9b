"""Hooks that change files, which runs hooks, which change files: how that comes to an end.

A change that comes while nothing runs is somebody's own: it begins anew. A change that comes while hooks run, or
right after, may be theirs: it is one round further than the furthest of those. What ended earlier did not make it,
however long others run: a hook that a clock starts again and again does not make each save count for more. The first rounds run at once. Further
ones wait until it was quiet for longer and longer, and after the last nothing more runs until a change comes that is
somebody's own. So every chain ends, and whoever saves a file while hooks run is heard all the same.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

AT_ONCE: Final = 5
# seconds of quiet before each of the further rounds
WAITS: Final = (2.0, 10.0, 60.0)
LAST: Final = AT_ONCE + len(WAITS)

Clock = Callable[[], float]


class Rounds:
    """Know which round it is: what runs now, and what has just ended.

    `grace` is how many seconds after a run a change is still taken for one that the run made.
    """

    def __init__(self, grace: float, *, clock: Clock = monotonic) -> None:
        self._grace = grace
        self._clock = clock
        self._running: list[int] = []
        # when the last run of each round ended: there are not many rounds
        self._ended: dict[int, float] = {}

    @property
    def number(self) -> int:
        """The round of a change that comes now; 0 for one that is somebody's own."""
        since = self._clock() - self._grace
        recent = [number for number, ended in self._ended.items() if ended > since]
        return max((*self._running, *recent), default=-1) + 1

    @property
    def quiet(self) -> float:
        """For how many seconds nothing has run."""
        return 0.0 if self._running else self._clock() - max(self._ended.values(), default=float("-inf"))

    @contextmanager
    def running(self, number: int = 0) -> Iterator[None]:
        """Say that hooks run for a change of this round."""
        self._running.append(number)
        try:
            yield
        finally:
            self._running.remove(number)
            self._ended[number] = self._clock()


def wait_of(number: int) -> float | None:
    """Say how long it has to be quiet before a round; None when it does not run at all."""
    if number <= AT_ONCE:
        return 0.0
    return WAITS[number - AT_ONCE - 1] if number <= LAST else None
