"""The C library that starts children: `spawn.c`, compiled when Hookline is installed.

It is loaded by ctypes, so that one library serves every version of Python. Where it is missing (no compiler, or another
system than Linux), `process/portable.py` starts children, and nothing here is used.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from struct import pack
from typing import Final, NamedTuple, NoReturn, cast

from msgspec import Struct

from hookline.process.result import STDERR, ContainmentError, EncodedEnv, Env

LIBRARY: Final = "_spawn.so"

_MAX_LIMITS: Final = 8
_MAX_STREAMS: Final = 4
# numbered as `enum step` of spawn.c; the others are failures of starting, which the error itself explains
_CONTAINING: Final[Mapping[int, str]] = {
    4: "its view of the files could not be made",
    5: "its limits could not be set",
    6: "it could not run as another user",
    7: "landlock refused",
    8: "the filter of system calls could not be set",
    9: "its network could not be made",
}

_FOLDER: Final = 2

# numbered as `enum sockets` of spawn.c
ANY_SOCKETS: Final = -1
NO_SOCKETS: Final = 0
TCP_SOCKETS: Final = 1
INTERNET_SOCKETS: Final = 2
UNIX_SOCKETS: Final = 4


_Descriptors = ctypes.c_int32 * _MAX_STREAMS


class _Limit(ctypes.Structure):
    _fields_ = (("resource", ctypes.c_int32), ("unused", ctypes.c_int32), ("value", ctypes.c_uint64))


class NativeSandbox(ctypes.Structure):
    """`struct sandbox` of spawn.c, which describes the fields; a descriptor or user that is not given is none."""

    _fields_ = (
        ("ruleset", ctypes.c_int32),
        ("sockets", ctypes.c_int32),
        ("has_mounts", ctypes.c_int32),
        ("mount_count", ctypes.c_int32),
        ("mounts", ctypes.c_char_p),
        ("empty", ctypes.c_char_p),
        ("uid", ctypes.c_int64),
        ("gid", ctypes.c_int64),
        ("capabilities", ctypes.c_uint64),
        ("keeps_group", ctypes.c_int32),
        ("own_session", ctypes.c_int32),
        ("user_namespace", ctypes.c_int32),
        ("network", ctypes.c_int32),
        ("limit_count", ctypes.c_int32),
        ("limits", _Limit * _MAX_LIMITS),
    )

    def __init__(self, **fields: int) -> None:
        nothing = dict.fromkeys(("ruleset", "uid", "gid", "user_namespace", "network"), -1)
        super().__init__(**{**nothing, **fields})

    def set_limits(self, limits: Mapping[int, int]) -> None:
        """Set limits by their resource."""
        self.limit_count = len(limits)
        for index, (resource, value) in enumerate(limits.items()):
            self.limits[index] = _Limit(resource, 0, value)


@cache
def load_library() -> ctypes.CDLL | None:
    """Return the library; None where there is none for this machine, or it cannot be loaded."""
    if os.environ.get("HOOKLINE_NATIVE") == "0" or not os.path.exists(library_path()):  # noqa: PTH110
        return None
    try:
        library = ctypes.CDLL(library_path())
        library.hookline_spawn.argtypes = (
            *(ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p),
            *(ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p),
        )
        library.hookline_start.argtypes = (
            *library.hookline_spawn.argtypes,
            *(ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p),
        )
        library.hookline_create_ruleset.argtypes = (ctypes.c_uint64,) * 3
        library.hookline_allow_path.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64)
        library.hookline_allow_port.argtypes = (ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64)
        library.hookline_make_network.argtypes = (ctypes.c_int, ctypes.c_void_p)
    except (OSError, AttributeError):  # made for another processor, or by another version
        return None
    return library


def library_path() -> str:
    """Return where the library is, if there is one."""
    return str(Path(__file__).with_name(LIBRARY))


def spawn(
    program: str,
    argv: Sequence[str],
    *,
    env: Env,
    cwd: str,
    umask: int = -1,
    streams: Sequence[int],
    pass_fds: Sequence[int] = (),
    sandbox: NativeSandbox | None = None,
) -> int:
    """Start a child that leads a process group of its own, and return its pid.

    Raises:
        ContainmentError: It could not be contained.
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be passed to a program.
    """
    sys.audit("subprocess.Popen", program, argv, cwd or None, env)
    step = ctypes.c_int32()
    arguments = _make_arguments(program, argv, env, cwd, (umask, len(streams), *streams, len(pass_fds), *pass_fds))
    pid = load().hookline_spawn(*arguments, None if sandbox is None else ctypes.byref(sandbox), ctypes.byref(step))
    return int(pid) if pid > 0 else _raise_start_error(-pid, step.value, program, cwd)


class StartedChild(NamedTuple):
    """A child, our ends of its pipes, and a pidfd; `stdin` is -1 where all of the input is in its pipe."""

    pid: int
    stdin: int
    stdout: int
    stderr: int
    pidfd: int


def start(  # noqa: PLR0913 - what a process is made of
    program: str,
    argv: Sequence[str],
    *,
    env: Env,
    cwd: str,
    umask: int = -1,
    fd3_data: bytes = b"",
    pass_fds: Sequence[int] = (),
    sandbox: NativeSandbox | None = None,
    stdin: bytes = b"",
) -> StartedChild:
    """Start a child with pipes as its streams, and with `stdin` in its pipe if that fits.

    It leads a process group of its own. Everything else that this program has open is closed in the child, and signals
    that this program ignores are reset: `yes | head` in a hook would never end, and SIGTERM would not end a hook.

    Raises:
        ContainmentError: It could not be contained.
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be passed to a program.
    """
    sys.audit("subprocess.Popen", program, argv, cwd or None, env)
    fd3 = [_store(fd3_data)] if fd3_data else []
    try:
        arguments = _make_arguments(program, argv, env, cwd, (umask, len(fd3), *fd3, len(pass_fds), *pass_fds))
        contained = None if sandbox is None else ctypes.byref(sandbox)
        step, made = ctypes.c_int32(), _Descriptors()
        pid = load().hookline_start(*arguments, contained, ctypes.byref(step), stdin, len(stdin), made)
    finally:
        close_all(fd3)
    return StartedChild(pid, *made) if pid > 0 else _raise_start_error(-pid, step.value, program, cwd)


def _make_arguments(
    program: str, argv: Sequence[str], env: Env, cwd: str, numbers: tuple[int, ...]
) -> tuple[bytes | int | None, ...]:
    """Return the arguments that every start of a child begins with.

    Raises:
        ValueError: An argument or a variable cannot be passed to a program.
    """
    words = b"\0".join(map(os.fsencode, argv)) + b"\0"
    if words.count(b"\0") != len(argv) or "\0" in program:
        raise ValueError("embedded null byte")
    variables = env if isinstance(env, EncodedEnv) else EncodedEnv(cast("Mapping[bytes, bytes]", env))
    folder = os.fsencode(cwd) if cwd else None
    return os.fsencode(program), words, len(argv), variables.block, len(env), folder, pack(f"{len(numbers)}i", *numbers)


def _store(data: bytes) -> int:
    """Return a descriptor from which a child can read data."""
    descriptors = [os.memfd_create("hookline")]
    try:
        move_above_streams(descriptors)
        os.write(descriptors[0], data)
        os.lseek(descriptors[0], 0, os.SEEK_SET)
    except BaseException:
        close_all(descriptors)
        raise
    return descriptors[0]


def move_above_streams(descriptors: list[int]) -> None:
    """Replace descriptors that are in the way of a child's streams: this program runs without stdin, stdout or stderr."""
    for index, descriptor in enumerate(descriptors):
        if descriptor <= STDERR:
            import fcntl  # noqa: PLC0415 - does not exist on Windows

            descriptors[index] = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _MAX_STREAMS)
            os.close(descriptor)


