"""Files that several processes write: private folders, locks, and writes that are whole or not at all."""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Final

# a temporary file that is older was left behind by a killed process
_STALE_SECONDS: Final = 600.0


def make_private_folder(folder: Path) -> None:
    """Make a folder that only the user can enter, and the data folder above it.

    Raises:
        OSError: It cannot be made.
    """
    # one by one: with `parents` the mode would not apply to the folder above
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is not there; where the system has no locks, hold none.

    Raises:
        OSError: The file cannot be opened.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        with suppress(ImportError):
            import fcntl  # noqa: PLC0415 - not on Windows

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replace_file(path: Path, raw: bytes, *, mode: int | None) -> None:
    """Write a file atomically; without a mode, it gets that of a new file.

    Raises:
        OSError: It cannot be written.
    """
    with suppress(OSError):
        for left in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * 12}"):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                left.unlink()
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(beside, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            # root may change a file for a user
            with suppress(OSError, AttributeError):
                owner = path.stat()
                if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
