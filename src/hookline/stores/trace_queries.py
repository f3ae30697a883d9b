"""Queries over the stored traces."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.model.record import Record, Step
from hookline.stores._sqlite_file import SqliteConnection, to_utf8
from hookline.stores.sqlite import (
    BLOCKED,
    COLUMNS,
    FAILED,
    OLDER_THAN,
    TRACES,
    UP_TO,
    read_trace,
    remove_records,
    row_to_record,
)

BUSY_TIMEOUT: Final = 2.0

_BLOCKED: Final = frozenset({"deny", "stop"})
_RUNS: Final = (Step.COMPLETED, Step.FAILED)


class TraceFilter(Struct, frozen=True, kw_only=True):
    """A filter of records; empty fields match all. `since` is in seconds since the epoch."""

    session: str = ""
    hook: str = ""
    event: str = ""
    since: float = 0.0

    def to_sql(self) -> tuple[str, tuple[str | float, ...]]:
        """Return the SQL condition and its values."""
        wanted: list[tuple[str, str | float]] = [
            ("session = ?", to_utf8(self.session)),
            ("hook = ?", to_utf8(self.hook)),
            ("event = ?", to_utf8(self.event)),
            ("at >= ?", self.since),
        ]
        given = [(condition, value) for condition, value in wanted if value]
        return " AND ".join(condition for condition, _ in given) or "true", tuple(value for _, value in given)


class Summary(Struct, frozen=True, kw_only=True):
    """A trace in one line; times are in seconds."""

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


def summarise(trace: str, records: list[Record]) -> Summary:
    """Return the summary of a trace's records."""
    if not records:
        return Summary(trace=trace)
    outcome = next((record.detail for record in records if record.step is Step.OUTCOME), {})
    event = next((record.detail for record in records if record.step is Step.EVENT), {})
    reasons = outcome.get("reasons")
    duration = outcome.get("duration")
    return Summary(
        trace=trace,
        at=records[0].at,
        event=records[0].event,
        session=records[0].session,
        tool=str(event.get("tool", "")),
        # without an outcome, the process was ended before it
        decision=str(outcome.get("decision", "unfinished")),
        reasons=tuple(map(str, reasons)) if isinstance(reasons, list | tuple) else (),
        ran=sum(record.step in _RUNS for record in records),
        failed=sum(record.step is Step.FAILED for record in records),
        skipped=sum(record.step is Step.SKIPPED for record in records),
        duration=float(duration) if isinstance(duration, int | float) else 0.0,
    )


class TraceQueries:
    """Reads the traces of all processes of a user, while they go on tracing.

    Every method raises `StoreError` when the file cannot be read. A missing file counts as empty.
    """

    def __init__(self, path: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self._file = SqliteConnection(path, TRACES, busy_timeout=busy_timeout)
        self._read = self._file.read
        self.path = self._file.path

    def traces(self, wanted: TraceFilter, *, failed: bool = False, blocked: bool = False) -> Iterator[Summary]:
        """Yield summaries of traces with such a record, the newest first; optionally only failed or blocked ones."""
        where, values = wanted.to_sql()
        query = f"SELECT trace FROM records WHERE {where} ORDER BY number DESC"  # noqa: S608 - constants only
        if failed or blocked:
            # uses the partial indexes
            query = (
                f"SELECT trace FROM records AS mark WHERE {FAILED if failed else BLOCKED} AND "  # noqa: S608 - as above
                f"EXISTS (SELECT 1 FROM records WHERE trace = mark.trace AND {where}) ORDER BY number DESC"
            )
        seen: set[str] = set()
        with self._read() as connection:
            for (trace,) in connection.execute(query, values):
                if trace not in seen:
                    seen.add(trace)
                    yield summarise(trace, read_trace(connection, trace))

    def records(self, trace: str) -> list[Record]:
        """Return the records of a trace, in order; a prefix of its id will do if only one has it."""
        with self._read() as connection:
            if found := read_trace(connection, trace):
                return found
            start = to_utf8(trace)
            query = "SELECT DISTINCT trace FROM records WHERE trace >= ? AND trace < ? LIMIT 2"
            complete = connection.execute(query, (start, f"{start}\U0010ffff")).fetchall()
            return read_trace(connection, complete[0][0]) if start and len(complete) == 1 else []

    def matching(self, wanted: TraceFilter) -> Iterator[Record]:
        """Yield the records that match, oldest first."""
        yield from self._select("true", wanted)

    def runs(self, wanted: TraceFilter) -> Iterator[Record]:
        """Yield the last record of every run of a hook, oldest first."""
        steps = ", ".join(f"'{step}'" for step in _RUNS)
        yield from self._select(f"step IN ({steps})", wanted)

    def _select(self, which: str, wanted: TraceFilter) -> Iterator[Record]:
        where, values = wanted.to_sql()
        query = f"SELECT {COLUMNS} FROM records WHERE {which} AND {where} ORDER BY number"  # noqa: S608 - constants only
        with self._read() as connection:
            for row in connection.execute(query, values):
                yield row_to_record(row)

    def last_of_each(self, steps: tuple[Step, ...] = _RUNS) -> Mapping[str, Record]:
        """Return the newest record of these steps for each hook."""
        marks = ", ".join("?" * len(steps))
        query = (
            f"SELECT {COLUMNS} FROM records WHERE number IN "  # noqa: S608 - constants only
            f"(SELECT max(number) FROM records WHERE hook <> '' AND step IN ({marks}) GROUP BY hook)"
        )
        with self._read() as connection:
            found = [row_to_record(row) for row in connection.execute(query, tuple(map(str, steps)))]
        return {record.hook: record for record in found}

    def newest(self) -> int:
        """Return the number of the newest record; 0 if there is none."""
        with self._read() as connection:
            return int(connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()[0])

    def after(self, number: int, wanted: TraceFilter) -> list[tuple[int, Record]]:
        """Return the records after a number, with their numbers."""
        where, values = wanted.to_sql()
        query = f"SELECT number, {COLUMNS} FROM records WHERE number > ? AND {where} ORDER BY number"  # noqa: S608 - constants only
        with self._read() as connection:
            return [(row[0], row_to_record(row[1:])) for row in connection.execute(query, (number, *values))]

    def count(self) -> int:
        """Return the number of records."""
        with self._read() as connection:
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])

    def damage(self) -> str:
        """Return what is wrong inside the file; empty if nothing is."""
        with self._read() as connection:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        return "" if found == "ok" else found

    def prune(self, *, older_than: float = 0.0, keep: int = 0) -> int:
        """Remove records from before a time, or all but the newest `keep`; return how many."""
        if not self.path.exists():
            return 0
        removed = 0
        with closing(self._file), self._file.open() as connection:
            query = "SELECT number FROM records ORDER BY number DESC LIMIT 1 OFFSET ?"
            last = connection.execute(query, (keep,)).fetchone()
            which, bound = (OLDER_THAN, older_than) if older_than else (UP_TO, last[0] if last else 0)
            while count := remove_records(connection, which, bound):
                removed += count
            if removed:
                # also overwrites the removed records in free pages
                connection.execute("VACUUM")
        return removed
