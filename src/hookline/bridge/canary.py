"""A canary: a call that doctor makes as an agent would, to see whether it reaches us. No hook hears of it.

The environment carries its token, and a file in the person's data folder proves that it is a real one: a project that
ships an environment could otherwise keep every guard from being asked.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hookline.bridge.notices import append

MARK: Final = "HOOKLINE_CANARY"

_FOLDER: Final = "canary"
_TOKEN: Final = re.compile(r"[0-9a-f]{32}")
_LARGEST: Final = 64 * 1024
_LIFE: Final = 600.0  # seconds; what a doctor that was killed has left means nothing any more


@contextmanager
def released(data: Path) -> Iterator[str]:
    """Make a token that counts until the block ends.

    Raises:
        OSError: The data folder cannot be written to.
    """
    token = os.urandom(16).hex()
    path = data / _FOLDER / token
    # one by one: `parents` would leave the data folder open to others
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    try:
        yield token
    finally:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()


def is_canary(environ: Mapping[str, str], data: Path) -> bool:
    """Say whether this call is one that doctor makes."""
    token = environ.get(MARK, "")
    if not _TOKEN.fullmatch(token):
        return False
    try:
        return abs(time.time() - (data / _FOLDER / token).lstat().st_mtime) < _LIFE
    except OSError:
        return False


def sing(environ: Mapping[str, str], data: Path, word: str) -> None:
    """Let doctor know that a call arrived, and how it was understood."""
    append(data / _FOLDER / environ[MARK], f"{word}\n".encode("utf-8", "replace"), largest=_LARGEST)


def heard(data: Path, token: str) -> list[str]:
    """Give what arrived with a token."""
    try:
        return (data / _FOLDER / token).read_text(errors="replace").splitlines()
    except OSError:
        return []
