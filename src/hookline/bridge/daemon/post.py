"""HTTP/1.1 as far as a program that calls a hook needs it: requests with a body, answers with one, again and again."""

import asyncio
import re
from collections.abc import Awaitable, Mapping
from typing import Final

from msgspec import Struct

HEAD: Final = 32 * 1024  # bytes of everything before a body
LARGEST: Final = 256 * 1024 * 1024  # bytes of a body: as much as a command takes
SLOWEST: Final = 20.0  # seconds between two pieces of a request

_PIECE: Final = 256 * 1024
_LONGEST_LINE: Final = 1024  # bytes of the line before a chunk
_START: Final = re.compile(r"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.([01])")
_FIELD: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*")
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t -~]*)?\r\n")
# two of them would be two opinions on where a request ends, or who is meant
_ONCE: Final = frozenset({"host", "content-length", "transfer-encoding", "authorization", "origin"})

REASONS: Final[Mapping[int, str]] = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class RefusedError(Exception):
    """What was sent is no request that is answered; has the status that says so."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Head(Struct, frozen=True):
    """What stands before a body: the method, the target, the fields by their names in small letters."""

    method: str
    target: str
    fields: Mapping[str, str]
    stays: bool

    @property
    def has_body(self) -> bool:
        """Whether something follows."""
        return "transfer-encoding" in self.fields or self.fields.get("content-length", "0") != "0"


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """Read the next head; None when there is none.

    Raises:
        RefusedError: It is none.
    """
    try:
        first = await reader.readexactly(1)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    try:
        async with asyncio.timeout(SLOWEST):
            raw = first + await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise RefusedError(431, f"more than {HEAD} bytes stand before the body") from None
    except TimeoutError:
        raise RefusedError(408, "the request takes too long") from None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return _head(raw)


def _head(raw: bytes) -> Head:
    start, *lines = raw[:-4].decode("latin-1").split("\r\n")
    said = _START.fullmatch(start)
    if said is None:
        raise RefusedError(400, "the first line is no request of HTTP/1.1")
    fields: dict[str, str] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise RefusedError(400, "one of the header lines is none")
        name = field[1].lower()
        if name in fields and name in _ONCE:
            raise RefusedError(400, f"there are two of {name}")
        fields[name] = field[2]
    if "content-length" in fields and "transfer-encoding" in fields:
        raise RefusedError(400, "there are two ways to tell where the body ends")
    if fields.get("transfer-encoding", "chunked").lower() != "chunked":
        raise RefusedError(400, "of all transfer encodings only chunked is understood")
    length = fields.get("content-length", "0")
    if not (length.isascii() and length.isdecimal() and len(length) <= 18):  # noqa: PLR2004 - more is no length
        raise RefusedError(400, "the length of the body is no number")
    is_old = said[3] == "0"
    stays = "close" not in fields.get("connection", "").lower() and not is_old
    return Head(said[1], said[2], {**fields, "content-length": str(int(length))}, stays)


async def read_body(reader: asyncio.StreamReader, head: Head) -> bytes | None:
    """Read the body of a request; None when it is too large: all of it is read all the same, so that there is an answer.

    Raises:
        RefusedError: It never ends, or is not what was announced.
        asyncio.IncompleteReadError: The caller has gone.
    """
    if "transfer-encoding" in head.fields:
        return await _chunked(reader)
    body = _Body()
    await body.take(reader, int(head.fields["content-length"]))
    return body.whole()


async def _chunked(reader: asyncio.StreamReader) -> bytes | None:
    body = _Body()
    while True:
        line = await _in_time(reader.readuntil(b"\r\n"))
        found = _SIZE.fullmatch(line) if len(line) <= _LONGEST_LINE else None
        if found is None:
            raise RefusedError(400, "a chunk has no size")
        size = int(found[1], 16)
        if not size:
            break
        await body.take(reader, size)
        if await _in_time(reader.readexactly(2)) != b"\r\n":
            raise RefusedError(400, "a chunk has another size than it says")
    # what may stand behind the last one is of no use to us
    trailers = 0
    while (line := await _in_time(reader.readuntil(b"\r\n"))) != b"\r\n":
        trailers += len(line)
        if trailers > HEAD:
            raise RefusedError(431, f"more than {HEAD} bytes stand behind the body")
    return body.whole()


class _Body:
    """A body, as far as it is there; one that is too large is not kept."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    async def take(self, reader: asyncio.StreamReader, size: int) -> None:
        while size:
            part = await _in_time(reader.read(min(size, _PIECE)))
            if not part:
                raise asyncio.IncompleteReadError(b"", size)
            size -= len(part)
            self._size += len(part)
            if self._size <= LARGEST:
                self._parts.append(part)
            else:
                self._parts.clear()

    def whole(self) -> bytes | None:
        return b"".join(self._parts) if self._size <= LARGEST else None


async def _in_time(reading: Awaitable[bytes]) -> bytes:
    try:
        async with asyncio.timeout(SLOWEST):
            return await reading
    except TimeoutError:
        raise RefusedError(408, "the request takes too long") from None
    except asyncio.LimitOverrunError:
        raise RefusedError(400, "a line of the body is too long") from None


def written(status: int, body: bytes, *, kind: str, stays: bool, more: Mapping[str, str] | None = None) -> bytes:
    """Write an answer."""
    fields = {"Content-Type": kind, "Content-Length": str(len(body)), **({} if stays else {"Connection": "close"})}
    lines = [
        f"HTTP/1.1 {status} {REASONS[status]}",
        *(f"{name}: {text}" for name, text in {**fields, **(more or {})}.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
