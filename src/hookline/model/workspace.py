"""Which folders belong to a project rather than to the person, so that what lies there is nobody's until approved."""
# asked before each run, where pathlib costs many times more
# ruff: noqa: PTH113, PTH116, PTH117, PTH120

import os
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from hookline import surroundings
from hookline.model.hook import Hook, Source

OF_THE_PERSON: Final = frozenset({Source.BUILTIN, Source.USER})
"""Sources of hooks that the person has because they wanted them."""

_REMEMBERED: Final = 4096
_REAL: Final[dict[str, tuple[tuple[int, int], str]]] = {}


def grounds(hook: Hook, cwd: str) -> tuple[str, ...]:
    """Give the real paths of the folders that a hook must not take programs from: where the agent works, and its own.

    Who works somewhere inside a repository works in all of it. A person's own hook has the person's home as its
    folder, which is not foreign. Whoever works in their home, or above it, works in no project.
    """
    folders = _around(real_path(cwd or surroundings.folder()))
    if hook.root and hook.source not in OF_THE_PERSON:
        folders = (*folders, *_around(real_path(hook.root)))
    return tuple(dict.fromkeys(folders)) if len(folders) > 1 else folders


def _around(folder: str) -> tuple[str, ...]:
    """Give a folder and the top of the repository it lies in, the widest first, as far as they hold no home."""
    home = _home()
    if inside(home, (folder,)):
        return ()
    top = _top(folder)
    return (top, folder) if top != folder and not inside(home, (top,)) else (folder,)


@lru_cache(maxsize=256)
def _top(folder: str) -> str:
    """Give the outermost folder around this one that is a repository and not a home; itself when there is none.

    Remembered: where a repository begins does not change under an agent that works in it. Whoever opens a project anew,
    because it has changed all the same, has it forgotten.
    """
    home, found, place = _home(), folder, folder
    while not inside(home, (place,)):
        if os.path.lexists(f"{place}/.git"):
            found = place
        place = os.path.dirname(place)
    return found


def look_anew() -> None:
    """Forget where repositories begin, and where links lead."""
    _top.cache_clear()
    _REAL.clear()


def _home() -> str:
    """Give the home folder of the user database: a project that moves HOME into itself is no home."""
    # a container may run as a number that nobody gave a folder to: then each caller has one of its own, or none
    return _entry() or os.path.realpath(surroundings.expanded("~"))


@lru_cache(maxsize=1)
def _entry() -> str:
    try:
        import pwd  # noqa: PLC0415 - not on Windows

        return os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        return ""


def inside(path: str, folders: Collection[str]) -> bool:
    """Say whether a path is one of the folders or lies below one, by its spelling."""
    for folder in folders:
        if path.startswith(folder) and (path == folder or folder.endswith("/") or path[len(folder)] == "/"):
            return True
    return False


def find_program(name: str, path: str, foreign: tuple[str, ...] = ()) -> str:
    """Find a program on a search path, but in none of the foreign folders; empty when it is not there."""
    if os.name == "nt":
        import shutil  # noqa: PLC0415 - knows about PATHEXT, which nobody else has

        return shutil.which(name, path=path) or ""
    for folder in path.split(os.pathsep):
        # A relative entry, or an activated .venv of a cloned project, would let the folder an agent works in decide
        # what "node" is.
        if not folder.startswith("/") or (foreign and inside(os.path.realpath(folder), foreign)):
            continue
        candidate = f"{folder}/{name}"
        # a folder that may not be read is one without the program; the methods of a path would raise
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return ""


def path_outside(path: str, project: str) -> str:
    """Give a search path without the folders of a project, and without those that depend on where one is."""
    return outside(path, _around(real_path(project)))


def outside(path: str, foreign: Collection[str]) -> str:
    """Give a search path without the foreign folders, and without those that depend on where one is."""
    folders = path.split(os.pathsep)
    return os.pathsep.join(
        folder for folder in folders if os.path.isabs(folder) and not inside(os.path.realpath(folder), foreign)
    )


def lies_in(path: str, folders: Collection[str]) -> bool:
    """Say whether a file lies in one of the folders, or what it is a link to does."""
    if not path or not folders:
        return False
    return ("/../" not in path and inside(path, folders)) or inside(real_path(path), folders)


def real_path(path: str) -> str:
    """Give a path without links; worked out again only when it leads to another file than before."""
    try:
        info = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    except ValueError:
        # no file can have such a name
        return path
    state = (info.st_dev, info.st_ino)
    known = _REAL.get(path)
    if known is None or known[0] != state:
        if len(_REAL) >= _REMEMBERED:
            _REAL.clear()
        known = _REAL[path] = (state, os.path.realpath(path))
    return known[1]
