"""Programs that have to be on the search path, with the version that is wanted.

A program inside the project does not count, because none would be started from there.
"""

import asyncio
import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final

from hookline import surroundings
from hookline.model.needed import NeededTool, Version, tool_of
from hookline.model.workspace import find_program, outside
from hookline.needs._place import Place

TIMEOUT: Final = 5.0
"""Seconds a program has to say its version."""

# a shell would run the file they name before the program itself
_LEFT_OUT: Final = frozenset({"BASH_ENV", "ENV"})
_MOST: Final = 65_536
_NUMBER: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})+|\d{1,9}", re.ASCII)
_DOTTED: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})+", re.ASCII)
# how programs are asked that do not know --version
_ASKED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
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


async def look(text: str, place: Place) -> str:
    """Say that a program is not there, or is another version."""
    tool = tool_of(text)
    path = place.variable("PATH") or os.defpath
    program = find_program(tool.name, path, place.foreign)
    if not program:
        inside = find_program(tool.name, path)
        if inside:
            return f'the program {tool.name} is on PATH only as "{inside}", inside the project: install it outside'
        return f"the program {tool.name} is not on PATH: install it, or correct PATH"
    if not tool.bounds:
        return ""
    version, problem = await _version(program, tool, place)
    if version is None:
        return f'the version of "{program}" is not known, {text} is needed: {problem}'
    if tool.accepts(version):
        return ""
    return f'{text} is needed, "{program}" is version {".".join(map(str, version))}: install another version'


async def _version(program: str, tool: NeededTool, place: Place) -> tuple[Version | None, str]:
    """Ask a program for its version; the text says why there is none."""
    words = _ASKED.get(tool.name, ("--version",))
    asked = f"{tool.name} {' '.join(words)}"
    try:
        said, has_failed = await _answer((program, *words), place)
    except TimeoutError:
        return None, f"{asked} did not end within {TIMEOUT:g} s"
    except OSError as problem:
        return None, f"{asked} cannot be started: {problem.strerror or problem}"
    if has_failed:
        return None, f"{asked} fails"
    text = said.decode("utf-8", "replace")
    found = _DOTTED.search(text) or _NUMBER.search(text)
    if found is None:
        return None, f"{asked} does not say it"
    return tuple(int(number) for number in found[0].split(".")), ""


async def _answer(words: tuple[str, ...], place: Place) -> tuple[bytes, bool]:
    """Run a program until it ends or has said enough; give what it said, and whether it failed.

    Raises:
        TimeoutError: It did neither in time.
    """
    # A pipe of our own: what the program left running may hold the other end for ever, and nobody waits for that.
    ours, theirs = os.pipe()
    try:
        os.set_blocking(ours, False)
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=theirs,
                stderr=asyncio.subprocess.STDOUT,
                cwd=_folder(place),
                env=_environment(place),
                process_group=0,
            )
        finally:
            os.close(theirs)
        return await _heard(process, ours)
    finally:
        os.close(ours)


async def _heard(process: asyncio.subprocess.Process, pipe: int) -> tuple[bytes, bool]:
    loop = asyncio.get_running_loop()
    said = bytearray()

    def hear() -> None:
        if not _read(pipe, said):
            loop.remove_reader(pipe)
            if len(said) >= _MOST:
                _end(process)

    loop.add_reader(pipe, hear)
    try:
        async with asyncio.timeout(TIMEOUT):
            await process.wait()
    finally:
        loop.remove_reader(pipe)
        _end(process)
        await process.wait()
    # what it said last may not have been heard yet; a pipe holds no more than this
    _read(pipe, said)
    # whoever says more than a version can need was ended by us, and has not failed
    return bytes(said), bool(process.returncode) and len(said) < _MOST


def _read(pipe: int, said: bytearray) -> bool:
    """Add what can be read just now, and no more than a version can need; say whether more may come."""
    try:
        chunk = os.read(pipe, _MOST - len(said))
    except BlockingIOError:
        return True
    said += chunk
    return bool(chunk) and len(said) < _MOST


def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment(place: Place) -> dict[str, str]:
    """Give the variables to ask with: a script's own interpreter is not taken from the project either."""
    env = {
        name: value
        for name, value in {**surroundings.whole_environ(), **dict(place.env)}.items()
        if name not in _LEFT_OUT
    }
    return {**env, "PATH": outside(env.get("PATH", ""), place.foreign) or os.defpath}


def _folder(place: Place) -> str:
    """Say where to ask: never in a folder that we happen to be in."""
    return place.asked_in if os.path.isdir(place.asked_in) else "/"  # noqa: PTH112 - a text that may name nothing
