"""How a child process ended, the limits on its output, and the reply the engine makes of it."""

import errno
import signal
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from hookline.model.exchange import Failure, FailureKind, Reply
from hookline.model.sandbox import LIMITS, Sandbox, format_limit


class EncodedEnv(dict[bytes, bytes]):
    """An environment that many children get: the block that they are started with is made once. It is not changed after that."""

    @cached_property
    def block(self) -> bytes:
        """All variables, each as `NAME=value` with a NUL behind it.

        Raises:
            ValueError: A variable cannot be passed to a program.
        """
        block = b"\0".join(map(b"=".join, self.items())) + b"\0"
        if self and block.count(b"\0") != len(self):
            raise ValueError("embedded null byte")
        if b"" in self or b"=" in b"\0".join(self):
            raise ValueError("illegal environment variable name")
        return block


Env: TypeAlias = Mapping[bytes, bytes] | Mapping[str, str]
"""The complete environment of a child: bytes, or text on Windows."""

OUTPUT_LIMIT: Final = 1_048_576
"""Bytes a child may print, on stdout and stderr together."""

GRACE_SECONDS: Final = 1.0
"""Seconds between SIGTERM and SIGKILL."""

STDOUT: Final = 1
STDERR: Final = 2

EXIT_NOT_FOUND: Final = 127
EXIT_NOT_STARTED: Final = 126

_START_FAILURES: Final[Mapping[int, tuple[FailureKind, str]]] = MappingProxyType(
    {
        errno.ENOENT: (FailureKind.NOT_FOUND, 'program "{program}" does not exist'),
        errno.ENOTDIR: (FailureKind.NOT_FOUND, 'program "{program}" does not exist'),
        errno.ELOOP: (FailureKind.NOT_FOUND, 'program "{program}" is a link to itself'),
        errno.ENAMETOOLONG: (FailureKind.NOT_FOUND, 'program "{program}" has too long a name'),
        errno.EACCES: (
            FailureKind.REFUSED,
            '"{program}" may not be executed: chmod +x it, or name its interpreter first',
        ),
        errno.EPERM: (FailureKind.REFUSED, '"{program}" may not be executed by this user'),
        errno.ENOEXEC: (FailureKind.REFUSED, '"{program}" is not a program this machine can run'),
        errno.ETXTBSY: (FailureKind.REFUSED, '"{program}" is being written to'),
        errno.E2BIG: (
            FailureKind.TOO_LONG,
            "arguments and environment together are longer than the system allows: read the event from stdin instead",
        ),
        errno.EAGAIN: (FailureKind.INTERNAL, "the system allows no more processes for this user now"),
        errno.ENOMEM: (FailureKind.INTERNAL, "the system has no memory left for another process"),
        errno.EMFILE: (FailureKind.INTERNAL, "this program has too many files open to start another"),
        errno.ECHILD: (
            FailureKind.INTERNAL,
            "its exit code was taken by another part of this program, which ignores SIGCHLD or reaps all children",
        ),
        errno.ENFILE: (FailureKind.INTERNAL, "the system has too many files open"),
    }
)


class ContainmentError(OSError):
    """A child was not started, because something that was to contain it could not be set up."""


class ExitReason(StrEnum):
    """Why a child ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    OVERFLOWED = "overflowed"
    LIMITED = "limited"


class ProcessResult(Struct, frozen=True, kw_only=True):
    """A child that has ended; a negative `exit_code` is the number of the signal that ended it.

    `limit` names the limit of its sandbox that it was ended for.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    reason: ExitReason = ExitReason.EXITED
    limit: str = ""


class OutputBuffer:
    """Collect the output of a child, up to one limit for both streams."""

    def __init__(self) -> None:
        self._chunks: dict[int, list[bytes]] = {STDOUT: [], STDERR: []}
        self.remaining = OUTPUT_LIMIT

    def add(self, stream: int, chunk: bytes) -> bool:
        """Store as much of a chunk as fits; return whether all of it did."""
        fits = len(chunk) <= self.remaining
        if not fits:
            chunk = chunk[: self.remaining]
        self.remaining -= len(chunk)
        self._chunks[stream].append(chunk)
        return fits

    def get(self, stream: int) -> bytes:
        """Return the output of one stream."""
        return b"".join(self._chunks[stream])


def refusal_reply(message: str, *, layers: tuple[str, ...] = ()) -> Reply:
    """Return the reply for a program that was not started, or whose answer does not count; `layers` have contained it."""
    return Reply(failure=Failure(FailureKind.REFUSED, message), exit_code=EXIT_NOT_STARTED, sandbox=layers)


