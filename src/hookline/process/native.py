"""The C library that starts children: `spawn.c`, compiled when Hookline is installed.

It is loaded by ctypes, so that one library serves every version of Python. Where it is missing (no compiler, or another
system than Linux), `process/portable.py` starts children, and nothing here is used.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, cast

from msgspec import Struct

from hookline.process.result import ContainmentError, Env

LIBRARY: Final = "_spawn.so"

_MAX_LIMITS: Final = 8
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
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
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
    call = SpawnCall(program, argv, env=env, cwd=cwd, umask=umask, streams=streams, pass_fds=pass_fds, sandbox=sandbox)
    return call.check(load().hookline_spawn(*call.arguments))


class SpawnCall:
    """The arguments of `hookline_spawn`, and what its result means.

    The runner makes the call itself: the deepest frame of an event is the one in which its process starts.
    """

    def __init__(
        self,
        program: str,
        argv: Sequence[str],
        *,
        env: Env,
        cwd: str,
        umask: int = -1,
        streams: Sequence[int],
        pass_fds: Sequence[int] = (),
        sandbox: NativeSandbox | None = None,
    ) -> None:
        words = b"\0".join([os.fsencode(word) for word in argv]) + b"\0"
        variables = b"\0".join([b"%b=%b" % pair for pair in cast("Mapping[bytes, bytes]", env).items()]) + b"\0"
        if words.count(b"\0") != len(argv) or (env and variables.count(b"\0") != len(env)) or "\0" in program:
            raise ValueError("embedded null byte")
        if b"" in env or b"=" in b"\0".join(cast("Mapping[bytes, bytes]", env)):
            raise ValueError("illegal environment variable name")
        numbers = (ctypes.c_int32 * (3 + len(streams) + len(pass_fds)))(
            umask, len(streams), *streams, len(pass_fds), *pass_fds
        )
        self._program, self._cwd = program, cwd
        self._step = ctypes.c_int32()
        self.arguments = (
            *(os.fsencode(program), words, len(argv), variables, len(env), os.fsencode(cwd) if cwd else None),
            *(numbers, None if sandbox is None else ctypes.byref(sandbox), ctypes.byref(self._step)),
        )

    def check(self, pid: int) -> int:
        """Return the pid of the child.

        Raises:
            ContainmentError: It could not be contained.
            OSError: It could not be started.
        """
        if pid > 0:
            return pid
        if self._step.value in _CONTAINING:
            raise ContainmentError(-pid, f"{_CONTAINING[self._step.value]}: {os.strerror(-pid)}")
        raise OSError(-pid, os.strerror(-pid), self._cwd if self._step.value == _FOLDER else self._program)


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
