"""Tell from stat results alone whether a loaded configuration is still current.

A configuration that was read holds as long as the files it was read from do, and as long as no other file appears in
the folders that were searched. A folder changes often without that: an agent makes files all the time. So where only
folders have changed, the search is done again, and what it finds decides.
"""
# asked before every answer of a program that stays, where pathlib costs many times more
# ruff: noqa: PTH113, PTH116, PTH120

import os
import time
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr, replace

# Two changes within one tick of a file system's clock look alike; the slowest clocks tick every two seconds.
_TICK: Final = 2_000_000_000

Stamp = tuple[int, ...]
# finds the files of a configuration again, as paths in their order; is given a set for the folders that were searched
FindFiles = Callable[[set[str]], Iterable[str]]


class FileStamps(Struct, frozen=True):
    """The stat results of files and folders before they were read, at a time in nanoseconds.

    `owners` are folders of which only matters whose they are, `names` those that decide where a search goes, as that of
    a repository, `scripts` the files that commands name: where one is decides what the command means, and `others`
    are files that are read for another reason.
    """

    files: tuple[tuple[str, Stamp], ...] = ()
    folders: tuple[tuple[str, Stamp], ...] = ()
    owners: tuple[tuple[str, Stamp], ...] = ()
    names: tuple[tuple[str, bool], ...] = ()
    scripts: tuple[tuple[str, bool], ...] = ()
    others: tuple[tuple[str, Stamp], ...] = ()
    at: int = 0
    # derived: paths whose stat is implied by an unchanged parent directory
    implied: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Derive the paths whose state follows from an unchanged parent folder."""
        known = {path.rstrip("/") for path, stamp in self.folders if stamp}
        names = {path for path, _ in self.names if os.path.dirname(path) in known}
        owners = {path for path, _ in self.owners if path.rstrip("/") in known}
        force_setattr(self, "implied", frozenset(names | owners))

    def refresh(self, again: FindFiles) -> "FileStamps | None":
        """Return stamps that hold now; None when reading everything anew would not give the same.

        A folder that changed, and in which nothing else is found, is remembered as it is now.
        """
        if self._stamps_match(self.folders):
            return self if self._files_match(self.implied) else None
        if not self._files_match(frozenset()):
            return None
        known = [path for path, _ in self.files]
        looked: set[str] = set()
        if list(again(looked)) != known:
            return None
        # other folders may be searched by now; what came into them meanwhile is found by another search
        fresh = capture((), looked)
        return replace(self, folders=fresh.folders, at=fresh.at) if list(again(set())) == known else None

    # Loops, here and below: this is asked before every answer, and generators take longer than what they ask the system.
    def _files_match(self, implied: frozenset[str]) -> bool:
        for path, there in self.names:
            if path not in implied and os.path.lexists(path) is not there:
                return False
        for path, there in self.scripts:
            if os.path.isfile(path) is not there:
                return False
        for path, owner in self.owners:
            if path not in implied and _owner(path) != owner:
                return False
        return self._stamps_match(self.others) and self._stamps_match(self.files)

    def _stamps_match(self, stamps: tuple[tuple[str, Stamp], ...]) -> bool:
        # what changed later than this may have changed once more since, and look the same
        settled = self.at - _TICK
        for path, stamp in stamps:  # noqa: SIM110 - see above
            if (stamp and stamp[-1] >= settled) or stat_stamp(path) != stamp:
                return False
        return True


def capture(
    files: Iterable[str],
    folders: Iterable[str],
    *,
    owners: Iterable[str] = (),
    names: Iterable[str] = (),
    others: Iterable[str] = (),
) -> FileStamps:
    """Record the stat results of files and folders before they are read."""
    at = time.time_ns()
    return FileStamps(
        files=tuple((path, stat_stamp(path)) for path in files),
        folders=tuple((path, stat_stamp(path)) for path in sorted(folders)),
        owners=tuple((path, _owner(path)) for path in owners),
        names=tuple((path, os.path.lexists(path)) for path in names),
        others=tuple((path, stat_stamp(path)) for path in others),
        at=at,
    )


def stat_stamp(path: str) -> Stamp:
    """Return what a file or folder looks like; empty when it is not there. When it last changed comes last."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    # a user can set back when a file was written, but not when it was changed
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode, found.st_ctime_ns


def _owner(path: str) -> Stamp:
    """Return whose a folder is, or the first one above it that is there."""
    while True:
        try:
            found = os.stat(path)
        except OSError:
            above = os.path.dirname(path)
            if above == path:
                return ()
            path = above
        else:
            return found.st_ino, found.st_uid, found.st_mode
