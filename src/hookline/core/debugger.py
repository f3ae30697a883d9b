"""What the hooks did lately: the last records, and figures for each hook."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.model.record import Record, Step

KEEP: Final = 1_000
RECENT: Final = 100
UNCOUNTED: Final = 256
SLOW: Final = 1.0  # seconds; the hook protocol asks for answers within one


class HookMetrics(Struct, frozen=True, kw_only=True):
    """The figures of one hook; times are in seconds.

    `denials` counts what the hook itself blocked, `observed_denials` what it would have blocked had it not
    been observing, `failures` its breakdowns by kind, whether they blocked or not. `recent` are the last
    durations, oldest first. Runs whose duration is unknown count as runs and not in the times.
    """

    hook: str
    runs: int = 0
    failures: Mapping[str, int] = {}
    denials: int = 0
    observed_denials: int = 0
    timed: int = 0
    total: float = 0.0
    shortest: float = 0.0
    longest: float = 0.0
    last: float = 0.0
    recent: tuple[float, ...] = ()
    last_error: str = ""

    @property
    def failed(self) -> int:
        """How many runs broke down."""
        return sum(self.failures.values())

    @property
    def success_rate(self) -> float:
        """The part of the runs that did not break down; 1.0 before the first run."""
        return 1.0 - self.failed / self.runs if self.runs else 1.0

    @property
    def mean(self) -> float:
        """The mean duration."""
        return self.total / self.timed if self.timed else 0.0

    @property
    def typical(self) -> float:
        """The median of the last durations, which one outlier does not move."""
        ordered = sorted(self.recent)
        middle = len(ordered) // 2
        if len(ordered) % 2:
            return ordered[middle]
        return (ordered[middle - 1] + ordered[middle]) / 2 if ordered else 0.0


class _Tally:
    """The figures of one hook while they are counted; making a frozen one for every record would cost more."""

    __slots__ = (
        "denials",
        "failures",
        "last_error",
        "longest",
        "observed_denials",
        "recent",
        "runs",
        "shortest",
        "timed",
        "total",
    )

    def __init__(self) -> None:
        self.runs = 0
        self.failures: dict[str, int] = {}
        self.denials = 0
        self.observed_denials = 0
        self.timed = 0
        self.total = 0.0
        self.shortest = 0.0
        self.longest = 0.0
        self.recent: deque[float] = deque(maxlen=RECENT)
        self.last_error = ""

    def completed(self, detail: Mapping[str, object]) -> None:
        # an answer that was given before counts, and says nothing about how long the hook takes
        self._timed(None if detail.get("cached") else detail.get("duration"))
        if str(detail.get("decision")) in _DENIALS:
            if detail.get("observed") is True:
                self.observed_denials += 1
            else:
                self.denials += 1

    def failed(self, detail: Mapping[str, object]) -> None:
        self._timed(detail.get("duration"))
        kind = str(detail.get("failure") or "unknown")
        self.failures[kind] = self.failures.get(kind, 0) + 1
        self.last_error = str(detail.get("message") or detail.get("reason") or kind)

    def _timed(self, duration: object) -> None:
        self.runs += 1
        # not "< 0", which "not a number" would pass
        if isinstance(duration, bool) or not isinstance(duration, int | float) or not duration >= 0:
            return
        seconds = float(duration)
        self.shortest = min(self.shortest, seconds) if self.timed else seconds
        self.longest = max(self.longest, seconds)
        self.timed += 1
        self.total += seconds
        self.recent.append(seconds)

    def metrics(self, hook: str) -> HookMetrics:
        return HookMetrics(
            hook=hook,
            runs=self.runs,
            failures=dict(self.failures),
            denials=self.denials,
            observed_denials=self.observed_denials,
            timed=self.timed,
            total=self.total,
            shortest=self.shortest,
            longest=self.longest,
            last=self.recent[-1] if self.recent else 0.0,
            recent=tuple(self.recent),
            last_error=self.last_error,
        )


class HookDebugger:
    """Listen to records, and answer what happened."""

    def __init__(self, *, keep: int = KEEP) -> None:
        self._records: deque[Record] = deque(maxlen=keep)
        # what was taken and not counted yet: counting waits until somebody asks, or there is much of it
        self._new: list[Record] = []
        self._tallies: dict[str, _Tally] = {}
        # reentrant, because a signal handler or a finalizer may publish in the middle of this
        self._lock = threading.RLock()

    def __call__(self, record: Record, /) -> None:
        """Take one record."""
        self._new.append(record)
        if len(self._new) >= UNCOUNTED:
            self._count()

    def _count(self) -> None:
        with self._lock:
            new, self._new = self._new, []
            self._records.extend(new)
            for record in new:
                count = _COUNTERS.get(record.step)
                if count is not None and record.hook:
                    tally = self._tallies.get(record.hook)
                    if tally is None:
                        tally = self._tallies[record.hook] = _Tally()
                    count(tally, record.detail)

    def executions(self, hook: str = "", step: Step | None = None, *, limit: int = RECENT) -> list[Record]:
        """Give the newest records first, of one hook and one step where they are named."""
        with self._lock:
            self._count()
            newest = list(reversed(self._records))
        found = (
            record for record in newest if (not hook or record.hook == hook) and (step is None or record.step is step)
        )
        return list(islice(found, max(limit, 0)))

    def hooks(self) -> list[str]:
        """Name every hook that ran, in the order of their first runs."""
        with self._lock:
            self._count()
            return list(self._tallies)

    def metrics(self, hook: str) -> HookMetrics:
        """Give a hook's figures; all zero when it never ran."""
        with self._lock:
            self._count()
            tally = self._tallies.get(hook)
            return tally.metrics(hook) if tally is not None else HookMetrics(hook=hook)

    def slow(self, threshold: float = SLOW) -> list[HookMetrics]:
        """Point out the hooks whose typical run takes longer than this, the slowest first."""
        everyone = [self.metrics(hook) for hook in self.hooks()]
        return sorted((one for one in everyone if one.typical > threshold), key=_typical, reverse=True)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._new.clear()
            self._records.clear()
            self._tallies.clear()


def _typical(metrics: HookMetrics) -> float:
    return metrics.typical


# the words for Decision.DENY and Decision.STOP in a record
_DENIALS: Final = frozenset({"deny", "stop"})
_COUNTERS: Final[Mapping[Step, Callable[[_Tally, Mapping[str, object]], None]]] = MappingProxyType(
    {Step.COMPLETED: _Tally.completed, Step.FAILED: _Tally.failed}
)
