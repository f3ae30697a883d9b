"""Web addresses as hooks, against real servers on this machine."""

import asyncio
import base64
import gc
import json
import logging
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec import Struct

from hookline.caller_context import CallerContext, use
from hookline.http_client import ANSWER_LIMIT, is_loopback, origin
from hookline.kinds.webhook import Webhook
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.version import __version__

T = TypeVar("T")
DOCUMENT = {"hook": "PreToolUse", "data": {"text": "é"}}
EVENT = Event(name=EventName.BEFORE_TOOL)
REQUEST = Request(event=EVENT, document=DOCUMENT)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Message(Struct, frozen=True):
    """One request as a server saw it; `connection` counts from one."""

    connection: int
    line: str
    headers: dict[str, str]
    body: bytes


Handler = Callable[[Message, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """What a server noticed."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.messages: list[Message] = []
        self.connections = 0
        self.closed = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


def bounded(work: Awaitable[T]) -> T:
    async def within() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(within())


async def read(reader: asyncio.StreamReader, connection: int) -> Message:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Message(connection, head[0], headers, body)


@asynccontextmanager
async def serve(handler: Handler | bytes = OK, *, context: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Answer every request by a handler, or with the same bytes, on kept connections."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        noticed.connections += 1
        connection = noticed.connections
        writers.append(writer)
        try:
            while not writer.is_closing():
                message = await read(reader, connection)
                noticed.messages.append(message)
                if isinstance(handler, bytes):
                    writer.write(handler)
                else:
                    await handler(message, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            noticed.closed.set()
            writer.close()

    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context)
    noticed = Server(server.sockets[0].getsockname()[1])
    try:
        yield noticed
    finally:
        server.close()
        # since Python 3.12 a server waits for its connections, and clients keep theirs
        for writer in writers:
            writer.close()
        await server.wait_closed()


@asynccontextmanager
async def webhook() -> AsyncIterator[Webhook]:
    kind = Webhook()
    try:
        yield kind
    finally:
        await kind.close()


def ask(
    handler: Handler | bytes = OK,
    *,
    times: int = 1,
    timeout: float = 30.0,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    path: str = "",
) -> tuple[list[Reply], Server]:
    """Call a server's hook a number of times."""

    async def calls() -> tuple[list[Reply], Server]:
        async with serve(handler) as server, webhook() as kind:
            hook = Hook(id="h", url=server.url + path, method=method, headers=headers or {})
            return [await kind.call(hook, REQUEST, timeout=timeout) for _ in range(times)], server

    return bounded(calls())


def failure(reply: Reply) -> tuple[FailureKind, str]:
    assert reply.failure is not None, reply
    return reply.failure.kind, reply.failure.message


# What is sent


@pytest.mark.spec("C-05", "C-06")
def test_document_is_posted_as_json_and_the_body_is_the_answer() -> None:
    answer = b'{"permissionDecision": "deny"}'
    replies, server = ask(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))
    assert replies == [Reply(stdout=answer)]
    (message,) = server.messages
    assert message.line == "POST /hook HTTP/1.1"
    assert message.headers["content-type"] == "application/json"
    assert message.headers["user-agent"] == f"hookline/{__version__}"
    assert message.headers["host"] == f"127.0.0.1:{server.port}"
    assert json.loads(message.body) == DOCUMENT


def test_a_server_is_asked_under_the_name_that_the_hook_gives_it() -> None:
    replies, server = ask(headers={"Host": "hooks.example"})

    assert replies == [Reply(stdout=b"ok")]
    assert server.messages[0].headers["host"] == "hooks.example"


@pytest.mark.spec("C-05")
def test_method_and_headers_of_the_hook_win() -> None:
    headers = {"Content-Type": "application/x-hook", "X-Token": "t", "USER-AGENT": "mine"}
    _, server = ask(method="put", headers=headers, path="?a=b%20c")
    (message,) = server.messages
    assert message.line == "PUT /hook?a=b%20c HTTP/1.1"
    assert [message.headers[name] for name in ("content-type", "x-token", "user-agent")] == [
        "application/x-hook",
        "t",
        "mine",
    ]
    assert json.loads(message.body) == DOCUMENT


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_methods_that_only_read_send_no_body(method: str) -> None:
    replies, server = ask(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", method=method)
    assert replies == [Reply()]
    assert server.messages[0].body == b""
    assert "content-type" not in server.messages[0].headers
    assert "content-length" not in server.messages[0].headers


def test_user_and_password_of_the_address_become_a_header() -> None:
    async def once() -> Message:
        async with serve() as server, webhook() as kind:
            hook = Hook(id="h", url=f"http://me:p%40ss@127.0.0.1:{server.port}/")
            assert (await kind.call(hook, REQUEST, timeout=30)).stdout == b"ok"
            return server.messages[0]

    message = bounded(once())
    assert message.headers["authorization"] == "Basic " + base64.b64encode(b"me:p@ss").decode()
    assert message.headers["host"].startswith("127.0.0.1:")


def test_cookies_are_not_kept() -> None:
    answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: who=you\r\nContent-Length: 0\r\n\r\n"
    _, server = ask(answer, times=2)
    assert [message.headers.get("cookie") for message in server.messages] == [None, None]


# What comes back


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", b"abcd"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", b"x"),
    ],
)
def test_every_success_is_an_answer(answer: bytes, body: bytes) -> None:
    assert ask(answer)[0] == [Reply(stdout=body)]


