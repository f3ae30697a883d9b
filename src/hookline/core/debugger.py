"""What the hooks did lately: the last records, and figures for each hook."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.model.record import Record, Step

KEEP: Final = 1_000
RECENT: Final = 100
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


class HookDebugger:
    """Listen to records, and answer what happened."""

    def __init__(self, *, keep: int = KEEP) -> None:
        self._records: deque[Record] = deque(maxlen=keep)
        self._metrics: dict[str, HookMetrics] = {}
        # reentrant, because a signal handler or a finalizer may publish in the middle of this
        self._lock = threading.RLock()

    def __call__(self, record: Record, /) -> None:
        """Take one record."""
        count = _COUNTERS.get(record.step)
        with self._lock:
            self._records.append(record)
            if count is not None and record.hook:
                self._metrics[record.hook] = count(self._known(record.hook), record.detail)

    def executions(self, hook: str = "", step: Step | None = None, *, limit: int = RECENT) -> list[Record]:
        """Give the newest records first, of one hook and one step where they are named."""
        with self._lock:
            newest = list(reversed(self._records))
        found = (
            record for record in newest if (not hook or record.hook == hook) and (step is None or record.step is step)
        )
        return list(islice(found, max(limit, 0)))

    def hooks(self) -> list[str]:
        """Name every hook that ran, in the order of their first runs."""
        with self._lock:
            return list(self._metrics)

    def metrics(self, hook: str) -> HookMetrics:
        """Give a hook's figures; all zero when it never ran."""
        with self._lock:
            return self._known(hook)

    def slow(self, threshold: float = SLOW) -> list[HookMetrics]:
        """Point out the hooks whose typical run takes longer than this, the slowest first."""
        with self._lock:
            everyone = list(self._metrics.values())
        return sorted((one for one in everyone if one.typical > threshold), key=_typical, reverse=True)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._records.clear()
            self._metrics.clear()

    def _known(self, hook: str) -> HookMetrics:
        return self._metrics.get(hook) or HookMetrics(hook=hook)


def _typical(metrics: HookMetrics) -> float:
    return metrics.typical


def _completed(metrics: HookMetrics, detail: Mapping[str, object]) -> HookMetrics:
    metrics = _timed(metrics, detail.get("duration"))
    if str(detail.get("decision")) not in _DENIALS:
        return metrics
    if detail.get("observed") is True:
        return replace(metrics, observed_denials=metrics.observed_denials + 1)
    return replace(metrics, denials=metrics.denials + 1)


def _failed(metrics: HookMetrics, detail: Mapping[str, object]) -> HookMetrics:
    kind = str(detail.get("failure") or "unknown")
    return replace(
        _timed(metrics, detail.get("duration")),
        failures={**metrics.failures, kind: metrics.failures.get(kind, 0) + 1},
        last_error=str(detail.get("message") or detail.get("reason") or kind),
    )


def _timed(metrics: HookMetrics, duration: object) -> HookMetrics:
    metrics = replace(metrics, runs=metrics.runs + 1)
    # not "< 0", which "not a number" would pass
    if isinstance(duration, bool) or not isinstance(duration, int | float) or not duration >= 0:
        return metrics
    seconds = float(duration)
    return replace(
        metrics,
        timed=metrics.timed + 1,
        total=metrics.total + seconds,
        shortest=min(metrics.shortest, seconds) if metrics.timed else seconds,
        longest=max(metrics.longest, seconds),
        last=seconds,
        recent=(*metrics.recent, seconds)[-RECENT:],
    )


# the words for Decision.DENY and Decision.STOP in a record
_DENIALS: Final = frozenset({"deny", "stop"})
_COUNTERS: Final[Mapping[Step, Callable[[HookMetrics, Mapping[str, object]], HookMetrics]]] = MappingProxyType(
    {Step.COMPLETED: _completed, Step.FAILED: _failed}
)
