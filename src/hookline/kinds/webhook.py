"""Hooks that are web addresses: the document is sent there, the body that comes back is the answer.

Connections are kept between calls, one set per event loop. What has to go through a proxy goes through a library's
transport, on a connection of its own each, and not through its client: a client logs whole addresses, secrets included,
follows its own rules about redirects, and keeps cookies. Messages name scheme, host and port only, because the rest of an
address may be a secret: user and query often are, and for many chat services the path is, too.
"""

import asyncio
import base64
import re
import ssl
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, unquote, urlsplit

from hookline import surroundings
from hookline.kinds.function import late
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.version import __version__

if TYPE_CHECKING:
    import httpx2

    from hookline.kinds._http import Answer, Asked

ANSWER_LIMIT: Final = 1_000_000
EXCERPT: Final = 200
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
# they say where a message ends; a hook that set them could make the server see two requests in one
_OUR_HEADERS: Final = frozenset({"content-length", "transfer-encoding", "connection"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ADDRESS: Final = re.compile(r"[\x21-\x7e]+")
_PORTS: Final = {"http": 80, "https": 443}
_SUCCESS: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)


class Webhook:
    """Send documents to web addresses."""

    def __init__(self) -> None:
        self._lines: dict[AbstractEventLoop, tuple[_Lines, AsyncGenerator[_Lines, None]]] = {}

    def refusal(self, hook: Hook) -> str:
        """Say why this address may not be called as it is written."""
        return _address_problem(hook.url) or _method_problem(hook.method) or _header_problem(hook)

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Send the document and read the answer; the whole exchange has `timeout` seconds."""
        if problem := self.refusal(hook):
            return Reply(failure=Failure(FailureKind.REFUSED, problem))
        try:
            async with asyncio.timeout(timeout):
                lines = await self._lines_here()
                return await lines.exchange(hook, request)
        except TimeoutError:
            return Reply(failure=late(timeout, what_now=f"connection to {origin(hook.url)} closed"))

    async def close(self) -> None:
        """Close all kept connections."""
        here = asyncio.get_running_loop()
        kept = self._lines.pop(here, None)
        self._lines.clear()
        if kept is not None:
            await kept[1].aclose()

    async def _lines_here(self) -> "_Lines":
        loop = asyncio.get_running_loop()
        known = self._lines.get(loop)
        if known is not None:
            return known[0]
        for other in [other for other in list(self._lines) if other.is_closed()]:
            self._lines.pop(other, None)
        keeper = _keep(_Lines())
        lines = await anext(keeper)
        self._lines[loop] = (lines, keeper)
        return lines


async def _keep(lines: "_Lines") -> AsyncGenerator["_Lines", None]:
    """Tie connections to their event loop: a loop that shuts down closes its generators, and so these."""
    try:
        yield lines
    finally:
        await lines.close()


class _Lines:
    """The connections of one event loop."""

    def __init__(self) -> None:
        # costs as much as a whole start of ours, which nobody without such a hook should pay
        from hookline.kinds import _http  # noqa: PLC0415

        self._http = _http
        self._pool = _http.Pool()
        self._proxies: dict[tuple[str, str], str] = {}
        self._agent = f"hookline/{__version__}"

    async def close(self) -> None:
        """Close them all."""
        await self._pool.close()

    async def exchange(self, hook: Hook, request: Request) -> Reply:
        """Send one request and read its answer."""
        from h11 import LocalProtocolError  # noqa: PLC0415 - loaded with the module above

        body = b"" if hook.method.upper() in _WITHOUT_BODY else request.body
        headers = self._headers(hook, has_body=bool(body))
        asked = self._http.Asked(method=hook.method.upper(), url=hook.url, headers=headers, body=body)
        try:
            proxy = self._proxy(urlsplit(hook.url))
            if proxy:
                return await self._by_proxy(proxy, asked)
            return _judged(await self._pool.ask(asked, limit=ANSWER_LIMIT), hook.url)
        except self._http.BrokenOff as broken:
            if broken.has_begun:
                text = f"{origin(hook.url)} broke off in the middle of its answer: {_text(broken.problem)}"
                return _failed(FailureKind.UNREACHABLE, text)
            return _failed(FailureKind.UNREACHABLE, _explain(broken.problem, hook.url))
        except OSError as problem:
            return _failed(FailureKind.UNREACHABLE, _explain(problem, hook.url))
        except (LocalProtocolError, ValueError) as problem:
            return _as_written(hook.url, problem)

    async def _by_proxy(self, proxy: str, asked: "Asked") -> Reply:
        """Do the same through a proxy, on a connection that is closed afterwards."""
        # costs 0.15 s, which nobody without a proxy should pay
        import httpx2 as library  # noqa: PLC0415

        # reading the certificates takes 0.1 s; without encryption a context that trusts nobody will do
        is_encrypted = asked.url.startswith("https") or proxy.startswith("https")
        trusted = self._http.named_authorities()
        context = self._http.encrypted(trusted) if is_encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            # a kept connection could hold what a server sent behind its answer, and nobody would see it
            limits = library.Limits(max_keepalive_connections=0)
            transport = library.AsyncHTTPTransport(verify=context, limits=limits, proxy=proxy)
            message = library.Request(asked.method, asked.url, headers=asked.headers, content=asked.body or None)
            async with transport:
                response = await transport.handle_async_request(message)
                try:
                    return _judged(await self._read(response), asked.url)
                finally:
                    await response.aclose()
        except (library.InvalidURL, library.UnsupportedProtocol, library.LocalProtocolError) as problem:
            return _as_written(asked.url, problem)
        except ImportError as problem:
            return _failed(FailureKind.UNREACHABLE, f"the proxy for {origin(asked.url)} cannot be used: {problem}")
        except library.TransportError as problem:
            return _failed(FailureKind.UNREACHABLE, _explain(problem, asked.url))

    async def _read(self, response: "httpx2.Response") -> "Answer":
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > ANSWER_LIMIT:
                break
        return self._http.Answer(
            status=response.status_code,
            reason=response.reason_phrase,
            headers=dict(response.headers),
            body=bytes(body),
            is_whole=len(body) <= ANSWER_LIMIT,
        )

    def _headers(self, hook: Hook, *, has_body: bool) -> dict[str, str]:
        # no compression: a small answer could unpack to gigabytes
        headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": self._agent}
        if has_body:
            headers["content-type"] = "application/json"
        address = urlsplit(hook.url)
        if address.username or address.password:
            pair = f"{unquote(address.username or '')}:{unquote(address.password or '')}"
            headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        for name, value in hook.headers.items():
            headers[name.lower()] = value if hook.header_env is None else _filled(value, hook.header_env)
        return headers

    def _proxy(self, address: SplitResult) -> str:
        if surroundings.current() is not None:
            return _proxy(address)  # whoever asks next may have another one
        place = (address.scheme, address.netloc)
        proxy = self._proxies.get(place)
        if proxy is None:
            proxy = self._proxies[place] = _proxy(address)
        return proxy


def _judged(answer: "Answer", url: str) -> Reply:
    """Tell an answer from everything else a server may say."""
    if not answer.is_whole:
        text = f"{origin(url)} answered with more than {ANSWER_LIMIT} bytes; not read to the end"
        return _failed(FailureKind.TOO_MUCH_OUTPUT, text)
    status = answer.status
    if status in _REDIRECTS and "location" in answer.headers:
        target = origin(answer.headers["location"], base=url)
        text = f"{origin(url)} answered {status}: redirect to {target} not followed; put the final address into url"
        return _failed(FailureKind.HTTP_STATUS, text)
    if status not in _SUCCESS:
        excerpt = " ".join(answer.body.decode("utf-8", "replace").split())[:EXCERPT]
        text = f"{origin(url)} answered {status} {answer.reason}".rstrip()
        return _failed(FailureKind.HTTP_STATUS, f"{text}: {excerpt}" if excerpt else text)
    encoding = answer.headers.get("content-encoding", "identity")
    if answer.body and encoding.lower() != "identity":
        text = f"{origin(url)} answered with content-encoding {encoding[:EXCERPT]}, though asked for none"
        return _failed(FailureKind.INVALID_REPLY, text)
    return Reply(stdout=answer.body)


def _as_written(url: str, problem: Exception) -> Reply:
    # the text of the problem may quote a header, and so a secret
    return _failed(FailureKind.REFUSED, f"{origin(url)} cannot be called as written: {type(problem).__name__}")


def origin(url: str, *, base: str = "") -> str:
    """Say where an address leads, without anything that may be a secret."""
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
    """Whether a host is this machine."""
    import ipaddress  # noqa: PLC0415 - only asked once per host

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _proxy(address: SplitResult) -> str:
    """Name the proxy the environment wants for an address; none for this machine."""
    host = address.hostname or ""
    if is_loopback(host):
        return ""
    # costs 50 ms, which nobody who stays on this machine should pay
    from urllib.request import getproxies, proxy_bypass, proxy_bypass_environment  # type: ignore[attr-defined] # noqa: PLC0415

    if surroundings.current() is None:
        proxies = {} if proxy_bypass(host) else getproxies()
    else:
        proxies = _proxies_of(surroundings.environ())
        if proxy_bypass_environment(host, proxies):
            return ""
    proxy = proxies.get(address.scheme) or proxies.get("all") or ""
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _proxies_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Read the proxies of whoever asks, as programs do: lower case counts first."""
    found = {
        name: variables.get(f"{name}_proxy", "") or variables.get(f"{name.upper()}_PROXY", "")
        for name in ("http", "https", "all", "no")
    }
    return {name: value for name, value in found.items() if value}


def _address_problem(url: str) -> str:
    if not _ADDRESS.fullmatch(url):
        return "url is empty, or has spaces or characters that must be written as %XX"
    try:
        address = urlsplit(url)
        host, _ = address.hostname, address.port
    except ValueError as problem:
        return f"url cannot be read: {problem}"
    if address.scheme not in _PORTS:
        return f'url must begin with http:// or https://, not "{address.scheme}:"'
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


def _filled(value: str, allowed: Collection[str]) -> str:
    """Put variables into the value of a header: those it may name, and nothing for every other.

    What would be two headers, or none, is not sent: a variable is not the hook's own text.
    """

    def variable(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return surroundings.environ().get(name, "") if name in allowed else ""

    found = _VARIABLE.sub(variable, value)
    return found.strip() if _HEADER_VALUE.fullmatch(found) else ""


def _failed(kind: FailureKind, message: str) -> Reply:
    return Reply(failure=Failure(kind, message))


def _explain(problem: Exception, url: str) -> str:
    """Say why a server could not be reached, and what to do."""
    import socket  # noqa: PLC0415 - loaded with the library anyway

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
    """Walk from a problem to what it came from, through groups, too."""
    if problem is None:
        return
    yield problem
    if isinstance(problem, BaseExceptionGroup):
        for part in problem.exceptions:
            yield from _causes(part)
    yield from _causes(problem.__cause__ or problem.__context__)


def _text(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"[:EXCERPT] if str(problem) else type(problem).__name__
