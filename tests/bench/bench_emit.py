"""What an emit costs that no hook wants, against a dict look-up and against event libraries."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import blinker
import harness
import pluggy

from hookline import Engine

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "100"))
DATA = {"session": {"id": "bench"}}
FLOOR = "a dict look-up with a branch"
IDLE = "await engine.emit, no hook for the event"


class _Spec:
    @pluggy.HookspecMarker("bench")
    def before_tool(self, data: object) -> None:
        """Be what pluggy asks for."""


async def look_up(times: int) -> None:
    """Do the least that tells whether there is anything to do."""
    table: dict[str, tuple[object, ...]] = {"before_tool": ()}
    for _ in range(times):
        hooks = table.get("before_tool")
        if hooks:
            raise SystemExit


def emitting(engine: Engine, name: str, *, tool: str = "") -> Callable[[int], Awaitable[None]]:
    """Make a candidate out of an engine."""

    async def emit(times: int) -> None:
        for _ in range(times):
            await engine.emit(name, DATA, tool=tool)

    async def emit_plainly(times: int) -> None:
        for _ in range(times):
            await engine.emit(name, DATA)

    return emit if tool else emit_plainly


def peers() -> Mapping[str, Callable[[int], Awaitable[None]]]:
    """Make candidates out of libraries that do less."""
    manager = pluggy.PluginManager("bench")
    manager.add_hookspecs(_Spec)
    signal = blinker.Signal()

    async def by_pluggy(times: int) -> None:
        for _ in range(times):
            manager.hook.before_tool(data=DATA)

    async def by_blinker(times: int) -> None:
        for _ in range(times):
            signal.send(None, data=DATA)

    return {"pluggy, no hook": by_pluggy, "blinker, no receiver": by_blinker}


async def measure() -> None:
    """Measure all of them side by side."""
    engine = Engine()
    engine.on("after_tool")(lambda _event: None)
    engine.on("before_model", matcher="another")(lambda _event: None)
    candidates = {
        FLOOR: look_up,
        IDLE: emitting(engine, "before_tool"),
        **peers(),
        "await engine.emit, hooks for other tools only": emitting(engine, "before_model", tool="shell"),
        "await engine.emit, one function": emitting(engine, "after_tool"),
    }
    timings = await harness.interleave_loops(candidates, max(100, ROUNDS), inner=500)
    harness.report("An emit", timings, floor=FLOOR, goals={IDLE: 5.0})


if __name__ == "__main__":
    harness.main(measure)
