"""What is remembered from one event to the next, in one SQLite file for all processes of a person."""

import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from hookline.ports import Decide

if TYPE_CHECKING:
    # sqlite3 takes 7 ms to import, and most events have no hook with a limit
    import sqlite3

    from hookline.stores._kept import Kept

T = TypeVar("T")

BUSY_TIMEOUT: Final = 5.0  # each of the others is done in a fraction of a millisecond
LARGEST: Final = 64 * 1024 * 1024  # bytes; beyond that, the longest of those go that can be had again
SWEPT_EVERY: Final = 500  # changes of one process
REMOVED_AT_ONCE: Final = 2_000  # of one transaction, so that others get their turn in between

# "hkls", in the place SQLite has for that
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
# answers of hooks, who can give them again, and only then what is counted
_MAKE_ROOM: Final = """
    DELETE FROM state WHERE key IN (
        SELECT key FROM state ORDER BY spare DESC, iif(spare, length(value), 0) DESC, length(value) = 0 DESC, until LIMIT ?
    )
"""
_USED: Final = """
    SELECT (page_count - freelist_count) * page_size
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""
_LAST: Final = "\U0010ffff"


class SqliteState:
    """Remember in one file, exactly, whoever asks.

    Every change is one transaction that has the only right to write from its beginning, so that two processes never
    decide from the same past. The file is made when something is first to be remembered. The write-ahead log is not
    synced to the disk with each change: a process that is killed loses nothing, and a power cut loses the last
    moments, which only means that a hook may run once more.
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
        # the program may change its folder later, the store stays where it is
        self._path = path.absolute()
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._largest = largest
        self._kept: Kept | None = None
        self._opening = threading.Lock()
        self._changes = 0

    def read(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Give what stands at these keys.

        Raises:
            StoreError: The file cannot be read.
        """
        if self._is_missing():
            return {}
        with self._file().reading() as connection:
            return _found(connection, keys, self._clock())

    def change(self, keys: Sequence[str], decide: Decide[T]) -> T:
        """Let `decide` look at these keys and change them; nobody else does anything in between.

        Raises:
            StoreError: The file cannot be written, or somebody else keeps it locked.
        """
        with self._file().transaction() as connection:
            # the clock is read now that nobody else can write: what is written later has a later time
            now = self._clock()
            if self._changes % SWEPT_EVERY == 0:
                self._sweep(connection, now)
            self._changes += 1
            entries, answer = decide(_found(connection, keys, now), now)
            connection.executemany(
                _WRITE, [(key, entry.value, entry.until, entry.spare) for key, entry in entries.items()]
            )
            return answer

    def forget(self, prefixes: Sequence[str]) -> int:
        """Remove every value whose key begins like this, and say how many.

        Raises:
            StoreError: The file cannot be written, or somebody else keeps it locked.
        """
        if self._is_missing():
            return 0
        with self._file().transaction() as connection:
            return sum(connection.execute(_FORGET, (prefix, prefix + _LAST)).rowcount for prefix in prefixes)

    def close(self) -> None:
        """Give the file back; the next call opens it again."""
        if self._kept is not None:
            self._kept.close()

    def _is_missing(self) -> bool:
        """Say whether nothing was ever remembered, without SQLite; what cannot be told is for SQLite to find out."""
        try:
            self._path.stat()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return False

    def _file(self) -> "Kept":
        with self._opening:
            if self._kept is None:
                from hookline.stores._kept import Kept  # noqa: PLC0415 - see above
                from hookline.stores._sqlite_file import Layout  # noqa: PLC0415

                layout = Layout(application=APPLICATION, schema=1, tables=_TABLES)
                self._kept = Kept(self._path, layout, busy_timeout=self._busy_timeout, durable=False)
                # a store that is forgotten without being closed closes its file
                weakref.finalize(self, self._kept.close).atexit = False
            return self._kept

    def _sweep(self, connection: "sqlite3.Connection", now: float) -> None:
        """Remove some of what does not count any more, and of the longest values if there is too much."""
        connection.execute(_SWEEP, (now, REMOVED_AT_ONCE))
        if connection.execute(_USED).fetchone()[0] > self._largest:
            connection.execute(_MAKE_ROOM, (REMOVED_AT_ONCE,))


def _found(connection: "sqlite3.Connection", keys: Sequence[str], now: float) -> Mapping[str, bytes]:
    rows = ((key, connection.execute(_READ, (key, now)).fetchone()) for key in keys)
    return {key: bytes(row[0]) for key, row in rows if row is not None}
