"""SQLite files of ours: how they are opened, what to do when they cannot be, and the tables of traces."""

import math
import os
import sqlite3
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline import wire
from hookline.errors import StoreError
from hookline.model.record import Record, Step

LARGEST_LOG: Final = 16 * 1024 * 1024  # bytes the write-ahead log keeps after it was folded in
SWITCH_PAUSE: Final = 0.005


class Layout(Struct, frozen=True, kw_only=True):
    """What a file holds: the number that tells it from files of other programs, its version, and its tables."""

    application: int
    schema: int
    tables: tuple[str, ...]


_TABLES: Final = (
    """CREATE TABLE records (
        number INTEGER PRIMARY KEY,
        trace TEXT NOT NULL,
        step TEXT NOT NULL,
        at REAL NOT NULL,
        event TEXT NOT NULL,
        session TEXT NOT NULL,
        hook TEXT NOT NULL,
        detail TEXT NOT NULL
    )""",
    "CREATE INDEX records_by_trace ON records (trace)",
    "CREATE INDEX records_by_session ON records (session)",
    # most records are about an event or a hook run; those without a hook need no entry here
    "CREATE INDEX records_by_hook ON records (hook, at) WHERE hook <> ''",
    "CREATE INDEX records_by_time ON records (at)",
)
# "hklt", in the place SQLite has for that
TRACES: Final = Layout(application=0x686B_6C74, schema=1, tables=_TABLES)
# one statement, because another process may be making all three
_MARKS: Final = """
    SELECT (SELECT count(*) FROM sqlite_master), application_id, user_version
    FROM pragma_application_id, pragma_user_version
"""
COLUMNS: Final = "trace, step, at, event, session, hook, detail"
INSERT: Final = f"INSERT INTO records ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants only

_MOVE_AWAY: Final = "move the file away, together with its -wal and -shm neighbours, and a new one is made"
_MAY_WRITE: Final = "make sure that the folder exists and that you may write there"
_ADVICE: Final[Mapping[int, str]] = MappingProxyType(
    {
        sqlite3.SQLITE_NOTADB: _MOVE_AWAY,
        sqlite3.SQLITE_CORRUPT: _MOVE_AWAY,
        sqlite3.SQLITE_FULL: "make room on the disk",
        sqlite3.SQLITE_IOERR: "make room on the disk, and check that it works",
        sqlite3.SQLITE_BUSY: "end the program that keeps it locked",
        sqlite3.SQLITE_READONLY: _MAY_WRITE,
        sqlite3.SQLITE_CANTOPEN: _MAY_WRITE,
        sqlite3.SQLITE_PERM: _MAY_WRITE,
    }
)

_STEPS: Final[Mapping[str, Step]] = MappingProxyType({step.value: step for step in Step})
Row = tuple[str, str, float, str, str, str, str]


def open_to_write(path: Path, busy_timeout: float, layout: Layout = TRACES) -> sqlite3.Connection:
    """Open for writing; what is missing is made.

    Raises:
        StoreError: A newer Hookline or another program wrote it.
        sqlite3.Error: SQLite cannot open it.
        OSError: The folder or the file cannot be made.
    """
    _insist_on_a_file(path)
    _make_private(path)
    connection = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None, check_same_thread=False)
    try:
        fresh = _is_fresh(connection, path, layout)
        _log_ahead(connection, busy_timeout)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {LARGEST_LOG}")
        if fresh:
            _create(connection, path, layout)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path, busy_timeout: float, layout: Layout = TRACES) -> sqlite3.Connection:
    """Open read-only; where nothing was stored yet, give an empty database instead."""
    _insist_on_a_file(path)
    if path.exists():
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=busy_timeout, isolation_level=None)
        try:
            fresh = _is_fresh(connection, path, layout)
        except BaseException:
            connection.close()
            raise
        if not fresh:
            return connection
        connection.close()
    nothing = sqlite3.connect(":memory:", isolation_level=None)
    _create(nothing, path, layout)
    return nothing


