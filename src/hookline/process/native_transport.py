"""A transport of asyncio for a child that the C library starts: asyncio's own can contain none.

The child is reaped when the transport is closed, and not when it ends: until then its pid is also the number of its group,
which is signalled last.
"""

import asyncio
import os
import signal
from contextlib import suppress
from functools import partial
from typing import Final

from hookline.process import linux, native
from hookline.process.result import STDERR, STDOUT
from hookline.process.spec import ProcessSpec

_STDIN: Final = 0
# asyncio's own, for a child whose exit code another part of this program took
_UNKNOWN_CODE: Final = 255


async def start(spec: ProcessSpec, protocol: asyncio.SubprocessProtocol) -> None:
    """Start a child that leads a process group of its own, with pipes as its streams.

    Raises:
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be passed to a program.
    """
    if not linux.is_supported():
        await asyncio.get_running_loop().subprocess_exec(
            lambda: protocol,
            *spec.argv,
            executable=spec.program,
            env=spec.env,
            cwd=spec.cwd or None,
            process_group=0,
            umask=spec.umask,
            pass_fds=spec.pass_fds,
        )
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
