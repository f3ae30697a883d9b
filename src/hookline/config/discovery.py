"""Find configuration files: one row per location, the strongest first."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hookline.config.document import Problem
from hookline.config.formats.agent_specs import FILE_SPECS_BY_AGENT
from hookline.model.hook import Layer, Source

T = TypeVar("T")


class Root(StrEnum):
    """The folder that a location is relative to."""

    MANAGED = "managed"
    PROJECT = "project"
    HOME = "home"
    CONFIG = "config"


# The folders a place may be counted from. There is more than one project folder when a user works somewhere
# inside a repository: the nearest comes first.
Roots = Mapping[Root, Sequence[str]]


class Location(Struct, frozen=True, kw_only=True):
    """One location of configuration files.

    `path` is a file; a star stands for every name, or every name with such an ending. `formats` are tried in
    order. `source` follows from where the place is, never from what a file says. `agent` is the agent whose own file
    this is, and `is_program` says that the file is what runs, and not a text to be read.
    """

    root: Root
    path: str
    formats: tuple[str, ...]
    dialect: str
    source: Source
    layer: Layer
    agent: str = ""
    is_program: bool = False


class DiscoveredFile(Struct, frozen=True):
    """A file found at a location; its relative names are relative to `root`."""

    path: str
    location: Location
    root: str


# what files at a place are written in: their formats, and the dialect of their hooks
_Kind = tuple[tuple[str, ...], str]

_LAYERS: Final = {
    Root.MANAGED: Layer.MANAGED,
    Root.PROJECT: Layer.PROJECT,
    Root.HOME: Layer.USER,
    Root.CONFIG: Layer.USER,
}
_SOURCES: Final = {Layer.MANAGED: Source.USER, Layer.USER: Source.USER, Layer.EXTENSION: Source.EXTENSION}


def _location(root: Root, path: str, *, kind: _Kind, layer: Layer | None = None, downloaded: bool = False) -> Location:
    formats, dialect = kind
    whose = layer or _LAYERS[root]
    source = Source.DOWNLOADED if downloaded else _SOURCES.get(whose, Source.WORKSPACE)
    return Location(root=root, path=path, formats=formats, dialect=dialect, source=source, layer=whose)


_NATIVE: Final = (("native",), "hookline")
_OLLM: Final = (("grouped", "ollm"), "ollm")
_OLLAMA: Final = (("grouped",), "ollama-cli")
_CLI_AGENT: Final = (("grouped",), "cli-agent")
_PER_FILE: Final = (("grouped", "per_file"), "cli-agent")

# the fields of a spec that have paths, and what these are counted from
_AGENT_ROOTS: Final = (
    (Root.PROJECT, Layer.LOCAL, "local"),
    (Root.PROJECT, None, "project"),
    (Root.HOME, None, "home"),
)

# Of the same hook in two places the one that is trusted more is kept, and of two equals the one further up.
# `.ollm/hooks/trusted/` is a place like any other in the workspace: a cloned repository could ship it, and the
# same is true of a file that calls itself local.
LOCATIONS: Final = (
    _location(Root.MANAGED, "hookline.toml", kind=_NATIVE),
    _location(Root.PROJECT, "hookline.local.toml", kind=_NATIVE, layer=Layer.LOCAL),
    _location(Root.PROJECT, "hookline.toml", kind=_NATIVE),
    _location(Root.CONFIG, "hookline.toml", kind=_NATIVE),
    _location(Root.PROJECT, ".ollm/hooks/*.json", kind=_OLLM),
    _location(Root.PROJECT, ".ollm/hooks/trusted/*.json", kind=_OLLM),
    _location(Root.HOME, ".ollm/hooks/*.json", kind=_OLLM),
    _location(Root.PROJECT, ".ollama/settings.json", kind=_OLLAMA),
    _location(Root.HOME, ".ollama/settings.json", kind=_OLLAMA),
    _location(Root.PROJECT, ".config/agent/settings.local.json", kind=_CLI_AGENT, layer=Layer.LOCAL),
    _location(Root.PROJECT, ".config/agent/settings.json", kind=_CLI_AGENT),
    _location(Root.HOME, ".config/agent/settings.json", kind=_CLI_AGENT),
    _location(Root.HOME, ".config/cli-agent/settings.json", kind=_CLI_AGENT),
    *(
        _location(root, f"{folder}/*.{ending}", kind=_PER_FILE)
        for root, folder in (
            (Root.PROJECT, ".config/agent/hooks"),
            (Root.HOME, ".config/agent/hooks"),
            (Root.HOME, ".config/cli-agent/hooks"),
        )
        for ending in ("json", "yaml", "yml")
    ),
    # where agents keep hooks of their own; other agents can run these hooks as well
    *(
        replace(_location(root, path, kind=((form,), agent), layer=layer), agent=agent, is_program=spec.is_program)
        for agent, specs in FILE_SPECS_BY_AGENT.items()
        for root, layer, paths in _AGENT_ROOTS
        for form, spec in specs.items()
        for path in getattr(spec, paths)
    ),
    _location(Root.CONFIG, "packs/*/hookline.toml", kind=_NATIVE, layer=Layer.EXTENSION, downloaded=True),
    _location(Root.HOME, ".ollm/hooks/downloaded/*.json", kind=_OLLM, layer=Layer.EXTENSION, downloaded=True),
    _location(Root.PROJECT, ".ollm/extensions/*/hooks/*.json", kind=_OLLM, layer=Layer.EXTENSION),
    _location(Root.HOME, ".ollm/extensions/*/hooks/*.json", kind=_OLLM, layer=Layer.EXTENSION),
)


def select_locations(agents: Collection[str] | bool) -> tuple[Location, ...]:  # noqa: FBT001 - as the setting has it
    """Return the places to look at when only these agents' own files shall be read: all, none, or some."""
    if agents is True:
        return LOCATIONS
    return tuple(place for place in LOCATIONS if not place.agent or (agents and place.agent in agents))


