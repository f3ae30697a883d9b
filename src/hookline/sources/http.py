"""Events that other programs raise over HTTP: `hookline watch --listen`.

A client with the token is one of the user's own programs, because only the user can read its file: it may raise every
event, as `hookline emit` may. A client that only signs with the secret is a service outside: it may raise the custom
event that its path names, and learns no more than whether the event was blocked.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import os
import re
import secrets
import socket
import stat
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.dialects import DIALECTS
from hookline.engine.engine import Engine
from hookline.errors import ConfigError, DialectError, EngineError, StoreError
from hookline.files import OPEN_SAFELY
from hookline.http_server import HTTPException, HttpServer, Options, Request, Response, read_body
from hookline.model.event import Event, EventName
from hookline.model.verdict import Outcome, outcome_to_json
from hookline.model.workspace_paths import is_inside

logger = logging.getLogger(__name__)

# seconds for a request to arrive, and for answers under way once the server is closed
READING: Final = 10.0
CLOSING: Final = 5.0

MOST_CONNECTIONS: Final = 128
MOST_AT_ONCE: Final = 16
LARGEST_BODY: Final = 1_048_576

_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_ADDRESS: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:]*)):(?P<port>[0-9]{1,5})")
_HIGHEST_PORT: Final = 65_535
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Connection": "close"}
_SHORTEST_TOKEN: Final = 32
_LARGEST_TOKEN_FILE: Final = 4096
_SIGNATURE_SCHEME: Final = "sha256="

# the headers in which services name the kind of an event and its number
_KIND: Final = ("x-github-event", "x-gitlab-event", "x-gitea-event", "x-event-key")
_DELIVERY: Final = ("x-github-delivery", "x-gitlab-event-uuid", "x-gitea-delivery", "x-request-uuid")


UseEngine = Callable[[], AbstractAsyncContextManager[Engine]]


class Address(Struct, frozen=True):
    """Where to listen."""

    host: str
    port: int

    @property
    def url_host(self) -> str:
        """The host as it stands in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host


