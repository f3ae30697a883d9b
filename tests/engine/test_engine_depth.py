"""How deep the call stack is when a hook's process starts, and how often one call plans and parses."""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import pytest

from hookline import Engine, Hook, Outcome, Source
from hookline.engine.planner import HookPlanner
from hookline.json_codec import find_last_object

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems start processes through asyncio")

SOURCE = str(Path(sys.modules["hookline"].__file__ or "").parent)
# emit, handle, HookRunner.run, call the hook, Command.call, process.run, spawn
DEEPEST = 7
START_EVENTS = frozenset({"os.posix_spawn", "subprocess.Popen", "os.fork", "_posixsubprocess.fork_exec"})
SCRIPT = """#!/bin/sh
cat >/dev/null
echo '{"decision": "allow"}'
"""

ENTRY = "/engine/engine.py:Engine.emit"

# None while no test records: an audit hook stays for the rest of the process
stacks: list[list[str]] | None = None


def note_stack(event: str, _args: tuple[object, ...]) -> None:
    if stacks is None or event not in START_EVENTS:
        return
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the stack of an audit event is seen nowhere else
    names = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(SOURCE):
            names.append(f"{frame.f_code.co_filename.removeprefix(SOURCE)}:{frame.f_code.co_qualname}")
        frame = frame.f_back
    names.reverse()
    # frames above emit belong to the loop that resumed the caller
    stacks.append(names[names.index(ENTRY) :] if ENTRY in names else names)


sys.addaudithook(note_stack)


@contextmanager
def counted_calls(*functions: object) -> Iterator[Counter[str]]:
    """Count the calls of functions by their code."""
    codes: dict[CodeType, str] = {function.__code__: function.__qualname__ for function in functions}  # type: ignore[attr-defined]
    calls: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, _arg: object) -> None:
        if event == "call" and frame.f_code in codes:
            calls[codes[frame.f_code]] += 1

    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)


async def emit(engine: Engine) -> Outcome:
    return await engine.emit("before_tool", tool="shell", args={"command": "ls"})


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    # a hook in another folder than ours is started by Popen, one frame deeper
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "hook.sh"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    engine = Engine()
    engine.add(Hook(id="answers", on="before_tool", command=str(script), source=Source.BUILTIN))
    return engine


def test_process_of_a_hook_starts_at_most_seven_frames_below_emit(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[list[str]] = []

    async def scenario() -> Outcome:
        async with engine:
            await emit(engine)
            monkeypatch.setattr(sys.modules[__name__], "stacks", recorded)
            return await emit(engine)

    outcome = asyncio.run(scenario())

    assert not outcome.failures
    (stack,) = recorded
    assert len(stack) <= DEEPEST, "\n".join(stack)


def test_one_call_plans_once_and_parses_the_reply_once(engine: Engine) -> None:
    async def scenario() -> Counter[str]:
        async with engine:
            await emit(engine)
            with counted_calls(HookPlanner.plan, find_last_object) as calls:
                outcome = await emit(engine)
            assert outcome.decision.word == "allow"
            return calls

    calls = asyncio.run(scenario())

    assert calls["HookPlanner.plan"] == 1
    assert calls["find_last_object"] <= 1
