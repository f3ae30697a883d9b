"""Read the files that a hook is made of, once for the digest and for the run."""
# ruff: noqa: PTH116 - called for every file of every hook before each run

import hashlib
import os
import stat
import time
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from hookline.files import OPEN_SAFELY

ALWAYS_READ: Final = 65_536
"""Smaller files are read each time; larger ones only when their stat changed, since a user cannot set ctime back."""
LARGEST: Final = 16 * 1024 * 1024
"""Larger files are known by their hash, and never run from memory."""
# larger files are not even hashed: no program is that large, and a sparse file costs its owner nothing
_LARGEST_HASHED: Final = 512 * 1024 * 1024
SETTLED: Final = 2_000_000_000
"""Nanoseconds after a change during which a second change may leave the same stat."""

_FILE: Final = "file"
_HASH: Final = "sha256"
_UNREADABLE: Final = "unreadable"
_TOO_LARGE: Final = "too large"

# devices and descriptors, which have no content of their own
_NO_FILES: Final = ("/dev/", "/proc/")
_FILES_IN_MEMORY: Final = "/dev/shm/"  # noqa: S108 - only compared

FileState = tuple[int, ...]


class Content(Struct, frozen=True):
    """The bytes of a file, the hash of a large one, or the reason why it cannot be read."""

    form: str
    data: bytes

    @property
    def is_readable(self) -> bool:
        """Whether `data` are the bytes of the file."""
        return self.form == _FILE

    @property
    def problem(self) -> str:
        """Why a hook with this file cannot be approved, or ""."""
        return self.sha256 if self.form == _TOO_LARGE else ""

    @property
    def sha256(self) -> str:
        """The hash of the file, or the reason why it cannot be read."""
        if self.form == _FILE:
            return hashlib.sha256(self.data).hexdigest()
        return self.data.decode("utf-8", "replace")


def state_from_stat(info: os.stat_result) -> FileState:
    """Return the numbers that change with every change of a file."""
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def read_state(path: str) -> FileState | None:
    """Return the state of the file at a path; None when there is none."""
    try:
        return state_from_stat(os.stat(path))
    except (OSError, ValueError):
        return None


def are_unchanged(states: Iterable[tuple[str, FileState | None]]) -> bool:
    """Return whether each path still leads to the same file in the same state, or still to none."""
    for path, state in states:
        try:
            info = os.stat(path)
        except (OSError, ValueError):
            if state is not None:
                return False
        else:
            # ctime cannot be set back, and says as much as the other numbers together
            if state is None or info.st_ctime_ns != state[-1] or info.st_ino != state[1]:
                return False
    return True


def is_settled(states: Iterable[FileState | None], after: int) -> bool:
    """Return whether no file changed in the last `after` nanoseconds, so that the next change will show in its state."""
    newest = max((state[-1] for state in states if state is not None), default=0)
    return time.time_ns() - newest > after


def decode_text(content: bytes | None) -> str | None:
    """Return the text of a content, or None where it is not text."""
    if content is None or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


class FileCache:
    """Read files, keeping the content of large ones."""

    def __init__(self) -> None:
        # invalid when the state of the file is another one
        self._large: dict[str, tuple[FileState, Content]] = {}

    def read(self, path: str) -> Content | None:
        """Read one file; None when there is none."""
        if path.startswith(_NO_FILES) and not path.startswith(_FILES_IN_MEMORY):
            return None
        try:
            handle = os.open(path, OPEN_SAFELY)
            try:
                return self._read_open(path, handle)
            finally:
                os.close(handle)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
            # ValueError: no file can have such a name
            return None
        except OSError as problem:
            return Content(_UNREADABLE, str(problem.strerror).encode("utf-8", "replace"))

    def _read_open(self, path: str, handle: int) -> Content | None:
        info = os.fstat(handle)
        if stat.S_ISDIR(info.st_mode):
            return None
        if not stat.S_ISREG(info.st_mode):
            return Content(_UNREADABLE, b"not a file")
        if info.st_size > _LARGEST_HASHED:
            return Content(_TOO_LARGE, f"larger than {_LARGEST_HASHED // 1024 // 1024} MB".encode())
        if info.st_size <= ALWAYS_READ and len(text := os.read(handle, ALWAYS_READ + 1)) <= ALWAYS_READ:
            return Content(_FILE, text)
        state = state_from_stat(info)
        cached = self._large.get(path)
        if cached is not None and cached[0] == state:
            return cached[1]
        os.lseek(handle, 0, os.SEEK_SET)
        with open(handle, "rb", closefd=False) as file:
            content = Content(_FILE, file.read(LARGEST + 1))
            if len(content.data) > LARGEST:
                file.seek(0)
                content = Content(_HASH, hashlib.file_digest(file, "sha256").hexdigest().encode())
        if time.time_ns() - info.st_ctime_ns > SETTLED and state_from_stat(os.fstat(handle)) == state:
            self._large[path] = (state, content)
        return content