def listen_address(text: str, *, anywhere: bool = False) -> Address:
    """Parse `HOST:PORT`, which must be an address of this machine alone unless `anywhere` is set.

    Raises:
        ConfigError: It is no address, or one that other machines can reach.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > _HIGHEST_PORT:
        raise ConfigError(f"cannot listen at {text!r}: say HOST:PORT, such as 127.0.0.1:8642 or [::1]:8642")
    name = match["six"] or match["name"] or ""
    try:
        number = ipaddress.ip_address("127.0.0.1" if name == "localhost" else name)
    except ValueError:
        raise ConfigError(f"cannot listen at {text!r}: {name!r} is no IP address, nor localhost") from None
    if not number.is_loopback and not anywhere:
        raise ConfigError(
            f"{number} can be reached from other machines, which would send the token in the clear; listen at "
            "127.0.0.1 behind a proxy with TLS or an SSH tunnel"
        )
    return Address(str(number), int(match["port"]))


async def serve(
    use_engine: UseEngine,
    address: Address,
    token: "AccessToken",
    *,
    hosts: tuple[str, ...] = (),
    tell: Callable[[str], None] | None = None,
) -> "Server":
    """Take events at an address until the server is closed.

    `use_engine` opens the engine for each request. `hosts` are names besides the address under which clients may call,
    such as that of a proxy in front. `tell` gets a line about each request.

    Raises:
        ConfigError: The address cannot be used.
    """
    server = Server(use_engine, token, hosts=_LOCAL | {address.url_host, *map(str.lower, hosts)}, tell=tell)
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        await server.start(socket.create_server((address.host, address.port), family=family))
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else str(problem)
        raise ConfigError(f"cannot listen at {address.url_host}:{address.port}: {reason}") from None
    return server


class Server:
    """Raise an event for each request, a bounded number at once, each on a connection of its own."""

    def __init__(
        self,
        use_engine: UseEngine,
        token: "AccessToken",
        *,
        hosts: frozenset[str],
        tell: Callable[[str], None] | None,
    ) -> None:
        self._use_engine = use_engine
        self._token = token
        self._tell = tell or (lambda _line: None)
        self._answering = 0
        self._http = HttpServer(
            self._answer,
            Options(
                hosts=lambda: hosts,
                on_refused=lambda asked, status, reason: self._tell(f"{asked} {status} {reason}".lstrip()),
                most_connections=MOST_CONNECTIONS,
                head_seconds=READING,
            ),
        )
        self.url = ""

    async def start(self, listening: socket.socket) -> None:
        """Begin to take requests from a socket."""
        await self._http.start(listening)
        host, port, *_ = self._http.sockets[0].getsockname()
        self.url = f"http://{Address(host, port).url_host}:{port}"

    async def close(self) -> None:
        """Take no more requests, and wait a while for the answers under way."""
        await self._http.close(CLOSING)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["path"]
        route = next((pattern for pattern in _ROUTES if pattern.fullmatch(path)), None)
        if route is None:
            raise HTTPException(404, "there is /events, /events/NAME and /hooks/NAME")
        if request.method != "POST":
            raise HTTPException(405, "only POST is taken here", {"Allow": "POST"})
        scheme, _, value = request.headers.get("authorization", "").partition(" ")
        has_token = self._token.is_valid(value.strip() if scheme.lower() == "bearer" else "")
        signature = request.headers.get("x-hub-signature-256", "") if path.startswith("/hooks/") else ""
        if not has_token and not signature:
            raise HTTPException(401, "show the token: Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"})
        body = await _read_body(request)
        if not has_token and not self._token.has_signed(signature, body):
            raise HTTPException(401, "this is not signed with the secret of this server")
        self._http.mark_known(request)
        make_event = partial(_ROUTES[route], path.split("/", 2)[-1])
        event, outcome = await self._raise_event(request, make_event, body, has_token=has_token)
        own_name = event.data.get("event_name", "")
        title = f"{event.name}:{own_name}" if own_name else str(event.name)
        self._tell(f"POST {path} 200 {title} {'blocked' if outcome.blocked else outcome.decision.word}")
        if not has_token:
            # no more than a service outside has to know
            document = json_codec.dump({"blocked": outcome.blocked, "trace": outcome.trace or None})
        elif dialect := request.query_params.get("dialect"):
            document = DIALECTS[dialect].encode_outcome(outcome, event).stdout
        else:
            document = json_codec.dump(outcome_to_json(outcome))
        return Response(document, 200, _HEADERS, media_type="application/json")

    async def _raise_event(
        self, request: Request, make_event: "_MakeEvent", body: bytes, *, has_token: bool
    ) -> tuple[Event, Outcome]:
        if self._answering >= MOST_AT_ONCE:
            raise HTTPException(429, "too many events at once", {"Retry-After": "1"})
        self._answering += 1
        try:
            async with self._use_engine() as engine:
                event = make_event(engine, request, body)
                # an agent that speaks a dialect gets an "ask" in that dialect, and asks the user itself
                return event, await engine.handle(event, host_asks=has_token and "dialect" in request.query_params)
        except (ConfigError, DialectError) as problem:
            raise HTTPException(400, str(problem)) from None
        except EngineError as problem:
            raise HTTPException(500, str(problem)) from None
        except HTTPException:
            raise
        except Exception:
            logger.exception("this is a bug in hookline; please report it with the lines below")
            # a guard might have objected, so this must not look like an answer
            raise HTTPException(500, "the hooks could not be asked because of a bug in hookline") from None
        finally:
            self._answering -= 1


async def _read_body(request: Request) -> bytes:
    """Read a body whose length is known beforehand.

    Raises:
        HTTPException: The length is missing or too large, or the body takes too long.
    """
    length = request.headers.get("content-length")
    if length is None:
        raise HTTPException(411, "a body is taken with Content-Length only")
    if int(length) > LARGEST_BODY:
        raise HTTPException(413, f"the body is larger than {LARGEST_BODY} bytes")
    try:
        async with asyncio.timeout(READING):
            return await read_body(request, limit=LARGEST_BODY, seconds=READING) or b""
    except TimeoutError:
        raise HTTPException(408, f"the request did not arrive within {READING:g} seconds") from None


# Requests as events

_MakeEvent = Callable[[Engine, Request, bytes], Event]


def _document_event(_name: str, engine: Engine, request: Request, body: bytes) -> Event:
    """Read an event in Hookline's own format; names that other dialects have for it are known as well."""
    _check_own_format(request)
    given = DIALECTS["hookline"].decode_event(body)
    data = dict(given.data)
    name = str(given.name)
    if given.name is EventName.CUSTOM and given.native_name:
        name = given.native_name
        if data.get("event_name") == name:
            del data["event_name"]
    cwd = _folder(engine, given.cwd)
    return engine.event(name, data, tool=given.tool, args=given.args or None, session=given.session, cwd=cwd)


