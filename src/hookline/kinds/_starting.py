"""Start a program with these descriptors, in this folder, with the umask of whoever asks."""

import _signal  # type: ignore[import-not-found] # what "signal" is made of
import errno
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from hookline import surroundings
from hookline.kinds._child import STDERR, Env

EXTRA: Final = 3
"""The descriptor on which a child finds what is too long for its arguments."""

# Python ignores SIGPIPE and SIGXFSZ, and a job started by `nohup` or with `&` may have others ignored. A child
# would inherit that: `yes | head` in a hook would never end, and a hook could not be asked to end.
_BY_PYTHON: Final = tuple(int(getattr(signal, name)) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name))
_BY_OTHERS: Final = tuple(
    int(getattr(signal, name)) for name in ("SIGINT", "SIGQUIT", "SIGTERM", "SIGCHLD") if hasattr(signal, name)
)
_DEFAULTED: Final = _BY_PYTHON + _BY_OTHERS

# posix_spawn cannot change the folder; a shell can, where all others would get signals or descriptors wrong.
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


def _fork_exec() -> Callable[..., int] | None:
    """Find what `subprocess` starts children with, where asyncio, or somebody else, has loaded it.

    The C library's posix_spawn does more: it maps a stack for each child and takes it away again, and the caller waits
    for both. But this is no public name, so it is used only in Pythons that it was tried with.
    """
    module = sys.modules.get("_posixsubprocess")
    return None if module is None or sys.version_info >= (3, 14) else module.fork_exec


_FORK_EXEC: Final = _fork_exec()
# what it takes, in order: the descriptors that are not named; default signals where Python ignores them, no session,
# the group; user and groups; what to call first, and whether it may be vfork
_ALL_CLOSED: Final = True
_GROUP_OF_ITS_OWN: Final = (True, False, 0)
_AS_WE_ARE: Final = (None, None, None)
_VFORKED: Final = (None, True)

_REMEMBERED: Final = 64
_REPORTED: Final = 4096
# milliseconds in which a child that is not watched by vfork has become its program, or said why not
_PATIENCE: Final = 1000

# environments as lines, by the identity of what they were made of, of which a copy tells whether it was changed since
_LINES: Final[dict[int, tuple[Env, list[bytes]]]] = {}


def start(
    program: str,
    argv: tuple[str, ...],
    *,
    env: Env,
    cwd: str,
    ends: Sequence[int],
    files: Sequence[int],
) -> int:
    """Start the child with these ends as its descriptors 0, 1, 2 and 3, and return its number.

    `cwd` is empty for the folder this program is in; the child keeps `files` open under their numbers.

    Raises:
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be passed to a program.
    """
    if _FORK_EXEC is None or len(ends) > EXTRA or not _are_signals_plain():
        return _start_otherwise(program, argv, env=env, cwd=cwd, ends=ends, files=files)
    # A child that cannot become the program writes why into this pipe, which closes when it does.
    report, told = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    if told <= STDERR:  # which are closed in this program, and would be led elsewhere in the child
        close_all((report, told))
        return _start_otherwise(program, argv, env=env, cwd=cwd, ends=ends, files=files)
    try:
        try:
            sys.audit("subprocess.Popen", program, argv, cwd or None, env)
            umask = surroundings.umask()
            pid = _FORK_EXEC(
                argv,
                (os.fsencode(program),),
                _ALL_CLOSED,
                tuple(sorted({told, *files})) if files else (told,),
                cwd or None,
                _lines(env),
                *(ends[0], -1, -1, ends[1], -1, ends[2], report, told),
                *_GROUP_OF_ITS_OWN,
                *_AS_WE_ARE,
                -1 if umask is None else umask,
                *_VFORKED,
            )
        finally:
            os.close(told)
        problem = _reported(report)
    finally:
        os.close(report)
    if problem:
        raise _not_started(problem, pid, program=program, cwd=cwd)
    return pid


def _reported(report: int) -> bytes:
    """Read why a child could not become its program; nothing when it did.

    With vfork, it has done so when we get to run again. Where the system allows no vfork, we wait for it; not for ever, as
    somebody else who forks may hold the pipe.
    """
    said = b""
    while True:
        try:
            chunk = os.read(report, _REPORTED)
        except BlockingIOError:
            poll = select.poll()
            poll.register(report, select.POLLIN)
            if not poll.poll(_PATIENCE):
                return said
            continue
        if not chunk:
            return said
        said += chunk


def close_all(descriptors: Iterable[int]) -> None:
    """Close descriptors."""
    for descriptor in descriptors:
        os.close(descriptor)


def _are_signals_plain() -> bool:
    """Tell whether a child of `fork_exec` or `Popen` would start with default signals, none of them blocked."""
    # not those of the module "signal": they make enum members of what they give
    handler, ignored = _signal.getsignal, _signal.SIG_IGN
    for number in _BY_OTHERS:
        if handler(number) is ignored:
            return False
    return not _signal.pthread_sigmask(_signal.SIG_BLOCK, ())


def _not_started(report: bytes, pid: int, *, program: str, cwd: str) -> OSError:
    """Read why a child could not become a program, as in `OSError:2:noexec`: a number, and whether it came that far."""
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
    _, _, said = report.partition(b":")
    number, _, where = said.partition(b":")
    code = int(number, 16)
    return OSError(code, os.strerror(code), cwd if where.startswith(b"noexec") and cwd else program)


def _lines(env: Env) -> list[bytes]:
    """Give an environment as the system takes it, most often the one it was made for the last time.

    Raises:
        ValueError: A variable's name or value is none.
    """
    known = _LINES.get(id(env))
    if known is not None and known[0] == env:
        return known[1]
    lines = []
    for name, value in env.items():
        encoded = os.fsencode(name)
        if not encoded or b"=" in encoded[1:]:
            raise ValueError(f"illegal environment variable name {os.fsdecode(encoded)!r}")
        lines.append(encoded + b"=" + os.fsencode(value))
    if len(_LINES) >= _REMEMBERED:
        _LINES.clear()
    _LINES[id(env)] = (dict(cast("Mapping[bytes, bytes]", env)), lines)
    return lines


def _start_otherwise(
    program: str, argv: tuple[str, ...], *, env: Env, cwd: str, ends: Sequence[int], files: Sequence[int]
) -> int:
    umask = surroundings.umask()
    if not cwd and umask is None:
        return _spawn(program, argv, env=env, ends=ends, files=files)
    if len(ends) <= EXTRA and _are_signals_plain():
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
    """Start it as `start` does, in Pythons of which nobody knows yet how."""
    import subprocess  # noqa: PLC0415 - costs more than all of this module, and is almost never needed

    umask = surroundings.umask()
    process = subprocess.Popen(
        argv,
        executable=program,
        env=env,
        cwd=cwd or None,
        umask=-1 if umask is None else umask,
        stdin=ends[0],
        stdout=ends[1],
        stderr=ends[2],
        process_group=0,
        pass_fds=files,
    )
    process.returncode = 0  # reaped by us: keeps it from doing so, and from warning about it
    return process.pid


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
