"""Webhooks: send the event to a URL, and read the reply from the response body.

Requests go through the transport of httpx2 and not through its client: a client logs whole URLs, secrets included,
follows redirects by its own rules, and keeps cookies. Connections are kept between calls, one set per event loop.
Messages name scheme, host and port only, because the rest of a URL may be a secret: user and query often are, and for
many chat services the path is, too.
"""

import asyncio
import base64
import ipaddress
import re
import socket
import ssl
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, AsyncIterable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec.structs import replace

from hookline import caller_context, json_codec
from hookline.kinds.function import timeout_failure
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import OWN_DIALECT, Hook
from hookline.model.template_context import template_values
from hookline.model.templates import find_names, look_up
from hookline.model.verdict import Verdict
from hookline.model.workspace_paths import USER_SOURCES
from hookline.shell.templates import fill
from hookline.version import __version__

if TYPE_CHECKING:
    import httpx2

ANSWER_LIMIT: Final = 1_000_000
EXCERPT: Final = 200
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
# these headers frame a request; a hook that sets them could make the server see two requests in one
_OUR_HEADERS: Final = frozenset({"content-length", "transfer-encoding", "connection"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_URL_CHARACTERS: Final = re.compile(r"[\x21-\x7e]+")
_PORTS: Final = {"http": 80, "https": 443}
_SUCCESS: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)
MOST_CONNECTIONS: Final = 64
MOST_IDLE: Final = 16
IDLE_SECONDS: Final = 60.0
# what httpx2 reports when a server closes a connection without a response
_NO_RESPONSE: Final = "disconnected without sending a response"

_TransportKey: TypeAlias = tuple[str, tuple[str, str] | None]


class Webhook:
    """Send events to URLs and read the reply from the response."""

    def __init__(self) -> None:
        self._clients: dict[AbstractEventLoop, tuple[_Client, AsyncGenerator[_Client, None]]] = {}

    def refusal(self, hook: Hook) -> str:
        """Return why the hook cannot be called as it is configured, or ""."""
        return (
            _variable_problem(hook)
            # the whole URL may be a variable, which is checked once it is filled in
            or ("" if _takes_variables(hook) and "$" in hook.url else _url_problem(hook.url))
            or _method_problem(hook.method)
            or _header_problem(hook)
        )

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Send the event and return the reply; the whole exchange has `timeout` seconds."""
        if problem := self.refusal(hook):
            return _failure_reply(FailureKind.REFUSED, problem)
        if _takes_variables(hook):
            filled = _fill_variables(hook)
            if isinstance(filled, Failure):
                return Reply(failure=filled)
            hook = filled
        try:
            async with asyncio.timeout(timeout):
                client = await self._client_of_loop()
                return await client.exchange(hook, request)
        except TimeoutError:
            return Reply(failure=timeout_failure(timeout, what_now=f"connection to {origin(hook.url)} closed"))

    async def close(self) -> None:
        """Close the idle connections of the running event loop."""
        entry = self._clients.pop(asyncio.get_running_loop(), None)
        self._clients.clear()
        if entry is not None:
            await entry[1].aclose()

    async def _client_of_loop(self) -> "_Client":
        """Return the client of the running event loop: a connection cannot be used from another one."""
        loop = asyncio.get_running_loop()
        entry = self._clients.get(loop)
        if entry is None:
            for other in [other for other in list(self._clients) if other.is_closed()]:
                self._clients.pop(other, None)
            lifetime = _tie_to_loop(_Client())
            entry = self._clients[loop] = (await anext(lifetime), lifetime)
        return entry[0]


async def _tie_to_loop(client: "_Client") -> AsyncGenerator["_Client", None]:
    """Close a client with its event loop: a loop that shuts down closes its asynchronous generators."""
    try:
        yield client
    finally:
        await client.close()


class _Client:
    """The connection pools of one event loop.

    There is one pool per proxy and set of trusted certificates, so that no caller is given a connection that was opened
    because another caller trusts the server.
    """

    def __init__(self) -> None:
        # httpx2 takes 0.15 s to import, which only projects with a webhook pay
        import httpx2  # noqa: PLC0415

        self._httpx2 = httpx2
        self._transports: dict[_TransportKey, httpx2.AsyncHTTPTransport] = {}

    async def close(self) -> None:
        """Close all connections."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.aclose()

    async def exchange(self, hook: Hook, request: Request) -> Reply:
        """Send one request and return what its response means."""
        library = self._httpx2
        body, content_type, notes = _body(hook, request)
        response: httpx2.Response | None = None
        try:
            message = library.Request(hook.method.upper(), hook.url, headers=_headers(hook, content_type), content=body)
            if message.url.raw_host.decode().strip("[]").lower() != (urlsplit(hook.url).hostname or ""):
                # the host that error messages and checks name must be the one that is called
                return _unsendable(hook.url, library.InvalidURL(""))
            response = await self._send(message)
            reply = _judge(hook.url, response, await _read(response))
        except (library.InvalidURL, library.UnsupportedProtocol, library.LocalProtocolError, ValueError) as problem:
            return _unsendable(hook.url, problem)
        except ImportError as problem:
            return _failure_reply(
                FailureKind.UNREACHABLE, f"the proxy for {origin(hook.url)} cannot be used: {problem}"
            )
        except (library.TransportError, OSError) as problem:
            is_no_http = isinstance(problem, library.RemoteProtocolError) and _NO_RESPONSE not in str(problem)
            if response is not None or is_no_http:
                text = f"{origin(hook.url)} broke off in the middle of its answer: {_text(problem)}"
                return _failure_reply(FailureKind.UNREACHABLE, text)
            return _failure_reply(FailureKind.UNREACHABLE, _explain(problem, hook.url))
        # the answer to a body of the hook's own is the service's, not a verdict
        return reply if hook.body is None or reply.failure is not None else Reply(value=Verdict(), notes=notes)

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


def _headers(hook: Hook, content_type: str) -> dict[str, str]:
    # no compression: a small response could unpack to gigabytes
    headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": f"hookline/{__version__}"}
    if content_type:
        headers["content-type"] = content_type
    address = urlsplit(hook.url)
    if address.username or address.password:
        pair = f"{unquote(address.username or '')}:{unquote(address.password or '')}"
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    for name, value in hook.headers.items():
        headers[name.lower()] = value if hook.header_env is None else fill_header(value, hook.header_env)
    return headers


def _judge(url: str, response: "httpx2.Response", body: bytes) -> Reply:
    """Return what a response means: the reply of the hook, or a failure."""
    if len(body) > ANSWER_LIMIT:
        text = f"{origin(url)} answered with more than {ANSWER_LIMIT} bytes; not read to the end"
        return _failure_reply(FailureKind.TOO_MUCH_OUTPUT, text)
    status = response.status_code
    if status in _REDIRECTS and "location" in response.headers:
        target = origin(response.headers["location"], base=url)
        text = f"{origin(url)} answered {status}: redirect to {target} not followed; put the final address into url"
        return _failure_reply(FailureKind.HTTP_STATUS, text)
    if status not in _SUCCESS:
        excerpt = " ".join(body.decode("utf-8", "replace").split())[:EXCERPT]
        text = f"{origin(url)} answered {status} {response.reason_phrase}".rstrip()
        return _failure_reply(FailureKind.HTTP_STATUS, f"{text}: {excerpt}" if excerpt else text)
    encoding = response.headers.get("content-encoding", "identity")
    if body and encoding.lower() != "identity":
        text = f"{origin(url)} answered with content-encoding {encoding[:EXCERPT]}, though asked for none"
        return _failure_reply(FailureKind.INVALID_REPLY, text)
    return Reply(stdout=body)


def _unsendable(url: str, problem: Exception) -> Reply:
    # the text of the exception may quote a header, and so a secret
    return _failure_reply(FailureKind.REFUSED, f"{origin(url)} cannot be called as written: {type(problem).__name__}")


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
    return f"{scheme}://{host}" if port in {None, _PORTS.get(scheme)} else f"{scheme}://{host}:{port}"


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
        proxies = _proxies_of(caller_context.environ())
        if proxy_bypass_environment(host, proxies):
            return ""
    proxy = proxies.get(address.scheme) or proxies.get("all") or ""
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _proxies_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the proxies that variables name, as other programs read them: lower case wins."""
    proxies = {
        name: variables.get(f"{name}_proxy", "") or variables.get(f"{name.upper()}_PROXY", "")
        for name in ("http", "https", "all", "no")
    }
    return {name: value for name, value in proxies.items() if value}


def _trusted_certificates() -> tuple[str, str]:
    """Return the file, or else the folder, of certificates that the caller trusts instead of the usual ones."""
    context, variables = caller_context.current(), caller_context.environ()
    folder = "" if context is None else context.folder
    file, other = variables.get("SSL_CERT_FILE", ""), variables.get("SSL_CERT_DIR", "")
    # relative paths start at the caller's folder, and the file wins, as in every program that reads these variables
    return file and f"{Path(folder, file)}", f"{Path(folder, other)}" if other and not file else ""


def _body(hook: Hook, request: Request) -> tuple[bytes, str, tuple[str, ...]]:
    """Return the body, its content type, and notes about template values that the event does not have."""
    if hook.method.upper() in _WITHOUT_BODY:
        return b"", "", ()
    if hook.body is None:
        return request.body, "application/json", ()
    missing: list[str] = []
    filled = _fill_texts(hook.body, template_values(request.event, request.facts, absolute=False), missing)
    notes = tuple(f"{{{{{name}}}}} is no value of this event and was left empty" for name in dict.fromkeys(missing))
    if isinstance(filled, str):
        return filled.encode("utf-8", "replace"), "text/plain; charset=utf-8", notes
    return json_codec.dump(filled), "application/json", notes


def _fill_texts(value: object, values: Mapping[str, object], missing: list[str]) -> object:
    """Fill the templates in every text of a JSON value; a value stays a part of its text."""
    if isinstance(value, str):
        missing += (".".join(path) for path in find_names(value) if look_up(values, path) is None)
        return fill(value, values)
    if isinstance(value, Mapping):
        return {key: _fill_texts(item, values, missing) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_fill_texts(item, values, missing) for item in value]
    return value


def _takes_variables(hook: Hook) -> bool:
    """Return whether `$NAME` in the URL and in headers is a variable: in our own dialect, `$$` is a dollar sign."""
    return hook.dialect == OWN_DIALECT and any("$" in text for text in (hook.url, *hook.headers.values()))


def _variables_in(*texts: str) -> list[str]:
    return [match[1] or match[2] for text in texts for match in _VARIABLE.finditer(text.replace("$$", ""))]


def _variable_problem(hook: Hook) -> str:
    """Return which variable the hook may not name, or "": a hook of a project may only name those that it lists."""
    if not _takes_variables(hook) or (hook.source in USER_SOURCES and hook.header_env is None):
        return ""
    for name in _variables_in(hook.url, *hook.headers.values()):
        if name not in (hook.header_env or ()):
            return f'it names the variable {name} and does not list it: write header_env = ["{name}"]'
    return ""


def _fill_variables(hook: Hook) -> Hook | Failure:
    """Return the hook with the variables in its URL and headers filled in, or why that cannot be done."""
    environ = caller_context.environ()
    for name in _variables_in(hook.url, *hook.headers.values()):
        if not environ.get(name):
            return Failure(FailureKind.UNAVAILABLE, f"the variable {name}, which the hook names, is not set")

    def fill_text(text: str) -> str:
        parts = text.split("$$")
        return "$".join(_VARIABLE.sub(lambda match: environ.get(match[1] or match[2], ""), part) for part in parts)

    url = fill_text(hook.url).strip()
    headers = {name: fill_text(value).strip() for name, value in hook.headers.items()}
    whole = replace(hook, url=url, headers=headers, header_env=None)
    problem = _url_problem(url) or _header_problem(whole)
    if problem:
        names = ", ".join(dict.fromkeys(_variables_in(hook.url, *hook.headers.values())))
        return Failure(FailureKind.REFUSED, f"with the value of {names}, {problem}")
    return whole


def _url_problem(url: str) -> str:
    # some parsers read a backslash as a slash: `http://a:1\\@b:2/` would name two hosts
    if not _URL_CHARACTERS.fullmatch(url) or "\\" in url:
        return "url is empty, or has spaces or characters that must be written as %XX"
    try:
        address = urlsplit(url)
        host, _ = address.hostname, address.port
    except ValueError as problem:
        return f"url cannot be read: {problem}"
    if address.scheme not in _PORTS:
        begins = f', not "{address.scheme}:"' if address.scheme else ""
        return f"url must begin with http:// or https://{begins}"
    return "" if host else "url names no host"


def _method_problem(method: str) -> str:
    if method.upper() in METHODS:
        return ""
    return f'method "{method}" is none of {", ".join(sorted(METHODS))}'


def _header_problem(hook: Hook) -> str:
    for name, value in hook.headers.items():
        if not _HEADER_NAME.fullmatch(name):
            return f'header name "{name}" is not allowed: letters, digits and - only'
        if not _HEADER_VALUE.fullmatch(value):
            return f'the value of header "{name}" has a line break, a control character or a letter beyond ASCII'
        if value != value.strip():
            return f'the value of header "{name}" begins or ends with a blank'
        if name.lower() in _OUR_HEADERS:
            return f'header "{name}" is set by Hookline: leave it out'
    return ""


def fill_header(value: str, allowed: Collection[str]) -> str:
    """Return a header value with its variables filled in; those that are not allowed become empty.

    A value that would be two headers becomes empty as a whole: a variable is not the hook's own text.
    """

    def value_of_variable(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return caller_context.environ().get(name, "") if name in allowed else ""

    filled = _VARIABLE.sub(value_of_variable, value)
    return filled.strip() if _HEADER_VALUE.fullmatch(filled) else ""


def _failure_reply(kind: FailureKind, message: str) -> Reply:
    return Reply(failure=Failure(kind, message))


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
