"""Background hooks while workers and emitters are killed at random, and the account of it afterwards."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.model.job import JobState
from hookline.stores.queue import SqliteQueue
from tests.cli.program import configure, environment

_WORKERS: Final = 3
_EMITTERS: Final = 2
_LINE: Final = 4  # words

# Emits until it is killed or has emitted enough; what stands in its log was owed when the line was written.
_EMITTER: Final = """
import asyncio, sys
from hookline import Engine

async def main(log, count):
    async with Engine.load() as engine:
        for number in range(count):
            outcome = await engine.emit("custom:chaos", {"number": number})
            for verdict in outcome.verdicts:
                print(verdict.job, file=log, flush=True)

with open(sys.argv[1], "a") as log:
    asyncio.run(main(log, int(sys.argv[2])))
"""

# Two hooks: one that may run beside itself, and one that may not. Each writes one line in one go.
_HOOKS: Final = """
[[hook]]
id = "quick"
on = "custom:chaos"
run = "echo quick $HOOKLINE_JOB $HOOKLINE_ATTEMPT ${HOOKLINE_REDELIVERED:-0} >> {ran}"
shell = true
background = true
parallel = true

[[hook]]
id = "alone"
on = "custom:chaos"
run = "echo alone $HOOKLINE_JOB $HOOKLINE_ATTEMPT ${HOOKLINE_REDELIVERED:-0} >> {ran}"
shell = true
background = true
"""


class Account(Struct, frozen=True, kw_only=True):
    """What was owed, what ran, and how often."""

    owed: int
    ran: int
    missing: int
    runs: int
    duplicates: int
    unmarked: int
    left: int
    killed_workers: int
    killed_emitters: int
    seconds: float


class Chaos:
    """A home and a project in which everything that can be killed is killed."""

    def __init__(self, folder: Path, *, seed: int) -> None:
        self._home = folder / "home"
        self._project = folder / "project"
        self._emitted = folder / "emitted"
        self._emitted.mkdir()
        self._ran = folder / "ran"
        self._ran.touch()
        self._random = random.Random(seed)  # noqa: S311 - what is killed when is no secret
        self._killed: Counter[str] = Counter()
        self._done_before: Counter[str] = Counter()
        self._started = 0
        configure(self._home, _HOOKS.replace("{ran}", str(self._ran)))

    def run(self, jobs: int, *, pause: float = 0.4) -> Account:
        """Emit at least so many jobs, killing all the time; then work off what is left, and count."""
        began = time.monotonic()
        emitters: list[subprocess.Popen[bytes]] = []
        workers: list[subprocess.Popen[bytes]] = []
        while len(self._owed()) < jobs:
            self._keep(emitters, _EMITTERS, self._emitter)
            self._keep(workers, _WORKERS, self._worker)
            time.sleep(self._random.uniform(pause / 2, pause * 1.5))
            self._kill(workers, "worker")
            if self._random.random() < 0.5:
                self._kill(emitters, "emitter")
        for process in emitters:
            self._end(process)
        while self._left(JobState.WAITING, JobState.RUNNING):
            self._keep(workers, _WORKERS, self._worker)
            time.sleep(self._random.uniform(pause, pause * 3))
            self._kill(workers, "worker")
        for process in workers:
            self._end(process)
        last = self._program("-m", "hookline", "queue", "work", "--until-empty", "--jobs", "8")
        if last.wait(timeout=600):
            raise AssertionError(f"the last worker ended with {last.returncode}")
        return self._account(time.monotonic() - began)

    def _keep(
        self, processes: list[subprocess.Popen[bytes]], count: int, start: Callable[[], subprocess.Popen[bytes]]
    ) -> None:
        processes[:] = [process for process in processes if process.poll() is None]
        processes += [start() for _ in range(count - len(processes))]

    def _emitter(self) -> subprocess.Popen[bytes]:
        self._started += 1
        return self._program("-c", _EMITTER, str(self._emitted / str(self._started)), "100000")

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._program("-m", "hookline", "queue", "work", "--until-empty", "--jobs", "4")

    def _program(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=self._project,
            env=environment(self._home, HOOKLINE_WORKER="off"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def _kill(self, processes: list[subprocess.Popen[bytes]], what: str) -> None:
        # on a slow machine nobody would get anything done if they were killed before they have begun
        done = self._ran.stat().st_size if what == "worker" else len(self._owed())
        if done == self._done_before[what]:
            return
        self._done_before[what] = done
        victim = self._random.choice(processes)
        if victim.poll() is None:
            self._end(victim)
            self._killed[what] += 1

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    def _owed(self) -> set[str]:
        # the last line of one that was killed may be a part of one
        texts = [path.read_text() for path in self._emitted.iterdir()]
        return {word for text in texts for word in text[: text.rfind("\n") + 1].split()}

    def _left(self, *states: JobState) -> int:
        queue = SqliteQueue(self._home / ".local" / "share" / "hookline" / "queue.db")
        try:
            counts = queue.counts()
            return sum(counts[state] for state in states or JobState)
        finally:
            queue.close()

    def _account(self, seconds: float) -> Account:
        lines = [line.split() for line in self._ran.read_text().splitlines()]
        whole = [line for line in lines if len(line) == _LINE]
        if len(whole) != len(lines):
            raise AssertionError("a line is torn")
        runs = Counter(job for _, job, _, _ in whole)
        owed = self._owed()
        again = [(attempt, mark) for _, _, attempt, mark in whole if int(attempt) > 1]
        return Account(
            owed=len(owed),
            ran=len(runs),
            missing=len(owed - set(runs)),
            runs=len(whole),
            duplicates=sum(count - 1 for count in runs.values()),
            # nobody fails here, so whatever is no first attempt has to say that it may have run before
            unmarked=sum(mark != "1" for _, mark in again)
            + len(whole)
            - len({(job, attempt) for _, job, attempt, _ in whole}),
            left=self._left(),
            killed_workers=self._killed["worker"],
            killed_emitters=self._killed["emitter"],
            seconds=seconds,
        )
