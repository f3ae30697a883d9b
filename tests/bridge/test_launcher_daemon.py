"""The native launcher and its daemon: every word of theirs, and everything that can go wrong between them."""

import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bridge.launching import UNANSWERED, WORDS, Desk, Request, Talk, answer, build_with, frame, limited
from tests.waiting import PATIENCE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="it is for systems with forks and Unix sockets"),
]

STILL = frame(b"k")
NOBODY = 65534


def says(*frames: bytes) -> Callable[[Talk], None]:
    """Hear the request, then say this."""

    def play(talk: Talk) -> None:
        talk.hear()
        for raw in frames:
            talk.say(raw)

    return play


def hearing(heard: list[Request], said: bytes = answer(0, b"warm\n")) -> Callable[[Talk], None]:
    """Keep what was asked, then say this."""

    def play(talk: Talk) -> None:
        heard.append(talk.hear())
        talk.say(said)

    return play


@pytest.mark.parametrize("code", [0, 2])
def test_the_answer_of_the_daemon_is_passed_on_byte_for_byte(desk: Desk, code: int) -> None:
    with desk.daemon(says(answer(code, b"out\0\n\n", b" err"))):
        assert desk.run() == (code, b"out\0\n\n", b" err")


@pytest.mark.parametrize("size", [0, 1, 70_000, 10 * 1024 * 1024])
def test_the_daemon_is_told_everything_about_the_call(desk: Desk, tmp_path: Path, size: int) -> None:
    event = os.urandom(size)
    heard: list[Request] = []

    with desk.daemon(hearing(heard)):
        done = subprocess.run(
            desk.words(),
            input=event,
            capture_output=True,
            cwd=tmp_path,
            env=desk.environment(ODD="a=b\nü", EMPTY=""),
            umask=0o027,
            timeout=PATIENCE,
            check=False,
        )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"warm\n", b"")
    assert heard == [Request(0o027, WORDS, str(tmp_path), desk.environment(ODD="a=b\nü", EMPTY=""), event)]


def test_the_umask_of_the_call_is_only_looked_at(desk: Desk, tmp_path: Path) -> None:
    # the answer makes it fall back, and the Python has what the call had
    desk.python_that(f"cat >/dev/null; : > {tmp_path}/made; exit 100")

    with desk.daemon(says(frame(b"n"))):
        subprocess.run(desk.words(), input=b"", env=desk.environment(), umask=0o027, timeout=PATIENCE, check=True)

    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o640


def test_a_thousand_variables_are_passed_on(desk: Desk) -> None:
    many = {f"NAME_{number}": "x" * 100 for number in range(1000)}
    heard: list[Request] = []

    with desk.daemon(hearing(heard)):
        assert desk.run(b"{}", words=desk.words(), **many) == (0, b"warm\n", b"")

    assert heard[0].environment == desk.environment(**many)


def test_an_environment_of_more_than_a_megabyte_is_left_to_the_python(desk: Desk) -> None:
    much = {f"NAME_{number}": "x" * 100_000 for number in range(12)}
    heard: list[bytes] = []

    with desk.daemon(lambda talk: heard.append(talk.take(1))):
        assert desk.run(b"{}", words=desk.words(), **much) == desk.asked_plain()

    assert heard == [b""]


def test_an_answer_of_many_megabytes_is_passed_on(desk: Desk) -> None:
    out, err = os.urandom(20_000_000), os.urandom(3_000_000)

    with desk.daemon(says(answer(0, out, err))):
        assert desk.run() == (0, out, err)


def test_an_answer_that_comes_byte_by_byte_is_understood(desk: Desk) -> None:
    whole = STILL + STILL + answer(2, b"out", b"err")

    def play(talk: Talk) -> None:
        talk.hear()
        for place in range(len(whole)):
            talk.say(whole[place : place + 1])
            time.sleep(0.001)

    with desk.daemon(play):
        assert desk.run() == (2, b"out", b"err")


