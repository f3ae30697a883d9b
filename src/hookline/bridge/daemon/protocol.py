"""What the launcher and the daemon say to each other: one request, then frames until there is an answer.

Numbers are little endian. `launcher.c` has the same in C.
"""

import os
import struct
from typing import Final

from msgspec import Struct

from hookline.model.exchange import Answer

GREETING: Final = b"HKL1"
LARGEST: Final = 300 * 1024 * 1024  # bytes of a request

STILL: Final = b"k\0\0\0\0"
"""The frame that says that an answer takes a while."""

_NUMBER: Final = struct.Struct("<I")
_HEAD: Final = struct.Struct("<4sI")
HEAD_SIZE: Final = _HEAD.size
_FRAME: Final = struct.Struct("<cI")
_CODE: Final = struct.Struct("<i")
_MOST_WORDS: Final = 64


class ProtocolError(ValueError):
    """What was said is not what a launcher of ours says."""


class Request(Struct, frozen=True):
    """One call: its words, where it was made, in which environment, and what stood on stdin."""

    words: tuple[str, ...]
    folder: str
    block: bytes
    stdin: bytes
    umask: int


def size_of(head: bytes) -> int:
    """Read the head of a request, and say how many bytes follow.

    Raises:
        ProtocolError: Somebody else talks to us, or too much is said.
    """
    greeting, size = _HEAD.unpack(head)
    if greeting != GREETING:
        raise ProtocolError("this is not the launcher of this version")
    if size > LARGEST:
        raise ProtocolError(f"more than {LARGEST} bytes are said at once")
    return int(size)


def read(body: bytes) -> Request:
    """Read what follows the head.

    Raises:
        ProtocolError: It is not a request.
    """
    try:
        umask, count = struct.unpack_from("<II", body)
        if count > _MOST_WORDS:
            raise ProtocolError(f"a call of {count} words")
        place = 8
        parts: list[bytes] = []
        for _ in range(count + 3):
            (size,) = _NUMBER.unpack_from(body, place)
            place += 4
            part = body[place : place + size]
            if len(part) != size:
                raise ProtocolError("a part of the request is missing")
            parts.append(part)
            place += size
    except struct.error:
        raise ProtocolError("the request ends too early") from None
    *words, folder, block, stdin = parts
    return Request(tuple(map(os.fsdecode, words)), os.fsdecode(folder), block, stdin, umask)


def request(said: Request) -> bytes:
    """Write a request, as the launcher does."""
    parts = [*map(os.fsencode, said.words), os.fsencode(said.folder), said.block, said.stdin]
    body = struct.pack("<II", said.umask, len(said.words)) + b"".join(_NUMBER.pack(len(part)) + part for part in parts)
    return _HEAD.pack(GREETING, len(body)) + body


def variables(block: bytes) -> dict[str, str]:
    """Read an environment as the system has it: `NAME=value` and a zero, again and again."""
    found: dict[str, str] = {}
    for line in block.split(b"\0"):
        name, equals, value = line.partition(b"=")
        # of two with the same name, programs see the first
        if equals and name:
            found.setdefault(os.fsdecode(name), os.fsdecode(value))
    return found


def answered(answer: Answer) -> bytes:
    """Write the frame with an answer."""
    out, err = answer.stdout, answer.stderr
    size = 12 + len(out) + len(err)
    head = _FRAME.pack(b"a", size) + _CODE.pack(answer.exit_code) + _NUMBER.pack(len(out))
    return b"".join((head, out, _NUMBER.pack(len(err)), err))


def declined(reason: str) -> bytes:
    """Write the frame that has the launcher do it without us."""
    text = reason.encode("utf-8", "replace")
    return _FRAME.pack(b"n", len(text)) + text


def frames(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Read frames, as the launcher does; what is not complete yet is left out."""
    found: list[tuple[bytes, bytes]] = []
    place = 0
    while place + _FRAME.size <= len(raw):
        kind, size = _FRAME.unpack_from(raw, place)
        end = place + _FRAME.size + size
        if end > len(raw):
            break
        found.append((kind, raw[place + _FRAME.size : end]))
        place = end
    return found


def answer_in(payload: bytes) -> Answer:
    """Read the payload of an answer."""
    (code,) = _CODE.unpack_from(payload)
    (size,) = _NUMBER.unpack_from(payload, 4)
    (rest,) = _NUMBER.unpack_from(payload, 8 + size)
    out = payload[8 : 8 + size]
    return Answer(stdout=out, stderr=payload[12 + size : 12 + size + rest], exit_code=code)
