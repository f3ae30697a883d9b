import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from hookline import worker as module
from hookline.model.job import JobState
from hookline.model.record import Step
from hookline.stores import worker_registry
from hookline.stores.sqlite import SqliteTraces
from hookline.worker import Tally, Until, Worker
from tests.cli.program import configure, environment
from tests.waiting import until
from tests.worker_home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return Home(tmp_path, monkeypatch)


@pytest.mark.spec("A-22")
def test_hook_runs_with_its_event_and_knows_its_job(home: Home) -> None:
    home.configure(
        run=f"cat > {home.out}/event; env | grep -E '^HOOKLINE_(JOB|ATTEMPT|REDELIVERED)' | sort > {home.out}/env"
    )
    job = home.put(data={"result": {"deep": [1, 2.5]}})

    tally = home.work()

    assert (tally.done, tally.later, tally.dead) == (1, 0, 0)
    assert home.queue.jobs() == []
    event = json.loads((home.out / "event").read_text())
    assert event["event"] == "after_tool"
    assert event["data"]["result"] == {"deep": [1, 2.5]}
    assert event["data"]["job"] == {"id": job, "attempt": 1, "redelivered": False}
    assert (home.out / "env").read_text().split() == ["HOOKLINE_ATTEMPT=1", f"HOOKLINE_JOB={job}"]


def test_what_happens_is_in_the_trace_of_the_event(home: Home) -> None:
    home.configure(run="echo oops >&2; exit 3")
    home.put()
    trace = home.queue.jobs()[0].event.id

    home.attempt()

    store = SqliteTraces(home.data / "traces.db")
    steps = {record.step: record for record in store.records(trace)}
    store.close()
    assert {Step.QUEUED, Step.STARTED, Step.FAILED, Step.WARNING} <= set(steps)
    assert "is tried again in" in str(steps[Step.WARNING].detail["message"])


def test_failing_hook_is_tried_again_later_and_then_given_up(home: Home) -> None:
    home.configure(run=f"echo x >> {home.out}/runs; exit 3")
    job = home.put()
    waits = []
    for _ in range(5):
        home.attempt()
        [found] = home.queue.jobs()
        waits.append(found.due - time.time())
        home.hurry()

    [dead] = home.queue.jobs()
    assert dead.state is JobState.DEAD
    assert "given up after 5 failures, the last: " in dead.error
    assert "exit code 3" in dead.error
    assert (home.out / "runs").read_text() == "x\n" * 5
    # longer each time: 5, 15, 45 and 135 seconds, more or less
    assert all(0.5 < wait / (5 * 3**place) < 1.3 for place, wait in enumerate(waits[:4]))

    home.queue.retry([job])
    home.attempt()
    assert home.queue.jobs()[0].attempts == 1


def test_hook_that_is_gone_is_not_run(home: Home) -> None:
    home.configure(run="true")
    home.put()
    home.configure(run="true", id="another")

    home.work()

    [dead] = home.queue.jobs()
    assert dead.state is JobState.DEAD
    assert dead.error.startswith('there is no hook "later"')


def unnamed(home: Home, *runs: str) -> None:
    entry = '[[hook]]\non = "after_tool"\nrun = {run}\nshell = true\nbackground = true\n'
    configure(home.home, "".join(entry.format(run=json.dumps(run)) for run in runs))


def test_hook_without_a_name_is_found_again_at_another_place_of_its_file(home: Home) -> None:
    unnamed(home, f"touch {home.out}/first", f"touch {home.out}/second")
    home.put()
    unnamed(home, f"touch {home.out}/new", f"touch {home.out}/second")

    tally = home.work()

    assert (tally.done, tally.dead) == (1, 1)
    # what stands at its place now was never asked to run
    assert [path.name for path in home.out.iterdir()] == ["second"]
    assert home.queue.jobs()[0].error.startswith('there is no hook "hookline:after_tool:1"')


def test_event_that_cannot_be_read_is_no_reason_to_run_a_hook_for_nothing(home: Home) -> None:
    home.configure(run=f"touch {home.out}/ran")
    home.put()
    with closing(sqlite3.connect(home.queue.path)) as connection, connection:
        connection.execute("UPDATE jobs SET event = ?", ('{"name": "moon_landing"}',))

    home.work()

    [dead] = home.queue.jobs()
    assert dead.state is JobState.DEAD
    assert "another version" in dead.error
    assert not (home.out / "ran").exists()


