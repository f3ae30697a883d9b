"""Expand the `includes` of a hook (names, folders and patterns) and the globs of its command."""
# ruff: noqa: PTH118 - thousands of names may be put together before a run

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from os.path import join, normpath, relpath
from typing import Final

from hookline.errors import ConfigError

MOST: Final = 2_000

# they are listed before each run, and a pattern may start at the top of the file system
_MOST_LOOKED_AT: Final = 20_000
_MOST_FOLDERS: Final = 500

# written by running a script, or by git itself, from files that are covered
_OF_GIT: Final = frozenset({".git"})
_LEFT_OUT: Final = _OF_GIT | {"__pycache__"}
# the translation of a range such as [z-a]
_NEVER: Final = "(?!)"
_MAGIC: Final = re.compile(r"[*?\[]")

# the parts of a pattern; None stands for two stars
_Parts = tuple[re.Pattern[str] | None, ...]


def expand_includes(patterns: tuple[str, ...], root: str) -> list[str]:
    """Return every file of the patterns, sorted; a folder means everything in it, and links to folders are not followed.

    A name that leads to nothing is returned as well: the file may appear later.

    Raises:
        ConfigError: There are too many to be read before each run.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        for path in _expand_include(pattern, root):
            found[path] = None
            if len(found) > MOST:
                raise ConfigError(f'includes has more than {MOST} files with "{pattern}"; name fewer')
    return sorted(found)


def expand_globs(patterns: Iterable[str]) -> list[str]:
    """Return every file that a shell would put in the place of these absolute patterns, sorted.

    Raises:
        ConfigError: There are too many to be read before each run.
    """
    found: dict[str, None] = {}
    listings: dict[str, list[str]] = {}
    for pattern in patterns:
        for path in _expand_glob(pattern, listings):
            found[path] = None
            if len(found) > MOST:
                raise ConfigError(f'"{pattern}" in its command means more than {MOST} files; name fewer')
    return sorted(found)


def _expand_glob(pattern: str, listings: dict[str, list[str]]) -> list[str]:
    """Expand one folder at a time: a star of a shell stays within one, two stars stand for any number of folders."""
    if "**" in pattern.split("/"):
        try:
            return [path for path in _expand_include(pattern, "/", _OF_GIT) if os.path.isfile(path)]  # noqa: PTH113
        except ConfigError:
            raise ConfigError(f'"{pattern}" in its command leads through too many folders; name fewer') from None
    places = [""]
    for part in pattern.strip("/").split("/"):
        if not _MAGIC.search(part):
            places = [f"{place}/{part}" for place in places]
            continue
        wanted = re.compile(fnmatch.translate(part))
        onward: list[str] = []
        for place in places:
            if place not in listings:
                listings[place] = []
                with suppress(OSError, ValueError):
                    listings[place] = os.listdir(place or "/")  # noqa: PTH208
            onward += [f"{place}/{name}" for name in listings[place] if wanted.match(name)]
            if len(listings) > _MOST_FOLDERS or len(onward) > _MOST_LOOKED_AT:
                raise ConfigError(f'"{pattern}" in its command leads through too many folders; name fewer')
        places = onward
    return [path for path in places if os.path.isfile(path)]  # noqa: PTH113


def _expand_include(pattern: str, root: str, left_out: frozenset[str] = _LEFT_OUT) -> Iterator[str]:
    magic = _MAGIC.search(pattern)
    if magic is None:
        path = normpath(join(root, pattern))
        yield from _walk_files(path, left_out) if os.path.isdir(path) else (path,)  # noqa: PTH112
        return
    # only the folders that the pattern spells out need to be listed
    start = pattern.rfind("/", 0, magic.start()) + 1
    base, wanted = normpath(join(root, pattern[:start])), _compile(pattern[start:])
    yield from (path for path in _walk_files(base, left_out) if _matches(relpath(path, base), wanted))


def _walk_files(folder: str, left_out: frozenset[str]) -> Iterator[str]:
    looked_at = 0
    for path, folders, files in os.walk(folder):
        looked_at += len(folders) + len(files)
        if looked_at > _MOST_LOOKED_AT:
            raise ConfigError(f'includes leads through more than {_MOST_LOOKED_AT} files in "{folder}"; name a folder')
        links = [name for name in folders if os.path.islink(join(path, name))]  # noqa: PTH114
        folders[:] = sorted(name for name in folders if name not in left_out and name not in links)
        yield from (join(path, name) for name in sorted((*files, *links)))


def _matches(path: str, wanted: _Parts) -> bool:
    """Return whether a pattern matches a relative path; two stars stand for any number of folders.

    Matched folder by folder with the set of all possible positions in the pattern: one regular expression would backtrack
    for ever over a long path and a pattern with many stars.
    """
    places = _skip_stars({0}, wanted)
    for name in path.split("/"):
        onward: set[int] = set()
        for place in places:
            if place < len(wanted):
                part = wanted[place]
                onward |= {place, place + 1} if part is None else {place + 1} if part.match(name) else set()
        places = _skip_stars(onward, wanted)
    return len(wanted) in places


def _skip_stars(places: set[int], wanted: _Parts) -> set[int]:
    # two stars may stand for nothing, but at the end they stand for a file
    last = len(wanted) - 1
    found = set(places)
    for place in range(last):
        if place in found and wanted[place] is None:
            found.add(place + 1)
    return found


def _compile(pattern: str) -> _Parts:
    parts = [(part, fnmatch.translate(part)) for part in pattern.split("/")]
    if any(_NEVER in text for _, text in parts):
        raise ConfigError(
            f'the pattern "{pattern}" in includes cannot be read: it has a range that ends before it starts'
        )
    return tuple(None if part == "**" else re.compile(text) for part, text in parts)
