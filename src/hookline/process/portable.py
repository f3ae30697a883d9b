"""The process runner made of asyncio's own parts, for systems without `posix_spawn` and pidfds."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from typing import Final, TypeVar

from hookline.process.result import GRACE_SECONDS, STDERR, STDOUT, ExitReason, OutputBuffer, ProcessResult
from hookline.process.spec import ProcessSpec

DRAIN_SECONDS: Final = 0.25
"""How long output that is in a pipe may take to arrive after the child has ended."""

# Popen cannot give a child its descriptor 3, a shell can
_OPEN_AND_RUN: Final = 'exec 3<"$1" && shift && exec "$@"'

P = TypeVar("P", bound=asyncio.SubprocessProtocol)

_GROUP: Final = None if sys.platform == "win32" else 0
_FLAGS: Final = int(getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0))


async def run(spec: ProcessSpec, *, stdin: bytes, timeout: float) -> ProcessResult:
    """Run a program to its end and return its output; `linux.run` has the contract."""
    spec = spec.add_wrapper()
    program, argv = spec.program, spec.argv
    with ExitStack() as stack:
        if spec.fd3_data:
            file = stack.enter_context(tempfile.NamedTemporaryFile(prefix="hookline-"))
            file.write(spec.fd3_data)
            file.flush()
            program, argv = "/bin/sh", ("sh", "-c", _OPEN_AND_RUN, "hookline", file.name, program, *argv[1:])
        transport, protocol = await _start(spec, program, argv)
        try:
            return spec.check_wrapper(await _communicate(transport, protocol, stdin, timeout))
        except asyncio.CancelledError:
            await _finish_despite_cancellation(_kill(transport, protocol))
            raise
        except GeneratorExit:
            _signal(transport, "SIGKILL")
            close_transport(transport)
            raise


class _OutputProtocol(asyncio.SubprocessProtocol):
    """Collects the output of one child, and resolves a future at each step of its end."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.output = OutputBuffer()
        self.has_overflowed = False
        self.exited: asyncio.Future[None] = loop.create_future()
        self.exited_or_overflowed: asyncio.Future[None] = loop.create_future()
        self.silent: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._open = {STDOUT, STDERR}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Store as much as fits."""
        if not self.output.add(fd, data):
            self.has_overflowed = True
            set_done(self.exited_or_overflowed)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that one stream ended."""
        self._open.discard(fd)
        if not self._open:
            set_done(self.silent)

    def process_exited(self) -> None:
        """Note that the child ended; other processes may still hold its output."""
        set_done(self.exited)
        set_done(self.exited_or_overflowed)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that everything is closed."""
        set_done(self.closed)


async def open_transport(
    make_protocol: Callable[[], P], spec: ProcessSpec, program: str, argv: tuple[str, ...]
) -> tuple[asyncio.SubprocessTransport, P]:
    """Start a child that leads a process group of its own, with pipes as its streams."""
    return await asyncio.get_running_loop().subprocess_exec(
        make_protocol,
        *argv,
        executable=program,
        env=spec.env,
        cwd=spec.cwd or None,
        process_group=_GROUP,
        umask=spec.umask,
        creationflags=_FLAGS,
        pass_fds=spec.pass_fds,
    )


async def _start(
    spec: ProcessSpec, program: str, argv: tuple[str, ...]
) -> tuple[asyncio.SubprocessTransport, _OutputProtocol]:
    starting = asyncio.ensure_future(open_transport(_OutputProtocol, spec, program, argv))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:

        async def undo() -> None:
            with suppress(OSError, ValueError):
                await _kill(*await starting)

        await _finish_despite_cancellation(undo())
        raise


async def _communicate(
    transport: asyncio.SubprocessTransport, protocol: _OutputProtocol, stdin: bytes, timeout: float
) -> ProcessResult:
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        pipe.write_eof() if pipe.can_write_eof() else pipe.close()
    reason = ExitReason.EXITED
    if not await wait_for(timeout, protocol.exited_or_overflowed):
        reason = ExitReason.TIMED_OUT
    elif protocol.has_overflowed:
        reason = ExitReason.OVERFLOWED
    if reason is ExitReason.EXITED:
        await wait_for(DRAIN_SECONDS, protocol.silent)
    else:
        await _terminate(transport, protocol)
    close_transport(transport)
    await wait_for(GRACE_SECONDS, protocol.closed)
    if protocol.has_overflowed and reason is ExitReason.EXITED:
        reason = ExitReason.OVERFLOWED
    code = transport.get_returncode()
    return ProcessResult(
        exit_code=-9 if code is None else code,
        stdout=protocol.output.get(STDOUT),
        stderr=protocol.output.get(STDERR),
        reason=reason,
    )


async def _terminate(transport: asyncio.SubprocessTransport, protocol: _OutputProtocol) -> None:
    """Send SIGTERM to everything the hook started, and SIGKILL after a grace period."""
    if protocol.has_overflowed:
        for stream in (STDOUT, STDERR):
            pipe = transport.get_pipe_transport(stream)
            if pipe is not None:
                pipe.close()
    _signal(transport, "SIGTERM")
    await wait_for(GRACE_SECONDS, protocol.exited, protocol.silent)
    _signal(transport, "SIGKILL")
    await wait_for(GRACE_SECONDS, protocol.exited)


async def _kill(transport: asyncio.SubprocessTransport, protocol: _OutputProtocol) -> None:
    """Kill everything the hook started."""
    _signal(transport, "SIGKILL")
    # not before: a transport that is closed reaps the child itself, in a race with asyncio's child watcher
    await wait_for(GRACE_SECONDS, protocol.exited)
    close_transport(transport)
    await wait_for(GRACE_SECONDS, protocol.closed)


async def _finish_despite_cancellation(work: Coroutine[object, object, None]) -> None:
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)


def _signal(transport: asyncio.SubprocessTransport, name: str) -> None:
    """Signal everything the hook started.

    The child may have been reaped. Its pid stays the number of the group as long as the group has members; without
    members, only a process that reused the pid within this second could be hit.
    """
    if sys.platform == "win32":
        with suppress(ProcessLookupError, PermissionError):
            transport.kill()  # there is no SIGTERM, and only the child itself can be reached
    else:
        signal_group(transport.get_pid(), name)


def signal_group(pid: int, name: str) -> None:
    """Signal a process group, which may be gone, or run as another user (sudo)."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, getattr(signal, name))


def close_transport(transport: asyncio.SubprocessTransport) -> None:
    """Close a transport; asyncio signals a child that still runs, which is refused if it runs as another user."""
    with suppress(PermissionError):
        transport.close()


async def reap(
    transport: asyncio.SubprocessTransport, exited: asyncio.Future[None], closed: asyncio.Future[None]
) -> None:
    """Wait for the end of a child, kill its group after the grace period, and close everything."""
    await wait_for(GRACE_SECONDS, exited)
    signal_group(transport.get_pid(), "SIGKILL")
    await wait_for(GRACE_SECONDS, exited)
    close_transport(transport)
    await wait_for(GRACE_SECONDS, closed)


def set_done(future: asyncio.Future[None]) -> None:
    """Resolve a future that may be resolved already."""
    if not future.done():
        future.set_result(None)


async def wait_for(seconds: float, *futures: asyncio.Future[None]) -> bool:
    """Wait for futures, but not longer than this; return whether all are done."""
    _, pending = await asyncio.wait(futures, timeout=seconds)
    return not pending
