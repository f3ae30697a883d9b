"""A proxy on loopback for hook processes that may reach named hosts only.

It opens TLS tunnels (`CONNECT`) and does nothing else. A process reaches it through the variables that HTTP clients honour
(`HTTPS_PROXY` and others); to keep a process from connecting by itself is the business of its sandbox.
"""

import asyncio
import base64
import hmac
import ipaddress
import os
import re
import secrets
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from hookline.loop_thread import LoopThread
from hookline.process.native import Network, make_network
from hookline.text import escape_all

KEY: Final = "sandbox.net"
"""The key of a hook that lists the hosts it may reach."""

DEFAULT_PORT: Final = 443
_HIGHEST_PORT: Final = 65_535
_LONGEST_NAME: Final = 253
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# `127.1` and `0x7f.1` are addresses for some resolvers and names for others
_NUMERIC: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")
_WILDCARD: Final = "*."

_USER: Final = "hookline"
_TOKEN_BYTES: Final = 24
_CHUNK: Final = 64 * 1024
# seconds
_LINGER: Final = 1.0
_LONGEST_SHOWN: Final = 120
# names that are about this machine on purpose
_LOOPBACK_NAME: Final = re.compile(r"(?:.*\.)?localhost")

# Python's own client asks for tunnels with HTTP/1.0 before 3.12
_REQUEST_LINE: Final = re.compile(rb"([A-Za-z]+) ([!-~\x80-\xff]+) HTTP/1\.[01]")
_HEADER: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*")
_PLAIN_TARGET: Final = re.compile(r"[a-z]+://(?:[^/?#@]*@)?(?P<place>[^/?#]+)", re.IGNORECASE)
# a body before the tunnel is there would be read as something else by the other end
_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})

_EXTRA_HEADERS: Final[Mapping[int, str]] = {
    405: "Allow: CONNECT\r\n",
    407: 'Proxy-Authenticate: Basic realm="hookline"\r\n',
}
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"

# curl reads http_proxy in lower case only; an inherited NO_PROXY would lead hosts around the proxy
_PROXY_VARIABLES: Final = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_CONSTANT_VARIABLES: Final[Mapping[str, str]] = {"NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}


class HostPattern(Struct, frozen=True):
    """A host and a port that a process may reach; with `is_wildcard`, every host below the host and not itself."""

    host: str
    port: int = DEFAULT_PORT
    is_wildcard: bool = False

    def __str__(self) -> str:
        """Return the pattern as it is written in a configuration."""
        return f"{_WILDCARD if self.is_wildcard else ''}{_join(self.host, self.port)}"

    def matches(self, host: str, port: int) -> bool:
        """Return whether a normalised host and a port are what the pattern names."""
        is_named = host.endswith(f".{self.host}") if self.is_wildcard else host == self.host
        return is_named and port == self.port


def parse_host(text: str) -> HostPattern:
    """Return the pattern that a text names: `api.example.com:443`, `*.example.com`, `[::1]:8443`; the port may be left out.

    Raises:
        ValueError: It names no host and port, and says what to write.
    """
    if "://" in text:
        raise ValueError(f"{_show(text)} is a URL: write host:port, such as api.example.com:443")
    is_wildcard = text.startswith(_WILDCARD)
    host, port = _parse_place(text.removeprefix(_WILDCARD), shown=text)
    if is_wildcard and (_read_address(host) is not None or "." not in host):
        raise ValueError(
            f"{_show(text)} is too wide: `*.` stands before a name of two parts or more, as in *.example.com:443"
        )
    return HostPattern(host, DEFAULT_PORT if port is None else port, is_wildcard)


def _parse_place(text: str, *, shown: str = "") -> tuple[str, int | None]:
    """Return host and port of `host:port`, the host normalised, the port None where there is none."""
    shown = _show(shown or text)
    if not text or any(mark.isspace() or not mark.isprintable() for mark in text):
        raise ValueError(f"{shown} holds blanks or nothing: write host:port, such as api.example.com:443")
    bracketed = re.fullmatch(r"\[([^\[\]]*)\](?::(.*))?", text)
    if bracketed is not None:
        host, written = bracketed[1], bracketed[2]
        address = _read_address(host)
        if address is None or ":" not in host:
            raise ValueError(f"{shown} has no IPv6 address in its brackets")
    elif text.count(":") > 1:
        raise ValueError(f"{shown} has more than one colon: write an IPv6 address in brackets, such as [::1]:8443")
    else:
        host, colon, given = text.partition(":")
        written = given if colon else None
        address = _read_address(host)
    port = None if written is None else _parse_port(written, shown)
    return address or _normalise_name(host, shown), port


def _parse_port(text: str, shown: str) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_HIGHEST_PORT))
    port = int(text) if is_number else 0
    if not 1 <= port <= _HIGHEST_PORT:
        raise ValueError(f"{shown}: the port is {_show(text)}, wanted a number from 1 to {_HIGHEST_PORT}")
    return port


