"""The files of a project in their last known state, and which of them may have changed.

Symbolic links are not followed: a link is neither a file nor a folder here, so there is no way out of the project.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress

from msgspec import Struct

from hookline.sources.gitignore import RULES, GitIgnore


class FileStamp(Struct, frozen=True):
    """The metadata of a file: its size in bytes, and its modification time in nanoseconds."""

    size: int
    changed: int


class TreeState(Struct, frozen=True):
    """All files and folders below the watched paths at one moment, relative to the project."""

    files: dict[str, FileStamp]
    folders: frozenset[str]


class FileTree:
    """The files of a project: `known` is their last reported state.

    `paths` restrict the project, and are relative to it.
    """

    def __init__(self, root: str, ignoring: GitIgnore, paths: Iterable[str] = ()) -> None:
        self.root = root
        self.ignoring = ignoring
        self.known: dict[str, FileStamp] = {}
        self.folders: frozenset[str] = frozenset()
        self._paths = tuple(dict.fromkeys(paths)) or ("",)

    def absolute(self, path: str) -> str:
        """Return the absolute path."""
        return f"{self.root}/{path}" if path else self.root

    def walk(self) -> TreeState:
        """Return the present state."""
        files: dict[str, FileStamp] = {}
        folders: set[str] = set()
        for path in self._paths:
            if os.path.isdir(self.absolute(path)):  # noqa: PTH112 - texts all the way down
                self._enter(path, files, folders)
            elif (found := self.stamp(path)) is not None:
                files[path] = found
            if path:
                # its folder is watched as well: the path may be replaced, or removed and created again
                folders.add(self._nearest(path))
        return TreeState(files, frozenset(folders))

    def _enter(self, start: str, files: dict[str, FileStamp], folders: set[str]) -> None:
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            folders.add(folder)
            for name, entry in self._entries(folder):
                # a file may have been removed meanwhile, and a folder may be unreadable
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if not self.ignoring.ignores(name, is_folder=True):
                            waiting.append(name)
                    elif entry.is_file(follow_symlinks=False) and not self.ignoring.ignores(name):
                        files[name] = _stamp(entry.stat(follow_symlinks=False))

    def _nearest(self, path: str) -> str:
        """Return the nearest existing folder above a path."""
        return next(above for above in _above(path) if not above or os.path.isdir(self.absolute(above)))  # noqa: PTH112

    def _entries(self, folder: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        with suppress(OSError), os.scandir(self.absolute(folder)) as entries:
            for entry in entries:
                yield (f"{folder}/{entry.name}" if folder else entry.name), entry

    def stamp(self, path: str) -> FileStamp | None:
        """Return the metadata of one file, or None where there is none or it is ignored."""
        try:
            found = os.lstat(self.absolute(path))
        except (OSError, ValueError):
            return None
        return _stamp(found) if stat.S_ISREG(found.st_mode) and not self.ignoring.ignores(path) else None

    def find_changed(self, seen: TreeState) -> set[str]:
        """Return the files that differ from their known state."""
        changed = {path for path, found in seen.files.items() if self.known.get(path) != found}
        return changed | (self.known.keys() - seen.files.keys())

    def find_suspects(self, paths: Iterable[str]) -> set[str]:
        """Return the files that may have changed when files or folders at these paths did."""
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

    def is_new_folder(self, path: str) -> bool:
        """Return whether there is a folder at a path that has to be watched."""
        if not os.path.isdir(self.absolute(path)) or os.path.islink(self.absolute(path)):  # noqa: PTH112, PTH114 - texts
            return False
        # a parent of a watched path may have been created again
        is_meant = self._is_within(path) or any(top.startswith(f"{path}/") for top in self._paths)
        return is_meant and not self.ignoring.ignores(path, is_folder=True)

    def is_removed_folder(self, path: str) -> bool:
        """Return whether a watched folder at a path was removed."""
        return path in self.folders and not os.path.isdir(self.absolute(path))  # noqa: PTH112 - texts

    def _is_within(self, path: str) -> bool:
        return any(not top or path == top or path.startswith(f"{top}/") for top in self._paths)

    def set_rules(self, ignoring: GitIgnore) -> None:
        """Set the rules: files that are no longer ignored count as known, and newly ignored ones are forgotten."""
        before, self.ignoring = self.ignoring, ignoring
        for path, found in self.walk().files.items():
            if path not in self.known and before.ignores(path):
                self.known[path] = found
        # this runs in a thread, and the event loop may change `known` meanwhile
        for path in [path for path in list(self.known) if ignoring.ignores(path)]:
            self.known.pop(path, None)


def is_rules_file(path: str) -> bool:
    """Return whether a file holds rules about ignored files."""
    return path.rpartition("/")[2] == RULES


def _stamp(found: os.stat_result) -> FileStamp:
    return FileStamp(found.st_size, found.st_mtime_ns)


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path
