import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hookline.engine.limits import MINUTE
from hookline.stores.state import SqliteState
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

# What every process runs: an engine with one function that says when it ran. They wait for each other at first.
PROGRAM = """
import asyncio, os, sys, time
from pathlib import Path
from hookline.engine.engine import Engine
from hookline.model.hook import Hook, Source
from hookline.model.event import Session
from hookline.stores.state import SqliteState

folder, times, others, fields = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), eval(sys.argv[4])

def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)

def run(event):
    with open(folder / "ran", "ab", buffering=0) as file:
        file.write(f"{time.time()}\\n".encode())
    if fields.get("breaker"):
        # it is still being tried when everybody else has asked
        until(lambda: len(list(folder.glob("asked-*"))) >= others)
        raise RuntimeError("broken")

async def main():
    engine = Engine(state=SqliteState(folder / "state.db"))
    engine.add(Hook(id="h", on="before_tool", call=run, source=Source.BUILTIN, source_path="/x", **fields))
    (folder / f"ready-{os.getpid()}").touch()
    until((folder / "go").exists)
    for _ in range(times):
        outcome = await engine.emit("before_tool", session=Session(id="one"))
        if outcome.skipped:
            (folder / f"asked-{os.getpid()}").touch()
    await engine.close()

asyncio.run(main())
"""


@contextmanager
def started(folder: Path, count: int, times: int, **fields: object) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start processes that begin together once all of them are ready; none is left behind."""
    (folder / "go").unlink(missing_ok=True)
    for file in folder.glob("ready-*"):
        file.unlink()
    command = [sys.executable, "-c", PROGRAM, str(folder), str(times), str(count - 1), repr(fields)]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        until(lambda: len(list(folder.glob("ready-*"))) >= count)
        (folder / "go").touch()
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ran(folder: Path) -> list[float]:
    file = folder / "ran"
    return sorted(map(float, file.read_text().split())) if file.exists() else []


def most_in_a_minute(moments: list[float]) -> int:
    return max(sum(1 for at in moments if start <= at < start + MINUTE - 1) for start in moments)


@pytest.mark.spec("D-11")
@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("again", range(3))
def test_processes_hammering_one_hook_run_it_exactly_as_often_as_it_may(
    tmp_path: Path, processes: int, again: int
) -> None:
    begun = time.monotonic()

    with started(tmp_path, processes, 100, per_minute=30) as running:
        assert [process.wait(timeout=PATIENCE) for process in running] == [0] * processes

    moments = ran(tmp_path)
    assert most_in_a_minute(moments) == 30, again
    if time.monotonic() - begun < MINUTE:
        assert len(moments) == 30


@pytest.mark.spec("D-11")
def test_killed_process_neither_lets_more_run_nor_holds_the_others_up(tmp_path: Path) -> None:
    with started(tmp_path, 4, 400, per_minute=30) as running:
        until(lambda: len(ran(tmp_path)) >= 5)
        os.kill(running[0].pid, signal.SIGKILL)
        assert [process.wait(timeout=PATIENCE) for process in running[1:]] == [0, 0, 0]

    # it may have been killed after its run was counted and before it ran
    assert len(ran(tmp_path)) in {29, 30}


@pytest.mark.spec("D-11")
def test_one_process_of_all_tries_a_paused_hook_again(tmp_path: Path) -> None:
    others = 4
    terms = {"breaker": 1, "retry_after": 0.5, "timeout": PATIENCE}
    with started(tmp_path, 1, 1, **terms) as running:
        assert running[0].wait(timeout=PATIENCE) == 0
    assert len(ran(tmp_path)) == 1
    paused_until = time.time() + 0.5
    until(lambda: time.time() > paused_until)

    with started(tmp_path, others + 1, 1, **terms) as running:
        assert [process.wait(timeout=PATIENCE) for process in running] == [0] * (others + 1)

    assert len(ran(tmp_path)) == 2
    assert len(list(tmp_path.glob("asked-*"))) == others


def test_one_process_of_all_runs_what_runs_once_in_a_session(tmp_path: Path) -> None:
    with started(tmp_path, 4, 50, once=True) as running:
        assert [process.wait(timeout=PATIENCE) for process in running] == [0] * 4

    assert len(ran(tmp_path)) == 1


def test_what_was_counted_is_in_the_file_when_all_are_gone(tmp_path: Path) -> None:
    with started(tmp_path, 2, 3, per_minute=30) as running:
        for process in running:
            process.wait(timeout=PATIENCE)

    with closing(SqliteState(tmp_path / "state.db")) as state:
        assert state.forget(["hook:"]) == 1