def test_a_daemon_that_says_that_it_is_at_it_is_waited_for(desk: Desk) -> None:
    def play(talk: Talk) -> None:
        talk.hear()
        talk.say(STILL)
        time.sleep(2.3)  # longer than it may take to say anything
        talk.say(answer(0, b"late\n"))

    with desk.daemon(play):
        assert desk.run() == (0, b"late\n", b"")


def test_an_event_that_is_long_in_coming_is_waited_for(desk: Desk) -> None:
    heard: list[Request] = []

    with (
        desk.daemon(hearing(heard)),
        subprocess.Popen(
            desk.words(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=desk.environment()
        ) as process,
    ):
        assert process.stdin is not None
        for part in (b"{", b'"a": ', b"1}"):
            process.stdin.write(part)
            process.stdin.flush()
            time.sleep(0.05)
        out, _ = process.communicate(timeout=PATIENCE)

    assert (out, heard[0].event) == (b"warm\n", b'{"a": 1}')


@pytest.mark.parametrize("code", [1, 3, 255])
def test_a_daemon_that_did_not_get_to_answer_is_no_answer(desk: Desk, code: int) -> None:
    with desk.daemon(says(answer(code, b"half", b"trouble"))):
        assert desk.run() == UNANSWERED


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"a",
        frame(b"n"),
        frame(b"n", b"I am leaving"),
        STILL + frame(b"n", b"I am leaving"),
        STILL,
        answer(0, b"half")[:-3],
        STILL + answer(0, b"half")[:9],
        b"HTTP/1.1 200 OK\r\n\r\n",
        frame(b"z", b"?"),
        frame(b"k", b"more"),
        frame(b"a"),
        frame(b"a", b"\0" * 11),
        frame(b"a", b"\0" * 13),
        frame(b"a", b"\0\0\0\0\xff\xff\xff\xff\0\0\0\0"),
        frame(b"a", b"\0\0\0\0\0\0\0\0\xff\xff\xff\xff"),
        answer(-1),
        answer(256),
        b"a\xff\xff\xff\xff",
    ],
)
def test_whatever_is_no_answer_leaves_the_same_event_to_the_python(desk: Desk, said: bytes) -> None:
    event = b"x" * 300_000

    with desk.daemon(says(said)):
        assert desk.run(event) == desk.asked_plain(event)


@pytest.mark.parametrize("taken", [0, 1, 100_000])
def test_a_daemon_that_hangs_up_before_it_heard_all_leaves_it_to_the_python(desk: Desk, taken: int) -> None:
    event = os.urandom(3_000_000)
    desk.python_that("cat; exit 100")

    with desk.daemon(lambda talk: talk.take(taken)):
        assert desk.run(event) == (0, event, b"")


def test_a_daemon_that_refuses_before_it_heard_all_leaves_it_to_the_python(desk: Desk) -> None:
    def play(talk: Talk) -> None:
        talk.take(100)
        talk.say(frame(b"n", b"too long"))
        talk.take(1 << 30)

    with desk.daemon(play):
        assert desk.run(b"x" * 3_000_000) == desk.asked_plain(b"x" * 3_000_000)


def test_a_daemon_that_says_nothing_is_not_waited_for(desk: Desk) -> None:
    def play(talk: Talk) -> None:
        talk.hear()
        assert talk.take(1) == b""

    with desk.daemon(play):
        assert desk.run() == desk.asked_plain()


def test_a_daemon_that_falls_silent_is_not_waited_for(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "hasty"
    folder.mkdir()
    desk.program = build_with(folder, "-DHOOKLINE_PATIENCE=200")

    def play(talk: Talk) -> None:
        talk.hear()
        talk.say(STILL)
        assert talk.take(1) == b""

    with desk.daemon(play):
        assert desk.run() == desk.asked_plain()


def test_a_daemon_whose_hands_are_full_does_not_keep_anybody_waiting(desk: Desk) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(desk.path))
        listening.listen(0)
        waiting = []
        try:
            # until nobody else is let into the queue
            while True:
                one = socket.socket(socket.AF_UNIX)
                one.settimeout(0)
                waiting.append(one)
                if one.connect_ex(str(desk.path)):
                    break
            assert desk.run() == desk.asked_plain()
        finally:
            for one in waiting:
                one.close()


