"""A log of JSON lines that many processes append to: private, without secrets, and bounded in size."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hookline import json_codec
from hookline.builtin.catalogue import Options
from hookline.model.event import Event
from hookline.text import redact

MAX_SIZE: Final = 10 * 1024 * 1024
KEPT: Final = 3
# the folder that remembers sessions that were set up
MARKERS: Final = "setups"
# characters of one text, items of one list or table, levels of nesting
_LONGEST: Final = 4_000
_MOST: Final = 100
_DEEPEST: Final = 6
_LONGEST_LINE: Final = 64 * 1024  # bytes
# characters read beyond those that are kept, so that a key is not cut into something that no longer looks like one
_MARGIN: Final = 500


class JsonLog:
    """One log file: `max_size` bytes, and `keep` older ones beside it."""

    def __init__(self, options: Options) -> None:
        self.path = Path(str(options["path"]))
        self._max_size = _read_number(options, "max_size", MAX_SIZE)
        self._keep = _read_number(options, "keep", KEPT)

    def write(self, event: Event, fields: Mapping[str, object]) -> None:
        """Append one record about an event in one write.

        Raises:
            OSError: It cannot be written.
        """
        moment = datetime.fromtimestamp(event.timestamp / 1000, UTC) if event.timestamp else datetime.now(UTC)
        about = {
            "time": moment.isoformat(timespec="milliseconds"),
            "event": str(event.name),
            "agent": event.host,
            "session": event.session.id,
            "project": event.project or event.cwd,
            "trace": event.id,
        }
        about = {key: value for key, value in about.items() if value}
        line = json_codec.dump(clean({**about, **fields})) + b"\n"
        if len(line) > _LONGEST_LINE:
            line = json_codec.dump(clean({**about, "cut": line.decode()})) + b"\n"
        handle = open_private(self.path)
        try:
            info = os.fstat(handle)
            if info.st_size + len(line) > self._max_size:
                self._rotate(info.st_ino)
                os.close(handle)
                handle = open_private(self.path)
            if os.write(handle, line) != len(line):
                raise OSError(f"{self.path}: there is no room for a whole line on the disk")
        finally:
            os.close(handle)

    def _rotate(self, inode: int) -> None:
        """Move the file away, unless another process did so; what others have open is written to the moved file."""
        with _lock(self.path.with_name(f".{self.path.name}.lock")):
            try:
                is_same = self.path.stat().st_ino == inode
            except FileNotFoundError:
                is_same = False
            if is_same:
                for number in range(self._keep - 1, 0, -1):
                    with suppress(FileNotFoundError):
                        self._older(number).replace(self._older(number + 1))
                with suppress(FileNotFoundError):
                    self.path.replace(self._older(1))

    def _older(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


def open_private(path: Path, *, flags: int = os.O_APPEND) -> int:
    """Open a file to write that only the user can read, and make its folders.

    Raises:
        OSError: It cannot be opened, or is a symbolic link.
    """
    flags |= os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_folder(path.parent)
        return os.open(path, flags, 0o600)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; only the user can read what is in them."""
    # one by one: `parents=True` would ignore the mode for those above
    for part in (*reversed(folder.parents), folder):
        if not part.is_dir():
            part.mkdir(mode=0o700, exist_ok=True)


class _lock:  # noqa: N801 - used as a function
    """Hold a lock on a file; where the system has none, another process may do the same at the same time."""

    def __init__(self, path: Path) -> None:
        self._handle = open_private(path)

    def __enter__(self) -> None:
        with suppress(ImportError, OSError):
            import fcntl  # noqa: PLC0415 - Windows has none

            fcntl.flock(self._handle, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def clean(value: object, *, name: str = "", depth: int = _DEEPEST) -> object:
    """Return a value for a log: secrets masked, by the `name` of their key as well, and long texts and lists cut."""
    if isinstance(value, str):
        return _clean_text(value, name)
    if value is None or isinstance(value, bool | int | float):
        return value
    if not depth:
        return "…"
    if isinstance(value, Mapping):
        items = list(value.items())[:_MOST]
        return {_clean_text(str(key), ""): clean(item, name=str(key), depth=depth - 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [clean(item, name=name, depth=depth - 1) for item in value[:_MOST]]
    return _clean_text(str(value), name)


def _clean_text(text: str, name: str) -> str:
    read = text[: _LONGEST + _MARGIN]
    # a password is known by the name before it
    start = f"{name}=" if name else ""
    masked = redact(f"{start}{read}")
    masked = masked.removeprefix(start) if masked.startswith(start) else redact(read)
    return masked if len(text) <= _LONGEST else f"{masked[:_LONGEST]}… ({len(text)} characters)"


def _read_number(options: Options, key: str, default: int) -> int:
    value = options.get(key)
    return value if isinstance(value, int) else default
