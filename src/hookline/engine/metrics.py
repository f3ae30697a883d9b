"""In-memory metrics: the last records, and figures for each hook."""

import threading
from collections import deque
from itertools import islice
from math import inf
from typing import Final

from hookline.model.record import Record, RunFigures, Step, text_size

KEEP: Final = 1_000
RECENT: Final = 100
LARGEST: Final = 16 * 1024 * 1024  # approximate bytes of text in all stored records
SLOW: Final = 1.0  # seconds; the hook protocol asks for answers within one


class HookMetrics(RunFigures, frozen=True, kw_only=True):
    """The figures of one hook in this process. `recent` are the last durations, oldest first."""

    shortest: float = 0.0
    longest: float = 0.0
    last: float = 0.0
    recent: tuple[float, ...] = ()

    @property
    def typical(self) -> float:
        """The median of the last durations."""
        ordered = sorted(self.recent)
        middle = len(ordered) // 2
        if len(ordered) % 2:
            return ordered[middle]
        return (ordered[middle - 1] + ordered[middle]) / 2 if ordered else 0.0


# Decision.DENY and Decision.STOP in a record
_DENIALS: Final = frozenset({"deny", "stop"})


class HookDebugger:
    """A sink that keeps the last records and the metrics of each hook."""

    def __init__(self, *, keep: int = KEEP) -> None:
        self._keep = keep
        self._records: deque[tuple[Record, int]] = deque()
        self._size = 0
        self._totals: dict[str, _Totals] = {}
        # reentrant: a signal handler or finalizer may publish while it is held
        self._lock = threading.RLock()

    def __call__(self, record: Record, /) -> None:
        """Add one record."""
        size = text_size(record.detail)
        with self._lock:
            self._records.append((record, size))
            self._size += size
            while len(self._records) > self._keep or (self._size > LARGEST and len(self._records) > 1):
                self._size -= self._records.popleft()[1]
            if record.hook and (record.step is Step.COMPLETED or record.step is Step.FAILED):
                totals = self._totals.get(record.hook)
                if totals is None:
                    totals = self._totals[record.hook] = _Totals()
                totals.add(record)

    def executions(self, hook: str = "", step: Step | None = None, *, limit: int = RECENT) -> list[Record]:
        """Return the newest records first, optionally of one hook and one step."""
        with self._lock:
            newest = [record for record, _ in reversed(self._records)]
        matching = (
            record for record in newest if (not hook or record.hook == hook) and (step is None or record.step is step)
        )
        return list(islice(matching, max(limit, 0)))

    def hooks(self) -> list[str]:
        """Return every hook that ran, in the order of their first runs."""
        with self._lock:
            return list(self._totals)

    def metrics(self, hook: str) -> HookMetrics:
        """Return a hook's metrics; all zero when it never ran."""
        with self._lock:
            totals = self._totals.get(hook)
            return HookMetrics(hook=hook) if totals is None else totals.metrics(hook)

    def slow(self, threshold: float = SLOW) -> list[HookMetrics]:
        """Return the hooks whose typical run takes longer than this, the slowest first."""
        metrics = [self.metrics(hook) for hook in self.hooks()]
        return sorted((one for one in metrics if one.typical > threshold), key=lambda one: one.typical, reverse=True)

    def clear(self) -> None:
        """Drop all records and metrics."""
        with self._lock:
            self._records.clear()
            self._size = 0
            self._totals.clear()


class _Totals:
    """Adds up the runs of one hook: this is on the way of every call, so nothing is copied until they are read."""

    def __init__(self) -> None:
        self.runs = self.timed = self.denials = self.observed_denials = 0
        self.total = self.longest = self.last = 0.0
        self.shortest = inf
        self.recent: deque[float] = deque(maxlen=RECENT)
        self.failures: dict[str, int] = {}
        self.last_error = ""

    def add(self, record: Record) -> None:
        """Add the record of one run."""
        detail = record.detail
        self.runs += 1
        # a cached answer counts as a run, but its duration is not that of the hook
        seconds = None if detail.get("cached") else detail.get("duration")
        # not `seconds < 0`, which NaN would pass
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
            self.last = seconds = float(seconds)
            self.timed += 1
            self.total += seconds
            self.shortest = min(self.shortest, seconds)
            self.longest = max(self.longest, seconds)
            self.recent.append(seconds)
        if record.step is Step.FAILED:
            kind = str(detail.get("failure") or "unknown")
            self.failures[kind] = self.failures.get(kind, 0) + 1
            self.last_error = str(detail.get("message") or detail.get("reason") or kind)
        elif str(detail.get("decision")) in _DENIALS:
            if detail.get("observed") is True:
                self.observed_denials += 1
            else:
                self.denials += 1

    def metrics(self, hook: str) -> HookMetrics:
        """Return the figures so far."""
        return HookMetrics(
            hook=hook,
            runs=self.runs,
            failures=dict(self.failures),
            denials=self.denials,
            observed_denials=self.observed_denials,
            timed=self.timed,
            total=self.total,
            last_error=self.last_error,
            shortest=self.shortest if self.timed else 0.0,
            longest=self.longest,
            last=self.last,
            recent=tuple(self.recent),
        )
