"""The engine's end of a zygote: an interpreter that has forked a child ahead of each call.

A call takes a child that waits, tells it what to run, and is told how that ended; the zygote makes the next one
meanwhile. Every call has a process of its own, which ends with it.
"""

import asyncio
import marshal
import os
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from hookline.kinds import _zygote_main
from hookline.kinds._child import GRACE
from hookline.kinds._hub import Hub
from hookline.kinds._process import Child
from hookline.kinds._zygote_child import CHANGED, COLD, DONE, STALE

SPARES: Final = 2
"""Children that wait at a time."""

MOST_FORKS: Final = 500
LARGEST: Final = _zygote_main.LARGEST
# Scripts that are written anew for each call would have libraries imported for each of them.
_MOST_LESSONS: Final = 32
# Seconds after a call until the next child is made, so that whoever got the answer does not wait for that.
_REST: Final = 0.001


class Lesson(Struct, frozen=True):
    """What a run of a script has shown: the libraries it needs, and by what its text is known.

    `text` are its bytes where they were vetted.
    """

    names: tuple[str, ...]
    mark: str
    text: bytes | None


class Spare:
    """A child that waits for what it is to run, and our ends of everything it has."""

    __slots__ = ("channel", "pid", "pidfd", "pipes")

    def __init__(self, channel: int, pipes: tuple[int, int, int]) -> None:
        self.channel = channel
        self.pipes = pipes
        self.pid = -1
        self.pidfd = -1

    def close(self) -> None:
        """Let go of it; it ends by itself."""
        for descriptor in (self.channel, *self.pipes, self.pidfd):
            if descriptor >= 0:
                os.close(descriptor)


