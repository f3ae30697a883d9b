"""Events that other programs raise over HTTP: `hookline watch --listen`.

Whoever has the token is the person: the file is theirs alone, so all events are open to them, as with `hookline emit`.
Whoever only signs with the secret is a service outside: it may raise the custom event that its path names, and learns
no more than whether it was blocked.
"""

import asyncio
import ipaddress
import logging
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from hookline import wire
from hookline.core.engine import Engine
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError, DialectError, EngineError
from hookline.model.event import Event
from hookline.model.report import described
from hookline.model.verdict import Outcome
from hookline.sources._http_event import Make, route
from hookline.sources._http_request import LARGEST_HEAD, Head, HttpError, read_body, read_head
from hookline.sources._http_token import Token, read_token

__all__ = ["Address", "Server", "Token", "listen_address", "read_token", "serve"]

logger = logging.getLogger(__name__)

# how long a caller may take to say what it wants, and to take the answer
READING: Final = 10.0
WRITING: Final = 10.0
CLOSING: Final = 5.0
LINGERING: Final = 1.0

# a caller that nobody knows yet holds a connection, one that is known an answer
MOST_CONNECTIONS: Final = 128
MOST_AT_ONCE: Final = 16

_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_ADDRESS: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:]*)):(?P<port>[0-9]{1,5})")
_HIGHEST_PORT: Final = 65_535

EngineOf = Callable[[], Engine]
Tell = Callable[[str], None]


class Address(Struct, frozen=True):
    """Where to listen."""

    host: str
    port: int


class _Request(Struct, frozen=True, kw_only=True):
    """A request that may be made; `is_known` says that it shows the token, not only a signature."""

    head: Head
    make: Make
    body: bytes
    is_known: bool


class _Reply(Struct, frozen=True, kw_only=True):
    """An answer on its way out; `what` says in a line for the person what it was about."""

    status: int
    body: bytes
    what: str = ""
    headers: Mapping[str, str] = {}


