"""What agents do right now: the newest calls and one lane for each session, read from the trace file again and again."""

import time
from collections import Counter, deque
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.model.record import Step
from hookline.stores.trace_queries import Summary, TraceFilter, TraceQueries, TraceStats, summarise

MOST_CALLS: Final = 500
MOST_BLOCKED: Final = 200
MOST_LANES: Final = 60

# the plot of calls: spans of so many seconds
SPAN: Final = 10.0
SPANS: Final = 60

_MINUTE: Final = 60.0


class Lane(Struct, kw_only=True):
    """One session of one agent; `times` are those of its calls in the last minute."""

    agent: str
    session: str
    project: str = ""
    subject: str = ""
    decision: str = ""
    calls: int = 0
    blocked: int = 0
    last: float = 0.0
    times: deque[float]

    def count_recent(self, now: float) -> int:
        """Return the number of calls in the last minute."""
        while self.times and self.times[0] < now - _MINUTE:
            self.times.popleft()
        return len(self.times)


class LiveSnapshot(Struct, frozen=True, kw_only=True):
    """Everything that a screen shows of calls: lanes and calls, the newest first, and calls per span, the oldest first."""

    lanes: tuple[Lane, ...] = ()
    calls: tuple[Summary, ...] = ()
    blocked: tuple[Summary, ...] = ()
    spans: tuple[int, ...] = ()


class LiveCalls:
    """Follows the trace file; `read` is called by one thread at a time.

    The first `read`, and the first one with another filter, look back; the others read only what is new.
    """

    def __init__(self, path: Path, *, since: float = 0.0) -> None:
        self._queries = TraceQueries(path)
        self._stats = TraceStats(path)
        self._since = since
        self._wanted: TraceFilter | None = None
        self._number = 0
        self._calls: deque[Summary] = deque(maxlen=MOST_CALLS)
        self._blocked: deque[Summary] = deque(maxlen=MOST_BLOCKED)
        # calls by the start of their span
        self._spans: Counter[float] = Counter()
        self._lanes: dict[tuple[str, str], Lane] = {}

    def read(self, wanted: TraceFilter) -> LiveSnapshot:
        """Return what there is now; lanes and the plot are narrowed by the agent only.

        Raises:
            StoreError: The file cannot be read.
        """
        # in a file that was replaced or pruned, the numbers start again
        if wanted != self._wanted or self._queries.newest() < self._number:
            self._look_back(replace(wanted, since=self._since))
            self._wanted = wanted
        for number, record in self._queries.after(self._number, TraceFilter(host=wanted.host)):
            self._number = number
            if record.step is Step.OUTCOME:
                self._add(summarise(record, number), wanted)
        now = time.time()
        lanes = sorted(self._lanes.values(), key=lambda lane: -lane.last)[:MOST_LANES]
        for lane in lanes:
            lane.count_recent(now)
        return LiveSnapshot(
            lanes=tuple(replace(lane, times=lane.times.copy()) for lane in lanes),
            calls=tuple(self._calls),
            blocked=tuple(self._blocked),
            spans=self._list_spans(now),
        )

    def _look_back(self, wanted: TraceFilter) -> None:
        self._wanted = None
        self._number = self._queries.newest()
        # what is written from now on comes by its number
        until = self._number
        for kept, blocked in ((self._calls, False), (self._blocked, True)):
            kept.clear()
            kept.extend(islice(self._queries.traces(wanted, blocked=blocked, before=until + 1), kept.maxlen))
        recent = TraceFilter(host=wanted.host, since=time.time() - SPANS * SPAN)
        self._spans = Counter()
        for bucket in self._stats.calls(recent, SPAN):
            self._spans[bucket.start] += bucket.calls
        self._lanes.clear()
        for one in self._queries.sessions(TraceFilter(host=wanted.host, since=wanted.since), limit=MOST_LANES):
            last = next(self._queries.traces(TraceFilter(session=one.session), before=until + 1), None)
            lane = Lane(agent=one.host, session=one.session, project=one.project, calls=one.calls, times=deque())
            lane.blocked, lane.last = one.blocked, one.last
            if last is not None:
                lane.subject, lane.decision = _name_call(last), last.decision
            lane.times.extend(call.at for call in reversed(self._calls) if call.session == one.session)
            self._lanes[one.host, one.session] = lane

    def _add(self, call: Summary, wanted: TraceFilter) -> None:
        lane = self._lanes.setdefault(
            (call.host, call.session), Lane(agent=call.host, session=call.session, times=deque())
        )
        lane.project, lane.subject, lane.decision = call.project or lane.project, _name_call(call), call.decision
        lane.calls += 1
        lane.blocked += call.blocked
        # the time of the outcome, as `TraceQueries.sessions` has it
        lane.last = max(lane.last, call.at + call.duration)
        lane.times.append(call.at)
        self._spans[call.at // SPAN * SPAN] += 1
        if not wanted.matches(call):
            return
        self._calls.appendleft(call)
        if call.blocked:
            self._blocked.appendleft(call)

    def _list_spans(self, now: float) -> tuple[int, ...]:
        end = now // SPAN * SPAN
        starts = [end - SPAN * back for back in reversed(range(SPANS))]
        for start in [start for start in self._spans if start < starts[0]]:
            del self._spans[start]
        return tuple(self._spans[start] for start in starts)


def _name_call(call: Summary) -> str:
    """Return what a call is about."""
    return call.subject or call.tool or call.event
