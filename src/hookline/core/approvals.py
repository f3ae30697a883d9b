"""The approvals a person gave, in a file of theirs that two programs may write at once."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hookline.core.programs import Program
from hookline.errors import StoreError

_LARGEST: Final = 64 * 1024 * 1024

# What is longer is remembered by its hash: nobody reads a diff of it.
LONGEST_KEPT: Final = 262_144

_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH

Key = tuple[str, str]


class Approval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person's yes to exactly these bytes, in exactly this repository.

    `runs`, `definition` and `files` (name in the project, hash) are what was approved, so that a change can be
    shown. `programs` are compared when the hook runs; None when nobody said which ones they have to be, as in
    an approval that came from another machine.
    """

    hook: str
    digest: str
    repository: str = ""
    source_path: str = ""
    name: str = ""
    by: str = ""
    at: float = 0.0
    runs: str = ""
    note: str = ""
    imported: bool = False
    definition: dict[str, object] = {}
    files: dict[str, str] = {}
    programs: tuple[Program, ...] | None = None

    @property
    def key(self) -> Key:
        """What has to be the same for the yes to hold."""
        return self.digest, self.repository


class _Book(Struct, frozen=True, kw_only=True):
    version: int = 2
    approvals: tuple[Approval, ...] = ()


class Book:
    """All approvals; with a path, as they are in the file now."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._approvals: dict[Key, Approval] | None = None
        self._seen: tuple[int, ...] = ()
        self._kept: dict[str, bytes] = {}
        self._counted: Mapping[Key, Approval] | None = None
        self._repositories: frozenset[str] = frozenset()

    def approvals(self) -> Mapping[Key, Approval]:
        """Give the approvals as they are now: another process may have taken one back.

        Raises:
            StoreError: The file is there but cannot be read, or others could have written it.
        """
        seen = self._stamp()
        if self._approvals is None or seen != self._seen:
            self._approvals = self._read()
            self._seen = seen
        return self._approvals

    def repositories(self) -> frozenset[str]:
        """Name the repositories in which something was approved."""
        approvals = self.approvals()
        if self._counted is not approvals:
            self._counted = approvals
            self._repositories = frozenset(item.repository for item in approvals.values())
        return self._repositories

    def reload(self) -> None:
        """Read the approvals again, whatever the file looks like from outside."""
        self._approvals = self._read()
        self._seen = self._stamp()

    def add(self, approvals: Iterable[Approval], contents: Iterable[bytes] = ()) -> None:
        """Remember approvals, and the texts that were approved."""
        new = {approval.key: approval for approval in approvals}
        self._change(lambda book: book.update(new), list(contents))

    def remove(self, unwanted: Callable[[Approval], bool]) -> list[Approval]:
        """Take approvals back."""
        gone: list[Approval] = []

        def remove(book: dict[Key, Approval]) -> None:
            gone.extend(item for item in book.values() if unwanted(item))
            for item in gone:
                del book[item.key]

        self._change(remove)
        return gone

    def save(self) -> None:
        """Write the file if there is none; every change is written when it is made."""
        mine = {} if self._stamp() else dict(self.approvals())
        self._change(lambda book: book.update(mine))

    def kept(self, sha256: str) -> bytes | None:
        """Give a text that was approved, by its hash; None when it was not kept or is not what it says."""
        if self._path is None:
            return self._kept.get(sha256)
        try:
            raw = (self._folder / sha256).read_bytes() if sha256.isalnum() else b""
        except OSError:
            return None
        return raw if hashlib.sha256(raw).hexdigest() == sha256 else None

    @property
    def _folder(self) -> Path:
        return (self._path or Path()).parent / "approved"

    def _stamp(self) -> tuple[int, ...]:
        if self._path is None:
            return (0,)
        try:
            found = os.stat(self._path)  # noqa: PTH116 - asked before each run, where pathlib costs many times more
        except OSError:
            return ()
        # a person can set back when a file was written, but not when it was changed
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode

    def _read(self) -> dict[Key, Approval]:
        if self._path is None:
            return dict(self._approvals or {})
        try:
            raw = read_guarded(self._path)
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise StoreError(f"cannot read the approvals in {self._path}: {problem.strerror}") from problem
        try:
            book = msgspec.json.decode(raw, type=_Book)
        except msgspec.MsgspecError as problem:
            raise StoreError(f"{self._path} is no list of approvals ({problem}); move it away to start anew") from None
        return {approval.key: approval for approval in book.approvals}

    def _change(self, change: Callable[[dict[Key, Approval]], object], contents: Iterable[bytes] = ()) -> None:
        """Change the book under a lock, on top of what other processes wrote, and replace the file at once."""
        path = self._path
        texts = {hashlib.sha256(text).hexdigest(): text for text in contents if is_kept(text)}
        if path is None:
            self._kept.update(texts)
            book = dict(self.approvals())
            change(book)
            self._approvals = book
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(path):
                book = self._read()
                change(book)
                self._keep(texts)
                ordered = sorted(book.values(), key=lambda approval: approval.at)
                replace_file(path, msgspec.json.format(msgspec.json.encode(_Book(approvals=tuple(ordered)))) + b"\n")
                self._forget(book.values())
        except OSError as problem:
            raise StoreError(f"cannot write the approvals to {path}: {problem.strerror}") from problem
        self._approvals = book
        self._seen = self._stamp()

    def _keep(self, texts: Mapping[str, bytes]) -> None:
        if texts:
            self._folder.mkdir(exist_ok=True, mode=0o700)
        for name, text in texts.items():
            if not (self._folder / name).exists():
                replace_file(self._folder / name, text)

    def _forget(self, approvals: Iterable[Approval]) -> None:
        """Remove texts that no approval is about any more."""
        wanted = {name for approval in approvals for name in approval.files.values()}
        if self._folder.is_dir():
            for path in self._folder.iterdir():
                if path.name not in wanted:
                    path.unlink(missing_ok=True)


def is_kept(content: bytes) -> bool:
    """Say whether a content is a text short enough to be kept for a later diff."""
    if len(content) > LONGEST_KEPT or b"\0" in content:
        return False
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def read_guarded(path: Path) -> bytes:
    """Read a file that says what may run.

    Raises:
        StoreError: Somebody else could have written it.
        OSError: It cannot be read.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise StoreError(f"{path} is not a file; move it away")
        if hasattr(os, "geteuid"):
            if info.st_uid not in {0, os.geteuid()}:
                raise StoreError(f"{path} belongs to somebody else, so nothing in it counts; move it away")
            if info.st_mode & _OTHERS:
                raise StoreError(
                    f"{path} can be written by others, so nothing in it counts; "
                    f"look at what it approves, then run: chmod 600 {path}"
                )
        raw = file.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise StoreError(f"{path} is larger than {_LARGEST // 1024 // 1024} MB; move it away")
    return raw


class _locked:  # noqa: N801 - reads as a word: with _locked(path)
    """Hold the lock beside a file; where the system has none, the atomic replace has to do."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}.lock")
        self._handle = -1

    def __enter__(self) -> None:
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            import fcntl  # noqa: PLC0415 - not on Windows
        except ImportError:
            return
        fcntl.flock(self._handle, fcntl.LOCK_EX)

    def __exit__(self, *_exc: object) -> None:
        os.close(self._handle)


def replace_file(path: Path, raw: bytes) -> None:
    """Write a file whole or not at all, readable by its owner only."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    # what a crash left behind, or somebody put there, is not written into
    beside.unlink(missing_ok=True)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
