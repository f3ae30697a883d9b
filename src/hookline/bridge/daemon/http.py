"""Answer agents that call a URL: on this machine, for programs of this person that know the token, and nobody else.

Such a call cannot do it without us, as a launcher can: whatever goes wrong here, the policy of the entry decides.
"""

import asyncio
import hmac
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec.structs import replace

from hookline import wire
from hookline.bridge.broken import answer_without_hooks
from hookline.bridge.call import Call, IfBroken, moment
from hookline.bridge.canary import MARK as CANARY_VARIABLE
from hookline.bridge.daemon import peers, post
from hookline.bridge.daemon.post import Head, RefusedError
from hookline.bridge.daemon.server import Desk
from hookline.bridge.nesting import MARK as NESTING_VARIABLE
from hookline.bridge.place import VARIABLES
from hookline.bridge.words import OPTION, understood
from hookline.dialects._caller import ENVIRONMENT
from hookline.folders import person_folders
from hookline.hosts import HOSTS, urls
from hookline.hosts.urls import Address
from hookline.model.exchange import Answer

logger: Final = logging.getLogger(__name__)

# the variable in which a daemon that starts anew finds the socket on which agents wait meanwhile
HANDED_ON: Final = "HOOKLINE_HTTP_SOCKET"

_HOME: Final = "127.0.0.1"
_PATH: Final = "hookline/v1/hook"
_POLICY: Final = "if-broken"
_BACKLOG: Final = 128
_MOST: Final = 256  # connections
_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"
_NO: Final = 2
_PARTING: Final = 2.0  # seconds

# What an agent tells its own hooks: the one that happened to start the daemon is not the one that calls.
_OF_SESSIONS: Final = frozenset(
    {
        *ENVIRONMENT,
        *VARIABLES.values(),
        *(f"CLAUDE_{name}" for name in ("EFFORT", "ENV_FILE", "PID")),
        *(f"CLAUDE_CODE_{name}" for name in ("BRIDGE_SESSION_ID", "CHILD_SESSION", "ENTRYPOINT", "SESSION_ID")),
        *(NESTING_VARIABLE, CANARY_VARIABLE, "TRACEPARENT", "PWD", "OLDPWD"),
    }
)
_OF_PLUGINS: Final = "CLAUDE_PLUGIN_"


