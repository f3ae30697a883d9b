"""The approvals of a user, in a file that several processes may write at once, and their export to other machines."""

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import ConfigError, StoreError
from hookline.files import OPEN_SAFELY, lock_file, replace_file
from hookline.model.workspace_paths import is_inside_real
from hookline.trust.files_and_programs import Executable, decode_text
from hookline.trust.repository import find_top

_LARGEST: Final = 64 * 1024 * 1024

LONGEST_STORED: Final = 262_144
"""Longer texts are stored by their hash only: a diff of them would be too long to read."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_EXPORT_VERSION: Final = 1

_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH

Key = tuple[str, str]


class Approval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person's yes to exactly these bytes, in exactly this repository.

    `runs`, `definition` and `files` (name in the project, hash) are what was approved, so that a change can be
    shown. `programs` are compared when the hook runs; None when any will do, as in an approval that came from another
    machine.
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
    programs: tuple[Executable, ...] | None = None

    @property
    def key(self) -> Key:
        """The digest and the repository that the approval holds for."""
        return self.digest, self.repository


class _ApprovalFile(Struct, frozen=True, kw_only=True):
    version: int = 2
    approvals: tuple[Approval, ...] = ()


class _Export(Struct, frozen=True, kw_only=True):
    hookline_approvals: int
    approvals: tuple[Approval, ...]


class ApprovalStore:
    """All approvals; with a path, as they are in the file now."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        # the content of the file; invalid when the stat of the file is another one
        self._approvals: dict[Key, Approval] | None = None
        self._stat: tuple[int, ...] = ()
        self._texts: dict[str, bytes] = {}

    def load(self) -> Mapping[Key, Approval]:
        """Return the approvals as they are now: another process may have revoked one.

        Raises:
            StoreError: The file exists but cannot be read, or other users could have written it.
        """
        if self._approvals is None or self._read_stat() != self._stat:
            return self.reload()
        return self._approvals

    def reload(self) -> Mapping[Key, Approval]:
        """Read the approvals again, even if the stat of the file is the same."""
        # the stat first: a change in between shows the next time
        now, approvals = self._read_stat(), self._read()
        self._stat, self._approvals = now, approvals
        return approvals

    def add(self, approvals: Iterable[Approval], contents: Iterable[bytes] = ()) -> None:
        """Store approvals, and the texts that were approved."""
        with self._change(contents) as stored:
            stored.update((approval.key, approval) for approval in approvals)

    def remove(self, is_unwanted: Callable[[Approval], bool]) -> list[Approval]:
        """Remove approvals, and return them."""
        with self._change() as stored:
            removed = [item for item in stored.values() if is_unwanted(item)]
            for item in removed:
                del stored[item.key]
        return removed

    def save(self) -> None:
        """Write the file if there is none; every change is written when it is made."""
        own = {} if self._read_stat() else dict(self.load())
        with self._change() as stored:
            stored.update(own)

    def read_text(self, sha256: str) -> bytes | None:
        """Return a text that was approved, by its hash; None when it was not stored or has another hash."""
        if self._path is None:
            return self._texts.get(sha256)
        try:
            raw = (self._folder / sha256).read_bytes() if sha256.isalnum() else b""
        except OSError:
            return None
        return raw if hashlib.sha256(raw).hexdigest() == sha256 else None

    @property
    def _folder(self) -> Path:
        return (self._path or Path()).parent / "approved"

    def _read_stat(self) -> tuple[int, ...]:
        if self._path is None:
            return (0,)
        try:
            info = os.stat(self._path)  # noqa: PTH116 - called before each run
        except OSError:
            return ()
        # mtime can be set back, ctime cannot
        return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_mode

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
            file = msgspec.json.decode(raw, type=_ApprovalFile)
        except msgspec.MsgspecError as problem:
            raise StoreError(f"{self._path} is no list of approvals ({problem}); move it away to start anew") from None
        return {approval.key: approval for approval in file.approvals}

    @contextmanager
    def _change(self, contents: Iterable[bytes] = ()) -> Iterator[dict[Key, Approval]]:
        """Change the approvals under a lock, on top of what other processes wrote, and replace the file atomically."""
        path = self._path
        stored_texts = (one for one in contents if len(one) <= LONGEST_STORED and decode_text(one) is not None)
        texts = {hashlib.sha256(text).hexdigest(): text for text in stored_texts}
        if path is None:
            self._texts.update(texts)
            stored = dict(self.load())
            yield stored
            self._approvals = stored
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with lock_file(path.with_name(f"{path.name}.lock")):
                stored = self._read()
                yield stored
                if texts:
                    self._folder.mkdir(exist_ok=True, mode=0o700)
                for name, text in texts.items():
                    if not (self._folder / name).exists():
                        replace_file(self._folder / name, text, mode=0o600)
                ordered = tuple(sorted(stored.values(), key=lambda approval: approval.at))
                raw = msgspec.json.encode(_ApprovalFile(approvals=ordered))
                replace_file(path, msgspec.json.format(raw) + b"\n", mode=0o600)
                used = {name for approval in ordered for name in approval.files.values()}
                for text_path in self._folder.iterdir() if self._folder.is_dir() else ():
                    if text_path.name not in used:
                        text_path.unlink(missing_ok=True)
                # under the lock: another process may revoke one right after it
                self._approvals, self._stat = stored, self._read_stat()
        except OSError as problem:
            raise StoreError(f"cannot write the approvals to {path}: {problem.strerror}") from problem


