"""A daemon that is killed while many call: every one of them gets the right answer."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

import pytest

from hookline.bridge.daemon_socket import IDLE, usual_idle
from hookline.daemon.protocol import NoDaemonError
from tests.daemon.living import WORDS, Living, payload
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

CALLERS: Final = 8
CALLS: Final = 125
GUARD: Final = '[[hook]]\nid = "guard"\non = "before_tool"\nrun = ["/bin/sh", "guard.sh"]\non_error = "block"\n'
# says which command it was asked about, so that an answer to another call would show
GUARD_PROGRAM: Final = """
read -r said
what=${said#*rm }
printf '{"decision": "deny", "reason": "%s"}' "${what%%.*}"
"""


class Caller(threading.Thread):
    """An agent that asks again and again, with the launcher."""

    def __init__(self, living: Living, program: Path, number: int) -> None:
        super().__init__()
        self._living = living
        self._words = [str(program), sys.executable, "hook", *WORDS]
        self._number = number
        self.wrong: list[str] = []
        self.done = 0

    def run(self) -> None:
        """Ask, and note what was not the right answer."""
        for number in range(CALLS):
            name = f"{self._number}-{number}"
            said = payload(self._living.project, f"rm {name}.txt", session_id=f"s{self._number}")
            result = subprocess.run(
                self._words,
                cwd=self._living.project,
                env=self._living.env,
                input=said,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
            try:
                own = json.loads(result.stdout)["hookSpecificOutput"]
                is_right = (own["permissionDecision"], own["permissionDecisionReason"]) == ("deny", name)
            except (ValueError, KeyError):
                is_right = False
            if not is_right or result.returncode:
                self.wrong.append(f"{name}: {result!r}")
            self.done += 1


def test_every_call_is_answered_rightly_while_daemons_are_killed(living: Living, program: Path) -> None:
    living.configure(GUARD, {"guard.sh": GUARD_PROGRAM})
    living.start()
    callers = [Caller(living, program, number) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    killed: list[int] = []
    while any(caller.is_alive() for caller in callers):
        time.sleep(0.3)
        try:
            pid = int(str(living.status()["pid"]))
        except NoDaemonError:
            # whoever found none has started the next one, which is on its way
            continue
        if len(killed) < 5 and pid not in killed:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
    for caller in callers:
        caller.join(PATIENCE)
    assert [wrong for caller in callers for wrong in caller.wrong] == []
    assert sum(caller.done for caller in callers) == CALLERS * CALLS
    # at least the first one was killed while calls were under way
    assert killed


def call(living: Living, program: Path, command: str = "ls", **more: str) -> tuple[int, bytes, bytes]:
    """Call the launcher as an agent does."""
    done = subprocess.run(
        [str(program), sys.executable, "hook", *WORDS],
        cwd=living.project,
        env={**living.env, **more},
        input=payload(living.project, command),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("more", [{}, {"CI": "true"}, {"TF_BUILD": "True"}])
def test_a_daemon_comes_by_itself_when_the_launcher_finds_none(
    living: Living, program: Path, more: dict[str, str]
) -> None:
    assert call(living, program, **more) == (0, b"", b"")
    until(living.is_there, "a daemon has come")


def test_the_first_call_is_answered_by_the_daemon_that_it_started_or_by_a_python(living: Living, program: Path) -> None:
    living.configure(GUARD, {"guard.sh": GUARD_PROGRAM})
    code, out, err = call(living, program, "rm a.txt")
    assert (code, err) == (0, b"")
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_daemon_that_a_build_service_started_goes_soon(living: Living, program: Path) -> None:
    call(living, program, CI="true")
    until(living.is_there, "a daemon has come")
    pid = int(str(living.status()["pid"]))
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    assert words[1:-1] == [b"-E", b"-P", b"-m", b"hookline", b"daemon", b"run", b"--auto"]
    assert usual_idle({"CI": "true"}) < usual_idle({}) == IDLE


def test_a_daemon_that_the_launcher_started_holds_nothing_that_the_agent_has_open(
    living: Living, program: Path
) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)  # noqa: FBT003 - it takes nothing else
    with os.fdopen(reading, "rb") as left:
        done = subprocess.run(
            [str(program), sys.executable, "hook", *WORDS],
            cwd=living.project,
            env=living.env,
            input=payload(living.project),
            capture_output=True,
            close_fds=False,
            timeout=PATIENCE,
            check=False,
        )
        os.close(writing)
        # no process holds it any more, nor the streams that were captured
        assert (done.returncode, left.read()) == (0, b"")
    until(living.is_there, "a daemon has come")
    pid = int(str(living.status()["pid"]))
    assert os.getsid(pid) == pid


def test_none_comes_where_it_is_not_wanted(living: Living, program: Path) -> None:
    for _ in range(2):
        assert call(living, program, HOOKLINE_DAEMON="off") == (0, b"", b"")
    assert not list(living.runtime.rglob("*.log"))
    assert not living.is_there()


def test_none_stays_where_the_person_does_not_want_it(living: Living, program: Path) -> None:
    living.configure("[settings]\ndaemon = false\n")
    until(
        lambda: call(living, program) == (0, b"", b"") and living.place.off.exists() and not living.is_there(),
        "the daemon has gone",
    )
    until(lambda: b"leaving" in living.place.log.read_bytes(), "the daemon has said so")
    before = living.place.log.read_bytes()
    assert call(living, program) == (0, b"", b"")
    assert (living.place.log.read_bytes(), living.is_there()) == (before, False)


def test_one_comes_again_where_the_person_has_changed_their_mind(living: Living, program: Path) -> None:
    living.place.create().off.touch()
    assert call(living, program) == (0, b"", b"")
    assert not living.is_there()
    assert call(living, program) == (0, b"", b"")
    until(living.is_there, "a daemon has come")


def test_one_that_cannot_listen_is_not_tried_again_at_each_call(living: Living, program: Path) -> None:
    place = living.place.create()
    place.socket.mkdir()
    assert call(living, program) == (0, b"", b"")
    until(lambda: b"Error" in place.log.read_bytes(), "it has failed")
    begun = place.starting.stat().st_mtime_ns
    assert call(living, program) == (0, b"", b"")
    assert place.starting.stat().st_mtime_ns == begun
    place.socket.rmdir()


def test_a_daemon_that_hangs_costs_one_slow_call_and_can_be_stopped(living: Living, program: Path) -> None:
    living.configure(GUARD, {"guard.sh": GUARD_PROGRAM})
    process = living.start()
    process.send_signal(signal.SIGSTOP)
    try:
        code, out, _ = call(living, program, "rm a.txt")
        assert (code, json.loads(out)["hookSpecificOutput"]["permissionDecision"]) == (0, "deny")
        # the next calls do not even connect
        assert living.place.hung.exists()
        code, out, _ = call(living, program, "rm a.txt")
        assert (code, json.loads(out)["hookSpecificOutput"]["permissionDecision"]) == (0, "deny")
        status = living.hookline("daemon", "status")
        assert (status.returncode, f"process {process.pid} does not answer".encode() in status.stdout) == (1, True)
        doctor = living.hookline("doctor")
        assert f"process {process.pid}, does not answer".encode() in doctor.stdout
        stopped = living.hookline("daemon", "stop")
        assert stopped.stdout == f"stopped: process {process.pid}, which did not answer\n".encode()
        assert process.wait(PATIENCE) is not None
    finally:
        if process.poll() is None:
            process.kill()
    # the mark of the old one does not block the new one
    living.start()
    before = int(str(living.status()["answered"]))
    call(living, program, "rm a.txt")
    assert int(str(living.status()["answered"])) == before + 1


def test_a_daemon_that_answers_again_is_asked_again(living: Living, program: Path) -> None:
    living.start("--idle", "1000")
    living.place.hung.touch()
    assert call(living, program) == (0, b"", b"")
    assert living.status()["answered"] == 0
    living.place.hung.unlink()
    assert call(living, program) == (0, b"", b"")
    assert living.status()["answered"] == 1


def test_a_process_that_is_no_daemon_is_never_ended(living: Living) -> None:
    place = living.place.create()
    with subprocess.Popen(["sleep", "600"]) as other, place.lock.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(str(other.pid).encode())
        lock.flush()
        assert living.hookline("daemon", "stop").stdout.startswith(b"not running")
        assert other.poll() is None
        other.kill()


def test_a_daemon_short_of_descriptors_leaves_calls_to_the_launcher(living: Living, program: Path) -> None:
    living.configure(GUARD, {"guard.sh": GUARD_PROGRAM})
    process = living.start()
    pid = int(str(living.status()["pid"]))
    assert pid == process.pid
    open_now = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now + 3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    code, out, _ = call(living, program, "rm a.txt")
    assert (code, json.loads(out)["hookSpecificOutput"]["permissionDecisionReason"]) == (0, "a")
