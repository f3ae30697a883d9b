"""Where a user's daemon listens, and how it is started: a socket in a folder that only the user can enter.

`launcher.c` finds the same paths and starts the daemon in the same way, so both change together.
"""

# ruff: noqa: PTH116, PTH117

import os
import signal
import socket
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.errors import StoreError

IDLE: Final = 1800.0
"""Seconds without a call after which a daemon stops."""

SWITCH: Final = "HOOKLINE_DAEMON"
OFF: Final = frozenset({"off", "0", "false", "no"})
# in a CI job, the daemon must be gone soon after the job
_IDLE_IN_CI: Final = 60.0
# variables that CI services set
_CI_VARIABLES: Final = ("CI", "BUILD_NUMBER", "TF_BUILD", "TEAMCITY_VERSION")
_UNSET: Final = frozenset({"", "0", "false"})
_NESTING: Final = "HOOKLINE_NESTING"

_FOLDER: Final = "hookline"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_FNV_START: Final = 0xCBF29CE484222325
_FNV_STEP: Final = 0x100000001B3
_64_BITS: Final = (1 << 64) - 1
_SUFFIXES: Final = ("sock", "lock", "log", "starting", "hung", "off")
_BACKLOG: Final = 512
# bytes that the address of a socket has for a path
_LONGEST: Final = 107 if sys.platform == "linux" else 103


class SocketDir(Struct, frozen=True):
    """The folder of the daemon, and the files in it of one interpreter's daemon.

    It listens at `socket`, holds `lock` as long as it runs, and has its stderr in `log`. `starting` is there while a daemon is
    being started, `hung` when it listens and does not answer, so that the launcher does not call it, and `off` when the user
    wants no daemon, so that the launcher starts none.
    """

    folder: Path
    socket: Path
    lock: Path
    log: Path
    starting: Path
    hung: Path
    off: Path

    def create(self) -> "SocketDir":
        """Create the folder where there is none.

        Raises:
            StoreError: It cannot be created, or other users could reach into it.
        """
        if len(os.fsencode(self.socket)) > _LONGEST:
            raise StoreError(f"{self.socket}: too long for a socket; the daemon needs a shorter XDG_RUNTIME_DIR")
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as problem:
            raise StoreError(f"{self.folder}: {problem.strerror}: the daemon has no place for its socket") from None
        if reason := self.find_reason():
            raise StoreError(reason)
        return self

    def find_reason(self) -> str:
        """Return why the folder cannot be trusted; empty when it can, or is not there."""
        try:
            found = os.lstat(self.folder)
        except FileNotFoundError:
            return ""
        except OSError as problem:
            return f"{self.folder}: {problem.strerror}"
        if not stat.S_ISDIR(found.st_mode):
            return f"{self.folder} is no folder; remove it: the daemon needs that path for its socket"
        if found.st_uid != os.geteuid():
            return f"{self.folder} belongs to another user, so no daemon is used; ask them to remove it"
        if found.st_mode & _OTHERS:
            return f"{self.folder} is open to others, so no daemon is used: chmod 700 {self.folder}"
        return ""


def find_socket_dir(environ: Mapping[str, str], python: str = "") -> SocketDir:
    """Return the paths of the daemon that runs with an interpreter, by default our own."""
    user = os.geteuid()
    parent = ""
    for folder in (environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{user}"):
        with suppress(OSError, ValueError):
            found = os.stat(folder)
            if os.path.isabs(folder) and stat.S_ISDIR(found.st_mode) and found.st_uid == user:
                parent = folder
                break
    # in the shared folder, the owner and the mode of ours are checked
    home = Path(parent, _FOLDER) if parent else Path(f"/tmp/{_FOLDER}-{user}")  # noqa: S108
    # the FNV-1a hash of the interpreter's path: each has its own libraries, and its own Hookline
    number = _FNV_START
    for byte in os.fsencode(python or sys.executable):
        number = ((number ^ byte) * _FNV_STEP) & _64_BITS
    return SocketDir(home, *(home / f"{number:016x}.{suffix}" for suffix in _SUFFIXES))


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Return whether a daemon may be started automatically."""
    return environ.get(SWITCH, "").lower() not in OFF


def usual_idle(environ: Mapping[str, str]) -> float:
    """Return after how many seconds without a call a daemon stops; sooner where a CI job started it."""
    is_in_ci = any(environ.get(name, "").lower() not in _UNSET for name in _CI_VARIABLES)
    return _IDLE_IN_CI if is_in_ci else IDLE


def remember_choice(environ: Mapping[str, str], *, wanted: bool) -> None:
    """Leave a mark for the launcher where the user's settings want no daemon."""
    if os.name == "nt":
        return
    place = find_socket_dir(environ)
    with suppress(OSError, StoreError):
        if wanted:
            place.off.unlink(missing_ok=True)
        else:
            place.create().off.touch(mode=0o600)


def spawn(python: str, environ: Mapping[str, str], *, log: str, words: tuple[str, ...] = ()) -> int:
    """Start a daemon detached from this process: its own session, no inherited descriptors, stderr in its log.

    Raises:
        OSError: It cannot be started.
    """
    appended = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, appended, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        *((os.POSIX_SPAWN_CLOSE, number) for number in list_inherited()),
    ]
    argv = (python, "-E", "-P", "-m", "hookline", "daemon", "run", *words)
    env = {name: value for name, value in environ.items() if name != _NESTING}
    ended_by = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD)
    try:
        return os.posix_spawn(python, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=ended_by)
    except NotImplementedError:
        # no setsid on this system; a process group has to do
        return os.posix_spawn(python, argv, env, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=ended_by)


def list_inherited() -> list[int]:
    """List inheritable descriptors of the agent: a pipe or a lock of it must not stay open in the daemon."""
    inherited: list[int] = []
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]  # noqa: PTH208
    except OSError:
        return inherited
    for number in numbers:
        try:
            if number > 2 and os.get_inheritable(number):  # noqa: PLR2004 - the standard streams are redirected
                inherited.append(number)
        except OSError:
            # the descriptor of the listing itself
            continue
    return inherited


class Claim(Struct, frozen=True):
    """The lock that one daemon holds as long as it runs, and the socket that it listens at."""

    lock: int
    listening: socket.socket

    def release(self) -> None:
        """Let the next daemon start."""
        self.listening.close()
        os.close(self.lock)


def claim(place: SocketDir) -> Claim | None:
    """Listen as the daemon of this user, before anything heavy is imported: calls wait meanwhile. None where one runs.

    Raises:
        StoreError: The folder or the lock cannot be used.
        OSError: The socket cannot be created.
    """
    import fcntl  # noqa: PLC0415 - not on Windows

    place.create()
    try:
        lock = os.open(place.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise StoreError(f"{place.lock}: {problem.strerror}: the daemon cannot be there") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    # `hookline daemon stop` ends this process if it hangs
    os.ftruncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    # Bind under another name first: a launcher that finds the socket finds a process that listens. The name is no longer
    # than the final one, whose length was checked; we hold the lock, so no other daemon uses it.
    beside = place.socket.with_suffix(".new")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            beside.unlink()
        listening.bind(str(beside))
        beside.chmod(0o600)
        listening.listen(_BACKLOG)
        listening.settimeout(0)
        beside.replace(place.socket)
    except BaseException:
        listening.close()
        raise
    return Claim(lock, listening)
