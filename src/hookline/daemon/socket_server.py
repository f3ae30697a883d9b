"""The Unix socket server of the daemon: one connection for each call of a launcher."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from hookline import caller_context
from hookline.bridge.call import Call, parse_argv
from hookline.bridge.serve import Projects, Send, serve
from hookline.caller_context import CallerContext
from hookline.daemon import peer_check, protocol
from hookline.daemon.protocol import STILL, CallRequest, ProtocolError
from hookline.model.exchange import Answer

logger: Final = logging.getLogger(__name__)

FIRST_STILL: Final = 0.2  # seconds after which the daemon tells the launcher that the call is running
NEXT_STILL: Final = 5.0  # seconds between two such frames after that
_CHUNK: Final = 262_144
_MOMENT: Final = 0.001  # seconds
_ACCEPTED_AT_ONCE: Final = 64
# no descriptor or memory for one more connection, here or on the whole machine
_OUT_OF_RESOURCES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PAUSE: Final = 0.2  # seconds; a launcher waits longer

_parse_call = lru_cache(maxsize=256)(parse_argv)


@lru_cache(maxsize=64)
def _parse_environ(block: bytes) -> tuple[dict[str, str], dict[bytes, bytes]]:
    """Return an environment, as text and as bytes; cached, since those of one session are all the same."""
    environ = protocol.parse_environ(block)
    return environ, caller_context.encode_environ(environ)


class CallDispatcher:
    """Answer calls in the context of their caller, and count them.

    `control` answers requests of `hookline daemon`; None is another request. `find_reason` returns why the daemon declines calls
    now; empty when it does not. `launcher_projects` opens the projects of launchers, if not `projects`.
    """

    def __init__(
        self,
        projects: Projects,
        *,
        control: Callable[[tuple[str, ...]], Answer | None],
        find_reason: Callable[[], str],
        launcher_projects: Projects | None = None,
    ) -> None:
        self._projects = projects
        self._launcher_projects = launcher_projects or projects
        self._control = control
        self._find_reason = find_reason
        self.answered = 0
        self.declined = 0
        self.running: set[asyncio.Task[None]] = set()

    def dispatch(self, connection: "Connection", request: CallRequest) -> "asyncio.Task[None] | None":
        """Answer a request of `hookline daemon` or decline a call at once; otherwise start the task that answers it."""
        if (answer := self._control(request.words)) is not None:
            connection.send(protocol.encode_answer(answer))
            return None
        call, _, wrong = _parse_call(request.words)
        reason = self._find_reason() or wrong
        if reason or call is None:
            connection.send(self.decline(reason))
            return None
        task = asyncio.get_running_loop().create_task(self._answer(connection, call, request))
        self.running.add(task)
        task.add_done_callback(self.running.discard)
        return task

    async def _answer(self, connection: "Connection", call: Call, request: CallRequest) -> None:
        """Answer a call; one that cannot be answered is left to its launcher, which knows the fallback."""
        try:
            environ, encoded = _parse_environ(request.block)
            # the context belongs to this task, and so to this call alone
            caller_context.set_current(
                CallerContext(environ, request.folder, umask=request.umask, encoded=encoded),
            )
            await serve(
                replace(call, raw=request.stdin),
                lambda answer: connection.send(protocol.encode_answer(answer)),
                environ=environ,
                projects=self._launcher_projects,
            )
            self.answered += 1
        except Exception:
            logger.exception("a call could not be answered")
            connection.send(self.decline("a bug in hookline"))

    async def serve(self, call: Call, send: Send, *, environ: Mapping[str, str], folder: str, umask: int) -> None:
        """Answer a call that came by another way than the socket."""
        with caller_context.use(CallerContext(environ, folder, umask=umask)):
            await serve(call, send, projects=self._projects)
        self.answered += 1

    def decline(self, reason: str) -> bytes:
        """Return the frame that has a launcher answer without the daemon."""
        self.declined += 1
        return protocol.encode_decline(reason)


class Connection:
    """One launcher: it sends one request, and waits for the answer.

    Written on plain sockets rather than on asyncio's transports, which take several more turns of the loop for each connection.
    """

    def __init__(self, dispatcher: CallDispatcher, connection: socket.socket) -> None:
        self._dispatcher = dispatcher
        self._socket: socket.socket | None = connection
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._unsent = b""
        self._is_watched = False
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        connection.settimeout(0)
        if reason := peer_check.find_reason(connection):
            self.send(dispatcher.decline(reason))
            return
        # A launcher sends its request right after connecting: waiting for it here takes less than a turn of the loop. Running
        # calls must not wait, though.
        if not dispatcher.running:
            connection.settimeout(_MOMENT)
        self._read()
        if self._socket is not None:
            connection.settimeout(0)
        if self._task is None:
            # the request is not complete
            self._watch()

    def _watch(self) -> None:
        """Notice from now on what the launcher sends, and that it hangs up."""
        if self._socket is not None and not self._is_watched:
            self._is_watched = True
            # by its number: looking a socket up by itself formats its addresses
            self._loop.add_reader(self._socket.fileno(), self._read)
        if self._socket is not None and self._task is not None:
            self._timer = self._loop.call_later(FIRST_STILL, self._send_still)

    def _read(self) -> None:
        """Collect the request, and answer it when it is complete; the end of the stream means that the launcher has gone."""
        if self._socket is None:
            return
        try:
            data = self._socket.recv(_CHUNK)
        except (BlockingIOError, TimeoutError):
            return
        except OSError:
            data = b""
        if not data:
            # the hooks of a launcher that gave up end with it
            self._close()
            if self._task is not None:
                self._task.cancel()
        elif self._task is None and not self._unsent:
            self._received += data
            try:
                request = protocol.parse_request(self._received)
            except ProtocolError as problem:
                self.send(self._dispatcher.decline(str(problem)))
                return
            if request is not None:
                self._received.clear()
                self._task = self._dispatcher.dispatch(self, request)
                # after the first step of the task: most calls are answered by then
                self._loop.call_soon(self._watch)

    def _send_still(self) -> None:
        # never in the middle of an answer
        if self._socket is not None and not self._unsent:
            self._timer = self._loop.call_later(NEXT_STILL, self._send_still)
            with suppress(OSError):
                self._socket.send(STILL)

    def send(self, frame: bytes) -> None:
        """Send the answer, and close the connection when all of it is sent; the first answer counts."""
        if self._socket is not None and not self._unsent:
            self._unsent = frame
            self._on_writable()

    def _on_writable(self) -> None:
        if self._socket is None:
            return
        try:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent = b""
        if self._unsent:
            self._is_watched = True
            self._loop.add_writer(self._socket.fileno(), self._on_writable)
        else:
            self._close()

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._socket is not None:
            if self._is_watched:
                self._loop.remove_reader(self._socket.fileno())
                self._loop.remove_writer(self._socket.fileno())
            self._socket.close()
            self._socket = None


def listen(listening: socket.socket, dispatcher: CallDispatcher) -> None:
    """Accept launchers from now on, until the socket is closed."""
    # closed when the daemon is stopping
    if listening.fileno() >= 0:
        asyncio.get_running_loop().add_reader(listening, _accept, listening, dispatcher)


def _accept(listening: socket.socket, dispatcher: CallDispatcher) -> None:
    for _ in range(_ACCEPTED_AT_ONCE):
        try:
            connection, _address = listening.accept()
        except OSError as problem:
            if problem.errno in _OUT_OF_RESOURCES:
                # the loop would report the waiting launcher again and again
                loop = asyncio.get_running_loop()
                loop.remove_reader(listening)
                loop.call_later(_PAUSE, listen, listening, dispatcher)
            return
        Connection(dispatcher, connection)
