"""Patterns for files, as git reads them in a `.gitignore`."""

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from hookline import caller_context
from hookline.errors import ConfigError
from hookline.ports import FileMatch

_MAGIC: Final = re.compile(r"[*?\[]")
# a glob that stands for more is not followed
_MOST_LOOKED_AT: Final = 10_000


def file_patterns(patterns: Sequence[str]) -> FileMatch:
    """Compile patterns; the result says whether they match a path, counted from a folder.

    The last pattern that matches decides, and `!` takes back, as for git. A list of nothing but `!` patterns matches
    everything else: `!./**` is every file outside the folder. A pattern that begins with `./` means files below the
    folder only. A file outside the folder is matched by its whole path, so that `*.pem` and `/etc/` mean what they say
    there; `~/` is the user's home folder.

    Raises:
        ConfigError: A pattern cannot be read.
    """
    import pathspec  # noqa: PLC0415 - most hooks have no patterns

    lines = [line for pattern in patterns for line in _expand_home(pattern)]
    for line in lines:
        if not line.removeprefix("!").strip() or line.startswith("#"):
            raise ConfigError(f'file pattern "{line}" matches nothing; write a name such as "*.py"')
    is_elsewhere = bool(lines) and all(line.startswith("!") for line in lines)
    if is_elsewhere:
        bare = [line[1:] for line in lines]
        # a folder whose files are all left out is left out itself: `cp x /tmp` for `!/tmp/**`
        lines = [*bare, *(line.removesuffix("/**") for line in bare if line.endswith("/**") and line.strip("./*"))]
    try:
        # `./x` is `/x`, but for files below the folder only; the backend does not depend on what else is installed
        compile_lines = partial(pathspec.GitIgnoreSpec.from_lines, backend="simple")
        spec = compile_lines([re.sub(r"^(!?)\./", r"\1/", line) for line in lines])
        outside = compile_lines([line for line in lines if not re.match(r"!?\./", line)])
    except (ValueError, re.error) as problem:
        raise ConfigError(f"file patterns {list(patterns)!r} cannot be read: {problem}") from None

    def match_in(named: str, folder: str) -> bool:
        if is_elsewhere and os.path.normpath(named) == os.path.normpath(folder or os.sep):
            # the folder itself is no file elsewhere
            return True
        whole = os.path.normpath(os.path.join(folder, named))  # noqa: PTH118 - `Path` keeps `..`, and git has none
        top = os.path.normpath(folder) if folder else ""
        is_inside = not top or whole == top or whole.startswith(top.rstrip(os.sep) + os.sep)
        # relative below the folder, and whole but for the first slash elsewhere
        counted = whole[len(top.rstrip(os.sep)) + 1 :] if top and is_inside and whole != top else whole
        # a slash at the end says that it is a folder
        ending = "/" if named.endswith("/") and whole != top else ""
        return (spec if is_inside else outside).match_file(counted.replace(os.sep, "/").lstrip("/") + ending)

    def matches(path: str, folder: str, *, above: bool = False) -> bool:
        named = caller_context.expand_home(path)
        found = match_in(named, folder)
        # an agent that has gone down into a repository still works there
        while above and not found and folder and folder != (parent := os.path.dirname(folder)):  # noqa: PTH120
            folder = parent
            found = os.path.exists(f"{folder}/.git") and match_in(named, folder)  # noqa: PTH110 - asked for each file
        return found is not is_elsewhere

    return matches


def list_files(pattern: str) -> list[str] | None:
    """Return the files that a glob with an absolute path matches; a plain path gives itself if it is there.

    As in a shell, hidden files are matched where their part of the pattern begins with a dot; `**` goes into every
    folder, as `find` does. None when more than a bounded number of files would have to be looked at.
    """
    named = caller_context.expand_home(pattern)
    if not _MAGIC.search(named):
        return [pattern] if os.path.lexists(named) else []
    parts = [part for part in named.split("/") if part]
    budget = [_MOST_LOOKED_AT]
    found = list(_glob("/" if named.startswith("/") else "", parts, budget))
    return found if budget[0] > 0 else None


def _glob(folder: str, parts: list[str], budget: list[int]) -> Iterator[str]:
    if not parts:
        yield folder
        return
    first, *rest = parts
    if first == "**":
        yield from _glob(folder, rest, budget) if rest else ()
    elif not _MAGIC.search(first):
        path = os.path.join(folder, first)  # noqa: PTH118 - a text
        if os.path.lexists(path):
            yield from _glob(path, rest, budget)
        return
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        budget[0] -= 1
        if budget[0] <= 0:
            return
        if first == "**":
            if not rest:
                yield entry.path
            if entry.is_dir(follow_symlinks=False):
                yield from _glob(entry.path, parts, budget)
        elif fnmatch.fnmatchcase(entry.name, first) and (
            first.startswith((".", "[.")) or not entry.name.startswith(".")
        ):
            yield from _glob(entry.path, rest, budget)


def follow_links(path: str) -> str:
    """Return the path that a path leads to; what is not there is as it is written, below what is."""
    try:
        return os.path.realpath(caller_context.expand_home(path))
    except (OSError, ValueError):
        return path


def _expand_home(pattern: str) -> list[str]:
    """Return a pattern with the user's home folder in it, and with what that is a link to."""
    sign, bare = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if not bare.startswith("~/"):
        return [pattern]
    home = caller_context.expand_home("~").rstrip("/")
    return [f"{sign}{top}{bare[1:]}" for top in dict.fromkeys((home, follow_links(home)))]
