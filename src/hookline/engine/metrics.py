"""In-memory metrics: the last records, and figures for each hook."""

import threading
from collections import deque
from itertools import islice
from typing import Final

from msgspec.structs import replace

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
        self._metrics: dict[str, HookMetrics] = {}
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
            if record.hook and record.step in {Step.COMPLETED, Step.FAILED}:
                self._metrics[record.hook] = _add_run(self.metrics(record.hook), record)

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
            return list(self._metrics)

    def metrics(self, hook: str) -> HookMetrics:
        """Return a hook's metrics; all zero when it never ran."""
        with self._lock:
            return self._metrics.get(hook) or HookMetrics(hook=hook)

    def slow(self, threshold: float = SLOW) -> list[HookMetrics]:
        """Return the hooks whose typical run takes longer than this, the slowest first."""
        metrics = [self.metrics(hook) for hook in self.hooks()]
        return sorted((one for one in metrics if one.typical > threshold), key=lambda one: one.typical, reverse=True)

    def clear(self) -> None:
        """Drop all records and metrics."""
        with self._lock:
            self._records.clear()
            self._size = 0
            self._metrics.clear()


def _add_run(metrics: HookMetrics, record: Record) -> HookMetrics:
    detail = record.detail
    metrics = replace(metrics, runs=metrics.runs + 1)
    # a cached answer counts as a run, but its duration is not that of the hook
    seconds = None if detail.get("cached") else detail.get("duration")
    # not `seconds < 0`, which NaN would pass
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0:
        seconds = float(seconds)
        metrics = replace(
            metrics,
            timed=metrics.timed + 1,
            total=metrics.total + seconds,
            shortest=min(metrics.shortest, seconds) if metrics.timed else seconds,
            longest=max(metrics.longest, seconds),
            last=seconds,
            recent=(*metrics.recent, seconds)[-RECENT:],
        )
    if record.step is Step.FAILED:
        kind = str(detail.get("failure") or "unknown")
        failures = {**metrics.failures, kind: metrics.failures.get(kind, 0) + 1}
        error = str(detail.get("message") or detail.get("reason") or kind)
        return replace(metrics, failures=failures, last_error=error)
    if str(detail.get("decision")) in _DENIALS:
        if detail.get("observed") is True:
            return replace(metrics, observed_denials=metrics.observed_denials + 1)
        return replace(metrics, denials=metrics.denials + 1)
    return metrics