def _normalise_name(text: str, shown: str) -> str:
    """Return a host name in lower case ASCII and without the dot at its end."""
    try:
        name = text.lower() if text.isascii() else text.encode("idna").decode("ascii").lower()
    except UnicodeError:
        name = ""
    name = name.removesuffix(".")
    labels = name.split(".")
    is_name = len(name) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in labels)
    if not is_name or _NUMERIC.fullmatch(labels[-1]):
        raise ValueError(f"{shown} names no host: write host:port, such as api.example.com:443")
    return name


def _read_address(text: str) -> str | None:
    """Return an IP address in its usual form, None for anything else."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return None if "%" in text else str(mapped or address)


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _show(text: str) -> str:
    short = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return f'"{escape_all(short)}"'


class ProxyLimits(Struct, frozen=True, kw_only=True):
    """How much a client may ask of the proxy; times in seconds, sizes in bytes."""

    connections: int = 64
    head_size: int = 8 * 1024
    head_time: float = 5.0
    connect_time: float = 15.0
    idle_time: float = 60.0
    refused_hosts: int = 32


class _RefusedError(Exception):
    """A request that is answered with a status and a text."""

    def __init__(self, status: int, text: str, *, place: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.place = place


class ConnectProxy:
    """A proxy on loopback that opens tunnels to named hosts only.

    It has a thread and an event loop of its own, because the loops of an engine come and go. Clients have to present a
    random password, so that processes of other users on the machine cannot use it.
    """

    def __init__(self, patterns: Sequence[HostPattern], *, limits: ProxyLimits | None = None) -> None:
        self._patterns = tuple(patterns)
        self._limits = limits or ProxyLimits()
        self._password = secrets.token_urlsafe(_TOKEN_BYTES)
        self._credentials = base64.b64encode(f"{_USER}:{self._password}".encode())
        self._refused: list[str] = []
        self._servers: list[asyncio.Server] = []
        self._tunnels: set[asyncio.StreamWriter] = set()
        self._clients: set[asyncio.Task[None]] = set()
        listener = socket.create_server(("127.0.0.1", 0), backlog=self._limits.connections)
        self._listeners = [listener]
        self._network: Network | None = None
        self._network_lock = threading.Lock()
        self.port: int = listener.getsockname()[1]
        self._thread = LoopThread("hookline-proxy")
        self._thread.run(self._listen(listener))

    @classmethod
    def for_hosts(cls, hosts: tuple[str, ...]) -> "ConnectProxy":
        """Return the running proxy of this process for a set of hosts; the first call starts it.

        Raises:
            ValueError: A text names no host (see `parse_host`).
            OSError: No port can be had.
        """
        return _PROXIES.get(frozenset(map(parse_host, hosts)))

    @property
    def refused(self) -> tuple[str, ...]:
        """The hosts that clients asked for and that are not in the list, each once, the first ones."""
        return tuple(self._refused)

    def variables(self) -> dict[str, str]:
        """Return the variables that lead HTTP clients of a process to the proxy.

        curl, git, Python (requests, httpx, pip, urllib), Go, cargo, npm and Node honour them.
        """
        url = f"http://{_USER}:{self._password}@127.0.0.1:{self.port}"
        return {**dict.fromkeys(_PROXY_VARIABLES, url), **_CONSTANT_VARIABLES}

    def open_network(self) -> Network:
        """Return the network in which nothing but this proxy can be reached, at the same port; the first call makes it.

        Raises:
            OSError: The kernel refused.
        """
        with self._network_lock:
            if self._network is None:
                network = make_network(self.port)
                self._listeners.append(socket.socket(fileno=network.listener))
                self._thread.run(self._listen(self._listeners[-1]))
                self._network = network
            return self._network

    def close(self) -> None:
        """End the proxy and all its tunnels; the next `for_hosts` starts another one."""
        _PROXIES.forget(self)
        if not self._thread.is_usable:
            # it has ended, or the thread and its connections are the parent's
            return
        self._thread.run(self._end())
        self._thread.stop()
        if self._network is not None:
            self._network.close()
            self._network = None

    def abandon(self) -> None:
        """Let go of the sockets of the parent after a fork, so that they close when the parent closes them."""
        # the loop is not touched: its selector is shared with the parent
        for listener in self._listeners:
            listener.close()
        sockets = [tunnel.get_extra_info("socket") for tunnel in list(self._tunnels)]
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for one in sockets:
            if one is not None and one.fileno() >= 0:
                os.dup2(nothing, one.fileno(), inheritable=False)
        os.close(nothing)

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._clients):
            task.cancel()
        for tunnel in list(self._tunnels):
            tunnel.transport.abort()

    async def _listen(self, listener: socket.socket) -> None:
        self._servers.append(await asyncio.start_server(self._accept, sock=listener, limit=_CHUNK))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._clients.add(task)
            task.add_done_callback(self._clients.discard)
        self._tunnels.add(writer)
        try:
            # a client that goes away, or an end of the whole proxy, ends one connection
            with suppress(OSError, asyncio.CancelledError):
                await self._answer(reader, writer)
        finally:
            self._tunnels.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self._check_room()
            head, early = await self._read_head(reader)
            host, port = self._check_request(head)
            upstream = await self._connect(host, port)
        except _RefusedError as refused:
            if refused.place and refused.place not in self._refused:
                self._refused = [*self._refused, refused.place][: self._limits.refused_hosts]
            writer.write(_format_refusal(refused))
            await _finish_reading(reader, writer)
            return
        await self._tunnel((reader, writer), upstream, early)

    def _check_room(self) -> None:
        most = self._limits.connections
        if len(self._clients) > most:
            raise _RefusedError(503, f"more than {most} connections at once")

    async def _read_head(self, reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
        """Return the head of a request without its blank line, and what came after it."""
        raw = b""
        try:
            async with asyncio.timeout(self._limits.head_time):
                while b"\r\n\r\n" not in raw:
                    chunk = await reader.read(self._limits.head_size)
                    if not chunk:
                        raise ConnectionResetError("the client went away")
                    raw += chunk
                    if len(raw) > self._limits.head_size and b"\r\n\r\n" not in raw[: self._limits.head_size]:
                        raise _RefusedError(431, f"the head is longer than {self._limits.head_size} bytes")
        except TimeoutError:
            raise _RefusedError(408, f"the head took longer than {self._limits.head_time:g} seconds") from None
        head, _, early = raw.partition(b"\r\n\r\n")
        return head, early

    def _check_request(self, head: bytes) -> tuple[str, int]:
        """Return host and port of a request that may be granted."""
        first, *lines = head.split(b"\r\n")
        request = _REQUEST_LINE.fullmatch(first)
        headers = [_HEADER.fullmatch(line) for line in lines]
        fields = [(found[1].lower(), found[2]) for found in headers if found is not None]
        if request is None or len(fields) < len(lines) or any(name in _BODY_HEADERS for name, _ in fields):
            raise _RefusedError(400, "this is no plain CONNECT request")
        given = [value for name, value in fields if name == b"proxy-authorization"]
        scheme, _, credentials = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        if scheme.lower() != b"basic" or not hmac.compare_digest(credentials.strip(), self._credentials):
            raise _RefusedError(407, "the password of this proxy is missing or wrong")
        method, target = request[1].decode(), request[2].decode("utf-8", "replace")
        if method != "CONNECT":
            plain = _PLAIN_TARGET.match(target)
            place = escape_all(plain["place"])[:_LONGEST_SHOWN] if plain else ""
            raise _RefusedError(
                405, "only CONNECT is carried, which clients use for https:// and not for http://", place=place
            )
        try:
            host, port = _parse_place(target)
        except ValueError as problem:
            raise _RefusedError(400, str(problem)) from None
        if port is None:
            raise _RefusedError(400, f"{_show(target)} has no port")
        if not self._is_allowed(host, port):
            raise self._refuse(_join(host, port))
        return host, port

    def _is_allowed(self, host: str, port: int) -> bool:
        return any(pattern.matches(host, port) for pattern in self._patterns)

    @staticmethod
    def _refuse(place: str, why: str = "") -> _RefusedError:
        text = f"{KEY} of this hook does not name {place}{why}; add it there to allow it"
        return _RefusedError(403, text, place=place)

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        place = _join(host, port)
        problem: object = "it has no address"
        try:
            async with asyncio.timeout(self._limits.connect_time):
                for address in await _resolve(host, port):
                    if self._is_local(address, host) and not self._is_allowed(address, port):
                        raise self._refuse(_join(address, port), f", which is what {place} leads to")
                    try:
                        return await asyncio.open_connection(address, port, limit=_CHUNK)
                    except OSError as error:
                        problem = error.strerror or error
        except TimeoutError:
            problem = f"no answer within {self._limits.connect_time:g} seconds"
        except OSError as error:
            problem = error.strerror or error
        raise _RefusedError(502, f"{place} cannot be reached: {problem}")

    @staticmethod
    def _is_local(address: str, host: str) -> bool:
        """Return whether a name of another machine leads to this one, or to the link, where clouds keep credentials."""
        if _LOOPBACK_NAME.fullmatch(host):
            return False
        found = ipaddress.ip_address(address)
        return found.is_loopback or found.is_link_local or found.is_unspecified or found.is_multicast

    async def _tunnel(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        early: bytes,
    ) -> None:
        """Copy both ways until both ends have said their last, or nothing moved for too long."""
        self._tunnels.add(upstream[1])
        try:
            client[1].write(_ESTABLISHED)
            upstream[1].write(early)
            idle_time = self._limits.idle_time
            async with asyncio.timeout(idle_time) as idle, asyncio.TaskGroup() as group:
                group.create_task(_copy(client[0], upstream[1], idle, idle_time))
                group.create_task(_copy(upstream[0], client[1], idle, idle_time))
        except* OSError:
            # one end was cut, or both were idle: so is the other
            client[1].transport.abort()
        finally:
            self._tunnels.discard(upstream[1])
            upstream[1].close()


async def _finish_reading(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send the end of an answer, and read what is still coming: a socket closed before that would cut the answer off."""
    await writer.drain()
    writer.write_eof()
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER):
            while await reader.read(_CHUNK):
                continue


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, idle: asyncio.Timeout, idle_time: float
) -> None:
    """Copy one way, and pass the end on: the other way may still have something to say."""
    loop = asyncio.get_running_loop()
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
        idle.reschedule(loop.time() + idle_time)
    if writer.can_write_eof():
        writer.write_eof()