class Front:
    """Listens where the person's settings have agents call, as long as they do."""

    def __init__(self, desk: Desk, *, used: Callable[[], object], umask: int) -> None:
        self._desk = desk
        self._used = used
        self._umask = umask
        self._waiting = _inherited()
        self._environ = _own(os.environ)
        self._data = person_folders(Path("/")).data
        self._address: Address | None = None
        self._server: asyncio.Server | None = None
        self._lines: set[Line] = set()
        self._trouble = ""
        self._lock = asyncio.Lock()
        self.is_leaving = False

    @property
    def is_open(self) -> bool:
        """Whether somebody may call."""
        return self._server is not None

    @property
    def is_staying(self) -> bool:
        """Whether a caller may count on the connection for the next call."""
        return self.is_open and not self.is_leaving

    @property
    def url(self) -> str:
        """Where; empty when nowhere."""
        return f"http://{_HOME}:{self._address.port}" if self._address is not None and self.is_open else ""

    async def look(self) -> None:
        """Listen where the person wants it now, or not at all."""
        async with self._lock:
            await self._look()

    async def _look(self) -> None:
        found = urls.address(self._data)
        wanted = found if found is not None and found.python == sys.executable else None
        if self._server is not None and (wanted is None or self._address is None or wanted.port != self._address.port):
            self.close()
        self._address = wanted
        if wanted is None and self._waiting is not None:
            self._waiting.close()
            self._waiting = None
        if wanted is not None and self._server is None:
            await self._open(wanted.port)

    async def _open(self, port: int) -> None:
        inherited, self._waiting = self._waiting, None
        try:
            listening = _listening(port, inherited)
            self._server = await asyncio.get_running_loop().create_server(self._connected, sock=listening)
        except OSError as problem:
            # said once: it is tried again and again
            if self._trouble != str(problem):
                logger.warning("nobody is answered at %s:%s: %s", _HOME, port, problem)
            self._trouble = str(problem)
            return
        self._trouble = ""
        logger.info("agents may call http://%s:%s", _HOME, port)

    def close(self, *, hand_on: bool = False) -> None:
        """Let nobody new in, and close lines on which nothing is said; who waits for an answer gets it.

        With `hand_on`, callers wait at the door until the program that we become lets them in.
        """
        if self._server is None:
            return
        if hand_on:
            handle = os.dup(self._server.sockets[0].fileno())
            os.set_inheritable(handle, True)  # noqa: FBT003 - it takes nothing else
            os.environ[HANDED_ON] = str(handle)
        self._server.close()
        self._server = None
        for line in list(self._lines):
            line.end_if_idle()

    def _connected(self) -> "Line":
        return Line(self)

    def entered(self, line: "Line") -> bool:
        """Take a new caller; say whether there is room."""
        if len(self._lines) >= _MOST:
            return False
        self._lines.add(line)
        return True

    def left(self, line: "Line") -> None:
        """Take note that a caller has gone."""
        self._lines.discard(line)

    def admit(self, head: Head) -> Call:
        """Say which call this is.

        Raises:
            RefusedError: It is none of ours, or of somebody who may not call.
        """
        address = self._address
        if address is None:
            raise RefusedError(503, "nobody is to be answered here any more")
        # a page in a browser can have it call us, under a name of its own, but it cannot hide that
        if head.fields.get("host", "").lower() not in {f"{_HOME}:{address.port}", f"localhost:{address.port}"}:
            raise RefusedError(403, "this is for programs that call this machine by its own name")
        if "origin" in head.fields:
            raise RefusedError(403, "this is not for pages")
        said = head.fields.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(said, f"Bearer {address.token}".encode()):
            raise RefusedError(401, "the token is missing, or another one")
        if head.method != "POST":
            raise RefusedError(405, "only POST is understood")
        return _call(head.target)

    async def answer(self, call: Call, head: Head, body: bytes | None, say: Callable[[bytes], None]) -> None:
        """Answer one call with a document; whatever goes wrong, there is one."""
        said: list[Answer] = []

        def heard(answer: Answer) -> None:
            said.append(answer)
            say(_document(answer))

        self._used()
        if body is None:
            heard(_refusal(call, f"the event is longer than {post.LARGEST // 1024 // 1024} MiB"))
            return
        try:
            whole = replace(call, raw=body)
            environ, folder = self._variables(head), _folder(body)
            await self._desk.serve(whole, heard, environ=environ, folder=folder, umask=self._umask)
        except Exception as problem:
            # an answer that was given stands, whatever happened then
            logger.exception("a call of a URL could not be answered")
            if not said:
                heard(_refusal(call, repr(problem)))

    def _variables(self, head: Head) -> Mapping[str, str]:
        """Give the environment of a call: ours, and what the headers carry."""
        carried = ((NESTING_VARIABLE, urls.NESTED), (CANARY_VARIABLE, urls.CANARY))
        more = {variable: value for variable, name in carried if (value := head.fields.get(name.lower(), ""))}
        return {**self._environ, **more} if more else self._environ

    def take(self, task: "asyncio.Task[None]") -> None:
        """Have the daemon stay until somebody has an answer."""
        self._desk.running.add(task)
        task.add_done_callback(self._desk.running.discard)


