"""The protocol of launcher and daemon: one request, then frames until there is an answer.

Numbers are little endian. `launcher.c` implements the other side.
"""

import os
import struct
from typing import Final

from msgspec import Struct

from hookline.model.exchange import Answer

GREETING: Final = b"HKL1"
LARGEST: Final = 300 * 1024 * 1024  # bytes of a request

STILL: Final = b"k\0\0\0\0"
"""The frame that tells the launcher that the call is still running."""

_NUMBER: Final = struct.Struct("<I")
_HEAD: Final = struct.Struct("<4sI")
_FRAME: Final = struct.Struct("<cI")
_CODE: Final = struct.Struct("<i")
_MOST_WORDS: Final = 64


class ProtocolError(ValueError):
    """The bytes are not a request of our launcher."""


class CallRequest(Struct, frozen=True):
    """One call: its argv, folder, environment block, stdin and umask."""

    words: tuple[str, ...]
    folder: str
    block: bytes
    stdin: bytes
    umask: int


def parse_request(received: bytes | bytearray) -> CallRequest | None:
    """Parse what has been received of a request; None where it is not complete yet.

    Raises:
        ProtocolError: The greeting is not ours, or the request is too long or malformed.
    """
    if len(received) < _HEAD.size:
        return None
    greeting, total = _HEAD.unpack_from(received)
    if greeting != GREETING:
        raise ProtocolError("this is not the launcher of this version")
    if total > LARGEST:
        raise ProtocolError(f"more than {LARGEST} bytes are said at once")
    if len(received) < _HEAD.size + total:
        return None
    body = bytes(received[_HEAD.size : _HEAD.size + total])
    try:
        umask, count = struct.unpack_from("<II", body)
        if count > _MOST_WORDS:
            raise ProtocolError(f"a call of {count} words")
        at = 8
        parts: list[bytes] = []
        for _ in range(count + 3):
            (size,) = _NUMBER.unpack_from(body, at)
            at += 4
            part = body[at : at + size]
            if len(part) != size:
                raise ProtocolError("a part of the request is missing")
            parts.append(part)
            at += size
    except struct.error:
        raise ProtocolError("the request ends too early") from None
    *words, folder, block, stdin = parts
    return CallRequest(tuple(map(os.fsdecode, words)), os.fsdecode(folder), block, stdin, umask)


def encode_request(request: CallRequest) -> bytes:
    """Return a request as the launcher sends it."""
    parts = [*map(os.fsencode, request.words), os.fsencode(request.folder), request.block, request.stdin]
    body = struct.pack("<II", request.umask, len(request.words)) + b"".join(
        _NUMBER.pack(len(part)) + part for part in parts
    )
    return _HEAD.pack(GREETING, len(body)) + body


def parse_environ(block: bytes) -> dict[str, str]:
    """Parse an environment block: `NAME=value` entries, each ended by a zero byte."""
    environ: dict[str, str] = {}
    for line in block.split(b"\0"):
        name, equals, value = line.partition(b"=")
        # of two with the same name, getenv returns the first
        if equals and name:
            environ.setdefault(os.fsdecode(name), os.fsdecode(value))
    return environ


def encode_answer(answer: Answer) -> bytes:
    """Return the frame with an answer."""
    out, err = answer.stdout, answer.stderr
    size = 12 + len(out) + len(err)
    head = _FRAME.pack(b"a", size) + _CODE.pack(answer.exit_code) + _NUMBER.pack(len(out))
    return b"".join((head, out, _NUMBER.pack(len(err)), err))


def encode_decline(reason: str) -> bytes:
    """Return the frame that has the launcher answer without the daemon."""
    text = reason.encode("utf-8", "replace")
    return _FRAME.pack(b"n", len(text)) + text


def parse_frames(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Parse frames as the launcher does; an incomplete one is left out."""
    frames: list[tuple[bytes, bytes]] = []
    at = 0
    while at + _FRAME.size <= len(raw):
        kind, size = _FRAME.unpack_from(raw, at)
        end = at + _FRAME.size + size
        if end > len(raw):
            break
        frames.append((kind, raw[at + _FRAME.size : end]))
        at = end
    return frames


def parse_answer(payload: bytes) -> Answer:
    """Parse the payload of an answer frame."""
    (code,) = _CODE.unpack_from(payload)
    (size,) = _NUMBER.unpack_from(payload, 4)
    (rest,) = _NUMBER.unpack_from(payload, 8 + size)
    out = payload[8 : 8 + size]
    return Answer(stdout=out, stderr=payload[12 + size : 12 + size + rest], exit_code=code)