def test_the_daemon_sees_that_an_impatient_agent_has_gone(desk: Desk) -> None:
    asked, over = threading.Event(), threading.Event()

    def play(talk: Talk) -> None:
        talk.hear()
        talk.say(STILL)
        asked.set()
        assert talk.take(1) == b""
        over.set()

    with (
        desk.daemon(play),
        subprocess.Popen(desk.words(), stdin=subprocess.DEVNULL, env=desk.environment()) as process,
    ):
        assert asked.wait(PATIENCE)
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM
        assert over.wait(PATIENCE)


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false", "no"])
def test_a_person_who_wants_no_daemon_gets_none(desk: Desk, word: str) -> None:
    with desk.daemon(says(answer(0, b"warm\n"))):
        assert desk.run(HOOKLINE_DAEMON=word) == desk.asked_plain()


@pytest.mark.parametrize("word", ["", "on", "1"])
def test_any_other_word_of_the_person_changes_nothing(desk: Desk, word: str) -> None:
    with desk.daemon(says(answer(0, b"warm\n"))):
        assert desk.run(HOOKLINE_DAEMON=word) == (0, b"warm\n", b"")


def test_the_daemon_of_another_python_is_not_asked(desk: Desk) -> None:
    with desk.daemon(says(answer(0, b"warm\n"))):
        desk.python = desk.python_that("cat >/dev/null; echo other; exit 100", name="other")
        assert desk.run() == (0, b"other\n", b"")


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o777])
def test_a_folder_that_others_can_get_into_is_not_looked_into(desk: Desk, mode: int) -> None:
    with desk.daemon(says(answer(0, b"warm\n"))):
        desk.folder.chmod(mode)
        assert desk.run() == desk.asked_plain()
        desk.folder.chmod(0o700)
        assert desk.run() == (0, b"warm\n", b"")


def test_a_folder_that_is_a_link_is_not_followed(desk: Desk) -> None:
    with desk.daemon(says(answer(0, b"warm\n"))):
        elsewhere = desk.runtime / "elsewhere"
        desk.folder.rename(elsewhere)
        desk.folder.symlink_to(elsewhere)
        assert desk.run() == desk.asked_plain()
        desk.folder.unlink()
        elsewhere.rename(desk.folder)


def test_a_socket_that_nobody_listens_to_any_more_is_nobody(desk: Desk) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(desk.path))
        listening.listen()

    assert desk.path.exists()
    assert desk.run() == desk.asked_plain()


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, os.mkfifo])
def test_something_else_by_that_name_is_nobody(desk: Desk, make: Callable[[Path], None]) -> None:
    make(desk.path)

    assert desk.run() == desk.asked_plain()


def test_a_folder_with_too_long_a_name_for_a_socket_is_nobody(desk: Desk, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 90)
    (deep / "hookline").mkdir(parents=True, mode=0o700)

    assert desk.run(XDG_RUNTIME_DIR=str(deep)) == desk.asked_plain()


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can be somebody else")
def test_a_daemon_of_somebody_else_is_not_told_anything(desk: Desk) -> None:
    code = (
        "import os, socket, sys\n"
        "listening = socket.socket(socket.AF_UNIX)\n"
        "listening.bind(sys.argv[1])\n"
        f"os.setuid({NOBODY})\n"
        "listening.listen()\n"
        "print('ready', flush=True)\n"
        "talk, _ = listening.accept()\n"
        "print(talk.recv(1), flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(desk.path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"

        assert desk.run() == desk.asked_plain()

        assert process.stdout.readline() == b"b''\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only an administrator can give something away")
