"""Stores in memory, for tests and for programs that want nothing on disk, and the counter of dropped records."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from msgspec.structs import asdict

from hookline import json_codec
from hookline.model.record import Record, Step
from hookline.ports import Decide, StateValue

T = TypeVar("T")

BOUND: Final = 100_000  # records
STATE_BOUND: Final = 10_000  # entries; see `_sort_key` for what is removed beyond that
# A program with a session per request and a full disk must not fill the memory with counts.
MOST_SESSIONS: Final = 1_000


class DropCounter:
    """Counts the records that a full store dropped, by session, until a warning about them is stored."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._at = 0.0
        # reentrant: a signal handler or a finalizer may write during a write
        self._lock = threading.RLock()

    def make_room(self, queue: deque[Record], bound: int) -> None:
        """Drop the oldest records of a queue that holds more than `bound`."""
        with self._lock:
            try:
                while len(queue) > bound:
                    session = queue.popleft().session
                    key = session if session in self._counts or len(self._counts) < MOST_SESSIONS else ""
                    self._counts[key] = self._counts.get(key, 0) + 1
                    self._at = time.time()
            except IndexError:
                return  # another thread emptied it

    def counts(self) -> Mapping[str, int]:
        """Return how many were dropped, by session."""
        with self._lock:
            return dict(self._counts)

    def forget(self, counts: Mapping[str, int]) -> None:
        """Subtract counts whose warnings are stored."""
        with self._lock:
            for session, count in counts.items():
                left = self._counts.pop(session, 0) - count
                if left > 0:
                    self._counts[session] = left

    def warnings(self, counts: Mapping[str, int]) -> list[Record]:
        """Return a warning for each session, so that its export shows the loss."""
        return [
            Record(
                trace=f"dropped-{session}" if session else "dropped",
                step=Step.WARNING,
                at=self._at,
                event="",
                session=session,
                detail={"message": f"the trace store was full: {count} older records were dropped", "dropped": count},
            )
            for session, count in counts.items()
        ]


class MemoryTraces:
    """Keeps the newest records, and counts the older ones that it dropped."""

    def __init__(self, *, bound: int = BOUND) -> None:
        self._bound = bound
        self._records: deque[Record] = deque()
        self._dropped = DropCounter()
        # reentrant: a signal handler or a finalizer may write during a write
        self._lock = threading.RLock()

    def write(self, record: Record) -> None:
        """Store a record."""
        with self._lock:
            self._records.append(record)
            if len(self._records) > self._bound:
                self._dropped.make_room(self._records, self._bound)

    def flush(self) -> None:
        """Do nothing: records are stored at once."""

    def traces(self, *, limit: int = 50, session: str = "") -> list[str]:
        """Return the ids of traces, the newest first."""
        newest = dict.fromkeys(record.trace for record in reversed(self._all(session)))
        return list(newest)[: max(limit, 0)]

    def records(self, trace: str) -> list[Record]:
        """Return the records of a trace, in order."""
        return [record for record in self._all("") if record.trace == trace]

    def export(self, *, session: str = "") -> Iterator[bytes]:
        """Return every record as a line of JSON, oldest first."""
        return (json_codec.dump(asdict(record)) for record in self._all(session))

    def close(self) -> None:
        """Do nothing: the records stay readable."""

    def _all(self, session: str) -> list[Record]:
        with self._lock:
            records = [*self._dropped.warnings(self._dropped.counts()), *self._records]
        return [record for record in records if record.session == session] if session else records


class MemoryState:
    """Keeps values as long as the process runs."""

    waits: Final = False

    def __init__(self, *, clock: Callable[[], float] = time.time, bound: int = STATE_BOUND) -> None:
        self._clock = clock
        self._bound = bound
        self._entries: dict[str, StateValue] = {}
        # reentrant: a finalizer may emit an event at any time
        self._lock = threading.RLock()

    def read(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the values of these keys."""
        with self._lock:
            return self._read(keys, self._clock())

    def change(self, keys: Sequence[str], decide: Decide[T]) -> T:
        """Let `decide` read and change these keys atomically."""
        with self._lock:
            now = self._clock()
            entries, answer = decide(self._read(keys, now), now)
            self._entries.update(entries)
            if len(self._entries) > self._bound:
                valid = ((key, entry) for key, entry in self._entries.items() if entry.until > now)
                # a quarter at once, so that the next changes need not do this again
                self._entries = dict(sorted(valid, key=_sort_key)[: self._bound * 3 // 4])
            return answer

    def forget(self, prefixes: Sequence[str]) -> int:
        """Remove every value whose key has one of these prefixes; return how many."""
        with self._lock:
            gone = [key for key in self._entries if key.startswith(tuple(prefixes))]
            for key in gone:
                del self._entries[key]
            return len(gone)

    def close(self) -> None:
        """Do nothing: the values stay."""

    def _read(self, keys: Sequence[str], now: float) -> Mapping[str, bytes]:
        entries = ((key, self._entries.get(key)) for key in keys)
        return {key: entry.value for key, entry in entries if entry is not None and entry.until > now}


def _sort_key(item: tuple[str, StateValue]) -> tuple[bool, bool, int, float]:
    """Sort entries to keep first: spare ones go before others, long ones before short ones, empty ones before counters."""
    _, entry = item
    return entry.spare, not entry.value, len(entry.value) if entry.spare else 0, -entry.until
