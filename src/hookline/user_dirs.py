"""The folders with the user's own configuration, approvals and traces.

The environment may move them, but a project may not: a cloned repository that ships settings for direnv or a `.env` file could
otherwise bring approvals of its own, or make the user's guards disappear.
"""
# these are texts, not paths: they are compared on the path of every call
# ruff: noqa: PTH116, PTH117, PTH118, PTH120

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline import caller_context
from hookline.caller_context import database_home
from hookline.config.document import Problem
from hookline.model.workspace_paths import is_inside

_APP: Final = "hookline"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH

# Fixed, never from the environment. Windows has none: every user may create folders in the one it has for this.
_MANAGED: Final = {"darwin": "/Library/Application Support/hookline", "win32": ""}.get(sys.platform, "/etc/hookline")

# Config and data: the variable that may move the folder, and where it is below the home folder otherwise.
_MOVABLE: Final[tuple[tuple[str, str], ...]] = (
    (("", f"Library/Application Support/{_APP}"),) * 2
    if sys.platform == "darwin"
    else (("XDG_CONFIG_HOME", f".config/{_APP}"), ("XDG_DATA_HOME", f".local/share/{_APP}"))
)


class UserDirs(Struct, frozen=True, kw_only=True):
    """The user's folders, and what was wrong with those that the environment names.

    `managed` is the system folder whose hooks only an administrator can switch off.
    """

    home: Path
    config: Path
    data: Path
    managed: Path | None = None
    problems: tuple[Problem, ...] = ()

    def are_at(self, other: "UserDirs") -> bool:
        """Return whether these are the same folders as others."""
        return (self.home, self.config, self.data) == (other.home, other.config, other.data)


def find_user_dirs(
    project: Path | None = None, *, environ: Mapping[str, str] | None = None, managed: str | None = None
) -> UserDirs:
    """Return the folders of the user who runs this, while working on a project.

    A variable counts when its folder is the user's own and cannot have come with a project: owned by the user, not writable by
    others, and not inside the project or a repository around it. A folder that does not exist does not count where the default
    one does. Otherwise the default folder is used, and a problem reported.
    """
    environ = caller_context.environ() if environ is None else environ
    problems: list[Problem] = []
    system = _check_managed(_MANAGED if managed is None else managed, problems)
    if sys.platform == "win32":
        import platformdirs  # noqa: PLC0415 - only needed on Windows

        return UserDirs(
            home=Path.home(),
            config=Path(platformdirs.user_config_dir(_APP, appauthor=False)),
            data=Path(platformdirs.user_data_dir(_APP, appauthor=False)),
            managed=system,
        )
    entry = database_home()
    # a container may run as a user id without an entry in the user database
    own = os.path.realpath(entry or "/")
    root, here = os.path.realpath(project or working_folder()), os.path.realpath(working_folder())
    foreign = [*find_repositories(root, home=own), *find_repositories(here, home=own)]
    # a user may work on the home folder itself: everything in it is theirs all the same
    if not entry or not is_inside(own, (root,)):
        foreign.append(root)

    def choose(variable: str, default: str, below: str = "", mark: str = "") -> str:
        """Return the folder that a variable names, or the default one where it may not be the user's.

        `mark` is what the default folder has below it if it is in use.
        """
        named = environ.get(variable, "") if variable else ""
        real = os.path.realpath(os.path.join(named, below)) if named else ""
        if not named or real == os.path.realpath(default):
            return default
        is_below_home = own != "/" and is_inside(real, (own,))
        if not os.path.isabs(named):
            reason = "is no absolute path"
        elif is_inside(real, foreign):
            reason = "points into this workspace"
        elif not os.path.lexists(real) and os.path.lexists(os.path.join(default, mark)):
            # settings of a project may name any folder: an empty place does not take the user's guards away
            reason = "points to a folder that does not exist"
        elif not is_below_home and any(os.path.lexists(f"{path}/.git") for path in _upwards(real)):
            reason = "points into a git work tree"
        else:
            reason = _check_owner(real) if entry else ""
        if not reason:
            return real
        why = f"{variable} {reason} ({named}); your own folder {default} is used instead"
        problems.append(Problem("environment", 0, why))
        return default

    home = choose("HOME", entry or "/", mark=_MOVABLE[0][1])
    config, data = (choose(variable, f"{home}/{default}", _APP) for variable, default in _MOVABLE)
    return UserDirs(home=Path(home), config=Path(config), data=Path(data), managed=system, problems=tuple(problems))


