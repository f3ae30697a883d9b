"""Start a daemon beside the program that found none: the next call is answered by it.

It is asked for on the way of a call, so it gets by with next to nothing.
"""
# ruff: noqa: PTH116

import os
import signal
import time
from collections.abc import Mapping
from typing import Final

from hookline.bridge.daemon.place import place_of
from hookline.errors import StoreError

IDLE: Final = 1800.0
"""Seconds without a call after which a daemon goes."""

SWITCH: Final = "HOOKLINE_DAEMON"
OFF: Final = frozenset({"off", "0", "false", "no"})
# variables in which build services say who they are: what they start must end with them
_SERVICES: Final = ("CI", "BUILD_NUMBER", "TF_BUILD", "TEAMCITY_VERSION")
_NOT_HERE: Final = frozenset({"", "0", "false"})
_ON_ITS_WAY: Final = 10.0  # seconds
_HANDED_ON: Final = "HOOKLINE_NESTING"


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Say whether a daemon may be started from here without anybody asking for it."""
    return environ.get(SWITCH, "").lower() not in OFF and not is_in_service(environ)


def is_in_service(environ: Mapping[str, str]) -> bool:
    """Say whether a build service runs this, where nobody may stay at work."""
    return any(environ.get(name, "").lower() not in _NOT_HERE for name in _SERVICES)


# whether the settings that a call was answered by want no daemon
_refused: list[bool] = []


def refuse() -> None:
    """Have none started by this process: the person does not want it."""
    # once is enough: one that stays would fill its memory with it
    _refused[:] = [True]


def wake(python: str, environ: Mapping[str, str]) -> bool:
    """Start a daemon, unless one is on its way or nobody wants it; say whether one comes."""
    if _refused or not is_wanted(environ):
        return False
    place = place_of(environ, python)
    try:
        place.made()
    except StoreError:
        # nobody could reach it
        return False
    try:
        if 0 <= time.time() - os.stat(place.starting).st_mtime < _ON_ITS_WAY:
            return True
    except OSError:
        pass
    try:
        os.close(os.open(place.starting, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.utime(place.starting)
        spawn(python, environ, log=str(place.log))
    except OSError:
        return False
    return True


def spawn(python: str, environ: Mapping[str, str], *, log: str, words: tuple[str, ...] = ()) -> int:
    """Start a daemon that has nothing to do with this program: no terminal, no pipe, no folder, no end in common.

    Raises:
        OSError: It cannot be started.
    """
    appended = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, appended, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        *((os.POSIX_SPAWN_CLOSE, number) for number in handed_down()),
    ]
    argv = (python, "-E", "-P", "-m", "hookline", "daemon", "run", *words)
    env = {name: value for name, value in environ.items() if name != _HANDED_ON}
    ended_by = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD)
    try:
        return os.posix_spawn(python, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=ended_by)
    except NotImplementedError:
        # a system on which nobody can be given a session of their own; a group has to do
        return os.posix_spawn(python, argv, env, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=ended_by)


def handed_down() -> list[int]:
    """List what the agent left open for everybody: whoever waits for the end of a pipe or a lock must not wait for us."""
    found: list[int] = []
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]  # noqa: PTH208
    except OSError:
        return found
    for number in numbers:
        try:
            if number > 2 and os.get_inheritable(number):  # noqa: PLR2004 - the streams are led elsewhere
                found.append(number)
        except OSError:
            # the folder itself, which is closed by now
            continue
    return found
