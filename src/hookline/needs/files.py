"""Files and folders that have to be there, by path or by pattern."""
# a pattern may lead through thousands of folders, where pathlib costs many times more
# ruff: noqa: PTH110, PTH118

import asyncio
import glob
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from time import monotonic
from typing import Final

from hookline import surroundings
from hookline.display import exact
from hookline.model.needed import file_of
from hookline.needs._place import Place

TIMEOUT: Final = 2.0
"""Seconds in which something has to match a pattern."""

# a folder, and the parts of a pattern that are still to be found in it
_Search = tuple[str, tuple[str, ...]]


async def look(text: str, place: Place) -> str:
    """Say that there is no such file; one that is a link to nothing is not there."""
    name = str(_at_home(file_of(text)))
    path = Path(place.folder, name)
    if _is_there(path):
        return ""
    if not glob.has_magic(name):
        return f'the file "{exact(str(path))}" is not there: make it, or correct files in needs'
    try:
        if await asyncio.to_thread(_any, name, place.folder):
            return ""
    except TimeoutError:
        return f'nothing was found for "{exact(text)}" within {TIMEOUT:g} s: name a folder closer to the file in needs'
    return f'no file in "{exact(place.folder)}" matches "{exact(text)}"'


def _is_there(path: Path) -> bool:
    return path.exists()


def _at_home(name: str) -> Path:
    return Path(surroundings.expanded(name))


def _any(pattern: str, folder: str) -> bool:
    """Say whether something matches, as `glob` would, but in bounded time and without going in circles.

    Raises:
        TimeoutError: There is too much to look through.
    """
    path, end = Path(pattern), monotonic() + TIMEOUT
    searches: list[_Search] = [(path.anchor or folder, path.parts[1:] if path.anchor else path.parts)]
    while searches:
        if monotonic() > end:
            raise TimeoutError
        here, parts = searches.pop()
        if not parts and os.path.exists(here):
            return True
        if parts:
            searches += _further(here, parts[0], parts[1:])
    return False


def _further(here: str, part: str, rest: tuple[str, ...]) -> Iterator[_Search]:
    if not glob.has_magic(part):
        yield os.path.join(here, part), rest
        return
    if part == "**":
        # behind the folders below, because the last is looked at first
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
        # what is no folder, or may not be read, holds nothing for us
        return
