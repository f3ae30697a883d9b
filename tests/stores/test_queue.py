import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from hookline.errors import StoreError
from hookline.model.event import Event, EventName, Session
from hookline.model.hook import Hook
from hookline.model.job import InboxMessage, Job, JobState
from hookline.stores import queue as module
from hookline.stores.queue import MOST_REDELIVERIES, SqliteQueue, mark_of

EVENT = Event(
    name=EventName.AFTER_TOOL,
    data={"result": {"lines": [1, 2.5, None, True, "ü"]}, "duration": 0.25},
    tool="shell",
    args={"command": "ls"},
    session=Session(id="s1", user="ann", started=17, config={"deep": {"er": 1}}),
    cwd="/project",
    timestamp=1_700_000_000_000,
    native_tool="Bash",
    native_name="PostToolUse",
    id="trace-1",
    chain=("first", "second"),
)
HOOK = Hook(id="index", on="after_tool", command="true", background=True, source_path="/home/hookline.toml")
PROJECT = "/project"


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[SqliteQueue]:
    opened = SqliteQueue(tmp_path / "data" / "queue.db")
    yield opened
    opened.close()


def claim(queue: SqliteQueue, worker: str = "w1", most: int = 1) -> list[Job]:
    return queue.claim(worker, most)


def only(queue: SqliteQueue) -> Job:
    [job] = queue.jobs()
    return job


@pytest.mark.spec("A-22")
def test_job_carries_the_whole_event_with_its_types(queue: SqliteQueue) -> None:
    ticket = queue.put(HOOK, EVENT, project=PROJECT)

    [job] = claim(queue)

    assert job.event == EVENT
    assert (job.id, job.hook, job.source, job.project) == (ticket.id, "index", "/home/hookline.toml", PROJECT)
    assert (job.state, job.worker, job.attempts, job.redelivered) == (JobState.RUNNING, "w1", 1, 0)


def test_what_json_cannot_carry_does_not_keep_a_job_out(queue: SqliteQueue) -> None:
    odd = replace(EVENT, data={"path": "caf\udce9", "object": object(), "set": {1}}, cwd="/caf\udce9")

    queue.put(HOOK, odd, project="/caf\udce9")

    [job] = claim(queue)
    assert job.event.data["path"] == "caf?"
    assert job.event.tool == "shell"


def test_jobs_are_given_out_once_and_in_order(queue: SqliteQueue) -> None:
    hook = replace(HOOK, parallel=True)
    ids = [queue.put(hook, EVENT, project=PROJECT).id for _ in range(5)]

    first, second = claim(queue, "w1", 2), claim(queue, "w2", 10)

    assert [job.id for job in first + second] == ids
    assert claim(queue, "w3", 10) == []


def test_hook_never_runs_beside_itself_in_one_project(queue: SqliteQueue) -> None:
    for project in (PROJECT, PROJECT, "/other"):
        queue.put(HOOK, EVENT, project=project)
    queue.put(replace(HOOK, id="another"), EVENT, project=PROJECT)

    claimed = claim(queue, most=10)

    assert sorted((job.hook, job.project) for job in claimed) == [
        ("another", PROJECT),
        ("index", "/other"),
        ("index", PROJECT),
    ]
    queue.finish(next(job for job in claimed if (job.hook, job.project) == ("index", PROJECT)))
    assert [job.hook for job in claim(queue, most=10)] == ["index"]


