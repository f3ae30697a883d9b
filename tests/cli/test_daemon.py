"""`hookline daemon`, as a person runs it."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.launching import Talk, answer, frame
from tests.daemon.living import Living, is_alive, lived
from tests.waiting import PATIENCE, until

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no daemon elsewhere"), pytest.mark.slow]


@pytest.fixture
def living(tmp_path: Path) -> Iterator[Living]:
    with lived(tmp_path) as made:
        yield made


def said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Give everything that was said, where nothing of it is a bug."""
    text = (done.stdout + done.stderr).decode()
    assert "Traceback" not in text
    return text


def test_it_is_started_looked_at_and_stopped(living: Living) -> None:
    started = living.hookline("daemon", "start")
    pid = living.status()["pid"]
    looked = living.hookline("daemon", "status")
    again = living.hookline("daemon", "start")
    stopped = living.hookline("daemon", "stop")

    assert (said(started), started.returncode) == (f"started: process {pid}\n", 0)
    assert said(looked).startswith("running since just now")
    assert f"process {pid}" in said(looked)
    assert said(again) == f"already running: process {pid}\n"
    assert (said(stopped), stopped.returncode) == (f"stopped: process {pid}\n", 0)
    assert not is_alive(int(str(pid)))


def test_programs_read_the_same(living: Living) -> None:
    absent = living.hookline("daemon", "status", "--json")
    living.start()
    present = json.loads(living.hookline("daemon", "status", "--json").stdout)
    stopped = json.loads(living.hookline("daemon", "stop", "--json").stdout)
    not_stopped = json.loads(living.hookline("daemon", "stop", "--json").stdout)

    assert (json.loads(absent.stdout)["running"], absent.returncode) == (False, 1)
    assert present["running"] is True
    assert stopped == {"stopped": True, "pid": present["pid"]}
    assert not_stopped["stopped"] is False


def test_it_is_another_one_after_a_restart(living: Living) -> None:
    living.hookline("daemon", "start")
    before = living.status()["pid"]

    done = living.hookline("daemon", "restart")

    assert done.returncode == 0
    assert living.status()["pid"] != before
    assert not is_alive(int(str(before)))


def test_two_who_start_it_at_once_get_the_same(living: Living) -> None:
    words = [sys.executable, "-m", "hookline", "daemon", "start"]
    both = [subprocess.Popen(words, env=living.env, stdout=subprocess.PIPE) for _ in range(3)]
    heard = [one.communicate(timeout=PATIENCE)[0].decode() for one in both]

    pid = living.status()["pid"]
    assert [one.returncode for one in both] == [0, 0, 0]
    assert {line.rpartition(" ")[2] for line in heard} == {f"{pid}\n"}


def test_a_start_waits_for_another_one_that_is_on_its_way(living: Living) -> None:
    import fcntl  # noqa: PLC0415 - not everywhere

    lock = os.open(living.place.create().lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    words = [sys.executable, "-m", "hookline", "daemon", "start"]
    with subprocess.Popen(words, env=living.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as starting:
        # the one that it started finds the lock taken, ends, and is taken note of
        until(living.place.log.exists, "one was started")
        until(lambda: not children(starting.pid), "it has ended")
        assert starting.poll() is None
        os.close(lock)
        living.start()
        out, err = starting.communicate(timeout=PATIENCE)

    assert (out, err) == (f"started: process {living.status()['pid']}\n".encode(), b"")


def children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text()


@pytest.mark.parametrize("words", [("status",), ("stop",), ("start",), ("log",)])
def test_it_works_from_a_folder_that_is_gone(living: Living, words: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", sys.executable, "-P", "-m", "hookline", "daemon", *words],
        cwd=folder,
        env=living.env,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )

    assert said(done).startswith(("not running", "started", "hookline: "))


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("dance",), "dance"),
        (("start", "--idle", "0"), '"0" is no number of seconds above 0'),
        (("start", "--idle", "soon"), '"soon" is no number of seconds above 0'),
        (("run", "--idle", "nan"), '"nan" is no number of seconds above 0'),
        (("log", "-n", "-1"), "-1"),
        (("log", "-n", "all"), '"all" is no number of lines'),
    ],
)
def test_wrong_words_are_said_to_be_wrong(living: Living, words: tuple[str, ...], wrong: str) -> None:
    done = living.hookline("daemon", *words)

    assert done.returncode != 0
    assert wrong in said(done)
    assert not living.place.folder.exists()


