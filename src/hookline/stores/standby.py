"""Workers by the files they lock: who is alive, and how one is started where none is.

A lock of the system ends with the process that holds it, however that ends, and a process id that is used again does
not have it. So nobody waits for a lease to run out to find out that a worker is dead.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hookline import surroundings
from hookline.errors import StoreError
from hookline.model.ours import NESTING
from hookline.model.workspace import path_outside

SWITCH: Final = "HOOKLINE_WORKER"  # "off" keeps emitters from starting workers
LOG: Final = "worker.log"
LARGEST_LOG: Final = 1024 * 1024  # bytes

_SLOT: Final = "worker.lock"
_STARTED: Final = "worker.started"
_PRESENT: Final = "workers"
# How long a worker that was just started may take to get its place; meanwhile nobody starts another.
_START: Final = 2.0
_PAUSE: Final = 0.02
_PATIENCE: Final = 1.0


@contextmanager
def present(folder: Path) -> Iterator[str]:
    """Be alive, as far as others can tell, under the name this gives.

    Raises:
        StoreError: The folder cannot be used.
    """
    name = f"{int(time.time()):x}-{os.getpid():x}-{os.urandom(4).hex()}"
    path = folder / _PRESENT / name
    with _explained(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _locked_file(path)
    try:
        yield name
    finally:
        # away with the name first: without its lock it would be a dead worker's
        path.unlink(missing_ok=True)
        os.close(handle)


def is_alive(folder: Path, worker: str) -> bool:
    """Say whether a worker still holds its lock."""
    return _is_held(folder / _PRESENT / worker)


def bury(folder: Path, worker: str) -> None:
    """Remove what a dead worker left."""
    (folder / _PRESENT / worker).unlink(missing_ok=True)


def workers(folder: Path) -> list[str]:
    """Name the workers that are alive; what dead ones without jobs left behind is removed."""
    names = sorted(path.name for path in (folder / _PRESENT).glob("*-*-*"))
    alive = [name for name in names if is_alive(folder, name)]
    for name in set(names) - set(alive):
        bury(folder, name)
    return alive


class Slot:
    """The place of the one worker that emitters rely on; others may work beside it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _SLOT
        self._handle = -1

    def take(self) -> bool:
        """Try to get the place; False when another worker has it.

        Raises:
            StoreError: The folder cannot be used.
        """
        import fcntl  # noqa: PLC0415 - not on Windows

        if self._handle >= 0:
            return True
        with _explained(self._path):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # an emitter that looks whether there is a worker has the lock for a moment as well
                if time.monotonic() > end:
                    os.close(handle)
                    return False
                time.sleep(_PAUSE)
            else:
                self._handle = handle
                # from here on the lock says that there is a worker
                self._path.with_name(_STARTED).unlink(missing_ok=True)
                return True

    def leave(self) -> None:
        """Give the place up. Whoever does looks into the queue once more: an emitter may just have relied on them."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def wake(folder: Path, project: str) -> bool:
    """Start a worker unless there is one, or one is on its way; say whether this started one.

    It is called after a job was stored. A worker gives its place up before it looks into the queue for the last time:
    so either it finds the job, or it is found to be gone.
    """
    if surroundings.environ().get(SWITCH, "").lower() in {"off", "0", "false", "no"} or not _has_python():
        return False
    if _is_held(folder / _SLOT) or _is_on_its_way(folder / _STARTED):
        return False
    _start(folder, project)
    # only now: whoever sees this does not start a worker, so there has to be one
    (folder / _STARTED).touch(mode=0o600)
    return True


def _has_python() -> bool:
    """Say whether there is a Python to start; in a program that was packed into one file, that is the program itself."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def _is_on_its_way(path: Path) -> bool:
    try:
        return 0 <= time.time() - path.stat().st_mtime < _START
    except OSError:
        return False


def _start(folder: Path, project: str) -> None:
    """Start a worker that has nothing to do with this program: no terminal, no pipe, no folder, no end in common."""
    import subprocess  # noqa: PLC0415 - only who starts a worker needs it
    import threading  # noqa: PLC0415

    own = {name: value for name, value in surroundings.whole_environ().items() if name != NESTING}
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            # -P: a file of the working folder must not stand in for a module of ours
            [sys.executable, "-P", "-m", "hookline", "queue", "work", "--detached", "--project", project],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            # it works for all projects, and none of them lends its programs to another; and it is nobody's child
            env={**own, "PATH": path_outside(surroundings.whole_environ().get("PATH", os.defpath), project)},
            start_new_session=True,
            close_fds=True,
        )
    finally:
        os.close(log)
    # somebody has to take note of its end, or it stays as a zombie for as long as this program runs
    threading.Thread(target=process.wait, name="hookline-worker", daemon=True).start()


def trim_log(handle: int) -> None:
    """Empty a log that has grown too large; a worker does it with its own."""
    with suppress(OSError):
        import stat  # noqa: PLC0415

        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode) and found.st_size > LARGEST_LOG:
            os.ftruncate(handle, 0)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        why = problem.strerror or problem
        raise StoreError(f"{path}: {why}: make sure that the folder exists and that you may write there") from problem


def _locked_file(path: Path) -> int:
    """Make a file and lock it; whoever tidies up may remove it in between, then it is made again."""
    import fcntl  # noqa: PLC0415 - not on Windows

    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


def _is_held(path: Path) -> bool:
    """Say whether a process holds the lock on a file."""
    import fcntl  # noqa: PLC0415 - not on Windows

    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # shared, so that those who only look do not take each other for a worker
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
