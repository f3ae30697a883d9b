"""Exchanges on kept connections, against servers that keep to the rules and servers that do not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from hookline import http_client
from hookline.http_client import ANSWER_LIMIT
from hookline.kinds.webhook import Webhook
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook

T = TypeVar("T")
REQUEST = Request(event=Event(name=EventName.BEFORE_TOOL), document={})


def response(text: bytes, *, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
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


def hook(server: Server, *, method: str = "POST", path: str = "") -> Hook:
    return Hook(id="h", url=server.url + path, method=method)


def bounded(work: Awaitable[T]) -> T:
    async def within() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(within())


def exchanges(
    count: int, *answers: bytes | Callable[[asyncio.StreamWriter], Awaitable[None]], method: str = "POST"
) -> tuple[list[Reply], Server]:
    async def within() -> tuple[list[Reply], Server]:
        async with serving(*answers) as server:
            kind = Webhook()
            got = [await kind.call(hook(server, method=method), REQUEST, timeout=30) for _ in range(count)]
            await kind.close()
            return got, server

    return bounded(within())


def bodies(replies: Sequence[Reply]) -> list[bytes]:
    return [reply.stdout for reply in replies]


def test_one_connection_serves_one_call_after_another() -> None:
    answers, server = exchanges(3, response(b"one"), response(b"two"), response(b"three"))
    assert bodies(answers) == [b"one", b"two", b"three"]
    assert server.connections == 1


# what is sent behind an answer


def test_a_second_answer_is_never_the_answer_to_the_next_question() -> None:
    answers, server = exchanges(
        3, response(b"one") + response(b"forged"), response(b"two") + response(b"forged"), response(b"three")
    )
    assert bodies(answers) == [b"one", b"two", b"three"]
    assert server.connections == 3


@pytest.mark.parametrize("extra", [b"x", b"\r\n", b"HTTP/1.1 200 OK\r\n", response(b"forged")[:-3]])
def test_half_a_second_answer_is_none_either(extra: bytes) -> None:
    answers, server = exchanges(2, response(b"one") + extra, response(b"two"))
    assert bodies(answers) == [b"one", b"two"]
    assert server.connections == 2


def test_a_second_answer_behind_a_chunked_one_is_never_taken() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n"
    answers, _ = exchanges(2, chunked + response(b"forged"), response(b"two"))
    assert bodies(answers) == [b"one", b"two"]


def test_a_second_answer_behind_one_without_a_body_is_never_taken() -> None:
    answers, _ = exchanges(2, b"HTTP/1.1 204 No Content\r\n\r\n" + response(b"forged"), response(b"two"))
    assert bodies(answers) == [b"", b"two"]


def test_the_body_of_an_answer_to_head_is_never_taken_for_an_answer() -> None:
    answers, _ = exchanges(2, response(b"HTTP/1.1 200 OK\r\n\r\n"), response(b""), method="HEAD")
    assert bodies(answers) == [b"", b""]


def test_data_on_an_idle_connection_closes_it() -> None:

    async def within() -> None:
        async def twice(writer: asyncio.StreamWriter) -> None:
            writer.write(response(b"one"))
            await writer.drain()
            await answered.wait()
            writer.write(response(b"forged"))
            await writer.drain()
            sent.set()

        answered, sent = asyncio.Event(), asyncio.Event()
        async with serving(twice, response(b"two")) as server:
            kind = Webhook()
            assert (await kind.call(hook(server), REQUEST, timeout=30)).stdout == b"one"
            answered.set()
            await sent.wait()
            assert (await kind.call(hook(server), REQUEST, timeout=30)).stdout == b"two"
            assert server.connections == 2
            await kind.close()

    bounded(within())


def test_a_second_answer_in_the_very_moment_of_the_next_question_closes_the_connection() -> None:
    """It lies in the socket, unread, when the connection is taken: whichever comes first, it is not the answer."""

    async def within() -> None:
        held: list[asyncio.StreamWriter] = []

        async def keep(writer: asyncio.StreamWriter) -> None:
            held.append(writer)
            writer.write(response(b"one"))
            await writer.drain()

        async with serving(keep, response(b"two")) as server:
            kind = Webhook()
            assert (await kind.call(hook(server), REQUEST, timeout=30)).stdout == b"one"
            held[0].write(response(b"forged"))
            await held[0].drain()
            assert (await kind.call(hook(server), REQUEST, timeout=30)).stdout == b"two"
            await kind.close()

    bounded(within())


# what a connection is kept for


@pytest.mark.parametrize(
    "answer",
    [response(b"one", more=b"Connection: close\r\n"), b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\none"],
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
    monkeypatch.setattr(http_client, "IDLE_SECONDS", -1.0)
    answers, server = exchanges(2, response(b"one"))
    assert (len(answers), server.connections) == (2, 2)


def test_no_more_connections_are_kept_than_are_allowed() -> None:
    async def within() -> tuple[int, int]:
        async with serving(response(b"one")) as server:
            kind = Webhook()

            async def call_at_once(count: int) -> None:
                await asyncio.gather(*(kind.call(hook(server), REQUEST, timeout=30) for _ in range(count)))

            most_kept = http_client.MOST_IDLE
            await call_at_once(3 * most_kept)
            before = server.connections
            await call_at_once(most_kept)
            assert server.connections == before
            await call_at_once(http_client.MOST_CONNECTIONS + 10)
            await kind.close()
            return before, server.connections

    before, after = bounded(within())
    assert before <= http_client.MOST_CONNECTIONS
    assert after - before <= http_client.MOST_CONNECTIONS


# what a server may say besides


def test_an_announcement_is_not_the_answer() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    assert bodies(exchanges(2, early + response(b"one"), response(b"two"))[0]) == [b"one", b"two"]


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", response(b"all of it")[:-4]])
def test_a_response_that_is_no_http_or_ends_early_is_a_failure(answer: bytes) -> None:
    async def broken(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    (reply,), server = exchanges(1, broken)
    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.UNREACHABLE
    assert f"{server.url.removesuffix('/hook')} broke off in the middle of its answer" in reply.failure.message


def test_another_protocol_is_not_an_answer() -> None:
    (reply,), _ = exchanges(1, b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    assert reply.failure is not None


def test_a_body_beyond_the_limit_is_not_read_to_the_end() -> None:
    (first, second), server = exchanges(2, response(b"x" * 4 * ANSWER_LIMIT), response(b"small"))
    assert first.failure is not None
    assert first.failure.kind is FailureKind.TOO_MUCH_OUTPUT
    assert second.stdout == b"small"
    assert server.connections == 2


# what is sent


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("?a=b&c=%20", "POST /hook?a=b&c=%20 HTTP/1.1"),
        ("/a{b}?q=<x>", "POST /hook/a%7Bb%7D?q=%3Cx%3E HTTP/1.1"),
        ("#part", "POST /hook HTTP/1.1"),
    ],
)
def test_the_request_line_holds_what_may_stand_in_it(path: str, line: str) -> None:
    async def within() -> Server:
        async with serving(response(b"ok")) as server:
            kind = Webhook()
            await kind.call(hook(server, path=path), REQUEST, timeout=30)
            await kind.close()
            return server

    assert bounded(within()).heads[0].split("\r\n")[0] == line


def test_a_long_body_arrives_whole() -> None:
    async def within() -> Server:
        async with serving(response(b"ok")) as server:
            kind = Webhook()
            request = Request(event=REQUEST.event, document={"text": "x" * 3_000_000})
            assert (await kind.call(hook(server), request, timeout=30)).stdout == b"ok"
            await kind.close()
            return server

    assert "content-length: 3000012" in bounded(within()).heads[0].lower()
