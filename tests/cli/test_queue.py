import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.model.job import InboxMessage
from tests.cli.terminal import Session
from tests.worker_home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    found = Home(tmp_path, monkeypatch)
    found.configure(run="echo broken >&2; exit 3")
    return found


def queue(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    return home.hookline("queue", *words)


def answer(home: Home, *words: str) -> dict[str, Any]:
    done = queue(home, *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def bury(home: Home) -> str:
    job = home.put()
    [claimed] = home.queue.claim("test")
    home.queue.bury(claimed, "given up")
    return job


def post(home: Home, text: str) -> str:
    home.queue.post([InboxMessage(project=str(home.project.resolve()), text=text, hook="later", created=time.time())])
    return home.queue.letters()[-1].id


def test_empty_queue_says_so_and_makes_no_file(home: Home) -> None:
    assert queue(home, "list").stdout == "nothing waits in the queue of this project; --all looks at every project\n"
    assert answer(home, "list") == {"jobs": [], "letters": []}
    assert not (home.data / "queue.db").exists()


def test_list_shows_jobs_and_letters_of_this_project(home: Home) -> None:
    job = bury(home)
    letter = post(home, "look \x1b[31mat this")

    done = queue(home, "list")

    assert job in done.stdout
    assert "given up" in done.stdout
    assert letter in done.stdout
    assert "\x1b" not in done.stdout
    found = answer(home, "list")
    [described] = found["jobs"]
    assert described["id"] == job
    assert (described["state"], described["hook"], described["attempts"]) == ("dead", "later", 1)
    assert described["event"]["name"] == "after_tool"
    assert found["letters"][0]["text"] == "look \x1b[31mat this"


def test_long_letter_is_shown_in_full_only_where_it_is_asked_for(home: Home) -> None:
    letter = post(home, f"begins {'x' * 5000} ends")

    assert "ends" not in queue(home, "list").stdout
    assert len(queue(home, "list").stdout) < 1000
    assert queue(home, "show", letter).stdout.rstrip().count(" ends") == 1
    assert answer(home, "list")["letters"][0]["text"].endswith(" ends")


def test_list_knows_other_projects_only_with_all(home: Home, tmp_path: Path) -> None:
    bury(home)
    (tmp_path / "elsewhere").mkdir()

    here = queue(home, "list", "--project", str(tmp_path / "elsewhere"))
    everywhere = queue(home, "list", "--all", "--project", str(tmp_path / "elsewhere"))

    assert "nothing waits" in here.stdout
    assert "given up" in everywhere.stdout


def test_list_of_the_dead_leaves_the_living_out(home: Home) -> None:
    dead = bury(home)
    home.put()
    post(home, "look")

    found = answer(home, "list", "--dead")

    assert [job["id"] for job in found["jobs"]] == [dead]
    assert found["letters"] == []


def test_show_gives_the_whole_event(home: Home) -> None:
    job = home.put(data={"result": "all of it"})

    shown = answer(home, "show", job[:6])

    assert shown["event"]["data"]["result"] == "all of it"
    assert '"data":{"result":"all of it"}' in queue(home, "show", job).stdout
    assert queue(home, "show", post(home, "look at me")).stdout.count("look at me") == 1


def test_retry_runs_dead_jobs_again(home: Home) -> None:
    job = bury(home)

    assert answer(home, "retry", job) == {"retried": [job]}
    assert home.queue.jobs()[0].state == "waiting"

    bury_again = home.queue.claim("test")[0]
    home.queue.bury(bury_again, "again")
    assert queue(home, "retry", "--dead").stdout == "1 job will run again\n"
    assert home.queue.jobs()[0].state == "waiting"


def test_running_job_and_letter_are_not_retried(home: Home) -> None:
    job = home.put()
    letter = post(home, "look")
    home.queue.claim("test")

    running, posted = queue(home, "retry", job), queue(home, "retry", letter)

    assert (running.returncode, posted.returncode) == (1, 1)
    assert "is running" in running.stderr
    assert "is a letter" in posted.stderr


def test_drop_needs_a_yes(home: Home) -> None:
    job = bury(home)

    refused = queue(home, "drop", job)

    assert refused.returncode == 1
    assert "drop with --yes" in refused.stderr
    assert len(home.queue.jobs()) == 1
    assert answer(home, "drop", job, "--yes") == {"dropped": [job]}
    assert home.queue.jobs() == []


@pytest.mark.parametrize(("keys", "left", "code"), [("y\n", 0, 0), ("n\n", 1, 1), ("\n", 1, 1), ("\x03", 1, 130)])
def test_drop_asks_at_a_terminal(home: Home, keys: str, left: int, code: int) -> None:
    job = bury(home)

    with Session(home.home, home.project, "queue", "drop", job) as session:
        asked = session.answers(keys)
        done = session.end()

    assert job in asked
    assert done.returncode == code
    assert len(home.queue.jobs()) == left


def test_drop_takes_letters_and_running_jobs_too(home: Home) -> None:
    job, letter = home.put(), post(home, "look")
    home.queue.claim("test")

    done = queue(home, "drop", job, letter, "--yes")

    assert done.stdout == f"dropped 2\njob {job} is running: it ends as it will, and is not tried again\n"
    assert (home.queue.jobs(), home.queue.letters()) == ([], [])


def test_drop_of_the_dead_leaves_the_living(home: Home) -> None:
    bury(home)
    living = home.put()

    queue(home, "drop", "--dead", "--yes")

    assert [job.id for job in home.queue.jobs()] == [living]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("drop",), "name ids, or say --dead"),
        (("retry", "--all"), "--all goes with --dead"),
        (("retry", "abcdef", "--dead"), "name ids, or say --dead"),
        (("show", "abcdef"), 'there is no job or letter "abcdef"'),
        (("drop", "a", "--yes"), 'there is no job or letter "a"'),
        (("work", "--jobs", "0"), '"0" is no number of jobs, wanted 1 to 64'),
        (("work", "--jobs", "many"), '"many" is no number of jobs'),
        (("list", "--project", "nowhere"), "there is no folder nowhere"),
    ],
)
def test_bad_calls_are_errors_and_lose_nothing(home: Home, words: tuple[str, ...], complaint: str) -> None:
    bury(home)

    done = queue(home, *words)

    assert done.returncode == 1
    assert complaint in done.stderr
    assert len(home.queue.jobs()) == 1


