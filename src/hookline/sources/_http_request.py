"""One HTTP request, read strictly: whatever could be understood in two ways is refused."""

import asyncio
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, unquote

from msgspec import Struct

LARGEST_HEAD: Final = 16_384
LARGEST_BODY: Final = 1_048_576

# no fragment: a caller keeps that to itself
_SHOWN: Final = r"[^\x00-\x20#\x7f-\xff]*"
_REQUEST: Final = re.compile(
    rf"(?P<method>[A-Z]{{1,16}}) (?P<path>/[^\x00-\x20#?\x7f-\xff]*)(?:\?(?P<query>{_SHOWN}))? HTTP/1\.[01]"
)
_HEADER: Final = re.compile(r"(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?P<value>[\t -~\x80-\xff]*?)[ \t]*")
_LENGTH: Final = re.compile(r"[0-9]{1,15}")

# Two of these would let two readers of one request see two different requests.
_ONLY_ONCE: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "authorization", "origin", "expect", "x-hub-signature-256"}
)


class HttpError(Exception):
    """A request that gets no answer but a refusal."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.message = message
        self.headers = dict(headers or {})
        super().__init__(f"{status} {message}")


class Head(Struct, frozen=True, kw_only=True):
    """What stands before the body; the names of headers are in small letters."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]

    @property
    def host(self) -> str:
        """The name the caller thinks we have, without the port."""
        named = self.headers.get("host", "")
        return (named.partition("]")[0] + "]" if named.startswith("[") else named.partition(":")[0]).lower()

    @property
    def bearer(self) -> str:
        """The token the caller shows, if any."""
        scheme, _, value = self.headers.get("authorization", "").partition(" ")
        return value.strip() if scheme.lower() == "bearer" else ""


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """Read what stands before the body; None when the caller went away without a word.

    Raises:
        HttpError: It is not what HTTP/1.1 wants, or too much.
    """
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise HttpError(431, f"the headers are larger than {LARGEST_HEAD} bytes") from None
    except asyncio.IncompleteReadError as problem:
        if problem.partial:
            raise HttpError(400, "the request ends in the middle of its headers") from None
        return None
    first, *lines = raw[:-4].decode("latin-1").split("\r\n")
    found = _REQUEST.fullmatch(first)
    if found is None:
        raise HttpError(400, "the first line is no HTTP/1.1 request for a path")
    # of a parameter that is given twice the last one would count for some, and the first one for others
    query = parse_qs(found["query"] or "", keep_blank_values=True)
    if any(len(values) > 1 for values in query.values()):
        raise HttpError(400, "a parameter is given twice")
    return Head(
        method=found["method"],
        path=unquote(found["path"]),
        query={key: values[0] for key, values in query.items()},
        headers=_headers(lines),
    )


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        found = _HEADER.fullmatch(line)
        if found is None:
            raise HttpError(400, "a header is malformed")
        name = found["name"].lower()
        if name in headers and name in _ONLY_ONCE:
            raise HttpError(400, f"the header {name} is given twice")
        headers.setdefault(name, found["value"])
    return headers


def body_size(head: Head) -> int:
    """Say how long the body is.

    Raises:
        HttpError: It is not said, said in two ways, or too long.
    """
    if "transfer-encoding" in head.headers:
        if "content-length" in head.headers:
            raise HttpError(400, "both Content-Length and Transfer-Encoding are given")
        raise HttpError(411, "a body is taken with Content-Length only")
    said = head.headers.get("content-length")
    if said is None:
        raise HttpError(411, "Content-Length is missing")
    if not _LENGTH.fullmatch(said):
        raise HttpError(400, "Content-Length is no number")
    if int(said) > LARGEST_BODY:
        raise HttpError(413, f"the body is larger than {LARGEST_BODY} bytes")
    return int(said)


async def read_body(head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Read the body, and tell a caller that waits with it that it may send.

    Raises:
        HttpError: It is not said how long it is, it is too long, or it ends early.
    """
    size = body_size(head)
    expected = head.headers.get("expect", "").lower()
    if expected and expected != "100-continue":
        raise HttpError(417, "the only expectation that is met is 100-continue")
    if expected:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise HttpError(400, "the body ends before its Content-Length") from None
