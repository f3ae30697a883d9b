"""Queries over the stored traces, and figures over them: of hooks, of agents, and over time.

All figures are read from two indexes that hold just their columns, so that a million records take a fraction of a second.
"""

from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from hookline.model.event import EventName
from hookline.model.record import Record, RunFigures, Step
from hookline.stores._sqlite_file import SqliteConnection, to_utf8
from hookline.stores.counters import Counter, Labels, read_counts
from hookline.stores.record_chain import HEAD, ID, START, Checked, Entry, Link, check, digest, read_link
from hookline.stores.sqlite import (
    BLOCKED,
    COLUMNS,
    FAILED,
    NEWEST,
    OUTCOMES,
    RUNS,
    TRACES,
    Row,
    read_pages,
    read_trace,
    remove_records,
    row_to_record,
)

BUSY_TIMEOUT: Final = 2.0

# instead of a decision, of a trace whose process was ended before it had one
UNFINISHED: Final = "unfinished"

_BLOCKED: Final = frozenset({"deny", "stop"})
# the first and the last record of a trace
_ENDS: Final = f"step IN ('{Step.EVENT}', '{Step.OUTCOME}')"
# fields of a filter that have to be equal
_EQUAL: Final = ("session", "hook", "event", "host", "project")
# records at an end of a session that are searched for a fact about it: most sessions have it there, if at all
_LOOKED_AT: Final = 200


class TraceFilter(Struct, frozen=True, kw_only=True):
    """A filter of records; empty fields match all. `since` and `until` are in seconds since the epoch.

    `decision` may be several words separated by commas; `text` is a part of the subject, the hook, the tool or the session.
    """

    session: str = ""
    hook: str = ""
    event: str = ""
    host: str = ""
    project: str = ""
    decision: str = ""
    text: str = ""
    since: float = 0.0
    until: float = 0.0

    def to_sql(self, *, without: tuple[str, ...] = ()) -> tuple[str, tuple[str | float, ...]]:
        """Return the SQL condition and its values; `without` names fields that are left out."""
        conditions: list[str] = []
        values: list[str | float] = []
        for name in _EQUAL:
            if (value := getattr(self, name)) and name not in without:
                conditions.append(f"{name} = ?")
                values.append(to_utf8(value))
        if self.decision and "decision" not in without:
            words = [word.strip() for word in self.decision.split(",")]
            conditions.append(f"decision IN ({', '.join('?' * len(words))})")
            # of an unfinished trace there is only the event, which has no decision
            values += ["" if word == UNFINISHED else to_utf8(word) for word in words]
        if self.text and "text" not in without:
            conditions.append("instr(lower(subject || ' ' || hook || ' ' || tool || ' ' || session), ?) > 0")
            values.append(to_utf8(self.text.lower()))
        for name, sign, moment in (("since", ">=", self.since), ("until", "<", self.until)):
            if moment and name not in without:
                conditions.append(f"at {sign} ?")
                values.append(moment)
        return " AND ".join(conditions) or "true", tuple(values)

    def matches(self, one: "Record | Summary", hooks: Collection[str] = ()) -> bool:
        """Return whether a record, or the summary of a call with its hooks, matches, as the SQL condition does."""
        hook = one.hook if isinstance(one, Record) else ""
        if any((value := getattr(self, name)) and value != getattr(one, name) for name in _EQUAL if name != "hook"):
            return False
        words = [word.strip() for word in self.decision.split(",")]
        return (
            (not self.hook or self.hook == hook or self.hook in hooks)
            and (not self.decision or one.decision in words)
            and self.text.lower() in f"{one.subject} {hook} {one.tool} {one.session}".lower()
            and one.at >= self.since
            and (not self.until or one.at < self.until)
        )


class Summary(Struct, frozen=True, kw_only=True):
    """A trace in one line; times are in seconds. `number` is that of its last record, `decided_by` are ids of hooks."""

    trace: str
    number: int = 0
    at: float = 0.0
    event: str = ""
    session: str = ""
    host: str = ""
    project: str = ""
    tool: str = ""
    subject: str = ""
    decision: str = ""
    decided_by: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    ran: int = 0
    failed: int = 0
    skipped: int = 0
    rewrote: bool = False
    duration: float = 0.0

    @property
    def blocked(self) -> bool:
        """Whether the operation was blocked."""
        return self.decision in _BLOCKED


