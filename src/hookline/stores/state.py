"""State that is kept between events: in one SQLite file for all processes of a user, or in memory."""

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from hookline.ports import Decide, StateValue

if TYPE_CHECKING:
    # sqlite3 takes 7 ms to import, and most events have no hook with a limit
    import sqlite3

    from hookline.stores._sqlite_file import SqliteConnection

T = TypeVar("T")

BUSY_TIMEOUT: Final = 5.0  # seconds; each change takes a fraction of a millisecond
STATE_BOUND: Final = 10_000  # entries in memory; see `_sort_key` for what is removed beyond that
LARGEST: Final = 64 * 1024 * 1024  # bytes; beyond that, the longest spare values are removed
SWEPT_EVERY: Final = 500  # changes of one process
REMOVED_AT_ONCE: Final = 2_000  # values in one transaction

# "hkls"
APPLICATION: Final = 0x686B_6C73
_TABLES: Final = (
    """CREATE TABLE state (
        key TEXT PRIMARY KEY, value BLOB NOT NULL, until REAL NOT NULL, spare INTEGER NOT NULL
    ) WITHOUT ROWID""",
    "CREATE INDEX state_by_end ON state (until)",
)
_READ: Final = "SELECT value FROM state WHERE key = ? AND until > ?"
_WRITE: Final = "INSERT OR REPLACE INTO state (key, value, until, spare) VALUES (?, ?, ?, ?)"
_FORGET: Final = "DELETE FROM state WHERE key >= ? AND key < ?"
_SWEEP: Final = "DELETE FROM state WHERE key IN (SELECT key FROM state WHERE until <= ? ORDER BY until LIMIT ?)"
# spare values, which hooks can compute again, before counters
_MAKE_ROOM: Final = """
    DELETE FROM state WHERE key IN (
        SELECT key FROM state ORDER BY spare DESC, iif(spare, length(value), 0) DESC, length(value) = 0 DESC, until LIMIT ?
    )
"""
_LAST: Final = "\U0010ffff"


class SqliteState:
    """Keeps values in one file.

    Every method raises `StoreError` when the file cannot be used. Every change is one transaction that locks out other
    writers from its beginning, so that two processes never decide from the same state. The file is created with the first
    value. Changes do not wait for the disk: a killed process loses nothing, and a power cut loses the last changes, so that
    a hook may run once more.
    """

    waits: Final = True

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        busy_timeout: float = BUSY_TIMEOUT,
        largest: int = LARGEST,
    ) -> None:
        # absolute: the process may change its working directory
        self._path = path.absolute()
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._largest = largest
        self._kept: SqliteConnection | None = None
        self._opening = threading.Lock()
        self._changes = 0

    def read(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the values of these keys."""
        if self._is_missing():
            return {}
        with self._file().read() as connection:
            return _read_values(connection, keys, self._clock())

    def change(self, keys: Sequence[str], decide: Decide[T]) -> T:
        """Let `decide` read and change these keys atomically."""
        with self._file().transaction() as connection:
            # read under the lock, so that later changes have later times
            now = self._clock()
            if self._changes % SWEPT_EVERY == 0:
                from hookline.stores._sqlite_file import USED  # noqa: PLC0415 - see above

                connection.execute(_SWEEP, (now, REMOVED_AT_ONCE))
                if connection.execute(USED).fetchone()[0] > self._largest:
                    connection.execute(_MAKE_ROOM, (REMOVED_AT_ONCE,))
            self._changes += 1
            entries, answer = decide(_read_values(connection, keys, now), now)
            connection.executemany(
                _WRITE, [(key, entry.value, entry.until, entry.spare) for key, entry in entries.items()]
            )
            return answer

    def forget(self, prefixes: Sequence[str]) -> int:
        """Remove every value whose key has one of these prefixes; return how many."""
        if self._is_missing():
            return 0
        with self._file().transaction() as connection:
            return sum(connection.execute(_FORGET, (prefix, prefix + _LAST)).rowcount for prefix in prefixes)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        if self._kept is not None:
            self._kept.close()

    def _is_missing(self) -> bool:
        """Return whether there is no file, without loading SQLite; other errors are left to SQLite."""
        try:
            self._path.stat()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return False

    def _file(self) -> "SqliteConnection":
        with self._opening:
            if self._kept is None:
                from hookline.stores._sqlite_file import Layout, SqliteConnection  # noqa: PLC0415 - see above

                layout = Layout(application=APPLICATION, schema=1, tables=_TABLES)
                self._kept = SqliteConnection(self._path, layout, busy_timeout=self._busy_timeout)
                # a garbage-collected store closes its file
                weakref.finalize(self, self._kept.close).atexit = False
            return self._kept


def _read_values(connection: "sqlite3.Connection", keys: Sequence[str], now: float) -> Mapping[str, bytes]:
    rows = ((key, connection.execute(_READ, (key, now)).fetchone()) for key in keys)
    return {key: bytes(row[0]) for key, row in rows if row is not None}


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
