"""Questions to the traces that are stored: which, about whom, how they ended, and what came since."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.model.record import Record, Step
from hookline.stores import spool
from hookline.stores._retention import remove_before, remove_up_to
from hookline.stores._sqlite_file import COLUMNS, explained, open_to_read, open_to_write, record_of, text_of

BUSY_TIMEOUT: Final = 2.0

_BLOCKED: Final = frozenset({"deny", "stop"})
_RUNS: Final = (Step.COMPLETED, Step.FAILED)


class Question(Struct, frozen=True, kw_only=True):
    """Which records are meant; what is empty does not matter. `since` counts seconds since the epoch."""

    session: str = ""
    hook: str = ""
    event: str = ""
    since: float = 0.0

    def condition(self) -> tuple[str, tuple[str | float, ...]]:
        """Say it in SQL: the condition, and its values."""
        wanted: list[tuple[str, str | float]] = [
            ("session = ?", text_of(self.session)),
            ("hook = ?", text_of(self.hook)),
            ("event = ?", text_of(self.event)),
            ("at >= ?", self.since),
        ]
        given = [(condition, value) for condition, value in wanted if value]
        return " AND ".join(condition for condition, _ in given) or "true", tuple(value for _, value in given)


class Summary(Struct, frozen=True, kw_only=True):
    """One trace in one line; times are in seconds."""

    trace: str
    at: float = 0.0
    event: str = ""
    session: str = ""
    tool: str = ""
    decision: str = ""
    reasons: tuple[str, ...] = ()
    ran: int = 0
    failed: int = 0
    skipped: int = 0
    duration: float = 0.0

    @property
    def blocked(self) -> bool:
        """Whether the operation was blocked."""
        return self.decision in _BLOCKED


def summarised(trace: str, records: list[Record]) -> Summary:
    """Sum up the records of one trace."""
    if not records:
        return Summary(trace=trace)
    said = next((record.detail for record in records if record.step is Step.OUTCOME), {})
    event = next((record.detail for record in records if record.step is Step.EVENT), {})
    reasons = said.get("reasons")
    duration = said.get("duration")
    return Summary(
        trace=trace,
        at=records[0].at,
        event=records[0].event,
        session=records[0].session,
        tool=str(event.get("tool", "")),
        # a trace without an outcome belongs to a program that was ended in the middle
        decision=str(said.get("decision", "unfinished")),
        reasons=tuple(map(str, reasons)) if isinstance(reasons, list | tuple) else (),
        ran=sum(record.step in _RUNS for record in records),
        failed=sum(record.step is Step.FAILED for record in records),
        skipped=sum(record.step is Step.SKIPPED for record in records),
        duration=float(duration) if isinstance(duration, int | float) else 0.0,
    )


class History:
    """Read what all programs of a person have traced, while they go on tracing.

    Every method raises `StoreError` when the file cannot be read. A file that is not there yet is an empty one.
    """

    def __init__(self, path: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self.path = path.absolute()
        self._busy_timeout = busy_timeout

    def traces(self, question: Question) -> Iterator[Summary]:
        """Sum up traces that have such a record, the newest first."""
        where, values = question.condition()
        query = f"SELECT trace FROM records WHERE {where} ORDER BY number DESC"  # noqa: S608 - constants only
        seen: set[str] = set()
        with self._reading() as connection:
            for (trace,) in connection.execute(query, values):
                if trace not in seen:
                    seen.add(trace)
                    yield summarised(trace, _records(connection, trace))

    def records(self, trace: str) -> list[Record]:
        """Give all records of one trace, in order; a beginning of its name will do where only one has it."""
        with self._reading() as connection:
            return _records(connection, trace) or _records(connection, _completed(connection, trace))

    def matching(self, question: Question) -> Iterator[Record]:
        """Give every such record, oldest first."""
        where, values = question.condition()
        query = f"SELECT {COLUMNS} FROM records WHERE {where} ORDER BY number"  # noqa: S608 - constants only
        with self._reading() as connection:
            for row in connection.execute(query, values):
                yield record_of(row)

    def runs(self, question: Question) -> Iterator[Record]:
        """Give the end of every run of a hook, oldest first."""
        where, values = question.condition()
        steps = ", ".join(f"'{step}'" for step in _RUNS)
        query = f"SELECT {COLUMNS} FROM records WHERE step IN ({steps}) AND {where} ORDER BY number"  # noqa: S608 - constants only
        with self._reading() as connection:
            for row in connection.execute(query, values):
                yield record_of(row)

    def last_of_each(self, steps: tuple[Step, ...] = _RUNS) -> Mapping[str, Record]:
        """Give, for each hook, its newest record of these steps."""
        marks = ", ".join("?" * len(steps))
        query = (
            f"SELECT {COLUMNS} FROM records WHERE number IN "  # noqa: S608 - constants only
            f"(SELECT max(number) FROM records WHERE hook <> '' AND step IN ({marks}) GROUP BY hook)"
        )
        with self._reading() as connection:
            found = [record_of(row) for row in connection.execute(query, tuple(map(str, steps)))]
        return {record.hook: record for record in found}

    def newest(self) -> int:
        """Give the number of the newest record; 0 when there is none."""
        with self._reading() as connection:
            return int(connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()[0])

    def after(self, number: int, question: Question) -> list[tuple[int, Record]]:
        """Give what was stored after a record, with numbers."""
        where, values = question.condition()
        query = f"SELECT number, {COLUMNS} FROM records WHERE number > ? AND {where} ORDER BY number"  # noqa: S608 - constants only
        with self._reading() as connection:
            return [(row[0], record_of(row[1:])) for row in connection.execute(query, (number, *values))]

    def count(self) -> int:
        """Say how many records there are."""
        with self._reading() as connection:
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])

    def damage(self) -> str:
        """Say what is wrong inside the file; empty when it is sound."""
        with self._reading() as connection:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        return "" if found == "ok" else found

    def prune(self, *, older_than: float = 0.0, keep: int = 0) -> int:
        """Remove records from before a time, or all but the newest `keep`; say how many were removed."""
        spool.settle(self.path, self._busy_timeout)
        if not self.path.exists():
            return 0
        removed = 0
        try:
            with closing(open_to_write(self.path, self._busy_timeout)) as connection:
                remove = (
                    partial(remove_before, time=older_than)
                    if older_than
                    else partial(remove_up_to, last=_last_to_go(connection, keep))
                )
                while count := remove(connection):
                    removed += count
                if removed:
                    # what was removed is not to be found in the file's free pages either
                    connection.execute("VACUUM")
        except (sqlite3.Error, OSError) as problem:
            raise explained(problem, self.path) from problem
        return removed

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        # calls without a daemon leave theirs beside the file
        spool.settle(self.path, self._busy_timeout)
        try:
            with closing(open_to_read(self.path, self._busy_timeout)) as connection:
                yield connection
        except (sqlite3.Error, OSError) as problem:
            raise explained(problem, self.path) from problem


def _last_to_go(connection: sqlite3.Connection, keep: int) -> int:
    query = "SELECT number FROM records ORDER BY number DESC LIMIT 1 OFFSET ?"
    found = connection.execute(query, (keep,)).fetchone()
    return int(found[0]) if found and found[0] is not None else 0


def _records(connection: sqlite3.Connection, trace: str) -> list[Record]:
    query = f"SELECT {COLUMNS} FROM records WHERE trace = ? ORDER BY number"  # noqa: S608 - constants only
    return [record_of(row) for row in connection.execute(query, (text_of(trace),))]


def _completed(connection: sqlite3.Connection, beginning: str) -> str:
    start = text_of(beginning)
    query = "SELECT DISTINCT trace FROM records WHERE trace >= ? AND trace < ? LIMIT 2"
    found = connection.execute(query, (start, f"{start}\U0010ffff")).fetchall()
    return str(found[0][0]) if start and len(found) == 1 else ""
