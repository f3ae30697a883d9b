"""Vetted bytes, handed to a child in a form nobody can change any more.

On Linux that is a memfd: a file without a name, sealed against every change, which the child opens as `/proc/self/fd/N`.
Where a file needs its name, or the system has no such thing, it is a copy in a folder of ours that only this person
can enter, removed after the run.
"""
# the loop calls these before a child starts: pathlib would cost more than the system calls
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

# Where Python and everything a hook opens by habit does not put its own descriptors; 3 is the templates'.
_LOWEST: Final = 64

# memfds kept, and the bytes in them
_HELD: Final = 64
_HELD_BYTES: Final = 32 * 1024 * 1024

DESCRIPTOR: Final = "/proc/self/fd/"


def _memfd_supported() -> bool:
    return sys.platform == "linux" and hasattr(os, "memfd_create") and os.path.isdir(DESCRIPTOR)  # noqa: PTH112


_HAS_MEMFD: Final = _memfd_supported()


class Vault:
    """Sealed memfds by content, kept for the next call: to make one anew costs a twentieth of a process."""

    def __init__(self) -> None:
        self._held: dict[bytes, int] = {}
        self._users: dict[int, int] = {}
        self._lock = threading.Lock()  # loops of several threads may share one engine
        weakref.finalize(self, _close_all, self._held)

    def take(self, content: bytes) -> int:
        """Give a descriptor of these bytes, to be given back."""
        with self._lock:
            descriptor = self._held.pop(content, None)
            if descriptor is None:
                self._make_room(len(content))
                descriptor = _memfd(content)
            self._held[content] = descriptor  # at the end: the first is the one that was not asked for longest
            self._users[descriptor] = self._users.get(descriptor, 0) + 1
            return descriptor

    def give_back(self, descriptor: int) -> None:
        """Say that one call has done with it."""
        with self._lock:
            self._users[descriptor] -= 1

    def close(self) -> None:
        """Close what nobody uses."""
        with self._lock:
            for content, descriptor in list(self._held.items()):
                self._drop(content, descriptor)

    def _make_room(self, size: int) -> None:
        for content, descriptor in list(self._held.items()):
            if len(self._held) < _HELD and size + sum(map(len, self._held)) <= _HELD_BYTES:
                break
            self._drop(content, descriptor)

    def _drop(self, content: bytes, descriptor: int) -> None:
        if not self._users.get(descriptor):
            self._users.pop(descriptor, None)
            del self._held[content]
            os.close(descriptor)


def _close_all(held: dict[bytes, int]) -> None:
    for descriptor in held.values():
        os.close(descriptor)


class Seals:
    """What one call of one hook was handed; leaving its `with` takes it back.

    `contents` are the bytes in `descriptors`. `lasting` says that they are all, and that the next call, with the same
    files, would be handed the same.
    """

    __slots__ = ("_copies", "_folder", "_vault", "contents", "descriptors", "lasting")

    def __init__(self, vault: Vault) -> None:
        self.descriptors: list[int] = []
        self.contents: list[bytes] = []
        self.lasting = True
        self._vault = vault
        self._folder = ""
        self._copies: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_problem: object) -> None:
        """Give back and remove everything."""
        for descriptor in self.descriptors:
            self._vault.give_back(descriptor)
        self.descriptors.clear()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def opened(self, content: bytes, name: str) -> str:
        """Give a path under which the child reads these bytes; it keeps the file's name only where it has to."""
        if not _HAS_MEMFD:
            return self.copied(content, name)
        descriptor = self._vault.take(content)
        self.descriptors.append(descriptor)
        self.contents.append(content)
        return f"{DESCRIPTOR}{descriptor}"

    def opened_again(self, contents: Sequence[bytes], descriptors: Sequence[int]) -> bool:
        """Take what an earlier call was handed; say whether it still has the same names."""
        for content in contents:
            self.descriptors.append(self._vault.take(content))
            self.contents.append(content)
        return self.descriptors == list(descriptors)

    def copied(self, content: bytes, name: str) -> str:
        """Give the path of a copy with the same name, for those who look at the name, or close what they inherit."""
        self.lasting = False
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix="hookline-")
        folder = tempfile.mkdtemp(dir=self._folder)
        copy = join(folder, name)
        handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o500)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        self._copies[copy] = content
        return copy

    def altered(self) -> str:
        """Name a file whose copy was written to: what the hook meant for the file itself would be lost in silence."""
        if not self._copies:
            return ""
        found = next((copy for copy, content in self._copies.items() if differs(copy, content)), "")
        return found.rpartition("/")[2]


def _memfd(content: bytes) -> int:
    import fcntl  # noqa: PLC0415 - not on Windows

    first = os.memfd_create("hookline", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(first, rest) :]
        fcntl.fcntl(
            first, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        )
        return fcntl.fcntl(first, fcntl.F_DUPFD_CLOEXEC, _LOWEST)
    finally:
        os.close(first)


def differs(path: str, content: bytes) -> bool:
    """Say whether a file is no longer what it was; one that cannot be read is not."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            return os.fstat(file.fileno()).st_size != len(content) or file.read() != content
    except OSError:
        return True