def test_a_folder_of_somebody_else_is_not_looked_into(desk: Desk) -> None:
    with desk.daemon(says(answer(0, b"warm\n"))):
        os.chown(desk.folder, NOBODY, NOBODY)
        assert desk.run() == desk.asked_plain()


def test_an_event_after_which_nobody_can_be_asked_is_no_answer(desk: Desk) -> None:
    desk.python.unlink()

    with desk.daemon(says(frame(b"n"))):
        assert desk.run(b"x" * 300_000) == UNANSWERED


def test_an_event_that_is_longer_than_files_may_be_is_no_answer_and_no_signal(desk: Desk) -> None:
    with desk.daemon(says(frame(b"n"))):
        assert desk.run(words=limited(resource.RLIMIT_FSIZE, 0, desk.words())) == UNANSWERED


def test_a_call_without_stdin_is_told_as_an_empty_event(desk: Desk) -> None:
    heard: list[Request] = []

    with desk.daemon(hearing(heard)):
        done = subprocess.run(
            ["sh", "-c", '"$@" <&- 2>&-', "sh", *desk.words()],
            stdout=subprocess.PIPE,
            env=desk.environment(),
            timeout=PATIENCE,
            check=False,
        )

    assert (done.returncode, done.stdout, heard[0].event) == (0, b"warm\n", b"")


def test_a_call_from_a_folder_that_is_gone_is_left_to_the_python(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()

    with desk.daemon(lambda talk: talk.take(1)):
        done = subprocess.run(
            ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *desk.words()],
            input=b"{}",
            capture_output=True,
            cwd=folder,
            env=desk.environment(),
            timeout=PATIENCE,
            check=False,
        )

    assert (done.returncode, done.stdout) == desk.asked_plain()[:2]


def test_many_calls_at_once_get_their_own_answers(desk: Desk) -> None:
    def play(talk: Talk) -> None:
        request = talk.hear()
        talk.say(answer(0, request.event))

    with desk.daemon(play):
        calls = [
            subprocess.Popen(desk.words(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=desk.environment())
            for _ in range(20)
        ]
        said = [call.communicate(f"event {number}".encode(), timeout=PATIENCE)[0] for number, call in enumerate(calls)]

    assert said == [f"event {number}".encode() for number in range(20)]


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not here")
@pytest.mark.parametrize(
    ("said", "size"),
    [
        (answer(0, b"y" * 300_000, b"e"), 10),
        (STILL + answer(2, b"out", b"err"), 200_000),
        (frame(b"n", b"no"), 200_000),
        (answer(1), 0),
        (frame(b"a", b"\0" * 13), 5),
    ],
)
def test_no_byte_is_read_or_written_that_is_not_ours(desk: Desk, tmp_path: Path, said: bytes, size: int) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    desk.program = build_with(folder, "-g", "-O1")
    log = tmp_path / "log"
    look = [
        "valgrind",
        "-q",
        "--error-exitcode=99",
        "--track-fds=no",
        f"--log-file={log}",
        "--child-silent-after-fork=yes",
    ]

    with desk.daemon(says(said)):
        done = desk.run(b"x" * size, words=[*look, *desk.words()])

    assert log.read_text() == ""
    assert done[0] in {0, 1, 2}


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not here")
@pytest.mark.parametrize("body", ["cat; exit 100", "exit 1", "kill -KILL $$"])
def test_no_byte_that_is_not_ours_is_touched_where_the_python_answers(desk: Desk, tmp_path: Path, body: str) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    desk.program = build_with(folder, "-g", "-O1")
    desk.python_that(body)
    log = tmp_path / "log"
    look = ["valgrind", "-q", "--error-exitcode=99", f"--log-file={log}", "--child-silent-after-fork=yes"]

    done = desk.run(b"x" * 300_000, words=[*look, *desk.words()])

    assert log.read_text() == ""
    assert done == ((0, b"x" * 300_000, b"") if body.startswith("cat") else UNANSWERED)
