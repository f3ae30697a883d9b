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

from hookline.model.needed import NeededTool, Version, tool_of
from hookline.model.workspace import find_program
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
    # a pipe of our own: asyncio's would have to be read to its end before it says that the program has ended
    reading, writing = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            cwd=_folder(place),
            env={name: value for name, value in {**os.environ, **dict(place.env)}.items() if name not in _LEFT_OUT},
            process_group=0,
        )
    except OSError as problem:
        os.close(reading)
        return None, f"{asked} cannot be started: {problem.strerror}"
    finally:
        os.close(writing)
    said = b""
    try:
        async with asyncio.timeout(TIMEOUT):
            said = await _read(reading)
            if len(said) < _MOST:
                await process.wait()
    except TimeoutError:
        return None, f"{asked} said nothing within {TIMEOUT:g} s"
    finally:
        os.close(reading)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if process.returncode:
        return None, f"{asked} fails"
    text = said.decode("utf-8", "replace")
    found = _DOTTED.search(text) or _NUMBER.search(text)
    if found is None:
        return None, f"{asked} does not say it"
    return tuple(int(number) for number in found[0].split(".")), ""


def _folder(place: Place) -> str:
    """Say where to ask: never in a folder that we happen to be in."""
    return place.asked_in if os.path.isdir(place.asked_in) else "/"  # noqa: PTH112 - a text that may name nothing


async def _read(handle: int) -> bytes:
    """Read what it says, and no more than a version can need."""
    os.set_blocking(handle, False)
    loop, is_ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(handle, is_ready.set)
    said = bytearray()
    try:
        while len(said) < _MOST:
            try:
                chunk = os.read(handle, _MOST - len(said))
            except BlockingIOError:
                is_ready.clear()
                await is_ready.wait()
                continue
            if not chunk:
                break
            said += chunk
    finally:
        loop.remove_reader(handle)
    return bytes(said)
