"""What there is to know about an agent in order to be called by it: where its settings are, and how they are written."""

import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from hookline.dialects import DIALECTS
from hookline.errors import HostError
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec
from hookline.model.ours import Entry
from hookline.wiring import native_names

# as long as the longest hook of anybody may take; each hook has a shorter limit of its own
SECONDS: Final = 600

_WATCHED: Final = "nothing can be done there but watch"


class Scope(StrEnum):
    """Whose settings: of the person, of everybody who works on a project, of the person in a project."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


class Call(Struct, frozen=True):
    """One event of an agent, the command it is to run there, and the same without a shell, word by word.

    With `headers`, the command is a URL to be called with them; if it is `strict`, a call that fails is a no.
    """

    event: str
    command: str
    words: tuple[str, ...] = ()
    seconds: int = SECONDS
    headers: tuple[tuple[str, str], ...] = ()
    strict: bool = False


class Shape(Protocol):
    """How the settings of an agent are written: text in, text out, and everything that is not ours stays."""

    def added(self, text: str, calls: tuple[Call, ...], *, path: str) -> str:
        """Add entries to a text that has none of ours."""

    def removed(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Take ours out; None when nothing is left of a file that was not there `before` us."""

    def entries(self, text: str, *, path: str) -> tuple[tuple[Entry, ...], int]:
        """Give the entries of ours in a text, and count the others."""

    def holds(self, text: str, calls: tuple[Call, ...], *, path: str) -> bool:
        """Say whether a text has exactly these entries of ours already."""


# the person's folder of the agent, the settings that ours are in, their text: the file that approves ours, if any
Approval = Callable[[Path, Path, str], tuple[Path, Shape]]


class Home(Struct, frozen=True, kw_only=True):
    """Where the person's own settings of an agent are.

    `moved` are the variables that may say otherwise, in the order in which the agent asks them, and what is below the
    folder that each one names.
    """

    default: str
    moved: tuple[tuple[str, str], ...] = ()

    def folder(self, *, home: Path, environ: Mapping[str, str]) -> Path:
        """Give the folder."""
        for variable, below in self.moved:
            named = environ.get(variable, "")
            if named and os.path.isabs(named):  # noqa: PTH117 - a text, which need not be a path
                return Path(named) / below
        return home / self.default


class Around(Struct, frozen=True, kw_only=True):
    """Where everything is looked for: the person's home and data folder, the project, the environment."""

    home: Path
    data: Path
    project: Path
    environ: Mapping[str, str]


class Host(Struct, frozen=True, kw_only=True):
    """One agent.

    `files` says where ours go, by scope: below the person's folder of the agent, or below the project. A name that ends
    in `/` is a folder with a file for each event. `reads` are all files the agent takes hooks from, with stars, and
    `system` those for the whole machine. `left_out` are events that are not asked about unless somebody wants them, and
    why; at those in `never`, a hook that has nothing to say does harm. `seconds` has the limits of events that the agent
    does not wait longer for. `switches` are places in its settings, and what stands there when it runs no hooks. `notes`
    is what the person has to know, by scope. `approval` is for agents that run only what is approved in another file.
    `commands_only` is for agents that can call a URL instead of a command: the events at which they cannot, or at which
    an answer has no other way to say no than an exit code. With `strict_urls`, settings can have it that a call of a URL
    that fails is a no. `url_lists` are places in its settings with the patterns of all URLs that may be called.
    """

    name: str
    programs: tuple[str, ...]
    home: Home
    shape: Shape
    files: Mapping[Scope, str]
    reads: Mapping[Scope, tuple[str, ...]]
    system: tuple[str, ...] = ()
    left_out: Mapping[str, str] = {}
    never: frozenset[str] = frozenset()
    seconds: Mapping[str, int] = {}
    notes: Mapping[Scope, tuple[str, ...]] = {}
    switches: tuple[tuple[tuple[str, ...], object], ...] = ()
    approval: Approval | None = None
    commands_only: frozenset[str] | None = None
    strict_urls: bool = False
    url_lists: tuple[tuple[str, ...], ...] = ()

    @property
    def spec(self) -> DialectSpec:
        """What its language is like."""
        return DIALECTS[self.name].SPEC

    @property
    def title(self) -> str:
        """What people call it."""
        return self.spec.title

    @property
    def events(self) -> tuple[str, ...]:
        """Every event it can ask us about, by its own names."""
        return tuple(event for event in self.spec.abilities or () if event not in self.never)

    @property
    def usual_events(self) -> tuple[str, ...]:
        """The events it asks us about unless somebody says otherwise."""
        return tuple(event for event in self.events if not self.why_not(event))

    def why_not(self, event: str) -> str:
        """Say why an event is not asked about unless somebody wants it; empty when it is."""
        if event in self.left_out:
            return self.left_out[event]
        can_matter = (self.spec.abilities or {}).get(event, frozenset()) & {Ability.BLOCK, Ability.CONTEXT}
        return "" if can_matter or event in native_names()[self.name] else _WATCHED

    def calls_url(self, event: str) -> bool:
        """Say whether it can call a URL about an event, and nothing of an answer gets lost."""
        return self.commands_only is not None and event in self.events and event not in self.commands_only

    def root(self, scope: Scope, around: Around) -> Path:
        """Give the folder that the files of a scope are counted from."""
        return self.home.folder(home=around.home, environ=around.environ) if scope is Scope.USER else around.project

    def place(self, scope: Scope, around: Around) -> Path:
        """Give the file that ours go into, or the folder where each event has its own.

        Raises:
            HostError: The agent has no such settings.
        """
        if scope not in self.files:
            known = ", ".join(self.files)
            raise HostError(f"{self.title} has no settings of the scope {scope}; it has {known}")
        return self.root(scope, around) / self.files[scope]
