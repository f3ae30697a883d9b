"""What containment costs: starting a program, an emit, and an agent's call, each against the same without it."""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from hookline import Engine, Hook, Source
from hookline.model.sandbox import LEVELS, UNCONTAINED
from hookline.process import native
from hookline.process.containment import CellKey, make_cell
from hookline.process.result import ContainmentError
from tests.bench import harness, stage
from tests.bench.processes import round_trip
from tests.bench.rows import Row, Section, Who

ANSWER = '{"allow": true}\n'
BODY = b'{"x":"' + b"x" * 1000 + b'"}\n'

BARE = "os.posix_spawn, wait for the end"
CONTAINED = "a contained program: landlock, mounts, seccomp, limits"
BUBBLEWRAP = "the same by bubblewrap: read-only root, one folder writable, no network"
EMIT = "Engine.emit, one native command hook"
EMIT_CONTAINED = "Engine.emit, one native command hook, contained"
CALL = "launcher + daemon, one native command hook"
CALL_CONTAINED = "launcher + daemon, one native command hook, contained"

NO_LAYERS = "this machine cannot contain programs"

Candidate = Callable[[], Awaitable[object] | object]


def starts(folder: Path) -> tuple[dict[str, Candidate], dict[str, str]]:
    """Make candidates that start a program which does nothing."""
    env = dict(os.environb)
    words = ["/bin/true"]

    def bare() -> None:
        os.waitpid(os.posix_spawn(words[0], words, env), 0)

    made: dict[str, Candidate] = {BARE: bare}
    missing: dict[str, str] = {}
    try:
        cell = make_cell(CellKey(LEVELS["project"], str(folder), str(Path.home())))
    except (ContainmentError, OSError):
        missing[CONTAINED] = NO_LAYERS
    else:

        def contained() -> None:
            pid = native.spawn(words[0], words, env=env, cwd=str(folder), streams=(0, 1, 2), sandbox=cell.struct)
            os.waitpid(pid, 0)

        made[CONTAINED] = contained
    if bwrap := shutil.which("bwrap"):
        prefix = [
            bwrap,
            "--ro-bind",
            "/",
            "/",
            "--bind",
            str(folder),
            str(folder),
            "--unshare-net",
            "--chdir",
            str(folder),
        ]

        def wrapped() -> None:
            if os.waitpid(os.posix_spawn(bwrap, [*prefix, *words], env), 0)[1]:
                raise SystemExit("bubblewrap does not run here")

        made[BUBBLEWRAP] = wrapped
    else:
        missing[BUBBLEWRAP] = "not installed"
    return made, missing


async def emits(folder: Path) -> dict[str, Candidate]:
    """Make candidates that run one hook, contained and not."""
    argv = stage.native_hook(folder, ANSWER)
    made: dict[str, Candidate] = {}
    for name, sandbox in ((EMIT, UNCONTAINED), (EMIT_CONTAINED, LEVELS["project"])):
        engine = Engine()
        engine.add(
            Hook(
                id="guard",
                on="before_tool",
                command=argv[0],
                dialect="ollm-protocol",
                source=Source.USER,
                sandbox=sandbox,
                root=str(folder),
            )
        )

        async def emit(engine: Engine = engine) -> float:
            started = time.perf_counter()
            outcome = await engine.emit("before_tool", tool="shell", args={"command": "x" * 700}, cwd=str(folder))
            elapsed = time.perf_counter() - started
            if outcome.failures or len(outcome.verdicts) != 1:
                raise SystemExit(f"the hook did not run: {outcome}")
            return elapsed

        made[name] = emit
    await asyncio.sleep(stage.SETTLED)
    return made


def calls(here: stage.Stage) -> tuple[dict[str, Candidate], dict[str, str]]:
    """Make candidates of an agent's calls."""
    hooks = [
        stage.toml_hook("native", stage.WARM, here.native),
        stage.toml_hook("contained", stage.COLD, here.native, sandbox="project"),
    ]
    here.settings.write_text("\n".join(hooks))
    words = stage.launcher_words()
    reason = here.start_daemon() if words else stage.NO_LAUNCHER
    if reason:
        return {}, dict.fromkeys((CALL, CALL_CONTAINED), reason)
    stage.settle()
    made: dict[str, Candidate] = {}
    for name, tool in ((CALL, stage.WARM), (CALL_CONTAINED, stage.COLD)):
        body = here.payload(tool)
        answer = stage.checked(name, round_trip(words, body, here.env), has_answer=True)
        made[name] = stage.calling(words, body, here.env, answer=answer)
    return made, {}


# each with what it is held against, and the goal
PAIRS = {
    CONTAINED: (BARE, "contained-start"),
    BUBBLEWRAP: (BARE, ""),
    EMIT_CONTAINED: (EMIT, "contained-emit"),
    CALL_CONTAINED: (CALL, "contained-call"),
}


async def measure() -> Sequence[Section]:
    """Measure each beside the same without containment."""
    with tempfile.TemporaryDirectory() as name, stage.stage() as here:
        folder = Path(name)
        made, missing = starts(folder)
        timings = await harness.interleave(made, harness.rounds(400))
        timings |= await harness.interleave(await emits(folder), harness.rounds(200))
        agents, lacking = calls(here)
        if agents:
            timings |= await harness.interleave(agents, harness.rounds(200))
        missing |= lacking
    rows: list[Row] = []
    for what, (floor, goal) in PAIRS.items():
        if floor in timings and not any(row.what == floor for row in rows):
            rows.append(harness.row(timings, floor, floor=floor, who="floor"))
        if what in timings:
            who: Who = "peer" if what == BUBBLEWRAP else "ours"
            rows.append(harness.row(timings, what, floor=floor, goal=goal, who=who))
        else:
            rows.append(Row(what=what, against=floor, goal=goal, missing=missing[what]))
    about = (
        "A program that does nothing, and the small C program of the other sections as a hook; wall time. Contained is the level "
        "`project`: everything readable but the user's secrets, the project writable, no sockets, limits for the whole process group."
    )
    return [Section(title="Containment", about=about, rows=tuple(rows))]


if __name__ == "__main__":
    harness.main(measure)
