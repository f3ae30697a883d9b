"""What becomes of a program that was started, or could not be: the words for each."""

import errno
import signal
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, assert_never

from hookline.kinds._child import OUTPUT_LIMIT, Ended, Finished
from hookline.model.exchange import Failure, FailureKind, Reply

EXIT_NOT_FOUND: Final = 127
EXIT_NOT_STARTED: Final = 126

_NOT_STARTED: Final[Mapping[int, tuple[FailureKind, str]]] = MappingProxyType(
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
            FailureKind.REFUSED,
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


def refused(message: str) -> Reply:
    """Say why a program was not started, or why what it said does not count."""
    return Reply(failure=Failure(FailureKind.REFUSED, message), exit_code=EXIT_NOT_STARTED)


def not_started(program: str, cwd: str, argv: tuple[str, ...], *, problem: OSError | ValueError) -> Reply:
    """Say what kept a program from being started."""
    failure = _start_failure(program, cwd, problem)
    code = EXIT_NOT_FOUND if failure.kind is FailureKind.NOT_FOUND else EXIT_NOT_STARTED
    return Reply(failure=failure, exit_code=code, argv=argv)


def _start_failure(name: str, cwd: str, problem: OSError | ValueError) -> Failure:
    if not isinstance(problem, OSError):
        return Failure(FailureKind.REFUSED, f"its arguments or variables cannot be given to a program: {problem}")
    program = Path(cwd, name)
    if cwd and not Path(cwd).is_dir():
        return Failure(FailureKind.NOT_FOUND, f'there is no folder "{cwd}" to run in')
    if problem.errno == errno.ENOENT and program.exists():
        return Failure(FailureKind.NOT_FOUND, f'the interpreter in the first line of "{program}" does not exist')
    if problem.errno == errno.EACCES and program.is_dir():
        return Failure(FailureKind.REFUSED, f'"{program}" is a folder, not a program')
    kind, message = _NOT_STARTED.get(
        problem.errno or 0, (FailureKind.INTERNAL, f"could not be started: {problem.strerror or problem}")
    )
    return Failure(kind, message.format(program=program))


def reply(finished: Finished, timeout: float, argv: tuple[str, ...]) -> Reply:
    """Give what a program said, and what went wrong with it."""
    if finished.ended is Ended.EXITED and finished.exit_code >= 0:
        # most often, and the caller waits for it
        return Reply(stdout=finished.stdout, stderr=finished.stderr, exit_code=finished.exit_code, argv=argv)
    failure = _failure(finished, timeout)
    code = finished.exit_code if finished.exit_code >= 0 else 128 - finished.exit_code
    return Reply(
        stdout=finished.stdout,
        stderr=finished.stderr,
        # a hook that answers the request to end with 0 did not succeed
        exit_code=code or 1,
        failure=failure,
        argv=argv,
    )


def _failure(finished: Finished, timeout: float) -> Failure:
    match finished.ended:
        case Ended.TIMED_OUT:
            return Failure(FailureKind.TIMEOUT, f"gave no answer within {timeout:g} s; ended")
        case Ended.OVERFLOWED:
            return Failure(
                FailureKind.TOO_MUCH_OUTPUT, f"printed more than {OUTPUT_LIMIT >> 20} MB on stdout and stderr; ended"
            )
        case Ended.EXITED:
            return Failure(FailureKind.KILLED, _killed(-finished.exit_code))
        case _:
            assert_never(finished.ended)


def _killed(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"was ended by {name} before it finished"
