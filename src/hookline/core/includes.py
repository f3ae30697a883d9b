"""The files that a hook says belong to it: names, folders and patterns, counted from its own folder."""
# ruff: noqa: PTH118 - thousands of names may be put together before a run

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from os.path import join, normpath, relpath
from typing import Final

from hookline.errors import ConfigError

MOST: Final = 2_000

# Looked at before each run, match or not. A pattern may start at the top of the file system.
_MOST_LOOKED_AT: Final = 20_000
_MOST_FOLDERS: Final = 500

# Written by running a script, or by git itself; what they hold is made of files that are looked at.
_LEFT_OUT: Final = frozenset({"__pycache__", ".git"})
# what a range such as [z-a] is turned into
_NEVER: Final = "(?!)"
_MAGIC: Final = re.compile(r"[*?\[]")


def included(patterns: tuple[str, ...], root: str) -> list[str]:
    """Find every file of the patterns, sorted; a folder means everything in it, and links to folders are not followed.

    A name that leads to nothing is given all the same: it may be there tomorrow.

    Raises:
        ConfigError: There are too many to be read before each run.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        for path in _matching(pattern, root):
            found[path] = None
            if len(found) > MOST:
                raise ConfigError(f'includes has more than {MOST} files with "{pattern}"; name fewer')
    return sorted(found)


def expanded(patterns: Iterable[str]) -> list[str]:
    """Find every file that a shell would put in the place of these words, each an absolute path; sorted.

    Raises:
        ConfigError: There are too many to be read before each run.
    """
    found: dict[str, None] = {}
    listings: dict[str, list[str]] = {}
    for pattern in patterns:
        for path in _expanded(pattern, listings):
            found[path] = None
            if len(found) > MOST:
                raise ConfigError(f'"{pattern}" in its command means more than {MOST} files; name fewer')
    return sorted(found)


def _expanded(pattern: str, listings: dict[str, list[str]]) -> list[str]:
    """Go from folder to folder: a star of a shell stays within one."""
    places = [""]
    for part in pattern.strip("/").split("/"):
        if not _MAGIC.search(part):
            places = [f"{place}/{part}" for place in places]
            continue
        wanted = re.compile(fnmatch.translate(part))
        onward: list[str] = []
        for place in places:
            if place not in listings:
                listings[place] = _names(place)
            onward += [f"{place}/{name}" for name in listings[place] if wanted.match(name)]
            if len(listings) > _MOST_FOLDERS or len(onward) > _MOST_LOOKED_AT:
                raise ConfigError(f'"{pattern}" in its command leads through too many folders; name fewer')
        places = onward
    return [path for path in places if os.path.isfile(path)]  # noqa: PTH113


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder or "/")  # noqa: PTH208
    except (OSError, ValueError):
        return []


def _matching(pattern: str, root: str) -> Iterator[str]:
    magic = _MAGIC.search(pattern)
    if magic is None:
        path = normpath(join(root, pattern))
        yield from _below(path) if os.path.isdir(path) else (path,)  # noqa: PTH112
        return
    # only below the folders that the pattern spells out is it worth looking
    start = pattern.rfind("/", 0, magic.start()) + 1
    base = normpath(join(root, pattern[:start]))
    yield from (path for path in _below(base) if _fits(relpath(path, base), pattern[start:]))


def _below(folder: str) -> Iterator[str]:
    looked_at = 0
    for path, folders, files in os.walk(folder):
        looked_at += len(folders) + len(files)
        if looked_at > _MOST_LOOKED_AT:
            raise ConfigError(f'includes leads through more than {_MOST_LOOKED_AT} files in "{folder}"; name a folder')
        links = [name for name in folders if os.path.islink(join(path, name))]  # noqa: PTH114
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and name not in links)
        yield from (join(path, name) for name in sorted((*files, *links)))


def _fits(path: str, pattern: str) -> bool:
    """Say whether a relative path is one that the pattern means; two stars stand for any number of folders.

    Folder by folder, with all places of the pattern that could be next: a long path and a pattern with many stars
    would keep one regular expression busy for ever.
    """
    wanted = _compiled(pattern)
    places = _opened({0}, wanted)
    for name in path.split("/"):
        onward: set[int] = set()
        for place in places:
            if place < len(wanted):
                part = wanted[place]
                onward |= {place, place + 1} if part is None else {place + 1} if part.match(name) else set()
        places = _opened(onward, wanted)
    return len(wanted) in places


def _opened(places: set[int], wanted: tuple[re.Pattern[str] | None, ...]) -> set[int]:
    # two stars may stand for nothing, but at the end they stand for a file
    last = len(wanted) - 1
    found = set(places)
    for place in range(last):
        if place in found and wanted[place] is None:
            found.add(place + 1)
    return found


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, ...]:
    written = [fnmatch.translate(part) for part in pattern.split("/")]
    if any(_NEVER in part for part in written):
        raise ConfigError(
            f'the pattern "{pattern}" in includes cannot be read: it has a range that ends before it starts'
        )
    parts = pattern.split("/")
    return tuple(None if part == "**" else re.compile(text) for part, text in zip(parts, written, strict=True))
