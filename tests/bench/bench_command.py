"""What one command hook costs through the whole engine, against a bare spawn, and against Gemini CLI's own runner."""

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

from hookline import Engine, Hook, Source, TrustedHooks
from hookline.stores.sqlite import SqliteTraces
from tests.bench import harness, peers, stage
from tests.bench.processes import round_trip
from tests.bench.rows import Row, Section

ANSWER = '{"allow": true, "metadata": {"checked": true}}\n'
DATA = {"session": {"id": "bench"}}
ARGS = {"command": "x" * 700}
BODY = b'{"x":"' + b"x" * 1000 + b'"}\n'

BARE = "bare os.posix_spawn round trip"
EMIT = "Engine.emit, one command hook, everything"
EMIT_AND_TRACE = "Engine.emit, one command hook, and the loop's work"
ASYNCIO = "asyncio.create_subprocess_exec alone"
GEMINI = "Gemini CLI's HookRunner.executeHook alone"


@contextlib.asynccontextmanager
async def gemini(folder: Path, command: str) -> AsyncIterator[Callable[[], Awaitable[float]] | None]:
    """Have a process run hooks with Gemini CLI's own runner; it times itself, without the way to us and back."""
    bundle, node = peers.gemini(), shutil.which("node")
    if bundle is None or node is None:
        yield None
        return
    pipe = asyncio.subprocess.PIPE
    script = Path(__file__).with_name("gemini_runner.mjs")
    # the same environment as ours; without SHLVL, bash would take the socket that it is given for a login from afar
    # and read its start-up files, which is no fault of the runner's
    env = {**os.environ, "HOME": str(folder), "SHLVL": "1"}
    child = await asyncio.create_subprocess_exec(
        *(node, str(script), str(bundle), command), stdin=pipe, stdout=pipe, env=env, cwd=folder
    )
    if child.stdin is None or child.stdout is None:
        raise SystemExit("there are no pipes")
    feed, read = child.stdin, child.stdout
    try:
        is_ready = (await read.readline()).strip() == b"ready"

        async def run() -> float:
            feed.write(b"go\n")
            return float(await read.readline()) / 1e3

        yield run if is_ready else None
    finally:
        feed.close()
        await child.wait()


async def approved_engine(folder: Path, argv: list[str]) -> Engine:
    """Make an engine with one approved workspace hook, traced into SQLite."""
    hook = Hook(
        id="guard",
        on="before_tool",
        command=argv[0],
        args=tuple(argv[1:]),
        dialect="ollm-protocol",
        source=Source.WORKSPACE,
    )
    trust = TrustedHooks()
    await trust.store_approval(hook, trust.digest(hook))
    engine = Engine(trust=trust, store=SqliteTraces(folder / "traces.db"))
    engine.add(hook)
    # a file that has just changed is read anew each time
    await asyncio.sleep(stage.SETTLED)
    return engine


async def measure_command_hook(folder: Path) -> Section:
    """Measure all of them side by side."""
    argv = stage.native_hook(folder, ANSWER)
    engine = await approved_engine(folder, argv)
    env = dict(os.environb)

    # both time themselves, as Gemini CLI's runner does: without what it takes to look at the result
    async def emit() -> float:
        started = time.perf_counter()
        outcome = await engine.emit("before_tool", DATA, tool="shell", args=ARGS)
        elapsed = time.perf_counter() - started
        if outcome.failures or len(outcome.verdicts) != 1:
            raise SystemExit(f"the hook did not run: {outcome}")
        return elapsed

    async def emit_and_trace() -> float:
        elapsed = await emit()
        started = time.perf_counter()
        await asyncio.sleep(0)
        return elapsed + time.perf_counter() - started

    def bare() -> float:
        started = time.perf_counter()
        ended = round_trip(argv, BODY, env)
        elapsed = time.perf_counter() - started
        if ended.code or not ended.stdout:
            raise SystemExit(f"the hook did not run: {ended}")
        return elapsed

    async def asyncio_way() -> None:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe)
        await child.communicate(BODY)

    async with gemini(folder, " ".join(argv)) as by_gemini:
        candidates: dict[str, Callable[[], Awaitable[object] | object]] = {
            BARE: bare,
            EMIT: emit,
            EMIT_AND_TRACE: emit_and_trace,
            ASYNCIO: asyncio_way,
        }
        timings = await harness.interleave(candidates | ({GEMINI: by_gemini} if by_gemini else {}), harness.rounds(400))
    await engine.close()
    rows = harness.rows(timings, floor=BARE, goals={EMIT: "emit-command"}, peers=(ASYNCIO, GEMINI))
    against = "Engine.emit, against Gemini CLI's own hook runner"
    rows += (
        (harness.row(timings, EMIT, floor=GEMINI, what=against, goal="emit-gemini"),)
        if by_gemini
        else (Row(what=against, against=GEMINI, goal="emit-gemini", missing=peers.ABSENT),)
    )
    about = (
        "From inside a program that runs already; wall time. The hook is a small C program that reads a kilobyte of "
        "JSON and prints an answer. Ours is everything: planning, approval by content, start, reading the answer, merging, a trace in "
        "SQLite. The records of a trace are put together when the answer is on its way, by the event loop: one row has that in it. Gemini CLI's figure is its `HookRunner.executeHook` alone, imported from its published bundle, timed "
        "inside its own process."
    )
    return Section(title="One native command hook", about=about, rows=rows, is_drawn=True)


async def measure() -> Sequence[Section]:
    """Measure in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        return [await measure_command_hook(Path(folder))]


if __name__ == "__main__":
    harness.main(measure)