def _named_event(name: str, engine: Engine, request: Request, body: bytes) -> Event:
    """Read the fields of the event that the path names, or the document that an agent of another dialect sends for it."""
    dialect_name = request.query_params.get("dialect")
    if dialect_name is None:
        fields = _load_json(body) if body else {}
        if not isinstance(fields, dict):
            raise HTTPException(400, "the body must be a JSON object, the fields of the event")
        return engine.event(name, fields)
    dialect = DIALECTS.get(dialect_name)
    if dialect is None:
        raise HTTPException(400, f"there is no dialect {dialect_name!r}; there are {', '.join(sorted(DIALECTS))}")
    event = dialect.decode_event(body)
    native = dialect.SPEC.events.get(event.name, event.name)
    if engine.resolve(name) != event.name and name not in {native, event.native_name}:
        raise HTTPException(400, f"the body says the event is {native!r}, the path says {name!r}")
    return replace(event, id="", cwd=_folder(engine, event.cwd) or engine.cwd)


def _service_event(name: str, engine: Engine, request: Request, body: bytes) -> Event:
    """Make a custom event of the JSON that a service sends."""
    _check_own_format(request)
    fields: dict[str, object] = {"payload": _load_json(body), "source": "http"}
    for key, headers in (("kind", _KIND), ("delivery", _DELIVERY)):
        if value := next((request.headers[name] for name in headers if name in request.headers), ""):
            fields[key] = value
    return engine.event(f"custom:{name}", fields)


# by pattern of the path, whose last part is the name
_ROUTES: Final = {
    re.compile(r"/events"): _document_event,
    re.compile(r"/events/[^/\x00-\x20]{1,128}"): _named_event,
    re.compile(r"/hooks/[A-Za-z0-9][A-Za-z0-9._-]{0,63}"): _service_event,
}


def _check_own_format(request: Request) -> None:
    if "dialect" in request.query_params:
        raise HTTPException(400, "a dialect is spoken at /events/NAME only")


def _load_json(body: bytes) -> object:
    try:
        return json_codec.load(body)
    except ValueError as problem:
        raise HTTPException(400, f"the body is no JSON: {problem}") from None


def _folder(engine: Engine, named: str) -> str:
    """Return the folder that a client names, or ""; a relative path starts at the project.

    Raises:
        ConfigError: The folder is not in the project.
    """
    if not named:
        return ""
    folder = os.path.join(engine.cwd, named)  # noqa: PTH118 - texts, as in events
    if "\0" in folder or not is_inside(os.path.realpath(folder), [os.path.realpath(engine.cwd)]):
        raise ConfigError(f"cwd {named!r} is not in the project {engine.cwd}")
    return folder


# The token and the secret


class AccessToken(Struct, frozen=True, kw_only=True):
    """The token of the user's own programs, the secret of services that sign what they send, and their files."""

    value: str
    path: Path
    secret: str
    secret_path: Path

    def is_valid(self, given: str) -> bool:
        """Return whether a client has the token, in constant time."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.value.encode())

    def has_signed(self, signature: str, body: bytes) -> bool:
        """Return whether a body was signed with the secret, as GitHub does in `X-Hub-Signature-256`."""
        expected = _SIGNATURE_SCHEME + hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(signature.encode("utf-8", "replace"), expected.encode())


def read_token(data: Path) -> AccessToken:
    """Read the token and the secret from the user's data folder, and create them the first time.

    Raises:
        ConfigError: Other users may read one of the files, or it holds too little.
        StoreError: A file cannot be read or written.
    """
    path, secret_path = data / "http-token", data / "http-secret"
    return AccessToken(
        value=_read_or_create(path), path=path, secret=_read_or_create(secret_path), secret_path=secret_path
    )


def _read_or_create(path: Path) -> str:
    try:
        if not os.path.lexists(path):
            # written atomically: of two programs that race, one wins and both use what it wrote
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    file.write(f"{secrets.token_urlsafe(32)}\n")
                with suppress(FileExistsError):
                    os.link(beside, path)
            finally:
                beside.unlink()
        return _read(path)
    except OSError as problem:
        raise StoreError(f"cannot use {path}: {problem.strerror or problem}") from None


def _read(path: Path) -> str:
    handle = os.open(path, OPEN_SAFELY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise ConfigError("this is no plain file; remove it, and a new one is made", path=str(path))
        if hasattr(os, "getuid") and (info.st_uid != os.getuid() or info.st_mode & 0o077):
            raise ConfigError(
                "others may read or change this; remove it, and a new one is made that only you can read",
                path=str(path),
            )
        value = file.read(_LARGEST_TOKEN_FILE).decode("ascii", "replace").strip()
    if len(value) < _SHORTEST_TOKEN or not value.isprintable() or " " in value:
        raise ConfigError(
            f"this is no token of {_SHORTEST_TOKEN} or more plain characters; remove it, and a new one is made",
            path=str(path),
        )
    return value
