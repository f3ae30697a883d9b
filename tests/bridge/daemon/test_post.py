"""Requests are read as they were meant, or not at all: there is never a doubt about where one ends."""

import asyncio

import pytest

from hookline.bridge.daemon import post
from hookline.bridge.daemon.post import Head, RefusedError, read_body, read_head, written


def reader(*parts: bytes, ends: bool = True) -> asyncio.StreamReader:
    made = asyncio.StreamReader(limit=post.HEAD)
    for part in parts:
        made.feed_data(part)
    if ends:
        made.feed_eof()
    return made


def heads(raw: bytes) -> Head | None:
    async def read() -> Head | None:
        return await read_head(reader(raw))

    return asyncio.run(read())


def bodies(head: str, raw: bytes) -> bytes | None:
    async def read() -> bytes | None:
        line = reader(f"POST / HTTP/1.1\r\n{head}\r\n\r\n".encode() + raw)
        found = await read_head(line)
        assert found is not None
        return await read_body(line, found)

    return asyncio.run(read())


def refusal(raw: bytes) -> int:
    with pytest.raises(RefusedError) as refused:
        heads(raw)
    return refused.value.status


def test_a_head_is_read_with_its_fields_in_small_letters_and_without_the_space_around_them() -> None:
    found = heads(b"POST /a?b=c HTTP/1.1\r\nHost: \t x:1 \r\nX-Empty:\r\nX-Two: a\r\nX-Two: b\r\n\r\n")

    assert found is not None
    assert (found.method, found.target, found.stays, found.has_body) == ("POST", "/a?b=c", True, False)
    assert found.fields == {"host": "x:1", "x-empty": "", "x-two": "b", "content-length": "0"}


def test_whoever_wants_to_end_with_the_answer_says_so_or_is_old() -> None:
    closing = heads(b"POST / HTTP/1.1\r\nConnection: Close\r\n\r\n")
    old = heads(b"POST / HTTP/1.0\r\n\r\n")

    assert closing is not None
    assert old is not None
    assert (closing.stays, old.stays) == (False, False)


@pytest.mark.parametrize("raw", [b"", b"POST / HTTP/1.1\r\nHost: x\r\n"])
def test_who_has_gone_says_nothing(raw: bytes) -> None:
    assert heads(raw) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"post / HTTP/1.1\r\n\r\n",
        b"POST http://x/ HTTP/1.1\r\n\r\n",
        b"POST /\x00 HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1 \r\n\r\n",
        b"POST / HTTP/1.1\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost : x\r\n\r\n",
        b"POST / HTTP/1.1\r\n: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: a\x00b\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        b"POST / HTTP/1.1\r\nAuthorization: a\r\nauthorization: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 0x10\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 9999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: ٣\r\n\r\n".encode(),
    ],
)
def test_a_head_that_leaves_a_doubt_is_refused(raw: bytes) -> None:
    assert refusal(raw) == 400


def test_a_head_that_does_not_end_is_refused() -> None:
    assert refusal(b"POST / HTTP/1.1\r\nX: " + b"x" * post.HEAD) == 431


def test_who_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post, "SLOWEST", 0.01)

    async def read(*parts: bytes) -> int:
        line = reader(*parts, ends=False)
        try:
            found = await read_head(line)
            assert found is not None
            await read_body(line, found)
        except RefusedError as refusal:
            return refusal.status
        return 0

    assert asyncio.run(read(b"POST / HT")) == 408
    assert asyncio.run(read(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", b"ab")) == 408
    assert asyncio.run(read(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"5\r\nab")) == 408


def test_a_body_is_as_long_as_it_says() -> None:
    assert bodies("Content-Length: 3", b"abcdef") == b"abc"
    assert bodies("Content-Length: 003", b"abcdef") == b"abc"
    assert bodies("Host: x", b"abcdef") == b""


def test_chunks_are_put_together() -> None:
    assert (
        bodies("Transfer-Encoding: Chunked", b'3\r\nabc\r\nA;x="y"\r\n0123456789\r\n0\r\nX: y\r\n\r\n')
        == b"abc0123456789"
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n",
        b"3 \r\nabc\r\n",
        b"g\r\n",
        b"3\r\nabcd\r\n",
        b"-3\r\nabc\r\n",
        b"123456789\r\n",
        b"1" * 40_000 + b"\r\n",
    ],
)
def test_chunks_that_leave_a_doubt_are_refused(raw: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        bodies("Transfer-Encoding: chunked", raw)
    assert refused.value.status == 400


def test_too_much_behind_a_body_is_refused() -> None:
    with pytest.raises(RefusedError) as refused:
        bodies("Transfer-Encoding: chunked", b"0\r\n" + b"X: yyyyyyyyyy\r\n" * 4000 + b"\r\n")
    assert refused.value.status == 431


@pytest.mark.parametrize("raw", [b"ab", b""])
def test_a_body_of_somebody_who_has_gone_is_none(raw: bytes) -> None:
    with pytest.raises(asyncio.IncompleteReadError):
        bodies("Content-Length: 3", raw)
    with pytest.raises(asyncio.IncompleteReadError):
        bodies("Transfer-Encoding: chunked", b"3\r\n" + raw)


def test_a_body_that_is_too_large_is_read_to_its_end_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post, "LARGEST", 10)

    async def read() -> tuple[bytes | None, bytes]:
        line = reader(b"POST / HTTP/1.1\r\nContent-Length: 11\r\n\r\n", b"x" * 11 + b"next")
        found = await read_head(line)
        assert found is not None
        return await read_body(line, found), await line.read()

    assert asyncio.run(read()) == (None, b"next")
    assert bodies("Content-Length: 10", b"x" * 10) == b"x" * 10
    assert bodies("Transfer-Encoding: chunked", b"6\r\nxxxxxx\r\n5\r\nxxxxx\r\n0\r\n\r\n") is None


def test_an_answer_says_how_long_it_is_and_whether_another_may_follow() -> None:
    assert written(200, b"{}", kind="application/json", stays=True) == (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    )
    last = written(405, b"", kind="text/plain", stays=False, more={"Allow": "POST"})
    assert b"\r\nConnection: close\r\nAllow: POST\r\n\r\n" in last
