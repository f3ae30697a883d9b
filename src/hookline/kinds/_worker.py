"""Warm Python processes that answer one question at a time.

A worker gets length-prefixed JSON on a socket pair. Its own descriptors 1 and 2 are a pipe that is read
here, so whatever a hook prints is kept for the trace and cannot be taken for an answer. It leads a process
group of its own, which is signalled only while its leader has not been reaped: until then the number of the
group cannot belong to anybody else.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Final

from msgspec import Struct

from hookline.kinds import _worker_main
from hookline.kinds._prompt import Prompt
from hookline.kinds._slots import Slots
from hookline.kinds._worker_main import ANSWER_LIMIT, HEADER

NOISE_LIMIT: Final = 1_000_000
NOISE_KEPT: Final = 65_536
GRACE_SECONDS: Final = 1.0
_CHUNK: Final = 262_144
_POLL_SECONDS: Final = 0.01
# after SIGKILL; longer takes only a process stuck in the kernel, and the event loop does not wait for that
_REAP_SECONDS: Final = 0.5


class Ending(StrEnum):
    """How a question to a worker ended."""

    ANSWERED = "answered"
    TIMED_OUT = "timed_out"
    OVERFLOWED = "overflowed"
    DIED = "died"
    NOT_STARTED = "not_started"
    NO_FREE_WORKER = "no_free_worker"


class Heard(Struct, frozen=True, kw_only=True):
    """What came back from a worker; `detail` says how it died or why it did not start."""

    ending: Ending
    frame: bytes = b""
    noise: bytes = b""
    detail: str = ""


class WorkerLimits(Struct, frozen=True, kw_only=True):
    """How many workers there may be, and how long each is kept.

    `team` counts the workers with the same interpreter and folders, `total` those of one event loop; beyond
    that, idle ones make room.
    """

    calls: int = 500
    idle: float = 600.0
    team: int = 4
    total: int = 16


class TeamKey(Struct, frozen=True):
    """What workers must have in common to stand in for each other.

    A worker for vetted hooks does not have the folders on its path: what is imported from them has to be vetted, too.
    """

    interpreter: str
    folders: tuple[str, ...]
    vetted: bool = False


class Worker:
    """One process. It belongs to the event loop that started it."""

    def __init__(self, interpreter: str, *, setup: bytes) -> None:
        self.calls = 0
        self.idle_since = 0.0
        self.exit_code: int | None = None
        self._loop = asyncio.get_running_loop()
        self._answer: Prompt[Ending] | None = None
        self._deadline = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._received = bytearray()
        self._unsent = bytearray()
        self._is_writing = False
        self._noise = bytearray()
        self._noise_size = 0
        self._ended = False
        self._closed = False
        self._leave_by = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._channel, self._noise_end, self.pid = _start(interpreter)
        self._loop.add_reader(self._channel, self._on_answer)
        self._loop.add_reader(self._noise_end, self._on_noise)
        self._send(setup)

    @property
    def usable(self) -> bool:
        """Whether another question can be asked."""
        return not (self._ended or self._closed or self._leave_by)

    @property
    def gone(self) -> bool:
        """Whether nothing is left of it."""
        return self._closed

    async def ask(self, frames: Sequence[bytes], *, deadline: float) -> Heard:
        """Ask one question; whatever is not answered leaves a worker that must be ended."""
        self.calls += 1
        self._forget_noise()
        answer = self._answer = Prompt(self._loop)
        self._set_alarm(deadline)
        self._send(*frames)
        try:
            ending = await answer
        finally:
            self._answer = None
        if not self._closed:
            self._read_noise()
        body = bytes(self._received[HEADER.size :]) if ending is Ending.ANSWERED else b""
        self._received.clear()
        return Heard(ending=ending, frame=body, noise=bytes(self._noise))

    async def end(self) -> None:
        """Terminate the group, kill what is left of it after a second, and reap."""
        self._signal(signal.SIGTERM)
        await self._wait(lambda: self._ended)

    async def dismiss(self) -> None:
        """Let the process end by itself, and kill it when it takes more than a second."""
        self._say_goodbye()
        await self._wait(self._reap)

    def leave(self) -> None:
        """Dismiss without waiting; the event loop looks after the rest."""
        if not self._leave_by and not self._closed:
            self._leave_by = self._loop.time() + GRACE_SECONDS
            self._say_goodbye()
            self._look_after()

    def kill(self) -> None:
        """End whatever is left, at once, and give everything back."""
        if self._closed:
            return
        self._closed = self._ended = True
        self._settle(Ending.DIED)
        if self.exit_code is None:
            self._signal(signal.SIGKILL)
            until = time.monotonic() + _REAP_SECONDS
            while not self._reap() and time.monotonic() < until:
                time.sleep(0.0005)
        for timer in filter(None, (self._timer, self._alarm)):
            timer.cancel()
        if not self._loop.is_closed():
            self._loop.remove_reader(self._noise_end)
            self._loop.remove_reader(self._channel)
            self._loop.remove_writer(self._channel)
        os.close(self._noise_end)
        self._channel.close()

    def how_it_ended(self) -> str:
        """Say how the process ended, for people."""
        code = self.exit_code
        if code is None:
            return "it stopped answering"
        if code >= 0:
            return f"it ended itself with exit code {code}"
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it was ended by signal {-code}"

    async def _wait(self, is_over: Callable[[], bool]) -> None:
        until = self._loop.time() + GRACE_SECONDS
        try:
            while not is_over() and self._loop.time() < until:  # noqa: ASYNC110 - nothing announces a reaped child
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            self.kill()

    def _say_goodbye(self) -> None:
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def _look_after(self) -> None:
        if self._reap() or self._loop.time() >= self._leave_by:
            self.kill()
        else:
            self._timer = self._loop.call_later(_POLL_SECONDS, self._look_after)

    def _signal(self, number: int) -> None:
        if self.exit_code is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _reap(self) -> bool:
        if self.exit_code is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                # somebody else collected it, or the embedding program ignores SIGCHLD
                self.exit_code = 0
            else:
                self.exit_code = os.waitstatus_to_exitcode(status) if pid else None
        return self.exit_code is not None

    def _settle(self, ending: Ending) -> None:
        if self._answer is not None:
            self._answer.set_result(ending)

    def _set_alarm(self, deadline: float) -> None:
        """Have a question end at its deadline; most have ended long before, so one timer serves many of them."""
        self._deadline = deadline
        if self._alarm is not None and self._alarm.when() > deadline:
            self._alarm.cancel()
            self._alarm = None
        if self._alarm is None:
            self._alarm = self._loop.call_at(deadline, self._on_alarm, deadline)

    def _on_alarm(self, deadline: float) -> None:
        self._alarm = None
        if self._answer is None:
            return
        if self._deadline > deadline:
            # this is a later question, which has some time left
            self._set_alarm(self._deadline)
        else:
            self._settle(Ending.TIMED_OUT)

    def _send(self, *frames: bytes) -> None:
        for frame in frames:
            self._unsent += HEADER.pack(len(frame)) + frame
        self._on_writable()

    def _on_writable(self) -> None:
        try:
            sent = self._channel.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            # it died; the reader says so
            sent = len(self._unsent)
        del self._unsent[:sent]
        if self._unsent and not self._is_writing:
            self._loop.add_writer(self._channel, self._on_writable)
        elif self._is_writing and not self._unsent:
            self._loop.remove_writer(self._channel)
        self._is_writing = bool(self._unsent)

    def _on_answer(self) -> None:
        try:
            data = self._channel.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._on_end()
            return
        received = self._received
        received += data
        if len(received) < HEADER.size:
            return
        (size,) = HEADER.unpack_from(received)
        if size > ANSWER_LIMIT:
            self._settle(Ending.OVERFLOWED)
        elif len(received) >= HEADER.size + size and self._answer is not None:
            # nothing is left to do here
            self._answer.give(Ending.ANSWERED)
            self._answer.wake()

    def _on_end(self) -> None:
        self._ended = True
        self._loop.remove_reader(self._channel)
        if self._answer is not None:
            self._settle(Ending.DIED)
        else:
            self.leave()

    def _on_noise(self) -> None:
        try:
            data = os.read(self._noise_end, NOISE_KEPT)
        except OSError:
            return
        if not data:
            self._loop.remove_reader(self._noise_end)
        self._take_noise(data)
        if self._noise_size > NOISE_LIMIT:
            self._settle(Ending.OVERFLOWED)

    def _read_noise(self) -> None:
        """Take what was printed before the answer: it is in the pipe by the time the answer is here."""
        try:
            while self._noise_size <= NOISE_LIMIT and (data := os.read(self._noise_end, NOISE_KEPT)):
                self._take_noise(data)
        except OSError:
            # most often nothing, at each question: `suppress` takes longer than to read
            return

    def _forget_noise(self) -> None:
        """Drop what was printed between two questions."""
        self._noise_size = 0
        self._read_noise()
        self._noise.clear()
        self._noise_size = 0

    def _take_noise(self, data: bytes) -> None:
        self._noise_size += len(data)
        self._noise += data[: NOISE_KEPT - len(self._noise)]


def _start(interpreter: str) -> tuple[socket.socket, int, int]:
    """Start the process; returns our end of the channel, the pipe with its noise, and its number."""
    ours, theirs = socket.socketpair()
    noise_end, their_noise = os.pipe()
    lifted: list[int] = []
    try:
        lifted += [_above_standard(theirs.fileno()), _above_standard(their_noise)]
        pid = os.posix_spawn(
            interpreter,
            [interpreter, "-I", "-u", _worker_main.__file__],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, lifted[0], 0),
                (os.POSIX_SPAWN_DUP2, lifted[1], 1),
                (os.POSIX_SPAWN_DUP2, lifted[1], 2),
            ],
            setpgroup=0,
            setsigmask=(),
            setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD),
        )
    except BaseException:
        ours.close()
        os.close(noise_end)
        raise
    finally:
        theirs.close()
        for descriptor in (their_noise, *lifted):
            os.close(descriptor)
    ours.settimeout(0)
    os.set_blocking(noise_end, False)
    return ours, noise_end, pid


def _above_standard(descriptor: int) -> int:
    """Copy a descriptor to a number above 2: a program without stdin could be given 0 for our own pipes."""
    import fcntl  # noqa: PLC0415 - does not exist on Windows, where no worker runs

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


class _Team:
    """The workers that can stand in for each other."""

    def __init__(self, size: int) -> None:
        self.seats = Slots(size, patience=None)
        self.idle: list[Worker] = []
        self.users = 0


class Crew:
    """All workers of one event loop."""

    def __init__(self, limits: WorkerLimits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._teams: dict[TeamKey, _Team] = {}
        self._workers: set[Worker] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def size(self) -> int:
        """How many processes there are."""
        self._workers = {worker for worker in self._workers if not worker.gone}
        return len(self._workers)

    async def ask(self, key: TeamKey, frames: Sequence[bytes], *, timeout: float) -> Heard:
        """Ask a free worker, or start one; waiting for either counts as time of the hook."""
        deadline = self._loop.time() + timeout
        team = self._teams.get(key)
        if team is None:
            team = self._teams[key] = _Team(self._limits.team)
        team.users += 1
        try:
            if not team.seats.take_now():
                async with asyncio.timeout_at(deadline):
                    await team.seats.take()
        except TimeoutError:
            return Heard(ending=Ending.NO_FREE_WORKER)
        else:
            try:
                return await self._ask(team, key, frames=frames, deadline=deadline)
            finally:
                team.seats.give()
        finally:
            team.users -= 1

    async def close(self) -> None:
        """Dismiss all workers and wait until they are gone."""
        try:
            await asyncio.gather(*(worker.dismiss() for worker in list(self._workers)))
        finally:
            self.kill()

    def kill(self) -> None:
        """End all workers at once; also right when the event loop is closed already."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
        self._teams.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _ask(self, team: _Team, key: TeamKey, *, frames: Sequence[bytes], deadline: float) -> Heard:
        try:
            worker = self._take(team) or self._hire(key)
        except OSError as problem:
            return Heard(ending=Ending.NOT_STARTED, detail=problem.strerror or str(problem))
        try:
            heard = await worker.ask(frames, deadline=deadline)
        except BaseException:
            worker.kill()
            raise
        if heard.ending is not Ending.ANSWERED:
            await worker.end()
            return Heard(ending=heard.ending, noise=heard.noise, detail=worker.how_it_ended())
        if worker.calls >= self._limits.calls:
            worker.leave()
        else:
            self._put_back(team, worker)
        return heard

    def _take(self, team: _Team) -> Worker | None:
        while team.idle:
            worker = team.idle.pop()
            if worker.usable:
                return worker
        return None

    def _hire(self, key: TeamKey) -> Worker:
        if self.size >= self._limits.total:
            idle = [worker for team in self._teams.values() for worker in team.idle if worker.usable]
            if idle:
                min(idle, key=lambda worker: worker.idle_since).leave()
        # what this program can import, its hooks can; another interpreter has libraries of its own
        is_ours = key.interpreter == sys.executable
        places = [place for place in sys.path if is_ours and place.startswith("/")]
        if not key.vetted:
            places += key.folders
        worker = Worker(key.interpreter, setup=_worker_main.pack({"path": places}))
        self._workers.add(worker)
        return worker

    def _put_back(self, team: _Team, worker: Worker) -> None:
        worker.idle_since = self._loop.time()
        team.idle.append(worker)
        if self._timer is None:
            self._timer = self._loop.call_later(self._limits.idle, self._sweep)

    def _sweep(self) -> None:
        """Let go of what nobody has used for long; an event loop with nothing but this timer still ends."""
        self._timer = None
        oldest = self._loop.time() - self._limits.idle
        for key, team in list(self._teams.items()):
            for worker in team.idle:
                if worker.idle_since <= oldest:
                    worker.leave()
            team.idle = [worker for worker in team.idle if worker.usable]
            if not team.idle and not team.users:
                del self._teams[key]
        waiting = [worker.idle_since for team in self._teams.values() for worker in team.idle]
        if waiting:
            self._timer = self._loop.call_at(min(waiting) + self._limits.idle, self._sweep)


async def keep(crew: Crew) -> AsyncGenerator[Crew, None]:
    """Tie a crew to its event loop: a loop that shuts down closes its generators, and so ends the crew."""
    try:
        yield crew
    finally:
        crew.kill()
