"""The HTTP server itself: what it refuses, whom it does not wait for, and how it ends."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from hookline import http_server
from hookline.http_server import ClientDisconnect, HttpServer, Options, Request, Response, read_body

HOST = "Host: localhost\r\n"


async def echo(request: Request) -> Response:
    body = await read_body(request, limit=10, seconds=0.2)
    return Response(b"too large" if body is None else body)


def run(
    work: Callable[[HttpServer, int], Awaitable[None]],
    *,
    handler: http_server.Handler = echo,
    head_seconds: float = 20.0,
    most_connections: int = 256,
) -> None:
    async def serve() -> None:
        options = Options(hosts=lambda: {"localhost"}, head_seconds=head_seconds, most_connections=most_connections)
        server = HttpServer(handler, options)
        await server.start(socket.create_server(("127.0.0.1", 0)))
        try:
            async with asyncio.timeout(30):
                await work(server, server.sockets[0].getsockname()[1])
        finally:
            await server.close(1.0)

    asyncio.run(serve())


async def exchange(port: int, *parts: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("POST /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("POST / HTTP/1.1 \r\nHost: localhost\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: a\r\nauthorization: b\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x10\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ٣\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: elsewhere\r\n\r\n", 403),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n", 403),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nX: " + "x" * 20_000 + "\r\n\r\n", 431),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nX: " + "x" * 300_000, 431),
        *(
            (f"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}", 400)
            for chunks in ("\r\n", "g\r\n", "3\r\nabcd\r\n", "-3\r\nabc\r\n", "1" * 40_000 + "\r\n")
        ),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_with_a_reason(text: str, status: int) -> None:
    async def work(_server: HttpServer, port: int) -> None:
        answer = await exchange(port, text.encode())
        assert answer.startswith(b"HTTP/1.1 %d " % status), answer
        assert b'{"error":' in answer

    run(work)


@pytest.mark.parametrize(
    ("framing", "answer"),
    [
        ("Content-Length: 3\r\nConnection: close\r\n\r\nabc", b"abc"),
        ("Connection: close\r\n\r\n", b""),
        ("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nX: y\r\n\r\n", b"abc"),
        ("Content-Length: 11\r\nConnection: close\r\n\r\nabcdefghijk", b"too large"),
        (
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n6\r\nabcdef\r\n5\r\nabcde\r\n0\r\n\r\n",
            b"too large",
        ),
    ],
)
def test_a_body_is_as_long_as_it_says(framing: str, answer: bytes) -> None:
    async def work(_server: HttpServer, port: int) -> None:
        head, _, body = (await exchange(port, f"POST / HTTP/1.1\r\n{HOST}{framing}".encode())).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert body == answer

    run(work)


@pytest.mark.parametrize(
    "text",
    [
        "POST / HT",
        f"POST / HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\nab",
        f"POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    ],
)
def test_a_slow_client_is_refused(text: str) -> None:
    async def work(_server: HttpServer, port: int) -> None:
        assert (await exchange(port, text.encode())).startswith(b"HTTP/1.1 408 ")

    run(work, head_seconds=0.2)


def test_a_silent_client_is_disconnected_and_one_between_two_requests_is_not() -> None:
    async def work(_server: HttpServer, port: int) -> None:
        assert await exchange(port) == b""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(f"POST / HTTP/1.1\r\n{HOST}Content-Length: 2\r\n\r\nok".encode())
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
            await asyncio.sleep(0.3)
        writer.write(b"POST / HTTP/1.1\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 408 ")
        writer.close()

    run(work, head_seconds=0.2)


def test_a_client_that_hangs_up_ends_its_request() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def wait(request: Request) -> Response:
        started.set()
        try:
            await read_body(request, limit=10, seconds=20.0)
        except ClientDisconnect:
            ended.set()
            raise
        return Response()

    async def work(_server: HttpServer, port: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"POST / HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\nab".encode())
        await started.wait()
        writer.close()
        await ended.wait()

    run(work, handler=wait)


def test_authenticated_connections_are_not_closed_for_new_ones() -> None:
    servers: list[HttpServer] = []

    async def known(request: Request) -> Response:
        servers[0].mark_known(request)
        return Response(b"ok")

    async def work(server: HttpServer, port: int) -> None:
        servers.append(server)
        request = f"POST / HTTP/1.1\r\n{HOST}Content-Length: 0\r\n\r\n".encode()
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, writer in held:
            writer.write(request)
            await reader.readuntil(b"ok")
        # there is no room, and nobody to make it
        with suppress(ConnectionError):
            assert await exchange(port, request) == b""
        held[0][1].write(request)
        assert (await held[0][0].readuntil(b"ok")).startswith(b"HTTP/1.1 200 ")
        for _, writer in held:
            writer.close()

    run(work, handler=known, most_connections=2)


def test_an_error_in_a_handler_is_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_request: Request) -> Response:
        raise RuntimeError("a bug")

    async def work(_server: HttpServer, port: int) -> None:
        assert (await exchange(port, f"POST / HTTP/1.1\r\n{HOST}\r\n".encode())).startswith(b"HTTP/1.1 500 ")

    run(work, handler=broken)
    assert "this is a bug in hookline" in caplog.text
