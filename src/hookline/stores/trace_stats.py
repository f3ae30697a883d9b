"""Figures over the stored traces: of hooks, of agents, and over time.

All of it is read from two indexes that hold just these columns, so that a million records take a fraction of a second.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from hookline.model.record import Record, RunFigures, Step
from hookline.stores._sqlite_file import SqliteConnection
from hookline.stores.counters import Counter, Labels, read_counts
from hookline.stores.sqlite import FAILED, OUTCOMES, RUNS, TRACES
from hookline.stores.trace_queries import BUSY_TIMEOUT, TraceFilter, TraceQueries

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
        self._read = SqliteConnection(path, TRACES, busy_timeout=BUSY_TIMEOUT).read
        self._queries = TraceQueries(path)

    def hooks(self, wanted: TraceFilter) -> list[HookFigures]:
        """Return the figures of every hook that ran, by its id; `hook`, `host`, `since` and `until` narrow them."""
        return self._make_figures(wanted, self._read_runs(wanted, _FOREVER))

    def hooks_over_time(
        self, wanted: TraceFilter, seconds: float
    ) -> tuple[list[HookFigures], list[TimeBucket], list[TimeBucket]]:
        """Return what `hooks` and `times` by hook and by host return, for the price of one of them."""
        runs = self._read_runs(wanted, seconds)
        return self._make_figures(wanted, runs), _make_buckets(runs, "hook"), _make_buckets(runs, "host")

    def _read_runs(self, wanted: TraceFilter, seconds: float) -> list[_Runs]:
        """Read the durations of all runs, grouped by hook, span of time and agent."""
        where, values = wanted.to_sql(without=_NOT_OF_RUNS)
        # SQLite gathers the durations: a row of Python for each run would take longer than all else
        # a failure that blocks is no denial of the hook
        query = (
            "SELECT hook, CAST(at / ? AS INTEGER) * ?, host, group_concat(duration), max(at), "  # noqa: S608 - constants only
            f"sum({FAILED}), sum({_DENIED}), sum({_OBSERVED}) FROM records WHERE {RUNS} AND {where} GROUP BY 1, 2, 3"
        )
        with self._read() as connection:
            rows = connection.execute(query, (seconds, seconds, *values)).fetchall()
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
            f"WITH failed AS MATERIALIZED (SELECT hook, host, at, detail FROM records WHERE {FAILED}) "  # noqa: S608 - constants only
            "SELECT hook, coalesce(json_extract(detail, '$.failure'), 'unknown'), count(*) FROM failed "
            f"WHERE json_valid(detail) AND {where} GROUP BY 1, 2 ORDER BY 1, 2"
        )
        with self._read() as connection:
            for hook, kind, count in connection.execute(query, values):
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
        with self._read() as connection:
            hooks = sorted({labels[0] for labels in read_counts(connection)[Counter.TOKENS]})
            where, values = wanted.to_sql(without=_NOT_OF_RUNS)
            query = (
                "SELECT hook, sum(json_extract(detail, '$.usage.input') + json_extract(detail, '$.usage.output')), "  # noqa: S608 - constants only
                "sum(json_extract(detail, '$.usage.cost')) FROM records "
                f"WHERE {RUNS} AND hook IN ({', '.join('?' * len(hooks))}) AND json_valid(detail) AND {where} GROUP BY 1"
            )
            rows = connection.execute(query, (*hooks, *values)).fetchall() if hooks else []
        return {hook: {"tokens": tokens or 0, "cost": cost} for hook, tokens, cost in rows}

    def totals(self) -> dict[Counter, dict[Labels, float]]:
        """Return the counters by their labels; they also count records that were removed since."""
        with self._read() as connection:
            return read_counts(connection)

    def events(self, wanted: TraceFilter) -> dict[str, int]:
        """Return how many runs of hooks each event led to, the most first."""
        where, values = wanted.to_sql(without=_NOT_OF_RUNS)
        query = f"SELECT event, count(*) FROM records WHERE {RUNS} AND {where} GROUP BY event ORDER BY 2 DESC, 1"  # noqa: S608 - constants only
        with self._read() as connection:
            return dict(connection.execute(query, values).fetchall())

    def calls(self, wanted: TraceFilter, seconds: float) -> list[Bucket]:
        """Return how many events each agent raised in each span of so many seconds, the oldest span first."""
        where, values = wanted.to_sql(without=_NOT_OF_OUTCOMES)
        query = (
            "SELECT CAST(at / ? AS INTEGER) * ?, host, count(*), sum(decision IN ('deny', 'stop')), "  # noqa: S608 - constants only
            f"sum(decision = 'ask') FROM records WHERE {OUTCOMES} AND {where} GROUP BY 1, 2 ORDER BY 1, 2"
        )
        names = ("start", "host", "calls", "blocked", "asked")
        with self._read() as connection:
            rows = connection.execute(query, (seconds, seconds, *values)).fetchall()
        return [Bucket(**dict(zip(names, row, strict=True))) for row in rows]

    def times(self, wanted: TraceFilter, seconds: float, *, by: Literal["hook", "host"] = "hook") -> list[TimeBucket]:
        """Return how long runs took in each span of so many seconds, by hook or by agent, the oldest span first."""
        return _make_buckets(self._read_runs(wanted, seconds), by)


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
