"""The files that a hook says belong to it: names, folders and patterns, counted from its own folder."""
# ruff: noqa: PTH118 - thousands of names may be put together before a run

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from os.path import join, normpath, relpath
from typing import Final

from hookline.errors import ConfigError

MOST: Final = 2_000

# Written by running a script, or by git itself; what they hold is made of files that are looked at.
_LEFT_OUT: Final = frozenset({"__pycache__", ".git"})
_MAGIC: Final = re.compile(r"[*?\[]")
_PIECES: Final = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_TRANSLATED: Final = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


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


def _matching(pattern: str, root: str) -> Iterator[str]:
    magic = _MAGIC.search(pattern)
    if magic is None:
        path = normpath(join(root, pattern))
        yield from _below(path) if os.path.isdir(path) else (path,)  # noqa: PTH112
        return
    # only below the folders that the pattern spells out is it worth looking
    start = pattern.rfind("/", 0, magic.start()) + 1
    base = normpath(join(root, pattern[:start]))
    wanted = _compiled(pattern[start:])
    yield from (path for path in _below(base) if wanted.fullmatch(relpath(path, base)))


def _below(folder: str) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(join(path, name))]  # noqa: PTH114
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and name not in links)
        yield from (join(path, name) for name in sorted((*files, *links)))


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    pieces = []
    for piece in _PIECES.findall(pattern):
        if piece in _TRANSLATED:
            pieces.append(_TRANSLATED[piece])
        elif piece.startswith("[") and len(piece) > 1:
            inner = re.escape(piece[1:-1].removeprefix("!")).replace(r"\-", "-")
            pieces.append(f"[{'^' if piece[1] == '!' else ''}{inner}]")
        else:
            pieces.append(re.escape(piece))
    try:
        return re.compile("".join(pieces), re.DOTALL)
    except re.error as problem:
        raise ConfigError(f'the pattern "{pattern}" in includes cannot be read: {problem}') from None