class Line(asyncio.StreamReaderProtocol):
    """One connection, on which one request after another is answered."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._idle = True
        self._owes = False
        self._work: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        super().__init__(asyncio.StreamReader(limit=post.HEAD), self._begin)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        theirs, ours = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        # who hung up before we looked has no address any more
        stranger = peers.tcp_objection(theirs, ours) if theirs and ours else "it has gone"
        if stranger or not self._front.entered(self):
            logger.warning("a connection was refused: %s", stranger or "there are too many")
            writer.close()
            return
        self._work = asyncio.get_running_loop().create_task(self._talk(reader, writer))

    def eof_received(self) -> bool:
        """Take it for the end of everything: whoever waits for an answer does not hang up."""
        super().eof_received()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop what was done for a caller that gave up: its hooks end with it."""
        super().connection_lost(exc)
        self._front.left(self)
        if self._work is not None and not self._work.done():
            self._work.cancel()

    def end_if_idle(self) -> None:
        """Hang up, unless somebody waits for an answer."""
        if self._idle and self._writer is not None:
            self._writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._turn(reader, writer):
                pass
        except RefusedError as refusal:
            more = {"Allow": "POST"} if refusal.status == 405 else {}  # noqa: PLR2004
            text = f"{refusal}\n".encode()
            writer.write(post.written(refusal.status, text, kind=_TEXT, stays=False, more=more))
            await _parted(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except Exception:
            logger.exception("a connection fell over")
        finally:
            # the task that ran is not the one that waits for the rest to be sent
            writer.close()

    async def _turn(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; say whether there may be another."""
        self._idle = True
        head = await post.read_head(reader)
        self._idle = False
        if head is None:
            return False
        call = self._front.admit(head)
        if head.has_body and head.fields.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await post.read_body(reader, head)
        self._owes = True

        def say(document: bytes) -> None:
            stays = head.stays and self._front.is_staying
            writer.write(post.written(200, document, kind=_JSON, stays=stays))
            self._owes = False

        task = asyncio.get_running_loop().create_task(self._front.answer(call, head, body, say))
        self._front.take(task)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            # what is left to do when a caller has its answer is done all the same
            if self._owes:
                task.cancel()
            raise
        await writer.drain()
        return head.stays and self._front.is_staying


def _call(target: str) -> Call:
    """Read a target: the agent, its event, and what happens when we are broken.

    Raises:
        RefusedError: There is nothing of that name, or the agent takes no such answer over HTTP.
    """
    said = urlsplit(target)
    path, _, names = said.path.strip("/").partition(f"{_PATH}/")
    host, _, event = (unquote(word) for word in names.partition("/"))
    options = dict(parse_qsl(said.query, keep_blank_values=True))
    policy = options.pop(_POLICY, IfBroken.BLOCK)
    call, _, wrong = (
        understood((f"{OPTION}={policy}", host, event)) if names and not path and not options else (None, None, "")
    )
    if call is None:
        raise RefusedError(404, wrong or f"nothing is here; wanted /{_PATH}/HOST/EVENT?{_POLICY}=block")
    name = call.dialect.SPEC.name
    if name not in HOSTS or not HOSTS[name].calls_url(event):
        raise RefusedError(404, f"an answer at {event} of {call.dialect.SPEC.title} cannot be given over HTTP")
    return call


async def _parted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Wait a moment for a caller to read why it is refused: what it said and nobody read would take the answer away."""
    with suppress(OSError, TimeoutError):
        writer.write_eof()
        async with asyncio.timeout(_PARTING):
            while await reader.read(post.HEAD):
                pass


def _refusal(call: Call, why: str) -> Answer:
    event = moment(call.dialect, call.native)
    is_blocked = call.if_broken is not IfBroken.ALLOW
    outcome = answer_without_hooks(call.dialect, event, why, is_blocked=is_blocked)
    return call.dialect.encode_outcome(outcome, event)


def _document(answer: Answer) -> bytes:
    """Give an answer as a document; a no that is an exit code becomes one that everybody of this family reads."""
    body = answer.stdout.strip()
    if answer.exit_code == _NO and not body:
        return wire.dump({"decision": "block", "reason": answer.stderr.decode("utf-8", "replace").strip()})
    return body


def _folder(body: bytes) -> str:
    """Say where the agent works; it names the folder in what it says."""
    try:
        document = wire.load(body)
    except ValueError:
        return "/"
    folder = document.get("cwd") if isinstance(document, dict) else None
    is_one = isinstance(folder, str) and os.path.isabs(folder) and "\0" not in folder and os.path.isdir(folder)  # noqa: PTH112, PTH117
    return str(folder) if is_one else "/"


def _own(environ: Mapping[str, str]) -> dict[str, str]:
    """Give the environment without what is true only for the agent that happened to start us."""
    return {
        name: value for name, value in environ.items() if name not in _OF_SESSIONS and not name.startswith(_OF_PLUGINS)
    }


def _listening(port: int, inherited: socket.socket | None) -> socket.socket:
    """Listen, on the socket on which callers wait already, if there is one."""
    if inherited is not None:
        if inherited.getsockname()[:2] == (_HOME, port):
            return inherited
        inherited.close()
    listening = socket.socket()
    try:
        # those who hung up a moment ago do not keep us from coming back
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((_HOME, port))
        listening.listen(_BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


def _inherited() -> socket.socket | None:
    """Take up the socket that the program we were before kept open."""
    said = os.environ.pop(HANDED_ON, "")
    if not said.isdecimal():
        return None
    try:
        found = socket.socket(fileno=int(said))
        found.set_inheritable(False)
    except OSError:
        return None
    return found
