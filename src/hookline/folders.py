"""Whose folders: where a person's own configuration, approvals and traces lie.

The environment may move them, but a project may not: a cloned repository that ships settings for direnv or a
`.env` file could otherwise bring approvals of its own, or make a person's guards disappear.
"""

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline import surroundings
from hookline.config.problem import Problem

_APP: Final = "hookline"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH

# Fixed, never from the environment. Windows has none: everyone may create folders in the one it has for this.
_MANAGED: Final[Mapping[str, str]] = {
    "darwin": "/Library/Application Support/hookline",
    "win32": "",
    "": "/etc/hookline",
}


class Folders(Struct, frozen=True, kw_only=True):
    """Where a person's things are kept, and what was wrong with the places the environment names.

    `managed` is the system folder whose hooks nobody but an administrator can switch off.
    """

    home: Path
    config: Path
    data: Path
    managed: Path | None = None
    problems: tuple[Problem, ...] = ()


class _Place(Struct, frozen=True):
    """A folder of the person: the variable that may move it, what is below that, and where it is otherwise."""

    variable: str
    below: str
    default: str


# below the home folder, as each system has it
_PLACES: Final[Mapping[str, tuple[_Place, _Place]]] = {
    "darwin": (
        _Place("", "", f"Library/Application Support/{_APP}"),
        _Place("", "", f"Library/Application Support/{_APP}"),
    ),
    "": (
        _Place("XDG_CONFIG_HOME", _APP, f".config/{_APP}"),
        _Place("XDG_DATA_HOME", _APP, f".local/share/{_APP}"),
    ),
}


def person_folders(
    project: Path | None = None, *, environ: Mapping[str, str] | None = None, managed: str | None = None
) -> Folders:
    """Find the folders of the person who runs this, while working on a project.

    A variable counts when the folder it names is the person's own and nothing a project could have brought:
    owned by them, written by nobody else, and not inside the project or a repository around it. Otherwise the
    usual folder is used, and that is a problem to report.
    """
    given = surroundings.environ() if environ is None else environ
    problems: list[Problem] = []
    system = _managed(managed if managed is not None else _MANAGED.get(sys.platform, _MANAGED[""]), problems)
    if sys.platform == "win32":
        import platformdirs  # noqa: PLC0415 - the others get by without

        return Folders(
            home=Path.home(),
            config=Path(platformdirs.user_config_dir(_APP, appauthor=False)),
            data=Path(platformdirs.user_data_dir(_APP, appauthor=False)),
            managed=system,
        )
    judge = _Judge(project or here())
    home = judge.choose("HOME", given, default=judge.own, problems=problems)
    config, data = (
        judge.choose(place.variable, given, default=f"{home}/{place.default}", below=place.below, problems=problems)
        for place in _PLACES.get(sys.platform, _PLACES[""])
    )
    return Folders(home=Path(home), config=Path(config), data=Path(data), managed=system, problems=tuple(problems))


def deciding(environ: Mapping[str, str]) -> list[str]:
    """Name the places whose owners, or whose being there, decide which folders `person_folders` gives.

    Those are what the variables name, which may be a link, and the system folder with everything above it.
    """
    named = [("HOME", ""), *((place.variable, place.below) for place in _PLACES.get(sys.platform, _PLACES[""]))]
    places = [os.path.join(environ.get(name, ""), below) for name, below in named if name and environ.get(name)]  # noqa: PTH118
    system = _MANAGED.get(sys.platform, _MANAGED[""])
    if system:
        places += [system, *(_upwards(os.path.realpath(system)) if os.path.lexists(system) else ())]
    return places


def is_at_home(folder: Path) -> bool:
    """Say whether a folder lies in the home of the user database, where a repository around it is no objection."""
    if sys.platform == "win32":
        # no variable moves them there
        return True
    home = os.path.realpath(_entry() or "/")
    return home != "/" and _inside(os.path.realpath(folder), home)


def here() -> Path:
    """Say where this program works; a folder that was removed under it is no reason to ask no guard."""
    try:
        return Path(surroundings.folder())
    except OSError:
        return Path("/")


