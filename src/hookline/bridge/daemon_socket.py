"""Where a user's daemon listens, and how it is started: a socket in a folder that only the user can enter.

`launcher.c` finds the same paths and starts the daemon in the same way, so both change together.
"""
# ruff: noqa: PTH116, PTH117

import os
import signal
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
# bytes that the address of a socket has for a path
_LONGEST: Final = 107 if sys.platform == "linux" else 103


class SocketDir(Struct, frozen=True):
    """The folder of the daemon, and the name in it of all files of one interpreter's daemon."""

    folder: Path
    name: str

    @property
    def socket(self) -> Path:
        """The socket it listens at."""
        return self.folder / f"{self.name}.sock"

    @property
    def lock(self) -> Path:
        """The lock that a daemon holds as long as it runs."""
        return self.folder / f"{self.name}.lock"

    @property
    def log(self) -> Path:
        """The log, its stderr."""
        return self.folder / f"{self.name}.log"

    @property
    def starting(self) -> Path:
        """Present while a daemon is being started."""
        return self.folder / f"{self.name}.starting"

    @property
    def hung(self) -> Path:
        """Present when the daemon listens and does not answer; the launcher does not call it then."""
        return self.folder / f"{self.name}.hung"

    @property
    def off(self) -> Path:
        """Present when the user wants no daemon; the launcher starts none then."""
        return self.folder / f"{self.name}.off"

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
            return f"{self.folder} is no folder; remove it, it stands where the daemon has its socket"
        if found.st_uid != os.geteuid():
            return f"{self.folder} belongs to somebody else, so no daemon is used; ask them to remove it"
        if found.st_mode & _OTHERS:
            return f"{self.folder} is open to others, so no daemon is used: chmod 700 {self.folder}"
        return ""


def find_socket_dir(environ: Mapping[str, str], python: str = "") -> SocketDir:
    """Return the paths of the daemon that runs with an interpreter, by default our own."""
    return SocketDir(_find_folder(environ), _hash(python or sys.executable))


def _find_folder(environ: Mapping[str, str]) -> Path:
    user = os.geteuid()
    named = environ.get("XDG_RUNTIME_DIR", "")
    for folder in (named, f"/run/user/{user}"):
        if os.path.isabs(folder) and _is_own(folder):
            return Path(folder, _FOLDER)
    return Path(f"/tmp/{_FOLDER}-{user}")  # noqa: S108 - its owner and mode are checked


def _is_own(folder: str) -> bool:
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _hash(python: str) -> str:
    """Return the FNV-1a hash of an interpreter's path: each has its own libraries, and its own Hookline."""
    number = _FNV_START
    for byte in os.fsencode(python):
        number = ((number ^ byte) * _FNV_STEP) & _64_BITS
    return f"{number:016x}"


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
