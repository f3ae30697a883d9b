"""Start a program, feed it, hear it out, and leave nothing of it behind.

On Linux this is vfork, plain pipes and a pidfd on the loop's own selector, which adds a third of what asyncio's
subprocess machinery adds to the cost of a process. Elsewhere `run` is the same function made of asyncio's parts.
"""

import asyncio
import errno
import os
import select
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from hookline.kinds import _portable
from hookline.kinds._child import GRACE, STDERR, STDOUT, Ended, Env, Feed, Finished, Output
from hookline.kinds._hub import MOMENT, Hub, hub_of
from hookline.kinds._prompt import Prompt
from hookline.kinds._starting import EXTRA, close_all, start

_CHUNK: Final = 65_536

# An empty pipe takes a page without waiting, however small the system made it.
_SURE_TO_FIT: Final = 4096

_NOTHING: Final = memoryview(b"")


def _supported() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return hasattr(os, "posix_spawn") and hasattr(os, "P_PIDFD")


class Child:
    """One running child and everything held for it.

    The child leads a process group of its own. As long as it is not reaped, its number, which is also the
    group's, cannot be given to another process: so it is reaped last, after the last signal to the group.
    """

    __slots__ = (
        "_deadline",
        "_ended",
        "_gone",
        "_hub",
        "_loop",
        "_output",
        "_pid",
        "_pidfd",
        "_pipes",
        "_reading",
        "_rest",
        "_stdin",
        "_timer",
        "finished",
    )

    def __init__(
        self,
        pid: int,
        *,
        pidfd: int,
        pipes: tuple[int, int, int],
        loop: asyncio.AbstractEventLoop,
        hub: Hub,
        timeout: float,
    ) -> None:
        self._loop = loop
        self._hub = hub
        self._pid = pid
        self._pidfd = pidfd
        self._stdin, stdout, stderr = pipes
        self._pipes = {STDOUT: stdout, STDERR: stderr}
        self._rest = _NOTHING
        self._output: Output | None = None
        self._ended = Ended.EXITED
        self._gone = False
        self.finished: asyncio.Future[Finished] | Prompt[Finished] = Prompt(loop)
        self._deadline = loop.time() + timeout
        self._timer: asyncio.TimerHandle | None = None
        self._reading = False
        if timeout > MOMENT:
            hub.call_in_a_moment(loop, self._on_moment)
        else:
            self._timer = loop.call_at(self._deadline, self._listen)

    def feed(self, stdin: bytes) -> None:
        """Write what fits into the pipe, which is all of most events; the rest is written as the child reads."""
        if stdin:
            if len(stdin) > _SURE_TO_FIT:
                os.set_blocking(self._stdin, False)
            try:
                written = os.write(self._stdin, stdin)
            except BrokenPipeError:
                written = len(stdin)  # it closed its stdin, or has ended already: there is nobody to tell
            if written < len(stdin):
                self._rest = memoryview(stdin)[written:]
                return
        os.close(self._stdin)
        self._stdin = -1

    def watch(self) -> None:
        """Let the loop tell what happens to the child."""
        self._hub.watch(self._pidfd, self._on_exit, drop=self.drop, once=True)
        if self._stdin >= 0:
            self._loop.add_writer(self._stdin, self._on_writable)

    def _on_moment(self) -> None:
        """Take care of a child that takes longer than most; it may be gone, or on its way, by now."""
        if self._pidfd >= 0 and self._timer is None:
            self._listen()

    def _listen(self) -> None:
        """Read along, because the child may print more than its pipes hold, and mind the time."""
        self._reading = True
        for stream, pipe in self._pipes.items():
            self._loop.add_reader(pipe, self._on_output, stream)
        self._timer = self._loop.call_at(self._deadline, self._end, Ended.TIMED_OUT)

    async def kill(self) -> None:
        """End everything the hook started, at once, and wait until the child is gone."""
        if self._pidfd < 0:
            return
        self.finished = self._loop.create_future()
        self._kill()
        while not self.finished.done():
            # cancelled again meanwhile: the first cancellation is on its way already
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self.finished)

    def drop(self) -> None:
        """Do the same without a loop: it does not watch the child, or was closed under a call that still waited."""
        if self._pidfd < 0:
            return
        self._signal(signal.SIGKILL)
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        poll.poll(GRACE * 1000)
        self._finish()

    def _on_writable(self) -> None:
        try:
            self._rest = self._rest[os.write(self._stdin, self._rest) :]
        except BlockingIOError:
            return
        except OSError:  # it closed its stdin: not everyone wants to hear everything
            self._close_stdin()
            return
        if not self._rest:
            self._close_stdin()

    def _on_output(self, stream: int) -> None:
        try:
            chunk = os.read(self._pipes[stream], _CHUNK)
        except BlockingIOError:
            return
        if chunk and self._collected().add(stream, chunk):
            return
        self._close_pipe(stream)
        if chunk and self._ended is Ended.EXITED:
            self._end(Ended.OVERFLOWED)
        else:
            self._settle()

    def _on_exit(self) -> None:
        self._gone = True
        if self._ended is Ended.EXITED:
            # its pipes are gone already where it was killed
            if self._reading or self._stdin >= 0 or not self._pipes or not self._finish_at_once():
                self._drain()
                self._finish()
        else:
            self._hub.forget(self._pidfd)
            self._settle()

    def _finish_at_once(self) -> bool:
        """Do what `_drain` and `_finish` do for a child that was quick and said little, as most are.

        What is done here, the caller waits for, and right after a sleep everything takes three times as long: so it is
        one plain function. It gives the rest up to the others when there is more to read than it has read.
        """
        stdout, stderr = self._pipes[STDOUT], self._pipes[STDERR]
        try:
            said = os.read(stdout, _CHUNK)
        except BlockingIOError:  # somebody it left behind still holds the pipe
            said = b""
        try:
            complained = os.read(stderr, _CHUNK)
        except BlockingIOError:
            complained = b""
        if len(said) == _CHUNK or len(complained) == _CHUNK:
            self._collected().add(STDOUT, said)
            self._collected().add(STDERR, complained)
            return False
        self._pipes.clear()
        if self._timer is not None:
            self._timer.cancel()
        code = self._reap()
        self._hub.forget(self._pidfd)
        self._hub.close_soon((stdout, stderr, self._pidfd))
        self._pidfd = -1
        finished = self.finished
        if code is None:
            self._resolve(None)
        elif isinstance(finished, Prompt):
            finished.give(Finished(exit_code=code, stdout=said, stderr=complained))
            self._hub.wake(finished)
        else:
            self._resolve(code)
        return True

    def _drain(self) -> None:
        """Take what is in the pipes and close them; whoever else holds them is not waited for."""
        output = self._collected()
        for stream, pipe in tuple(self._pipes.items()):
            fits = True
            with suppress(BlockingIOError):
                chunk = os.read(pipe, _CHUNK)
                fits = output.add(stream, chunk)
                if len(chunk) == _CHUNK and fits:  # a program may have enlarged its pipe
                    fits = output.add(stream, os.read(pipe, output.room + 1))
            self._close_pipe(stream)
            if not fits and self._ended is Ended.EXITED:
                self._ended = Ended.OVERFLOWED

    def _end(self, why: Ended) -> None:
        """Ask everything the hook started to end."""
        self._stop_timer()
        self._ended = why
        self._close_stdin()
        if why is Ended.OVERFLOWED:
            self._drain()
        self._signal(signal.SIGTERM)
        self._timer = self._loop.call_later(GRACE, self._kill)

    def _settle(self) -> None:
        """Finish an ended child early: it is gone, and nobody is left who holds its output."""
        if self._gone and not self._pipes and self._ended is not Ended.EXITED:
            self._signal(signal.SIGKILL)
            self._finish()

    def _kill(self) -> None:
        """Make everything the hook started end."""
        self._stop_timer()
        self._drain()
        self._signal(signal.SIGKILL)
        if self._gone:
            self._finish()
        else:
            self._timer = self._loop.call_later(GRACE, self._give_up)

    def _give_up(self) -> None:
        """Stop waiting for a child no signal ends (another user's, or stuck in the kernel); reap it whenever."""
        self._close_stdin()
        self._hub.forget(self._pidfd)
        self._hub.watch(self._pidfd, self._finish, drop=self.drop)
        self._resolve(-signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._is_reaped():
            return
        # Both may be refused when the hook runs as another user (sudo).
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(self._pid) != self._pid:  # it left its group
                signal.pidfd_send_signal(self._pidfd, number)

    def _is_reaped(self) -> bool:
        """Say whether somebody else who reaps children took this one: its number may be another's by now."""
        try:
            os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return False

    def _finish(self) -> None:
        """Reap the child and give back everything held for it."""
        self._stop_timer()
        self._close_stdin()
        for stream in tuple(self._pipes):
            self._close_pipe(stream)
        code = self._reap()
        self._hub.forget(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = -1
        self._resolve(code)

    def _reap(self) -> int | None:
        """Take the exit code; None when somebody else has taken it."""
        try:
            gone, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            gone = status = 0
        if gone:
            return os.waitstatus_to_exitcode(status) if status else 0
        # A debugger may hold on to what has ended. Nobody knows how it did, and that is not taken for a good end.
        return None if self._ended is Ended.EXITED else -signal.SIGKILL

    def _resolve(self, code: int | None) -> None:
        if self.finished.done() or self._loop.is_closed():
            return
        if code is None:
            self.finished.set_exception(_taken())
            return
        output = self._collected()
        self.finished.set_result(
            Finished(exit_code=code, stdout=output.of(STDOUT), stderr=output.of(STDERR), ended=self._ended)
        )

    def _collected(self) -> Output:
        """What it printed so far, made when there is something: most children are read once, at their end."""
        if self._output is None:
            self._output = Output()
        return self._output

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1
            self._rest = _NOTHING

    def _close_pipe(self, stream: int) -> None:
        pipe = self._pipes.pop(stream)
        if self._reading:
            self._loop.remove_reader(pipe)
        os.close(pipe)


def _taken() -> ChildProcessError:
    return ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))


