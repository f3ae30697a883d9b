"""A daemon that is killed while many call: every one of them gets the right answer."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

import pytest

from hookline.bridge.daemon.client import NoDaemonError
from hookline.hosts.launcher import COLD
from tests.bridge.daemon.living import WORDS, Living, payload
from tests.waiting import PATIENCE, until

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
        self._words = [str(program), "spare", "", "2", sys.executable, COLD, "hook", *WORDS]
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


def test_a_daemon_comes_by_itself_when_the_launcher_finds_none(living: Living, program: Path) -> None:
    words = [str(program), "spare", "", "2", sys.executable, COLD, "hook", *WORDS]
    done = subprocess.run(
        words, cwd=living.project, env=living.env, input=payload(living.project), capture_output=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    until(living.is_there, "a daemon has come")


@pytest.mark.parametrize("more", [{"CI": "true"}, {"HOOKLINE_DAEMON": "off"}, {"TF_BUILD": "True"}])
def test_none_comes_where_it_is_not_wanted(living: Living, program: Path, more: dict[str, str]) -> None:
    words = [str(program), "spare", "", "2", sys.executable, COLD, "hook", *WORDS]
    for _ in range(2):
        env = {**living.env, **more}
        done = subprocess.run(
            words, cwd=living.project, env=env, input=payload(living.project), capture_output=True, check=False
        )
        assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    assert not list(living.runtime.rglob("*.log"))
    assert not living.is_there()


def test_none_comes_where_the_person_does_not_want_it(living: Living, program: Path) -> None:
    living.configure("[settings]\ndaemon = false\n")
    words = [str(program), "spare", "", "2", sys.executable, COLD, "hook", *WORDS]
    for _ in range(2):
        subprocess.run(
            words, cwd=living.project, env=living.env, input=payload(living.project), capture_output=True, check=False
        )
    assert not list(living.runtime.rglob("*.log"))
    assert not living.is_there()
