"""Describe how Hookline is installed into an agent: its settings files, their shape, and its events."""

import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import force_setattr

from hookline.dialects import DIALECTS
from hookline.errors import HostError
from hookline.hosts.acceptance import UNKNOWN, ReadingStrictness
from hookline.model.dialect import DialectSpec
from hookline.model.event import Ability
from hookline.model.installed_entry import InstalledEntry
from hookline.model.names import EVENT_NAMES

# the agent's limit for one call; each hook has a shorter timeout of its own
CALL_SECONDS: Final = 600

_WATCHED: Final = "nothing can be done there but watch"


class Scope(StrEnum):
    """The scope of settings: the user's, a project's, or the user's in a project."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


class EventCall(Struct, frozen=True):
    """One event of an agent, the command line to run there, and the same as words without a shell.

    With `headers`, the command is a URL to be called with them; if it is `strict`, a call that fails is a no.
    """

    event: str
    command: str
    words: tuple[str, ...] = ()
    seconds: int = CALL_SECONDS
    headers: tuple[tuple[str, str], ...] = ()
    strict: bool = False


class SettingsShape(Protocol):
    """Edit the settings of an agent: text in, text out; entries of others stay unchanged."""

    def add(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> str:
        """Add entries to a text that has none of ours."""

    def remove(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Remove our entries; None when nothing is left of a file that did not exist `before`."""

    def find_entries(self, text: str, *, path: str) -> tuple[tuple[InstalledEntry, ...], int]:
        """Return the entries of ours in a text, and count the others."""

    def matches(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> bool:
        """Return whether a text has exactly these entries of ours already."""

    def find_altered(self, text: str, *, path: str, seconds: Mapping[str, int]) -> list[tuple[str, str]]:
        """Return our entries that were changed: the event of each, and the difference."""


class HostEnvironment(Struct, frozen=True, kw_only=True):
    """The user's home and data folder, the project, and the environment."""

    home: Path
    data: Path
    project: Path
    environ: Mapping[str, str]


class Host(Struct, frozen=True, kw_only=True):
    """One agent.

    `home` is where the user's own settings are, below the home folder. `home_variables` may say otherwise, in the order in
    which the agent asks them, each with what is below the folder that it names. `files` says where ours go, by scope: below the user's folder of the agent, or below the project. A name that ends
    in `/` is a folder with a file for each event. `reads` are all files the agent takes hooks from, with stars, by
    default the same, and `system` those for the whole machine. `left_out` are events that are installed only on request, and
    why; at those in `never`, a hook that has nothing to say does harm. `seconds` has the limits of events that the agent
    does not wait longer for. `switches` are places in its settings, and what stands there when it runs no hooks. `notes`
    is what the user has to know, by scope. `approval` is for agents that run only what is approved in another file: it
    returns that file and the approvals for entries of ours, given the user's folder, the settings that ours are in, and
    their text.
    `commands_only` is for agents that can call a URL instead of a command: the events at which they cannot, or at which
    an answer has no other way to say no than an exit code. With `strict_urls`, settings can have it that a call of a URL
    that fails is a no. `url_lists` are places in its settings with the patterns of all URLs that may be called. `strictness`
    says how strictly the agent reads the file that ours go into. `managed_only` are places in settings for the whole
    machine, and what stands there when only hooks of the administrator run. `disabled_names` is the place of a list of
    hooks that are switched off one by one, by their names or commands.
    """

    name: str
    programs: tuple[str, ...]
    home: str
    shape: SettingsShape
    files: Mapping[Scope, str]
    reads: Mapping[Scope, tuple[str, ...]] = {}
    home_variables: tuple[tuple[str, str], ...] = ()
    system: tuple[str, ...] = ()
    left_out: Mapping[str, str] = {}
    never: frozenset[str] = frozenset()
    seconds: Mapping[str, int] = {}
    notes: Mapping[Scope, tuple[str, ...]] = {}
    switches: tuple[tuple[tuple[str, ...], object], ...] = ()
    approval: Callable[[Path, Path, str], tuple[Path, Mapping[str, str]]] | None = None
    commands_only: frozenset[str] | None = None
    strict_urls: bool = False
    url_lists: tuple[tuple[str, ...], ...] = ()
    strictness: ReadingStrictness = UNKNOWN
    managed_only: tuple[tuple[tuple[str, ...], object], ...] = ()
    disabled_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Have the agent read the files that ours go into, where nothing else is known."""
        if not self.reads:
            force_setattr(self, "reads", {scope: (name,) for scope, name in self.files.items()})

    @property
    def spec(self) -> DialectSpec:
        """The spec of its dialect."""
        return DIALECTS[self.name].SPEC

    @property
    def title(self) -> str:
        """The agent's display name."""
        return self.spec.title

    @property
    def events(self) -> tuple[str, ...]:
        """Every event that can be installed, by its native name."""
        return tuple(event for event in self.spec.abilities if event not in self.never)

    @property
    def usual_events(self) -> tuple[str, ...]:
        """The events that are installed by default."""
        return tuple(event for event in self.events if not self.why_left_out(event))

    def why_left_out(self, event: str) -> str:
        """Return why an event is not installed by default, or ""."""
        if event in self.left_out:
            return self.left_out[event]
        can_matter = self.spec.abilities.get(event, frozenset()) & {Ability.BLOCK, Ability.CONTEXT}
        return "" if can_matter or event in EVENT_NAMES[self.name] else _WATCHED

    def can_call_url(self, event: str) -> bool:
        """Return whether it can call a URL about an event, and nothing of an answer gets lost."""
        return self.commands_only is not None and event in self.events and event not in self.commands_only

    def root(self, scope: Scope, around: HostEnvironment) -> Path:
        """Return the folder that the files of a scope are counted from."""
        if scope is not Scope.USER:
            return around.project
        for variable, below in self.home_variables:
            named = around.environ.get(variable, "")
            if named and os.path.isabs(named):  # noqa: PTH117 - a text, which need not be a path
                return Path(named) / below
        return around.home / self.home

    def settings_path(self, scope: Scope, around: HostEnvironment) -> Path:
        """Return the file that ours go into, or the folder where each event has its own.

        Raises:
            HostError: The agent has no such settings.
        """
        if scope not in self.files:
            known = ", ".join(self.files)
            raise HostError(f"{self.title} has no settings of the scope {scope}; it has {known}")
        return self.root(scope, around) / self.files[scope]

    def has_programs(self, scope: Scope) -> bool:
        """Return whether each event has a file of its own in a scope, which the agent runs."""
        return self.files[scope].endswith("/")

    def settings_paths(self, scope: Scope, around: HostEnvironment) -> list[str]:
        """Return every file that ours may be in: one for all events, or one for each."""
        place = self.settings_path(scope, around)
        return [str(place / event) for event in self.events] if self.has_programs(scope) else [str(place)]
