"""Where configurations lie: one row a place, the strongest first."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeVar

from msgspec import Struct

from hookline.config.problem import Problem
from hookline.model.hook import Layer, Source

T = TypeVar("T")


class Root(StrEnum):
    """Where a place is counted from."""

    MANAGED = "managed"
    PROJECT = "project"
    HOME = "home"
    CONFIG = "config"


# The folders a place may be counted from. There is more than one project folder when a person works somewhere
# inside a repository: the nearest comes first.
Roots = Mapping[Root, Sequence[str]]


class Place(Struct, frozen=True, kw_only=True):
    """One place.

    `path` is a file; a star stands for every name, or every name with such an ending. `formats` are tried in
    order. `source` follows from where the place is, never from what a file says.
    """

    root: Root
    path: str
    formats: tuple[str, ...]
    dialect: str
    source: Source
    layer: Layer


class File(Struct, frozen=True):
    """A file found at a place; `root` is where its relative names are counted from."""

    path: str
    place: Place
    root: str


_LAYERS: Final = {
    Root.MANAGED: Layer.MANAGED,
    Root.PROJECT: Layer.PROJECT,
    Root.HOME: Layer.USER,
    Root.CONFIG: Layer.USER,
}
_SOURCES: Final = {Layer.MANAGED: Source.USER, Layer.USER: Source.USER, Layer.EXTENSION: Source.EXTENSION}


def _place(
    root: Root,
    path: str,
    *,
    formats: tuple[str, ...],
    dialect: str,
    layer: Layer | None = None,
    source: Source | None = None,
) -> Place:
    whose = layer or _LAYERS[root]
    return Place(
        root=root,
        path=path,
        formats=formats,
        dialect=dialect,
        source=source or _SOURCES.get(whose, Source.WORKSPACE),
        layer=whose,
    )


def _per_file(root: Root, folder: str) -> Iterator[Place]:
    for ending in ("json", "yaml", "yml"):
        yield _place(root, f"{folder}/*.{ending}", formats=("grouped", "per_file"), dialect="cli-agent")


_NATIVE: Final = ("native",)
_GROUPED: Final = ("grouped",)
_DEFINITIONS: Final = ("grouped", "ollm")

# Of the same hook in two places the one that is trusted more is kept, and of two equals the one further up.
# `.ollm/hooks/trusted/` is a place like any other in the workspace: a cloned repository could ship it, and the
# same is true of a file that calls itself local.
PLACES: Final = (
    _place(Root.MANAGED, "hookline.toml", formats=_NATIVE, dialect="hookline"),
    _place(Root.PROJECT, "hookline.local.toml", formats=_NATIVE, dialect="hookline", layer=Layer.LOCAL),
    _place(Root.PROJECT, "hookline.toml", formats=_NATIVE, dialect="hookline"),
    _place(Root.CONFIG, "hookline.toml", formats=_NATIVE, dialect="hookline"),
    _place(Root.PROJECT, ".ollm/hooks/*.json", formats=_DEFINITIONS, dialect="ollm"),
    _place(Root.PROJECT, ".ollm/hooks/trusted/*.json", formats=_DEFINITIONS, dialect="ollm"),
    _place(Root.HOME, ".ollm/hooks/*.json", formats=_DEFINITIONS, dialect="ollm"),
    _place(Root.PROJECT, ".ollama/settings.json", formats=_GROUPED, dialect="ollama-cli"),
    _place(Root.HOME, ".ollama/settings.json", formats=_GROUPED, dialect="ollama-cli"),
    _place(Root.PROJECT, ".config/agent/settings.local.json", formats=_GROUPED, dialect="cli-agent", layer=Layer.LOCAL),
    _place(Root.PROJECT, ".config/agent/settings.json", formats=_GROUPED, dialect="cli-agent"),
    _place(Root.HOME, ".config/agent/settings.json", formats=_GROUPED, dialect="cli-agent"),
    _place(Root.HOME, ".config/cli-agent/settings.json", formats=_GROUPED, dialect="cli-agent"),
    *_per_file(Root.PROJECT, ".config/agent/hooks"),
    *_per_file(Root.HOME, ".config/agent/hooks"),
    *_per_file(Root.HOME, ".config/cli-agent/hooks"),
    _place(
        Root.CONFIG,
        "packs/*/hookline.toml",
        formats=_NATIVE,
        dialect="hookline",
        layer=Layer.EXTENSION,
        source=Source.DOWNLOADED,
    ),
    _place(
        Root.HOME,
        ".ollm/hooks/downloaded/*.json",
        formats=_DEFINITIONS,
        dialect="ollm",
        layer=Layer.EXTENSION,
        source=Source.DOWNLOADED,
    ),
    _place(
        Root.PROJECT, ".ollm/extensions/*/hooks/*.json", formats=_DEFINITIONS, dialect="ollm", layer=Layer.EXTENSION
    ),
    _place(Root.HOME, ".ollm/extensions/*/hooks/*.json", formats=_DEFINITIONS, dialect="ollm", layer=Layer.EXTENSION),
)


def find(roots: Roots, places: Sequence[Place] = PLACES) -> tuple[list[File], list[Problem]]:
    """Find every configuration below these roots, the strongest first.

    A file that is at two places at once, because a person works in their home folder, is found once, and
    it is theirs if one of the two places is.
    """
    found: dict[str, File] = {}
    disk = _Disk()
    for place in places:
        for root in roots.get(place.root, ()):
            for path in disk.paths(root.rstrip("/"), place.path):
                earlier = found.get(path)
                if earlier is None or earlier.place.source is Source.WORKSPACE is not place.source:
                    found[path] = File(path, place, _root_of(path, place, root))
    return list(found.values()), disk.problems


def _root_of(path: str, place: Place, root: str) -> str:
    """Say where relative names are counted from: what was installed as a folder brings its own scripts."""
    head, inner, _ = place.path.partition("/*/")
    return path[: path.index("/", len(f"{root.rstrip('/')}/{head}/"))] if inner else root


class _Disk:
    """Look each folder up once, however many places are in it, and keep what went wrong."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._listings: dict[str, list[str]] = {}

    def paths(self, folder: str, pattern: str) -> list[str]:
        """Give the paths at a place; what is not there is no problem."""
        head, star, tail = pattern.partition("/*")
        here = f"{folder}/{head}"
        if not star:
            # not followed: a link that leads nowhere is a mistake to report, not a file that is not there
            return [here] if self._ask(os.lstat, here) is not None else []
        ending, deeper, rest = tail.partition("/")
        names = [name for name in self._names(here) if name.endswith(ending)]
        if not deeper:
            return [f"{here}/{name}" for name in names]
        # whoever installs a folder makes it under a name with a dot first
        inner = [f"{here}/{name}" for name in names if not name.startswith(".")]
        return [path for folder in inner for path in self.paths(folder, rest)]

    def _names(self, folder: str) -> list[str]:
        names = self._listings.get(folder)
        if names is None:
            names = self._listings[folder] = sorted(self._ask(os.listdir, folder) or ())
        return names

    def _ask(self, question: Callable[[str], T], path: str) -> T | None:
        try:
            return question(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            self.problems.append(Problem(path, 0, f"cannot be looked into: {problem.strerror}"))
            return None
