"""The HTTP server behind `hookline watch --listen`, the URL endpoint of the daemon, and `hookline ui`.

uvicorn's HTTP/1.1 protocol parses requests and starlette models them. This module adds what a server on a developer's
machine needs besides: DNS rebinding and cross-site requests are refused, slow and idle clients cannot use up the
connections, and a client always gets to read why it was refused. uvicorn's own `Server` is not used: it takes over
signals, and wakes up ten times a second.

Import this module only where something listens: starlette and uvicorn take 0.1 s to load.
"""

import asyncio
import http
import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, cast

import uvicorn
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from hookline import json_codec

__all__ = [
    "ClientDisconnect",
    "HTTPException",
    "HttpServer",
    "Options",
    "Request",
    "Response",
    "StreamingResponse",
    "read_body",
]

logger: Final = logging.getLogger(__name__)

LARGEST_HEAD: Final = 16_384  # bytes
LINGER: Final = 1.0  # seconds
_JSON: Final = "application/json"

# two readers of a request that has one of these twice could see two different requests
_ONLY_ONCE: Final = (b"authorization", b"origin", b"expect", b"x-hub-signature-256")

Handler = Callable[[Request], Awaitable[Response]]
Address = tuple[str, int]


class Options(Struct, frozen=True, kw_only=True):
    """What differs between servers.

    `hosts` returns the names, with or without a port, under which clients may call. `check_peer` returns why a
    connection is closed without an answer, or "". `on_refused` gets method and path, status and reason of each
    request that is refused. With `own_pages`, requests of pages that this server sent are taken. `headers` are added to
    every response.
    """

    hosts: Callable[[], Collection[str]]
    check_peer: Callable[[Address, Address], str] | None = None
    on_refused: Callable[[str, int, str], None] | None = None
    most_connections: int = 256
    head_seconds: float = 20.0
    keep_alive_seconds: int = 86_400
    own_pages: bool = False
    headers: Mapping[str, str] = {}


class HttpServer:
    """Serve a handler on a socket that is bound to this machine."""

    def __init__(self, handler: Handler, options: Options) -> None:
        self._handler = handler
        self.options = options
        self.state = ServerState()
        self.state.default_headers = [(name.lower().encode(), text.encode()) for name, text in options.headers.items()]
        self._config = uvicorn.Config(
            self._app,
            http=cast("type[asyncio.Protocol]", _HttpConnection),
            interface="asgi3",
            ws="none",
            lifespan="off",
            # it would believe X-Forwarded-For
            proxy_headers=False,
            server_header=False,
            date_header=False,
            access_log=False,
            log_config=None,
            log_level="critical",
            timeout_keep_alive=options.keep_alive_seconds,
            h11_max_incomplete_event_size=LARGEST_HEAD,
        )
        self._listener: asyncio.Server | None = None
        # connections without an authenticated request, by the address of the client, the oldest first
        self.unknown: dict[Address, _HttpConnection] = {}

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The sockets on which the server listens."""
        return tuple(self._listener.sockets) if self._listener is not None else ()

    async def start(self, listening: socket.socket) -> None:
        """Begin to accept connections."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: _HttpConnection(self, self._config), sock=listening)

    def stop(self) -> None:
        """Accept no more connections and close the idle ones; requests under way are answered."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for connection in list(self.state.connections):
            connection.shutdown()

    async def close(self, timeout: float) -> None:
        """Stop, wait for the requests under way, and abort those that take longer than `timeout` seconds."""
        self.stop()
        if self.state.tasks:
            await asyncio.wait(set(self.state.tasks), timeout=timeout)
        for connection in list(self.state.connections):
            connection.transport.abort()
        late = list(self.state.tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def mark_known(self, request: Request) -> None:
        """Note that the client has authenticated: its connection is not closed to make room for another one."""
        self.unknown.pop(request.scope["client"], None)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; an ASGI application."""
        request = Request(scope, receive)
        try:
            _check_head(request, self.options)
            response = await self._handler(request)
        except HTTPException as problem:
            if self.options.on_refused is not None:
                asked = f"{request.method} {scope['path']}"
                self.options.on_refused(asked, problem.status_code, problem.detail)
            headers = {**(problem.headers or {}), "Connection": "close"}
            response = error_response(problem.status_code, problem.detail, headers)
        except ClientDisconnect:
            return
        except Exception:
            logger.exception("this is a bug in hookline; please report it with the lines below")
            response = error_response(500, "this is a bug in hookline", {"Connection": "close"})
        await response(scope, receive, send)


def error_response(status: int, message: str, headers: dict[str, str]) -> Response:
    """Return a refusal as JSON."""
    return Response(json_codec.dump({"error": message}), status, headers, media_type=_JSON)