async def _resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, each once.

    In a daemon thread: the end of the program waits for the threads of an executor, and so for a slow resolver.
    """
    if (address := _read_address(host)) is not None:
        return [address]
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(found: list[str] | OSError) -> None:
        if answer.done():
            return
        if isinstance(found, OSError):
            answer.set_exception(found)
        else:
            answer.set_result(found)

    def look_up() -> None:
        found: list[str] | OSError
        try:
            # without its scope, no address of the link can be reached, which is fine
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            texts = (_read_address(str(row[4][0])) for row in rows)
            found = list(dict.fromkeys(text for text in texts if text is not None))
        except (OSError, UnicodeError) as problem:
            found = problem if isinstance(problem, OSError) else OSError(str(problem))
        with suppress(RuntimeError):
            # the loop is closed where the proxy ended meanwhile
            loop.call_soon_threadsafe(settle, found)

    threading.Thread(target=look_up, name="hookline-resolver", daemon=True).start()
    return await answer


def _format_refusal(refused: _RefusedError) -> bytes:
    text = f"hookline: {refused.text}"
    body = f"{text}\n".encode()
    # the one text of an answer that Python's own client shows
    phrase = f"{HTTPStatus(refused.status).phrase} ({text})".encode("ascii", "replace")
    extra = _EXTRA_HEADERS.get(refused.status, "").encode()
    return (
        b"HTTP/1.1 %d %b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n%bConnection: close\r\n\r\n%b"
        % (refused.status, phrase, len(body), extra, body)
    )


class _ProxyRegistry:
    """The proxies of this process, by what they let through."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._proxies: dict[frozenset[HostPattern], ConnectProxy] = {}
        # kept, because their destructors would touch what the parent still uses
        self._abandoned: list[ConnectProxy] = []

    def get(self, patterns: frozenset[HostPattern]) -> ConnectProxy:
        """Return the proxy for these hosts, started on first use."""
        with self._lock:
            if patterns not in self._proxies:
                self._proxies[patterns] = ConnectProxy(sorted(patterns, key=str))
            return self._proxies[patterns]

    def forget(self, proxy: ConnectProxy) -> None:
        """Remove a proxy that ends."""
        with self._lock:
            self._proxies = {patterns: one for patterns, one in self._proxies.items() if one is not proxy}

    def restart_after_fork(self) -> None:
        """Start over in a forked child: threads stay with the parent, and the lock may have been held there."""
        self._lock = threading.Lock()
        self._abandoned += self._proxies.values()
        self._proxies = {}
        for proxy in self._abandoned:
            proxy.abandon()


_PROXIES: Final = _ProxyRegistry()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PROXIES.restart_after_fork)
