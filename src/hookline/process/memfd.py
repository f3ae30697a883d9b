"""Approved bytes, handed to a child so that they cannot be changed any more.

On Linux that is a memfd: a file without a name, sealed against every change, which the child opens as `/proc/self/fd/N`.
Where a program needs the file's name, or the system has no memfds, it is a copy in a private temporary directory that is
removed after the run.
"""
# runs before each start: pathlib would cost more than the system calls
# ruff: noqa: PTH118

import os
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from os.path import join
from pathlib import Path
from typing import Final, Self

# above the descriptors that programs open by themselves, and above 3, which shell templates use
_LOWEST: Final = 64

_POOL_SIZE: Final = 64
_POOL_BYTES: Final = 32 * 1024 * 1024

DESCRIPTOR: Final = "/proc/self/fd/"

_HAS_MEMFD: Final = sys.platform == "linux" and hasattr(os, "memfd_create") and os.path.isdir(DESCRIPTOR)  # noqa: PTH112


class MemfdPool:
    """Sealed memfds by content, kept for the next call. Event loops of several threads may share one pool."""

    def __init__(self) -> None:
        self._descriptors: dict[bytes, int] = {}  # least recently used first
        self._users: dict[int, int] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _close_all, self._descriptors)

    def acquire(self, content: bytes) -> int:
        """Return a descriptor of these bytes; each call is followed by one `release`."""
        with self._lock:
            descriptor = self._descriptors.pop(content, None)
            if descriptor is None:
                for other, unused in list(self._descriptors.items()):
                    size = len(content) + sum(map(len, self._descriptors))
                    if len(self._descriptors) < _POOL_SIZE and size <= _POOL_BYTES:
                        break
                    self._close_unused(other, unused)
                descriptor = _create_memfd(content)
            self._descriptors[content] = descriptor
            self._users[descriptor] = self._users.get(descriptor, 0) + 1
            return descriptor

    def release(self, descriptor: int) -> None:
        """Note that one call no longer uses the descriptor."""
        with self._lock:
            self._users[descriptor] -= 1

    def close(self) -> None:
        """Close the descriptors that no call uses."""
        with self._lock:
            for content, descriptor in list(self._descriptors.items()):
                self._close_unused(content, descriptor)

    def _close_unused(self, content: bytes, descriptor: int) -> None:
        if not self._users.get(descriptor):
            self._users.pop(descriptor, None)
            del self._descriptors[content]
            os.close(descriptor)


def _close_all(descriptors: dict[bytes, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)


class LentDescriptors:
    """What one call of one hook was lent, as a context manager that takes it back.

    `contents` are the bytes in `descriptors`. While `is_reusable`, they are all that was lent, and the next call with
    the same files would be lent the same.
    """

    def __init__(self, pool: MemfdPool) -> None:
        self.descriptors: list[int] = []
        self.contents: list[bytes] = []
        self.is_reusable = True
        self._pool = pool
        self._folder = ""
        self._copies: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        """Release the descriptors and remove the copies."""
        for descriptor in self.descriptors:
            self._pool.release(descriptor)
        self.descriptors.clear()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def lend(self, content: bytes, name: str) -> str:
        """Return a path under which the child reads these bytes; without memfds, that of a copy."""
        if not _HAS_MEMFD:
            return self.lend_copy(content, name)
        descriptor = self._pool.acquire(content)
        self.descriptors.append(descriptor)
        self.contents.append(content)
        return f"{DESCRIPTOR}{descriptor}"

    def lend_again(self, contents: Sequence[bytes], descriptors: Sequence[int]) -> bool:
        """Lend what an earlier call was lent; return whether the descriptors have the same numbers."""
        for content in contents:
            self.descriptors.append(self._pool.acquire(content))
            self.contents.append(content)
        return self.descriptors == list(descriptors)

    def lend_copy(self, content: bytes, name: str) -> str:
        """Return the path of a copy under the same name, for programs that read the name or close descriptors."""
        self.is_reusable = False
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix="hookline-")
        copy = join(tempfile.mkdtemp(dir=self._folder), name)
        handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o500)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        self._copies[copy] = content
        return copy

    def find_altered_copy(self) -> str:
        """Return the name of a copy the hook wrote to: its changes to the real file would be lost silently."""
        altered = next((copy for copy, content in self._copies.items() if has_changed(copy, content)), "")
        return altered.rpartition("/")[2]


def _create_memfd(content: bytes) -> int:
    import fcntl  # noqa: PLC0415 - does not exist on Windows

    memfd = os.memfd_create("hookline", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(memfd, rest) :]
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(memfd, fcntl.F_ADD_SEALS, seals)
        return fcntl.fcntl(memfd, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    finally:
        os.close(memfd)


def has_changed(path: str, content: bytes) -> bool:
    """Return whether a file no longer holds these bytes; an unreadable file has changed."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            return os.fstat(file.fileno()).st_size != len(content) or file.read() != content
    except OSError:
        return True
