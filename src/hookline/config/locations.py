"""Where configurations lie: one row a place, the strongest first."""

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.config.problem import Problem
from hookline.model.hook import Layer, Source


class Root(StrEnum):
    """Where a place is counted from."""

    MANAGED = "managed"
    PROJECT = "project"
    HOME = "home"
    CONFIG = "config"


class Place(Struct, frozen=True, kw_only=True):
    """One place.

    `path` is a file, or a folder with `/*.json` or the like at its end for every such file in it. `formats`
    are tried in order. `source` follows from where the place is, never from what a file says.
    """

    root: Root
    path: str
    formats: tuple[str, ...]
    dialect: str
    source: Source
    layer: Layer


class File(Struct, frozen=True):
    """A file found at a place."""

    path: str
    place: Place


_LAYERS: Final = {
    Root.MANAGED: Layer.MANAGED,
    Root.PROJECT: Layer.PROJECT,
    Root.HOME: Layer.USER,
    Root.CONFIG: Layer.USER,
}


def _place(root: Root, path: str, *, formats: tuple[str, ...], dialect: str) -> Place:
    source = Source.WORKSPACE if root is Root.PROJECT else Source.USER
    return Place(root=root, path=path, formats=formats, dialect=dialect, source=source, layer=_LAYERS[root])


_GROUPED: Final = ("grouped",)
_DEFINITIONS: Final = ("grouped", "when_then", "ollm")

# Of the same hook in two places the one that is trusted more is kept, and of two equals the one further up.
# `.ollm/hooks/trusted/` is a place like any other in the workspace: a cloned repository could ship it.
PLACES: Final = (
    _place(Root.MANAGED, "hookline.toml", formats=("native",), dialect="hookline"),
    _place(Root.PROJECT, "hookline.toml", formats=("native",), dialect="hookline"),
    _place(Root.CONFIG, "hookline.toml", formats=("native",), dialect="hookline"),
    _place(Root.PROJECT, ".ollm/hooks/*.json", formats=_DEFINITIONS, dialect="ollm"),
    _place(Root.PROJECT, ".ollm/hooks/trusted/*.json", formats=_DEFINITIONS, dialect="ollm"),
    _place(Root.HOME, ".ollm/hooks/*.json", formats=_DEFINITIONS, dialect="ollm"),
    _place(Root.PROJECT, ".ollama/settings.json", formats=_GROUPED, dialect="ollama-cli"),
    _place(Root.HOME, ".ollama/settings.json", formats=_GROUPED, dialect="ollama-cli"),
    _place(Root.PROJECT, ".config/agent/settings.local.json", formats=_GROUPED, dialect="cli-agent"),
    _place(Root.PROJECT, ".config/agent/settings.json", formats=_GROUPED, dialect="cli-agent"),
    _place(Root.HOME, ".config/agent/settings.json", formats=_GROUPED, dialect="cli-agent"),
    _place(Root.HOME, ".config/cli-agent/settings.json", formats=_GROUPED, dialect="cli-agent"),
)


def find(roots: Mapping[Root, Path], places: Sequence[Place] = PLACES) -> tuple[list[File], list[Problem]]:
    """Find every configuration below these roots, the strongest first.

    A file that is at two places at once, because a person works in their home folder, is found once, and
    it is theirs if one of the two places is.
    """
    found: dict[str, File] = {}
    problems: list[Problem] = []
    for place in places:
        root = roots[place.root]
        try:
            paths = _paths(root, place.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            problems.append(Problem(str(root / place.path), 0, f"cannot be looked for: {problem.strerror}"))
            continue
        for path in paths:
            earlier = found.get(path)
            if earlier is None or earlier.place.source is Source.WORKSPACE is not place.source:
                found[path] = File(path, place)
    return list(found.values()), problems


def _paths(root: Path, pattern: str) -> list[str]:
    folder, star, ending = pattern.partition("/*")
    if not star:
        return _one(root / pattern)
    with os.scandir(root / folder) as entries:
        names = sorted(entry.name for entry in entries if entry.name.endswith(ending))
    return [str(root / folder / name) for name in names]


def _one(path: Path) -> list[str]:
    # not followed: a link that leads nowhere is a mistake to report, not a file that is not there
    path.lstat()
    return [str(path)]
