import subprocess
import sys
from pathlib import Path

import pytest

from hookline.model.hook import Hook
from hookline.stores import worker_registry
from tests.cli.program import environment
from tests.worker_home import Home

# A worker that leaves as soon as there is nothing to do, and emitters that rely on it at that very moment.
_WORKER = """
import asyncio, sys
from pathlib import Path
from hookline import worker
worker.IDLE = 0.0
asyncio.run(worker.Worker(Path(sys.argv[1])).work(worker.Until.IDLE, only_one=True))
"""
_EMITTER = """
import random, subprocess, sys, time
from functools import partial
from pathlib import Path
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.stores import worker_registry
from hookline.stores.queue import SqliteQueue

data, project, source, worker = Path(sys.argv[1]), *sys.argv[2:5]
started = []
worker_registry._start = lambda folder, _: started.append(subprocess.Popen([sys.executable, "-c", worker, str(folder)]))
worker_registry._START = 0.0  # nobody is taken to be on their way, so that only the lock counts
queue = SqliteQueue(data / "queue.db", wake=partial(worker_registry.ensure_worker, data, project))
hook = Hook(id="later", command="true", background=True, source_path=source, parallel=True)
for _ in range(8):
    queue.put(hook, Event(name=EventName.AFTER_TOOL, cwd=project, id="t"), project=project)
    time.sleep(random.uniform(0.0, 0.25))
queue.close()
for process in started:
    process.wait()
"""


def test_job_that_is_put_while_a_worker_leaves_is_run_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path, monkeypatch)
    home.configure(run=f"echo $HOOKLINE_JOB >> {home.out}/ran")
    home.put()
    [first] = home.queue.jobs()
    leave = worker_registry.WorkerSlot.leave
    late: list[str] = []

    def leave_and_put(slot: worker_registry.WorkerSlot) -> None:
        leave(slot)
        if not late:
            # whoever looked just before still saw a worker, so nobody else is on the way
            hook = Hook(id=first.hook, command="true", source_path=first.source)
            late.append(home.queue.put(hook, first.event, project=first.project).id)

    monkeypatch.setattr(worker_registry.WorkerSlot, "leave", leave_and_put)
    home.work()

    assert (home.out / "ran").read_text().split() == [first.id, *late]
    assert home.queue.jobs() == []


@pytest.mark.spec("A-22")
def test_no_job_is_forgotten_between_a_worker_that_leaves_and_an_emitter_that_relies_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path, monkeypatch)
    home.configure(run=f"echo $HOOKLINE_JOB >> {home.out}/ran", more="parallel = true")
    source = str(home.home / ".config" / "hookline" / "hookline.toml")

    emitters = [
        subprocess.Popen(
            [sys.executable, "-c", _EMITTER, str(home.data), str(home.project), source, _WORKER],
            cwd=home.project,
            env=environment(home.home),
        )
        for _ in range(2)
    ]

    # each emitter waits for the workers it started; afterwards nobody is there who could still run something
    assert [process.wait(timeout=120) for process in emitters] == [0, 0]
    assert home.queue.jobs() == []
    assert len(set((home.out / "ran").read_text().split())) == 16
