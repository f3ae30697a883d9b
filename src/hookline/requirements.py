"""Check what a hook requires besides its event: programs, files, services and environment variables.

All checks run concurrently, and results are cached briefly: a hook that runs at every tool call does not ask git for its
version each time, and a service that was just started is found soon.

Checks have effects: they start programs and open connections. So the caller checks trust first.
"""
# a pattern may walk thousands of folders, where pathlib is many times slower
# ruff: noqa: ASYNC240, PTH110, PTH112, PTH118

import asyncio
import glob
import os
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from fnmatch import fnmatchcase
from pathlib import Path
from time import monotonic
from typing import Final

from msgspec import Struct

from hookline import caller_context
from hookline.model.hook import Hook
from hookline.model.requirements import (
    NeededService,
    NeededTool,
    Version,
    parse_file,
    parse_service,
    parse_tool,
    parse_variable,
)
from hookline.model.workspace_paths import USER_SOURCES, find_program, without_folders, workspace_roots
from hookline.process import run
from hookline.process.result import ExitReason
from hookline.process.spec import ProcessSpec
from hookline.text import escape_all
from hookline.version import __version__


class RunDir(Struct, frozen=True, kw_only=True):
    """A folder, the folders that no program is taken from, and the variables a hook sets for itself.

    Programs are asked for their version in `version_dir`: version managers run what that folder configures.
    """

    folder: str
    version_dir: str
    foreign: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()

    def variable(self, name: str) -> str:
        """Return a variable as the hook would see it, or ""."""
        return dict(self.env).get(name, caller_context.environ().get(name, ""))


def run_dir_of(hook: Hook, cwd: str) -> RunDir:
    """Return where a hook would run."""
    try:
        here = cwd or caller_context.folder()
        foreign = workspace_roots(hook, cwd)
    except OSError:  # the current folder was removed, so nothing is in it
        here, foreign = "/", ()
    is_own = hook.source in USER_SOURCES
    folder = hook.root if hook.root and not is_own else here
    # a project's version files were approved with its own hooks only
    version_dir = "/" if is_own else folder
    return RunDir(folder=folder, version_dir=version_dir, foreign=foreign, env=tuple(sorted(hook.env.items())))


# Programs: they have to be on the search path, in the required version. A program inside the project does not count: hooks never
# start one from there.

# seconds that a program has to print its version
_TOOL_TIMEOUT: Final = 5.0
# a shell would run the file they name before the program itself
_DROPPED: Final = frozenset({"BASH_ENV", "ENV"})
_NUMBER: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})+|\d{1,9}", re.ASCII)
_DOTTED: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})+", re.ASCII)
# arguments of programs without --version
_VERSION_ARGS: Final[Mapping[str, tuple[str, ...]]] = {
    "go": ("version",),
    "java": ("-version",),
    "javac": ("-version",),
    "kubectl": ("version", "--client"),
    "ssh": ("-V",),
    "tmux": ("-V",),
    "terraform": ("version",),
}


async def _check_tool(text: str, run_dir: RunDir) -> str:
    """Return that a program is missing or has another version, or ""."""
    tool = parse_tool(text)
    path = run_dir.variable("PATH") or os.defpath
    program = find_program(tool.name, path, run_dir.foreign)
    if not program:
        inside = find_program(tool.name, path)
        if inside:
            return f'the program {tool.name} is on PATH only as "{inside}", inside the project: install it outside'
        return f"the program {tool.name} is not on PATH: install it, or correct PATH"
    if not tool.bounds:
        return ""
    version, problem = await _read_version(program, tool, run_dir)
    if version is None:
        return f'the version of "{program}" is not known, {text} is needed: {problem}'
    if tool.accepts(version):
        return ""
    return f'{text} is needed, "{program}" is version {".".join(map(str, version))}: install another version'


