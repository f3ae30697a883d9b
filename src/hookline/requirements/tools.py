"""Check that programs are on the search path, in the required version.

A program inside the project does not count: hooks never start one from there.
"""

import asyncio
import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final

from hookline import caller_context
from hookline.model.requirements import NeededTool, Version, parse_tool
from hookline.model.workspace_paths import find_program, without_folders
from hookline.requirements._run_dir import RunDir

TIMEOUT: Final = 5.0
"""Seconds a program has to print its version."""

# a shell would run the file they name before the program itself
_DROPPED: Final = frozenset({"BASH_ENV", "ENV"})
_LARGEST: Final = 65_536
_NUMBER: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})+|\d{1,9}", re.ASCII)
_DOTTED: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})+", re.ASCII)
# arguments of programs without --version
_VERSION_ARGS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "go": ("version",),
        "java": ("-version",),
        "javac": ("-version",),
        "kubectl": ("version", "--client"),
        "ssh": ("-V",),
        "tmux": ("-V",),
        "terraform": ("version",),
    }
)


async def check(text: str, run_dir: RunDir) -> str:
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
    try:
        output, has_failed = await _run((program, *words), run_dir)
    except TimeoutError:
        return None, f"{asked} did not end within {TIMEOUT:g} s"
    except OSError as problem:
        return None, f"{asked} cannot be started: {problem.strerror or problem}"
    if has_failed:
        return None, f"{asked} fails"
    text = output.decode("utf-8", "replace")
    match = _DOTTED.search(text) or _NUMBER.search(text)
    if match is None:
        return None, f"{asked} does not say it"
    return tuple(int(number) for number in match[0].split(".")), ""


async def _run(words: tuple[str, ...], run_dir: RunDir) -> tuple[bytes, bool]:
    """Run a program until it ends or has printed enough; return its output, and whether it failed.

    Raises:
        TimeoutError: It did neither in time.
    """
    # Not a pipe of asyncio: a process that the program left running may hold it open forever.
    ours, theirs = os.pipe()
    try:
        os.set_blocking(ours, False)
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=theirs,
                stderr=asyncio.subprocess.STDOUT,
                cwd=_version_dir(run_dir),
                env=_environment(run_dir),
                process_group=0,
            )
        finally:
            os.close(theirs)
        return await _read_output(process, ours)
    finally:
        os.close(ours)


async def _read_output(process: asyncio.subprocess.Process, pipe: int) -> tuple[bytes, bool]:
    loop = asyncio.get_running_loop()
    output = bytearray()

    def on_readable() -> None:
        if not _read_chunk(pipe, output):
            loop.remove_reader(pipe)
            if len(output) >= _LARGEST:
                _kill(process)

    loop.add_reader(pipe, on_readable)
    try:
        async with asyncio.timeout(TIMEOUT):
            await process.wait()
    finally:
        loop.remove_reader(pipe)
        _kill(process)
        await process.wait()
    # the rest that is still in the pipe, which holds no more than this
    _read_chunk(pipe, output)
    # a program that printed too much was killed by us, and has not failed
    return bytes(output), bool(process.returncode) and len(output) < _LARGEST


def _read_chunk(pipe: int, output: bytearray) -> bool:
    """Read what is available, and return whether more may come."""
    try:
        chunk = os.read(pipe, _LARGEST - len(output))
    except BlockingIOError:
        return True
    output += chunk
    return bool(chunk) and len(output) < _LARGEST


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment(run_dir: RunDir) -> dict[str, str]:
    """Return the environment; the interpreter of a script is not taken from the project either."""
    env = {
        name: value
        for name, value in {**caller_context.full_environ(), **dict(run_dir.env)}.items()
        if name not in _DROPPED
    }
    return {**env, "PATH": without_folders(env.get("PATH", ""), run_dir.foreign) or os.defpath}


def _version_dir(run_dir: RunDir) -> str:
    return run_dir.version_dir if os.path.isdir(run_dir.version_dir) else "/"  # noqa: PTH112 - may be no valid path
