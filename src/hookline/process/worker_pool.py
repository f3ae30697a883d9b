"""A pool of warm Python processes that call hook functions, one call at a time each.

A worker gets length-prefixed JSON on a socket pair. Its descriptors 1 and 2 are a pipe that is read here, so that the
output of a hook is kept for the trace and cannot be mistaken for an answer. It leads a process group of its own, which is
signalled only until the worker is reaped, because then its pid may be reused.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.process import native, worker_main
from hookline.process.containment import Cell, CellKey, Containment
from hookline.process.environment import EnvironmentAllowList
from hookline.process.limits import LONG_LIVED_PERIOD, ConcurrencyLimiter, GroupWatch
from hookline.process.portable import signal_group
from hookline.process.result import GRACE_SECONDS, ContainmentError, signal_name
from hookline.process.worker_main import ANSWER_LIMIT, HEADER

NOISE_LIMIT: Final = 1_000_000
NOISE_KEPT: Final = 65_536
_CHUNK: Final = 262_144
_POLL_SECONDS: Final = 0.01
# after SIGKILL; only a process stuck in the kernel takes longer, and the event loop does not wait for that
_REAP_SECONDS: Final = 0.5


class WorkerStatus(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    TIMED_OUT = "timed_out"
    OVERFLOWED = "overflowed"
    DIED = "died"
    NOT_STARTED = "not_started"
    NOT_CONTAINED = "not_contained"
    NO_FREE_WORKER = "no_free_worker"
    LIMITED = "limited"
    TAMPERED = "tampered"


class WorkerResponse(Struct, frozen=True, kw_only=True):
    """The answer of a worker, and what it printed.

    If it failed, `detail` says how it died, which limit ended it, what it changed that others obey, or why it did not start.
    `layers` are those that contained it.
    """

    status: WorkerStatus
    frame: bytes = b""
    noise: bytes = b""
    detail: str = ""
    layers: tuple[str, ...] = ()


class WorkerLimits(Struct, frozen=True, kw_only=True):
    """How many workers there may be, and how long each is kept.

    `group` counts the workers with the same interpreter and directories, `total` those of one event loop; beyond that,
    idle ones make room.
    """

    calls: int = 500
    idle: float = 600.0
    group: int = 4
    total: int = 16


class GroupKey(Struct, frozen=True):
    """What workers must have in common to replace each other; `cell_key` says what contains them.

    A worker for approved hooks does not have the directories on its path: modules imported from them must be approved, too.
    """

    interpreter: str
    folders: tuple[str, ...]
    approved: bool = False
    cell_key: CellKey | None = None


class PythonWorker:
    """One worker process, and the cell that contains it. It belongs to the event loop that started it."""

    def __init__(self, interpreter: str, *, setup: bytes, cell: Cell | None = None) -> None:
        self.calls = 0
        self.idle_since = 0.0
        self.idle_timer: asyncio.TimerHandle | None = None
        self.is_closed = False
        self._exit_code: int | None = None
        self._cell = cell
        self._limit = ""
        self._watch: GroupWatch | None = None
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[WorkerStatus] | None = None
        self._received = bytearray()
        self._unsent = bytearray()
        self._is_writing = False
        self._noise = bytearray()
        self._noise_size = 0
        self._has_hung_up = False
        self._kill_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._socket, self._noise_pipe, self._pid = _start(interpreter, cell)
        if cell is not None:
            self._watch = GroupWatch(self._pid, cell.key.sandbox, self._on_limit, period=LONG_LIVED_PERIOD)
        self._loop.add_reader(self._socket, self._on_answer)
        self._loop.add_reader(self._noise_pipe, self._on_noise)
        self._send(setup)

    @property
    def is_usable(self) -> bool:
        """Whether it takes another call."""
        return not self._limit and not (self._has_hung_up or self.is_closed or self._kill_at)

    async def call(self, frames: Sequence[bytes], *, deadline: float) -> WorkerResponse:
        """Send one call; a worker that did not answer must be ended."""
        self.calls += 1
        if self.idle_timer is not None:
            self.idle_timer.cancel()
        # output between two calls belongs to neither
        self._read_noise()
        self._noise.clear()
        self._noise_size = 0
        answer = self._answer = self._loop.create_future()
        timer = self._loop.call_at(deadline, self._settle, WorkerStatus.TIMED_OUT)
        self._send(*frames)
        try:
            status = await answer
        finally:
            timer.cancel()
            self._answer = None
        if not self.is_closed:
            # what was printed before the answer is in the pipe by the time the answer is here
            self._read_noise()
        frame = bytes(self._received[HEADER.size :]) if status is WorkerStatus.ANSWERED else b""
        self._received.clear()
        layers = self._cell.layers if self._cell is not None else ()
        return WorkerResponse(status=status, frame=frame, noise=bytes(self._noise), layers=layers)

    def find_tampering(self) -> str:
        """Return what it changed that others obey, in a sentence, or ""."""
        return self._cell.find_tampering() if self._cell is not None else ""

    async def terminate(self) -> None:
        """Terminate the group, kill the rest of it after a second, and reap."""
        self._signal("SIGTERM")
        await self._wait(lambda: self._has_hung_up)

    async def stop(self) -> None:
        """Let the process end by itself, and kill it when it takes more than a second."""
        self._hang_up()
        await self._wait(self._reap)

    def stop_soon(self) -> None:
        """Do the same without waiting; timers of the event loop do the rest."""
        if not self._kill_at and not self.is_closed:
            self._kill_at = self._loop.time() + GRACE_SECONDS
            self._hang_up()
            self._check_stopped()

    def kill(self) -> None:
        """Kill and reap it at once, and close everything."""
        if self.is_closed:
            return
        self.is_closed = self._has_hung_up = True
        if not self._loop.is_closed():
            self._settle(WorkerStatus.DIED)
        if self._exit_code is None:
            self._signal("SIGKILL")
            until = time.monotonic() + _REAP_SECONDS
            while not self._reap() and time.monotonic() < until:
                time.sleep(0.0005)
        for timer in (self._timer, self.idle_timer, self._watch):
            if timer is not None:
                timer.cancel()
        if not self._loop.is_closed():
            self._loop.remove_reader(self._noise_pipe)
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        os.close(self._noise_pipe)
        self._socket.close()
        if self._cell is not None:
            self._cell.release()

    def describe_end(self) -> str:
        """Describe how the process ended, or name the limit that it exceeded."""
        if self._limit:
            return self._limit
        if self._exit_code is None:
            return "it stopped answering"
        if self._exit_code >= 0:
            return f"it ended itself with exit code {self._exit_code}"
        return f"it was ended by {signal_name(-self._exit_code)}"

    async def _wait(self, has_ended: Callable[[], bool]) -> None:
        until = self._loop.time() + GRACE_SECONDS
        try:
            while not has_ended() and self._loop.time() < until:  # noqa: ASYNC110 - there is no event for a reaped child
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            self.kill()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def _check_stopped(self) -> None:
        if self._reap() or self._loop.time() >= self._kill_at:
            self.kill()
        else:
            self._timer = self._loop.call_later(_POLL_SECONDS, self._check_stopped)

    def _signal(self, name: str) -> None:
        if self._exit_code is None:
            signal_group(self._pid, name)

    def _on_limit(self, limit: str) -> None:
        self._limit = limit
        if self._answer is not None:
            self._settle(WorkerStatus.LIMITED)
        else:
            self.kill()

    def _reap(self) -> bool:
        if self._exit_code is None:
            try:
                if self._cell is not None and os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    # nothing that a contained hook started stays: none of it can leave the group
                    self._signal("SIGKILL")
                pid, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:
                # reaped elsewhere, or the embedding program ignores SIGCHLD
                self._exit_code = 0
            else:
                self._exit_code = os.waitstatus_to_exitcode(status) if pid else None
        return self._exit_code is not None

    def _settle(self, status: WorkerStatus) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(status)

    def _send(self, *frames: bytes) -> None:
        for frame in frames:
            self._unsent += HEADER.pack(len(frame)) + frame
        self._on_writable()

    def _on_writable(self) -> None:
        try:
            sent = self._socket.send(self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            sent = len(self._unsent)  # it died, which the reader notices
        del self._unsent[:sent]
        if self._unsent and not self._is_writing:
            self._loop.add_writer(self._socket, self._on_writable)
        elif self._is_writing and not self._unsent:
            self._loop.remove_writer(self._socket)
        self._is_writing = bool(self._unsent)

    def _on_answer(self) -> None:
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._has_hung_up = True
            self._loop.remove_reader(self._socket)
            if self._answer is not None:
                self._settle(WorkerStatus.DIED)
            else:
                self.stop_soon()
            return
        self._received += data
        if len(self._received) < HEADER.size:
            return
        (size,) = HEADER.unpack_from(self._received)
        if size > ANSWER_LIMIT:
            self._settle(WorkerStatus.OVERFLOWED)
        elif len(self._received) >= HEADER.size + size:
            self._settle(WorkerStatus.ANSWERED)

    def _on_noise(self) -> None:
        with suppress(OSError):
            data = os.read(self._noise_pipe, NOISE_KEPT)
            if not data:
                self._loop.remove_reader(self._noise_pipe)
            self._add_noise(data)
            if self._noise_size > NOISE_LIMIT:
                self._settle(WorkerStatus.OVERFLOWED)

    def _read_noise(self) -> None:
        with suppress(OSError):
            while self._noise_size <= NOISE_LIMIT and (data := os.read(self._noise_pipe, NOISE_KEPT)):
                self._add_noise(data)

    def _add_noise(self, data: bytes) -> None:
        self._noise_size += len(data)
        self._noise += data[: NOISE_KEPT - len(self._noise)]


def _start(interpreter: str, cell: Cell | None) -> tuple[socket.socket, int, int]:
    """Start a worker; return our end of the socket, the pipe with its output, and its pid."""
    ours, theirs = socket.socketpair()
    noise_pipe, their_noise = os.pipe()
    ends = [theirs.detach(), their_noise]
    try:
        native.move_above_streams(ends)
        pid = _spawn(interpreter, ends, cell)
    except BaseException:
        ours.close()
        os.close(noise_pipe)
        raise
    finally:
        native.close_all(ends)
    ours.settimeout(0)
    os.set_blocking(noise_pipe, False)
    return ours, noise_pipe, pid


def _spawn(interpreter: str, ends: Sequence[int], cell: Cell | None) -> int:
    """Start the process with one end as its stdin and the other for its output; return its pid."""
    argv: tuple[str, ...] = (interpreter, "-I", "-u", worker_main.__file__)
    channel, output = ends
    env = dict(os.environb)
    env.pop(b"", None)
    if cell is not None:
        EnvironmentAllowList(cell.key.sandbox.env).apply(env)
        env = {**env, **{os.fsencode(name): os.fsencode(value) for name, value in cell.variables.items()}}
        argv = (*cell.wrapper, *argv)
    if native.load_library() is None:
        return os.posix_spawn(
            argv[0],
            argv,
            env,
            file_actions=[(os.POSIX_SPAWN_DUP2, end, target) for target, end in enumerate((channel, output, output))],
            setpgroup=0,
            setsigmask=(),
            setsigdef=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD),
        )
    return native.spawn(
        argv[0],
        argv,
        env=env,
        # each call brings its own folder; this one is in the mounts of the cell
        cwd="" if cell is None else cell.tmp,
        streams=(channel, output, output),
        sandbox=None if cell is None else cell.struct,
    )


class WorkerGroup:
    """The workers that can replace each other."""

    def __init__(self, size: int) -> None:
        self.limiter = ConcurrencyLimiter(size, patience=None)
        self.idle: list[PythonWorker] = []
        self.users = 0


class WorkerPool:
    """All workers of one event loop."""

    def __init__(self, limits: WorkerLimits, containment: Containment) -> None:
        self._limits = limits
        self._containment = containment
        self._loop = asyncio.get_running_loop()
        self._groups: dict[GroupKey, WorkerGroup] = {}
        self._workers: set[PythonWorker] = set()

    async def call(self, key: GroupKey, frames: Sequence[bytes], *, timeout: float) -> WorkerResponse:
        """Call a free worker, or start one; waiting for either counts as time of the hook."""
        deadline = self._loop.time() + timeout
        group = self._groups.setdefault(key, WorkerGroup(self._limits.group))
        group.users += 1
        try:
            if not group.limiter.try_acquire():
                async with asyncio.timeout_at(deadline):
                    await group.limiter.acquire()
        except TimeoutError:
            return WorkerResponse(status=WorkerStatus.NO_FREE_WORKER)
        else:
            try:
                return await self._call_worker(group, key, frames=frames, deadline=deadline)
            finally:
                group.limiter.release()
        finally:
            group.users -= 1

    async def close(self) -> None:
        """Stop all workers and wait until they are gone."""
        try:
            await asyncio.gather(*(worker.stop() for worker in list(self._workers)))
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill all workers at once, also when the event loop is closed."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
        self._groups.clear()

    async def _call_worker(
        self, group: WorkerGroup, key: GroupKey, *, frames: Sequence[bytes], deadline: float
    ) -> WorkerResponse:
        worker = None
        while group.idle and (worker is None or not worker.is_usable):
            worker = group.idle.pop()
        try:
            if worker is None or not worker.is_usable:
                worker = self._start_worker(key)
        except ContainmentError as problem:
            return WorkerResponse(status=WorkerStatus.NOT_CONTAINED, detail=problem.strerror or str(problem))
        except OSError as problem:
            return WorkerResponse(status=WorkerStatus.NOT_STARTED, detail=problem.strerror or str(problem))
        try:
            response = await worker.call(frames, deadline=deadline)
        except BaseException:
            worker.kill()
            raise
        if response.status is WorkerStatus.ANSWERED and (tampering := worker.find_tampering()):
            await worker.terminate()
            return replace(response, status=WorkerStatus.TAMPERED, frame=b"", detail=tampering)
        if response.status is not WorkerStatus.ANSWERED:
            await worker.terminate()
            return replace(response, detail=worker.describe_end())
        if worker.calls >= self._limits.calls:
            worker.stop_soon()
            return response
        worker.idle_since = self._loop.time()
        worker.idle_timer = self._loop.call_later(self._limits.idle, worker.stop_soon)
        group.idle.append(worker)
        return response

    def _start_worker(self, key: GroupKey) -> PythonWorker:
        self._workers = {worker for worker in self._workers if not worker.is_closed}
        for group_key, group in list(self._groups.items()):
            group.idle = [worker for worker in group.idle if worker.is_usable]
            if not group.idle and not group.users:
                del self._groups[group_key]
        if len(self._workers) >= self._limits.total:
            idle = [worker for group in self._groups.values() for worker in group.idle]
            if idle:
                min(idle, key=lambda worker: worker.idle_since).stop_soon()
        # hooks can import what this program can; another interpreter has libraries of its own
        is_ours = key.interpreter == sys.executable
        path = [folder for folder in sys.path if is_ours and folder.startswith("/")]
        if not key.approved:
            path += key.folders
        cell = self._acquire(key.cell_key) if key.cell_key is not None else None
        setup: Mapping[str, object] = {"path": path, "env": {} if cell is None else cell.variables}
        try:
            worker = PythonWorker(key.interpreter, setup=worker_main.pack_header(setup), cell=cell)
        except BaseException:
            if cell is not None:
                cell.release()
            raise
        self._workers.add(worker)
        return worker

    def _acquire(self, key: CellKey) -> Cell:
        try:
            return self._containment.acquire(key)
        except ContainmentError:
            raise
        except OSError as problem:
            raise ContainmentError(problem.errno, problem.strerror or str(problem)) from problem


async def tie_to_loop(pool: WorkerPool) -> AsyncGenerator[WorkerPool, None]:
    """Tie a pool to its event loop: a loop that shuts down closes its async generators, and so kills the workers."""
    try:
        yield pool
    finally:
        pool.kill()
