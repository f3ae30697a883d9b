"""Which folders belong to a project rather than to the user: files there are untrusted until approved."""
# asked before each run, where pathlib costs many times more
# ruff: noqa: PTH113, PTH116, PTH117, PTH120

import os
from collections.abc import Collection
from functools import cache, lru_cache
from typing import Final

from hookline import caller_context
from hookline.model.hook import Hook, Source

USER_SOURCES: Final = frozenset({Source.BUILTIN, Source.USER})
"""Sources of hooks that the user has because they wanted them."""

_REMEMBERED: Final = 4096
_REAL: Final[dict[str, tuple[tuple[int, int], str]]] = {}


def workspace_roots(hook: Hook, cwd: str) -> tuple[str, ...]:
    """Return the real paths of the folders that a hook must not take programs from: where the agent works, and its own.

    Who works somewhere inside a repository works in all of it. A user's own hook has the user's home as its
    folder, which is not foreign. The home folder and the folders above it are no project.
    """
    folders = project_roots(cwd)
    if hook.root and hook.source not in USER_SOURCES:
        folders = (*folders, *_roots_at(real_path(hook.root)))
    return tuple(dict.fromkeys(folders)) if len(folders) > 1 else folders


def project_roots(cwd: str) -> tuple[str, ...]:
    """Return the real paths of the project that an agent works on in a folder."""
    return _roots_at(real_path(cwd or caller_context.folder()))


def _roots_at(folder: str) -> tuple[str, ...]:
    """Return a folder and the top of the repository around it, the widest first, as far as they hold no home."""
    home = _home()
    if is_inside(home, (folder,)):
        return ()
    top = _repository_root(folder)
    return (top, folder) if top != folder and not is_inside(home, (top,)) else (folder,)


@lru_cache(maxsize=256)
def _repository_root(folder: str) -> str:
    """Return the outermost folder around this one that is a repository and not a home; itself when there is none.

    Cached: the root of a repository does not change while an agent works in it. `clear_caches` is called when a project
    is loaded again.
    """
    home, found, place = _home(), folder, folder
    while not is_inside(home, (place,)):
        if os.path.lexists(f"{place}/.git"):
            found = place
        place = os.path.dirname(place)
    return found


def clear_caches() -> None:
    """Clear the caches of repository roots and real paths."""
    _repository_root.cache_clear()
    _REAL.clear()


def _home() -> str:
    """Return the home folder of the user database: a project that moves HOME into itself is no home."""
    return _database_home() or os.path.realpath(caller_context.expand_home("~"))


@cache
def _database_home() -> str:
    home = caller_context.database_home()
    return os.path.realpath(home) if home else ""


def is_inside(path: str, folders: Collection[str]) -> bool:
    """Return whether a path is one of the folders or below one, by its spelling."""
    for folder in folders:
        if path.startswith(folder) and (path == folder or folder.endswith("/") or path[len(folder)] == "/"):
            return True
    return False


def find_program(name: str, path: str, foreign: tuple[str, ...] = ()) -> str:
    """Find a program on a search path, but in none of the foreign folders; empty when it is not there."""
    if os.name == "nt":
        import shutil  # noqa: PLC0415 - knows about PATHEXT

        return shutil.which(name, path=path) or ""
    for folder in path.split(os.pathsep):
        # A relative entry, or an activated .venv of a cloned project, would let the folder an agent works in decide
        # what "node" is.
        if not folder.startswith("/") or (foreign and is_inside(os.path.realpath(folder), foreign)):
            continue
        candidate = f"{folder}/{name}"
        # a folder that may not be read is one without the program; the methods of a path would raise
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return ""


def without_project_folders(path: str, project: str) -> str:
    """Return a search path without the folders of a project, and without those that depend on where one is."""
    return without_folders(path, _roots_at(real_path(project)))


def without_folders(path: str, foreign: Collection[str]) -> str:
    """Return a search path without the foreign folders, and without those that depend on where one is."""
    folders = path.split(os.pathsep)
    return os.pathsep.join(
        folder for folder in folders if os.path.isabs(folder) and not is_inside(os.path.realpath(folder), foreign)
    )


def is_inside_real(path: str, folders: Collection[str]) -> bool:
    """Return whether a file is in one of the folders, or a link into one."""
    if not path or not folders:
        return False
    return ("/../" not in path and is_inside(path, folders)) or is_inside(real_path(path), folders)


def real_path(path: str) -> str:
    """Return a path without links; worked out again only when it leads to another file than before."""
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
