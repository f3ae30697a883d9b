"""The one HTTP client: send a request, and return the response or a failure. Webhooks and language models use it.

Requests go through the transport of httpx2 and not through its client: a client logs whole URLs, secrets included,
follows redirects by its own rules, and keeps cookies. Connections are kept between calls, one set per event loop.
Messages name scheme, host and port only, because the rest of a URL may be a secret: user and query often are, and for
many chat services the path is, too.
"""

import asyncio
import ipaddress
import socket
import ssl
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from hookline import caller_context
from hookline.model.exchange import Failure, FailureKind
from hookline.version import __version__

if TYPE_CHECKING:
    import httpx2

ANSWER_LIMIT: Final = 1_000_000
EXCERPT: Final = 200
PORTS: Final = {"http": 80, "https": 443}
MOST_CONNECTIONS: Final = 64
MOST_IDLE: Final = 16
IDLE_SECONDS: Final = 60.0
_SUCCESS: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)
# what httpx2 reports when a server closes a connection without a response
_NO_RESPONSE: Final = "disconnected without sending a response"
# no compression: a small response could unpack to gigabytes
_HEADERS: Final[Mapping[str, str]] = {
    "accept": "application/json",
    "accept-encoding": "identity",
    "user-agent": f"hookline/{__version__}",
}

_TransportKey: TypeAlias = tuple[str, tuple[str, str] | None]


class HttpRequest(Struct, frozen=True, kw_only=True):
    """A request; names of headers are in lower case."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = {}
    body: bytes = b""


class HttpClient:
    """Sends requests over connections that are kept between them."""

    def __init__(self) -> None:
        self._clients: dict[AbstractEventLoop, tuple[_LoopClient, AsyncGenerator[_LoopClient, None]]] = {}

    async def send(self, request: HttpRequest) -> bytes | Failure:
        """Send a request; return the body of a successful response, else what went wrong."""
        return await (await self._client_of_loop()).exchange(request)

    async def close(self) -> None:
        """Close the idle connections of the running event loop."""
        entry = self._clients.pop(asyncio.get_running_loop(), None)
        self._clients.clear()
        if entry is not None:
            await entry[1].aclose()

    async def _client_of_loop(self) -> "_LoopClient":
        """Return the client of the running event loop: a connection cannot be used from another one."""
        loop = asyncio.get_running_loop()
        entry = self._clients.get(loop)
        if entry is None:
            for other in [other for other in list(self._clients) if other.is_closed()]:
                self._clients.pop(other, None)
            lifetime = _tie_to_loop(_LoopClient())
            entry = self._clients[loop] = (await anext(lifetime), lifetime)
        return entry[0]


async def _tie_to_loop(client: "_LoopClient") -> AsyncGenerator["_LoopClient", None]:
    """Close a client with its event loop: a loop that shuts down closes its asynchronous generators."""
    try:
        yield client
    finally:
        await client.close()


class _LoopClient:
    """The connection pools of one event loop.

    There is one pool per proxy and set of trusted certificates, so that no caller is given a connection that was opened
    because another caller trusts the server.
    """

    def __init__(self) -> None:
        # httpx2 takes 0.15 s to import, which only projects that send requests pay
        import httpx2  # noqa: PLC0415

        self._httpx2 = httpx2
        self._transports: dict[_TransportKey, httpx2.AsyncHTTPTransport] = {}

    async def close(self) -> None:
        """Close all connections."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.aclose()

    async def exchange(self, request: HttpRequest) -> bytes | Failure:
        """Send one request and return the body of its response, or what went wrong."""
        library, url = self._httpx2, request.url
        response: httpx2.Response | None = None
        try:
            headers = {**_HEADERS, **request.headers}
            message = library.Request(request.method, url, headers=headers, content=request.body)
            if message.url.raw_host.decode().strip("[]").lower() != (urlsplit(url).hostname or ""):
                # the host that error messages and checks name must be the one that is called
                return _unsendable(url, library.InvalidURL(""))
            response = await self._send(message)
            return _check_response(url, response, await _read(response))
        except (library.InvalidURL, library.UnsupportedProtocol, library.LocalProtocolError, ValueError) as problem:
            return _unsendable(url, problem)
        except ImportError as problem:
            return Failure(FailureKind.UNREACHABLE, f"the proxy for {origin(url)} cannot be used: {problem}")
        except (library.TransportError, OSError) as problem:
            is_no_http = isinstance(problem, library.RemoteProtocolError) and _NO_RESPONSE not in str(problem)
            if response is not None or is_no_http:
                text = f"{origin(url)} broke off in the middle of its answer: {_text(problem)}"
                return Failure(FailureKind.UNREACHABLE, text)
            return Failure(FailureKind.UNREACHABLE, _explain(problem, url))

    async def _send(self, message: "httpx2.Request") -> "httpx2.Response":
        """Send a request, once more where the server closed a reused connection before it answered."""
        has_connected = False

        async def trace(event: str, _info: object) -> None:
            nonlocal has_connected
            has_connected = has_connected or ".connect_" in event

        transport = self._transport(str(message.url))
        message.extensions["trace"] = trace
        try:
            return await transport.handle_async_request(message)
        except (self._httpx2.NetworkError, self._httpx2.RemoteProtocolError) as problem:
            is_closed = isinstance(problem, self._httpx2.NetworkError) or _NO_RESPONSE in str(problem)
            if has_connected or not is_closed:
                raise
        return await transport.handle_async_request(message)

    def _transport(self, url: str) -> "httpx2.AsyncHTTPTransport":
        address = urlsplit(url)
        proxy = _proxy(address)
        is_encrypted = address.scheme == "https" or proxy.startswith("https")
        key = (proxy, _trusted_certificates() if is_encrypted else None)
        transport = self._transports.get(key)
        if transport is None:
            transport = self._transports[key] = self._httpx2.AsyncHTTPTransport(
                verify=self._ssl_context(key[1]),
                proxy=proxy or None,
                limits=self._httpx2.Limits(
                    max_connections=MOST_CONNECTIONS,
                    max_keepalive_connections=MOST_IDLE,
                    keepalive_expiry=IDLE_SECONDS,
                ),
            )
        return transport

    def _ssl_context(self, trusted: tuple[str, str] | None) -> ssl.SSLContext:
        """Return a context that trusts these certificates, or those of the library where none are named.

        Raises:
            OSError: They cannot be read.
        """
        if trusted is None:
            # loading certificates takes 0.1 s; a plain connection never asks for them
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        file, folder = trusted
        if file or folder:
            return ssl.create_default_context(cafile=file or None, capath=folder or None)
        return self._httpx2.create_ssl_context(trust_env=False)


