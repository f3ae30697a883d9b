"""Take calls on a socket and answer them, as many at once as there are."""

import asyncio
import contextvars
import errno
import functools
import logging
import select
import socket
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import suppress
from functools import lru_cache
from types import coroutine
from typing import Final

from msgspec.structs import replace

from hookline import surroundings
from hookline.bridge import complaints
from hookline.bridge.call import Call
from hookline.bridge.daemon import peers, protocol
from hookline.bridge.daemon.protocol import HEAD_SIZE, STILL, ProtocolError, Request
from hookline.bridge.serving import Projects, begin, finish, serve
from hookline.bridge.words import understood
from hookline.model.exchange import Answer
from hookline.surroundings import Surroundings

logger: Final = logging.getLogger(__name__)

PATIENT: Final = 0.2  # seconds after which the launcher is told that it takes a while
AGAIN: Final = 5.0  # and how often it is told so then
_MEMORY: Final = 64
_AT_ONCE: Final = 64
# there is no room for one more connection, here or on the whole machine
_FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE: Final = 0.2  # seconds
_CHUNK: Final = 262_144
# Milliseconds. Who has just connected says at once what it wants, and to have the loop tell us so would take longer.
_MOMENT: Final = 1
# rather than have each connection changed first, which takes as long as to hear and to answer it
_NOW: Final = socket.MSG_DONTWAIT


class Refused(Exception):  # noqa: N818 - it is said to the launcher, and nothing is wrong
    """The launcher had better do it without us."""


@lru_cache(maxsize=_MEMORY)
def _variables(block: bytes) -> Mapping[str, str]:
    """Read an environment; those of one session are all the same."""
    return protocol.variables(block)


@lru_cache(maxsize=256)
def _call(words: tuple[str, ...]) -> Call:
    call, _, wrong = understood(words)
    if call is None:
        raise Refused(wrong)
    return call


