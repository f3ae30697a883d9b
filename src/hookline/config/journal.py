"""Every change we make to a configuration file, so that each can be taken back byte for byte."""

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hookline import wire
from hookline.errors import ConfigError

# older changes are forgotten: nobody takes back the two hundredth, and old texts may hold old secrets
MOST_ENTRIES: Final = 200
_BY_ID: Final = "{:08d}.json"


class Change(Struct, frozen=True):
    """One file before and after; None stands for no file.

    `mode` is for a file that is made anew, `folders` are those that came with it and go with it when they are empty.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None
    folders: tuple[str, ...] = ()


class Step(Struct, frozen=True):
    """One file of an entry, its texts named by their hash, the mode it had or got, and the folders made for it."""

    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    folders: tuple[str, ...] = ()


class Entry(Struct, frozen=True, kw_only=True):
    """One change as it is remembered; `undoes` is the number of the entry it takes back, else 0."""

    id: int
    what: str
    when: float
    steps: tuple[Step, ...]
    undoes: int = 0


Apply = Callable[..., Entry]


class Journal:
    """Changes files whole or not at all, one writer at a time, and remembers how they were."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "journal"

    @contextmanager
    def changing(self) -> Iterator[Apply]:
        """Hold the lock; read, edit and apply inside.

        Raises:
            ConfigError: The journal cannot be written, so nothing is changed.
        """
        try:
            # one by one: `parents` would leave the data folder open to others
            self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as problem:
            raise self._unwritable(problem) from None
        try:
            with suppress(ImportError):
                import fcntl  # noqa: PLC0415 - not on Windows, where the comparison before each write has to do

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield self._apply
        finally:
            os.close(handle)

    def entries(self) -> list[Entry]:
        """Give every change that is remembered, the latest first; what cannot be read is passed over."""
        found = []
        for path in sorted(self._folder.glob("*.json"), reverse=True):
            with suppress(OSError, msgspec.DecodeError):
                found.append(msgspec.json.decode(path.read_bytes(), type=Entry))
        return found

    def in_force(self) -> list[Entry]:
        """Give the changes that nobody took back, the latest first; taking back is no change of its own here."""
        return [entry for entry in self._not_taken_back() if not entry.undoes]

    def _not_taken_back(self) -> list[Entry]:
        taken_back: set[int] = set()
        left = []
        for entry in self.entries():
            # what was taken back by something that was taken back is in force again
            if entry.id not in taken_back:
                taken_back.add(entry.undoes)
                left.append(entry)
        return left

    def text(self, name: str | None) -> bytes | None:
        """Give a text by its hash.

        Raises:
            ConfigError: It is gone, or it is no longer what was kept.
        """
        if name is None:
            return None
        try:
            raw = self._blob(name).read_bytes()
        except OSError as problem:
            raise ConfigError(f"the kept text cannot be read: {problem.strerror}", path=str(self._blob(name))) from None
        if hashlib.sha256(raw).hexdigest() != name:
            raise ConfigError("the kept text was changed; it is not used", path=str(self._blob(name)))
        return raw

    def undo(self, number: int | None = None, *, force: bool = False) -> tuple[Entry, Entry]:
        """Take one change back, the latest unless it is named; taking that back does the change again.

        Gives the change, and the one that takes it back.

        Raises:
            ConfigError: There is nothing to take back, a file was changed since, and it is not forced, or it cannot
                be written.
        """
        with self.changing() as apply:
            entry = self._chosen(number)
            changes = []
            for step in entry.steps:
                now = read_bytes(step.path)
                # a file that is as it was before never got the change: we were stopped in between
                if now not in {self.text(step.after), self.text(step.before)} and not force:
                    raise ConfigError(
                        "the file was changed since; look at it, or take the change back all the same with "
                        f"`hookline undo {entry.id} --force`",
                        path=step.path,
                    )
                changes.append(Change(step.path, now, self.text(step.before), step.mode, step.folders))
            return entry, apply(changes, f"undo: {entry.what}", undoes=entry.id)

    def _chosen(self, number: int | None) -> Entry:
        left = self.in_force() if number is None else self._not_taken_back()
        found = next((entry for entry in left if number in {None, entry.id}), None)
        if found is not None:
            return found
        if number is None:
            raise ConfigError("there is no change to take back; `hookline undo --list` shows what was done")
        again = next((entry.id for entry in self._not_taken_back() if entry.undoes == number), 0)
        if again:
            raise ConfigError(f"change {number} is taken back already; `hookline undo {again}` does it again")
        raise ConfigError(f"there is no change {number}; `hookline undo --list` shows those that are remembered")

    def _apply(self, changes: Sequence[Change], what: str, *, undoes: int = 0, made: bool = False) -> Entry:
        """Remember the changes, then make them; those that are `made` already are only remembered.

        Raises:
            ConfigError: A file is no longer what was edited, or cannot be written. Nothing is changed then.
        """
        for change in () if made else changes:
            if read_bytes(change.path) != change.before:
                raise ConfigError("the file was changed meanwhile; nothing was written, try again", path=change.path)
        try:
            entry = self._remember(changes, what, undoes=undoes)
        except OSError as problem:
            raise self._unwritable(problem) from None
        done: list[Change] = []
        try:
            for change in () if made else changes:
                _write(change, change.after)
                done.append(change)
        except OSError as problem:
            failed = changes[len(done)].path
            try:
                for change in done:
                    _write(change, change.before)
                self._entry(entry.id).unlink(missing_ok=True)
            except OSError:
                raise ConfigError(
                    f"cannot be written: {problem.strerror}, and neither could what was changed before it be put back; "
                    f"when there is room again, `hookline undo {entry.id}` does it",
                    path=failed,
                ) from None
            raise ConfigError(f"cannot be written: {problem.strerror}; nothing was changed", path=failed) from None
        return entry

    def _remember(self, changes: Sequence[Change], what: str, *, undoes: int) -> Entry:
        known = self.entries()
        steps = tuple(
            Step(
                _absolute(one.path),
                self._keep(one.before),
                self._keep(one.after),
                _mode(one.path) or one.mode,
                one.folders or _missing_folders(one.path),
            )
            for one in changes
        )
        number = max((entry.id for entry in known), default=0) + 1
        entry = Entry(id=number, what=what, when=time.time(), steps=steps, undoes=undoes)
        _replace(self._entry(number), wire.dump(entry), mode=0o600)
        for old in known[MOST_ENTRIES - 1 :]:
            self._entry(old.id).unlink(missing_ok=True)
        if len(known) >= MOST_ENTRIES:
            self._forget_texts()
        return entry

    def _keep(self, raw: bytes | None) -> str | None:
        if raw is None:
            return None
        name = hashlib.sha256(raw).hexdigest()
        if not self._blob(name).exists():
            _replace(self._blob(name), raw, mode=0o600)
        return name

    def _forget_texts(self) -> None:
        used = {name for entry in self.entries() for step in entry.steps for name in (step.before, step.after)}
        for path in self._folder.glob("*.text"):
            if path.stem not in used:
                path.unlink(missing_ok=True)

    def _entry(self, number: int) -> Path:
        return self._folder / _BY_ID.format(number)

    def _blob(self, name: str) -> Path:
        return self._folder / f"{name}.text"

    def _unwritable(self, problem: OSError) -> ConfigError:
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
        with open(path, "rb", opener=_patiently) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError("this is not a file", path=path)
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise ConfigError(f"the file cannot be read: {problem.strerror}", path=path) from None


def _patiently(path: str, flags: int) -> int:
    # a named pipe would keep us waiting for ever
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def _mode(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116 - a link is followed to the file that is written
    except OSError:
        return None


def _missing_folders(path: str) -> tuple[str, ...]:
    """Name the folders that have to be made for a file, the innermost first."""
    parents = Path(_absolute(path)).parents
    return tuple(str(folder) for folder in parents if not folder.exists())


def _write(change: Change, raw: bytes | None) -> None:
    """Write a file whole or not at all; a link stays a link, and what it leads to is written."""
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
        # its folder would let us, but whoever made it read-only meant it
        raise PermissionError(13, "the file is read-only")
    _replace(target, raw, mode=change.mode if mode is None else mode)


def _replace(path: Path, raw: bytes, *, mode: int | None) -> None:
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(beside, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            _keep_owner(file.fileno(), path)
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _keep_owner(handle: int, path: Path) -> None:
    """Leave a file to whom it belongs, where an administrator changes it for them."""
    with suppress(OSError, AttributeError):
        before = path.stat()
        if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
            os.fchown(handle, before.st_uid, before.st_gid)