def test_done_job_is_gone_and_what_it_said_is_kept(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    [job] = claim(queue)

    queue.finish(job, [InboxMessage(project=PROJECT, text="look")])

    assert queue.jobs() == []
    assert [letter.text for letter in queue.letters()] == ["look"]


def test_worker_that_was_taken_for_dead_cannot_finish_what_others_have_now(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    [late] = claim(queue, "slow")
    queue.release("slow")
    [job] = claim(queue, "other")

    queue.finish(late, [InboxMessage(project=PROJECT, text="said twice")])
    queue.put_back(late, "no", due=0)
    queue.bury(late, "no")

    assert only(queue) == job
    assert queue.letters() == []


def test_failed_job_waits_until_it_is_due(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    [job] = claim(queue)

    queue.put_back(job, "exit code 3", due=time.time() + 3600)

    assert claim(queue) == []
    waiting = only(queue)
    assert (waiting.state, waiting.attempts, waiting.failures, waiting.error) == (
        JobState.WAITING,
        1,
        1,
        "exit code 3",
    )
    assert queue.next_due() == waiting.due


def test_what_never_began_is_no_attempt(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    [job] = claim(queue)

    queue.put_back(job, "docker is missing", due=0, began=False)

    assert only(queue).attempts == 0


@pytest.mark.spec("A-22")
def test_job_of_a_dead_worker_is_given_out_again_with_a_mark(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    claim(queue, "w1")
    assert queue.workers() == ["w1"]

    assert queue.release("w1") == 1

    [job] = claim(queue, "w2")
    assert (job.attempts, job.redelivered, job.failures, job.error) == (2, 1, 1, "its worker died")


def test_job_that_takes_its_worker_down_each_time_is_given_up(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    for _ in range(MOST_REDELIVERIES):
        claim(queue, "w")
        queue.release("w")

    assert only(queue).state is JobState.DEAD
    assert claim(queue) == []


def test_dead_job_runs_again_when_a_person_says_so(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    [job] = claim(queue)
    queue.bury(job, "given up")
    assert (only(queue).state, only(queue).error) == (JobState.DEAD, "given up")

    assert queue.retry([job.id, "nobody"]) == 1

    assert claim(queue)[0].attempts == 1


def test_retry_does_not_forget_that_a_job_may_have_run(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    [job] = claim(queue)
    queue.put_back(job, "its worker was ended", due=0, is_redelivery=True)

    queue.retry([job.id])

    [again] = claim(queue)
    assert (again.redelivered, again.failures) == (1, 1)


def test_running_job_is_not_retried_but_may_be_dropped(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    [job] = claim(queue)

    assert queue.retry([job.id]) == 0
    assert queue.drop([job.id, "nobody"]) == 1

    queue.finish(job, [InboxMessage(project=PROJECT, text="nobody wants this")])
    assert (queue.jobs(), queue.letters()) == ([], [])


def test_counts_and_lists_know_projects(queue: SqliteQueue) -> None:
    for project in ("/a", "/a", "/b"):
        queue.put(replace(HOOK, parallel=True), EVENT, project=project)
    [job] = claim(queue)
    queue.bury(job, "no")
    claim(queue)

    assert queue.counts() == {JobState.WAITING: 1, JobState.RUNNING: 1, JobState.DEAD: 1}
    assert [len(queue.jobs(project)) for project in ("/a", "/b", "/c", None)] == [2, 1, 0, 3]
    assert len(queue.jobs(limit=2)) == 2


def test_burst_becomes_one_job_with_the_last_event(queue: SqliteQueue) -> None:
    hook = replace(HOOK, debounce=60.0)

    tickets = [queue.put(hook, replace(EVENT, id=f"trace-{number}"), project=PROJECT) for number in range(3)]

    job = only(queue)
    assert {ticket.id for ticket in tickets} == {job.id}
    earlier = [ticket.instead_of.trace if ticket.instead_of else None for ticket in tickets]
    assert earlier == [None, "trace-0", "trace-1"]
    assert job.event.id == "trace-2"
    assert job.due > job.created + 59
    assert claim(queue) == []


def test_endless_burst_does_not_keep_a_hook_from_running_for_ever(
    queue: SqliteQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now[0]))
    hook = replace(HOOK, debounce=2.0)
    for _ in range(30):
        queue.put(hook, EVENT, project=PROJECT)
        now[0] += 1.0

    assert only(queue).due == 1020.0


def test_debounce_leaves_other_projects_running_jobs_and_retries_alone(queue: SqliteQueue) -> None:
    hook = replace(HOOK, debounce=0.001)
    queue.put(hook, EVENT, project=PROJECT)
    queue.put(hook, EVENT, project="/other")
    deadline = time.monotonic() + 30
    claimed: list[Job] = []
    while len(claimed) < 2 and time.monotonic() < deadline:
        claimed += claim(queue, most=2)
    queue.put_back(claimed[0], "failed", due=time.time() + 60)

    queue.put(hook, EVENT, project=PROJECT)

    assert len(queue.jobs(PROJECT)) == 2


def test_full_queue_refuses_and_says_so(queue: SqliteQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_JOBS", 2)
    for _ in range(2):
        queue.put(HOOK, EVENT, project=PROJECT)

    with pytest.raises(StoreError, match="2 jobs are in the queue already"):
        queue.put(HOOK, EVENT, project=PROJECT)
    assert len(queue.jobs()) == 2


def test_looking_at_a_queue_makes_no_file(queue: SqliteQueue) -> None:
    assert (queue.jobs(), queue.letters(), queue.collect(PROJECT), queue.claim("w"), queue.workers()) == (
        [],
        [],
        [],
        [],
        [],
    )
    assert not queue.path.exists()


def test_worker_is_woken_after_the_job_is_stored(tmp_path: Path) -> None:
    seen: list[int] = []
    path = tmp_path / "queue.db"

    def wake() -> None:
        other = SqliteQueue(path)
        seen.append(len(other.jobs()))
        other.close()

    queue = SqliteQueue(path, wake=wake)
    job = queue.put(HOOK, EVENT, project=PROJECT)
    queue.retry([job.id])
    queue.close()

    assert seen == [1, 1]


def test_worker_that_cannot_be_started_does_not_lose_the_job(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def wake() -> None:
        raise OSError("no more processes")

    queue = SqliteQueue(tmp_path / "queue.db", wake=wake)
    queue.put(HOOK, EVENT, project=PROJECT)

    assert len(queue.jobs()) == 1
    assert "no more processes" in caplog.text
    queue.close()


def test_event_of_another_version_is_no_reason_to_fall_over(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    with sqlite3.connect(queue.path) as other:
        other.execute("UPDATE jobs SET event = ?", ('{"name": "moon_landing"}',))
    other.close()

    assert only(queue).event.data["unreadable"] == '{"name": "moon_landing"}'


def test_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    path.write_bytes(b"no database at all, but quite long enough to be looked at" * 20)
    queue = SqliteQueue(path)

    with pytest.raises(StoreError, match="move the file away"):
        queue.put(HOOK, EVENT, project=PROJECT)
    assert path.read_bytes().startswith(b"no database")


_PUT = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.stores.queue import SqliteQueue
queue = SqliteQueue(Path(sys.argv[1]))
for number in range(20):
    queue.put(Hook(id="a", command="true"), Event(name=EventName.SETUP, data={"n": number}), project="/p")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.spec("A-22")
def test_killed_emitter_loses_nothing_it_has_put(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"

    done = subprocess.run([sys.executable, "-c", _PUT, str(path)], timeout=60, check=False)

    assert done.returncode == -signal.SIGKILL
    queue = SqliteQueue(path)
    assert [job.event.data["n"] for job in queue.jobs()] == list(range(20))
    queue.close()


_MANY = """
import sys
from pathlib import Path
from types import SimpleNamespace
from hookline.stores.queue import SqliteQueue
queue = SqliteQueue(Path(sys.argv[1]), durable=False)
while claimed := queue.claim(sys.argv[2], 3):
    for job in claimed:
        print(job.id)
        queue.finish(job)
"""


def test_two_workers_never_get_the_same_job(queue: SqliteQueue) -> None:
    ids = {queue.put(replace(HOOK, parallel=True), EVENT, project=PROJECT).id for _ in range(200)}

    workers = [
        subprocess.Popen([sys.executable, "-c", _MANY, str(queue.path), name], stdout=subprocess.PIPE, text=True)
        for name in ("w1", "w2")
    ]
    got = [worker.communicate(timeout=60)[0].split() for worker in workers]

    assert len(got[0]) + len(got[1]) == 200
    assert set(got[0]) | set(got[1]) == ids


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nobody forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_and_its_parent_both_go_on(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)

    child = os.fork()
    if not child:
        try:
            queue.put(HOOK, EVENT, project=PROJECT)
            queue.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    queue.put(HOOK, EVENT, project=PROJECT)

    assert len(queue.jobs()) == 3


def test_looking_for_the_next_job_does_not_read_all_that_wait(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    with sqlite3.connect(queue.path) as other:
        plan = [row[3] for row in other.execute(f"EXPLAIN QUERY PLAN {module._NEXT}", (time.time(),))]  # noqa: SLF001
    other.close()

    reads = [step for step in plan if " jobs" in step or " next" in step]
    assert reads
    # each read is of one lane, or of one row: ten thousand jobs of a hook that runs already cost nothing
    assert all("USING INDEX jobs_waiting" in step or "(lane=?)" in step or "(rowid=?)" in step for step in reads), plan


def test_hook_that_runs_keeps_no_other_hook_waiting(queue: SqliteQueue) -> None:
    for _ in range(3):
        queue.put(HOOK, EVENT, project=PROJECT)
    queue.put(replace(HOOK, id="other"), EVENT, project=PROJECT)
    queue.put(HOOK, EVENT, project="/elsewhere")

    claimed = claim(queue, most=10)

    assert [(job.hook, job.project) for job in claimed] == [
        ("index", PROJECT),
        ("other", PROJECT),
        ("index", "/elsewhere"),
    ]


def test_job_from_a_clock_that_was_set_back_runs_all_the_same(
    queue: SqliteQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    now = time.time()
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now - 86_400))
    assert claim(queue) == []

    assert queue.set_clock_right() == 1

    assert len(claim(queue)) == 1
    assert queue.set_clock_right() == 0


def test_job_that_waits_for_its_next_attempt_is_no_matter_of_the_clock(queue: SqliteQueue) -> None:
    queue.put(HOOK, EVENT, project=PROJECT)
    [job] = claim(queue)
    queue.put_back(job, "no", due=time.time() + 60)

    assert queue.set_clock_right() == 0
    assert claim(queue) == []


def test_only_a_hook_without_a_name_is_known_by_what_it_does() -> None:
    first, second = (replace(HOOK, id="hooks:after_tool:1", command=command) for command in ("one", "two"))

    assert mark_of(HOOK) == ""
    assert mark_of(first) == mark_of(replace(first, id="hooks:after_tool:2", timeout=5.0, source_line=9))
    assert mark_of(first) != mark_of(second)
    assert mark_of(first) == mark_of(replace(first, id="hooks:after_tool:1-2"))


def test_folder_that_cannot_be_looked_into_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("x" * 300)
    queue = SqliteQueue(tmp_path / "data" / "queue.db")

    with pytest.raises(StoreError, match="you may write there"):
        queue.collect(PROJECT)
    with pytest.raises(StoreError, match="you may write there"):
        queue.put(HOOK, EVENT, project=PROJECT)


def test_dead_jobs_keep_no_other_out_and_the_oldest_go(
    queue: SqliteQueue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "MOST_JOBS", 1)
    monkeypatch.setattr(module, "MOST_DEAD", 2)
    tickets = []
    for number in range(4):
        tickets.append(queue.put(HOOK, EVENT, project=PROJECT).id)
        [job] = claim(queue)
        queue.bury(job, f"no {number}")

    assert [job.id for job in queue.jobs()] == tickets[2:]
    assert "given up first are forgotten" in caplog.text
