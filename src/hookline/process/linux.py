"""Run a program on Linux: start it, write its stdin, collect its output, and end everything it started.

The event loop watches a pidfd of the child. Its pipes are read when it has ended, or from `_READ_DELAY` on: most hooks
have ended by then, which saves the loop two registrations and several wake-ups per hook.
"""

import asyncio
import errno
import os
import select
import signal
from contextlib import suppress
from typing import Final

from hookline.model.sandbox import Sandbox
from hookline.process import native
from hookline.process.limits import GroupWatch
from hookline.process.result import GRACE_SECONDS, STDERR, STDOUT, ExitReason, OutputBuffer, ProcessResult
from hookline.process.spec import ProcessSpec

_READ_DELAY: Final = 0.01
_CHUNK: Final = 65_536
# an empty pipe takes a page without blocking
_PAGE: Final = 4096


def is_supported() -> bool:
    """Return whether this system has pidfds, and the library that starts children."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return native.load_library() is not None


async def run(spec: ProcessSpec, *, stdin: bytes, timeout: float) -> ProcessResult:
    """Run a program to its end and return its output.

    After `timeout` seconds, or more output than allowed, the child's process group and its descendants elsewhere get
    SIGTERM, and a second later SIGKILL; when the caller is cancelled, SIGKILL at once. Processes that a hook leaves
    running after a normal exit stay.

    Raises:
        ContainmentError: It could not be contained.
        ChildProcessError: It ran, but its exit code is lost: this program ignores SIGCHLD or reaps all children.
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be passed to a program (NUL, or no encoding).
    """
    spec = spec.add_wrapper()
    cell = spec.cell
    child = Child(
        native.start(
            spec.program,
            spec.argv,
            env=spec.env,
            # a folder of the cell's own mounts
            cwd=spec.cwd if cell is None else spec.working_dir,
            umask=spec.umask,
            fd3_data=spec.fd3_data,
            pass_fds=spec.pass_fds,
            sandbox=None if cell is None else cell.struct,
            # in the pipe before the start if it fits: a child must not find it empty if the engine is killed
            stdin=stdin,
        ),
        timeout=timeout,
        sandbox=None if cell is None else cell.key.sandbox,
    )
    try:
        if child.wants_stdin:
            child.write_stdin(stdin)
        child.watch()
        return spec.check_wrapper(await child.result)
    except asyncio.CancelledError:
        await child.kill()
        raise
    except BaseException:
        child.kill_now()
        raise


def open_pidfd(pid: int) -> int:
    """Return a pidfd of a child; one that cannot be watched is killed.

    Raises:
        OSError: The child is gone, or there are too many open descriptors.
    """
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise _exit_code_lost() from None
    except OSError:  # out of descriptors: a child that cannot be watched must not run
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _exit_code_lost() -> ChildProcessError:
    return ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))


class Child:
    """One running child, its descriptors and its timer.

    The child leads a process group of its own. Its pid, which is also the number of the group, cannot be reused until
    the child is reaped: so it is reaped last, after the last signal to the group.
    """

    def __init__(self, started: native.StartedChild, *, timeout: float, sandbox: Sandbox | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._pid, self._stdin, stdout, stderr, self._pidfd = started
        self._pipes = {STDOUT: stdout, STDERR: stderr}
        self._unsent = memoryview(b"")
        self._output = OutputBuffer()
        self._reason = ExitReason.EXITED
        self._limit = ""
        self._sandbox = sandbox
        self._watch: GroupWatch | None = None
        self._descendants: Descendants | None = None
        self._has_exited = False
        self._is_finishing = False
        self._is_reading = False
        self.result: asyncio.Future[ProcessResult] = self._loop.create_future()
        self._deadline = self._loop.time() + timeout
        self._timer = self._loop.call_later(min(timeout, _READ_DELAY), self._start_reading)

    @property
    def wants_stdin(self) -> bool:
        """Whether the child's stdin is still open."""
        return self._stdin >= 0

    def write_stdin(self, stdin: bytes) -> None:
        """Write what fits into the pipe; the loop writes the rest as the child reads."""
        if stdin:
            if len(stdin) > _PAGE:
                os.set_blocking(self._stdin, False)
            try:
                count = os.write(self._stdin, stdin)
            except BrokenPipeError:
                count = len(stdin)  # the child closed its stdin or has ended
            if count < len(stdin):
                self._unsent = memoryview(stdin)[count:]
                return
        os.close(self._stdin)
        self._stdin = -1

    def watch(self) -> None:
        """Register the child with the event loop."""
        self._loop.add_reader(self._pidfd, self._on_exit)
        if self._stdin >= 0:
            self._loop.add_writer(self._stdin, self._on_writable)

    async def kill(self) -> None:
        """Kill the child and everything it started, and wait until the child is gone."""
        if self._pidfd < 0:
            return
        self.result = self._loop.create_future()
        self._kill()
        while not self.result.done():
            # cancelled again: the first cancellation is already being handled
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self.result)

    def kill_now(self) -> None:
        """Kill the child without the event loop, which may be closed or may not watch the child."""
        if self._pidfd < 0:
            return
        self._signal(signal.SIGKILL)
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        poll.poll(GRACE_SECONDS * 1000)
        self._finish()

    def _start_reading(self) -> None:
        self._is_reading = True
        for stream, pipe in self._pipes.items():
            self._loop.add_reader(pipe, self._on_output, stream)
        self._timer = self._loop.call_at(self._deadline, self._terminate, ExitReason.TIMED_OUT)
        if self._sandbox is not None:
            self._watch = GroupWatch(self._pid, self._sandbox, self._on_limit)

    def _on_limit(self, limit: str) -> None:
        """End a contained child that uses more than it may, with everything it started."""
        if not self._has_exited:
            self._reason, self._limit = ExitReason.LIMITED, limit
            # before anything that takes time: each process of a fork bomb starts others
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
            self._kill()

    def _on_writable(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # the child closed its stdin
            self._unsent = memoryview(b"")
        if not self._unsent:
            self._close_stdin()

    def _on_output(self, stream: int) -> None:
        try:
            chunk = os.read(self._pipes[stream], _CHUNK)
        except BlockingIOError:
            return
        if chunk and self._output.add(stream, chunk):
            return
        self._close_pipe(stream)
        if chunk and self._reason is ExitReason.EXITED:
            self._terminate(ExitReason.OVERFLOWED)
        else:
            self._finish_if_silent()

    def _on_exit(self) -> None:
        self._has_exited = True
        self._loop.remove_reader(self._pidfd)
        if self._reason is ExitReason.EXITED:
            self._drain()
            self._finish()
        else:
            self._finish_if_silent()

    def _drain(self) -> None:
        """Read what is in the pipes and close them; other processes that hold them open are not waited for."""
        for stream, pipe in tuple(self._pipes.items()):
            fits = True
            try:
                chunk = os.read(pipe, _CHUNK)
                if chunk:
                    fits = self._output.add(stream, chunk)
                if len(chunk) == _CHUNK and fits:  # a program may have enlarged its pipe
                    fits = self._output.add(stream, os.read(pipe, self._output.remaining + 1))
            except BlockingIOError:
                pass
            self._close_pipe(stream)
            if not fits and self._reason is ExitReason.EXITED:
                self._reason = ExitReason.OVERFLOWED

    def _terminate(self, reason: ExitReason) -> None:
        """Send SIGTERM to everything the hook started, and SIGKILL after a grace period."""
        self._timer.cancel()
        self._reason = reason
        self._close_stdin()
        if reason is ExitReason.OVERFLOWED:
            self._drain()
        self._signal(signal.SIGTERM)
        self._timer = self._loop.call_later(GRACE_SECONDS, self._kill)

    def _finish_if_silent(self) -> None:
        """Finish a terminated child before the grace period ends: no process holds its output any more."""
        if self._has_exited and not self._pipes and self._reason is not ExitReason.EXITED:
            self._signal(signal.SIGKILL)
            self._finish()

    def _kill(self) -> None:
        self._timer.cancel()
        self._drain()
        self._signal(signal.SIGKILL)
        if self._has_exited:
            self._finish()
        else:
            self._timer = self._loop.call_later(GRACE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        """Stop waiting for a child that no signal ends (another user's, or stuck in the kernel); reap it when it ends."""
        self._close_stdin()
        self._set_result(-signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._is_reaped():
            return
        # descendants are looked for before their parents end, because their origin cannot be found afterwards
        self._descendants = self._descendants or Descendants(self._pid)
        self._descendants.signal(number)
        # both may be refused when the hook runs as another user (sudo)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(self._pid) != self._pid:  # the child left its group
                signal.pidfd_send_signal(self._pidfd, number)

    def _is_reaped(self) -> bool:
        """Return whether another part of this program reaped the child: its pid may be reused."""
        try:
            os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return False

    def _finish(self) -> None:
        """Close the pipes and reap the child."""
        if self._is_finishing:
            return
        self._is_finishing = True
        self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()
        if self._sandbox is not None:
            # nothing that a contained child started stays: none of it can leave the group
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        self._close_stdin()
        for stream in tuple(self._pipes):
            self._close_pipe(stream)
        self._reap()

    def _reap(self) -> None:
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            pid = status = 0
        if pid:
            self._complete(os.waitstatus_to_exitcode(status))
        else:
            # reaped elsewhere, or held by a debugger: an unknown exit code must not be taken for success
            self._complete(None if self._reason is ExitReason.EXITED else -signal.SIGKILL)

    def _complete(self, exit_code: int | None) -> None:
        """Close everything that is left, and set the result; without an exit code, that is an error."""
        if not self._has_exited and not self._loop.is_closed():
            self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = -1
        if self._descendants is not None:
            self._descendants.close()
        self._set_result(exit_code)

    def _set_result(self, exit_code: int | None) -> None:
        if self.result.done() or self._loop.is_closed():
            return
        if exit_code is None:
            self.result.set_exception(_exit_code_lost())
            return
        stdout, stderr = self._output.get(STDOUT), self._output.get(STDERR)
        self.result.set_result(
            ProcessResult(exit_code=exit_code, stdout=stdout, stderr=stderr, reason=self._reason, limit=self._limit)
        )

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            if not self._loop.is_closed():
                self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    def _close_pipe(self, stream: int) -> None:
        pipe = self._pipes.pop(stream)
        if self._is_reading and not self._loop.is_closed():
            self._loop.remove_reader(pipe)
        os.close(pipe)


class Descendants:
    """The descendants of a process in other process groups, which a signal to its group does not reach.

    They are looked for while their parents live: an orphan belongs to init, and its origin is lost. Each is held by a
    pidfd.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._pidfds: dict[int, int] = {}

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all descendants found now or before."""
        for pid, parent in self._find().items():
            if pid not in self._pidfds:
                with suppress(OSError):
                    pidfd = os.pidfd_open(pid)
                    # the pid may have been reused between the search and the open
                    if _parent_and_group(pid)[0] == parent:
                        self._pidfds[pid] = pidfd
                    else:
                        os.close(pidfd)
        for pidfd in self._pidfds.values():
            with suppress(OSError):
                signal.pidfd_send_signal(pidfd, number)

    def close(self) -> None:
        """Close the pidfds."""
        native.close_all(self._pidfds.values())
        self._pidfds.clear()

    def _find(self) -> dict[int, int]:
        """Return the descendants outside the group, with their parents."""
        children: dict[int, list[int]] = {}
        groups: dict[int, int] = {}
        try:
            names = os.listdir("/proc")  # noqa: PTH208 - only names are needed
        except OSError:
            return {}
        for pid in (int(name) for name in names if name.isdigit()):
            parent, groups[pid] = _parent_and_group(pid)
            children.setdefault(parent, []).append(pid)
        outside: dict[int, int] = {}
        parents = [self._pid]
        while parents:
            parent = parents.pop()
            for pid in children.get(parent, ()):
                parents.append(pid)
                if groups[pid] != self._pid:
                    outside[pid] = parent
        return outside


def _parent_and_group(pid: int) -> tuple[int, int]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - opened for every process of the system
            # the name, in parentheses, may hold anything
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[1]), int(fields[2])
    except (OSError, IndexError, ValueError):
        return -1, -1
