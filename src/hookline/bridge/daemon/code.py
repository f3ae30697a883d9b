"""Whether the program that runs still is the one that is installed."""
# ruff: noqa: PTH116

import os
import sys
import time
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parents[2]

EVERY: Final = 1.0  # seconds between two looks

Shape = tuple[tuple[str, int, int], ...]


class Code:
    """The files of the package and its interpreter, as they were when we started."""

    def __init__(self) -> None:
        self._root = str(_PACKAGE)
        self._shape = self._look()
        self._looked = time.monotonic()
        self._changed = False

    def has_changed(self) -> bool:
        """Say whether somebody has installed another one; found out at most once a second."""
        now = time.monotonic()
        if not self._changed and now - self._looked >= EVERY:
            self._looked = now
            self._changed = self._look() != self._shape
        return self._changed

    def _look(self) -> Shape:
        found: list[tuple[str, int, int]] = [_state(sys.executable)]
        folders = [self._root]
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(folder))
            except OSError:
                continue
            for entry in entries:
                if entry.name.endswith(".py"):
                    found.append(_state(entry.path))
                elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
        return tuple(sorted(found))


def _state(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, found.st_mtime_ns, found.st_size
