import asyncio
import os
import subprocess
import sys
import threading

import pytest

from hookline.errors import EngineError
from hookline.loop_thread import LoopThread


def test_work_runs_on_one_loop_in_another_thread() -> None:
    thread = LoopThread()

    async def where() -> tuple[int, int]:
        return id(asyncio.get_running_loop()), threading.get_ident()

    first, second = thread.run(where()), thread.run(where())
    thread.stop()

    assert first == second
    assert first[1] != threading.get_ident()


def test_error_of_the_work_is_raised_to_the_caller() -> None:
    async def fails() -> None:
        raise KeyError("x")

    thread = LoopThread()
    with pytest.raises(KeyError):
        thread.run(fails())
    thread.stop()


def test_stop_ends_the_thread_and_what_is_left() -> None:
    ended: list[str] = []

    async def leave_something() -> None:
        async def forever() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")

        asyncio.get_running_loop().keep = asyncio.create_task(forever())  # type: ignore[attr-defined] # a strong reference
        await asyncio.sleep(0)

    before = threading.active_count()
    thread = LoopThread()
    thread.run(leave_something())
    thread.stop()

    assert ended == ["cancelled"]
    assert threading.active_count() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_sync_door_works_in_a_forked_child() -> None:
    program = """
import os, sys
from hookline import Engine, Verdict
engine = Engine()
engine.on("before_tool")(lambda event: Verdict.deny("no"))
assert engine.emit_sync("before_tool").blocked
child = os.fork()
if not child:
    os._exit(0 if engine.emit_sync("before_tool").blocked else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    assert subprocess.run(command, timeout=30, check=False).returncode == 0


def test_work_given_to_a_stopped_loop_is_refused_and_does_not_hang() -> None:
    async def nothing() -> None:
        return

    thread = LoopThread()
    thread.stop()
    thread.stop()

    with pytest.raises(EngineError, match="closed"):
        thread.run(nothing())
