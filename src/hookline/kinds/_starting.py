"""Start a program with these descriptors, in this folder, with the umask of whoever asks."""

import errno
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from hookline import surroundings
from hookline.kinds import moving
from hookline.kinds._child import STDERR, Env

EXTRA: Final = 3
"""The descriptor on which a child finds what is too long for its arguments."""

# Python ignores SIGPIPE and SIGXFSZ, and a job started by `nohup` or with `&` may have others ignored. A child
# would inherit that: `yes | head` in a hook would never end, and a hook could not be asked to end.
_BY_POPEN: Final = tuple(int(getattr(signal, name)) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))
_NOT_BY_POPEN: Final = tuple(
    int(getattr(signal, name)) for name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGCHLD") if hasattr(signal, name)
)
_DEFAULTED: Final = _BY_POPEN + _NOT_BY_POPEN

# posix_spawn cannot change the folder; a shell can, where Popen would get signals or descriptors wrong.
_ENTER_AND_RUN: Final = 'cd -P -- "$1" && shift && exec "$@"'
_MASK_ENTER_AND_RUN: Final = 'umask "$1" && shift && ' + _ENTER_AND_RUN


def _strays() -> tuple[int, ...]:
    """Find the descriptors this program got from its parent and would pass on to every child."""
    found = []
    with suppress(OSError):
        for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - pathlib makes a path of each
            with suppress(OSError):
                if number > STDERR and os.get_inheritable(number):
                    found.append(number)
    return tuple(found)


# Python makes its own descriptors close on exec; those it was started with are open to all children. Since
# Python 3.13 the child closes them all, unless it is to keep some; otherwise those known now.
_CLOSE_FROM: Final[int | None] = getattr(os, "POSIX_SPAWN_CLOSEFROM", None)
_STRAYS: Final = _strays()
_DUP2: Final[int] = getattr(os, "POSIX_SPAWN_DUP2", 0)
_CLOSE: Final[int] = getattr(os, "POSIX_SPAWN_CLOSE", 0)


def start(program: str, argv: tuple[str, ...], *, env: Env, cwd: str, ends: Sequence[int], files: Sequence[int]) -> int:
    """Start the child with these ends as its descriptors 0, 1, 2 and 3, and return its number.

    `cwd` is empty for the folder this program is in; the child keeps `files` open under their numbers.

    Raises:
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be passed to a program.
    """
    umask = surroundings.umask()
    if not cwd and umask is None:
        return _spawn(program, argv, env=env, ends=ends, files=files)
    if moving.is_owned():
        with moving.away(cwd, umask):
            return _spawn(program, argv, env=env, ends=ends, files=files)
    if len(ends) <= EXTRA and _popen_is_right():
        return _by_popen(program, argv, env=env, cwd=cwd, ends=ends, files=files)
    program, argv = _by_shell(program, argv, cwd=cwd or ".", umask=umask)
    return _spawn(program, argv, env=env, ends=ends, files=files)


def _spawn(program: str, argv: tuple[str, ...], *, env: Env, ends: Sequence[int], files: Sequence[int]) -> int:
    actions = [(_DUP2, ends[0], 0), (_DUP2, ends[1], 1), (_DUP2, ends[2], 2)]
    if len(ends) > EXTRA:
        actions.append((_DUP2, ends[EXTRA], EXTRA))
    if files:
        # a descriptor that is made its own twin stays open in the child
        actions += [(_DUP2, file, file) for file in files]
    if _CLOSE_FROM is not None and not files:
        actions.append((_CLOSE_FROM, len(ends)))  # type: ignore[arg-type]
    elif _STRAYS:
        kept = {*range(len(ends)), *files}
        actions += [(_CLOSE, stray) for stray in _STRAYS if stray not in kept]  # type: ignore[misc]
    return os.posix_spawn(program, argv, env, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=_DEFAULTED)


def _by_popen(
    program: str, argv: tuple[str, ...], *, env: Env, cwd: str, ends: Sequence[int], files: Sequence[int]
) -> int:
    import subprocess  # noqa: PLC0415 - costs more than all of this module, and is not needed in our own folder

    stdin, stdout, stderr = ends
    umask = surroundings.umask()
    process = subprocess.Popen(
        argv,
        executable=program,
        env=env,
        cwd=cwd or None,
        umask=-1 if umask is None else umask,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        process_group=0,
        pass_fds=files,
    )
    process.returncode = 0  # reaped by us: keeps it from doing so, and from warning about it
    return process.pid


def _popen_is_right() -> bool:
    """Tell whether a child of Popen would start with default signals, none of them blocked."""
    ignored = any(signal.getsignal(number) is signal.SIG_IGN for number in _NOT_BY_POPEN)
    return not ignored and not signal.pthread_sigmask(signal.SIG_BLOCK, ())


def _by_shell(program: str, argv: tuple[str, ...], *, cwd: str, umask: int | None) -> tuple[str, tuple[str, ...]]:
    """Have a shell go there first.

    Raises:
        OSError: What starting the program there would raise, before a shell turns it into an exit code.
    """
    file = Path(cwd, program)
    for needed in (Path(cwd), file):
        needed.stat()
    if file.is_dir() or not os.access(file, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if umask is None:
        return "/bin/sh", ("sh", "-c", _ENTER_AND_RUN, "hookline", cwd, program, *argv[1:])
    return "/bin/sh", ("sh", "-c", _MASK_ENTER_AND_RUN, "hookline", f"{umask:04o}", cwd, program, *argv[1:])