def repositories(folder: str, *, home: str) -> list[str]:
    """List the top folders of the repositories around a folder, the nearest first.

    A home folder that is a repository itself, as people keep their settings, is not meant: everything a person
    has lies in it.
    """
    found = []
    for place in _upwards(folder):
        if _inside(home, place):
            break
        if os.path.lexists(f"{place}/.git"):
            found.append(place)
    return found


def between(project: Path, *, home: Path) -> tuple[Path, ...]:
    """List the folders above a project up to the top of its repository, the nearest first."""
    root = os.path.realpath(project)
    tops = repositories(root, home=os.path.realpath(home))
    return tuple(Path(place) for place in _upwards(root)[1:] if _inside(place, tops[0])) if tops else ()


class _Judge:
    """Decide which folders named by the environment may be a person's own."""

    def __init__(self, project: Path) -> None:
        entry = _entry()
        # a container may run as a number that nobody gave a name or a folder to
        self.own = entry or "/"
        self._is_known = bool(entry)
        self._home = os.path.realpath(self.own)
        root = os.path.realpath(project)
        # a person may work on their home folder: what lies in it is theirs all the same
        is_around_home = self._is_known and _inside(self._home, root)
        around = [*repositories(root, home=self._home), *repositories(os.path.realpath(here()), home=self._home)]
        self._foreign = around if is_around_home else [root, *around]

    def choose(
        self, variable: str, environ: Mapping[str, str], *, default: str, problems: list[Problem], below: str = ""
    ) -> str:
        """Give the folder that a variable names, or the default one when that may not be the person's."""
        named = environ.get(variable, "") if variable else ""
        if not named:
            return default
        real = os.path.realpath(os.path.join(named, below))  # noqa: PTH118 - these are texts, not paths
        if real == os.path.realpath(default):
            return default
        objection = self._objection(named, real)
        if not objection:
            return real
        why = f"{variable} {objection} ({named}); your own folder {default} is used instead"
        problems.append(Problem("environment", 0, why))
        return default

    def _objection(self, named: str, real: str) -> str:
        if not os.path.isabs(named):  # noqa: PTH117
            return "is no absolute path"
        if any(_inside(real, folder) for folder in self._foreign):
            return "points into this workspace"
        is_below_home = self._home != "/" and _inside(real, self._home)
        if not is_below_home and any(os.path.lexists(f"{place}/.git") for place in _upwards(real)):
            return "points into a git work tree"
        return _ownership(real) if self._is_known else ""


def _entry() -> str:
    """Give the home folder of the user database."""
    import pwd  # noqa: PLC0415 - not on Windows

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


def _ownership(path: str) -> str:
    """Say why a folder, or the one it would be made in, is not the person's alone."""
    for place in _upwards(path):
        try:
            found = os.stat(place)  # noqa: PTH116 - these are texts, not paths
        except OSError:
            continue
        if found.st_uid != os.getuid():
            return "points to a folder that belongs to somebody else"
        if found.st_mode & _OTHERS_WRITE:
            return "points to a folder that others may write to"
        return ""
    return "points nowhere"


def _managed(path: str, problems: list[Problem]) -> Path | None:
    """Give the managed folder when only an administrator can have put something there."""
    if not path or not os.path.lexists(path):
        return None
    for place in _upwards(os.path.realpath(path)):
        try:
            found = os.stat(place)  # noqa: PTH116 - these are texts, not paths
        except OSError as problem:
            problems.append(Problem(path, 0, f"the managed hooks are not loaded: {place}: {problem.strerror}"))
            return None
        # in a folder like /tmp nobody can replace what is not theirs
        is_open = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
        if found.st_uid != 0 or is_open:
            why = f"{place} can be changed by others than the administrator"
            problems.append(Problem(path, 0, f"the managed hooks are not loaded: {why}; give it to root, mode 755"))
            return None
    return Path(path)


def _upwards(path: str) -> list[str]:
    places = [path]
    while (above := os.path.dirname(places[-1])) != places[-1]:  # noqa: PTH120 - these are texts, not paths
        places.append(above)
    return places


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