def list_deciding_paths(environ: Mapping[str, str]) -> list[str]:
    """List the paths whose owner or existence decides what `find_user_dirs` returns.

    These are the folders that the variables name, which may be links, and the managed folder with everything above it.
    """
    named = [("HOME", ""), *((variable, _APP) for variable, _ in _MOVABLE)]
    paths = [os.path.join(environ.get(name, ""), below) for name, below in named if name and environ.get(name)]
    homes = [home for home in (environ.get("HOME", ""), database_home()) if home]
    paths += [f"{home}/{default}" for home in homes for _, default in _MOVABLE]
    if _MANAGED:
        paths += [_MANAGED, *(_upwards(os.path.realpath(_MANAGED)) if os.path.lexists(_MANAGED) else ())]
    return paths


def is_in_home(folder: Path) -> bool:
    """Return whether a folder is in the home of the user database, where a repository around it does not matter."""
    if sys.platform == "win32":
        # no variable moves the folders there
        return True
    home = os.path.realpath(database_home() or "/")
    return home != "/" and is_inside(os.path.realpath(folder), (home,))


def working_folder() -> Path:
    """Return the caller's working folder; one that was removed must not switch guards off."""
    try:
        return Path(caller_context.folder())
    except OSError:
        return Path("/")


def find_repositories(folder: str, *, home: str) -> list[str]:
    """List the top folders of the repositories around a folder, the nearest first.

    A home folder that is a repository itself, as users keep their dotfiles, is left out: everything they have is in it.
    """
    found = []
    for path in _upwards(folder):
        if is_inside(home, (path,)):
            break
        if os.path.lexists(f"{path}/.git"):
            found.append(path)
    return found


def parents_in_repository(project: Path, *, home: Path) -> tuple[Path, ...]:
    """List the folders above a project up to the top of its repository, the nearest first."""
    root = os.path.realpath(project)
    tops = find_repositories(root, home=os.path.realpath(home))
    return tuple(Path(path) for path in _upwards(root)[1:] if is_inside(path, (tops[0],))) if tops else ()


def _check_owner(path: str) -> str:
    """Return why a folder, or the one it would be created in, is not the user's alone; empty when it is."""
    for place in _upwards(path):
        try:
            found = os.stat(place)
        except OSError:
            continue
        if found.st_uid != os.getuid():
            return "points to a folder that belongs to another user"
        if found.st_mode & _OTHERS_WRITE:
            return "points to a folder that others may write to"
        return ""
    return "points nowhere"


def _check_managed(path: str, problems: list[Problem]) -> Path | None:
    """Return the managed folder if only an administrator can have put something there."""
    if not path or not os.path.lexists(path):
        return None
    for place in _upwards(os.path.realpath(path)):
        try:
            found = os.stat(place)
        except OSError as problem:
            problems.append(Problem(path, 0, f"the managed hooks are not loaded: {place}: {problem.strerror}"))
            return None
        # in a sticky folder such as /tmp, users cannot replace each other's files
        is_open = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
        if found.st_uid != 0 or is_open:
            why = f"{place} can be changed by others than the administrator"
            problems.append(Problem(path, 0, f"the managed hooks are not loaded: {why}; give it to root, mode 755"))
            return None
    return Path(path)


def _upwards(path: str) -> list[str]:
    paths = [path]
    while (above := os.path.dirname(paths[-1])) != paths[-1]:
        paths.append(above)
    return paths
