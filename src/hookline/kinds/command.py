"""Hooks that are programs: the event on stdin, the answer on stdout."""

import asyncio
import errno
import os
import re
import shlex
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, assert_never
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import ConfigError
from hookline.kinds._child import OUTPUT_LIMIT, Ended, Env, Feed, Finished
from hookline.kinds._process import run
from hookline.kinds._program import Environment, Programs, search_path
from hookline.kinds._slots import Slots
from hookline.kinds.shell.template import ShellTemplate, compile_line
from hookline.model.event import Event
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook

WHITELIST: Final = ("node", "python", "python3", "bash", "sh", "npx", "uvx")
"""Programs a hook may name without their path."""

METACHARACTERS: Final = ";&|`$(){}[]<>"
"""What a shell would give a meaning to; refused where there is no shell."""

_SHELL: Final = "/bin/sh"
_META: Final = re.compile(f"[{re.escape(METACHARACTERS)}\0]")

# A line that means the same to a shell and to us. Its first word is a path or a program no shell has built in.
_PLAIN: Final = re.compile(
    rf"(?:[\w.,:@%+-]*/[\w.,:@%+/-]*|{'|'.join(WHITELIST)})(?:[ \t]+[\w./,:=@%+-]+)*", flags=re.ASCII
)

_NO_SHELL: Final = "it is a shell line, and there is neither sh nor bash here (cmd.exe is not supported)"

_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES})

_EXIT_NOT_FOUND: Final = 127
_EXIT_NOT_STARTED: Final = 126

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


class _Line(Struct, frozen=True, kw_only=True):
    """A configured command as read: its words, the text for a shell, or why it may not run."""

    words: tuple[str, ...] = ()
    script: str = ""
    refusal: str = ""


class _Job(Struct, frozen=True, kw_only=True):
    """One child to start. `script` is what a shell would be given instead."""

    program: str
    argv: tuple[str, ...]
    env: Env
    cwd: str
    path: str
    script: str = ""
    extra: bytes = b""