def close_all(descriptors: Iterable[int]) -> None:
    """Close descriptors."""
    for descriptor in descriptors:
        os.close(descriptor)


def _raise_start_error(error: int, step: int, program: str, cwd: str) -> NoReturn:
    if step in _CONTAINING:
        raise ContainmentError(error, f"{_CONTAINING[step]}: {os.strerror(error)}")
    raise OSError(error, os.strerror(error), cwd if step == _FOLDER else program)


def find_filter_problem() -> str:
    """Return why system calls cannot be filtered here, or ""."""
    error = -int(load().hookline_check_filter())
    return os.strerror(error) if error else ""


def landlock_version() -> int:
    """Return the version of landlock that the kernel has, 0 for none."""
    return max(0, int(load().hookline_landlock_version()))


def create_ruleset(*, files: int, ports: int, scopes: int) -> int:
    """Return the descriptor of a new landlock ruleset.

    Raises:
        OSError: The kernel refused.
    """
    return _check(load().hookline_create_ruleset(files, ports, scopes))


def allow_path(ruleset: int, path: str, *, access: int, directory_only: int) -> None:
    """Allow access to a file, or to everything in a folder; what does not exist is left out.

    Raises:
        OSError: The kernel refused.
    """
    result = load().hookline_allow_path(ruleset, os.fsencode(path), access, directory_only)
    if result not in {-errno.ENOENT, -errno.ENOTDIR, -errno.EACCES}:
        _check(result)


def allow_port(ruleset: int, port: int, *, access: int) -> None:
    """Allow connections to a TCP port.

    Raises:
        OSError: The kernel refused.
    """
    _check(load().hookline_allow_port(ruleset, access, port))


class Network(Struct, frozen=True):
    """Descriptors of a network that has nothing but loopback, of a listener there, and of the user namespace it belongs to, or -1."""

    listener: int
    namespace: int
    user_namespace: int

    def close(self) -> None:
        """Close the descriptors of the namespaces; the listener belongs to who serves it."""
        for descriptor in (self.namespace, self.user_namespace):
            if descriptor >= 0:
                os.close(descriptor)


def make_network(port: int) -> Network:
    """Make a network with a listener at a port of its loopback.

    Raises:
        OSError: The kernel refused.
    """
    made = (ctypes.c_int32 * 3)()
    _check(load().hookline_make_network(port, made))
    return Network(*made)


def load() -> ctypes.CDLL:
    """Return the library.

    Raises:
        OSError: There is none.
    """
    library = load_library()
    if library is None:
        raise OSError(errno.ENOSYS, "the library that starts children was not built")
    return library


def _check(result: int) -> int:
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return int(result)
