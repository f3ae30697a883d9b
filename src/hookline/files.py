"""Files of others and files that several processes write: safe reads, private folders, locks, atomic writes."""

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Final

# opening a pipe or a terminal neither blocks nor takes it over
OPEN_SAFELY: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
# a temporary file that is older was left behind by a killed process
_STALE_SECONDS: Final = 600.0


def read_regular_file(
    path: str | os.PathLike[str], limit: int, *, follow_link: bool = True, from_end: bool = False
) -> bytes | None:
    """Return the first `limit` bytes of a regular file, or the last ones; None where there is none, or it cannot be read."""
    try:
        handle = os.open(path, OPEN_SAFELY | (0 if follow_link else getattr(os, "O_NOFOLLOW", 0)))
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            return None
        if from_end:
            os.lseek(handle, max(info.st_size - limit, 0), os.SEEK_SET)
        return os.read(handle, limit)
    except OSError:
        return None
    finally:
        os.close(handle)


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