def find_files(
    roots: Roots, places: Sequence[Location] = LOCATIONS, *, looked: set[str] | None = None
) -> tuple[list[DiscoveredFile], list[Problem]]:
    """Find every configuration below these roots, the strongest first.

    `looked` gets the folders in which another one would have been found.

    A file that is at two places at once, because a user works in their home folder, is found once, and
    it is theirs if one of the two places is.
    """
    found: dict[str, DiscoveredFile] = {}
    disk = _DirectoryCache(looked if looked is not None else set())
    for place in places:
        for root in roots.get(place.root, ()):
            for path in disk.paths(root.rstrip("/"), place.path) if disk.may_contain(root, place.path) else ():
                earlier = found.get(path)
                if earlier is None or earlier.location.source is Source.WORKSPACE is not place.source:
                    # what was installed as a folder brings its own scripts, so relative names are counted from there
                    head, inner, _ = place.path.partition("/*/")
                    top = path[: path.index("/", len(f"{root.rstrip('/')}/{head}/"))] if inner else root
                    found[path] = DiscoveredFile(path, place, top)
    return list(found.values()), disk.problems


class _DirectoryCache:
    """List each folder once, and collect the errors."""

    def __init__(self, looked: set[str]) -> None:
        self.problems: list[Problem] = []
        self._looked = looked
        self._listings: dict[str, list[str]] = {}
        self._tops: dict[str, frozenset[str] | None] = {}

    def may_contain(self, root: str, pattern: str) -> bool:
        """Return whether the first name of a place is there at all: most folders that agents might have are not."""
        if root not in self._tops:
            self._looked.add(root)
            try:
                # in small letters, as not all disks tell them apart
                self._tops[root] = frozenset(map(str.lower, os.listdir(root)))  # noqa: PTH208 - names are enough
            except OSError:
                self._tops[root] = None
        names = self._tops[root]
        return names is None or pattern.partition("/")[0].lower() in names

    def paths(self, folder: str, pattern: str) -> list[str]:
        """Return the paths at a place; what is not there is no problem."""
        head, star, tail = pattern.partition("/*")
        here = f"{folder}/{head}"
        if not star:
            # not followed: a link that leads nowhere is a mistake to report, not a file that is not there
            self._looked.add(os.path.dirname(here))  # noqa: PTH120 - only texts here
            return [here] if self._query(os.lstat, here) is not None else []
        ending, deeper, rest = tail.partition("/")
        if here not in self._listings:
            self._looked.update((here, os.path.dirname(here)))  # noqa: PTH120 - only texts here
            self._listings[here] = sorted(self._query(os.listdir, here) or ())
        names = [name for name in self._listings[here] if name.endswith(ending)]
        if not deeper:
            return [f"{here}/{name}" for name in names]
        # `pack.install` unpacks into a folder whose name starts with a dot, then renames it
        inner = [f"{here}/{name}" for name in names if not name.startswith(".")]
        return [path for folder in inner for path in self.paths(folder, rest)]

    def _query(self, question: Callable[[str], T], path: str) -> T | None:
        try:
            return question(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            self.problems.append(Problem(path, 0, f"cannot be looked into: {problem.strerror}"))
            return None