def _check_head(request: Request, options: Options) -> None:
    """Refuse what can be read in two ways, and what a page in a browser has sent, unless it is a page of this server.

    Raises:
        HTTPException: The request is refused.
    """
    scope, headers = request.scope, request.scope["headers"]
    target = scope["raw_path"] + b"?" + scope["query_string"]
    names = [name for name, _ in headers]
    if scope["http_version"] not in {"1.0", "1.1"} or not target.startswith(b"/") or b"#" in target:
        raise HTTPException(400, "the first line is no HTTP/1.1 request for a path")
    if sum(len(name) + len(value) + len(": \r\n") for name, value in headers) > LARGEST_HEAD:
        raise HTTPException(431, f"the headers are larger than {LARGEST_HEAD} bytes")
    for name in _ONLY_ONCE:
        if names.count(name) > 1:
            raise HTTPException(400, f"the header {name.decode()} is given twice")
    if b"content-length" in names and b"transfer-encoding" in names:
        raise HTTPException(400, "both Content-Length and Transfer-Encoding are given")
    keys = [key for key, _ in request.query_params.multi_items()]
    if len(keys) != len(set(keys)):
        raise HTTPException(400, "a parameter is given twice")
    # under DNS rebinding a page calls this machine by the name of the page's own server
    host = request.headers.get("host", "").lower()
    without_port = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    hosts = options.hosts()
    if host not in hosts and without_port not in hosts:
        raise HTTPException(403, f"this server is not called {host!r}")
    origin = request.headers.get("origin")
    if origin is not None and not (options.own_pages and origin.lower() == f"http://{host}"):
        raise HTTPException(403, f"requests of {'other ' if options.own_pages else ''}web pages are not taken")
    if request.headers.get("expect", "100-continue").lower() != "100-continue":
        raise HTTPException(417, "the only expectation that is met is 100-continue")


async def read_body(request: Request, *, limit: int, seconds: float) -> bytes | None:
    """Read the body of a request; None where it is larger than `limit`, and was read to its end but not kept.

    Raises:
        HTTPException: The client sent nothing for `seconds`.
        ClientDisconnect: It has gone.
    """
    body = bytearray()
    size = 0
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(seconds):
                part = await anext(stream, None)
        except TimeoutError:
            raise HTTPException(408, f"the request did not arrive within {seconds:g} seconds") from None
        if part is None:
            return bytes(body) if size <= limit else None
        size += len(part)
        if size <= limit:
            body += part
        else:
            body.clear()


class _HttpConnection(H11Protocol):
    """One connection: uvicorn's protocol with a timeout for heads, a limit on connections and errors in JSON."""

    def __init__(self, server: HttpServer, config: uvicorn.Config) -> None:
        super().__init__(config, server.state, {})
        self._server = server
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or abort it where the client may not call or there are too many."""
        super().connection_made(cast("asyncio.Transport", _LingeringTransport(transport)))
        reason = self._peer_problem()
        if reason:
            logger.warning("a connection was refused: %s", reason)
            transport.abort()
            return
        if self.client is not None:
            self._server.unknown[self.client] = self
        self._head_timer = self.loop.call_later(self._server.options.head_seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._stop_timer()
        if self.client is not None and self._server.unknown.get(self.client) is self:
            del self._server.unknown[self.client]

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived, or discard it where this side has ended."""
        if not self.transport.is_closing():
            super().data_received(data)

    def handle_events(self) -> None:
        """Start the requests that are complete so far, and limit the time until the next head is."""
        super().handle_events()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._stop_timer()
        elif self._head_timer is None and self.conn.trailing_data[0] and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self._server.options.head_seconds, self._give_up)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP request with the reason, as JSON."""
        problem = sys.exception()
        self._refuse(getattr(problem, "error_status_hint", 400), str(problem or msg))

    def _peer_problem(self) -> str:
        check_peer = self._server.options.check_peer
        if check_peer is not None:
            # a client that has hung up already has no address
            reason = check_peer(self.client, cast("Address", self.server)) if self.client and self.server else "gone"
            if reason:
                return reason
        if len(self.connections) > self._server.options.most_connections:
            # idle strangers must not keep the owner out: the oldest of them makes room
            oldest = next(iter(self._server.unknown.values()), None)
            if oldest is None:
                return "there are too many"
            del self._server.unknown[cast("Address", oldest.client)]
            oldest.transport.abort()
        return ""

    def _give_up(self) -> None:
        if self.conn.trailing_data[0]:
            self._refuse(408, f"the request did not arrive within {self._server.options.head_seconds:g} seconds")
        else:
            self._head_timer = None
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        self._stop_timer()
        if self._server.options.on_refused is not None:
            self._server.options.on_refused("", status, message)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            # the handler of this request learns that its body never comes
            cycle.disconnected = True
            cycle.message_event.set()
        response = error_response(status, message, {**self._server.options.headers, "Connection": "close"})
        headers = "".join(f"{name.decode()}: {value.decode()}\r\n" for name, value in response.raw_headers)
        # h11 is in its error state and cannot write it
        self.transport.write(
            f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\n{headers}\r\n".encode() + bytes(response.body)
        )
        self.transport.close()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class _LingeringTransport:
    """A transport that is closed in two steps.

    A connection that is closed with unread data is reset, and the client may lose the response. So this side ends
    first, and what still arrives is discarded until the client ends, or for a moment.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._has_ended = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Return whether the connection is on its way to be closed."""
        return self._has_ended or self._transport.is_closing()

    def close(self) -> None:
        """End this side once everything is sent, and the connection soon after."""
        if self.is_closing():
            return
        self._has_ended = True
        try:
            self._transport.write_eof()
            self._transport.resume_reading()
        except (OSError, RuntimeError):
            self._transport.close()
            return
        asyncio.get_running_loop().call_later(LINGER, self._transport.abort)