def listen_address(text: str, *, anywhere: bool = False) -> Address:
    """Read `HOST:PORT`, which must be an address of this machine alone, unless the person wants it `anywhere`.

    Raises:
        ConfigError: It is no address, or one that others can reach.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > _HIGHEST_PORT:
        raise ConfigError(f"cannot listen at {text!r}: say HOST:PORT, such as 127.0.0.1:8642 or [::1]:8642")
    name = found["six"] or found["name"] or ""
    try:
        number = ipaddress.ip_address("127.0.0.1" if name == "localhost" else name)
    except ValueError:
        raise ConfigError(f"cannot listen at {text!r}: {name!r} is no IP address, nor localhost") from None
    if not number.is_loopback and not anywhere:
        raise ConfigError(
            f"{number} can be reached from other machines, which would send the token in the clear; listen at "
            "127.0.0.1 behind a proxy with TLS or an SSH tunnel"
        )
    return Address(str(number), int(found["port"]))


async def serve(
    engine_of: EngineOf,
    address: Address,
    token: Token,
    *,
    hosts: tuple[str, ...] = (),
    tell: Tell | None = None,
) -> "Server":
    """Take events at an address until the server is closed.

    `engine_of` gives the engine that is to answer, for each request anew. `hosts` are names besides the address that
    callers may know us by, such as the one of a proxy in front. `tell` is given a line about each request.

    Raises:
        ConfigError: Nobody can listen there.
    """
    server = Server(engine_of, token, hosts=_known_as(address, hosts), tell=tell)
    try:
        await server.start(address)
    except OSError as problem:
        why = os.strerror(problem.errno) if problem.errno else str(problem)
        raise ConfigError(f"cannot listen at {_spelled(address.host)}:{address.port}: {why}") from None
    return server


def _known_as(address: Address, hosts: tuple[str, ...]) -> frozenset[str]:
    return _LOCAL | {_spelled(address.host)} | {host.lower() for host in hosts}


def _spelled(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class Server:
    """Answer requests, a bounded number at once, each on a connection of its own."""

    def __init__(self, engine_of: EngineOf, token: Token, *, hosts: frozenset[str], tell: Tell | None) -> None:
        self._engine_of = engine_of
        self._token = token
        self._hosts = hosts
        self._tell = tell
        self._listening: asyncio.Server | None = None
        self._open: set[asyncio.Task[object]] = set()
        self._answering = 0
        self.url = ""

    async def start(self, address: Address) -> None:
        """Begin to listen."""
        self._listening = await asyncio.start_server(self._connected, address.host, address.port, limit=LARGEST_HEAD)
        host, port, *_ = self._listening.sockets[0].getsockname()
        self.url = f"http://{_spelled(host)}:{port}"

    async def close(self) -> None:
        """Take no more requests, and wait a while for the answers that are under way."""
        if self._listening is not None:
            self._listening.close()
        if self._open:
            _, late = await asyncio.wait(self._open, timeout=CLOSING)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._open) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._open.add(task)
        try:
            await self._converse(reader, writer)
        except asyncio.CancelledError:
            # the server is closed: the task ends here, and nobody waits for more of it
            writer.transport.abort()
        except OSError:
            # the caller went away: what it asked for was done, and there is nobody to tell
            writer.transport.abort()
        except Exception:
            logger.exception("this is a bug in hookline; please report it with the lines below")
            writer.transport.abort()
        finally:
            self._open.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head: Head | None = None
        try:
            async with asyncio.timeout(READING):
                head = await read_head(reader)
                if head is None:
                    return
                request = await self._admitted(head, reader, writer)
            reply = await self._answered(request)
        except TimeoutError:
            reply = _refusal(HttpError(408, f"the request did not arrive within {READING:g} seconds"))
        except HttpError as problem:
            reply = _refusal(problem)
        if self._tell is not None:
            asked = f"{head.method} {head.path} " if head is not None else ""
            self._tell(f"{asked}{reply.status} {reply.what}")
        is_short = head is not None and head.method == "HEAD"
        await _send(reply, reader, writer, is_short=is_short)

    async def _admitted(self, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _Request:
        """Read the request of a caller who may make it."""
        if head.host not in self._hosts:
            raise HttpError(403, f"this server is not called {head.host!r}")
        if "origin" in head.headers:
            # a page in a browser: whatever it wants, the person did not ask for it
            raise HttpError(403, "requests of web pages are not taken")
        make = route(head.path)
        if make is None:
            raise HttpError(404, "there is /events, /events/NAME and /hooks/NAME")
        if head.method != "POST":
            raise HttpError(405, "only POST is taken here", {"Allow": "POST"})
        is_known = self._token.is_shown(head.bearer)
        signature = head.headers.get("x-hub-signature-256", "") if head.path.startswith("/hooks/") else ""
        if not is_known and not signature:
            raise HttpError(401, "show the token: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"})
        body = await read_body(head, reader, writer)
        if not is_known and not self._token.has_signed(signature, body):
            raise HttpError(401, "this is not signed with the secret of this server")
        return _Request(head=head, make=make, body=body, is_known=is_known)

    async def _answered(self, request: _Request) -> _Reply:
        """Ask the hooks."""
        if self._answering >= MOST_AT_ONCE:
            raise HttpError(429, "too many events at once", {"Retry-After": "1"})
        self._answering += 1
        try:
            engine = self._engine_of()
            event = _event(request, engine)
            outcome = await engine.handle(event)
            said = _said(outcome, event, request)
        except HttpError:
            raise
        except EngineError as problem:
            raise HttpError(500, str(problem)) from None
        except Exception:
            logger.exception("this is a bug in hookline; please report it with the lines below")
            # nobody can say whether a guard would have objected, so this is no answer
            raise HttpError(500, "the hooks could not be asked because of a bug in hookline") from None
        finally:
            self._answering -= 1
        return _Reply(status=200, body=said, what=f"{_title(event)} {_word(outcome)}")


def _event(request: _Request, engine: Engine) -> Event:
    try:
        return request.make(engine, request.head, request.body)
    except (ConfigError, DialectError) as problem:
        raise HttpError(400, str(problem)) from None


def _said(outcome: Outcome, event: Event, request: _Request) -> bytes:
    """Give the outcome: in the caller's dialect, in ours, or no more than a stranger has to know."""
    if not request.is_known:
        return wire.dump({"blocked": outcome.blocked, "trace": outcome.trace or None})
    spoken = request.head.query.get("dialect")
    return DIALECTS[spoken].encode_outcome(outcome, event).stdout if spoken else wire.dump(described(outcome))


def _title(event: Event) -> str:
    own = event.data.get("event_name", "")
    return f"{event.name}:{own}" if own else str(event.name)


def _word(outcome: Outcome) -> str:
    return "blocked" if outcome.blocked else outcome.decision.word


def _refusal(problem: HttpError) -> _Reply:
    body = wire.dump({"error": problem.message})
    return _Reply(status=problem.status, body=body, what=problem.message, headers=problem.headers)


async def _send(reply: _Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_short: bool) -> None:
    """Send an answer; a short one says how long its body would be, and leaves it out."""
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(reply.body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Connection": "close",
        **reply.headers,
    }
    lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode("ascii") + (b"" if is_short else reply.body))
    with suppress(TimeoutError):
        async with asyncio.timeout(WRITING):
            await writer.drain()
            writer.write_eof()
        # A connection that is closed with something unread is reset, and the caller may lose the answer.
        async with asyncio.timeout(LINGERING):
            while await reader.read(LARGEST_HEAD):
                pass
