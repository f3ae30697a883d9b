"""Stop endless recursion: a hook starts an agent, whose hooks start the next agent, and so on.

The environment of hook processes carries the depth. It is signed with a key in the user's data folder, so that a project that
ships an environment cannot switch hooks off with it.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from hookline.caller_context import with_env
from hookline.files import read_regular_file
from hookline.model.installed_entry import NESTING

MARK: Final = NESTING
# an agent that a hook asks for its opinion may well have such hooks itself, but not without end
DEEPEST: Final = 3

_KEY: Final = "nesting.key"
_LENGTH: Final = 32  # bytes
_LIFE: Final = 86_400.0  # seconds; a process started a day ago does not count as a parent
# Seconds. Within them the mark, and so the environment of hook processes, stays the same, and what was prepared for one call
# serves the next.
_TICK: Final = 3600
_MARK_FORMAT: Final = re.compile(r"([1-9][0-9]?)-([0-9]{1,12})-([0-9a-f]{64})")


def depth(environ: Mapping[str, str], data: Path) -> int:
    """Return how many hooks, each started by an agent, are around this call; 0 without a valid signature."""
    mark = _MARK_FORMAT.fullmatch(environ.get(MARK, ""))
    key = _read_key(data) if mark is not None else b""
    if mark is None or not key or abs(time.time() - int(mark[2])) > _LIFE:
        return 0
    return int(mark[1]) if mark[0] == _sign(int(mark[1]), int(mark[2]), key) else 0


def explain(level: int) -> str:
    """Return why hooks at this depth are not asked."""
    return (
        f"a hook started an agent, whose hooks started the next, and so on, {level} times by now: have the hook that "
        "does so start it without hooks, or not be asked about what it does"
    )


@contextmanager
def deeper(level: int, data: Path) -> Iterator[None]:
    """Mark every process started within the block as one level deeper; without a key, no mark is set."""
    key = _read_key(data)
    if not key:
        # of two that are created at once, the one in place in the end counts
        beside = data / f"{_KEY}.{os.urandom(6).hex()}"
        try:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(beside, "xb", opener=partial(os.open, mode=0o600)) as file:
                file.write(os.urandom(_LENGTH))
            beside.replace(data / _KEY)
        except OSError:
            with suppress(OSError):
                beside.unlink()
        key = _read_key(data)
    with with_env(MARK, _sign(level + 1, int(time.time()) // _TICK * _TICK, key) if key else ""):
        yield


def _sign(level: int, at: int, key: bytes) -> str:
    text = f"{level}-{at}"
    return f"{text}-{hashlib.blake2b(text.encode(), key=key, digest_size=_LENGTH).hexdigest()}"


def _read_key(data: Path) -> bytes:
    raw = read_regular_file(data / _KEY, _LENGTH + 1) or b""
    return raw if len(raw) == _LENGTH else b""