class Command:
    """Reaches hooks that are programs, each call in a process of its own."""

    def __init__(self, *, shell_dialects: Collection[str] = (), template_dialects: Collection[str] = ()) -> None:
        """Take the names of the dialects whose commands are shell lines, and of those that fill `{{…}}` in."""
        self._shell_dialects = frozenset(shell_dialects)
        self._template_dialects = frozenset(template_dialects)
        self._environment = Environment()
        self._programs = Programs()
        self._shell = _SHELL if Path(_SHELL).exists() else ""
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, Slots] = WeakKeyDictionary()

    def refusal(self, hook: Hook) -> str:
        """Say why this hook may not run as it is written; empty when it may."""
        line = self._line(hook)
        if line.script and not line.refusal:
            if not self._find_shell(os.environ.get("PATH", os.defpath)):
                return _NO_SHELL
            if hook.dialect in self._template_dialects:
                return _template_refusal(line.script)
        return line.refusal

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Run the program and wait at most `timeout` seconds from its start."""
        job = self._job(hook, request)
        if isinstance(job, Failure):
            return Reply(failure=job, exit_code=_EXIT_NOT_STARTED)
        loop = asyncio.get_running_loop()
        slots = self._slots.get(loop)
        if slots is None:
            slots = self._slots[loop] = Slots()
        await slots.take()
        try:
            finished = await self._run(job, stdin=lambda: request.body, timeout=timeout)
        except (OSError, ValueError) as problem:
            return _not_started(job, problem)
        finally:
            slots.give()
        return _reply(finished, timeout)

    async def close(self) -> None:
        """Do nothing: no child outlives its call."""

    def _line(self, hook: Hook) -> _Line:
        shell = hook.shell
        if shell is None:
            shell = hook.dialect in self._shell_dialects and not hook.args
        return _shell_line(hook.command, hook.args) if shell else _plain_line(hook.command, hook.args)

    def _find_shell(self, path: str) -> str:
        return self._shell or self._programs.find("sh", path) or self._programs.find("bash", path)

    def _job(self, hook: Hook, request: Request) -> _Job | Failure:
        line = self._line(hook)
        if line.refusal:
            return Failure(FailureKind.REFUSED, line.refusal)
        cwd = _folder(hook, request.event)
        env = self._environment.with_layers(request.env, {"PWD": cwd} if cwd else {}, hook.env)
        path = search_path(env)
        name = line.words[0] if line.words else ""
        program = name if "/" in name or not name else self._programs.find(name, path)
        job = _Job(program=program, argv=line.words, env=env, cwd=cwd, path=path, script=line.script)
        if program:
            return job
        if not line.script:
            return Failure(FailureKind.NOT_FOUND, f'program "{name}" not found on PATH')
        return self._shell_job(job, request.values)

    def _shell_job(self, job: _Job, values: Mapping[str, object] | None) -> _Job | Failure:
        shell = self._find_shell(job.path)
        if not shell:
            return Failure(FailureKind.NOT_FOUND, _NO_SHELL)
        if values is None or "{{" not in job.script:
            return replace(job, program=shell, argv=("sh", "-c", job.script), script="")
        try:
            bound = _template(job.script).bind(values)
        except ConfigError as problem:
            return Failure(FailureKind.REFUSED, problem.message)
        argv = ("sh", "-c", bound.script, "hookline", *bound.arguments)
        return replace(job, program=shell, argv=argv, script="", extra=bound.long_values)

    async def _run(self, job: _Job, *, stdin: Feed, timeout: float) -> Finished:
        try:
            return await _start(job, stdin=stdin, timeout=timeout)
        except OSError as problem:
            other = self._another_way(job, problem.errno or 0)
            if other is None:
                raise
        return await _start(other, stdin=stdin, timeout=timeout)

    def _another_way(self, job: _Job, code: int) -> _Job | None:
        """Say how else a program may be started that could not be; None when there is no other way."""
        if code == errno.ECHILD:  # it did start
            return None
        if job.script:
            # It is a shell line: the shell says what is wrong with it, as its author expects.
            other = self._shell_job(job, None)
            return other if isinstance(other, _Job) else None
        if code == errno.ENOEXEC and _is_text(Path(job.cwd, job.program)):
            # No "#!" line: shells run it themselves.
            return replace(job, program=self._find_shell(job.path), argv=("sh", job.program, *job.argv[1:]))
        if code in _GONE and "/" not in job.argv[0]:
            found = self._programs.find_again(job.argv[0], job.path)
            return replace(job, program=found) if found not in {"", job.program} else None
        return None


@lru_cache(maxsize=512)
def _shell_line(command: str, args: tuple[str, ...]) -> _Line:
    if args:
        return _Line(refusal="a shell line has no args: write them into the line, or leave shell out")
    if "\0" in command:
        return _Line(refusal="the command holds a NUL character")
    return _Line(script=command, words=tuple(command.split()) if _PLAIN.fullmatch(command) else ())


@lru_cache(maxsize=512)
def _plain_line(command: str, args: tuple[str, ...]) -> _Line:
    for what, text in (("command", command), *(("args", arg) for arg in args)):
        found = _META.search(text)
        if found:
            return _Line(refusal=_metacharacter(what, text=text, found=found[0]))
    try:
        words = (command, *args) if args else tuple(shlex.split(command))
    except ValueError:
        return _Line(refusal=f"the command has a quote that is not closed: {command}")
    if not words or not words[0]:
        return _Line(refusal="the command is empty")
    if words[0] in WHITELIST or Path(words[0]).is_absolute():
        return _Line(words=words)
    return _Line(refusal=_unknown_program(words[0]))


def _metacharacter(what: str, *, text: str, found: str) -> str:
    if found == "\0":
        return f"{what} holds a NUL character"
    advice = "templates are filled in shell lines only; read" if "{{" in text else "set shell: true, or read"
    return f'{what} holds "{found}", which is refused without a shell: {advice} what is needed from stdin'


def _unknown_program(name: str) -> str:
    if "/" in name:
        return f'program "{name}" is a relative path: write the absolute one'
    return f'program "{name}" is none of {", ".join(WHITELIST)}: write its absolute path'


@lru_cache(maxsize=512)
def _template(line: str) -> ShellTemplate:
    return compile_line(line)


def _template_refusal(line: str) -> str:
    if "{{" not in line:
        return ""
    try:
        _template(line)
    except ConfigError as problem:
        return problem.message
    return ""


def _folder(hook: Hook, event: Event) -> str:
    """Say where the hook is to run; empty for where this program is."""
    folder = hook.working_directory
    if folder:
        with suppress(RuntimeError):  # nobody has such a home: reported as a folder that does not exist
            folder = str(Path(folder).expanduser())
        folder = str(Path(event.cwd, folder))
    folder = folder or event.cwd
    if not folder:
        return ""
    try:
        here = os.getcwd()  # noqa: PTH109 - Path.cwd() is ten times as slow, and this is asked at each call
    except OSError:  # our own folder was removed
        return folder
    if not folder.startswith("/"):
        folder = str(Path(here, folder))
    return "" if folder == here else folder


async def _start(job: _Job, *, stdin: Feed, timeout: float) -> Finished:
    return await run(job.program, job.argv, stdin=stdin, env=job.env, cwd=job.cwd, timeout=timeout, extra=job.extra)


def _is_text(file: Path) -> bool:
    """Tell a script from a program of another machine, as shells do: by a NUL in the first line."""
    try:
        with file.open("rb") as opened:
            return b"\0" not in opened.readline(256)
    except OSError:
        return False


def _not_started(job: _Job, problem: OSError | ValueError) -> Reply:
    failure = _start_failure(job, problem)
    code = _EXIT_NOT_FOUND if failure.kind is FailureKind.NOT_FOUND else _EXIT_NOT_STARTED
    return Reply(failure=failure, exit_code=code)


def _start_failure(job: _Job, problem: OSError | ValueError) -> Failure:
    if not isinstance(problem, OSError):
        return Failure(FailureKind.REFUSED, f"its arguments or variables cannot be given to a program: {problem}")
    program = Path(job.cwd, job.program)
    if job.cwd and not Path(job.cwd).is_dir():
        return Failure(FailureKind.NOT_FOUND, f'there is no folder "{job.cwd}" to run in')
    if problem.errno == errno.ENOENT and program.exists():
        return Failure(FailureKind.NOT_FOUND, f'the interpreter in the first line of "{program}" does not exist')
    if problem.errno == errno.EACCES and program.is_dir():
        return Failure(FailureKind.REFUSED, f'"{program}" is a folder, not a program')
    kind, message = _NOT_STARTED.get(
        problem.errno or 0, (FailureKind.INTERNAL, f"could not be started: {problem.strerror or problem}")
    )
    return Failure(kind, message.format(program=program))


def _reply(finished: Finished, timeout: float) -> Reply:
    failure = _failure(finished, timeout)
    code = finished.exit_code if finished.exit_code >= 0 else 128 - finished.exit_code
    return Reply(
        stdout=finished.stdout,
        stderr=finished.stderr,
        # a hook that answers the request to end with 0 did not succeed
        exit_code=code or 1 if failure else code,
        failure=failure,
    )


def _failure(finished: Finished, timeout: float) -> Failure | None:
    match finished.ended:
        case Ended.TIMED_OUT:
            return Failure(FailureKind.TIMEOUT, f"gave no answer within {timeout:g} s; ended")
        case Ended.OVERFLOWED:
            return Failure(
                FailureKind.TOO_MUCH_OUTPUT, f"printed more than {OUTPUT_LIMIT >> 20} MB on stdout and stderr; ended"
            )
        case Ended.EXITED:
            return None if finished.exit_code >= 0 else Failure(FailureKind.KILLED, _killed(-finished.exit_code))
        case _:
            assert_never(finished.ended)


def _killed(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"was ended by {name} before it finished"
