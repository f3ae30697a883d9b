"""`hookline watch` as a person runs it: a program in a project, ended by Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.program import configure, environment, hookline

pytestmark = pytest.mark.slow

SOON = 60
EDITED = '"event":"file_edited"'

NOTE = """
[[hook]]
id = "note"
on = ["file_created", "file_edited", "file_deleted"]
run = ["{script}"]
files = ["*.py"]
dialect = "{dialect}"
"""
SCRIPT = """#!/bin/sh
cat >> {runs}
echo >> {runs}
echo '{answer}'
"""


def come(is_there: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON
    while not is_there():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def note(home: Path, dialect: str = "hookline", answer: str = "{}") -> Path:
    """Configure a hook that keeps what it is told, and give the file it keeps it in."""
    runs = home.parent / "runs"
    script = home / ".config" / "hookline" / "note.sh"
    configure(home, NOTE.format(script=script, dialect=dialect), {"note.sh": SCRIPT.format(runs=runs, answer=answer)})
    script.chmod(0o755)
    return runs


class Program:
    """The program as it runs, and what it printed."""

    def __init__(self, home: Path, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._out, self._err = home.parent / "out", home.parent / "err"

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def lines(self) -> list[dict[str, object]]:
        whole = self.out.rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(SOON)


@contextmanager
def watching(home: Path, *arguments: str, until: str = "watching", **env: str) -> Iterator[Program]:
    """Run `hookline watch` until it says that it watches, and end it afterwards."""
    with (home.parent / "out").open("w") as out, (home.parent / "err").open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "hookline", "watch", *arguments],
            cwd=home.parent / "project",
            env=environment(home, **env),
            stdout=out,
            stderr=err,
            text=True,
        )
    program = Program(home, process)
    try:
        come(lambda: until in program.out or until in program.err or process.poll() is not None)
        yield program
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def edit_until(path: Path, is_there: Callable[[], bool]) -> None:
    """Change a file until somebody noticed: when the first look at everything is over is not said."""
    number = 0

    def changed() -> bool:
        nonlocal number
        number += 1
        path.write_text(f"{'x' * number}\n")
        time.sleep(0.3)
        return is_there()

    come(changed)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path / "home"


@pytest.mark.spec("P-10")
def test_a_hook_of_the_protocol_is_told_of_a_file_change_with_type_size_and_time(home: Path) -> None:
    runs = note(home, "ollm-protocol", '{"allow": true}')
    path = home.parent / "project" / "a.py"
    with watching(home) as program:
        edit_until(path, lambda: runs.exists() and '"modified"' in runs.read_text())
        path.unlink()
        come(lambda: '"deleted"' in runs.read_text())
        assert program.end() == 130

    told = [json.loads(line) for line in runs.read_text().splitlines() if line]
    edit = next(document for document in told if document["context"]["changes"]["type"] == "modified")
    assert edit["event"] == "on-file-change"
    assert edit["context"]["file"] == "a.py"
    assert edit["context"]["changes"]["size"] >= 2
    assert edit["context"]["changes"]["timestamp"]
    assert edit["context"]["session"]["id"].startswith("watch-")
    assert told[-1]["context"]["changes"]["type"] == "deleted"


@pytest.mark.spec("D-02", "D-08")
def test_a_when_then_hook_with_patterns_fires_on_a_real_edit(home: Path) -> None:
    configure(home, "")
    folder = home / ".ollm" / "hooks"
    folder.mkdir(parents=True)
    definition = {
        "name": "Review",
        "when": {"type": "fileEdited", "patterns": ["**/*.py"]},
        "then": {"type": "askAgent", "prompt": "Review {{file.path}}"},
    }
    (folder / "review.json").write_text(json.dumps(definition))
    project = home.parent / "project"
    (project / "src").mkdir()
    with watching(home, "--json", until="loaded") as program:
        (project / "b.txt").write_text("not meant\n")
        edit_until(project / "src" / "a.py", lambda: EDITED in program.out)
        program.end()
        events = [line for line in program.lines() if line["type"] == "event" and line["hooks"]]

    assert {str(line["event"]) for line in events} == {"file_edited"}
    assert events[0]["follow_ups"] == ["Review src/a.py"]
    kept = hookline(home, "emit", "before_agent", "--data", '{"prompt": "hi"}', "--json")
    assert "Review src/a.py" in kept.stdout, "nobody listened, so the agent that comes next is told"


def test_it_says_what_it_watches_for_whom_and_what_happened(home: Path) -> None:
    note(home)
    with watching(home) as program:
        edit_until(home.parent / "project" / "a.py", lambda: "file_edited a.py: note ran in" in program.out)
        assert program.end() == 130
        assert f"watching {home.parent / 'project'}: 1 hook" in program.out
        assert "note: file_created, file_edited, file_deleted of *.py" in program.out
        assert program.err == ""


def test_each_line_is_one_object_for_programs(home: Path) -> None:
    note(home)
    with watching(home, "--json", until="loaded") as program:
        edit_until(home.parent / "project" / "a.py", lambda: EDITED in program.out)
        program.end()
        lines = program.lines()

    assert lines[0]["type"] == "loaded"
    assert lines[0]["hooks"] == [
        {"id": "note", "on": ["file_created", "file_edited", "file_deleted"], "schedule": None, "objection": None}
    ]
    event = next(line for line in lines if line.get("event") == "file_edited")
    assert event["type"] == "event"
    assert event["decision"] == "pass"
    data = event["data"]
    assert isinstance(data, dict)
    assert set(data) == {"path", "changed", "size"}


def test_nothing_to_do_is_said_and_waited_for(home: Path) -> None:
    configure(home, "")
    with watching(home) as program:
        assert "no hook is about files or has a schedule" in program.out
        note(home)
        come(lambda: "loaded again: 1 hook" in program.out)
        edit_until(home.parent / "project" / "a.py", lambda: "note ran" in program.out)


@pytest.mark.slow
def test_a_broken_configuration_is_said_and_a_mended_one_counts(home: Path) -> None:
    note(home)
    settings = home / ".config" / "hookline" / "hookline.toml"
    good = settings.read_text()
    with watching(home) as program:
        settings.write_text("[[hook]\n")
        come(lambda: "hookline.toml:1" in program.err)
        settings.write_text(good)
        come(lambda: "loaded again: 1 hook" in program.out)
        assert program.process.poll() is None


def test_a_schedule_that_cannot_be_read_is_told_with_its_line(home: Path) -> None:
    configure(home, '[[hook]]\nid = "night"\nschedule = "every night"\nrun = ["sh", "-c", "true"]\n')
    done = hookline(home, "check")

    assert done.returncode == 1
    assert 'schedule "every night" cannot be read' in done.stdout + done.stderr
    assert "hookline.toml:1" in done.stdout + done.stderr


@pytest.mark.slow
def test_a_hook_that_nobody_approved_is_named_with_what_to_do(home: Path) -> None:
    configure(home, "")
    (home.parent / "project" / "hookline.toml").write_text(
        '[[hook]]\nid = "theirs"\non = "file_edited"\nrun = ["sh", "-c", "true"]\n'
    )
    with watching(home) as program:
        come(lambda: "theirs" in program.err)
        assert 'hook "theirs" will not run' in program.err
        assert "hookline trust approve theirs" in program.err
        for number in range(4):
            (home.parent / "project" / "a").write_text("x" * number)
            time.sleep(0.5)
        assert (program.out + program.err).count("theirs") == program.err.count("theirs") + 1, "that is said once"


def test_a_second_watcher_is_refused_and_the_first_goes_on(home: Path) -> None:
    note(home)
    with watching(home) as program:
        done = hookline(home, "watch")
        assert done.returncode == 1
        assert f"process {program.process.pid} is watching" in done.stderr
        assert program.process.poll() is None


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_ends_at_once_with_its_hooks_and_says_nothing_more(home: Path, number: int, code: int) -> None:
    folder = configure(
        home,
        f'[[hook]]\nid = "slow"\non = "file_created"\nrun = ["{home}/.config/hookline/slow.sh"]\n',
        {"slow.sh": f"#!/bin/sh\necho $$ > {home.parent}/pid\nexec sleep 300\n"},
    )
    (folder / "slow.sh").chmod(0o755)
    pid = home.parent / "pid"
    with watching(home) as program:
        count = 0

        def started() -> bool:
            nonlocal count
            count += 1
            (home.parent / "project" / f"{count}").write_text("x")
            time.sleep(0.3)
            return pid.exists() and pid.read_text().strip().isdecimal()

        come(started)
        assert program.end(number) == code
        assert program.err == ""

    def is_gone() -> bool:
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            return True
        return False

    come(is_gone)


def test_quiet_says_only_what_goes_wrong(home: Path) -> None:
    folder = configure(
        home,
        f'[[hook]]\nid = "bad"\non = "file_created"\nrun = ["{home}/.config/hookline/bad.sh"]\n',
        {"bad.sh": "#!/bin/sh\necho broken >&2\nexit 7\n"},
    )
    (folder / "bad.sh").chmod(0o755)
    with watching(home, "--quiet", until="") as program:
        count = 0

        def failed() -> bool:
            nonlocal count
            count += 1
            (home.parent / "project" / f"{count}").write_text("x")
            time.sleep(0.3)
            return "bad failed" in program.err

        come(failed)
        assert program.out == ""


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--debounce", "soon"], "wanted seconds"),
        (["--debounce", "2h"], "not between 10ms and 60s"),
        (["missing"], "there is no missing"),
        (["/"], "is not in the project"),
        (["--project", "nowhere"], "there is no folder nowhere"),
        (["--listen", "everywhere"], "cannot listen at"),
        (["--listen", "0.0.0.0:0"], "can be reached from other machines"),
    ],
)
def test_a_wrong_call_is_told_and_nothing_is_watched(home: Path, arguments: list[str], problem: str) -> None:
    note(home)
    done = hookline(home, "watch", *arguments)

    assert done.returncode == 1
    assert problem in done.stderr
    assert done.stdout == ""


@pytest.mark.spec("A-24")
def test_events_come_in_over_http_while_files_are_watched(home: Path) -> None:
    configure(home, '[[hook]]\nid = "deploy"\non = "custom:deploy"\nrun = ["sh", "-c", "exit 2"]\non_error = "block"\n')
    with watching(home, "--listen", "127.0.0.1:0", until="the token is in") as program:
        line = next(line for line in program.out.splitlines() if line.startswith("listening at "))
        url, _, token = line.removeprefix("listening at ").partition("; the token is in ")
        secret = Path(token).read_text().strip()
        assert secret not in program.out
        answers = []
        for given in ("wrong", secret):
            request = urllib.request.Request(  # noqa: S310 - our own address
                f"{url}/events/custom:deploy", b"{}", {"Authorization": f"Bearer {given}"}
            )
            try:
                with urllib.request.urlopen(request, timeout=SOON) as answer:  # noqa: S310
                    answers.append((answer.status, json.load(answer)["blocked"]))
            except urllib.error.HTTPError as problem:
                answers.append((problem.code, None))
                problem.close()
        assert program.end() == 130

    assert answers == [(401, None), (200, True)]
