"""Read the files and find the programs that a hook is made of, and say whether they changed."""
# ruff: noqa: PTH113, PTH116, PTH118, PTH120 - called before each run

import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from os.path import dirname, isfile, join, normpath, realpath
from stat import S_ISREG
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.files import OPEN_SAFELY, read_regular_file
from hookline.model.workspace_paths import is_inside

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


# programs outside of the workspace

# root can write everywhere: these are the folders of the system's packages
_SYSTEM_FOLDERS: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/System")
LONGEST_SHEBANG: Final = 256
_OPTION: Final = re.compile(r"-.*|\w+=.*")


class Executable(Struct, frozen=True, omit_defaults=True):
    """A program and where it was found.

    A program that the user cannot change has no hash, so that updates of the system need no new approval. `seen` is the
    state of the file when it was hashed: while it is the same, so is the content.
    """

    name: str
    path: str
    sha256: str = ""
    seen: FileState = ()


class ExecutableInfo(Struct, frozen=True):
    """Facts about the file of a program in one state; `is_fixed` says that the user cannot change it."""

    state: FileState
    real: str
    is_fixed: bool
    is_text: bool
    interpreters: tuple[str, ...]


def find_executables(
    name: str, path: str, look: Callable[[str], None] | None = None, *, base: str = ""
) -> Iterator[str]:
    """Yield each program of this name on a search path; relative folders are counted from `base`, if at all.

    `look` is called with every path that was tried.
    """
    for folder in path.split(os.pathsep):
        if not folder.startswith("/") and not base:
            continue
        candidate = normpath(join(base, folder, name))
        if look is not None:
            look(candidate)
        if isfile(candidate) and os.access(candidate, os.X_OK):
            yield candidate


def inspect_executable(path: str) -> ExecutableInfo | None:
    """Return facts about a file without reading all of it; None when there is none."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    # opening anything else could consume data meant for others
    if not S_ISREG(info.st_mode):
        return None
    real, first = realpath(path), read_regular_file(path, LONGEST_SHEBANG) or b""
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        is_fixed = is_inside(real, _SYSTEM_FOLDERS) and is_inside(path, _SYSTEM_FOLDERS)
    else:
        is_fixed = not any(os.access(one, os.W_OK) for one in (real, dirname(real), dirname(path)))
    # as shells tell a script from a binary
    is_text = b"\0" not in first.partition(b"\n")[0]
    return ExecutableInfo(state_from_stat(info), real, is_fixed, is_text, parse_shebang(first))


class ExecutableHashes:
    """Hash programs, and compare them with the approved ones."""

    def __init__(self) -> None:
        # invalid when the state of the file is another one
        self._hashes: dict[str, tuple[str, FileState]] = {}

    def with_hash(self, program: Executable) -> Executable:
        """Return a program with its hash, if the user can change it."""
        if not program.seen:
            return program
        digest, state = self._hash(program.path)
        return replace(program, sha256=digest, seen=state)

    def is_same(self, now: Executable, approved: Executable) -> bool:
        """Return whether a program is the approved one."""
        if now.path != approved.path:
            return False
        if not approved.sha256:
            return not now.seen
        return (bool(now.seen) and now.seen == approved.seen) or self._hash(now.path, now.seen)[0] == approved.sha256

    def list_changed(self, now: Iterable[Executable], approved: Iterable[Executable]) -> list[str]:
        """Return the names of the programs that are not the approved ones."""
        known = {program.name: program for program in approved}
        return [one.name for one in now if one.name not in known or not self.is_same(one, known[one.name])]

    def _hash(self, path: str, seen: FileState = ()) -> tuple[str, FileState]:
        """Hash a program, and return the state in which it has the hash; () while it may still change unnoticed.

        `seen` is the state that the program was just found in, if the caller knows it.
        """
        cached = self._hashes.get(path)
        try:
            if cached is not None and cached[1] == (seen or state_from_stat(os.stat(path))):
                return cached
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123
                info = os.fstat(file.fileno())
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                state = state_from_stat(info)
                if state_from_stat(os.fstat(file.fileno())) != state:
                    state = ()
        except OSError as problem:
            return f"unreadable: {problem.strerror}", ()
        if time.time_ns() - info.st_ctime_ns <= SETTLED:
            return digest, ()
        self._hashes[path] = (digest, state)
        return digest, state


def parse_shebang(start: bytes) -> tuple[str, ...]:
    """Return the program that an interpreter line names and, behind `env`, the one that is looked up."""
    if not start.startswith(b"#!"):
        return ()
    words = start[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    if not words or words[0].rpartition("/")[2] != "env":
        return tuple(words[:1])
    return (words[0], *[word for word in words[1:] if not _OPTION.fullmatch(word)][:1])


def list_shebang_files(start: bytes) -> tuple[str, ...]:
    """Return the words of an interpreter line that could be files relative to the working directory."""
    if not start.startswith(b"#!"):
        return ()
    words = start[2:].split(b"\n", 1)[0].decode("utf-8", "replace").replace("=", " ").split()
    return tuple(word for word in words if not word.startswith(("/", "-")))
