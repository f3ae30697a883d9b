"""What limits and kept answers cost: an emit with one function, plain, limited in memory, and limited in a file."""

import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from hookline import Engine
from hookline.model.hook import Hook, Source
from hookline.model.requirements import Caching
from hookline.ports import StateStore
from hookline.stores.state import MemoryState, SqliteState
from tests.bench import harness
from tests.bench.rows import Section

PLAIN = "one function, no limit"
DATA = {"session": {"id": "bench"}}


def emitting(state: StateStore, **fields: object) -> Callable[[int], Awaitable[None]]:
    """Make a candidate: an engine with one function."""
    given: dict[str, object] = {"id": "f", "on": "after_tool", "call": lambda _event: None, **fields}
    engine = Engine(state=state)
    engine.add(Hook(source=Source.BUILTIN, **given))  # type: ignore[arg-type]

    async def emit(times: int) -> None:
        for _ in range(times):
            await engine.emit("after_tool", DATA, tool="shell")

    return emit


async def measure() -> Sequence[Section]:
    """Measure all of them side by side."""
    with tempfile.TemporaryDirectory() as folder:
        state = SqliteState(Path(folder) / "state.db")
        candidates = {
            PLAIN: emitting(MemoryState()),
            "at its limit of 30 a minute, in memory": emitting(MemoryState(), per_minute=30),
            "at its limit of 30 a minute, in a file": emitting(state, per_minute=30),
            "a breaker that is closed, in a file": emitting(state, breaker=5),
            "resting for a microsecond each time, in a file": emitting(state, cooldown=1e-6),
            "an answer that was given before, in memory": emitting(MemoryState(), cache=Caching(seconds=3600)),
            "an answer that was given before, in a file": emitting(state, cache=Caching(seconds=3600)),
        }
        timings = await harness.interleave_loops(candidates, harness.rounds(), inner=50)
        state.close()
    rows = harness.rows(timings, floor=PLAIN)
    return [Section(title="An emit with a limited hook", about="Processor time of one emit.", rows=rows)]


if __name__ == "__main__":
    harness.main(measure)
