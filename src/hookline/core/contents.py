"""The content of files that a hook is made of, read once for the digest and for the run."""

import hashlib
import os
import stat
import time
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

# Small files are read on every run. Of larger ones the content is read again only when the file's identity
# changed: a user cannot set a file's ctime back.
ALWAYS_READ: Final = 65_536

# What is larger is known by its hash and never run from memory.
LARGEST: Final = 16 * 1024 * 1024

# What is larger than this is not even hashed: no program is, and a file with holes in it costs its owner nothing.
_LARGEST_HASHED: Final = 512 * 1024 * 1024

# Within one tick of the clock a file can change twice and look the same.
SETTLED: Final = 2_000_000_000

_OPEN: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_FILE: Final = "file"
_HASH: Final = "sha256"
_UNREADABLE: Final = "unreadable"
_TOO_LARGE: Final = "too large"

# devices and descriptors: what is behind such a name is no content
_NO_FILES: Final = ("/dev/", "/proc/")
_FILES_IN_MEMORY: Final = "/dev/shm/"  # noqa: S108 - only looked at

Fingerprint = tuple[int, ...]


class Content(Struct, frozen=True):
    """What stands at a path: the bytes of a file, the hash of a large one, or why it cannot be read."""

    form: str
    data: bytes

    @property
    def readable(self) -> bool:
        """Whether the bytes themselves are here."""
        return self.form == _FILE

    @property
    def problem(self) -> str:
        """Why nobody can say yes to it; empty when they can."""
        return self.sha256 if self.form == _TOO_LARGE else ""

    @property
    def sha256(self) -> str:
        """The hash of the file; the reason, if it cannot be read."""
        if self.form == _FILE:
            return hashlib.sha256(self.data).hexdigest()
        return self.data.decode("utf-8", "replace")


def fingerprint(info: os.stat_result) -> Fingerprint:
    """Say in numbers which file this is, and in which state."""
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def are_as_they_were(states: Iterable[tuple[str, Fingerprint | None]]) -> bool:
    """Say whether each path still leads to the same file, in the same state, or still to none."""
    for path, state in states:
        try:
            info = os.stat(path)  # noqa: PTH116 - asked before each run, where pathlib costs many times more
        except (OSError, ValueError):
            if state is not None:
                return False
        else:
            # the time of a change cannot be set back, and says as much as the other numbers together
            if state is None or info.st_ctime_ns != state[-1] or info.st_ino != state[1]:
                return False
    return True


def state_of(path: str) -> Fingerprint | None:
    """Say which file stands at a path, and in which state; None when there is none."""
    try:
        return fingerprint(os.stat(path))  # noqa: PTH116 - asked before each run, where pathlib costs many times more
    except (OSError, ValueError):
        return None


def is_settled(states: Iterable[Fingerprint | None], after: int) -> bool:
    """Say whether no file changed in the last nanoseconds, so that the next change of any will show in its numbers."""
    newest = max((state[-1] for state in states if state is not None), default=0)
    return time.time_ns() - newest > after


def _unreadable(problem: OSError) -> Content:
    return Content(_UNREADABLE, str(problem.strerror).encode("utf-8", "replace"))


class Contents:
    """Read files, remembering large ones for as long as they are the same."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Fingerprint, Content]] = {}

    def read(self, path: str) -> Content | None:
        """Read one file; None when there is none. What cannot be read is what nobody approved."""
        if path.startswith(_NO_FILES) and not path.startswith(_FILES_IN_MEMORY):
            return None
        try:
            handle = os.open(path, _OPEN)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError):
            # the last says that no file can have such a name
            return None
        except OSError as problem:
            return _unreadable(problem)
        try:
            return self._content(path, handle)
        except OSError as problem:
            return _unreadable(problem)
        finally:
            os.close(handle)

    def _content(self, path: str, handle: int) -> Content | None:
        info = os.fstat(handle)
        if stat.S_ISDIR(info.st_mode):
            return None
        if not stat.S_ISREG(info.st_mode):
            return Content(_UNREADABLE, b"not a file")
        if info.st_size > _LARGEST_HASHED:
            return Content(_TOO_LARGE, f"larger than {_LARGEST_HASHED // 1024 // 1024} MB".encode())
        text = b"" if info.st_size > ALWAYS_READ else os.read(handle, ALWAYS_READ + 1)
        if info.st_size <= ALWAYS_READ and len(text) <= ALWAYS_READ:
            return Content(_FILE, text)
        state = fingerprint(info)
        known = self._known.get(path)
        if known is not None and known[0] == state:
            return known[1]
        content = _large(handle)
        if time.time_ns() - info.st_ctime_ns > SETTLED and fingerprint(os.fstat(handle)) == state:
            self._known[path] = (state, content)
        return content


def _large(handle: int) -> Content:
    os.lseek(handle, 0, os.SEEK_SET)
    with open(handle, "rb", buffering=0, closefd=False) as file:
        chunks, size = [], 0
        while size <= LARGEST and (chunk := file.read(LARGEST + 1 - size)):
            chunks.append(chunk)
            size += len(chunk)
        if size <= LARGEST:
            return Content(_FILE, b"".join(chunks))
        file.seek(0)
        return Content(_HASH, hashlib.file_digest(file, "sha256").hexdigest().encode())