async def _read_version(program: str, tool: NeededTool, run_dir: RunDir) -> tuple[Version | None, str]:
    """Return the version of a program, or why there is none."""
    words = _VERSION_ARGS.get(tool.name, ("--version",))
    asked = f"{tool.name} {' '.join(words)}"
    env = {**caller_context.full_environ(), **dict(run_dir.env)}
    # the interpreter of a script is not taken from the project either
    env["PATH"] = without_folders(env.get("PATH", ""), run_dir.foreign) or os.defpath
    spec = ProcessSpec(
        program=program,
        argv=(program, *words),
        env={os.fsencode(name): os.fsencode(value) for name, value in env.items() if name not in _DROPPED},
        cwd=run_dir.version_dir if os.path.isdir(run_dir.version_dir) else "/",
    )
    try:
        result = await run(spec, stdin=b"", timeout=_TOOL_TIMEOUT)
    except OSError as problem:
        return None, f"{asked} cannot be started: {problem.strerror or problem}"
    if result.reason is ExitReason.TIMED_OUT:
        return None, f"{asked} did not end within {_TOOL_TIMEOUT:g} s"
    # a program that printed too much was ended by us, and has not failed
    if result.reason is ExitReason.EXITED and result.exit_code:
        return None, f"{asked} fails"
    text = (result.stdout + result.stderr).decode("utf-8", "replace")
    match = _DOTTED.search(text) or _NUMBER.search(text)
    if match is None:
        return None, f"{asked} does not say it"
    return tuple(int(number) for number in match[0].split(".")), ""


# files and folders, by path or by pattern

# seconds in which something has to match a pattern
_PATTERN_TIMEOUT: Final = 2.0
# a folder, and the components of a pattern that are still to be matched in it
_Search = tuple[str, tuple[str, ...]]


async def _check_file(text: str, run_dir: RunDir) -> str:
    """Return that no such file exists, or ""; a broken link does not exist."""
    name = str(Path(caller_context.expand_home(parse_file(text))))
    path = Path(run_dir.folder, name)
    if path.exists():
        return ""
    if not glob.has_magic(name):
        return f'the file "{escape_all(str(path))}" is not there: make it, or correct files in needs'
    try:
        if await asyncio.to_thread(_matches_any, name, run_dir.folder):
            return ""
    except TimeoutError:
        return f'nothing was found for "{escape_all(text)}" within {_PATTERN_TIMEOUT:g} s: name a folder closer to the file in needs'
    return f'no file in "{escape_all(run_dir.folder)}" matches "{escape_all(text)}"'


def _matches_any(pattern: str, folder: str) -> bool:
    """Return whether a pattern matches, like `glob`, but in bounded time and without following link cycles.

    Raises:
        TimeoutError: There are too many folders.
    """
    path, end = Path(pattern), monotonic() + _PATTERN_TIMEOUT
    searches: list[_Search] = [(path.anchor or folder, path.parts[1:] if path.anchor else path.parts)]
    while searches:
        if monotonic() > end:
            raise TimeoutError
        here, parts = searches.pop()
        if parts:
            searches += _descend(here, parts[0], parts[1:])
        elif os.path.exists(here):
            return True
    return False


def _descend(here: str, part: str, rest: tuple[str, ...]) -> Iterator[_Search]:
    if not glob.has_magic(part):
        yield os.path.join(here, part), rest
        return
    if part == "**":
        # last, because the stack is searched from its end
        yield from ((entry.path, (part, *rest)) for entry in _entries(here) if entry.is_dir(follow_symlinks=False))
        yield here, rest
        return
    for entry in _entries(here, hidden=part.startswith(".")):
        if fnmatchcase(entry.name, part) and (not rest or entry.is_dir()):
            yield entry.path, rest


def _entries(folder: str, *, hidden: bool = False) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if hidden or not entry.name.startswith("."))
    except (OSError, ValueError):
        # not a folder, or not readable
        return


# Services: a port, a socket, or a web address has to answer. Connections are direct, without a proxy. Of a web address only the
# status line is read: any status below 500 is an answer.

# seconds that a service has to answer
_SERVICE_TIMEOUT: Final = 2.0
_LONGEST_LINE: Final = 4096
_BROKEN: Final = 500


async def _check_service(text: str, run_dir: RunDir) -> str:  # noqa: ARG001 - a service does not depend on the folder
    """Return why a service does not answer, or ""."""
    service = parse_service(text)
    advice = f"start it, or correct {_describe_service(service)} in needs"
    try:
        async with asyncio.timeout(_SERVICE_TIMEOUT):
            problem = await _connect(service)
    except TimeoutError:
        problem = f"gave no answer within {_SERVICE_TIMEOUT:g} s"
    except (OSError, ValueError, EOFError) as error:
        problem = f"cannot be reached ({_describe_error(error)})"
    return f"{_describe_service(service)} {problem}: {advice}" if problem else ""


