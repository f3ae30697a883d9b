"""What a warm Python hook costs through the whole engine, against the same script started cold."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from hookline import Engine, Hook, Source
from hookline.stores.sqlite import SqliteTraces
from tests.bench import harness, stage
from tests.bench.processes import round_trip
from tests.bench.rows import Row, Section

LIGHT = 'import json\nimport sys\n\nevent = json.load(sys.stdin)\nprint(json.dumps({"allow": True}))\n'
# what a check that is worth its name brings along
HEAVY = f"import argparse\nimport asyncio\nimport email\nimport logging\nimport urllib.request\n{LIGHT}"
SCRIPTS = {"that reads and writes JSON": LIGHT, "that imports half of the standard library": HEAVY}
BODY = b'{"event": "before_tool", "tool": "shell", "args": {"command": "make test"}}\n'
FUNCTION = 'def check(event):\n    return {"decision": "allow"}\n'
WORKER = "Engine.emit, a Python function in a worker of its own"
ENOUGH_CALLS = 20  # until a worker stands by, and knows what the script imports
IN_A_ROW = 10  # calls, as an agent at work makes them


def cold(kind: str) -> str:
    """Name the cold one."""
    return f"python hook.py {kind}, cold"


def warm(kind: str) -> str:
    """Name the warm one."""
    return f"Engine.emit, a warm Python hook {kind}"


def engine_with(script: Path, store: SqliteTraces) -> Engine:
    """Make an engine with one warm hook, traced."""
    fields = {"command": sys.executable, "args": (str(script),), "warm": True}
    engine = Engine(store=store)
    engine.add(Hook(id="guard", on="before_tool", dialect="ollm-protocol", source=Source.USER, **fields))  # type: ignore[arg-type] # field by field
    return engine


def engine_with_function(folder: Path, store: SqliteTraces) -> Engine:
    """Make an engine with one function that runs in a process of its own, traced."""
    (folder / "bench_hook.py").write_text(FUNCTION)
    engine = Engine(store=store)
    fields = {"kind": "python", "module": "bench_hook", "function": "check", "isolated": True}
    beside = str(folder / "hookline.toml")
    engine.add(Hook(id="guard", on="before_tool", source=Source.USER, source_path=beside, **fields))  # type: ignore[arg-type] # field by field
    return engine


def emitting(engine: Engine, in_a_row: int = 1) -> Callable[[], Awaitable[float]]:
    """Make a candidate out of an engine: what one call takes, or one of several in a row."""

    async def emit() -> float:
        started = time.perf_counter()
        for _ in range(in_a_row):
            outcome = await engine.emit("before_tool", {}, tool="shell", args={"command": "make test"})
            if outcome.failures or len(outcome.verdicts) != 1:
                raise SystemExit(f"the hook did not run: {outcome}")
        return (time.perf_counter() - started) / in_a_row

    return emit


def starting(script: Path) -> Callable[[], None]:
    """Make a candidate out of a cold start."""
    argv, env = [sys.executable, str(script)], dict(os.environb)

    def start() -> None:
        if round_trip(argv, BODY, env).code:
            raise SystemExit(f"{script.name} failed")

    return start


async def measure_scripts(folder: Path) -> Sequence[Row]:
    """Measure each script cold and warm, all side by side."""
    store = SqliteTraces(folder / "traces.db")
    candidates: dict[str, Callable[[], Awaitable[float] | None]] = {}
    engines = [engine_with_function(folder, store)]
    for number, (kind, text) in enumerate(SCRIPTS.items()):
        script = folder / f"hook{number}.py"
        script.write_text(text)
        engines.append(engine_with(script, store))
        candidates[cold(kind)] = starting(script)
        candidates[warm(kind)] = emitting(engines[-1])
    candidates[WORKER] = emitting(engines[0], IN_A_ROW)
    await asyncio.sleep(stage.SETTLED)
    timings = await harness.interleave(candidates, harness.rounds(200), warm_up=ENOUGH_CALLS)
    for engine in engines:
        await engine.close()
    rows = []
    for kind in SCRIPTS:
        rows.append(harness.row(timings, cold(kind), floor=cold(kind), who="floor"))
        rows.append(harness.row(timings, warm(kind), floor=cold(kind), who="ours"))
    light = cold(next(iter(SCRIPTS)))
    rows.append(harness.row(timings, WORKER, floor=light, goal="warm", who="ours"))
    return rows


async def measure() -> Sequence[Section]:
    """Measure where there are warm hooks."""
    rows: Sequence[Row] = [Row(what=WORKER, goal="warm", missing=stage.NO_WARM)]
    if stage.can_be_warm():
        with tempfile.TemporaryDirectory() as folder:
            rows = await measure_scripts(Path(folder))
    about = (
        "Wall time. Cold is a bare start of the script; warm is everything the engine does for one event. A script with "
        "`warm = true` has a process of its own for each call, forked from an interpreter that waits. "
        f"A function has a process for many calls; it is called {IN_A_ROW} times in a row, as an agent at work does. "
        "The hook has to be quick by itself for the difference to be this large."
    )
    return [Section(title="Warm Python hooks", about=about, rows=tuple(rows))]


if __name__ == "__main__":
    harness.main(measure)
