"""Exchanges on kept connections, against servers that keep to the rules and servers that do not."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import h11
import pytest

from hookline.kinds import _http
from hookline.kinds._http import Answer, Asked, BrokenOff, Pool

T = TypeVar("T")
LIMIT = 100_000


def said(text: bytes, *, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, more, len(text), text)


class Server:
    """Answers the requests of each connection by turns; what it is given after that is the answer to all others."""

    def __init__(self, answers: Sequence[bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]]) -> None:
        self.answers = list(answers)
        self.port = 0
        self.heads: list[str] = []
        self.connections = 0
        self.closed = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = head.lower().partition("content-length: ")[2].partition("\r\n")[0]
                await reader.readexactly(int(length or 0))
                self.heads.append(head)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.closed.set()
            writer.close()


@asynccontextmanager
async def serving(*answers: bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[Server]:
    server = Server(answers)
    writers: list[asyncio.StreamWriter] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await server.talk(reader, writer)

    listening = await asyncio.start_server(talk, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for writer in writers:
            writer.close()
        await listening.wait_closed()


def asked(server: Server, body: bytes = b"{}", *, method: str = "POST", path: str = "") -> Asked:
    return Asked(method=method, url=server.url + path, headers={"accept": "*/*"}, body=body)


def bounded(work: Awaitable[T]) -> T:
    async def within() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(within())


def exchanges(
    count: int, *answers: bytes | Callable[[asyncio.StreamWriter], Awaitable[None]], method: str = "POST"
) -> tuple[list[Answer], Server]:
    async def within() -> tuple[list[Answer], Server]:
        async with serving(*answers) as server:
            pool = Pool()
            body = b"" if method == "HEAD" else b"{}"
            got = [await pool.ask(asked(server, body, method=method), limit=LIMIT) for _ in range(count)]
            await pool.close()
            return got, server

    return bounded(within())


def bodies(answers: Sequence[Answer]) -> list[bytes]:
    return [answer.body for answer in answers]


def test_one_connection_serves_one_call_after_another() -> None:
    answers, server = exchanges(3, said(b"one"), said(b"two"), said(b"three"))
    assert bodies(answers) == [b"one", b"two", b"three"]
    assert server.connections == 1


# what is sent behind an answer


def test_a_second_answer_is_never_the_answer_to_the_next_question() -> None:
    answers, server = exchanges(3, said(b"one") + said(b"forged"), said(b"two") + said(b"forged"), said(b"three"))
    assert bodies(answers) == [b"one", b"two", b"three"]
    assert server.connections == 3


@pytest.mark.parametrize("extra", [b"x", b"\r\n", b"HTTP/1.1 200 OK\r\n", said(b"forged")[:-3]])
def test_half_a_second_answer_is_none_either(extra: bytes) -> None:
    answers, server = exchanges(2, said(b"one") + extra, said(b"two"))
    assert bodies(answers) == [b"one", b"two"]
    assert server.connections == 2


def test_a_second_answer_behind_a_chunked_one_is_never_taken() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n"
    answers, _ = exchanges(2, chunked + said(b"forged"), said(b"two"))
    assert bodies(answers) == [b"one", b"two"]


def test_a_second_answer_behind_one_without_a_body_is_never_taken() -> None:
    answers, _ = exchanges(2, b"HTTP/1.1 204 No Content\r\n\r\n" + said(b"forged"), said(b"two"))
    assert [(answer.status, answer.body) for answer in answers] == [(204, b""), (200, b"two")]


def test_the_body_of_an_answer_to_head_is_never_taken_for_an_answer() -> None:
    answers, _ = exchanges(2, said(b"HTTP/1.1 200 OK\r\n\r\n"), said(b""), method="HEAD")
    assert bodies(answers) == [b"", b""]


def test_what_comes_while_nobody_asks_closes_the_connection() -> None:
    """A second answer that takes its time is read by the loop long before the next question."""

    async def within() -> None:
        async def twice(writer: asyncio.StreamWriter) -> None:
            writer.write(said(b"one"))
            await writer.drain()
            await answered.wait()
            writer.write(said(b"forged"))
            await writer.drain()

        answered = asyncio.Event()
        async with serving(twice, said(b"two")) as server:
            pool = Pool()
            assert (await pool.ask(asked(server), limit=LIMIT)).body == b"one"
            answered.set()
            await server.closed.wait()
            assert (await pool.ask(asked(server), limit=LIMIT)).body == b"two"
            assert server.connections == 2
            await pool.close()

    bounded(within())


def test_a_second_answer_in_the_very_moment_of_the_next_question_closes_the_connection() -> None:
    """It lies in the socket, unread, when the connection is taken: whichever comes first, it is not the answer."""

    async def within() -> None:
        held: list[asyncio.StreamWriter] = []

        async def keep(writer: asyncio.StreamWriter) -> None:
            held.append(writer)
            writer.write(said(b"one"))
            await writer.drain()

        async with serving(keep, said(b"two")) as server:
            pool = Pool()
            assert (await pool.ask(asked(server), limit=LIMIT)).body == b"one"
            held[0].write(said(b"forged"))
            await held[0].drain()
            assert (await pool.ask(asked(server), limit=LIMIT)).body == b"two"
            await pool.close()

    bounded(within())


# what a connection is kept for


@pytest.mark.parametrize(
    "answer",
    [said(b"one", more=b"Connection: close\r\n"), b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\none"],
    ids=["close", "HTTP/1.0"],
)
def test_a_connection_the_server_does_not_keep_is_not_used_again(answer: bytes) -> None:
    answers, server = exchanges(2, answer)
    assert bodies(answers) == [b"one", b"one"]
    assert server.connections == 2


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async def whole(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")
        writer.close()

    answers, server = exchanges(2, whole)
    assert bodies(answers) == [b"all of it"] * 2
    assert server.connections == 2


def test_an_old_connection_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "KEPT_FOR", -1.0)
    answers, server = exchanges(2, said(b"one"))
    assert (len(answers), server.connections) == (2, 2)


def test_no_more_connections_are_kept_than_are_allowed() -> None:
    async def within() -> int:
        async with serving(said(b"one")) as server:
            pool = Pool()
            await asyncio.gather(*(pool.ask(asked(server), limit=LIMIT) for _ in range(3 * _http.MOST_KEPT)))
            before = server.connections
            await asyncio.gather(*(pool.ask(asked(server), limit=LIMIT) for _ in range(_http.MOST_KEPT)))
            assert server.connections == before
            await asyncio.gather(*(pool.ask(asked(server), limit=LIMIT) for _ in range(_http.MOST + 10)))
            await pool.close()
            return before

    assert bounded(within()) <= _http.MOST


# what a server may say besides


def test_an_announcement_is_not_the_answer() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    assert bodies(exchanges(2, early + said(b"one"), said(b"two"))[0]) == [b"one", b"two"]


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", b"HTTP/1.1 101 Switching Protocols\r\n\r\n"])
def test_what_is_no_answer_breaks_off(answer: bytes) -> None:
    with pytest.raises(BrokenOff) as caught:
        exchanges(1, answer)
    assert caught.value.has_begun
    assert isinstance(caught.value.problem, h11.RemoteProtocolError)


def test_an_answer_that_ends_too_early_breaks_off() -> None:
    async def half(writer: asyncio.StreamWriter) -> None:
        writer.write(said(b"all of it")[:-4])
        writer.close()

    with pytest.raises(BrokenOff) as caught:
        exchanges(1, half)
    assert caught.value.has_begun


def test_a_body_beyond_the_limit_is_not_read_to_the_end() -> None:
    answers, server = exchanges(2, said(b"x" * 4 * LIMIT), said(b"small"))
    assert [answer.is_whole for answer in answers] == [False, True]
    assert LIMIT < len(answers[0].body) < 4 * LIMIT
    assert server.connections == 2


# what is sent


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("?a=b&c=%20", "POST /hook?a=b&c=%20 HTTP/1.1"),
        ("/a|b{c}?q=<x>", "POST /hook/a%7Cb%7Bc%7D?q=%3Cx%3E HTTP/1.1"),
        ("#part", "POST /hook HTTP/1.1"),
    ],
)
def test_the_request_line_holds_what_may_stand_in_it(path: str, line: str) -> None:
    async def within() -> Server:
        async with serving(said(b"ok")) as server:
            pool = Pool()
            await pool.ask(asked(server, path=path), limit=LIMIT)
            await pool.close()
            return server

    assert bounded(within()).heads[0].split("\r\n")[0] == line


def test_a_long_body_arrives_whole() -> None:
    async def within() -> Server:
        async with serving(said(b"ok")) as server:
            pool = Pool()
            await pool.ask(asked(server, b"x" * 3_000_000), limit=LIMIT)
            await pool.close()
            return server

    assert "content-length: 3000000" in bounded(within()).heads[0].lower()


def test_a_header_that_would_be_two_is_not_sent() -> None:
    async def within() -> None:
        async with serving(said(b"ok")) as server:
            pool = Pool()
            bad = Asked(method="POST", url=server.url, headers={"x": "1\r\ny: 2"}, body=b"{}")
            with pytest.raises(h11.LocalProtocolError):
                await pool.ask(bad, limit=LIMIT)
            assert server.heads == []
            await pool.close()

    bounded(within())


def test_a_port_where_nobody_listens_is_refused_under_every_name_of_this_machine() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def within(host: str) -> None:
        with pytest.raises(ConnectionRefusedError):
            await Pool().ask(Asked(method="GET", url=f"http://{host}:{port}/", headers={}), limit=LIMIT)

    for host in ("127.0.0.1", "localhost"):
        bounded(within(host))