def test_approvals_that_cannot_be_read_cost_a_job_and_not_the_worker(home: Home) -> None:
    home.configure(run=f"touch {home.out}/ran", of_project=True)
    home.hookline("trust", "approve", "later", "--yes")
    job = home.put()
    approvals = home.data / "approvals.json"
    good = approvals.read_bytes()
    approvals.write_bytes(b"no approvals at all")

    home.work()

    [dead] = home.queue.jobs()
    assert (dead.state, dead.redelivered) == (JobState.DEAD, 0)
    assert "approvals" in dead.error
    assert not (home.out / "ran").exists()
    approvals.write_bytes(good)
    home.queue.retry([job])
    home.work()
    assert (home.out / "ran").exists()


def test_worker_without_a_usable_folder_is_an_error_with_advice(home: Home) -> None:
    home.data.parent.mkdir(parents=True)
    home.data.symlink_to("x" * 300)

    done = home.hookline("queue", "work", "--once")

    assert done.returncode == 1
    assert "you may write there" in done.stderr
    assert "Traceback" not in done.stderr


def test_project_that_is_gone_is_said_to_be(home: Home) -> None:
    home.configure(run="true")
    home.put()
    home.project.rename(home.project.with_name("moved"))

    home.work()

    assert home.queue.jobs()[0].error == f"there is no folder {home.project} any more"


def test_queued_hook_of_a_project_is_contained(home: Home) -> None:
    outside = home.home / "outside"
    home.configure(run=f"touch {home.out}/ran; touch {outside}; true", of_project=True)
    home.hookline("trust", "approve", "later", "--yes")
    home.put()
    trace = home.queue.jobs()[0].event.id

    tally = home.work()

    assert (tally.done, (home.out / "ran").exists(), outside.exists()) == (1, True, False)
    with closing(SqliteTraces(home.data / "traces.db")) as store:
        assert any("seccomp" in str(record.detail.get("sandbox", "")) for record in store.records(trace))


def test_approval_that_was_taken_back_counts(home: Home) -> None:
    home.configure(run=f"touch {home.out}/ran", of_project=True)
    home.hookline("trust", "approve", "later", "--yes")
    job = home.put()
    home.hookline("trust", "revoke", "later")

    home.work()

    [dead] = home.queue.jobs()
    assert dead.state is JobState.DEAD
    assert "not approved; approve it with `hookline trust approve later`" in dead.error
    assert not (home.out / "ran").exists()

    home.hookline("trust", "approve", "later", "--yes")
    home.queue.retry([job])
    home.work()
    assert (home.out / "ran").exists()


def test_hook_that_changed_since_it_was_queued_has_to_be_approved_again(home: Home) -> None:
    home.configure(run=f"touch {home.out}/old", of_project=True)
    home.hookline("trust", "approve", "later", "--yes")
    home.put()
    home.configure(run=f"touch {home.out}/new", of_project=True)

    home.work()

    assert "changed since it was approved" in home.queue.jobs()[0].error
    assert list(home.out.iterdir()) == []


def test_hook_that_lacks_something_waits_without_using_up_its_attempts(home: Home) -> None:
    home.configure(run="true", more='needs = {files = ["ready"]}')
    # what it needs was there when it was queued
    (home.project / "ready").touch()
    home.put()
    (home.project / "ready").unlink()

    home.attempt()

    [job] = home.queue.jobs()
    assert (job.state, job.attempts) == (JobState.WAITING, 0)
    assert "ready" in job.error


@pytest.mark.spec("D-05")
def test_what_a_background_hook_says_reaches_the_next_agent(home: Home) -> None:
    answer = '{"ask_agent": "look at it", "message": "indexed", "decision": "deny", "reason": "too late"}'
    home.configure(run=f"echo '{answer}'")
    home.put()

    home.work()

    assert {(letter.kind, letter.text) for letter in home.queue.letters()} == {
        ("ask_agent", "look at it"),
        ("message", "indexed"),
    }
    said = json.loads(home.hookline("emit", "before_agent", "--json").stdout)
    assert (said["follow_ups"], said["messages"], said["blocked"]) == (["look at it"], ["indexed"], False)
    assert home.queue.letters() == []


def test_hung_hook_is_ended_by_its_time(home: Home) -> None:
    home.configure(run="sleep 600", more='timeout = "200ms"')
    home.put()

    home.attempt()

    [job] = home.queue.jobs()
    assert job.state is JobState.WAITING
    assert "200 ms" in job.error or "0.2" in job.error


def test_hook_does_not_run_beside_itself(home: Home) -> None:
    home.configure(run=f"mkdir {home.out}/busy || echo twice >> {home.out}/wrong; sleep 0.05; rmdir {home.out}/busy")
    for _ in range(6):
        home.put()

    assert home.work().done == 6
    assert not (home.out / "wrong").exists()