async def _read(response: "httpx2.Response") -> bytes:
    """Read the body of a response up to one byte more than the limit, and keep or close its connection."""
    body = bytearray()
    try:
        # not `aiter_raw`, which would give the connection to the next request before it is checked
        async for part in cast("AsyncIterable[bytes]", response.stream):
            body += part
            if len(body) > ANSWER_LIMIT:
                break
        else:
            if _has_trailing_data(response):
                await response.extensions["network_stream"].aclose()
    finally:
        await response.aclose()
    return bytes(body)


def _has_trailing_data(response: "httpx2.Response") -> bool:
    """Return whether the server sent more than its response, which would be read as the response to the next request.

    The library only looks at the socket before it reuses a connection, not at what it has read already. Where this
    version of it cannot be asked, the connection is not reused.
    """
    part: object = response.stream
    for name in ("_httpcore_stream", "_stream", "_connection", "_h11_state", "trailing_data"):
        part = getattr(part, name, None)
    return not isinstance(part, tuple) or part[0] != b""


def _check_response(url: str, response: "httpx2.Response", body: bytes) -> bytes | Failure:
    if len(body) > ANSWER_LIMIT:
        text = f"{origin(url)} answered with more than {ANSWER_LIMIT} bytes; not read to the end"
        return Failure(FailureKind.TOO_MUCH_OUTPUT, text)
    status = response.status_code
    if status in _REDIRECTS and "location" in response.headers:
        target = origin(response.headers["location"], base=url)
        text = f"{origin(url)} answered {status}: redirect to {target} not followed; put the final address into url"
        return Failure(FailureKind.HTTP_STATUS, text)
    if status not in _SUCCESS:
        excerpt = " ".join(body.decode("utf-8", "replace").split())[:EXCERPT]
        text = f"{origin(url)} answered {status} {response.reason_phrase}".rstrip()
        return Failure(FailureKind.HTTP_STATUS, f"{text}: {excerpt}" if excerpt else text)
    encoding = response.headers.get("content-encoding", "identity")
    if body and encoding.lower() != "identity":
        text = f"{origin(url)} answered with content-encoding {encoding[:EXCERPT]}, though asked for none"
        return Failure(FailureKind.INVALID_REPLY, text)
    return body


