"""The process runner made of asyncio's own parts, for systems without `posix_spawn` and pidfds."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from hookline import surroundings
from hookline.kinds._child import GRACE, STDERR, STDOUT, Ended, Env, Feed, Finished, Output, text_of

# What the child left in its pipes arrives within a turn of the loop; a grandchild that holds them is not waited for.
_DRAIN: Final = 0.25

# Popen cannot give a child its descriptor 3, a shell can.
_OPEN_AND_RUN: Final = 'exec 3<"$1" && shift && exec "$@"'

_GROUP: Final = None if sys.platform == "win32" else 0
_FLAGS: Final = int(getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0))


class _Listener(asyncio.SubprocessProtocol):
    """Collects what one child says, and tells when something happened to it."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.output = Output()
        self.overflowed = False
        self.exited: asyncio.Future[None] = loop.create_future()
        self.stopped: asyncio.Future[None] = loop.create_future()
        self.silent: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._open = {STDOUT, STDERR}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        if not self.output.add(fd, data):
            self.overflowed = True
            _set(self.stopped)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that one stream ended."""
        self._open.discard(fd)
        if not self._open:
            _set(self.silent)

    def process_exited(self) -> None:
        """Note the child's end; others may still hold its output."""
        _set(self.exited)
        _set(self.stopped)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that nothing is held any more."""
        _set(self.closed)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _within(seconds: float, *futures: asyncio.Future[None]) -> bool:
    """Wait for all of them, but not for long; say whether all came."""
    _, pending = await asyncio.wait(futures, timeout=seconds)
    return not pending


def _signal(transport: asyncio.SubprocessTransport, name: str) -> None:
    """Signal everything the hook started.

    The child may be reaped by now. Its number stays the group's as long as the group has members, and when it
    has none there is, but for a reuse of the number within this second, nobody to reach.
    """
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            transport.kill()  # there is no asking, and only the child itself can be reached
        else:
            os.killpg(transport.get_pid(), getattr(signal, name))


async def _end(transport: asyncio.SubprocessTransport, listener: _Listener) -> None:
    """Ask everything the hook started to end, then make it."""
    if listener.overflowed:
        _deafen(transport)
    _signal(transport, "SIGTERM")
    await _within(GRACE, listener.exited, listener.silent)
    _signal(transport, "SIGKILL")
    await _within(GRACE, listener.exited)


async def _kill(transport: asyncio.SubprocessTransport, listener: _Listener) -> None:
    """End everything the hook started at once."""
    _signal(transport, "SIGKILL")
    # closed only then: a transport that is closed earlier reaps the child itself, under its watcher's hands
    await _within(GRACE, listener.exited)
    _close(transport)
    await _within(GRACE, listener.closed)


async def _surely(work: Coroutine[object, object, None]) -> None:
    """Do it to the end, however often the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)


def _close(transport: asyncio.SubprocessTransport) -> None:
    # asyncio signals a child that still runs, which is refused when it runs as another user (sudo)
    with suppress(PermissionError):
        transport.close()


def _deafen(transport: asyncio.SubprocessTransport) -> None:
    for stream in (STDOUT, STDERR):
        pipe = transport.get_pipe_transport(stream)
        if pipe is not None:
            pipe.close()


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        pipe.write_eof() if pipe.can_write_eof() else pipe.close()


async def _converse(
    transport: asyncio.SubprocessTransport, listener: _Listener, *, stdin: bytes, timeout: float
) -> Finished:
    _feed(transport, stdin)
    if not await _within(timeout, listener.stopped):
        ended = Ended.TIMED_OUT
        await _end(transport, listener)
    elif listener.overflowed:
        ended = Ended.OVERFLOWED
        await _end(transport, listener)
    else:
        ended = Ended.EXITED
        await _within(_DRAIN, listener.silent)
    _close(transport)
    await _within(GRACE, listener.closed)
    if listener.overflowed and ended is Ended.EXITED:
        ended = Ended.OVERFLOWED
    code = transport.get_returncode()
    return Finished(
        exit_code=-9 if code is None else code,
        stdout=listener.output.of(STDOUT),
        stderr=listener.output.of(STDERR),
        ended=ended,
    )


_Started: TypeAlias = tuple[asyncio.SubprocessTransport, _Listener]


async def _start(program: str, argv: tuple[str, ...], *, env: Env, cwd: str, files: Sequence[int]) -> _Started:
    loop = asyncio.get_running_loop()
    umask = surroundings.umask()
    starting = asyncio.ensure_future(
        loop.subprocess_exec(
            _Listener,
            *argv,
            executable=program,
            env=env,
            cwd=cwd or None,
            process_group=_GROUP,
            umask=-1 if umask is None else umask,
            creationflags=_FLAGS,
            pass_fds=files,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _surely(_undo(starting))
        raise


async def _undo(starting: asyncio.Future[_Started]) -> None:
    with suppress(OSError, ValueError):
        await _kill(*await starting)


async def run(
    program: str,
    argv: tuple[str, ...],
    *,
    stdin: Feed,
    env: Env,
    cwd: str = "",
    timeout: float,
    extra: bytes = b"",
    files: Sequence[int] = (),
) -> Finished:
    """Run a program to its end and return what it said; `_process.run` has the contract."""
    name = ""
    try:
        if extra:
            name = _stored(extra)
            program, argv = "/bin/sh", ("sh", "-c", _OPEN_AND_RUN, "hookline", name, program, *argv[1:])
        transport, listener = await _start(program, argv, env=env, cwd=cwd, files=files)
        try:
            return await _converse(transport, listener, stdin=text_of(stdin), timeout=timeout)
        except asyncio.CancelledError:
            await _surely(_kill(transport, listener))
            raise
        except GeneratorExit:
            _signal(transport, "SIGKILL")
            _close(transport)
            raise
    finally:
        if name:
            _forget(name)


def _stored(extra: bytes) -> str:
    import tempfile  # noqa: PLC0415 - only for values too long for an argument

    descriptor, name = tempfile.mkstemp(prefix="hookline-")
    os.close(descriptor)
    Path(name).write_bytes(extra)
    return name


def _forget(name: str) -> None:
    Path(name).unlink()
