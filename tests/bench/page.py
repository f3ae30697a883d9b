"""Write what a run found as one page."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from tests.bench.harness import ENOUGH
from tests.bench.rows import GOALS, Row, Section, judge, text_of

PLOT: Final = "benchmarks.svg"

# in this order; those of the second part serve no goal, they watch over what must not become slow
FOR_GOALS: Final = (
    "bridge",
    "command",
    "emit",
    "throughput",
    "warm",
    "plan",
    "memory",
    "session",
    "runners",
    "sandbox",
)
DRAWN: Final = ("runners", "command", "emit")
BESIDES: Final = ("condition", "limits", "load", "page", "queue", "replay", "traces", "watch")


class Result(Struct, frozen=True, kw_only=True):
    """One run: the machine, what was found by every benchmark, and what went wrong."""

    machine: dict[str, str]
    rounds: int
    versions: dict[str, str]
    benches: dict[str, tuple[Section, ...]]
    problems: tuple[str, ...] = ()

    def sections(self, names: Iterable[str] = (*FOR_GOALS, *BESIDES)) -> list[Section]:
        """Give the sections of these benchmarks, in order."""
        return [section for name in names for section in self.benches.get(name, ())]


HOW: Final = """\
## How it is measured

- Everything that is compared runs in turns: each round runs every candidate once, so that whatever else the machine does
  hits all of them alike. The figure is **p10**, the time that a tenth of the rounds stayed below; the table says of how many.
- Floors are measured in the same rounds: `/bin/true`, `python -I -S -c pass`, a bare `posix_spawn`, a look-up in a dict.
  Ratios to them carry over to other machines, milliseconds do not.
- Programs are started with real pipes by `posix_spawn`. Steps too small for one reading of a clock run a few hundred times in
  a row, and processor time is counted.
- Scripts and configuration have been there for two seconds, as they have in daily life: what has just changed is read anew at
  each call for that long.
- A candidate that answers wrongly has no figure, however quick it is. Calls that are to go through the daemon are tried once with the way
  around it cut off.
- Hooks, home and sockets lie in a folder of the benchmark's own that is gone afterwards.
"""

NOT: Final = """\
## What it does not say

- No agent takes part: what an agent needs to start a hook and to read its answer comes on top, for every kind of hook alike.
- Other systems than the one named above. How much a process costs differs most: where starting one is dear, everything
  that starts one moves closer together.
- Hooks that work for long. A check of two seconds takes two seconds.
- A machine without other work: the load is named above, and p10 hides most of it, not all. Single runs differ by a tenth.
- The others were given the least they can do, in the version named here, with their defaults. They do other things than we
  do, some more and some less: the plot says what it costs to call them, not what they are worth.
- The first call after a start: the daemon has to be started once, and a warm hook has its first calls cold.
"""

REPEAT: Final = """\
## Do it again

<!-- not run: it takes ten minutes -->
```bash
make bench                              # everything; writes this page and the plot
make bench ARGS="emit command"          # some of it; writes nothing
BENCH_ROUNDS=20 make bench              # a quick look; writes nothing
make bench ARGS="--json result.json"    # the figures for a program
```

The others are installed once into `~/.cache/hookline-bench`, or where `HOOKLINE_BENCH` says. Without a network or npm the rest
is measured, and their rows say "not installed here".
"""


def page(result: Result) -> str:
    """Write the whole page; the same result gives the same page."""
    goals = tuple(_goals(result))
    parts = (
        "# Benchmarks",
        "`make bench` measured this and wrote it down, without a hand in between.",
        *(
            [f"**A quick look with {result.rounds} rounds only**: no goal is judged by so few."]
            if result.rounds < ENOUGH
            else ()
        ),
        f"![Ratios to the floors as bars on a logarithmic axis]({PLOT})",
        *goals,
        HOW.rstrip(),
        "## The machine\n\n" + _table(("what", ""), [(name, text) for name, text in result.machine.items()]),
        "## The others\n\n" + _table(("what", "version"), list(result.versions.items())),
        *(
            ["What could not be had:\n\n" + "\n".join(f"- {each}" for each in result.problems)]
            if result.problems
            else ()
        ),
        NOT.rstrip(),
        REPEAT.rstrip(),
        "## All figures",
        *(_section(section) for section in result.sections(FOR_GOALS)),
        "## Besides\n\nWhat serves no goal of the table above, but must not become slow unnoticed.",
        *(_section(section) for section in result.sections(BESIDES)),
    )
    return "\n\n".join(parts) + "\n"


def _goals(result: Result) -> Iterator[str]:
    judged = judge(result.sections())
    met = sum(each.verdict == "met" for each in judged)
    rows = [(each.goal.what, each.goal.against, each.wanted, each.found, each.verdict) for each in judged]
    yield f"## Goals\n\n{met} of {len(GOALS)} are met in this run. Ratios are those of p10."
    yield _table(("what", "against", "wanted", "found", ""), rows)


def goals_text(result: Result, wanted: Iterable[str]) -> str:
    """Write the goals of these benchmarks as a person reads them in a terminal."""
    names = set(wanted)
    judged = judge(result.sections(), [goal for goal in GOALS if goal.bench in names])
    lines = ["\nGoals"]
    for each in judged:
        against = f" against {each.goal.against}" if each.goal.against else ""
        what = (each.goal.what + against).replace("`", "")
        lines.append(f"  {what:88} {each.wanted:>20}  {each.found:>14}  {each.verdict}")
    met = sum(each.verdict == "met" for each in judged)
    return "\n".join([*lines, f"  {met} of {len(judged)} met"]) + "\n" if judged else ""


def _section(section: Section) -> str:
    rows = [_cells(row) for row in section.rows]
    head = ("what", "p10", "median", "ratio", "against", "rounds")
    used = [number for number in range(len(head)) if number == 0 or any(cells[number] for cells in rows)]
    table = _table([head[number] for number in used], [[cells[number] for number in used] for cells in rows])
    return f"### {section.title}\n\n{section.about}\n\n{table}"


def _cells(row: Row) -> tuple[str, ...]:
    if row.value is None:
        return (row.what, row.missing or "no figure", "", "", row.against, "")
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}" if row.ratio < 100 else f"{row.ratio:,.0f}"
    against = "" if row.against in {"", row.what} else row.against
    rounds = str(row.rounds) if row.rounds else ""
    return (row.what, text_of(row.value, row.unit), text_of(row.median, row.unit), ratio, against, rounds)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |" for cells in lines)


def summary(result: Result) -> Mapping[str, str]:
    """Give the verdict on every goal by its id."""
    return {each.goal.id: each.verdict for each in judge(result.sections())}