def _above_standard(descriptors: list[int]) -> None:
    """Move descriptors out of the way of 0, 1 and 2: a program started without them gets these numbers."""
    import fcntl  # noqa: PLC0415 - not on Windows, and almost never needed

    for index, descriptor in enumerate(descriptors):
        if descriptor <= STDERR:
            descriptors[index] = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, EXTRA + 1)
            os.close(descriptor)


def _open_pipes(extra: bytes) -> list[int]:
    """Open the child's ends and ours: stdin, stdout, stderr, each to read and to write, and what is on 3."""
    descriptors: list[int] = []
    try:
        descriptors += os.pipe()
        descriptors += os.pipe()
        descriptors += os.pipe()
        if extra:
            descriptors.append(os.memfd_create("hookline"))
        # the system gives the smallest number that is free, so those of the first pipe are
        if descriptors[0] <= STDERR or descriptors[1] <= STDERR:
            _above_standard(descriptors)
        if extra:
            os.write(descriptors[-1], extra)
            os.lseek(descriptors[-1], 0, os.SEEK_SET)
    except BaseException:
        close_all(descriptors)
        raise
    return descriptors


def _spawn(
    program: str,
    argv: tuple[str, ...],
    *,
    env: Env,
    cwd: str,
    timeout: float,
    extra: bytes,
    files: Sequence[int],
) -> Child:
    # what may fail comes before the start: a child that runs must be watched
    loop = asyncio.get_running_loop()
    hub = hub_of(loop)
    # of children that were heard out in the same turn: there may be no others left
    hub.close_spent()
    read_in, stdin, stdout, write_out, stderr, write_err, *rest = _open_pipes(extra)
    try:
        try:
            pid = start(program, argv, env=env, cwd=cwd, ends=(read_in, write_out, write_err, *rest), files=files)
        finally:
            close_all((read_in, write_out, write_err, *rest))
        # Whatever can be done after the start is: the child is on its way meanwhile.
        pidfd = _watch(pid)
        os.set_blocking(stdout, False)
        os.set_blocking(stderr, False)
    except BaseException:
        close_all((stdin, stdout, stderr))
        raise
    return Child(pid, pidfd=pidfd, pipes=(stdin, stdout, stderr), loop=loop, hub=hub, timeout=timeout)


def _watch(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise _taken() from None
    except OSError:  # out of descriptors: what cannot be watched must not run
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


async def _run(
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
    """Run a program to its end and return what it said.

    `program` is the file to execute, `argv` starts with the name it is called by. `cwd` is empty for this
    program's own folder. The child can read `extra` on descriptor 3, and keeps `files` open under their numbers. After `timeout` seconds, or more
    output than allowed, everything in the child's process group is asked to end and a second later made to;
    when the caller is cancelled, it is made to at once. What a hook leaves running after a normal exit stays.

    Raises:
        ChildProcessError: It ran, but its exit code is lost: this program ignores SIGCHLD or reaps all children.
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be passed to a program (NUL, or no encoding).
    """
    child = _spawn(program, argv, env=env, cwd=cwd, timeout=timeout, extra=extra, files=files)
    try:
        child.feed(stdin if isinstance(stdin, bytes) else stdin())
        child.watch()
        return await child.finished
    except asyncio.CancelledError:
        await child.kill()
        raise
    except BaseException:
        child.drop()
        raise


run: Final = _run if _supported() else _portable.run
