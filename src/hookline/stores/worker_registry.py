"""Workers by the files they lock: which are alive, and how one is started.

The system releases a lock when its process ends, however it ends, and a process with a reused id does not hold it. So a
dead worker is found at once, without waiting for a lease to expire.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hookline import caller_context
from hookline.errors import StoreError
from hookline.model.installed_entry import NESTING
from hookline.model.workspace_paths import without_project_folders

SWITCH: Final = "HOOKLINE_WORKER"  # "off" keeps emitters from starting workers
LOG: Final = "worker.log"
LARGEST_LOG: Final = 1024 * 1024  # bytes

_SLOT: Final = "worker.lock"
_STARTED: Final = "worker.started"
_PRESENT: Final = "workers"
# seconds that a starting worker has to take the slot; until then no other is started
_START: Final = 2.0
_PAUSE: Final = 0.02
_PATIENCE: Final = 1.0


@contextmanager
def register_worker(folder: Path) -> Iterator[str]:
    """Register this process as a worker, under the returned name.

    Raises:
        StoreError: The folder cannot be used.
    """
    import fcntl  # noqa: PLC0415 - not on Windows

    name = f"{int(time.time()):x}-{os.getpid():x}-{os.urandom(4).hex()}"
    path = folder / _PRESENT / name
    with _explain_errors(path):
        # one by one: with `parents` the mode would not apply to the data folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            # again if `list_workers` of another process removed it in between
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    break
            os.close(handle)
    try:
        yield name
    finally:
        # before the lock is released: a file without a lock belongs to a dead worker
        path.unlink(missing_ok=True)
        os.close(handle)


def is_alive(folder: Path, worker: str) -> bool:
    """Return whether a worker holds its lock."""
    return _is_held(folder / _PRESENT / worker)


def remove_worker(folder: Path, worker: str) -> None:
    """Remove the file of a dead worker."""
    (folder / _PRESENT / worker).unlink(missing_ok=True)


def list_workers(folder: Path) -> list[str]:
    """Return the workers that are alive, and remove the files of dead ones."""
    names = sorted(path.name for path in (folder / _PRESENT).glob("*-*-*"))
    alive = [name for name in names if is_alive(folder, name)]
    for name in set(names) - set(alive):
        remove_worker(folder, name)
    return alive


class WorkerSlot:
    """The slot of the one worker that emitters rely on; others may work beside it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _SLOT
        self._handle = -1

    def take(self) -> bool:
        """Try to take the slot; return False if another worker has it.

        Raises:
            StoreError: The folder cannot be used.
        """
        import fcntl  # noqa: PLC0415 - not on Windows

        if self._handle >= 0:
            return True
        with _explain_errors(self._path):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # an emitter that checks for a worker holds the lock for a moment
                if time.monotonic() > end:
                    os.close(handle)
                    return False
                time.sleep(_PAUSE)
            else:
                self._handle = handle
                # from here on the lock shows that there is a worker
                self._path.with_name(_STARTED).unlink(missing_ok=True)
                return True

    def leave(self) -> None:
        """Release the slot. The worker must check the queue once more: an emitter may just have relied on it."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def ensure_worker(folder: Path, project: str) -> bool:
    """Start a worker unless one runs or is starting; return whether this call started one.

    Called after a job was stored. A worker releases its slot before it checks the queue for the last time: either it finds
    the job, or this call finds the slot free.
    """
    # in a frozen program, sys.executable is the program itself
    has_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    if caller_context.environ().get(SWITCH, "").lower() in {"off", "0", "false", "no"} or not has_python:
        return False
    is_starting = False
    with suppress(OSError):
        is_starting = 0 <= time.time() - (folder / _STARTED).stat().st_mtime < _START
    if is_starting or _is_held(folder / _SLOT):
        return False
    _start(folder, project)
    # only now: emitters that see this file do not start a worker
    (folder / _STARTED).touch(mode=0o600)
    return True


def _start(folder: Path, project: str) -> None:
    """Start a worker that shares no terminal, pipe, folder or session with this process."""
    import subprocess  # noqa: PLC0415 - only needed here
    import threading  # noqa: PLC0415

    env = {name: value for name, value in caller_context.full_environ().items() if name != NESTING}
    # the worker serves all projects: programs of this one must not be on its PATH
    env["PATH"] = without_project_folders(env.get("PATH", os.defpath), project)
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            # -P: a file of the working folder must not stand in for a module of ours
            [sys.executable, "-P", "-m", "hookline", "queue", "work", "--detached", "--project", project],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=env,
            start_new_session=True,
            close_fds=True,
        )
    finally:
        os.close(log)
    # reap it, or it stays a zombie as long as this process runs
    threading.Thread(target=process.wait, name="hookline-worker", daemon=True).start()


def trim_log(handle: int) -> None:
    """Truncate a worker's own log that has grown too large."""
    with suppress(OSError):
        import stat  # noqa: PLC0415

        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode) and found.st_size > LARGEST_LOG:
            os.ftruncate(handle, 0)


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        why = problem.strerror or problem
        raise StoreError(f"{path}: {why}: make sure that the folder exists and that you may write there") from problem


def _is_held(path: Path) -> bool:
    """Return whether a process holds the lock on a file."""
    import fcntl  # noqa: PLC0415 - not on Windows

    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # shared, so that two checks do not take each other for a worker
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
