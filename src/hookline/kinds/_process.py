"""Start a program, feed it, hear it out, and leave nothing of it behind.

On Linux this is `posix_spawn`, plain pipes and a pidfd on the loop's own selector, which adds a quarter of
what asyncio's subprocess machinery adds to the cost of a process. Elsewhere `run` is the same function made of asyncio's parts.
"""

import asyncio
import errno
import os
import select
import signal
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from hookline.kinds import _portable
from hookline.kinds._child import GRACE, STDERR, STDOUT, Ended, Env, Feed, Finished, Output, text_of
from hookline.kinds._hub import Hub, hub_of

_CHUNK: Final = 65_536

# Most hooks are done before this, and what they said is in the pipes when they exit: then each wake-up of the
# loop that only reads a pipe is saved. A hook that fills its pipe first waits this long, once.
_LISTEN_AFTER: Final = 0.005

_EXTRA: Final = 3

# An empty pipe takes a page without waiting, however small the system made it.
_SURE_TO_FIT: Final = 4096

# Python ignores SIGPIPE and SIGXFSZ, and a job started by `nohup` or with `&` may have others ignored. A child
# would inherit that: `yes | head` in a hook would never end, and a hook could not be asked to end.
_BY_POPEN: Final = tuple(int(getattr(signal, name)) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))
_NOT_BY_POPEN: Final = tuple(
    int(getattr(signal, name)) for name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGCHLD") if hasattr(signal, name)
)
_DEFAULTED: Final = _BY_POPEN + _NOT_BY_POPEN

# posix_spawn cannot change the folder; a shell can, where Popen would get signals or descriptors wrong.
_ENTER_AND_RUN: Final = 'cd -P -- "$1" && shift && exec "$@"'


def _supported() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return hasattr(os, "posix_spawn") and hasattr(os, "P_PIDFD")


def _strays() -> tuple[int, ...]:
    """Find the descriptors this program got from its parent and would pass on to every child."""
    found = []
    with suppress(OSError):
        for number in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
            with suppress(OSError):
                if number > STDERR and os.get_inheritable(number):
                    found.append(number)
    return tuple(found)


# Python makes its own descriptors close on exec; those it was started with are open to all children. Since
# Python 3.13 the child closes them all, unless it is to keep some; otherwise those known now.
_CLOSE_FROM: Final[int | None] = getattr(os, "POSIX_SPAWN_CLOSEFROM", None)
_STRAYS: Final = _strays()


class _Child:
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

    def __init__(self, pid: int, *, pidfd: int, pipes: tuple[int, int, int], hub: Hub, timeout: float) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._hub = hub
        self._pid = pid
        self._pidfd = pidfd
        self._stdin, stdout, stderr = pipes
        self._pipes = {STDOUT: stdout, STDERR: stderr}
        self._rest = memoryview(b"")
        self._output = Output()
        self._ended = Ended.EXITED
        self._gone = False
        self.finished: asyncio.Future[Finished] = loop.create_future()
        # one timer does for both, because most children need neither
        self._deadline = loop.time() + timeout
        self._timer = loop.call_at(min(self._deadline, loop.time() + _LISTEN_AFTER), self._listen)
        self._reading = False

    def feed(self, stdin: bytes) -> None:
        """Write what fits into the pipe, which is all of most events; the rest is written as the child reads."""
        if len(stdin) > _SURE_TO_FIT:
            os.set_blocking(self._stdin, False)
        # if it closed its stdin, or has ended already, there is nobody to tell
        with suppress(BrokenPipeError):
            self._rest = memoryview(stdin)[os.write(self._stdin, stdin) if stdin else 0 :]
        if not self._rest:
            os.close(self._stdin)
            self._stdin = -1

    def watch(self) -> None:
        """Let the loop tell what happens to the child."""
        self._hub.watch(self._pidfd, self._on_exit, drop=self.drop)
        if self._stdin >= 0:
            self._loop.add_writer(self._stdin, self._on_writable)

    def _listen(self) -> None:
        """Read along: the child takes longer than most, and may print more than its pipes hold."""
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
        if chunk and self._output.add(stream, chunk):
            return
        self._close_pipe(stream)
        if chunk and self._ended is Ended.EXITED:
            self._end(Ended.OVERFLOWED)
        else:
            self._settle()

    def _on_exit(self) -> None:
        self._gone = True
        if self._ended is Ended.EXITED:
            self._drain()
            self._finish()
        else:
            self._hub.forget(self._pidfd)
            self._settle()

    def _drain(self) -> None:
        """Take what is in the pipes and close them; whoever else holds them is not waited for."""
        for stream, pipe in tuple(self._pipes.items()):
            fits = True
            with suppress(BlockingIOError):
                chunk = os.read(pipe, _CHUNK)
                fits = self._output.add(stream, chunk)
                if len(chunk) == _CHUNK and fits:  # a program may have enlarged its pipe
                    fits = self._output.add(stream, os.read(pipe, self._output.room + 1))
            self._close_pipe(stream)
            if not fits and self._ended is Ended.EXITED:
                self._ended = Ended.OVERFLOWED

    def _end(self, why: Ended) -> None:
        """Ask everything the hook started to end."""
        self._timer.cancel()
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
        self._timer.cancel()
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
        try:
            # Whoever else reaps children may have taken this one, and its number may be another's by now.
            os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        # Both may be refused when the hook runs as another user (sudo).
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(self._pid) != self._pid:  # it left its group
                signal.pidfd_send_signal(self._pidfd, number)

    def _finish(self) -> None:
        """Reap the child and give back everything held for it."""
        self._timer.cancel()
        self._close_stdin()
        for stream in tuple(self._pipes):
            self._close_pipe(stream)
        code: int | None
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(self._pid, os.WNOHANG)[1])
        except ChildProcessError:
            code = None if self._ended is Ended.EXITED else -signal.SIGKILL
        self._hub.forget(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = -1
        self._resolve(code)

    def _resolve(self, code: int | None) -> None:
        if self.finished.done() or self._loop.is_closed():
            return
        if code is None:
            self.finished.set_exception(_taken())
            return
        output = self._output
        self.finished.set_result(
            Finished(exit_code=code, stdout=output.of(STDOUT), stderr=output.of(STDERR), ended=self._ended)
        )

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1
            self._rest = memoryview(b"")

    def _close_pipe(self, stream: int) -> None:
        pipe = self._pipes.pop(stream)
        if self._reading:
            self._loop.remove_reader(pipe)
        os.close(pipe)


def _taken() -> ChildProcessError:
    return ChildProcessError(errno.ECHILD, os.strerror(errno.ECHILD))


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _above_standard(descriptors: list[int]) -> None:
    """Move descriptors out of the way of 0, 1 and 2: a program started without them gets these numbers."""
    import fcntl  # noqa: PLC0415 - not on Windows, and almost never needed

    for index, descriptor in enumerate(descriptors):
        if descriptor <= STDERR:
            descriptors[index] = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _EXTRA + 1)
            os.close(descriptor)


