"""What planning costs among 10,000 hooks, against planning among 10, when the same 10 are about the event."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import count
from time import process_time

from msgspec.structs import replace

from hookline import Engine, Event, EventName, Hook, Source
from tests.bench import harness
from tests.bench.rows import Row, Section

FEW, MANY = 10, 10_000

Make = Callable[[int], Hook]
Say = Callable[[int], Event]


def hook(name: str, **fields: object) -> Hook:
    """Make a hook that says nothing."""
    made = {"id": name, "on": ("before_tool",), "call": lambda _event: None, "source": Source.BUILTIN}
    return Hook(**made | fields)  # type: ignore[arg-type] # field by field


def call(number: int, *, path: str = "") -> Event:
    """Give a tool call; the tool is always the same, what it is about never."""
    args = {"path": path or f"src/part{number}.py"}
    return Event(name=EventName.BEFORE_TOOL, tool="write_file", args=args, cwd="/project", id=str(number))


def edited(number: int) -> Event:
    """Give a change of another file each time."""
    return Event(name=EventName.FILE_EDITED, data={"path": f"src/deep/part{number}.py"}, cwd="/project", id=str(number))


def unheard_of(number: int) -> Event:
    """Give a tool that nobody saw before."""
    return Event(name=EventName.BEFORE_TOOL, tool=f"mcp__shop__item{number}", cwd="/project", id=str(number))


# for each: the hooks that match, those that do not, and the event
CASES: Mapping[str, tuple[Make, Make, Say]] = {
    "the same tool again": (
        lambda n: hook(f"mine{n}", matcher="write_file|edit_file"),
        lambda n: hook(f"other{n}", matcher=f"tool{n}|mcp__server{n}__*"),
        call,
    ),
    "a new tool each time": (
        lambda n: hook(f"mine{n}", matcher="mcp__shop__*"),
        lambda n: hook(f"other{n}", matcher=f"tool{n}|mcp__server{n}__.*"),
        unheard_of,
    ),
    "a new path each time, by file pattern": (
        lambda n: hook(f"mine{n}", on=("file_edited",), files=("*.py",)),
        lambda n: hook(f"other{n}", on=("file_edited",), files=(f"*.x{n}", f"docs/part{n}/**")),
        edited,
    ),
    "a tool that writes, by file pattern": (
        lambda n: hook(f"mine{n}", matcher="write_file", writes=("src/**/*.py",)),
        lambda n: hook(f"other{n}", matcher="write_file", writes=(f"lib{n}/",)),
        call,
    ),
    "a condition": (
        lambda n: hook(f"mine{n}", matcher="write_file", condition='args.path.endsWith(".py")'),
        lambda n: hook(f"other{n}", matcher=f"tool{n}", condition=f'args.path == "{n}"'),
        call,
    ),
}


def engine_with(hooks: Iterable[Hook]) -> Engine:
    """Make an engine that keeps no trace."""
    engine = Engine(cwd="/project")
    engine.add(*hooks)
    return engine


def planning(engine: Engine, say: Say) -> Callable[[int], Awaitable[None]]:
    """Make a candidate that plans."""
    numbers = count()

    async def plan(times: int) -> None:
        for _ in range(times):
            engine.planner.plan(say(next(numbers)))

    return plan


def emitting(engine: Engine, say: Say) -> Callable[[int], Awaitable[None]]:
    """Make a candidate that does all there is to an event."""
    numbers = count()

    async def emit(times: int) -> None:
        for _ in range(times):
            await engine.handle(say(next(numbers)))

    return emit


async def compare(title: str, case: tuple[Make, Make, Say]) -> Mapping[str, Row]:
    """Measure one case among few hooks and among many: a plan, and all there is to an event."""
    mine, other, say = case
    few = [mine(number) for number in range(FEW)]
    among_few, among_many = f"among {FEW}", f"among {MANY:,}"
    engines = {
        among_few: engine_with(few),
        among_many: engine_with([*few, *(other(number) for number in range(MANY - FEW))]),
    }
    for name, made in engines.items():
        if len(made.planner.plan(say(0)).hooks) != FEW:
            raise SystemExit(f"{title}, {name}: other hooks match than were meant")
    rows = {}
    for what, candidate in (("plan", planning), ("emit", emitting)):
        candidates = {name: candidate(made, say) for name, made in engines.items()}
        timings = await harness.interleave_loops(candidates, harness.rounds(), inner=50)
        row = harness.row(timings, among_many, floor=among_few, what=f"{what}: {title}", most=1.5, who="ours")
        rows[what] = row
    return rows


def registering() -> tuple[Row, ...]:
    """Say what it costs to register many hooks, and to plan for the first time."""
    mine, other, say = CASES["the same tool again"]
    hooks = [*(mine(number) for number in range(FEW)), *(other(number) for number in range(MANY - FEW))]
    engine = Engine(cwd="/project")
    started = process_time()
    engine.add(*hooks)
    added = process_time()
    engine.planner.plan(say(0))
    planned = process_time()
    return (
        Row(what=f"registering {MANY:,} hooks, once", value=added - started),
        Row(what="the first plan among them, which puts all in order", value=planned - added),
    )


async def measure() -> Sequence[Section]:
    """Measure every case; the goal is held against the worst emit of all."""
    cases = {title: await compare(title, case) for title, case in CASES.items()}
    emits = [rows["emit"] for rows in cases.values()]
    worst = max(emits, key=lambda row: row.ratio or 0)
    rows = tuple(
        replace(row, goal="many-hooks" if row is worst else "") for case in cases.values() for row in case.values()
    )
    about = (
        f"Processor time of one plan, and of one emit with {FEW} functions that match: among {MANY:,} hooks, against "
        f"among {FEW}. The goal is held against the worst of the emits."
    )
    return [Section(title="Many hooks", about=about, rows=rows + registering())]


if __name__ == "__main__":
    harness.main(measure)