def test_redirect_is_not_followed_and_not_quoted_in_full() -> None:
    answer = b"HTTP/1.1 307 Moved\r\nLocation: https://user:pw@else.example/secret?k=v\r\nContent-Length: 0\r\n\r\n"
    replies, server = ask(answer)
    place = f"http://127.0.0.1:{server.port}"
    text = f"{place} answered 307: redirect to https://else.example not followed; put the final address into url"
    assert failure(replies[0]) == (FailureKind.HTTP_STATUS, text)
    assert len(server.messages) == 1


def test_redirect_to_a_path_names_the_same_server() -> None:
    replies, server = ask(b"HTTP/1.1 301 Moved\r\nLocation: /hook/\r\nContent-Length: 0\r\n\r\n")
    assert f"redirect to http://127.0.0.1:{server.port} not followed" in failure(replies[0])[1]


def test_error_status_is_told_with_the_beginning_of_the_body() -> None:
    body = b"no such  team\n" + b"x" * 1000
    replies, server = ask(b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    text = ("no such team " + "x" * 1000)[:200]
    expected = f"http://127.0.0.1:{server.port} answered 403 Forbidden: {text}"
    assert failure(replies[0]) == (FailureKind.HTTP_STATUS, expected)


def test_error_status_without_a_body_is_told_too() -> None:
    replies, server = ask(b"HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n")
    assert failure(replies[0])[1] == f"http://127.0.0.1:{server.port} answered 500"


@pytest.mark.spec("A-25")
@pytest.mark.parametrize("framing", ["Content-Length: 900000000", "Transfer-Encoding: chunked"])
def test_answer_that_is_too_long_is_not_read_to_the_end(framing: str) -> None:
    async def flood(_message: Message, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n".encode())
        part = b"x" * 65536
        while True:
            writer.write(b"10000\r\n" + part + b"\r\n" if "chunked" in framing else part)
            await writer.drain()

    replies, _ = ask(flood)
    kind, message = failure(replies[0])
    assert kind is FailureKind.TOO_MUCH_OUTPUT
    assert f"more than {ANSWER_LIMIT} bytes" in message


@pytest.mark.spec("A-25")
def test_packed_answer_is_refused_instead_of_unpacked() -> None:
    replies, server = ask(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx")
    assert server.messages[0].headers["accept-encoding"] == "identity"
    kind, message = failure(replies[0])
    assert kind is FailureKind.INVALID_REPLY
    assert "content-encoding gzip" in message


# Time


@pytest.mark.spec("P-03")
def test_server_that_never_answers_is_left_after_the_time() -> None:
    async def silent(_message: Message, _writer: asyncio.StreamWriter) -> None:
        return

    replies, server = ask(silent, timeout=0.3)
    expected = f"gave no answer within 0.3 s; connection to http://127.0.0.1:{server.port} closed"
    assert failure(replies[0]) == (FailureKind.TIMEOUT, expected)


@pytest.mark.spec("P-03", "A-25")
def test_server_that_drips_bytes_does_not_outlive_the_time() -> None:
    async def drip(_message: Message, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    replies, _ = ask(drip, timeout=0.3)
    assert failure(replies[0])[0] is FailureKind.TIMEOUT


def test_cancelled_caller_closes_its_connection() -> None:
    async def once() -> None:
        arrived = asyncio.Event()

        async def silent(_message: Message, _writer: asyncio.StreamWriter) -> None:
            arrived.set()

        async with serve(silent) as server, webhook() as kind:
            task = asyncio.create_task(kind.call(Hook(id="h", url=server.url), REQUEST, timeout=50))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.closed.wait()

    bounded(once())


# Connections


def test_connection_is_kept_between_calls() -> None:
    replies, server = ask(times=5)
    assert [reply.stdout for reply in replies] == [b"ok"] * 5
    assert server.connections == 1


def test_two_answers_to_one_question_are_not_two_answers() -> None:
    async def twice(message: Message, writer: asyncio.StreamWriter) -> None:
        number = str(message.connection).encode()
        writer.write(OK.replace(b"ok", b"#" + number) + OK.replace(b"ok", b"no"))

    replies, _ = ask(twice, times=3)
    assert [reply.stdout for reply in replies] == [b"#1", b"#2", b"#3"]


def test_calls_at_once_are_all_answered() -> None:
    async def together() -> list[Reply]:
        async with serve() as server, webhook() as kind:
            hook = Hook(id="h", url=server.url)
            return await asyncio.gather(*(kind.call(hook, REQUEST, timeout=30) for _ in range(80)))

    assert [reply.stdout for reply in bounded(together())] == [b"ok"] * 80


async def close_after_answer(_message: Message, writer: asyncio.StreamWriter) -> None:
    writer.write(OK)
    await writer.drain()
    writer.close()


def test_connection_that_the_server_closed_is_replaced() -> None:
    replies, server = ask(close_after_answer, times=3)
    assert [reply.stdout for reply in replies] == [b"ok"] * 3
    assert server.connections == 3


def test_kept_connection_that_breaks_before_any_answer_is_tried_once_more() -> None:
    answered: set[int] = set()

    async def once_per_connection(message: Message, writer: asyncio.StreamWriter) -> None:
        if message.connection in answered:
            writer.transport.abort()
        else:
            answered.add(message.connection)
            writer.write(OK)

    replies, server = ask(once_per_connection, times=2)
    assert [reply.stdout for reply in replies] == [b"ok", b"ok"]
    assert [message.connection for message in server.messages] == [1, 1, 2]


def test_new_connection_that_breaks_is_not_tried_again() -> None:
    async def hang_up(_message: Message, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    replies, server = ask(hang_up)
    assert failure(replies[0])[0] is FailureKind.UNREACHABLE
    assert len(server.messages) == 1


@pytest.mark.parametrize("part", [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", b"nonsense\r\n\r\n"])
def test_kept_connection_that_breaks_after_some_answer_is_not_tried_again(part: bytes) -> None:
    seen: list[Message] = []

    async def half(message: Message, writer: asyncio.StreamWriter) -> None:
        seen.append(message)
        writer.write(OK if len(seen) == 1 else part)
        await writer.drain()
        if len(seen) > 1:
            writer.close()

    replies, server = ask(half, times=2)
    assert replies[0].stdout == b"ok"
    assert failure(replies[1])[0] is FailureKind.UNREACHABLE
    assert len(server.messages) == 2


# Servers that cannot be reached


def test_refused_connection_names_the_server_and_what_to_do() -> None:
    async def once() -> tuple[Reply, int]:
        async with serve() as server:
            port = server.port
        async with webhook() as kind:
            return await kind.call(Hook(id="h", url=f"http://localhost:{port}/x"), REQUEST, timeout=30), port

    reply, port = bounded(once())
    expected = f"http://localhost:{port} refused the connection: start the server, or correct the port in url"
    assert failure(reply) == (FailureKind.UNREACHABLE, expected)


def test_unknown_host_is_told() -> None:
    async def once() -> Reply:
        async with webhook() as kind:
            return await kind.call(Hook(id="h", url="http://no-such-host.localhost.invalid/"), REQUEST, timeout=40)

    kind, message = failure(bounded(once()))
    assert kind in {FailureKind.UNREACHABLE, FailureKind.TIMEOUT}
    assert "no-such-host" in message


def test_https_to_a_server_without_it_is_told() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def once() -> tuple[Reply, int]:
        server = await asyncio.start_server(plain, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, webhook() as kind:
            return await kind.call(Hook(id="h", url=f"https://127.0.0.1:{port}/"), REQUEST, timeout=30), port

    reply, port = bounded(once())
    kind, message = failure(reply)
    assert kind is FailureKind.UNREACHABLE
    assert message.startswith(f"https://127.0.0.1:{port} does not speak TLS as expected")


def self_signed(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Make what a server needs, and give its certificate."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-keyout", str(key), "-out", str(certificate), "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_certificate_nobody_vouches_for_is_not_trusted(tmp_path: Path) -> None:
    context, _ = self_signed(tmp_path)

    async def once() -> Reply:
        async with serve(context=context) as server, webhook() as kind:
            return await kind.call(Hook(id="h", url=f"https://localhost:{server.port}/"), REQUEST, timeout=30)

    kind, message = failure(bounded(once()))
    assert kind is FailureKind.UNREACHABLE
    assert "certificate that is not trusted" in message


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_each_caller_trusts_whom_its_own_variables_name(tmp_path: Path) -> None:
    """Nobody is given a connection that was opened because somebody else trusts the server."""
    context, certificate = self_signed(tmp_path)
    callers = [{"SSL_CERT_FILE": str(certificate)}, {}, {"SSL_CERT_FILE": certificate.name}, {}]

    async def calls() -> list[bool]:
        heard = []
        async with serve(context=context) as server, webhook() as kind:
            hook = Hook(id="h", url=f"https://localhost:{server.port}/")
            for variables in callers:
                with use(CallerContext(variables, str(tmp_path))):
                    heard.append((await kind.call(hook, REQUEST, timeout=30)).failure is None)
        return heard

    assert bounded(calls()) == [True, False, True, False]


# Proxies


def test_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask()[0] == [Reply(stdout=b"ok")]


def test_proxy_of_the_environment_is_used_for_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    async def once() -> tuple[Reply, Server]:
        async with serve() as proxy, webhook() as kind:
            monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            return await kind.call(Hook(id="h", url="http://far.example/hook"), REQUEST, timeout=30), proxy

    reply, proxy = bounded(once())
    assert reply.stdout == b"ok"
    assert proxy.messages[0].line == "POST http://far.example/hook HTTP/1.1"


def test_what_a_proxy_sends_behind_an_answer_is_never_the_next_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def twice(_message: Message, writer: asyncio.StreamWriter) -> None:
        writer.write(OK + OK.replace(b"ok", b"no"))

    async def calls() -> tuple[list[bytes], Server]:
        async with serve(twice) as proxy, webhook() as kind:
            monkeypatch.setenv("http_proxy", f"127.0.0.1:{proxy.port}")
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            hook = Hook(id="h", url="http://far.example/hook")
            return [(await kind.call(hook, REQUEST, timeout=30)).stdout for _ in range(3)], proxy

    replies, proxy = bounded(calls())
    assert replies == [b"ok"] * 3
    assert proxy.connections == 3


def test_the_proxy_is_that_of_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that answers for others goes the way of each of them, and never its own."""
    monkeypatch.setenv("http_proxy", "127.0.0.1:1")

    async def calls() -> None:
        async with serve() as one, serve() as other, webhook() as kind:
            hook = Hook(id="h", url="http://far.example/hook")
            for name, proxy in (("http_proxy", one), ("HTTP_PROXY", other), ("ALL_PROXY", one)):
                with use(CallerContext({name: f"127.0.0.1:{proxy.port}", "no_proxy": "near.example"}, "/")):
                    assert (await kind.call(hook, REQUEST, timeout=30)).stdout == b"ok"
            assert (len(one.messages), len(other.messages)) == (2, 1)

    bounded(calls())


def test_proxy_that_cannot_be_used_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def once() -> Reply:
        monkeypatch.setenv("http_proxy", "gopher://127.0.0.1:1")
        async with webhook() as kind:
            return await kind.call(Hook(id="h", url="http://far.example/hook"), REQUEST, timeout=30)

    assert failure(bounded(once()))[0] is FailureKind.REFUSED


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost", True), ("a.localhost", True), ("127.3.2.1", True), ("::1", True), ("10.0.0.1", False), ("x", False)],
)
def test_this_machine_is_told_from_others(host: str, *, local: bool) -> None:
    assert is_loopback(host) is local


# Secrets


def test_no_part_of_an_address_that_may_be_secret_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    answers = (b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", b"nonsense\r\n\r\n", OK)

    async def once(answer: bytes) -> Reply:
        async with serve(answer) as server, webhook() as kind:
            url = f"http://uname:passw@127.0.0.1:{server.port}/pathsecret?key=querysecret"
            return await kind.call(Hook(id="h", url=url), REQUEST, timeout=30)

    text = "".join(repr(bounded(once(answer))) for answer in answers) + caplog.text
    assert not [word for word in ("uname", "passw", "pathsecret", "querysecret") if word in text]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:pw@host.example:443/a?b#c", "https://host.example"),
        ("http://[::1]:8000/a", "http://[::1]:8000"),
        ("http://host:99999/", "the address"),
        ("nothing", "the address"),
    ],
)
def test_address_is_shown_by_where_it_leads(url: str, shown: str) -> None:
    assert origin(url) == shown


# What is refused


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"url": "ftp://host/"}, 'not "ftp:"'),
        ({"url": "file:///etc/passwd"}, 'not "file:"'),
        ({"url": "host/path"}, "must begin with http:// or https://"),
        ({"url": "http:///path"}, "names no host"),
        ({"url": "http://host:port/"}, "cannot be read"),
        ({"url": "http://[::1/"}, "cannot be read"),
        ({"url": "http://host/a b"}, "spaces"),
        ({"url": "http://host/\r\nX: y"}, "spaces"),
        ({"url": "http://host/", "method": "BREW"}, 'method "BREW" is none of'),
        ({"url": "http://host/", "method": "GET / HTTP/1.1\r\nX:"}, "is none of"),
        ({"url": "http://host/", "headers": {"X Y": "1"}}, "header name"),
        ({"url": "http://host/", "headers": {"X\r\nY": "1"}}, "header name"),
        ({"url": "http://host/", "headers": {"X": "1\r\nY: 2"}}, "line break"),
        ({"url": "http://host/", "headers": {"X": "é"}}, "beyond ASCII"),
        ({"url": "http://host/", "headers": {"Content-Length": "0"}}, "is set by Hookline"),
    ],
)
def test_address_that_cannot_be_called_is_refused_with_the_reason(fields: dict[str, object], text: str) -> None:
    hook = Hook(id="h", kind="webhook", **fields)  # type: ignore[arg-type]
    assert text in Webhook().refusal(hook)
    reply = bounded(Webhook().call(hook, REQUEST, timeout=5))
    assert failure(reply)[0] is FailureKind.REFUSED


def test_ordinary_address_is_not_refused() -> None:
    hook = Hook(id="h", url="http://localhost:8000/hook", headers={"Content-Type": "application/json"})
    assert Webhook().refusal(hook) == ""


def test_host_that_is_no_host_name_is_a_failure() -> None:
    async def once() -> Reply:
        async with webhook() as kind:
            return await kind.call(Hook(id="h", url=f"http://{'x' * 300}/"), REQUEST, timeout=30)

    assert failure(bounded(once()))[0] in {FailureKind.REFUSED, FailureKind.UNREACHABLE}


# What is left


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors through /proc")
def test_closing_leaves_no_descriptor_and_no_task() -> None:
    async def once() -> None:
        async with serve() as server:
            async with webhook() as kind:
                await kind.call(Hook(id="h", url=server.url), REQUEST, timeout=30)
            await server.closed.wait()

    bounded(once())
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    bounded(once())
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_connections_end_with_their_event_loop_even_when_nobody_closes() -> None:
    kind = Webhook()

    async def once() -> Reply:
        async with serve() as server:
            return await kind.call(Hook(id="h", url=server.url), REQUEST, timeout=30)

    assert [bounded(once()).stdout for _ in range(2)] == [b"ok", b"ok"]
    # an unclosed transport would be reported now, and warnings are errors
    gc.collect()
    bounded(kind.close())


def test_library_is_loaded_at_the_first_call_only() -> None:
    program = "import sys, hookline.kinds.webhook; print('httpx2' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.strip() == "False"


def _header(value: str, allowed: tuple[str, ...] | None) -> str:
    async def call() -> str:
        async with serve(OK) as server, webhook() as kind:
            hook = Hook(id="h", url=server.url, headers={"X-Key": value}, header_env=allowed, dialect="claude-code")
            await kind.call(hook, REQUEST, timeout=30)
            return server.messages[0].headers["x-key"]

    return bounded(call())


def test_header_of_an_agents_own_hook_gets_the_variables_it_may_name_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KEY", "k1")
    monkeypatch.setenv("SECRET", "s1")

    assert _header("Bearer $KEY-${KEY}/$SECRET${ELSE}.", ("KEY", "ELSE")) == "Bearer k1-k1/."
    assert _header("Bearer $KEY", ()) == "Bearer"
    assert _header("Bearer $KEY", None) == "Bearer $KEY"


def test_variable_that_would_be_a_second_header_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "a\r\nX-Other: b")

    assert _header("$KEY", ("KEY",)) == ""
