"""Long-lived hook processes: one process for many events, started at the first, started again after it died.

All processes of an engine live on one event loop in a thread of its own. So one process serves every event loop of the
embedding program, that of `emit_sync` included, and outlives each of them.

A process belongs to one hook in one directory and has the environment of the event that started it. It is replaced when
the hook, its approved bytes, or, where no approval is needed, the files its command names have changed. A request is
never sent twice, because the engine cannot know what a hook did before it died.

Requests and answers are lines of JSON. JSON-RPC requests carry an id and may run side by side; all others are sent one at
a time, because only their order tells which answer belongs to which.

The C library starts a process, because asyncio's own transport can contain none (`NativeTransport`). The process is reaped
when its transport is closed, and not when it ends: until then its pid is also the number of its group, which is signalled
last.
"""

import asyncio
import itertools
import os
import signal
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.loop_thread import LoopThread
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.process import linux, native
from hookline.process.containment import CellKey
from hookline.process.limits import LONG_LIVED_PERIOD, GroupWatch
from hookline.process.portable import DRAIN_SECONDS, open_transport, reap, set_done, signal_group
from hookline.process.result import (
    EXIT_NOT_STARTED,
    OUTPUT_LIMIT,
    STDERR,
    STDOUT,
    ProcessResult,
    describe_limit,
    refusal_reply,
    result_to_reply,
    start_failure_reply,
)
from hookline.process.spec import Launch, ProcessSpec

IDLE: Final = 600.0
"""Seconds without a request after which a process is ended; the next request starts another."""

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds until a hook is started again that died twice before its first answer; doubled each time, up to a minute."""

_FORGIVEN_DEATHS: Final = 1
_SHOWN_OUTPUT: Final = 300
# A process without ids that prints a second line for one event would have it taken for the next answer. Most such lines
# come at once, and are recognised if the next request waits this long.
_SETTLE_SECONDS: Final = 0.01
_STDIN: Final = 0
_STDERR_KEPT: Final = 65_536
# asyncio's own, for a child whose exit code another part of this program took
_UNKNOWN_CODE: Final = 255

_FileStamps = tuple[tuple[str, int, int, int], ...]


async def start_child(spec: ProcessSpec, protocol: asyncio.SubprocessProtocol) -> None:
    """Start a child that leads a process group of its own, with pipes as its streams.

    Raises:
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be passed to a program.
    """
    if not linux.is_supported():
        await open_transport(lambda: protocol, spec, spec.program, spec.argv)
        return
    child = native.start(
        spec.program,
        spec.argv,
        env=spec.env,
        cwd=spec.cwd if spec.cell is None else spec.working_dir,
        umask=spec.umask,
        pass_fds=spec.pass_fds,
        sandbox=None if spec.cell is None else spec.cell.struct,
    )
    await NativeTransport(child.pid, child.pidfd, protocol).connect((child.stdin, child.stdout, child.stderr))


class NativeTransport(asyncio.SubprocessTransport):
    """One child, its pipes and its pidfd."""

    def __init__(self, pid: int, pidfd: int, protocol: asyncio.SubprocessProtocol) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._pid = pid
        self._pidfd = pidfd
        self._protocol = protocol
        self._code: int | None = None
        self._is_closed = False
        self._pipes: dict[int, asyncio.BaseTransport] = {}
        self._open = {_STDIN, STDOUT, STDERR}

    async def connect(self, pipes: tuple[int, int, int]) -> None:
        """Have the event loop read and write the pipes, and watch the child."""
        stdin, *outputs = pipes
        self._pipes[_STDIN], _ = await self._loop.connect_write_pipe(
            partial(_PipeProtocol, self, _STDIN), os.fdopen(stdin, "wb", buffering=0)
        )
        self._protocol.connection_made(self)
        for number, pipe in zip((STDOUT, STDERR), outputs, strict=True):
            self._pipes[number], _ = await self._loop.connect_read_pipe(
                partial(_PipeProtocol, self, number), os.fdopen(pipe, "rb", buffering=0)
            )
        self._loop.add_reader(self._pidfd, self._on_exit)

    def get_pid(self) -> int:
        """Return the pid of the child."""
        return self._pid

    def get_returncode(self) -> int | None:
        """Return its exit code, or minus the number of the signal that ended it; None while it runs."""
        return self._code

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        """Return the transport of one stream."""
        return self._pipes.get(fd)

    def is_closing(self) -> bool:
        """Return whether it was closed."""
        return self._is_closed

    def close(self) -> None:
        """Close the pipes, and reap the child; one that still runs is killed, and reaped when it has ended."""
        if self._is_closed:
            return
        self._is_closed = True
        for pipe in self._pipes.values():
            pipe.close()
        if self._code is None:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        else:
            self._reap()

    def on_data(self, fd: int, data: bytes) -> None:
        """Pass on what the child printed."""
        self._protocol.pipe_data_received(fd, data)

    def on_pipe_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that one stream ended."""
        self._open.discard(fd)
        self._protocol.pipe_connection_lost(fd, exc)
        self._finish()

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._pidfd)
        try:
            status = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            self._code = _UNKNOWN_CODE
        else:
            code = 0 if status is None else status.si_status
            self._code = code if status is None or status.si_code == os.CLD_EXITED else -code
        if self._is_closed:
            self._reap()
        self._protocol.process_exited()
        self._finish()

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            os.waitpid(self._pid, os.WNOHANG)
        os.close(self._pidfd)

    def _finish(self) -> None:
        if self._code is not None and not self._open:
            self._protocol.connection_lost(None)


