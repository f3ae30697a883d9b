"""One watcher for a project: two would tell of every change twice, and run every schedule twice."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hookline.errors import EngineError, StoreError


@contextmanager
def alone(root: str, data: Path) -> Iterator[None]:
    """Be the only watcher of a project; the system ends that with the process, however it ends.

    Raises:
        EngineError: There is another one.
        StoreError: The file for that cannot be made.
    """
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    path = data / "watching" / f"{name}.lock"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem.strerror}; make sure that you may write there") from None
    try:
        _lock(handle, root)
        os.truncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


def _lock(handle: int, root: str) -> None:
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        number = ""
        with suppress(OSError):
            number = os.read(handle, 20).decode("ascii", "replace")
        who = f"process {number}" if number.isdecimal() else "another process"
        raise EngineError(f"{who} is watching {root} already; end that one first") from None