def start(home: Home, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "hookline", "queue", "work", *words],
        cwd=home.project,
        env=environment(home.home),
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.spec("A-22")
def test_job_of_a_killed_worker_is_run_again_at_once_and_marked(home: Home) -> None:
    home.configure(run=f"echo ${{HOOKLINE_REDELIVERED:-first}} >> {home.out}/runs; test -e {home.out}/go || sleep 600")
    home.put()
    worker = start(home)
    until((home.out / "runs").exists)

    worker.kill()
    worker.wait(timeout=30)
    (home.out / "go").touch()
    home.work()

    assert (home.out / "runs").read_text().split() == ["first", "1"]
    assert home.queue.jobs() == []


def test_worker_that_is_ended_gives_its_jobs_back_and_ends_its_hooks(home: Home) -> None:
    home.configure(run=f"echo $$ > {home.out}/pid; sleep 600")
    home.put()
    worker = start(home)
    until(lambda: (home.out / "pid").exists() and bool((home.out / "pid").read_text().strip()))

    worker.send_signal(signal.SIGTERM)

    assert worker.wait(timeout=30) == 143
    [job] = home.queue.jobs()
    assert (job.state, job.redelivered, job.error) == (JobState.WAITING, 1, "its worker was ended")
    assert not _is_running(int((home.out / "pid").read_text()))
    assert worker_registry.list_workers(home.data) == []


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.spec("A-22")
def test_emitting_starts_a_worker_that_leaves_when_there_is_nothing_to_do(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOOKLINE_WORKER")
    home.configure(run=f"sleep 0.3; touch {home.out}/ran")

    done = home.hookline("emit", "after_tool", "--json")

    assert done.returncode == 0
    # nobody waited for the hook: it is queued, and somebody else runs it
    assert json.loads(done.stdout)["blocked"] is False
    until((home.out / "ran").exists)
    until(lambda: not home.queue.jobs())
    until(lambda: not worker_registry.list_workers(home.data))
    assert (home.data / "worker.log").read_text() == ""


@pytest.mark.slow
def test_project_that_starts_a_worker_lends_no_programs_to_others(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = '[[hook]]\nid = "other"\non = "notification"\nrun = "true"\nshell = true\nbackground = true'
    home.configure(run=f"tool > {home.out}/said", more=other)
    home.put()
    for place, said in ((tmp_path / "bin", "installed"), (tmp_path / "cloned" / "bin", "cloned")):
        place.mkdir(parents=True)
        (place / "tool").write_text(f"#!/bin/sh\necho {said}\n")
        (place / "tool").chmod(0o755)
    # as an activated environment of a project does
    monkeypatch.setenv("PATH", f"{tmp_path}/cloned/bin:bin:{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.delenv("HOOKLINE_WORKER")

    done = home.hookline("emit", "notification", "--project", str(tmp_path / "cloned"))

    assert done.returncode == 0
    until(lambda: not home.queue.jobs())
    assert (home.out / "said").read_text() == "installed\n"
    until(lambda: not worker_registry.list_workers(home.data))


def test_second_worker_that_starts_by_itself_leaves_the_work_to_the_first(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE", 0.0)
    home.configure(run="true")
    slot = worker_registry.WorkerSlot(home.data)
    assert slot.take()
    home.put()

    assert not asyncio.run(Worker(home.data).work(Until.IDLE, only_one=True))
    assert len(home.queue.jobs()) == 1
    slot.leave()
    assert asyncio.run(Worker(home.data).work(Until.IDLE, only_one=True))
    assert home.queue.jobs() == []


def test_queue_that_cannot_be_written_ends_the_worker(home: Home) -> None:
    home.configure(run=f"echo 'this is no database' > {home.out}/x; mv {home.out}/x {home.data}/queue.db")
    home.put()

    done = home.hookline("queue", "work", "--until-empty")

    assert done.returncode == 1
    assert "queue.db" in done.stderr
    assert "Traceback" not in done.stderr


def test_job_that_another_worker_does_is_waited_for_and_counted(home: Home) -> None:
    home.configure(run="true")
    home.put()

    async def work() -> Worker:
        worker = Worker(home.data)
        with worker_registry.register_worker(home.data) as other:
            [job] = home.queue.claim(other)
            working = asyncio.create_task(worker.work(Until.EMPTY))
            workers = home.data / "workers"
            await asyncio.to_thread(until, lambda: len(list(workers.iterdir())) > 1)
            home.queue.finish(job)
            await working
        return worker

    worker = asyncio.run(work())

    assert worker.tally == Tally(elsewhere=1)
