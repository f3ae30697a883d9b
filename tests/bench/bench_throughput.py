"""How many command hooks a second: 16 at once through the whole engine, against asyncio's own way."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from hookline import Engine, Hook, Source
from hookline.stores.sqlite import SqliteTraces
from tests.bench import harness, stage
from tests.bench.bench_command import ANSWER, ARGS, ASYNCIO, BODY, DATA
from tests.bench.rows import Row, Section

AT_ONCE = 16
RUNS = 64
OURS = "Engine.emit, everything included"


async def sixteen_at_once(one: Callable[[], Awaitable[None]]) -> None:
    """Run all of them, never more than so many at once."""
    left = iter(range(RUNS))

    async def work() -> None:
        for _ in left:
            await one()

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def per_second(row: Row) -> Row:
    """Turn the time for all of them into how many there are a second."""
    figures = (row.value, row.median, row.floor)
    value, median, floor = (None if figure is None else RUNS / figure for figure in figures)
    return replace(row, value=value, median=median, floor=floor, unit="per s")


async def measure() -> Sequence[Section]:
    """Measure both side by side, pass by pass."""
    with tempfile.TemporaryDirectory() as name:
        argv = stage.native_hook(Path(name), ANSWER)
        engine = Engine(store=SqliteTraces(Path(name) / "traces.db"))
        engine.add(
            Hook(
                id="guard",
                on="before_tool",
                command=argv[0],
                args=tuple(argv[1:]),
                dialect="ollm-protocol",
                source=Source.USER,
            )
        )
        pipe = asyncio.subprocess.PIPE

        async def emit() -> None:
            outcome = await engine.emit("before_tool", DATA, tool="shell", args=ARGS)
            if outcome.failures or len(outcome.verdicts) != 1:
                raise SystemExit(f"the hook did not run: {outcome}")

        async def asyncio_way() -> None:
            child = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe)
            await child.communicate(BODY)

        timings = await harness.interleave(
            {ASYNCIO: lambda: sixteen_at_once(asyncio_way), OURS: lambda: sixteen_at_once(emit)},
            harness.rounds(),
            warm_up=2,
        )
        await engine.close()
    rows = harness.rows(timings, floor=ASYNCIO, goals={OURS: "throughput"})
    about = f"Passes of {RUNS} hooks each, {AT_ONCE} of them at once, turn by turn; more is better."
    return [
        Section(title="Command hooks per second, 16 at once", about=about, rows=tuple(per_second(row) for row in rows))
    ]


if __name__ == "__main__":
    harness.main(measure)
