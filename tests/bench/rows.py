"""What a benchmark gives: rows in sections; and what we want to reach, in one table."""

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple

from msgspec import Struct

Way = Literal["at most", "at least", "times faster", "microseconds"]
Who = Literal["", "floor", "ours", "peer"]


class Row(Struct, frozen=True, kw_only=True):
    """One figure, what it is compared with, or the reason why there is none."""

    what: str
    value: float | None = None
    median: float | None = None
    floor: float | None = None
    against: str = ""
    unit: str = "s"
    rounds: int = 0
    most: float | None = None
    goal: str = ""
    who: Who = ""
    missing: str = ""

    @property
    def ratio(self) -> float | None:
        """Give the figure in terms of its floor."""
        return None if self.value is None or not self.floor else self.value / self.floor


class Section(Struct, frozen=True, kw_only=True):
    """The rows of one comparison, measured side by side, and how."""

    title: str
    about: str
    rows: tuple[Row, ...]
    is_drawn: bool = False


class Goal(Struct, frozen=True, kw_only=True):
    """One thing we want to reach."""

    id: str
    bench: str
    what: str
    against: str
    way: Way
    bound: float


GOALS: Final = (
    Goal(
        id="launcher-idle",
        bench="bridge",
        what="launcher + daemon, no matching hook",
        against="`/bin/true`",
        way="at most",
        bound=1.6,
    ),
    Goal(
        id="launcher-command",
        bench="bridge",
        what="launcher + daemon, one native command hook",
        against="`/bin/true`",
        way="at most",
        bound=4,
    ),
    Goal(
        id="launcher-warm",
        bench="bridge",
        what="launcher + daemon, one warm Python hook",
        against="`python hook.py`, cold",
        way="at most",
        bound=0.25,
    ),
    Goal(
        id="launcher-first",
        bench="bridge",
        what="first call on a machine, daemon start included",
        against="a plain run without a daemon",
        way="at most",
        bound=1.3,
    ),
    Goal(
        id="emit-command",
        bench="command",
        what="`Engine.emit`, one native command hook",
        against="bare `posix_spawn`",
        way="at most",
        bound=1.35,
    ),
    Goal(
        id="emit-gemini",
        bench="command",
        what="`Engine.emit`, one native command hook",
        against="Gemini CLI's own hook runner",
        way="times faster",
        bound=4,
    ),
    Goal(
        id="emit-idle",
        bench="emit",
        what="emit without a matching hook",
        against="pluggy's call without one",
        way="times faster",
        bound=5,
    ),
    Goal(
        id="emit-function",
        bench="emit",
        what="emit with one function in the process, merged and traced",
        against="pluggy's call of one hook",
        way="at most",
        bound=12,
    ),
    Goal(
        id="throughput",
        bench="throughput",
        what="command hooks per second, 16 at once",
        against="`asyncio.create_subprocess_exec`",
        way="at least",
        bound=1.6,
    ),
    Goal(
        id="warm",
        bench="warm",
        what="a warm Python hook",
        against="`python hook.py`, cold",
        way="times faster",
        bound=40,
    ),
    Goal(id="trace", bench="emit", what="what a trace costs the caller", against="", way="microseconds", bound=1),
    Goal(
        id="trace-unasked",
        bench="emit",
        what="what the record of a call without hooks costs the caller",
        against="",
        way="microseconds",
        bound=1,
    ),
    Goal(
        id="many-hooks",
        bench="plan",
        what="an emit with 10,000 hooks registered",
        against="with 10",
        way="at most",
        bound=1.5,
    ),
    Goal(
        id="daemon-memory",
        bench="memory",
        what="memory of the daemon after 100,000 events",
        against="after 1,000",
        way="at most",
        bound=1.1,
    ),
    Goal(
        id="contained-start",
        bench="sandbox",
        what="starting a contained native program",
        against="starting it bare",
        way="at most",
        bound=1.9,
    ),
    Goal(
        id="contained-emit",
        bench="sandbox",
        what="`Engine.emit`, one native command hook, contained",
        against="not contained",
        way="at most",
        bound=1.6,
    ),
    Goal(
        id="contained-call",
        bench="sandbox",
        what="launcher + daemon, one native command hook, contained",
        against="not contained",
        way="at most",
        bound=1.3,
    ),
)


class _Reading(NamedTuple):
    figure: Callable[[Row], float | None]
    is_met: Callable[[float, float], bool]
    wanted: str
    shown: str


def _inverse(row: Row) -> float | None:
    return None if not row.ratio else 1 / row.ratio


_READINGS: Final[dict[Way, _Reading]] = {
    "at most": _Reading(lambda row: row.ratio, float.__le__, "≤ {:g}", "{:.2f}"),
    "at least": _Reading(lambda row: row.ratio, float.__ge__, "≥ {:g}", "{:.2f}"),
    "times faster": _Reading(_inverse, float.__ge__, "≥ {:g} times faster", "{:.1f} times"),
    "microseconds": _Reading(
        lambda row: None if row.value is None else row.value * 1e6, float.__le__, "≤ {:g} µs", "{:.2f} µs"
    ),
}


class Judged(NamedTuple):
    """One goal and what became of it."""

    goal: Goal
    wanted: str
    found: str
    verdict: str
    row: Row | None


def judge(sections: Iterable[Section], goals: Iterable[Goal] = GOALS) -> list[Judged]:
    """Hold every goal against its row; where there is no figure, the goal is missed."""
    found = {row.goal: row for section in sections for row in section.rows if row.goal}
    return [_judged(goal, found.get(goal.id)) for goal in goals]


def _judged(goal: Goal, row: Row | None) -> Judged:
    reading = _READINGS[goal.way]
    figure = None if row is None else reading.figure(row)
    wanted = reading.wanted.format(goal.bound)
    if row is None or figure is None:
        return Judged(goal, wanted, "not run" if row is None else row.missing or "no figure", "MISSED", row)
    verdict = "met" if reading.is_met(float(figure), float(goal.bound)) else "MISSED"
    return Judged(goal, wanted, reading.shown.format(figure), verdict, row)


# from which figure on it is written with which unit
_SCALES: Final[dict[str, tuple[tuple[float, str], ...]]] = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bytes": ((1e6, "MB"), (1e3, "kB"), (1, "bytes")),
}


def text_of(value: float | None, unit: str) -> str:
    """Write a figure with three digits and a unit that suits it."""
    if value is None:
        return ""
    scales = _SCALES.get(unit, ((1, unit),))
    scale, name = next((pair for pair in scales if abs(value) >= pair[0]), scales[-1])
    scaled = value / scale
    text = f"{scaled:,.0f}" if abs(scaled) >= 100 or scaled == int(scaled) else f"{scaled:.3g}"
    return f"{text} {name}".strip()