def _open_pipes(extra: bytes) -> list[int]:
    """Open the child's ends and ours: stdin, stdout, stderr, each to read and to write, and what is on 3."""
    descriptors: list[int] = []
    try:
        for _ in range(3):
            descriptors += os.pipe()
        if extra:
            descriptors.append(os.memfd_create("hookline"))
        if min(descriptors) <= STDERR:
            _above_standard(descriptors)
        if extra:
            os.write(descriptors[-1], extra)
            os.lseek(descriptors[-1], 0, os.SEEK_SET)
    except BaseException:
        _close(descriptors)
        raise
    return descriptors


def _popen_is_right() -> bool:
    """Tell whether a child of Popen would start with default signals, none of them blocked."""
    ignored = any(signal.getsignal(number) is signal.SIG_IGN for number in _NOT_BY_POPEN)
    return not ignored and not signal.pthread_sigmask(signal.SIG_BLOCK, ())


def _start(
    program: str, argv: tuple[str, ...], *, env: Env, cwd: str, ends: Sequence[int], files: Sequence[int]
) -> int:
    """Start the child with these ends as its descriptors 0, 1, 2 and 3, and return its number."""
    if cwd:
        if len(ends) <= _EXTRA and _popen_is_right():
            stdin, stdout, stderr = ends
            process = subprocess.Popen(
                argv,
                executable=program,
                env=env,
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                process_group=0,
                pass_fds=files,
            )
            process.returncode = 0  # reaped by us: keeps it from doing so, and from warning about it
            return process.pid
        _check(program, cwd)
        program, argv = "/bin/sh", ("sh", "-c", _ENTER_AND_RUN, "hookline", cwd, program, *argv[1:])
    actions = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(ends)]
    # a descriptor that is made its own twin stays open in the child
    actions += [(os.POSIX_SPAWN_DUP2, file, file) for file in files]
    if _CLOSE_FROM is not None and not files:
        actions.append((_CLOSE_FROM, len(ends)))  # type: ignore[arg-type]
    elif _STRAYS:
        kept = {*range(len(ends)), *files}
        actions += [(os.POSIX_SPAWN_CLOSE, stray) for stray in _STRAYS if stray not in kept]  # type: ignore[misc]
    return os.posix_spawn(program, argv, env, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=_DEFAULTED)


def _check(program: str, cwd: str) -> None:
    """Raise what starting the program there would raise, before a shell turns it into an exit code."""
    file = Path(cwd, program)
    for needed in (Path(cwd), file):
        needed.stat()
    if file.is_dir() or not os.access(file, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _spawn(
    program: str,
    argv: tuple[str, ...],
    *,
    env: Env,
    cwd: str,
    timeout: float,
    extra: bytes,
    files: Sequence[int],
) -> _Child:
    # what may fail comes before the start: a child that runs must be watched
    hub = hub_of(asyncio.get_running_loop())
    descriptors = _open_pipes(extra)
    theirs = [descriptors[0], descriptors[3], descriptors[5], *descriptors[6:]]
    ours = [descriptors[1], descriptors[2], descriptors[4]]
    try:
        try:
            pid = _start(program, argv, env=env, cwd=cwd, ends=theirs, files=files)
        finally:
            _close(theirs)
        # Whatever can be done after the start is: the child is on its way meanwhile.
        pidfd = _watch(pid)
        for end in ours[1:]:
            os.set_blocking(end, False)
    except BaseException:
        _close(ours)
        raise
    return _Child(pid, pidfd=pidfd, pipes=(ours[0], ours[1], ours[2]), hub=hub, timeout=timeout)


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
        child.feed(text_of(stdin))
        child.watch()
        return await child.finished
    except asyncio.CancelledError:
        await child.kill()
        raise
    except BaseException:
        child.drop()
        raise


run: Final = _run if _supported() else _portable.run