def _unsendable(url: str, problem: Exception) -> Failure:
    # the text of the exception may quote a header, and so a secret
    return Failure(FailureKind.REFUSED, f"{origin(url)} cannot be called as written: {type(problem).__name__}")


def origin(url: str, *, base: str = "") -> str:
    """Return scheme, host and port of a URL, without anything that may be a secret."""
    try:
        address = urlsplit(url)
        if not address.hostname:
            return origin(base) if base else "the address"
        port = address.port
    except ValueError:
        return "the address"
    scheme = address.scheme or "http"
    host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
    return f"{scheme}://{host}" if port in {None, PORTS.get(scheme)} else f"{scheme}://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _proxy(address: SplitResult) -> str:
    """Return the proxy that the caller's environment names for a URL, or ""; there is none for this machine."""
    host = address.hostname or ""
    if is_loopback(host):
        return ""
    # takes 50 ms to import, which calls of this machine do not pay
    from urllib.request import getproxies, proxy_bypass, proxy_bypass_environment  # type: ignore[attr-defined] # noqa: PLC0415

    if caller_context.current() is None:
        proxies = {} if proxy_bypass(host) else getproxies()
    else:
        variables = caller_context.environ()
        # as other programs read them: lower case wins
        given = {
            name: variables.get(f"{name}_proxy", "") or variables.get(f"{name.upper()}_PROXY", "")
            for name in ("http", "https", "all", "no")
        }
        proxies = {name: value for name, value in given.items() if value}
        if proxy_bypass_environment(host, proxies):
            return ""
    proxy = proxies.get(address.scheme) or proxies.get("all") or ""
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _trusted_certificates() -> tuple[str, str]:
    """Return the file, or else the folder, of certificates that the caller trusts instead of the usual ones."""
    context, variables = caller_context.current(), caller_context.environ()
    folder = "" if context is None else context.folder
    file, other = variables.get("SSL_CERT_FILE", ""), variables.get("SSL_CERT_DIR", "")
    # relative paths start at the caller's folder, and the file wins, as in every program that reads these variables
    return file and f"{Path(folder, file)}", f"{Path(folder, other)}" if other and not file else ""


def _explain(problem: Exception, url: str) -> str:
    """Return why a server could not be reached, and what to do about it."""
    place = origin(url)
    causes = list(_causes(problem))
    for cause in causes:
        match cause:
            case ssl.SSLCertVerificationError():
                return (
                    f"{place} shows a certificate that is not trusted ({cause.verify_message}): "
                    "correct the host in url, or let SSL_CERT_FILE name the authority's certificate"
                )
            case ssl.SSLError():
                return f"{place} does not speak TLS as expected ({cause.reason}): is it http:// instead of https://?"
            case socket.gaierror():
                return f"no address is known for the host of {place}: correct url, or check the network"
            case ConnectionRefusedError():
                return f"{place} refused the connection: start the server, or correct the port in url"
            case _:
                continue
    return f"{place} cannot be reached: {_text(causes[-1])}; check that the server runs and the network works"


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes, those in exception groups included."""
    if problem is None:
        return
    yield problem
    if isinstance(problem, BaseExceptionGroup):
        for part in problem.exceptions:
            yield from _causes(part)
    yield from _causes(problem.__cause__ or problem.__context__)


def _text(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"[:EXCERPT] if str(problem) else type(problem).__name__