class _PipeProtocol(asyncio.Protocol):
    """Passes on what happens to one stream."""

    def __init__(self, owner: NativeTransport, fd: int) -> None:
        self._owner = owner
        self._fd = fd

    def data_received(self, data: bytes) -> None:
        self._owner.on_data(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.on_pipe_lost(self._fd, exc)


class CallOrder(Struct, frozen=True, kw_only=True):
    """One event for one hook, and how its process is started.

    `prepare` makes the launch, and `fallback` returns another spec after a failed start with this errno.
    """

    hook: Hook
    spec: ProcessSpec
    request: Request
    prepare: Callable[[], Launch | Reply]
    fallback: Callable[[ProcessSpec, int], ProcessSpec | None]


class PendingCall:
    """One request: its line, the id sent to the process (0 without JSON-RPC), and the id it came with."""

    def __init__(self, document: object, call_id: int, limit: asyncio.Timeout) -> None:
        self.limit = limit
        self.id = 0
        self.original_id: object = None
        if isinstance(document, dict) and "jsonrpc" in document:
            self.id = call_id
            self.original_id = document.get("id")
            document = {**document, "id": call_id}
        self.line = json_codec.dump(document) + b"\n"
        self.answers_before = 0
        self.answer: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()

    def resolve(self, reply: Reply | None) -> None:
        """Set the answer, unless the caller has given up."""
        if not self.answer.done():
            self.answer.set_result(reply)


class HookProcess(asyncio.SubprocessProtocol):
    """One long-lived process, from its start until it is reaped.

    `answer_count` counts its answers, and `has_died` tells that it ended by itself. `last_output` is what it had printed
    besides answers, on both streams, when it ended. `complaint` is a note for the next caller. `on_unusable` is called
    when it takes no more requests, and `on_reaped` when nothing is left of it.
    """

    def __init__(
        self,
        launch: Launch,
        *,
        on_unusable: "Callable[[HookProcess], None]",
        on_reaped: "Callable[[HookProcess], object]",
    ) -> None:
        self.launch = launch
        self.answer_count = 0
        self.has_died = False
        self.last_output = (b"", b"")
        self.complaint = ""
        self.reaping: asyncio.Task[None] | None = None
        self._on_unusable = on_unusable
        self._on_reaped = on_reaped
        self._loop = asyncio.get_running_loop()
        self._queue: deque[PendingCall] = deque()
        self._sent: dict[int, PendingCall] = {}
        self._abandoned_ids: set[int] = set()
        self._line = bytearray()
        self._noise = bytearray()
        self._stderr = bytearray()
        self._open = {_STDIN, STDOUT, STDERR}
        self._is_ending = False
        self._is_retired = False
        self._send_after = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.SubprocessTransport | None = None
        self._watch: GroupWatch | None = None

    @property
    def is_usable(self) -> bool:
        """Whether it takes requests."""
        return not (self._is_ending or self._is_retired or self._exited.done()) and {_STDIN, STDOUT} <= self._open

    @property
    def pid(self) -> int:
        """Its pid, which is also the number of its group; 0 before it was started."""
        return self._transport.get_pid() if self._transport is not None else 0

    async def request(self, call: PendingCall) -> Reply | None:
        """Wait for an answer; None if the process ended before the request was sent, so that another one may be tried.

        A caller that gives up waiting ends a process that is stuck.
        """
        if self._timer is not None:
            self._timer.cancel()
        self._queue.append(call)
        self._send()
        try:
            return await call.answer
        except asyncio.CancelledError:
            self._abandon(call)
            raise

    def retire(self) -> None:
        """End it after it has answered all requests."""
        self._is_retired = True
        if not self._sent and not self._queue:
            self.end(Failure(FailureKind.INTERNAL, "was ended because nothing was left to ask"))

    def end(self, failure: Failure, *, is_final: bool = False) -> None:
        """End it and everything it started; sent requests fail, and with `is_final` those in the queue, too."""
        if self._is_ending:
            return
        self._is_ending = True
        if self._timer is not None:
            self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        if not self.has_died:
            self.last_output = (_take(self._noise), _take(self._stderr))
        reply = Reply(failure=failure, stderr=self.last_output[1], exit_code=1, argv=self.launch.display_argv)
        self._resolve_all(sent=reply, queued=reply if is_final else None)
        self._on_unusable(self)
        pipe = self._transport.get_pipe_transport(_STDIN) if self._transport is not None else None
        if pipe is not None:
            pipe.close()
        if not self._exited.done() and self.pid:
            signal_group(self.pid, "SIGTERM")
        self.reaping = self._loop.create_task(self._reap())

    # callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that it runs."""
        if isinstance(transport, asyncio.SubprocessTransport):
            self._transport = transport
        if (sandbox := self.launch.spec.sandbox) is not None:
            self._watch = GroupWatch(
                self.pid,
                sandbox,
                lambda limit: self.end(describe_limit(limit, sandbox)),
                period=LONG_LIVED_PERIOD,
            )

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Read answers line by line, and keep the end of stderr."""
        if fd == STDERR:
            self._stderr += data
            del self._stderr[:-_STDERR_KEPT]
            return
        self._line += data
        *lines, rest = self._line.split(b"\n")
        self._line = rest
        for line in lines:
            self._read_line(bytes(line))
        if len(self._line) + len(self._noise) > OUTPUT_LIMIT:
            text = f"printed more than {OUTPUT_LIMIT >> 20} MB without an answer; ended"
            self.end(Failure(FailureKind.TOO_MUCH_OUTPUT, text))
        self._send()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that one stream ended; without stdout there are no answers."""
        self._open.discard(fd)
        if fd == STDOUT and self._line:
            self._read_line(_take(self._line))
        if fd == STDOUT or (fd == _STDIN and not self._sent):
            self._die_soon()
        if self._exited.done() and not self._open & {STDOUT, STDERR}:
            self._die()

    def process_exited(self) -> None:
        """Note that it ended; other processes may still hold its output."""
        set_done(self._exited)
        if self._open & {STDOUT, STDERR}:
            self._die_soon()
        else:
            self._die()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that everything is closed."""
        set_done(self._closed)

    # requests and answers

    def _send(self) -> None:
        pipe = self._transport.get_pipe_transport(_STDIN) if self._transport is not None else None
        if self._is_ending or not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing():
            return
        while self._queue and (self._queue[0].id or not self._sent):
            if self._loop.time() < self._send_after:
                self._loop.call_at(self._send_after, self._send)
                return
            call = self._queue.popleft()
            call.answers_before = self.answer_count
            self._sent[call.id] = call
            pipe.write(call.line)

    def _read_line(self, line: bytes) -> None:
        document, rest = json_codec.find_last_object(line) if line.lstrip().startswith(b"{") else (None, "")
        if document is None or rest:
            self._noise += line + b"\n" if line.strip() else b""
            return
        calls = self._match_calls(document)
        for call in calls:
            self._answer(call, document)
        if not calls:
            self._handle_unmatched(document, line)

    def _match_calls(self, document: dict[str, object]) -> list[PendingCall]:
        """Return the calls that this document answers."""
        if 0 in self._sent:
            return [self._sent[0]]
        call_id = document.get("id")
        if call_id is None and document.get("error") is not None:
            # the process could not parse a request, and so cannot tell which
            return list(self._sent.values())
        is_answer = "result" in document or "error" in document
        call = self._sent.get(call_id) if isinstance(call_id, int) and call_id is not True and is_answer else None
        return [call] if call is not None else []

    def _answer(self, call: PendingCall, document: dict[str, object]) -> None:
        del self._sent[call.id]
        self.answer_count += 1
        if not call.id:
            self._send_after = self._loop.time() + _SETTLE_SECONDS
        if call.id and document.get("id") is not None:
            document = {**document, "id": call.original_id}
        stdout = _take(self._noise) + json_codec.dump(document)
        call.resolve(Reply(stdout=stdout, stderr=_take(self._stderr), argv=self.launch.display_argv))
        if not self._sent and not self._queue:
            self._wait_idle()
        elif not self._sent and _STDIN not in self._open:
            self._die_soon()

    def _handle_unmatched(self, document: dict[str, object], line: bytes) -> None:
        call_id = document.get("id")
        if isinstance(call_id, int) and call_id in self._abandoned_ids:
            self._abandoned_ids.discard(call_id)  # late: its caller has given up
        elif "jsonrpc" in document or self._sent:
            self._noise += line + b"\n"  # answers have ids here, so it cannot be mistaken for one
        else:
            # the next caller would take it for its answer
            self.complaint = "its process was ended, because it printed more than one line of JSON for one event"
            self.end(Failure(FailureKind.INVALID_REPLY, "printed more than one line of JSON for one event; ended"))

    def _wait_idle(self) -> None:
        if self._is_retired or _STDIN not in self._open:
            self.retire()
        else:
            self._timer = self._loop.call_later(IDLE, self.retire)

    def _abandon(self, call: PendingCall) -> None:
        if call in self._queue:
            self._queue.remove(call)
        elif self._sent.pop(call.id, None) is not None:
            self._abandoned_ids.add(call.id)
            # others still wait, and a cancelled call (not one that timed out) proves nothing about the process
            is_spared = call.id and self._sent and not call.limit.expired()
            if call.answers_before == self.answer_count and not is_spared:
                # no answer since: it is stuck; and without ids, the late answer would be taken for the next one
                self.end(Failure(FailureKind.KILLED, "was ended, because it did not answer an earlier event in time"))
        if not self._sent and not self._queue and not self._is_ending:
            self._wait_idle()

    def _resolve_all(self, *, sent: Reply, queued: Reply | None = None) -> None:
        for call in self._sent.values():
            call.resolve(sent)
        for call in self._queue:
            call.resolve(queued)
        self._sent.clear()
        self._queue.clear()

    # the end

    def _die_soon(self) -> None:
        """Give output that is left in the pipes, and the exit code, a moment to arrive."""
        self._loop.call_later(DRAIN_SECONDS, self._die)

    def _die(self) -> None:
        """Fail the sent requests of a process that ended by itself."""
        if self._is_ending:
            return
        self.has_died = True
        code = self._transport.get_returncode() if self._transport is not None else None
        stdout, stderr = self.last_output = (_take(self._noise), _take(self._stderr))
        argv = self.launch.display_argv
        if code:
            reply = result_to_reply(ProcessResult(exit_code=code, stdout=stdout, stderr=stderr), 0.0, argv)
        else:
            event = "closed its stdout" if code is None else "ended with exit code 0"
            failure = Failure(FailureKind.INVALID_REPLY, f"{event} without an answer")
            reply = Reply(stdout=stdout, stderr=stderr, exit_code=1, failure=failure, argv=argv)
        self._resolve_all(sent=reply)
        self.end(Failure(FailureKind.KILLED, "ended"))

    async def _reap(self) -> None:
        if self._transport is not None:
            await reap(self._transport, self._exited, self._closed)
        self.launch.release()
        self._on_reaped(self)


def _take(buffer: bytearray) -> bytes:
    content = bytes(buffer)
    buffer.clear()
    return content


class LongLivedProcesses:
    """The long-lived processes of one engine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._supervisor: _Supervisor | None = None
        self._call_ids = itertools.count(1)

    async def request(self, order: CallOrder, *, timeout: float) -> Reply:
        """Send an event to a hook's process, and wait at most `timeout` seconds, its start included."""
        with self._lock:
            # a forked program has the loop, but not its thread
            if self._supervisor is None or not self._supervisor.thread.is_usable:
                self._supervisor = _Supervisor()
                weakref.finalize(self, _abandon, self._supervisor)
            supervisor = self._supervisor
        work = supervisor.request(order, next(self._call_ids), timeout=timeout)
        return await asyncio.wrap_future(supervisor.thread.start(work))

    async def close(self) -> None:
        """End all processes, and wait until they are gone."""
        with self._lock:
            supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None and supervisor.thread.is_usable:
            await asyncio.wrap_future(supervisor.thread.start(supervisor.end_processes()))
            supervisor.thread.stop()


class _ProcessSlot:
    """The process of one hook in one directory, what it was started for, and how often it died early."""

    def __init__(self) -> None:
        self.process: HookProcess | None = None
        self.hook: Hook | None = None
        self.sealed: object = None
        self.stamps: _FileStamps = ()
        self.deaths = 0
        self.paused_until = 0.0
        self.last_stderr = ""
        self.complaint = ""
        self.lock = asyncio.Lock()

    def fits(self, order: CallOrder, stamps: _FileStamps) -> bool:
        """Return whether a process started now would be the same."""
        return self.hook == order.hook and self.sealed == order.request.sealed and self.stamps == stamps

    def record_end(self, process: HookProcess) -> None:
        """Count an early death, and pause the hook after several."""
        self.complaint = process.complaint or self.complaint
        if process.answer_count:
            self.deaths = 0
        elif process.has_died:
            self.deaths += 1
        self.last_stderr = process.last_output[1].decode("utf-8", "replace").strip()
        if self.deaths > _FORGIVEN_DEATHS:
            pause = FIRST_PAUSE * 2 ** min(self.deaths - _FORGIVEN_DEATHS - 1, 10)
            self.paused_until = asyncio.get_running_loop().time() + min(pause, LONGEST_PAUSE)

    def describe_pause(self, seconds: float) -> Failure:
        """Return why no process is started now."""
        output = f": {self.last_stderr[-_SHOWN_OUTPUT:]}" if self.last_stderr else ""
        text = f"its process ended {self.deaths} times before it answered anything{output}; started again in {seconds:.0f} s"
        return Failure(FailureKind.UNAVAILABLE, text)


class _Supervisor:
    """The processes that live on one event loop, and the thread of that loop."""

    def __init__(self) -> None:
        self.thread = LoopThread("hookline-persistent")
        self.processes: dict[int, HookProcess] = {}
        self._slots: dict[tuple[str, str, CellKey | None], _ProcessSlot] = {}

    async def end_processes(self) -> None:
        """End all processes, and wait until they are gone."""
        processes = list(self.processes.values())
        for process in processes:
            process.end(Failure(FailureKind.KILLED, "was ended because the engine was closed"), is_final=True)
        tasks = [process.reaping for process in processes if process.reaping is not None]
        if tasks:
            await asyncio.wait(tasks)

    async def request(self, order: CallOrder, call_id: int, *, timeout: float) -> Reply:
        """Find or start the process, send the request, and check whether its answer counts."""
        slot = self._slots.setdefault((order.hook.id, order.spec.working_dir, order.spec.cell_key), _ProcessSlot())
        try:
            async with asyncio.timeout(timeout) as limit:
                while True:
                    async with slot.lock:
                        process = await self._get_process(slot, order)
                    if isinstance(process, Reply):
                        return process
                    answer = await process.request(PendingCall(order.request.document, call_id, limit))
                    if answer is not None:  # else the process ended before the request was sent
                        break
        except TimeoutError:
            return _timeout_reply(slot.process, timeout)
        if tampering := process.launch.find_tampering():
            process.end(Failure(FailureKind.REFUSED, tampering))
            return refusal_reply(tampering, layers=process.launch.layers)
        if process.launch.layers:
            answer = replace(answer, sandbox=process.launch.layers)
        if slot.complaint:
            answer = replace(answer, notes=(*answer.notes, slot.complaint))
            slot.complaint = ""
        return answer

    async def _get_process(self, slot: _ProcessSlot, order: CallOrder) -> HookProcess | Reply:
        stamps = _stamp_files(order.spec) if order.request.sealed is None else ()
        fits = slot.fits(order, stamps)
        if slot.process is not None and slot.process.is_usable:
            if fits:
                return slot.process
            slot.process.retire()
        if not fits:
            # whatever made it die may have been fixed
            slot.deaths, slot.paused_until = 0, 0.0
        pause = slot.paused_until - asyncio.get_running_loop().time()
        if pause > 0:
            return Reply(failure=slot.describe_pause(pause), exit_code=EXIT_NOT_STARTED)
        launch = order.prepare()
        if isinstance(launch, Reply):
            return launch
        slot.hook, slot.sealed, slot.stamps = order.hook, order.request.sealed, stamps
        try:
            try:
                slot.process = await self._start(launch, slot)
            except OSError as problem:
                spec = order.fallback(launch.spec, problem.errno or 0)
                if spec is None:
                    raise
                slot.process = await self._start(replace(launch, spec=spec), slot)
        except (OSError, ValueError) as problem:
            launch.release()
            return start_failure_reply(launch.spec.program, launch.spec.cwd, launch.display_argv, problem=problem)
        return slot.process

    async def _start(self, launch: Launch, slot: _ProcessSlot) -> HookProcess:
        process = HookProcess(
            launch, on_unusable=slot.record_end, on_reaped=lambda process: self.processes.pop(process.pid, None)
        )
        starting = asyncio.ensure_future(start_child(launch.spec.add_wrapper(), process))

        def end_unwanted(started: "asyncio.Future[None]") -> None:
            if started.cancelled() or started.exception() is not None:
                launch.release()
                return
            self.processes[process.pid] = process
            process.end(Failure(FailureKind.KILLED, "was ended because no call waited for it any more"))

        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(end_unwanted)
            raise
        self.processes[process.pid] = process
        return process


def _abandon(supervisor: _Supervisor) -> None:
    """Kill the processes of an engine that was never closed."""
    if supervisor.thread.is_usable:
        for pid in list(supervisor.processes):
            signal_group(pid, "SIGKILL")

        async def end() -> None:
            await supervisor.end_processes()
            supervisor.thread.stop()

        # a program that ends leaves it no time for this
        supervisor.thread.start(end())


def _timeout_reply(process: HookProcess | None, timeout: float) -> Reply:
    stdout, stderr = process.last_output if process is not None else (b"", b"")
    text = stdout.decode("utf-8", "replace").strip()
    hint = f"; it printed, and that is not one line of JSON: {text[-_SHOWN_OUTPUT:]}" if text else ""
    failure = Failure(FailureKind.TIMEOUT, f"gave no answer within {timeout:g} s; ended{hint}")
    layers = process.launch.layers if process is not None else ()
    return Reply(failure=failure, stdout=stdout, stderr=stderr, exit_code=1, sandbox=layers)


def _stamp_files(spec: ProcessSpec) -> _FileStamps:
    """Return the files that a command names, and when they changed: an edited script is a new script."""
    stamps = []
    for word in spec.argv or spec.script.split():
        path = os.path.join(spec.working_dir, word.strip("\"'"))  # noqa: PTH118 - runs at each event
        try:
            status = os.stat(path)  # noqa: PTH116
        except (OSError, ValueError):
            continue
        stamps.append((path, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(stamps)