class Zygote:
    """One interpreter in one folder with one environment, and its spare children. Belongs to one event loop."""

    def __init__(self, command: Sequence[str], *, program: str, env: Mapping[bytes, bytes], cwd: str, hub: Hub) -> None:
        """Start it.

        Raises:
            OSError: It cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        self._hub = hub
        self._env = env
        self._spares: list[Spare] = []
        self._asked: deque[Spare] = deque()
        self._waiting: deque[asyncio.Future[Spare | None]] = deque()
        self._statuses: dict[int, Callable[[int | None], None]] = {}
        self._lessons: dict[str, Lesson] = {}
        self._done: list[int] = []
        self._forks = 0
        self._running = 0
        self.reads: dict[bytes, bytes | None] = {}
        self.sample = b""
        self.is_ready = False
        self.is_retired = False
        self.is_lost = False
        self.used = self._loop.time()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._pid, self._socket = _start(command, program=program, env=env, cwd=cwd)
        try:
            self._pidfd = os.pidfd_open(self._pid)
        except OSError:
            self._socket.close()
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            raise
        hub.watch(self._pidfd, self._on_end, drop=self.drop)
        hub.watch(self._socket.fileno(), self._on_message, drop=self.drop)
        self.restock()
        if not self._asked:
            self.drop()
            raise OSError("there is nothing left to open for its children")

    def fits(self, env: Mapping[bytes, bytes]) -> bool:
        """Say whether its libraries would be what they are with these variables, too."""
        return not self.is_retired and all(env.get(name) == value for name, value in self.reads.items())

    async def take(self, patience: float) -> Spare | None:
        """Give a spare child, or wait for one; None when there is none in time."""
        self.used = self._loop.time()
        spare = None
        if self._spares:
            # the newest knows most
            spare = self._spares.pop()
            self._running += 1
        elif not self.is_retired and (len(self._waiting) < len(self._asked) or self._fork()):
            waiting: asyncio.Future[Spare | None] = self._loop.create_future()
            self._waiting.append(waiting)
            timer = self._loop.call_later(patience, _give, waiting, None)
            try:
                spare = await waiting
            except asyncio.CancelledError:
                if not waiting.cancelled() and (unused := waiting.result()) is not None:
                    self._take_back(unused)
                raise
            finally:
                timer.cancel()
        return spare

    def restock(self) -> None:
        """Have as many children wait as there should."""
        while not self.is_retired and len(self._spares) + len(self._asked) < SPARES and self._fork():
            continue

    def release(self, pid: int) -> None:
        """Say that a call is over, and its child has ended or is about to."""
        self._running -= 1
        self._done.append(pid)
        if self.is_retired:
            self._leave()
        elif len(self._done) == 1 and not self._loop.is_closed():
            self._loop.call_later(_REST, self._tidy)

    def _tidy(self) -> None:
        """Reap what has ended, and have others wait in its place."""
        if self.is_retired:
            return
        self._reap_done()
        if self._forks >= MOST_FORKS:
            self.retire()
        self.restock()

    def ask_status(self, pid: int, call: Callable[[int | None], None]) -> None:
        """Call the function with the exit code of a child that has ended; None when nobody knows it."""
        self._statuses[pid] = call
        if not self._send(("status", pid)):
            del self._statuses[pid]
            call(None)

    def learn(self, path: str, lesson: Lesson) -> None:
        """Have ready what a run of a script needed."""
        known = self._lessons.get(path)
        if known is not None and known.names and not lesson.names:
            self.retire()  # it would be better off without what was imported for it
        if self.is_retired or known == lesson or len(self._lessons) >= _MOST_LESSONS:
            return
        self._lessons[path] = lesson
        message = ("learn", lesson.names, path, lesson.mark, lesson.text)
        if len(marshal.dumps(message, 2)) > LARGEST:
            message = ("learn", (), path, lesson.mark, None)
        self._send(message)

    def retire(self) -> None:
        """Make no more children; it ends when the calls that run have ended."""
        self.is_retired = True
        spares, self._spares = self._spares, []
        for spare in spares:
            spare.close()
        for waiting in self._waiting:
            _give(waiting, None)
        self._leave()

    def drop(self) -> None:
        """End it at once; also right when the event loop is closed already."""
        self.is_retired = True
        with suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self._shut()

    async def end(self) -> None:
        """Wait until a retired one is gone, for as long as it may take and no longer."""
        if self._running:
            return
        await asyncio.wait([self.ended], timeout=GRACE)
        self.drop()

    def _leave(self) -> None:
        if not self._running:
            # those it knows to be gone are not ended with it, nor what they left running
            self._reap_done()
            self._hang_up()

    def _reap_done(self) -> None:
        done, self._done = self._done, []
        for pid in done:
            self._send(("reap", pid))

    def _hang_up(self) -> None:
        """Close the socket, which ends it."""
        if self._socket.fileno() >= 0:
            self._hub.forget(self._socket.fileno())
            self._socket.close()

    def _fork(self) -> bool:
        """Ask for a child; False when there is nothing left to give it, or nobody to ask."""
        try:
            ours, theirs = _ends()
        except OSError:
            return False
        self._forks += 1
        is_asked = self._send(("fork", self.sample), theirs)
        if is_asked:
            self._asked.append(ours)
        else:
            ours.close()
        for descriptor in theirs:
            os.close(descriptor)
        return is_asked

    def _send(self, message: tuple[Any, ...], descriptors: Sequence[int] = ()) -> bool:
        if self._socket.fileno() < 0:
            return False
        try:
            socket.send_fds(self._socket, [marshal.dumps(message, 2)], descriptors)
        except OSError:
            # gone, or stuck: no more of it
            self._fail()
            return False
        return True

    def _fail(self) -> None:
        self.is_lost = self.is_lost or not self.is_retired
        self.is_retired = True
        with suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def _on_message(self) -> None:
        try:
            message = self._socket.recv(LARGEST)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        word, _, rest = message.partition(b" ")
        if word == b"forked":
            self._on_forked(int(rest))
        elif word == b"status":
            pid, code = map(int, rest.split())
            if call := self._statuses.pop(pid, None):
                call(code)
        elif word == b"learned":
            self.reads |= {name: self._env.get(name) for name in rest.split(b"\0") if name}
            # those that wait know less: they go as others come
            for _ in range(SPARES):
                self._fork()
        else:
            self._shut()

    def _on_forked(self, pid: int) -> None:
        spare = self._asked.popleft()
        try:
            spare.pid = pid
            spare.pidfd = os.pidfd_open(pid)
        except (OSError, ValueError):
            spare.close()
            self._fail()
            return
        self.is_ready = True
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                # at once, and not when whoever waits goes on: it may be retired before, and would end its children
                self._running += 1
                waiting.set_result(spare)
                return
        self._keep(spare)

    def _take_back(self, spare: Spare) -> None:
        """Keep a child that came in the moment in which its call was cancelled."""
        self._running -= 1
        self._keep(spare)
        if self.is_retired:
            self._leave()

    def _keep(self, spare: Spare) -> None:
        """Have a child wait for the next call; the oldest goes where there are enough."""
        self._spares.append(spare)
        while len(self._spares) > SPARES or (self.is_retired and self._spares):
            old = self._spares.pop(0)
            old.close()
            self._send(("reap", old.pid))

    def _on_end(self) -> None:
        self._shut()

    def _shut(self) -> None:
        """Give back everything; whoever waits for it goes on without."""
        self.is_lost = self.is_lost or not self.is_retired
        self.is_retired = True
        self._hang_up()
        for spare in (*self._spares, *self._asked):
            spare.close()
        self._spares.clear()
        self._asked.clear()
        for pid in tuple(self._statuses):
            self._statuses.pop(pid)(None)
        if not self._loop.is_closed():
            for waiting in self._waiting:
                _give(waiting, None)
        self._waiting.clear()
        if self._pidfd >= 0:
            self._reap()

    def _reap(self) -> None:
        # its end of the socket is closed, so it ends; what hangs in a library is made to
        with suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self._hub.forget(self._pidfd)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        os.close(self._pidfd)
        self._pidfd = -1
        if not self.ended.done() and not self._loop.is_closed():
            self.ended.set_result(None)


class WarmChild(Child):
    """A call that runs in a spare child."""

    __slots__ = ("_channel", "_code", "_is_asked", "_zygote", "lesson", "refusal")

    def __init__(self, spare: Spare, zygote: Zygote, *, hub: Hub, timeout: float) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(spare.pid, pidfd=spare.pidfd, pipes=spare.pipes, loop=loop, hub=hub, timeout=timeout)
        self._channel = spare.channel
        self._zygote = zygote
        self._code: int | None = None
        self._is_asked = False
        self.refusal = b""
        self.lesson: tuple[str, ...] = ()

    def tell(self, message: bytes) -> None:
        """Say what to run.

        Raises:
            OSError: It is gone.
        """
        os.write(self._channel, message)

    def watch(self) -> None:
        """Let the loop tell what happens to the child."""
        super().watch()
        self._hub.watch(self._channel, self._on_told, drop=self.drop)

    def _on_told(self) -> None:
        if self._heard():
            super()._on_exit()

    def _heard(self) -> bool:
        """Read how it ended; False when it does not say."""
        self._hub.forget(self._channel)
        try:
            message = os.read(self._channel, LARGEST)
        except OSError:
            return False
        if message in {COLD, STALE, CHANGED}:
            self.refusal = message
            self._code = 0
        elif message[:1] == DONE and len(message) > 1:
            self._code = message[1]
            if len(message) > 2:  # noqa: PLR2004 - the word and the code
                self.lesson = tuple(message[2:].decode("utf-8", "surrogateescape").split("\n"))
        return self._code is not None

    def _on_exit(self) -> None:
        if self._code is None and not self._heard() and not self._is_asked:
            self._hub.forget(self._pidfd)
            self._is_asked = True
            self._zygote.ask_status(self._pid, self._on_status)
            return
        super()._on_exit()

    def _on_status(self, code: int | None) -> None:
        if self._pidfd >= 0:
            self._code = -signal.SIGKILL if code is None else code
            super()._on_exit()

    def _is_reaped(self) -> bool:
        try:
            signal.pidfd_send_signal(self._pidfd, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False

    def _reap(self) -> int | None:
        self._hub.forget(self._channel)
        os.close(self._channel)
        self._zygote.release(self._pid)
        return -signal.SIGKILL if self._code is None else self._code


def _give(waiting: asyncio.Future[Spare | None], spare: Spare | None) -> None:
    if not waiting.done():
        waiting.set_result(spare)


def _ends() -> tuple[Spare, tuple[int, int, int, int]]:
    """Open what a child has: a channel, stdin, stdout and stderr; our ends and the child's."""
    channel, their_channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    opened: list[int] = []
    try:
        for _ in range(3):
            opened += os.pipe()
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        channel.close()
        their_channel.close()
        raise
    stdin, our_stdin, our_stdout, stdout, our_stderr, stderr = opened
    for descriptor in (our_stdout, our_stderr):
        os.set_blocking(descriptor, False)
    os.set_blocking(channel.fileno(), False)
    return (
        Spare(channel.detach(), (our_stdin, our_stdout, our_stderr)),
        (their_channel.detach(), stdin, stdout, stderr),
    )


def _start(command: Sequence[str], *, program: str, env: Mapping[bytes, bytes], cwd: str) -> tuple[int, socket.socket]:
    """Start the interpreter with pipes as it would have in a hook, so that its streams are made as for one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    opened: list[int] = []
    try:
        opened += os.pipe()
        opened += os.pipe()
        stdin, _no_input, noise, output = opened
        process = subprocess.Popen(
            [*command, _zygote_main.__file__, str(theirs.fileno()), str(noise)],
            executable=program,
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=output,
            stderr=output,
            process_group=0,
            pass_fds=(theirs.fileno(), noise),
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        for descriptor in opened:
            os.close(descriptor)
    process.returncode = 0  # reaped by us: keeps it from doing so, and from warning about it
    ours.setblocking(False)  # noqa: FBT003 - its only argument
    return process.pid, ours
