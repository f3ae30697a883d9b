"""Where configurations lie: one row a place, the strongest first."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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


# the formats of a file that is a program
PROGRAMS: Final = ("cline",)


class Place(Struct, frozen=True, kw_only=True):
    """One place.

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
    agent: str = "",
) -> Place:
    whose = layer or _LAYERS[root]
    return Place(
        root=root,
        path=path,
        formats=formats,
        dialect=dialect,
        source=source or _SOURCES.get(whose, Source.WORKSPACE),
        layer=whose,
        agent=agent,
        is_program=formats == PROGRAMS,
    )


def _of(agent: str, root: Root, *paths: str, form: str = "", layer: Layer | None = None) -> Iterator[Place]:
    """Give the places of an agent's own files, in one format."""
    for path in paths:
        yield _place(root, path, formats=(form or agent,), dialect=agent, layer=layer, agent=agent)


def _per_file(root: Root, folder: str) -> Iterator[Place]:
    for ending in ("json", "yaml", "yml"):
        yield _place(root, f"{folder}/*.{ending}", formats=("grouped", "per_file"), dialect="cli-agent")


_HOME: Final = Root.HOME
_HERE: Final = Root.PROJECT
_NATIVE: Final = ("native",)
_GROUPED: Final = ("grouped",)
_DEFINITIONS: Final = ("grouped", "ollm")

# Where agents keep hooks of their own: what they run themselves, other agents can have from here.
_OF_AGENTS: Final = (
    *_of("claude-code", _HERE, ".claude/settings.local.json", layer=Layer.LOCAL),
    *_of("claude-code", _HERE, ".claude/settings.json"),
    *_of("claude-code", _HOME, ".claude/settings.json"),
    *_of("codex-cli", _HERE, ".codex/hooks.json", ".codex/config.toml"),
    *_of("codex-cli", _HOME, ".codex/hooks.json", ".codex/config.toml"),
    *_of("gemini-cli", _HERE, ".gemini/settings.json"),
    *_of("gemini-cli", _HOME, ".gemini/settings.json"),
    *_of("qwen-code", _HERE, ".qwen/settings.json"),
    *_of("qwen-code", _HOME, ".qwen/settings.json"),
    *_of("cursor", _HERE, ".cursor/hooks.json"),
    *_of("cursor", _HOME, ".cursor/hooks.json"),
    *_of("copilot-cli", _HERE, ".github/copilot/settings.local.json", layer=Layer.LOCAL),
    *_of("copilot-cli", _HERE, ".github/hooks/*.json", ".github/copilot/settings.json"),
    *_of("copilot-cli", _HOME, ".copilot/hooks/*.json", ".copilot/settings.json"),
    *_of("kiro", _HERE, ".kiro/hooks/*.json"),
    *_of("kiro", _HERE, ".kiro/hooks/*.kiro.hook", form="kiro-legacy"),
    *_of("kiro", _HERE, ".kiro/agents/*.json", form="kiro-agent"),
    *_of("kiro", _HOME, ".kiro/hooks/*.json"),
    *_of("kiro", _HOME, ".kiro/agents/*.json", form="kiro-agent"),
    *_of("windsurf", _HERE, ".windsurf/hooks.json"),
    *_of("windsurf", _HOME, ".codeium/windsurf/hooks.json"),
    *_of("factory-droid", _HERE, ".factory/hooks.json"),
    *_of("factory-droid", _HOME, ".factory/hooks.json"),
    *_of("antigravity", _HERE, ".agents/hooks.json"),
    *_of("antigravity", _HOME, ".gemini/config/hooks.json"),
    *_of("cline", _HERE, ".clinerules/hooks/*"),
    *_of("cline", _HOME, "Documents/Cline/Hooks/*"),
)
# the agents whose own files are looked into
AGENTS: Final = tuple(dict.fromkeys(place.agent for place in _OF_AGENTS))

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
    *_OF_AGENTS,
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


def chosen(agents: Collection[str] | bool) -> tuple[Place, ...]:  # noqa: FBT001 - as the setting has it
    """Give the places to look at when only these agents' own files shall be read: all, none, or some."""
    if agents is True:
        return PLACES
    return tuple(place for place in PLACES if not place.agent or (agents and place.agent in agents))


def find(
    roots: Roots, places: Sequence[Place] = PLACES, *, looked: set[str] | None = None
) -> tuple[list[File], list[Problem]]:
    """Find every configuration below these roots, the strongest first.

    `looked` gets the folders in which another one would have been found.

    A file that is at two places at once, because a person works in their home folder, is found once, and
    it is theirs if one of the two places is.
    """
    found: dict[str, File] = {}
    disk = _Disk(looked if looked is not None else set())
    for place in places:
        for root in roots.get(place.root, ()):
            for path in disk.paths(root.rstrip("/"), place.path) if disk.may_hold(root, place.path) else ():
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

    def __init__(self, looked: set[str]) -> None:
        self.problems: list[Problem] = []
        self._looked = looked
        self._listings: dict[str, list[str]] = {}
        self._tops: dict[str, frozenset[str] | None] = {}

    def may_hold(self, root: str, pattern: str) -> bool:
        """Say whether the first name of a place is there at all: most folders that agents might have are not."""
        names = self._top(root)
        return names is None or pattern.partition("/")[0].lower() in names

    def paths(self, folder: str, pattern: str) -> list[str]:
        """Give the paths at a place; what is not there is no problem."""
        head, star, tail = pattern.partition("/*")
        here = f"{folder}/{head}"
        if not star:
            # not followed: a link that leads nowhere is a mistake to report, not a file that is not there
            self._looked.add(os.path.dirname(here))  # noqa: PTH120 - only texts here
            return [here] if self._ask(os.lstat, here) is not None else []
        ending, deeper, rest = tail.partition("/")
        names = [name for name in self._names(here) if name.endswith(ending)]
        if not deeper:
            return [f"{here}/{name}" for name in names]
        # whoever installs a folder makes it under a name with a dot first
        inner = [f"{here}/{name}" for name in names if not name.startswith(".")]
        return [path for folder in inner for path in self.paths(folder, rest)]

    def _top(self, folder: str) -> frozenset[str] | None:
        """Give the names in a folder, in small letters as not all disks tell them apart; None when it cannot be listed."""
        if folder not in self._tops:
            self._looked.add(folder)
            try:
                self._tops[folder] = frozenset(map(str.lower, os.listdir(folder)))  # noqa: PTH208 - names are enough
            except OSError:
                self._tops[folder] = None
        return self._tops[folder]

    def _names(self, folder: str) -> list[str]:
        names = self._listings.get(folder)
        if names is None:
            self._looked.update((folder, os.path.dirname(folder)))  # noqa: PTH120 - only texts here
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
