"""What both process runners share: how a child ended, and how much it may say."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

Env: TypeAlias = Mapping[bytes, bytes] | Mapping[str, str]
"""A child's whole environment, in the form the system wants: bytes, or text on Windows."""

OUTPUT_LIMIT: Final = 1_048_576
"""Bytes a child may print, on stdout and stderr together."""

GRACE: Final = 1.0
"""Seconds between asking a child to end and making it."""

STDOUT: Final = 1
STDERR: Final = 2


Feed: TypeAlias = bytes | Callable[[], bytes]
"""What a child reads on stdin; a function is called when the child is on its way."""


def text_of(stdin: Feed) -> bytes:
    """Give what a child reads."""
    return stdin if isinstance(stdin, bytes) else stdin()


class Ended(StrEnum):
    """What ended a child."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    OVERFLOWED = "overflowed"


class Finished(Struct, frozen=True, kw_only=True):
    """A child that is gone; a negative `exit_code` is the signal that ended it."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    ended: Ended = Ended.EXITED


class Output:
    """Collect what a child prints, up to one limit for both streams."""

    __slots__ = ("_chunks", "room")

    def __init__(self) -> None:
        self._chunks: dict[int, list[bytes]] = {STDOUT: [], STDERR: []}
        self.room = OUTPUT_LIMIT

    def add(self, stream: int, chunk: bytes) -> bool:
        """Keep a chunk; False when it was more than there was room for."""
        fits = len(chunk) <= self.room
        if not fits:
            chunk = chunk[: self.room]
        self.room -= len(chunk)
        self._chunks[stream].append(chunk)
        return fits

    def of(self, stream: int) -> bytes:
        """Give back what one stream said."""
        chunks = self._chunks[stream]
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)