def test_a_runtime_folder_with_too_long_a_name_is_said_to_be_one(living: Living, tmp_path: Path) -> None:
    long = tmp_path / ("x" * 80)
    long.mkdir()

    for action in ("start", "run"):
        done = living.hookline("daemon", action, XDG_RUNTIME_DIR=str(long))
        assert done.returncode != 0
        assert "too long for a socket" in said(done)
    assert not (long / "hookline").exists()


def test_the_longest_name_that_a_launcher_can_use_is_long_enough_for_a_daemon(living: Living) -> None:
    room = 107 if sys.platform == "linux" else 103
    room -= len(f"{living.runtime}//hookline/0123456789abcdef.sock")
    long = living.runtime / ("x" * room)
    long.mkdir()
    living.runtime = long

    try:
        assert said(living.hookline("daemon", "start")).startswith("started")
        assert living.hookline("daemon", "stop").returncode == 0
    finally:
        living.runtime = long.parent


def test_files_that_cannot_be_written_are_said_to_be_the_problem(living: Living) -> None:
    living.place.create().log.mkdir()
    living.place.lock.mkdir()

    for action, file in (("start", living.place.log), ("run", living.place.lock)):
        done = living.hookline("daemon", action)
        assert done.returncode != 0
        assert str(file) in said(done)


@pytest.mark.parametrize("raw", [answer(0, b"not JSON"), answer(0, b"[]"), frame(b"a", b"x"), frame(b"n", b"no"), b""])
def test_somebody_who_says_something_else_is_no_daemon(living: Living, raw: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(living.place.create().socket))
        listening.listen()

        def play() -> None:
            connection, _ = listening.accept()
            with connection:
                Talk(connection).hear()
                connection.sendall(raw)

        thread = threading.Thread(target=play)
        thread.start()
        done = living.hookline("daemon", "status")
        thread.join(PATIENCE)
    living.place.socket.unlink()

    assert done.returncode == 1
    assert said(done).startswith("not running: ")


def test_the_last_lines_of_the_log_are_shown_and_what_is_added(living: Living) -> None:
    assert "no daemon has run yet" in said(living.hookline("daemon", "log"))
    log = living.place.create().log
    log.write_text("one\ntwo\nthree\n")

    assert said(living.hookline("daemon", "log", "-n", "2")) == "two\nthree\n"
    assert said(living.hookline("daemon", "log", "-n", "0")) == ""

    words = [sys.executable, "-m", "hookline", "daemon", "log", "-n", "1", "-f"]
    with subprocess.Popen(words, env={**living.env, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE) as following:
        assert following.stdout is not None
        impatient = threading.Timer(PATIENCE, following.kill)
        impatient.start()
        assert following.stdout.readline() == b"three\n"
        with log.open("a") as opened:
            opened.write("four\n")
        assert following.stdout.readline() == b"four\n"
        # it was long, and has begun anew
        log.write_text("1\n")
        assert following.stdout.readline() == b"1\n"
        following.send_signal(signal.SIGINT)
        following.stdout.read()
        impatient.cancel()


def test_a_daemon_holds_nothing_open_that_was_handed_down(living: Living) -> None:
    reading, writing = os.pipe()
    words = [sys.executable, "-m", "hookline", "daemon", "start"]
    subprocess.run(words, env=living.env, pass_fds=(writing,), capture_output=True, check=True, timeout=PATIENCE)
    os.close(writing)

    assert living.is_there()
    os.set_blocking(reading, False)
    # the end of it, and not a wait for somebody who may write yet
    assert os.read(reading, 1) == b""
    os.close(reading)
