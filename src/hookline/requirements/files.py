"""Check that files and folders exist, by path or by pattern."""
# a pattern may walk thousands of folders, where pathlib is many times slower
# ruff: noqa: ASYNC240, PTH110, PTH118

import asyncio
import glob
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from time import monotonic
from typing import Final

from hookline import caller_context
from hookline.model.requirements import parse_file
from hookline.requirements._run_dir import RunDir
from hookline.text import escape_all

TIMEOUT: Final = 2.0
"""Seconds in which something has to match a pattern."""

# a folder, and the components of a pattern that are still to be matched in it
_Search = tuple[str, tuple[str, ...]]


async def check(text: str, run_dir: RunDir) -> str:
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
        return f'nothing was found for "{escape_all(text)}" within {TIMEOUT:g} s: name a folder closer to the file in needs'
    return f'no file in "{escape_all(run_dir.folder)}" matches "{escape_all(text)}"'


def _matches_any(pattern: str, folder: str) -> bool:
    """Return whether a pattern matches, like `glob`, but in bounded time and without following link cycles.

    Raises:
        TimeoutError: There are too many folders.
    """
    path, end = Path(pattern), monotonic() + TIMEOUT
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