def export_approvals(approvals: Iterable[Approval], *, exact: bool = False) -> bytes:
    """Write approvals as JSON that people can read; with `exact`, with the programs they hold for."""
    # the stat of a program means nothing on another machine
    portable = tuple(
        replace(item, programs=tuple(replace(one, seen=()) for one in item.programs or ()) if exact else None)
        for item in approvals
    )
    raw = msgspec.json.encode(_Export(hookline_approvals=_EXPORT_VERSION, approvals=portable))
    return msgspec.json.format(raw, indent=2) + b"\n"


def read_export(path: Path, *, workspace: Path | None) -> list[Approval]:
    """Read exported approvals from outside of a workspace.

    Raises:
        ConfigError: The file is in the workspace, other users could have written it, or it is something else.
    """
    if workspace is not None and is_inside_real(str(path.absolute()), (str(workspace.resolve()), find_top(workspace))):
        raise ConfigError(
            "approvals are not taken from inside the workspace they are about: the author of the hooks "
            "could have written them; keep the file elsewhere",
            path=str(path),
        )
    try:
        file = msgspec.json.decode(read_guarded(path), type=_Export)
    except OSError as problem:
        raise ConfigError(f"the approvals cannot be read: {problem.strerror}", path=str(path)) from None
    except StoreError as problem:
        raise ConfigError(str(problem)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise ConfigError(f"this is no export of approvals ({problem})", path=str(path)) from None
    if file.hookline_approvals != _EXPORT_VERSION:
        raise ConfigError(
            f"the export has version {file.hookline_approvals}, wanted {_EXPORT_VERSION}; export it again",
            path=str(path),
        )
    for item in file.approvals:
        if not _DIGEST.fullmatch(item.digest) or not item.repository:
            raise ConfigError(f'the approval of "{item.hook}" has no valid digest or no repository', path=str(path))
    return [replace(item, imported=True) for item in file.approvals]


def read_guarded(path: Path) -> bytes:
    """Read a file that decides what may run.

    Raises:
        StoreError: Another user could have written it.
        OSError: It cannot be read.
    """
    handle = os.open(path, OPEN_SAFELY)
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise StoreError(f"{path} is not a file; move it away")
        if hasattr(os, "geteuid"):
            if info.st_uid not in {0, os.geteuid()}:
                raise StoreError(f"{path} belongs to another user, so nothing in it counts; move it away")
            if info.st_mode & _OTHERS:
                raise StoreError(
                    f"{path} can be written by others, so nothing in it counts; "
                    f"look at what it approves, then run: chmod 600 {path}"
                )
        raw = file.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        raise StoreError(f"{path} is larger than {_LARGEST // 1024 // 1024} MB; move it away")
    return raw
