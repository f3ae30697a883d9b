"""Patterns for files, as git reads them in a `.gitignore`."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from hookline import surroundings
from hookline.errors import ConfigError


class FileMatch(Protocol):
    """Says whether patterns mean a path."""

    def __call__(self, path: str, folder: str, *, above: bool = False) -> bool:
        """Answer for a path that may be relative to a folder; `above`, also as seen from the repositories it lies in."""


def file_patterns(patterns: Sequence[str]) -> FileMatch:
    """Compile patterns; the result says whether they match a path, counted from a folder.

    The last pattern that matches decides, and `!` takes back, as for git. A file outside the folder is matched by its
    whole path, so that `*.pem` and `/etc/` mean what they say there; `~/` is the person's home folder.

    Raises:
        ConfigError: A pattern cannot be read.
    """
    import pathspec  # noqa: PLC0415 - most hooks have no patterns

    lines = [line for pattern in patterns for line in _at_home(pattern)]
    for line in lines:
        if not line.strip() or line.startswith("#"):
            raise ConfigError(f'file pattern "{line}" matches nothing; write a name such as "*.py"')
    try:
        spec = pathspec.GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error) as problem:
        raise ConfigError(f"file patterns {list(patterns)!r} cannot be read: {problem}") from None

    def matches(path: str, folder: str, *, above: bool = False) -> bool:
        named = surroundings.expanded(path)
        if spec.match_file(_counted(named, folder)):
            return True
        return above and any(spec.match_file(_counted(named, top)) for top in _tops(folder))

    return matches


def _tops(folder: str) -> Iterator[str]:
    """Give the repositories that a folder lies in: an agent that has gone down into one still works there."""
    while folder and folder != (above := os.path.dirname(folder)):  # noqa: PTH120 - only texts here
        folder = above
        if os.path.exists(f"{folder}/.git"):  # noqa: PTH110 - asked for each file
            yield folder


def follow_links(path: str) -> str:
    """Give the path that a path leads to; what is not there is as it is written, below what is."""
    try:
        return os.path.realpath(surroundings.expanded(path))
    except (OSError, ValueError):
        return path


def _at_home(pattern: str) -> list[str]:
    """Give a pattern with the person's home folder in it, and with what that is a link to."""
    sign, bare = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if not bare.startswith("~/"):
        return [pattern]
    home = surroundings.expanded("~").rstrip("/")
    return [f"{sign}{top}{bare[1:]}" for top in dict.fromkeys((home, follow_links(home)))]


def _counted(path: str, folder: str) -> str:
    """Count a path from a folder: relative below it, and whole but for the first slash elsewhere."""
    whole = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118 - `Path` keeps `..`, and git has none
    top = os.path.normpath(folder) if folder else ""
    if top and whole.startswith(top.rstrip(os.sep) + os.sep):
        whole = whole[len(top.rstrip(os.sep)) + 1 :]
    # a slash at the end says that it is a folder
    return whole.replace(os.sep, "/").lstrip("/") + ("/" if path.endswith("/") and whole != top else "")
