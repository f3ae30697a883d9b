"""What a replay costs: recorded calls against one function, one rule and one native command hook."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hookline import Engine, Event, Hook, Source
from hookline.model.event import EventName
from hookline.replay.recording import RecordedEvent, Recording
from hookline.replay.replay import HookChoice, replay
from tests.bench import harness, stage
from tests.bench.processes import round_trip
from tests.bench.rows import Section

CALLS = 10_000
SPAWNS = 1_000
ANSWER = '{"allow": true, "metadata": {"checked": true}}\n'
BODY = b'{"x":"' + b"x" * 1000 + b'"}\n'

EMIT = "await engine.emit, one function, no trace"
EMIT_RULE = "await engine.emit, one rule about the commands that are run"
FUNCTION = "replay, one function"
RULE = "replay, one rule about the commands that are run"
BARE = "bare os.posix_spawn round trip"
COMMAND = "replay, one native command hook, contained"


def record(count: int) -> Recording:
    """Make a recording of so many calls."""
    calls = [
        Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": f"git log -{number}"}, id=str(number))
        for number in range(count)
    ]
    return Recording(events=[RecordedEvent(event=event, at=1.0) for event in calls])


def say_nothing(_event: Event) -> None:
    """Have no opinion."""


async def measure_functions() -> Section:
    """Measure what a replay adds to an emit."""
    recording = record(CALLS)
    function = Hook(id="watch", on="before_tool", call=say_nothing, source=Source.BUILTIN)
    rule = Hook(id="rule", on="before_tool", runs=("git push",), deny="no", source=Source.BUILTIN)

    async def emit(hook: Hook) -> None:
        engine = Engine()
        engine.add(hook)
        for one in recording.events:
            await engine.emit("before_tool", tool="shell", args=one.event.args)

    async def run(hook: Hook) -> None:
        report = await replay(recording, HookChoice(hooks=[hook]))
        if report.events != CALLS or report.changes:
            raise SystemExit(f"the replay went wrong: {report}")

    candidates = {
        EMIT: lambda: emit(function),
        FUNCTION: lambda: run(function),
        EMIT_RULE: lambda: emit(rule),
        RULE: lambda: run(rule),
    }
    timings = await harness.interleave(candidates, harness.rounds(20), warm_up=1)
    about = f"{CALLS:,} recorded tool calls, from the first to the report."
    rows = (
        harness.row(timings, EMIT, who="floor"),
        harness.row(timings, FUNCTION, floor=EMIT, most=3.0, who="ours"),
        harness.row(timings, EMIT_RULE, who="floor"),
        harness.row(timings, RULE, floor=EMIT_RULE, most=3.0, who="ours"),
    )
    return Section(title="Replaying recorded calls", about=about, rows=rows)


async def measure_command(folder: Path) -> Section:
    """Measure what a replay adds to starting a program."""
    argv = stage.native_hook(folder, ANSWER)
    recording = record(SPAWNS)
    hook = Hook(
        id="guard",
        on="before_tool",
        command=argv[0],
        args=tuple(argv[1:]),
        dialect="ollm-protocol",
        source=Source.BUILTIN,
    )
    env = dict(os.environb)

    def bare() -> None:
        for _ in range(SPAWNS):
            round_trip(argv, BODY, env)

    async def run() -> None:
        report = await replay(recording, HookChoice(hooks=[hook]))
        if report.events != SPAWNS or report.changes or report.skipped:
            raise SystemExit(f"the replay went wrong: {report}")

    timings = await harness.interleave({BARE: bare, COMMAND: run}, harness.rounds(20), warm_up=1)
    about = (
        f"{SPAWNS:,} recorded tool calls, each a process; a replay runs several at once, the floor one after another."
    )
    rows = harness.rows(timings, floor=BARE, most={COMMAND: 1.2})
    return Section(title="Replaying with a command hook", about=about, rows=rows)


async def measure() -> Sequence[Section]:
    """Measure both."""
    with tempfile.TemporaryDirectory() as folder:
        return [await measure_functions(), await measure_command(Path(folder))]


if __name__ == "__main__":
    harness.main(measure)
