"""The table of trace records: its schema, rows and records, and how old records are removed."""

import sqlite3
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline import json_codec
from hookline.model.record import Record, Step
from hookline.stores._sqlite_file import USED, Layout, to_number, to_utf8

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
    # records of events have no hook
    "CREATE INDEX records_by_hook ON records (hook, at) WHERE hook <> ''",
    "CREATE INDEX records_by_time ON records (at)",
)
# records of failed hooks, and of blocked operations
FAILED: Final = f"step = '{Step.FAILED}'"
BLOCKED: Final = (
    'step = \'outcome\' AND (instr(detail, \'"decision":"deny"\') > 0 OR instr(detail, \'"decision":"stop"\') > 0)'
)
_INDEXES: Final = (
    f"CREATE INDEX IF NOT EXISTS records_failed ON records (number) WHERE {FAILED}",
    f"CREATE INDEX IF NOT EXISTS records_blocked ON records (number) WHERE {BLOCKED}",
)
# the application id is "hklt"
TRACES: Final = Layout(application=0x686B_6C74, schema=1, tables=_TABLES, indexes=_INDEXES)
COLUMNS: Final = "trace, step, at, event, session, hook, detail"
INSERT: Final = f"INSERT INTO records ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants only

# records in one transaction, so that other writers get their turn in between
REMOVED_AT_ONCE: Final = 5_000
# transactions each time a file is opened, which waits for them
MOST_ROUNDS: Final = 4

_STEPS: Final[Mapping[str, Step]] = MappingProxyType({step.value: step for step in Step})
Row = tuple[str, str, float, str, str, str, str]


def session_filter(session: str) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition for one session, or for all, and its values."""
    return ("session = ?", (to_utf8(session),)) if session else ("true", ())


def record_to_row(record: Record) -> Row:
    """Return the row of a record; must never fail, as a record that cannot be stored would block all others."""
    detail = json_codec.dump(record.detail).decode()
    return (
        to_utf8(record.trace),
        to_utf8(record.step),
        to_number(record.at),
        to_utf8(record.event),
        to_utf8(record.session),
        to_utf8(record.hook),
        detail,
    )


def row_to_record(row: Row) -> Record:
    """Return the record of a row."""
    trace, name, at, event, session, hook, raw = row
    detail = _detail(raw)
    step = _STEPS.get(name)
    if step is None:
        # written by another version of Hookline
        step, detail = Step.WARNING, {**detail, "step": name}
    return Record(trace, step, to_number(at), event, session, hook, detail)


def _detail(raw: str) -> Mapping[str, object]:
    try:
        loaded = json_codec.load(raw)
    except ValueError:
        return {"message": "this detail is damaged", "raw": raw}
    return loaded if isinstance(loaded, dict) else {}


def make_room(connection: sqlite3.Connection, largest: int) -> int:
    """Remove records of the oldest quarter if the file uses more than `largest` bytes; return how many.

    The file does not shrink, but its free pages are used again.
    """
    if connection.execute(USED).fetchone()[0] <= largest:
        return 0
    first, last = connection.execute("SELECT min(number), max(number) FROM records").fetchone()
    if first is None:
        return 0
    removed = 0
    for _ in range(MOST_ROUNDS):
        count = remove_up_to(connection, first + (last - first) // 4)
        removed += count
        if not count:
            break
    return removed


def remove_up_to(connection: sqlite3.Connection, last: int) -> int:
    """Remove a batch of the oldest records up to a number; return how many."""
    return _remove(connection, "number <= ? ORDER BY number", last)


def remove_before(connection: sqlite3.Connection, time: float) -> int:
    """Remove a batch of records from before a time; return how many."""
    return _remove(connection, "at < ?", time)


def _remove(connection: sqlite3.Connection, which: str, bound: float) -> int:
    connection.execute("BEGIN IMMEDIATE")
    removed = connection.execute(
        f"DELETE FROM records WHERE number IN (SELECT number FROM records WHERE {which} LIMIT ?)",  # noqa: S608 - constants only
        (bound, REMOVED_AT_ONCE),
    ).rowcount
    connection.execute("COMMIT")
    return removed
