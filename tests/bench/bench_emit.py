"""What an emit costs: without a hook and with one function, against a dict look-up and against event libraries."""

import asyncio
import importlib
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import blinker
import pluggy

from hookline import Engine, Event, EventName, Settings
from hookline.stores.sqlite import SqliteTraces
from tests.bench import harness, peers
from tests.bench.rows import Row, Section

Loop = Callable[[int], Awaitable[None]]

DATA: Mapping[str, object] = {"message": "hello"}
# what can be changed is copied twice: for the hook, and for the trace, which shows what was said
NESTED: Mapping[str, object] = {"session": {"id": "bench"}}
INNER = 500
LONGEST = 60.0  # seconds until all traces are in the file

FLOOR = "a dict look-up with a branch"
IDLE = "await engine.emit, no hook for the event"
OTHERS = "await engine.emit, hooks for other tools only"
PLUGGY_IDLE, BLINKER_IDLE = "pluggy, no hook", "blinker, no receiver"
ONE = "await engine.emit, one function, traced"
LATER = "await engine.emit, one function, and the loop's work"
DEEPER = "await engine.emit, one function, nested data"
UNTRACED = "await engine.emit, one function, no trace"
PLUGGY_ONE, BLINKER_ONE = "pluggy, one hook", "blinker, one receiver"
AGENT_HOOKS = "agent-hooks-sdk, one interceptor"
HANDLED = "await engine.handle, no hook for the call"
RECORDED = "await engine.handle, no hook for the call, recorded"
WRITTEN = "await engine.emit, one function, until the trace is in the file"

_spec = pluggy.HookspecMarker("bench")
_implementation = pluggy.HookimplMarker("bench")


class _Spec:
    @_spec
    def before_tool(self, data: object) -> None:
        """Be what pluggy asks for."""

    @_spec
    def after_tool(self, data: object) -> None:
        """Be the one that has a hook."""


class _Plugin:
    @_implementation
    def after_tool(self, data: object) -> None:
        """Have no opinion."""


class _Interceptor:
    def __init__(self, verdict: object) -> None:
        self._verdict = verdict

    def intercept(self, _context: object) -> object:
        """Always say the same."""
        return self._verdict


async def look_up(times: int) -> None:
    """Do the least that tells whether there is anything to do."""
    table: dict[str, tuple[object, ...]] = {"before_tool": ()}
    for _ in range(times):
        hooks = table.get("before_tool")
        if hooks:
            raise SystemExit


def emitting(engine: Engine, name: str, *, tool: str = "", data: Mapping[str, object] = DATA) -> Loop:
    """Make a candidate out of an engine."""

    async def emit(times: int) -> None:
        for _ in range(times):
            await engine.emit(name, data, tool=tool)

    async def emit_plainly(times: int) -> None:
        for _ in range(times):
            await engine.emit(name, data)

    return emit if tool else emit_plainly


def handling(engine: Engine) -> Loop:
    """Make a candidate out of an engine that answers the call of an agent."""
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, host="claude-code", cwd="/")

    async def handle(times: int) -> None:
        for _ in range(times):
            await engine.handle(event)

    return handle


def emitting_and_after(engine: Engine, name: str) -> Loop:
    """Make a candidate out of an engine that lets the loop do what was put off."""
    emit = emitting(engine, name)

    async def emit_and_wait(times: int) -> None:
        await emit(times)
        await asyncio.sleep(0)

    return emit_and_wait


def libraries() -> Mapping[str, Loop]:
    """Make candidates out of libraries that do less."""
    manager = pluggy.PluginManager("bench")
    manager.add_hookspecs(_Spec)
    manager.register(_Plugin())
    silent, heard = blinker.Signal(), blinker.Signal()
    heard.connect(_receive)

    async def pluggy_idle(times: int) -> None:
        for _ in range(times):
            manager.hook.before_tool(data=DATA)

    async def pluggy_one(times: int) -> None:
        for _ in range(times):
            manager.hook.after_tool(data=DATA)

    async def blinker_idle(times: int) -> None:
        for _ in range(times):
            silent.send(None, data=DATA)

    async def blinker_one(times: int) -> None:
        for _ in range(times):
            heard.send(None, data=DATA)

    return {
        PLUGGY_IDLE: pluggy_idle,
        BLINKER_IDLE: blinker_idle,
        PLUGGY_ONE: pluggy_one,
        BLINKER_ONE: blinker_one,
        **agent_hooks(),
    }


def _receive(_sender: object, data: object) -> None:
    """Have no opinion."""


