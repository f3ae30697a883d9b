"""Whether the program that runs still is the one that is installed."""
# ruff: noqa: PTH116

import os
import select
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parents[2]
_COMPILED: Final = "__pycache__"

# modified, its attributes changed, moved away or here, made, removed, and the folder itself removed or moved
_STIRRED: Final = 0x002 | 0x004 | 0x040 | 0x080 | 0x100 | 0x200 | 0x400 | 0x800
_EVENTS: Final = 65_536

Shape = tuple[tuple[str, int, int], ...]


class Code:
    """The files of the package and its interpreter, as they were when we started."""

    def __init__(self, package: Path = _PACKAGE) -> None:
        self._root = str(package)
        self._python = _state(sys.executable)
        # before they are looked at: what changes meanwhile shows
        self._watch = _watching(self._root)
        self._notes = _poll(self._watch)
        self._shape = self._look()
        self._changed = False

    def has_changed(self) -> bool:
        """Say whether somebody has installed another one. Asked before every answer, so most often it costs nothing."""
        if not self._changed:
            # whether there is anything to read is found out in half the time that it takes to read nothing
            is_stirred = self._notes is None or (bool(self._notes.poll(0)) and _take(self._watch))
            self._changed = _state(sys.executable) != self._python or (is_stirred and self._look() != self._shape)
        return self._changed

    def look_again(self) -> bool:
        """Say the same of files on another machine, of which our system is not told."""
        self._changed = self._changed or self._look() != self._shape
        return self._changed

    def close(self) -> None:
        """Stop watching."""
        if self._watch >= 0:
            os.close(self._watch)
            self._watch = -1
            self._notes = None

    def _look(self) -> Shape:
        found: list[tuple[str, int, int]] = []
        for folder in _folders(self._root):
            with suppress(OSError), os.scandir(folder) as entries:
                found += [_state(entry.path) for entry in entries if entry.name.endswith(".py")]
        return tuple(sorted(found))


def _folders(root: str) -> list[str]:
    """List the folders of the package, without those of what Python has compiled."""
    found = [root]
    for folder in found:
        with suppress(OSError), os.scandir(folder) as entries:
            inner = [entry for entry in entries if entry.name != _COMPILED and entry.is_dir(follow_symlinks=False)]
            found += [entry.path for entry in inner]
    return found


def _state(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0
    # installers give files whichever date they like, but nobody chooses when a file was changed
    return path, found.st_ctime_ns, found.st_size


def _watching(root: str) -> int:
    """Have Linux note down what happens in the folders of the package; -1 where nobody does, and all are looked at.

    The note is there as soon as the change is. A look at every file would cost more than the answer, and a look now and
    then would let the old program answer for a while.
    """
    if sys.platform != "linux":
        return -1
    import ctypes  # noqa: PLC0415 - Python itself does not know how

    try:
        system = ctypes.CDLL(None, use_errno=True)
        handle = int(system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if handle < 0:
            return -1
        for folder in _folders(root):
            if system.inotify_add_watch(handle, os.fsencode(folder), _STIRRED) < 0:
                os.close(handle)
                return -1
    except (AttributeError, OSError):
        return -1
    return handle


def _poll(watch: int) -> "select.poll | None":
    if watch < 0:
        return None
    notes = select.poll()
    notes.register(watch, select.POLLIN)
    return notes


def _take(watch: int) -> bool:
    """Take what was noted; say whether it may be about a module."""
    is_stirred = False
    while True:
        try:
            raw = os.read(watch, _EVENTS)
        except BlockingIOError:
            return is_stirred
        place = 0
        while place < len(raw):
            _, _, _, size = struct.unpack_from("iIII", raw, place)
            name = raw[place + 16 : place + 16 + size].rstrip(b"\0")
            # Python itself makes these, beside the modules that it compiles
            is_stirred = is_stirred or name != _COMPILED.encode()
            place += 16 + size
