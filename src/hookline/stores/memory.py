"""Traces in memory: for tests, and for programs that want nothing on disk."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Final

from msgspec.structs import asdict

from hookline import wire
from hookline.model.record import Record
from hookline.stores._dropped import Dropped

BOUND: Final = 100_000


class MemoryTraces:
    """Keep the newest records, and say how many older ones had to go."""

    def __init__(self, *, bound: int = BOUND) -> None:
        self._bound = bound
        self._records: deque[Record] = deque()
        self._dropped = Dropped()
        # reentrant, because a signal handler or a finalizer may write in the middle of a write
        self._lock = threading.RLock()

    def write(self, record: Record) -> None:
        """Take one record."""
        with self._lock:
            self._records.append(record)
            if len(self._records) > self._bound:
                self._dropped.make_room(self._records, self._bound)

    def flush(self) -> None:
        """Do nothing: what is taken is stored."""

    def traces(self, *, limit: int = 50, session: str = "") -> list[str]:
        """List the newest traces first."""
        newest = dict.fromkeys(record.trace for record in reversed(self._all(session)))
        return list(newest)[: max(limit, 0)]

    def records(self, trace: str) -> list[Record]:
        """Give all records of one trace, in order."""
        return [record for record in self._all("") if record.trace == trace]

    def export(self, *, session: str = "") -> Iterator[bytes]:
        """Give every record as one line of JSON, oldest first."""
        return (wire.dump(asdict(record)) for record in self._all(session))

    def close(self) -> None:
        """Do nothing: there are no files, and what was taken stays readable."""

    def _all(self, session: str) -> list[Record]:
        with self._lock:
            records = [*self._dropped.warnings(self._dropped.counts()), *self._records]
        return [record for record in records if record.session == session] if session else records