def _describe_error(error: Exception) -> str:
    import ssl  # noqa: PLC0415 - only needed for errors

    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    # the error numbers of these two are not those of the system
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError | socket.gaierror) and (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _describe_service(service: NeededService) -> str:
    """Return the address of a service without its path and query, which may be secret."""
    if service.scheme == "unix":
        return f"unix://{service.path}"
    host = f"[{service.host}]" if ":" in service.host else service.host
    return f"{service.scheme}://{host}:{service.port}"


async def _connect(service: NeededService) -> str:
    """Return what is wrong with the answer of a service, or ""; a port or a socket only has to accept."""
    reader, writer = await _open_connection(service)
    try:
        if service.scheme not in {"http", "https"}:
            return ""
        host = _describe_service(service).partition("://")[2]
        head = (
            f"GET {service.path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: hookline/{__version__}\r\n"
            "Accept: */*\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode("ascii", "replace"))
        await writer.drain()
        protocol, _, rest = (await reader.readline()).decode("latin-1").partition(" ")
    finally:
        # no TLS close handshake
        writer.transport.abort()
    status = rest[:3]
    if not protocol.startswith("HTTP/") or not status.isdecimal():
        return "does not speak HTTP"
    return "" if int(status) < _BROKEN else f"answers with status {status}"


async def _open_connection(service: NeededService) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if service.scheme == "unix":
        return await asyncio.open_unix_connection(service.path)
    secure = {"ssl": True, "server_hostname": service.host} if service.scheme == "https" else {}
    problem: OSError = OSError(f"{service.host} has no address")
    for address in await _resolve(service):
        try:
            return await asyncio.open_connection(address, service.port, limit=_LONGEST_LINE, **secure)  # type: ignore[arg-type]
        except OSError as error:
            problem = error
    raise problem


async def _resolve(service: NeededService) -> list[str]:
    """Resolve a name in a daemon thread: a resolver may take half a minute to fail.

    asyncio would wait for a thread of its own executor when the loop ends, and delay the caller.
    """
    found: Future[list[str]] = Future()

    def resolve() -> None:
        found.set_running_or_notify_cancel()
        try:
            rows = socket.getaddrinfo(service.host, service.port, type=socket.SOCK_STREAM)
            found.set_result(list(dict.fromkeys(str(row[4][0]) for row in rows)))
        except (OSError, UnicodeError) as error:
            found.set_exception(error)

    threading.Thread(target=resolve, name="hookline-resolve", daemon=True).start()
    return await asyncio.wrap_future(found)


# all of them

# seconds for which requirements are cached
_PRESENT: Final = 10.0
_MISSING: Final = 2.0
_CACHE_SIZE: Final = 1024
_SHOWN: Final = 200

_CacheKey = tuple[str, str, RunDir]
_cache: Final[dict[_CacheKey, tuple[float, str]]] = {}


async def _check_variable(text: str, run_dir: RunDir) -> str:
    name = parse_variable(text)
    return "" if run_dir.variable(name) else f"the variable {name} is not set: set it, or give it in the hook's env"


CHECKS: Final[Mapping[str, Callable[[str, RunDir], Awaitable[str]]]] = {
    "tools": _check_tool,
    "files": _check_file,
    "services": _check_service,
    "env": _check_variable,
}
"""The check of each list in `Needs`: returns what is missing and what to do, or ""."""


async def find_missing(hook: Hook, cwd: str) -> str:
    """Return everything that is missing for a hook that runs in this folder, or "".

    Relative files are resolved against the project, which is the root of a project's hook; a user's own hook runs where
    the agent does. Nothing is raised: what cannot be checked is missing.
    """
    wanted = [(kind, text) for kind in CHECKS for text in getattr(hook.needs, kind, ())]
    if not wanted:
        return ""
    run_dir = run_dir_of(hook, cwd)
    async with asyncio.TaskGroup() as group:
        checks = [group.create_task(_check((kind, text, run_dir))) for kind, text in wanted]
    return "; ".join(filter(None, (check.result() for check in checks)))


def clear_cache() -> None:
    """Check everything again that is asked for next."""
    _cache.clear()


async def _check(key: _CacheKey) -> str:
    expires, missing = _cache.get(key, (0.0, ""))
    if monotonic() < expires:
        return missing
    kind, text, run_dir = key
    try:
        missing = await CHECKS[kind](text, run_dir)
    except ValueError as problem:  # names what is wrong, without what may be secret
        missing = f"{kind} in needs cannot be looked for: {problem}"
    except OSError as problem:
        missing = f'"{escape_all(text[:_SHOWN])}" in needs cannot be looked for: {problem.strerror or problem}'
    if len(_cache) >= _CACHE_SIZE:
        _cache.clear()
    # a variable is cheap to check, and may be set at any time
    if kind != "env":
        _cache[key] = (monotonic() + (_MISSING if missing else _PRESENT), missing)
    return missing
