"""A log of every change to configuration files, so that each can be undone byte for byte."""

import hashlib
import os
import stat
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hookline import json_codec
from hookline.errors import ConfigError
from hookline.files import OPEN_SAFELY, lock_file, make_private_folder, replace_file

# Older entries are deleted: stored texts may hold old secrets.
MAX_ENTRIES: Final = 200
_BY_ID: Final = "{:08d}.json"


class FileEdit(Struct, frozen=True):
    """One file before and after; None stands for no file.

    `mode` is for a file that is made anew, `folders` are those that came with it and go with it when they are empty.
    `new_mode` is for a file that is to have another mode than it had.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None
    folders: tuple[str, ...] = ()
    new_mode: int | None = None


class UndoStep(Struct, frozen=True):
    """One file of an entry, its texts named by their hash, the mode it had or got, and the folders made for it."""

    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    folders: tuple[str, ...] = ()


class UndoEntry(Struct, frozen=True, kw_only=True):
    """One logged change; `undoes` is the id of the entry that it undoes, else 0.

    One that `follows` was made because of the one before it, and is taken back only by its number. An entry is `pending` until its files are written: what was killed in between may have changed some of them, or none.
    """

    id: int
    what: str
    when: float
    steps: tuple[UndoStep, ...]
    undoes: int = 0
    pending: bool = False
    follows: bool = False


Apply = Callable[..., UndoEntry]


class UndoLog:
    """Change files atomically, one writer at a time, and store their earlier contents."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "journal"

    @contextmanager
    def transaction(self) -> Iterator[Apply]:
        """Hold the lock; read, edit and apply inside.

        Raises:
            ConfigError: The journal cannot be written, so nothing is changed.
        """
        with ExitStack() as stack:
            try:
                make_private_folder(self._folder)
                # without locks, the comparison before each write has to do
                stack.enter_context(lock_file(self._folder / "lock"))
            except OSError as problem:
                raise self._unwritable_error(problem) from None
            yield self._apply

    def entries(self) -> list[UndoEntry]:
        """Return every change that is remembered, the latest first; what cannot be read is passed over."""
        found = []
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            with suppress(OSError, msgspec.DecodeError):
                found.append(msgspec.json.decode(path.read_bytes(), type=UndoEntry))
        return found

    def active(self) -> list[UndoEntry]:
        """Return the changes that are not undone, the latest first; undo entries are left out."""
        return [entry for entry in self._entries_in_force() if not entry.undoes]

    def _entries_in_force(self) -> list[UndoEntry]:
        taken_back: set[int] = set()
        left = []
        for entry in self.entries():
            if entry.pending:
                # one that was killed before it changed a file: none of them is as it was to become
                with suppress(ConfigError):
                    if not any(read_bytes(step.path) == self.read_blob(step.after) for step in entry.steps):
                        continue
            # what was taken back by something that was taken back is in force again
            if entry.id not in taken_back:
                taken_back.add(entry.undoes)
                left.append(entry)
        return left

    def read_blob(self, name: str | None) -> bytes | None:
        """Return a text by its hash.

        Raises:
            ConfigError: It is gone, or it is no longer what was kept.
        """
        if name is None:
            return None
        path = self._blob_path(name)
        try:
            raw = path.read_bytes()
        except OSError as problem:
            raise ConfigError(f"the kept text cannot be read: {problem.strerror}", path=str(path)) from None
        if hashlib.sha256(raw).hexdigest() != name:
            raise ConfigError("the kept text was changed; it is not used", path=str(path))
        return raw

    def list_edits(self, paths: Container[str]) -> Iterator[tuple[str, str, str]]:
        """Yield each change of these files: the path, and its text before and after; what cannot be read is left out."""
        for step in (step for entry in self.entries() for step in entry.steps if step.path in paths):
            with suppress(ConfigError):
                before, after = (self.read_blob(name) or b"" for name in (step.before, step.after))
                yield step.path, before.decode("utf-8", "replace"), after.decode("utf-8", "replace")

    def undo(self, number: int | None = None, *, force: bool = False) -> tuple[UndoEntry, UndoEntry]:
        """Take one change back, the latest unless it is named; taking that back does the change again.

        Gives the change, and the one that takes it back.

        Raises:
            ConfigError: There is nothing to take back, a file was changed since, and it is not forced, or it cannot
                be written.
        """
        with self.transaction() as apply:
            latest = (entry for entry in self.active() if not entry.follows)
            left = list(latest) if number is None else self._entries_in_force()
            entry = next((entry for entry in left if number in {None, entry.id}), None)
            if entry is None:
                raise self._nothing_to_undo(number)
            changes = []
            for step in entry.steps:
                now = read_bytes(step.path)
                # a file that is as it was before never got the change: we were stopped in between
                if now not in {self.read_blob(step.after), self.read_blob(step.before)} and not force:
                    raise ConfigError(
                        "the file was changed since; look at it, or take the change back all the same with "
                        f"`hookline undo {entry.id} --force`",
                        path=step.path,
                    )
                changes.append(FileEdit(step.path, now, self.read_blob(step.before), step.mode, step.folders))
            return entry, apply(changes, f"undo: {entry.what}", undoes=entry.id)

    def _nothing_to_undo(self, number: int | None) -> ConfigError:
        if number is None:
            return ConfigError("there is no change to take back; `hookline undo --list` shows what was done")
        again = next((entry.id for entry in self._entries_in_force() if entry.undoes == number), 0)
        if again:
            return ConfigError(f"change {number} is taken back already; `hookline undo {again}` does it again")
        return ConfigError(f"there is no change {number}; `hookline undo --list` shows those that are remembered")

    def _apply(
        self, changes: Sequence[FileEdit], what: str, *, undoes: int = 0, made: bool = False, follows: bool = False
    ) -> UndoEntry:
        """Remember the changes, then make them; those that are `made` already are only remembered.

        Raises:
            ConfigError: A file is no longer what was edited, or cannot be written. Nothing is changed then.
        """
        for change in () if made else changes:
            if read_bytes(change.path) != change.before:
                raise ConfigError("the file was changed meanwhile; nothing was written, try again", path=change.path)
        try:
            entry = self._record(changes, what, undoes=undoes, follows=follows)
        except OSError as problem:
            raise self._unwritable_error(problem) from None
        done: list[FileEdit] = []
        try:
            for change in () if made else changes:
                _write(change, change.after)
                done.append(change)
            entry = msgspec.structs.replace(entry, pending=False)
            replace_file(self._entry_path(entry.id), json_codec.dump(entry), mode=0o600)
        except OSError as problem:
            failed = changes[len(done)].path
            try:
                for change in done:
                    _write(change, change.before)
                self._entry_path(entry.id).unlink(missing_ok=True)
            except OSError:
                raise ConfigError(
                    f"cannot be written: {problem.strerror}, and neither could what was changed before it be put back; "
                    f"when there is room again, `hookline undo {entry.id}` does it",
                    path=failed,
                ) from None
            raise ConfigError(f"cannot be written: {problem.strerror}; nothing was changed", path=failed) from None
        return entry

    def _record(self, changes: Sequence[FileEdit], what: str, *, undoes: int, follows: bool) -> UndoEntry:
        known = self.entries()
        steps = tuple(
            UndoStep(
                str(Path(one.path).absolute()),
                self._store_blob(one.before),
                self._store_blob(one.after),
                _mode(one.path) or one.mode,
                # the folders that have to be made for the file, the innermost first
                one.folders
                or tuple(str(folder) for folder in Path(one.path).absolute().parents if not folder.exists()),
            )
            for one in changes
        )
        number = max((entry.id for entry in known), default=0) + 1
        entry = UndoEntry(
            id=number, what=what, when=time.time(), steps=steps, undoes=undoes, pending=True, follows=follows
        )
        replace_file(self._entry_path(number), json_codec.dump(entry), mode=0o600)
        for old in known[MAX_ENTRIES - 1 :]:
            self._entry_path(old.id).unlink(missing_ok=True)
        if len(known) >= MAX_ENTRIES:
            used = {name for one in self.entries() for step in one.steps for name in (step.before, step.after)}
            for path in self._folder.glob("*.text"):
                if path.stem not in used:
                    path.unlink(missing_ok=True)
        return entry

    def _store_blob(self, raw: bytes | None) -> str | None:
        if raw is None:
            return None
        name = hashlib.sha256(raw).hexdigest()
        if not self._blob_path(name).exists():
            replace_file(self._blob_path(name), raw, mode=0o600)
        return name

    def _entry_path(self, number: int) -> Path:
        return self._folder / _BY_ID.format(number)

    def _blob_path(self, name: str) -> Path:
        return self._folder / f"{name}.text"

    def _unwritable_error(self, problem: OSError) -> ConfigError:
        return ConfigError(
            f"the change cannot be remembered for `hookline undo`: {problem.strerror}; nothing was changed",
            path=str(self._folder),
        )


def read_bytes(path: str) -> bytes | None:
    """Read a file; None where there is none.

    Raises:
        ConfigError: There is something that cannot be read.
    """
    try:
        with os.fdopen(os.open(path, OPEN_SAFELY), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError("this is not a file", path=path)
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise ConfigError(f"the file cannot be read: {problem.strerror}", path=path) from None


def _mode(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116 - a link is followed to the file that is written
    except OSError:
        return None


def _write(change: FileEdit, raw: bytes | None) -> None:
    """Write a file atomically; through a symbolic link, its target is written."""
    target = Path(change.path).resolve()
    if raw is None:
        target.unlink(missing_ok=True)
        for folder in change.folders:
            with suppress(OSError):
                Path(folder).rmdir()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = _mode(change.path)
    if mode is not None and not os.access(target, os.W_OK):
        # the folder is writable, but the file was made read-only on purpose
        raise PermissionError(13, "the file is read-only")
    usual = change.mode if mode is None else mode
    replace_file(target, raw, mode=usual if change.new_mode is None else change.new_mode)
