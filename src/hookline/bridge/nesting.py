"""Agents that hooks start, which ask us, so that the same hooks start the next: counted, and ended.

The environment of hooks carries how deep it goes. It is signed with a key in the person's data folder, so that a
project that ships an environment cannot have it that no hook is asked any more.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hookline.model.ours import NESTING
from hookline.surroundings import variable

MARK: Final = NESTING
# an agent that a hook asks for its opinion may well have hooks that do so, too, but not for ever
DEEPEST: Final = 3

_KEY: Final = "nesting.key"
_LENGTH: Final = 32  # bytes
_LIFE: Final = 86_400.0  # seconds; whatever was started a day ago is nobody's child any more
_WRITTEN: Final = re.compile(r"([1-9][0-9]?)-([0-9]{1,12})-([0-9a-f]{64})")


def depth(environ: Mapping[str, str], data: Path) -> int:
    """Say how many hooks, each started by an agent, are around this call; 0 where nothing proves any."""
    said = _WRITTEN.fullmatch(environ.get(MARK, ""))
    key = _key(data) if said is not None else b""
    if said is None or not key or abs(time.time() - int(said[2])) > _LIFE:
        return 0
    return int(said[1]) if said[0] == _signed(int(said[1]), int(said[2]), key) else 0


@contextmanager
def deeper(level: int, data: Path) -> Iterator[None]:
    """Have everything that is started meanwhile know that it is one level deeper.

    Where no key can be kept, nothing is said: a mark that proves nothing counts for nothing.
    """
    key = _key(data) or _made(data)
    with variable(MARK, _signed(level + 1, int(time.time()), key) if key else ""):
        yield


def _signed(level: int, at: int, key: bytes) -> str:
    text = f"{level}-{at}"
    return f"{text}-{hashlib.blake2b(text.encode(), key=key, digest_size=_LENGTH).hexdigest()}"


def _key(data: Path) -> bytes:
    try:
        raw = (data / _KEY).read_bytes()
    except OSError:
        return b""
    return raw if len(raw) == _LENGTH else b""


def _made(data: Path) -> bytes:
    """Make a key; of two that are made at once, the one that is there in the end counts."""
    beside = data / f"{_KEY}.{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with suppress(OSError):
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(beside, flags, 0o600)
        try:
            is_whole = os.write(handle, os.urandom(_LENGTH)) == _LENGTH
        except OSError:
            is_whole = False
        finally:
            os.close(handle)
        if is_whole:
            beside.replace(data / _KEY)
        else:
            beside.unlink()
    return _key(data)
