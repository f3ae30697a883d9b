"""Which files a project has, as they were last told of, and which of them may be different now.

Nothing is followed: a link is no file and no folder here, so there is no way out of the project and no way round.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress

from msgspec import Struct

from hookline.sources.ignoring import RULES, Ignoring


class Stamp(Struct, frozen=True):
    """What can be seen of a file without reading it: its size in bytes, and when it changed, in nanoseconds."""

    size: int
    changed: int


class Seen(Struct, frozen=True):
    """Everything below the watched paths at one moment, counted from the project."""

    files: dict[str, Stamp]
    folders: frozenset[str]


class Tree:
    """A project's files: `known` are those that were told of, as they were then.

    `paths` narrow the project down, and are counted from it as well.
    """

    def __init__(self, root: str, ignoring: Ignoring, paths: Iterable[str] = ()) -> None:
        self.root = root
        self.ignoring = ignoring
        self.known: dict[str, Stamp] = {}
        self.folders: frozenset[str] = frozenset()
        self._paths = tuple(dict.fromkeys(paths)) or ("",)

    def whole(self, path: str) -> str:
        """Give the path that the system knows."""
        return f"{self.root}/{path}" if path else self.root

    def walk(self) -> Seen:
        """Look at everything that is there now."""
        files: dict[str, Stamp] = {}
        folders: set[str] = set()
        for path in self._paths:
            if os.path.isdir(self.whole(path)):  # noqa: PTH112 - texts all the way down
                self._enter(path, files, folders)
            elif (found := self.stamp(path)) is not None:
                files[path] = found
            if path:
                # it is watched through the folder it is in as well: another one may take its place, or it may come back
                folders.add(self._nearest(path))
        return Seen(files, frozenset(folders))

    def _enter(self, start: str, files: dict[str, Stamp], folders: set[str]) -> None:
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            folders.add(folder)
            for name, entry in self._entries(folder):
                # a file may be gone before it is looked at, and a folder may be locked: both are nothing to tell
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if not self.ignoring.ignores(name, is_folder=True):
                            waiting.append(name)
                    elif entry.is_file(follow_symlinks=False) and not self.ignoring.ignores(name):
                        files[name] = _stamp(entry.stat(follow_symlinks=False))

    def _nearest(self, path: str) -> str:
        """Give the folder above a path that is there."""
        return next(above for above in _above(path) if not above or os.path.isdir(self.whole(above)))  # noqa: PTH112

    def _entries(self, folder: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        with suppress(OSError), os.scandir(self.whole(folder)) as entries:
            for entry in entries:
                yield (f"{folder}/{entry.name}" if folder else entry.name), entry

    def stamp(self, path: str) -> Stamp | None:
        """Look at one file; None when there is none that may be told of."""
        try:
            found = os.lstat(self.whole(path))
        except (OSError, ValueError):
            return None
        return _stamp(found) if stat.S_ISREG(found.st_mode) and not self.ignoring.ignores(path) else None

    def different(self, seen: Seen) -> set[str]:
        """Name the files that are not as they were told of."""
        changed = {path for path, found in seen.files.items() if self.known.get(path) != found}
        return changed | (self.known.keys() - seen.files.keys())

    def suspects(self, paths: Iterable[str]) -> set[str]:
        """Name the files that may have changed when something happened at these paths, files and folders alike."""
        found: set[str] = set()
        gone: set[str] = set()
        for path in paths:
            if path in self.known:
                found.add(path)
            elif path in self.folders:
                gone.add(path)
            elif self._is_within(path) and self.stamp(path) is not None:
                found.add(path)
        if gone:
            found.update(path for path in self.known if any(above in gone for above in _above(path)))
        return found

    def is_news(self, path: str) -> bool:
        """Say whether there is a folder at a path that has to be looked into."""
        if not os.path.isdir(self.whole(path)) or os.path.islink(self.whole(path)):  # noqa: PTH112, PTH114 - texts
            return False
        # a folder on the way to what was named may have come back
        is_meant = self._is_within(path) or any(top.startswith(f"{path}/") for top in self._paths)
        return is_meant and not self.ignoring.ignores(path, is_folder=True)

    def is_gone(self, path: str) -> bool:
        """Say whether there was a watched folder at a path where there is none any more."""
        return path in self.folders and not os.path.isdir(self.whole(path))  # noqa: PTH112 - texts

    def _is_within(self, path: str) -> bool:
        return any(not top or path == top or path.startswith(f"{top}/") for top in self._paths)

    def obey(self, ignoring: Ignoring) -> None:
        """Take other rules: what was ignored until now is no news, and what is ignored from now on is forgotten."""
        before, self.ignoring = self.ignoring, ignoring
        for path, found in self.walk().files.items():
            if path not in self.known and before.ignores(path):
                self.known[path] = found
        # others may tell of a file meanwhile: this is done in a thread
        for path in [path for path in list(self.known) if ignoring.ignores(path)]:
            self.known.pop(path, None)


def is_rule(path: str) -> bool:
    """Say whether a file has rules of git about what to ignore."""
    return path.rpartition("/")[2] == RULES


def _stamp(found: os.stat_result) -> Stamp:
    return Stamp(found.st_size, found.st_mtime_ns)


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path