class SessionSummary(Struct, frozen=True, kw_only=True):
    """A session of an agent in one line; times are in seconds since the epoch."""

    session: str
    host: str = ""
    project: str = ""
    first: float = 0.0
    last: float = 0.0
    calls: int = 0
    blocked: int = 0
    asked: int = 0


def summarise(record: Record, number: int = 0) -> Summary:
    """Return the summary of a trace from its outcome, or from its event where it has no outcome."""
    detail = record.detail
    return Summary(
        trace=record.trace,
        number=number,
        # an outcome is written when all is over
        at=record.at - record.duration,
        event=record.event,
        session=record.session,
        host=record.host,
        project=record.project,
        tool=record.tool,
        subject=record.subject,
        # without an outcome, the process was ended before it
        decision=record.decision if record.step is Step.OUTCOME else UNFINISHED,
        decided_by=_list_texts(detail, "decided_by"),
        reasons=_list_texts(detail, "reasons"),
        ran=_count(detail, "ran"),
        failed=_count(detail, "failed"),
        skipped=_count(detail, "skipped"),
        rewrote=bool(detail.get("rewrote")),
        duration=record.duration,
    )


def _list_texts(detail: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = detail.get(name)
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _count(detail: Mapping[str, object], name: str) -> int:
    value = detail.get(name)
    return value if isinstance(value, int) else 0


class TraceQueries:
    """Reads the traces of all processes of a user, while they go on tracing.

    Every method raises `StoreError` when the file cannot be read. A missing file counts as empty.
    """

    def __init__(self, path: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self._file = SqliteConnection(path, TRACES, busy_timeout=busy_timeout)
        self.path = self._file.path

    def traces(
        self, wanted: TraceFilter, *, failed: bool = False, blocked: bool = False, before: int = 0
    ) -> Generator[Summary]:
        """Yield summaries of traces, the newest first; optionally only failed or blocked ones, or those before a number.

        A trace is listed if a record about it as a whole matches; `hook` is looked for in all records of the trace.
        """
        where, values = wanted.to_sql(without=("hook",))
        conditions = [where, _ENDS]
        if failed:
            conditions.append(f"trace IN (SELECT trace FROM records WHERE {FAILED})")
        if blocked:
            conditions.append(BLOCKED)
        if wanted.hook:
            conditions.append("EXISTS (SELECT 1 FROM records AS run WHERE run.trace = records.trace AND run.hook = ?)")
            values = (*values, to_utf8(wanted.hook))
        if before:
            conditions.append("number < ?")
            values = (*values, before)
        query = f"SELECT number, {COLUMNS} FROM records WHERE {' AND '.join(conditions)} ORDER BY number DESC"
        has_outcome = f"SELECT 1 FROM records WHERE trace = ? AND {OUTCOMES}"
        with self._file.read() as connection:
            for number, *row in connection.execute(query, values):
                record = row_to_record(tuple(row))
                if record.step is Step.OUTCOME or not connection.execute(has_outcome, (record.trace,)).fetchone():
                    yield summarise(record, number)

    def sessions(self, wanted: TraceFilter, *, limit: int = 50) -> list[SessionSummary]:
        """Return the sessions with the newest events first; `hook`, `event` and `text` do not count."""
        where, values = wanted.to_sql(without=("hook", "event", "text", "decision"))
        query = (
            "SELECT session, max(host), max(project), min(at), max(at), count(*), "
            "sum(decision IN ('deny', 'stop')), sum(decision = 'ask') "
            f"FROM records WHERE {OUTCOMES} AND {where} GROUP BY session ORDER BY max(at) DESC LIMIT ?"
        )
        rows = self._file.fetch(query, (*values, limit))
        names = ("session", "host", "project", "first", "last", "calls", "blocked", "asked")
        return [SessionSummary(**dict(zip(names, row, strict=True))) for row in rows]

    def find_start(self, session: str) -> float:
        """Return when the first stored event of a session began; 0 if none is stored."""
        query = f"SELECT coalesce(min(at - duration), 0) FROM records WHERE {OUTCOMES} AND session = ?"
        return float(self._file.fetch(query, (to_utf8(session),))[0][0])

    def records(self, trace: str) -> list[Record]:
        """Return the records of a trace, in order; a prefix of its id will do if only one has it."""
        with self._file.read() as connection:
            if found := read_trace(connection, trace):
                return found
            start = to_utf8(trace)
            query = "SELECT DISTINCT trace FROM records WHERE trace >= ? AND trace < ? LIMIT 2"
            complete = connection.execute(query, (start, f"{start}\U0010ffff")).fetchall()
            return read_trace(connection, complete[0][0]) if start and len(complete) == 1 else []

    def matching(self, wanted: TraceFilter) -> Iterator[Record]:
        """Yield the records that match, oldest first."""
        yield from (record for _, record in self._select("true", wanted))

    def runs(self, wanted: TraceFilter) -> Iterator[Record]:
        """Yield the last record of every run of a hook, oldest first."""
        yield from (record for _, record in self._select(RUNS, wanted))

    def _select(self, which: str, wanted: TraceFilter, *, after: int = 0) -> Iterator[tuple[int, Record]]:
        where, values = wanted.to_sql()
        for number, *row in read_pages(self._file, f"{which} AND {where}", values, after=after):
            yield number, row_to_record(tuple(row))

    def last_of_each(self, steps: tuple[Step, ...] = (Step.COMPLETED, Step.FAILED)) -> Mapping[str, Record]:
        """Return the newest record of these steps for each hook."""
        # as the indexes spell it, so that SQLite uses them
        words = [f"'{step}'" for step in steps]
        of_steps = f"step IN ({', '.join(words)})" if len(words) > 1 else f"step = {words[0]}"
        query = (
            f"SELECT {COLUMNS} FROM records WHERE number IN "
            # with the plus sign, SQLite chooses an index by the steps
            f"(SELECT max(number) FROM records WHERE +hook <> '' AND {of_steps} GROUP BY hook)"
        )
        return {record.hook: record for record in map(row_to_record, self._file.fetch(query))}

    def newest(self) -> int:
        """Return the number of the newest record; 0 if there is none."""
        return int(self._file.fetch(NEWEST)[0][0])

    def after(self, number: int, wanted: TraceFilter) -> list[tuple[int, Record]]:
        """Return the records after a number, with their numbers."""
        return list(self._select("true", wanted, after=number))

    def outcomes(self, *, after: int, limit: int) -> list[Summary]:
        """Return the summaries of traces that ended after the record with a number, in this order, at most `limit`."""
        query = f"SELECT number, {COLUMNS} FROM records WHERE number > ? AND {OUTCOMES} ORDER BY number LIMIT ?"
        return [
            summarise(row_to_record(tuple(row)), number) for number, *row in self._file.fetch(query, (after, limit))
        ]

    def find_call(self, trace: str) -> Summary | None:
        """Return the summary of one trace; None if there is none."""
        query = f"SELECT number, {COLUMNS} FROM records WHERE trace = ? AND {_ENDS} ORDER BY number DESC LIMIT 1"
        rows = self._file.fetch(query, (to_utf8(trace),))
        return summarise(row_to_record(rows[0][1:]), rows[0][0]) if rows else None

    def session_events(self, session: str, *, limit: int, before: int = 0) -> list[Summary]:
        """Return the newest summaries of one session, or those before a number, oldest first."""
        found = self.traces(TraceFilter(session=session), before=before)
        with closing(found):
            return list(islice(found, limit))[::-1]

    def hooks_of(self, trace: str) -> frozenset[str]:
        """Return the hooks that the records of a trace name."""
        query = "SELECT DISTINCT hook FROM records WHERE trace = ? AND hook <> ''"
        return frozenset(name for (name,) in self._file.fetch(query, (to_utf8(trace),)))

    def projects(self, *, limit: int = 100) -> list[str]:
        """Return the folders that agents worked in, those with the newest events first."""
        query = (
            f"SELECT project FROM records WHERE {OUTCOMES} AND project <> '' "
            "GROUP BY project ORDER BY max(at) DESC LIMIT ?"
        )
        return [name for (name,) in self._file.fetch(query, (limit,))]

    def hooks(self) -> list[str]:
        """Return the ids of hooks that records name, in order."""
        # one step in the index for each id
        query = (
            "WITH RECURSIVE names(name) AS (SELECT min(hook) FROM records WHERE hook <> '' UNION ALL SELECT "
            "(SELECT min(hook) FROM records WHERE hook <> '' AND hook > name) FROM names WHERE name IS NOT NULL) "
            "SELECT name FROM names WHERE name IS NOT NULL"
        )
        return [name for (name,) in self._file.fetch(query)]

    def agent_version(self, session: str) -> str:
        """Return the version of the agent in a session, as far as one of its newest events says it; else empty."""
        query = (
            "SELECT json_extract(detail, '$.version') AS version FROM "
            f"(SELECT step, detail FROM records WHERE session = ? ORDER BY number DESC LIMIT {_LOOKED_AT}) "
            f"WHERE {_ENDS} AND json_valid(detail) AND version <> '' LIMIT 1"
        )
        return self._find_text(query, session)

    def first_prompt(self, session: str) -> str:
        """Return the beginning of the first prompt of a session, if its first records have one; else empty."""
        query = (
            "SELECT subject FROM "
            f"(SELECT event, subject FROM records WHERE session = ? ORDER BY number LIMIT {_LOOKED_AT}) "
            f"WHERE event = '{EventName.BEFORE_AGENT}' AND subject <> '' LIMIT 1"
        )
        return self._find_text(query, session)

    def _find_text(self, query: str, session: str) -> str:
        rows = self._file.fetch(query, (to_utf8(session),))
        return str(rows[0][0]) if rows else ""

    def count(self) -> int:
        """Return the number of records."""
        return int(self._file.fetch("SELECT count(*) FROM records")[0][0])

    def damage(self) -> str:
        """Return what is wrong inside the file; empty if nothing is."""
        found = str(self._file.fetch("PRAGMA quick_check(1)")[0][0])
        return "" if found == "ok" else found

    def links(self) -> tuple[Link, Link | None]:
        """Return where the chain of records starts, and its head."""
        with self._file.read() as connection:
            return read_link(connection, START) or Link(), read_link(connection, HEAD)

    def chain_id(self) -> str:
        """Return the random name of the chain in this file."""
        with self._file.read() as connection:
            link = read_link(connection, ID)
        return link.hash.hex() if link is not None else ""

    def hash_of(self, number: int) -> bytes | None:
        """Return the hash of a record; None where it is not there, or is not in the chain."""
        rows = self._file.fetch("SELECT hash FROM records WHERE number = ?", (number,))
        return rows[0][0] if rows else None

    def rows(self) -> Iterator[tuple[int, Row, bytes | None]]:
        """Yield every record with its number and its hash, oldest first, without those that are written meanwhile."""
        newest = self.newest()
        # a program that changed the file may have written numbers that ours never are
        for number, *row, known in read_pages(
            self._file, "number <= ?", (newest,), after=-1, columns=f"{COLUMNS}, hash"
        ):
            yield number, tuple(row), known

    def verify(self) -> Checked:
        """Follow the chain of all records, and return where it breaks."""
        start, head = self.links()
        entries = (
            Entry(number=number, at=row[2], digest=digest((number, *row)), hash=known)
            for number, row, known in self.rows()
        )
        return check(start, entries, head)

    def prune(self, *, older_than: float = 0.0, keep: int = 0) -> int:
        """Remove records from before a time, or all but the newest `keep`; return how many.

        Only the oldest are removed: a record from before the time that follows a later one stays, as clocks may be set back.
        """
        if not self.path.exists():
            return 0
        removed = 0
        with closing(self._file), self._file.open() as connection:
            if older_than:
                query = "SELECT coalesce((SELECT min(number) FROM records WHERE at >= ?) - 1, max(number)) FROM records"
                last = connection.execute(query, (older_than,)).fetchone()
            else:
                query = "SELECT number FROM records ORDER BY number DESC LIMIT 1 OFFSET ?"
                last = connection.execute(query, (keep,)).fetchone()
            while count := remove_records(connection, last[0] or 0) if last else 0:
                removed += count
            if removed:
                # also overwrites the removed records in free pages
                connection.execute("VACUUM")
        return removed


_DENIED: Final = f"step = '{Step.COMPLETED}' AND decision IN ('deny', 'stop')"
_OBSERVED: Final = f"step = '{Step.COMPLETED}' AND decision IN ('observed deny', 'observed stop')"
# seconds: the whole of time is one span
_FOREVER: Final = 1e12
# fields of a filter that the indexes do not have
_NOT_OF_RUNS: Final = ("session", "project", "event", "decision", "text")
_NOT_OF_OUTCOMES: Final = ("hook", "event", "text")


class Percentiles(Struct, frozen=True):
    """Half, 95 and 99 of a hundred runs took at most so many seconds, and the longest this."""

    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    longest: float = 0.0


class HookFigures(RunFigures, frozen=True, kw_only=True):
    """The figures of one hook over all stored runs; `last_run` is in seconds since the epoch.

    `tokens` and `cost` are what language models took; a cost is None where no price is known.
    """

    times: Percentiles = Percentiles()
    last_run: float = 0.0
    tokens: int = 0
    cost: float | None = None


class Bucket(Struct, frozen=True, kw_only=True):
    """What happened to one agent in one span of time, which starts at `start`."""

    start: float
    host: str = ""
    calls: int = 0
    blocked: int = 0
    asked: int = 0


class TimeBucket(Struct, frozen=True, kw_only=True):
    """How long the runs of one hook, or for one agent, took in one span of time, and how many failed."""

    start: float
    name: str
    runs: int = 0
    failed: int = 0
    times: Percentiles = Percentiles()


class _Runs(Struct, frozen=True):
    """The runs of one hook for one agent in one span of time; `last` is the time of the last one."""

    hook: str
    start: float
    host: str
    durations: list[float]
    last: float
    failed: int
    denials: int
    observed_denials: int


def find_percentiles(durations: Iterable[float]) -> Percentiles:
    """Return the percentiles of durations; those that are 0 are not known."""
    ordered = sorted(seconds for seconds in durations if seconds > 0)
    if not ordered:
        return Percentiles()
    last = len(ordered) - 1
    p50, p95, p99 = (ordered[min(last, len(ordered) * part // 100)] for part in (50, 95, 99))
    return Percentiles(p50, p95, p99, ordered[-1])


class TraceStats:
    """Computes figures from the traces of all processes of a user.

    Every method raises `StoreError` when the file cannot be read. A missing file counts as empty.
    """

    def __init__(self, path: Path) -> None:
        self._file = SqliteConnection(path, TRACES, busy_timeout=BUSY_TIMEOUT)
        self._queries = TraceQueries(path)

    def hooks(self, wanted: TraceFilter) -> list[HookFigures]:
        """Return the figures of every hook that ran, by its id; `hook`, `host`, `since` and `until` narrow them."""
        return self._make_figures(wanted, self._read_runs(wanted, _FOREVER))

    def hooks_over_time(
        self, wanted: TraceFilter, seconds: float
    ) -> tuple[list[HookFigures], list[TimeBucket], list[TimeBucket]]:
        """Return what `hooks` returns, and how long runs took in each span of so many seconds, by hook and by agent."""
        runs = self._read_runs(wanted, seconds)
        return self._make_figures(wanted, runs), _make_buckets(runs, "hook"), _make_buckets(runs, "host")

    def _read_runs(self, wanted: TraceFilter, seconds: float) -> list[_Runs]:
        """Read the durations of all runs, grouped by hook, span of time and agent."""
        where, values = wanted.to_sql(without=_NOT_OF_RUNS)
        # SQLite gathers the durations: a row of Python for each run would take longer than all else
        # a failure that blocks is no denial of the hook
        query = (
            "SELECT hook, CAST(at / ? AS INTEGER) * ?, host, group_concat(duration), max(at), "
            f"sum({FAILED}), sum({_DENIED}), sum({_OBSERVED}) FROM records WHERE {RUNS} AND {where} GROUP BY 1, 2, 3"
        )
        rows = self._file.fetch(query, (seconds, seconds, *values))
        return [
            _Runs(hook, start, host, [*map(float, texts.split(","))], *rest) for hook, start, host, texts, *rest in rows
        ]

    def _make_figures(self, wanted: TraceFilter, runs: Iterable[_Runs]) -> list[HookFigures]:
        found: dict[str, list[_Runs]] = defaultdict(list)
        for one in runs:
            found[one.hook].append(one)
        failures: dict[str, dict[str, int]] = defaultdict(dict)
        where, values = wanted.to_sql(without=_NOT_OF_RUNS)
        # first the failures, by their index, which are few; then those that are wanted
        query = (
            f"WITH failed AS MATERIALIZED (SELECT hook, host, at, detail FROM records WHERE {FAILED}) "
            "SELECT hook, coalesce(json_extract(detail, '$.failure'), 'unknown'), count(*) FROM failed "
            f"WHERE json_valid(detail) AND {where} GROUP BY 1, 2 ORDER BY 1, 2"
        )
        for hook, kind, count in self._file.fetch(query, values):
            failures[hook][str(kind)] = count
        errors = self._queries.last_of_each((Step.FAILED,)) if failures else {}
        usage = self._read_usage(wanted)
        figures = (
            _add_up(hook, of_hook, failures.get(hook, {}), errors.get(hook) if hook in failures else None)
            for hook, of_hook in sorted(found.items())
        )
        return [replace(one, **usage[one.hook]) if one.hook in usage else one for one in figures]

    def _read_usage(self, wanted: TraceFilter) -> dict[str, dict[str, int | float | None]]:
        """Return what language models took, by hook; only of hooks that have ever asked one, whose details are read."""
        with self._file.read() as connection:
            hooks = sorted({labels[0] for labels in read_counts(connection)[Counter.TOKENS]})
            where, values = wanted.to_sql(without=_NOT_OF_RUNS)
            query = (
                "SELECT hook, sum(json_extract(detail, '$.usage.input') + json_extract(detail, '$.usage.output')), "
                "sum(json_extract(detail, '$.usage.cost')) FROM records "
                f"WHERE {RUNS} AND hook IN ({', '.join('?' * len(hooks))}) AND json_valid(detail) AND {where} GROUP BY 1"
            )
            rows = connection.execute(query, (*hooks, *values)).fetchall() if hooks else []
        return {hook: {"tokens": tokens or 0, "cost": cost} for hook, tokens, cost in rows}

    def totals(self) -> dict[Counter, dict[Labels, float]]:
        """Return the counters by their labels; they also count records that were removed since."""
        with self._file.read() as connection:
            return read_counts(connection)

    def events(self, wanted: TraceFilter) -> dict[str, int]:
        """Return how many runs of hooks each event led to, the most first."""
        where, values = wanted.to_sql(without=_NOT_OF_RUNS)
        query = f"SELECT event, count(*) FROM records WHERE {RUNS} AND {where} GROUP BY event ORDER BY 2 DESC, 1"
        return dict(self._file.fetch(query, values))

    def calls(self, wanted: TraceFilter, seconds: float) -> list[Bucket]:
        """Return how many events each agent raised in each span of so many seconds, the oldest span first."""
        where, values = wanted.to_sql(without=_NOT_OF_OUTCOMES)
        query = (
            "SELECT CAST(at / ? AS INTEGER) * ?, host, count(*), sum(decision IN ('deny', 'stop')), "
            f"sum(decision = 'ask') FROM records WHERE {OUTCOMES} AND {where} GROUP BY 1, 2 ORDER BY 1, 2"
        )
        names = ("start", "host", "calls", "blocked", "asked")
        rows = self._file.fetch(query, (seconds, seconds, *values))
        return [Bucket(**dict(zip(names, row, strict=True))) for row in rows]


def _add_up(hook: str, runs: Sequence[_Runs], failures: Mapping[str, int], error: Record | None) -> HookFigures:
    durations = [seconds for one in runs for seconds in one.durations]
    return HookFigures(
        hook=hook,
        runs=len(durations),
        failures=failures,
        denials=sum(one.denials for one in runs),
        observed_denials=sum(one.observed_denials for one in runs),
        timed=len(durations) - durations.count(0.0),
        total=sum(durations),
        times=find_percentiles(durations),
        last_run=max(one.last for one in runs),
        last_error=str(error.detail.get("message", "")) if error is not None else "",
    )


def _make_buckets(runs: Iterable[_Runs], by: Literal["hook", "host"]) -> list[TimeBucket]:
    durations: dict[tuple[float, str], list[float]] = defaultdict(list)
    failed: dict[tuple[float, str], int] = defaultdict(int)
    for one in runs:
        key = (one.start, one.hook if by == "hook" else one.host)
        durations[key] += one.durations
        failed[key] += one.failed
    return [
        TimeBucket(start=start, name=about, runs=len(found), failed=failed[start, about], times=find_percentiles(found))
        for (start, about), found in sorted(durations.items())
    ]
