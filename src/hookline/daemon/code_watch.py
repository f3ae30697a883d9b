"""Notice that another version of the program was installed while the daemon runs."""
# ruff: noqa: PTH116

import os
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_COMPILED: Final = "__pycache__"

# inotify events: modified, attributes, moved from or to, created, deleted, and the folder itself deleted or moved
_WATCHED: Final = 0x002 | 0x004 | 0x040 | 0x080 | 0x100 | 0x200 | 0x400 | 0x800
_EVENTS: Final = 65_536

FileStates = tuple[tuple[str, int, int], ...]


class CodeWatch:
    """The files of the package and its interpreter, as they were when the daemon started."""

    def __init__(self, package: Path = _PACKAGE) -> None:
        self._root = str(package)
        self._python = _read_state(sys.executable)
        # before the files are read, so that a change in between is not missed
        self._watch = _start_watch(self._root)
        self._states = self._read_states()
        self._changed = False

    def has_changed(self) -> bool:
        """Return whether another version was installed; asked before every answer, so usually one read and one stat."""
        if not self._changed:
            is_touched = self._watch < 0 or _read_events(self._watch)
            is_replaced = _read_state(sys.executable) != self._python
            self._changed = is_replaced or (is_touched and self._read_states() != self._states)
        return self._changed

    def look_again(self) -> bool:
        """Read all files again, for network file systems, of which inotify reports nothing."""
        self._changed = self._changed or self._read_states() != self._states
        return self._changed

    def close(self) -> None:
        """Stop watching."""
        if self._watch >= 0:
            os.close(self._watch)
            self._watch = -1

    def _read_states(self) -> FileStates:
        states: list[tuple[str, int, int]] = []
        for folder in _list_folders(self._root):
            with suppress(OSError), os.scandir(folder) as entries:
                states += [_read_state(entry.path) for entry in entries if entry.name.endswith(".py")]
        return tuple(sorted(states))


def _list_folders(root: str) -> list[str]:
    """List the folders of the package, without those of compiled files."""
    folders = [root]
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            inner = [entry for entry in entries if entry.name != _COMPILED and entry.is_dir(follow_symlinks=False)]
            folders += [entry.path for entry in inner]
    return folders


def _read_state(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0
    # installers set the modification time as they like, but cannot set the change time
    return path, found.st_ctime_ns, found.st_size


def _start_watch(root: str) -> int:
    """Return an inotify descriptor for the folders of the package; -1 where there is none, and all files are read.

    Reading every file would cost more than the answer, and reading them now and then would let the old version answer for a while.
    """
    if sys.platform != "linux":
        return -1
    import ctypes  # noqa: PLC0415 - Python has no module for it

    try:
        system = ctypes.CDLL(None, use_errno=True)
        handle = int(system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if handle < 0:
            return -1
        for folder in _list_folders(root):
            if system.inotify_add_watch(handle, os.fsencode(folder), _WATCHED) < 0:
                os.close(handle)
                return -1
    except (AttributeError, OSError):
        return -1
    return handle


def _read_events(watch: int) -> bool:
    """Return whether events arrived that may be about a module."""
    is_touched = False
    while True:
        try:
            raw = os.read(watch, _EVENTS)
        except BlockingIOError:
            return is_touched
        at = 0
        while at < len(raw):
            _, _, _, size = struct.unpack_from("iIII", raw, at)
            name = raw[at + 16 : at + 16 + size].rstrip(b"\0")
            # Python creates these beside the modules that it compiles
            is_touched = is_touched or name != _COMPILED.encode()
            at += 16 + size