class Desk:
    """Where calls are answered, and counted."""

    def __init__(
        self, projects: Projects, *, control: Callable[[tuple[str, ...]], Answer | None], declines: Callable[[], str]
    ) -> None:
        self._projects = projects
        self._control = control
        self._declines = declines
        self.answered = 0
        self.declined = 0
        self.running: set[asyncio.Task[None]] = set()

    def begin(self, request: Request, say: Callable[[Answer], None]) -> Coroutine[object, object, int] | None:
        """Answer a call in its own surroundings; what has to wait for somebody is given back, to be gone on with.

        This runs in a context of its own. What is left to do then is done when the caller has its answer.

        Raises:
            Refused: We cannot.
        """
        if (answer := self._control(request.words)) is not None:
            say(answer)
            return None
        if reason := self._declines():
            raise Refused(reason)
        call = replace(_call(request.words), raw=request.stdin)
        environ = _variables(request.block)
        surroundings.enter(Surroundings(environ, request.folder, umask=request.umask))
        log = complaints.begun()
        begun = begin(call, environ, self._projects)
        rest = finish(begun, say, log)
        self.answered += 1
        return _gone_on(rest) if begun.is_quiet else rest

    async def serve(
        self, call: Call, say: Callable[[Answer], None], *, environ: Mapping[str, str], folder: str, umask: int
    ) -> None:
        """Ask the hooks about a call, in these surroundings."""
        with surroundings.entered(Surroundings(environ, folder, umask=umask)):
            await serve(call, say, projects=self._projects)
        self.answered += 1

    def accept(self, listening: socket.socket) -> None:
        """Take everybody who calls now."""
        for _ in range(_AT_ONCE):
            try:
                # what `accept` does, without looking up what kind of socket it is, which is eight functions of Python
                number, _ = listening._accept()  # type: ignore[attr-defined] # noqa: SLF001
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, number)
            except OSError as problem:
                # nobody is there any more, or nobody can be taken now
                if problem.errno in _FULL:
                    self._rest(listening)
                return
            Caller(self, connection).greet()

    def _rest(self, listening: socket.socket) -> None:
        """Look away for a moment: whoever waits would wake us again and again. A launcher does not wait for long."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)

        def look_again() -> None:
            # closed meanwhile where we are leaving
            if listening.fileno() >= 0:
                loop.add_reader(listening, self.accept, listening)

        loop.call_later(_PAUSE, look_again)

    def take(self, caller: "Caller", request: Request) -> "asyncio.Task[None] | None":
        """Answer a caller, at once where nobody has to be waited for; otherwise the task that does is given."""
        context = contextvars.copy_context()
        rest: Coroutine[object, object, int] | None = None
        try:
            rest = context.run(self.begin, request, lambda answer: caller.say(protocol.answered(answer)))
        except Exception as problem:  # noqa: BLE001 - it is said below
            self._excuse(caller, problem)
        if rest is None:
            return None
        task = asyncio.get_running_loop().create_task(self._finish(caller, rest), context=context)
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return task

    async def _finish(self, caller: "Caller", rest: Coroutine[object, object, int]) -> None:
        try:
            await rest
        except Exception as problem:  # noqa: BLE001 - it is said below
            self._excuse(caller, problem)

    def _excuse(self, caller: "Caller", problem: Exception) -> None:
        """Leave a caller that has no answer yet to the cold path, which knows what to say if it falls over, too."""
        if isinstance(problem, Refused):
            caller.say(self.refusal(str(problem)))
        else:
            logger.error("a call could not be answered", exc_info=problem)
            caller.say(self.refusal("a bug in hookline"))

    def refusal(self, reason: str) -> bytes:
        """Give the frame that has a launcher do it without us."""
        self.declined += 1
        return protocol.declined(reason)


@coroutine
def _yielding(waited_for: object) -> Generator[object, object, object]:
    """Wait for what a coroutine waits for that was begun by somebody else."""
    return (yield waited_for)


def _gone_on(rest: Coroutine[object, object, int]) -> Coroutine[object, object, int] | None:
    """Do as much as can be done at once; a task, and another turn of the loop, would cost as much as all of it."""
    try:
        waited_for = rest.send(None)
    except StopIteration:
        return None
    return _resumed(rest, waited_for)


async def _resumed(rest: Coroutine[object, object, int], waited_for: object) -> int:
    """Go on with what was begun outside of a task."""
    while True:
        try:
            heard = await _yielding(waited_for)
        except BaseException as problem:  # noqa: BLE001 - it is not ours
            step = functools.partial(rest.throw, problem)
        else:
            step = functools.partial(rest.send, heard)
        try:
            waited_for = step()
        except StopIteration as end:
            return int(end.value)


class Caller:
    """One launcher: it says one thing, and waits."""

    def __init__(self, desk: Desk, connection: socket.socket) -> None:
        self._desk = desk
        self._connection: socket.socket | None = connection
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []
        self._size = 0
        self._wanted = -1
        self._is_heard = False
        self._is_watched = False
        self._is_slow = False
        self._unsaid = b""
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def greet(self) -> None:
        """Look who it is, and hear what it says, which often is there already."""
        connection = self._connection
        if connection is None:
            return
        if reason := peers.objection(connection):
            self.say(self._desk.refusal(reason))
        elif first := self._first_words(connection):
            self._gather(first)
        if self._connection is not None and not self._is_watched:
            self._is_watched = True
            self._loop.add_reader(connection, self._hear)

    def _first_words(self, connection: socket.socket) -> bytes:
        # those who are being answered must not wait for somebody who says nothing
        if not self._desk.running:
            poll = select.poll()
            poll.register(connection, select.POLLIN)
            poll.poll(_MOMENT)
        try:
            return connection.recv(_CHUNK, _NOW)
        except OSError:
            # whether it has gone shows when we look again
            return b""

    def _hear(self) -> None:
        """Gather the request, and answer it when all of it is there; nothing more means that it has gone."""
        connection = self._connection
        while connection is not None:
            try:
                data = connection.recv(_CHUNK, _NOW)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lost()
                return
            if not self._is_heard:
                self._gather(data)
            connection = self._connection

    def _gather(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        try:
            if self._wanted < 0 and self._size >= HEAD_SIZE:
                self._parts = [b"".join(self._parts)]
                self._wanted = HEAD_SIZE + protocol.size_of(self._parts[0][:HEAD_SIZE])
            if 0 <= self._wanted <= self._size:
                self._is_heard = True
                body = b"".join(self._parts)
                self._parts.clear()
                self._task = self._desk.take(self, protocol.read(body[HEAD_SIZE : self._wanted]))
                if self._task is not None:
                    self._timer = self._loop.call_later(PATIENT, self._still)
        except ProtocolError as problem:
            self._is_heard = True
            self.say(self._desk.refusal(str(problem)))

    def _still(self) -> None:
        # never in the middle of an answer
        if self._connection is not None and not self._unsaid:
            self._timer = self._loop.call_later(AGAIN, self._still)
            with suppress(OSError):
                # a launcher reads a few bytes at once; if not, it has had enough of us
                self._connection.send(STILL, _NOW)

    def say(self, frame: bytes) -> None:
        """Give the caller its answer, and hang up when it has all of it; the first answer counts."""
        connection = self._connection
        if connection is None or self._unsaid:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._unsaid = frame
        self._say_on()

    def _say_on(self) -> None:
        connection = self._connection
        if connection is None:
            return
        try:
            self._unsaid = self._unsaid[connection.send(self._unsaid, _NOW) :]
        except BlockingIOError:
            pass
        except OSError:
            self._unsaid = b""
        if self._unsaid:
            self._is_slow = True
            self._loop.add_writer(connection, self._say_on)
        else:
            self._hang_up()

    def _lost(self) -> None:
        """Stop what was done for a caller that gave up: its hooks end with it."""
        task = self._task
        self._hang_up()
        if task is not None and not task.done():
            # one that has not begun yet begins first: what it holds is given back in the end
            self._loop.call_soon(task.cancel)

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if self._timer is not None:
            self._timer.cancel()
        if connection is not None:
            if self._is_watched:
                self._loop.remove_reader(connection)
            if self._is_slow:
                self._loop.remove_writer(connection)
            connection.close()