def test_work_runs_what_waits_and_says_what_became_of_it(home: Home) -> None:
    home.configure(run=f"touch {home.out}/ran")
    home.put()

    done = queue(home, "work", "--until-empty")

    assert done.stdout == "1 done, 0 put back, 0 given up\n"
    assert (home.out / "ran").exists()
    assert answer(home, "work", "--until-empty") == {"done": 0, "later": 0, "dead": 0, "elsewhere": 0}


def test_work_once_leaves_what_has_to_wait(home: Home) -> None:
    home.put()

    assert queue(home, "work", "--once").stdout == "0 done, 1 put back, 0 given up\n"
    assert home.queue.jobs()[0].attempts == 1
    assert queue(home, "work", "--once", "--until-empty").returncode == 1


def test_status_counts_and_says_when_nobody_works(home: Home) -> None:
    bury(home)
    home.put()
    post(home, "look")

    assert queue(home, "status").stdout.splitlines() == [
        "1 job waiting, 0 running",
        "1 dead job: `hookline queue list --all --dead` says why",
        "1 letter for agents",
        "0 workers at work",
        "no worker is there: the next background hook starts one, `hookline queue work` does it now",
    ]
    found = answer(home, "status")
    assert found["jobs"] == {"waiting": 1, "running": 0, "dead": 1}
    assert (found["letters"], found["workers"]) == (1, [])


def test_broken_queue_is_an_error_with_advice(home: Home) -> None:
    home.data.mkdir(parents=True)
    (home.data / "queue.db").write_text("this is no database, and never was one" * 50)

    done = queue(home, "list")

    assert done.returncode == 1
    assert "move the file away" in done.stderr
    assert "Traceback" not in done.stderr


def test_trace_says_that_the_hook_was_queued(home: Home) -> None:
    job = home.put()
    trace = home.queue.jobs()[0].event.id

    assert f"put into the queue as job {job}" in home.hookline("trace", "show", trace).stdout