def _log_ahead(connection: sqlite3.Connection, busy_timeout: float) -> None:
    """Switch to the write-ahead log, in which readers and the writer do not wait for each other."""
    end = time.monotonic() + busy_timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as problem:
            # SQLite itself does not wait here when two processes switch at the same time.
            if problem.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(SWITCH_PAUSE)
        else:
            return


def _insist_on_a_file(path: Path) -> None:
    """Refuse a pipe: to open it waits for somebody at its other end, and nothing could end that."""
    try:
        mode = path.stat().st_mode
    except OSError:
        # whoever opens it says why
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise StoreError(f"{path}: this is neither a file nor a folder: move it away, and a new file is made")


def _make_private(path: Path) -> None:
    """Make folder and file for the owner alone; SQLite gives its other two files the same mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # Only ever opened when new: closing any other handle would drop the locks of this whole process.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        if path.stat().st_mode & 0o077 and path.is_file():
            with suppress(PermissionError):  # somebody else's file, who decides about it
                path.chmod(0o600)


def _is_fresh(connection: sqlite3.Connection, path: Path, layout: Layout) -> bool:
    """Say whether there is nothing yet; refuse what is not ours to write."""
    tables, application, version = connection.execute(_MARKS).fetchone()
    if application == layout.application:
        if version > layout.schema:
            raise StoreError(
                f"{path}: written by a newer Hookline (schema {version}, this one knows {layout.schema}): "
                "update Hookline, or choose another file"
            )
        return False
    if tables or application or version:
        raise StoreError(f"{path}: this database belongs to another program: choose another file")
    return True


def _create(connection: sqlite3.Connection, path: Path, layout: Layout) -> None:
    connection.execute("BEGIN IMMEDIATE")
    # another process may have come first, while this one waited for the lock
    if _is_fresh(connection, path, layout):
        for statement in layout.tables:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {layout.application}")
        connection.execute(f"PRAGMA user_version = {layout.schema}")
    connection.execute("COMMIT")


def identity(path: Path) -> tuple[int, int]:
    """Tell this file from another one at the same place; where there is none, both numbers are 0."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def where_session(session: str) -> tuple[str, tuple[str, ...]]:
    """Give the condition for one session, or for all, and its values."""
    return ("session = ?", (text_of(session),)) if session else ("true", ())


def row_of(record: Record) -> Row:
    """Make a row of any record: one that could not be stored would keep all others waiting for ever."""
    detail = wire.dump(record.detail).decode()
    return (
        text_of(record.trace),
        text_of(record.step),
        number_of(record.at),
        text_of(record.event),
        text_of(record.session),
        text_of(record.hook),
        detail,
    )


def text_of(value: str) -> str:
    """Give what UTF-8 can carry; paths and names from outside may hold lone surrogates."""
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def number_of(value: float | str) -> float:
    """Give what a column that may not be empty can carry; SQLite has no "not a number"."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return 0.0 if math.isnan(number) else number


def record_of(row: Row) -> Record:
    """Make a record of a row."""
    trace, name, at, event, session, hook, raw = row
    detail = _detail(raw)
    step = _STEPS.get(name)
    if step is None:
        # Hookline of another version writes the same file; its new steps are shown, not lost
        step, detail = Step.WARNING, {**detail, "step": name}
    return Record(trace, step, number_of(at), event, session, hook, detail)


def _detail(raw: str) -> Mapping[str, object]:
    try:
        loaded = wire.load(raw)
    except ValueError:
        return {"message": "this detail is damaged", "raw": raw}
    return loaded if isinstance(loaded, dict) else {}


def explained(problem: sqlite3.Error | OSError, path: Path) -> StoreError:
    """Say what went wrong with which file, and what to do."""
    # the low byte is the plain error, the others only refine it
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    # not with pathlib, which raises where the folder above may not be looked into: that is what is explained here
    is_folder = os.path.isdir(path)  # noqa: PTH112
    advice = "this is a folder, name a file in it" if is_folder else _ADVICE.get(code, _MAY_WRITE)
    return StoreError(f"{path}: {problem}: {advice}")
