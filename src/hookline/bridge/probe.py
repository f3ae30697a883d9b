"""Probes: calls that `hookline doctor` makes as an agent would, to see whether they reach us. No hook is asked about them.

The environment carries a token, and a file in the user's data folder proves that it is real: a project that ships an environment
could otherwise switch every guard off.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hookline.bridge.notices import append_lines
from hookline.files import make_private_folder

MARK: Final = "HOOKLINE_CANARY"

_FOLDER: Final = "canary"
_TOKEN: Final = re.compile(r"[0-9a-f]{32}")
_LARGEST: Final = 64 * 1024
_LIFE: Final = 600.0  # seconds; a token left by a doctor that was killed expires


@contextmanager
def new_probe(data: Path) -> Iterator[str]:
    """Create a token that is valid until the block ends.

    Raises:
        OSError: The data folder cannot be written to.
    """
    token = os.urandom(16).hex()
    path = data / _FOLDER / token
    make_private_folder(path.parent)
    path.touch(mode=0o600, exist_ok=False)
    try:
        yield token
    finally:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()


def is_probe(environ: Mapping[str, str], data: Path) -> bool:
    """Return whether doctor made this call."""
    token = environ.get(MARK, "")
    if not _TOKEN.fullmatch(token):
        return False
    try:
        return abs(time.time() - (data / _FOLDER / token).lstat().st_mtime) < _LIFE
    except OSError:
        return False


def report_probe(environ: Mapping[str, str], data: Path, report: str) -> None:
    """Report to doctor that a call arrived, and how it was decoded."""
    append_lines(data / _FOLDER / environ[MARK], f"{report}\n".encode("utf-8", "replace"), largest=_LARGEST)


def read_reports(data: Path, token: str) -> list[str]:
    """Return the reports of the calls that arrived with a token."""
    try:
        return (data / _FOLDER / token).read_text(errors="replace").splitlines()
    except OSError:
        return []