def agent_hooks() -> Mapping[str, Loop]:
    """Make a candidate out of a library that is installed elsewhere; none where it is not."""
    if not peers.has("agent-hooks-sdk"):
        return {}
    sys.path.append(str(peers.packages()))
    module = importlib.import_module("agent_hooks")
    builder = module.AgentContextBuilder(agent_id="bench", framework="bench", session_id="bench")
    emitter = module.InterceptionEmitter().register(_Interceptor(module.Verdict.allow()))

    async def emit(times: int) -> None:
        for _ in range(times):
            await emitter.emit(builder.pre_tool_call(call_id="1", name="shell", args={"command": "ls"}))

    return {AGENT_HOOKS: emit}


def engine_with_function(store: SqliteTraces | None) -> Engine:
    """Make an engine with one function that has no opinion, and hooks for other tools."""
    engine = Engine(store=store) if store else Engine()

    @engine.on("after_tool")
    def _watch(_event: Event) -> None:
        """Have no opinion."""

    engine.on("before_model", matcher="another")(lambda _event: None)
    return engine


async def measure_all(store: SqliteTraces, *, rounds: int) -> Sequence[Section]:
    """Measure all of them side by side."""
    traced, plain = engine_with_function(store), engine_with_function(None)
    candidates = {
        FLOOR: look_up,
        IDLE: emitting(plain, "before_tool"),
        OTHERS: emitting(plain, "before_model", tool="shell"),
        UNTRACED: emitting(plain, "after_tool"),
        ONE: emitting(traced, "after_tool"),
        DEEPER: emitting(traced, "after_tool", data=NESTED),
        LATER: emitting_and_after(traced, "after_tool"),
        HANDLED: handling(plain),
        # what it records is counted by nobody here, so the store of the others does not get it
        RECORDED: handling(Engine(settings=Settings(record="all"))),
        **libraries(),
    }

    # the caller's own time: what a thread writes later holds nobody up
    timings = await harness.interleave_loops(
        # nobody emits so much at once that the thread that writes could not follow
        candidates,
        rounds,
        inner=INNER,
        clock=time.thread_time,
        between=store.flush,
    )
    await settled(store, 3 * (rounds + 2) * INNER)
    written = await measure_written(traced, store)
    rows = list(
        harness.rows(timings, floor=FLOOR, peers=(PLUGGY_IDLE, PLUGGY_ONE, BLINKER_IDLE, BLINKER_ONE, AGENT_HOOKS))
    )
    if AGENT_HOOKS not in timings:
        rows.append(Row(what=AGENT_HOOKS, against=FLOOR, who="peer", missing=peers.ABSENT))
    cost = harness.p10(timings[ONE]) - harness.p10(timings[UNTRACED])
    goals = (
        harness.row(timings, IDLE, floor=PLUGGY_IDLE, what="no hook, against pluggy without one", goal="emit-idle"),
        harness.row(timings, ONE, floor=PLUGGY_ONE, what="one function, against pluggy's one", goal="emit-function"),
        Row(what="what the trace adds for the caller", value=max(cost, 0.0), rounds=rounds, goal="trace"),
        Row(
            what="what the record of a call without hooks adds for the caller",
            value=max(harness.p10(timings[RECORDED]) - harness.p10(timings[HANDLED]), 0.0),
            rounds=rounds,
            goal="trace-unasked",
        ),
        written,
    )
    about = (
        f"Processor time of the calling thread for one emit, {INNER} in a row. What is put off until the loop has time "
        "has a row of its own; writing traces into the file is in the last row, with the time of all threads."
    )
    return [Section(title="One emit inside a program", about=about, rows=(*rows, *goals), is_drawn=True)]


async def settled(store: SqliteTraces, emits: int) -> None:
    """Wait until every emit has its trace; one that is lost ends the benchmark."""
    end = time.monotonic() + LONGEST
    while (stored := len(store.traces(limit=2 * emits))) != emits:
        if time.monotonic() > end:
            raise SystemExit(f"{emits} emits left {stored} traces")
        await asyncio.sleep(0.1)


async def measure_written(engine: Engine, store: SqliteTraces) -> Row:
    """Measure an emit until its trace is in the file, with the time of all threads."""
    emit_and_wait = emitting_and_after(engine, "after_tool")

    async def until_written(times: int) -> None:
        await emit_and_wait(times)
        store.flush()

    timings = await harness.interleave_loops({WRITTEN: until_written}, min(harness.rounds(), 40), inner=INNER)
    return harness.row(timings, WRITTEN)


async def measure() -> Sequence[Section]:
    """Measure with a store in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteTraces(Path(folder) / "traces.db")
        try:
            return await measure_all(store, rounds=harness.rounds())
        finally:
            store.close()


if __name__ == "__main__":
    harness.main(measure)