def start_failure_reply(program: str, cwd: str, argv: tuple[str, ...], *, problem: OSError | ValueError) -> Reply:
    """Return the reply for a program that could not be started."""
    failure = _describe_start_failure(program, cwd, problem)
    code = EXIT_NOT_FOUND if failure.kind is FailureKind.NOT_FOUND else EXIT_NOT_STARTED
    return Reply(failure=failure, exit_code=code, argv=argv)


def _describe_start_failure(name: str, cwd: str, problem: OSError | ValueError) -> Failure:
    if not isinstance(problem, OSError):
        return Failure(FailureKind.REFUSED, f"its arguments or variables cannot be given to a program: {problem}")
    if isinstance(problem, ContainmentError):
        return Failure(FailureKind.REFUSED, f"not run, because it could not be contained: {problem.strerror}")
    program = Path(cwd, name)
    if cwd and not Path(cwd).is_dir():
        return Failure(FailureKind.NOT_FOUND, f'there is no folder "{cwd}" to run in')
    if problem.errno == errno.ENOENT and program.exists():
        return Failure(FailureKind.NOT_FOUND, f'the interpreter in the first line of "{program}" does not exist')
    if problem.errno == errno.EACCES and program.is_dir():
        return Failure(FailureKind.REFUSED, f'"{program}" is a folder, not a program')
    kind, message = _START_FAILURES.get(
        problem.errno or 0, (FailureKind.INTERNAL, f"could not be started: {problem.strerror or problem}")
    )
    return Failure(kind, message.format(program=program))


# how a program that met a limit ends: by a signal, which a shell reports as a number above 128, or with these words
_SIGNS: Final[Mapping[str, tuple[tuple[int, ...], tuple[bytes, ...]]]] = MappingProxyType(
    {
        "cpu": ((-signal.SIGXCPU, 128 + signal.SIGXCPU), ()),
        "file_size": ((-signal.SIGXFSZ, 128 + signal.SIGXFSZ), (b"File too large", b"EFBIG")),
        "memory": ((), (b"MemoryError", b"Cannot allocate memory", b"out of memory", b"bad_alloc", b"ENOMEM")),
        "open_files": ((), (b"Too many open files", b"EMFILE")),
    }
)


def find_limit(result: ProcessResult, sandbox: Sandbox) -> str:
    """Return the limit of its sandbox that made a child fail, or ""."""
    if result.limit or result.reason is not ExitReason.EXITED or not result.exit_code:
        return result.limit
    for name, (codes, words) in _SIGNS.items():
        if getattr(sandbox, name) and (result.exit_code in codes or any(word in result.stderr for word in words)):
            return name
    return ""


def describe_limit(limit: str, sandbox: Sandbox) -> Failure:
    """Return the failure of a hook that was ended by a limit of its sandbox."""
    figure = format_limit(limit, getattr(sandbox, limit))
    return Failure(FailureKind.LIMIT, f"ended by its limit of {figure} for {LIMITS[limit]} (sandbox.{limit})")


def result_to_reply(
    result: ProcessResult, timeout: float, argv: tuple[str, ...], *, sandbox: Sandbox | None = None
) -> Reply:
    """Return the reply for a child that ran: its output, and a failure if it did not end by itself."""
    stdout, stderr, code = result.stdout, result.stderr, result.exit_code
    limit = find_limit(result, sandbox) if sandbox is not None else ""
    if result.reason is ExitReason.EXITED and code >= 0 and not limit:
        return Reply(stdout=stdout, stderr=stderr, exit_code=code, argv=argv)
    if limit and sandbox is not None:
        failure = describe_limit(limit, sandbox)
    elif result.reason is ExitReason.TIMED_OUT:
        failure = Failure(FailureKind.TIMEOUT, f"gave no answer within {timeout:g} s; ended")
    elif result.reason is ExitReason.OVERFLOWED:
        text = f"printed more than {OUTPUT_LIMIT >> 20} MB on stdout and stderr; ended"
        failure = Failure(FailureKind.TOO_MUCH_OUTPUT, text)
    else:
        failure = Failure(FailureKind.KILLED, f"was ended by {signal_name(-code)} before it finished")
    if code < 0:
        code = 128 - code
    # a hook that reacts to SIGTERM with exit code 0 did not succeed
    return Reply(stdout=stdout, stderr=stderr, exit_code=code or 1, failure=failure, argv=argv)


def signal_name(number: int) -> str:
    """Return the name of a signal, such as SIGTERM."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
