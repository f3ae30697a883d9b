"""Traces of a call that is answered in a process of its own: one small file each, taken into the database later.

To open a database costs such a call more than to run its hook. Whoever opens the database next, to read or to write,
takes in what lies beside it.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from hookline import wire
from hookline.errors import StoreError
from hookline.model.record import Record
from hookline.stores._sqlite_file import INSERT, open_to_write

SUFFIX: Final = ".spool"  # of the folder beside a database
_WHOLE: Final = ".jsonl"
_MOST: Final = 5_000  # files; beyond that the oldest go
_LOOK_EVERY: Final = 64  # calls
_WIDTH: Final = 7  # columns


class Spool:
    """Collect the records of one call, and leave them beside the database."""

    def __init__(self, database: Path) -> None:
        self._folder = database.with_suffix(SUFFIX)
        self._lines: list[bytes] = []

    def write(self, record: Record) -> None:
        """Take one record."""
        self._lines.append(_line(record))

    def flush(self) -> None:
        """Leave everything taken so far.

        Raises:
            StoreError: It cannot be written.
        """
        if not self._lines:
            return
        raw, self._lines = b"".join(self._lines), []
        name = f"{time.time_ns():020}-{os.getpid()}"
        beside = self._folder / f"{name}.part"
        try:
            try:
                handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileNotFoundError:
                for folder in (self._folder.parent, self._folder):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
            # whoever takes it in sees all of it or nothing
            beside.rename(beside.with_suffix(_WHOLE))
        except OSError as problem:
            raise StoreError(f"{self._folder}: {problem.strerror}") from problem
        if time.time_ns() // 1000 % _LOOK_EVERY == 0:
            _make_room(self._folder)

    def traces(self, *, limit: int = 50, session: str = "") -> list[str]:
        """Give nothing: what is here is read from the database."""
        del limit, session
        return []

    def records(self, trace: str) -> list[Record]:
        """Give nothing, too."""
        del trace
        return []

    def export(self, *, session: str = "") -> Iterator[bytes]:
        """Give nothing, too."""
        del session
        return iter(())

    def close(self) -> None:
        """Leave what is left."""
        self.flush()


def _line(record: Record) -> bytes:
    """Write a record as one line, in the order of the database's columns."""
    values = (record.trace, str(record.step), record.at, record.event, record.session, record.hook)
    return wire.dump([*values, wire.dump(record.detail).decode()]) + b"\n"


def _make_room(folder: Path) -> None:
    with suppress(OSError):
        for path in sorted(folder.iterdir())[:-_MOST]:
            path.unlink(missing_ok=True)


def is_waiting(database: Path) -> bool:
    """Say whether anything waits to be taken in."""
    try:
        with os.scandir(database.with_suffix(SUFFIX)) as entries:
            return any(entry.name.endswith(_WHOLE) for entry in entries)
    except OSError:
        return False


def settle(database: Path, busy_timeout: float) -> None:
    """Open the database and take in what waits, if anything does; a reader shows what is there all the same."""
    if is_waiting(database):
        with suppress(sqlite3.Error, OSError, StoreError), closing(open_to_write(database, busy_timeout)) as connection:
            take_in(connection, database)


def take_in(connection: sqlite3.Connection, database: Path) -> None:
    """Take everything that waits into the database, oldest first, in one transaction.

    Whoever dies before the files are removed has not stored a trace twice: one that is there is not taken again.
    """
    folder = database.with_suffix(SUFFIX)
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == _WHOLE)
    except OSError:
        return
    if not files:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for path in files:
            rows = _rows(path)
            known = connection.execute("SELECT 1 FROM records WHERE trace = ? LIMIT 1", (rows[0][0],)) if rows else None
            if known is not None and known.fetchone() is None:
                connection.executemany(INSERT, rows)
        connection.execute("COMMIT")
    except BaseException:
        # a full disk ends it by itself
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    for path in files:
        with suppress(OSError):
            path.unlink()


def _rows(path: Path) -> list[tuple[object, ...]]:
    """Read the rows of one file; what nobody of ours wrote is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    rows: list[tuple[object, ...]] = []
    for line in lines:
        with suppress(ValueError):
            row = wire.load(line)
            if isinstance(row, list) and len(row) == _WIDTH and all(isinstance(one, str | float | int) for one in row):
                rows.append(tuple(row))
    return rows
