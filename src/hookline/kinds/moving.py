"""Whether this process may step into another folder for the moment in which it starts a child.

`posix_spawn` cannot change the folder of a child, so a child that works elsewhere is started in another, dearer way. A
process in which nobody else asks where it is can go there, start the child and come back. The same holds for the umask.
Both belong to all threads of a process, so only who answers for the whole process may say so: the daemon does, a library
never.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

_DEFAULT_UMASK: Final = 0o077


class _Home:
    """Where this process comes back to, and the umask it has; -1 where the folder is not ours to leave."""

    __slots__ = ("folder", "umask")

    def __init__(self) -> None:
        self.folder = -1
        self.umask = _DEFAULT_UMASK


_HOME: Final = _Home()

# a process has one folder, and loops in several threads may start children
_LEAVING: Final = threading.Lock()


def own_the_process() -> None:
    """Say that nothing in this process depends on its folder, and that its own files are made with modes of their own.

    It stays where it is now, with the umask it has now. Neither may be changed by anybody else from here on.

    Raises:
        OSError: The folder was removed, or there is no descriptor left.
    """
    give_back()
    _HOME.umask = os.umask(_DEFAULT_UMASK)
    os.umask(_HOME.umask)
    _HOME.folder = os.open(".", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))


def give_back() -> None:
    """Leave the folder and the umask to everybody again."""
    if _HOME.folder >= 0:
        os.close(_HOME.folder)
        _HOME.folder = -1


def is_owned() -> bool:
    """Say whether children are started by going where they are to be: nobody may count on our folder then."""
    return _HOME.folder >= 0


@contextmanager
def away(folder: str, umask: int | None) -> Iterator[None]:
    """Be in another folder, with another umask, for what does not wait; an empty folder is the one we are in.

    Raises:
        OSError: One cannot go there; nothing was done then.
    """
    masked = umask is not None and umask != _HOME.umask
    with _LEAVING:
        if folder:
            os.chdir(folder)
        try:
            if masked and umask is not None:
                os.umask(umask)
            yield
        finally:
            if masked:
                os.umask(_HOME.umask)
            if folder:
                _come_back()


def _come_back() -> None:
    """Leave the folder of a child; a child that runs is watched, so nothing is raised here."""
    try:
        os.fchdir(_HOME.folder)
    except OSError:  # we may not enter it any more
        with suppress(OSError):
            os.chdir("/")
