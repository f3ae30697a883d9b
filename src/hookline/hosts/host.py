"""Describe how Hookline is installed into an agent: its settings files, their shape, and its events.

Each shape edits a text of settings: it adds our entries, removes only ours, and leaves those of others unchanged.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.jsonc import blank
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError, HostError
from hookline.hosts.acceptance import UNKNOWN, ReadingStrictness
from hookline.model.dialect import DialectSpec
from hookline.model.event import Ability
from hookline.model.installed_entry import InstalledEntry, parse_entry
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


# under which keys commands stand, in all of the agents
_COMMANDS: Final = ("command", "bash", "powershell", "exec", "url", "prompt")

Speller = Callable[[EventCall], object]


class EventLists(Struct, frozen=True, kw_only=True):
    """Settings in JSON or TOML: a list for each event, or one list for all.

    `at` says where the list is, `{event}` standing for the event; `spell` writes one entry of it. `head` is what a file
    has to say besides, where it does not yet. `depth` is how many steps an entry is below the top, where that is not
    a list of an event with everything in it.
    """

    at: tuple[str, ...]
    spell: Speller
    head: Mapping[str, object] = {}
    depth: int = 0

    def add(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> str:
        """Add entries to a text that has none of ours."""
        value = edit.value_of(text, path=path)
        if not isinstance(value, Mapping):
            raise ConfigError("this is no object; nothing was changed", path=path)
        for key, said in self.head.items():
            if key not in value:
                text = edit.put(text, (key,), said, path=path)
        for call in calls:
            text = edit.append(text, self._list(call.event), self.spell(call), path=path)
        return text

    def _list(self, event: str) -> KeyPath:
        return tuple(event if step == "{event}" else step for step in self.at)

    def remove(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Remove our entries, and containers that are empty without them and did not exist before."""
        value = edit.value_of(text, path=path)
        ours = [pointer for pointer, command in find_commands(value) if parse_entry(command)]
        if not ours:
            return text
        for pointer in reversed(ours):
            place = pointer[: self.depth] if self.depth else pointer
            if edit.value_at(edit.value_of(text, path=path), place) is not None:
                text = edit.drop(text, place, path=path, prune=not self.depth)
        there = edit.value_of(before or "", path=path)
        for place in dict.fromkeys(pointer[:size] for pointer in ours for size in range(len(self.at), 0, -1)):
            left = edit.value_at(edit.value_of(text, path=path), place)
            if left in ({}, []) and edit.value_at(there, place) is None:
                text = edit.drop(text, place, path=path)
        left = edit.value_of(text, path=path)
        if before is not None and not any(True for _ in find_commands(left)):
            # what the file had to say because of us
            for key, said in self.head.items():
                if edit.value_at(left, (key,)) == said and edit.value_at(there, (key,)) is None:
                    text = edit.drop(text, (key,), path=path)
        left = edit.value_of(text, path=path)
        is_bare = isinstance(left, Mapping) and all(left[key] == self.head.get(key) for key in left)
        return None if before is None and is_bare and not _has_comment(text, path=path) else text

    def find_entries(self, text: str, *, path: str) -> tuple[tuple[InstalledEntry, ...], int]:
        """Return the entries of ours in a text, and count the others."""
        return count_entries(edit.value_of(text, path=path), self.at)

    def matches(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> bool:
        """Return whether a text has exactly these entries of ours already, each as it would be written now."""
        value = edit.value_of(text, path=path)
        ours = sorted(command for _, command in find_commands(value) if parse_entry(command))
        if ours != sorted(call.command for call in calls):
            return False
        entries = ((edit.value_at(value, self._list(call.event)), self.spell(call)) for call in calls)
        return all(isinstance(found, list) and wanted in found for found, wanted in entries)

    def find_altered(self, text: str, *, path: str, seconds: Mapping[str, int]) -> list[tuple[str, str]]:
        """Return our entries that are at another event, or differ from what `install` writes."""
        value = edit.value_of(text, path=path)
        altered = []
        for pointer, command in find_commands(value):
            entry = parse_entry(command)
            if entry is None:
                continue
            place = self._list(entry.event)
            if pointer[: len(place)] != place:
                altered.append((entry.event, f"it stands at {'.'.join(map(str, pointer))}"))
                continue
            handler = edit.value_at(value, pointer)
            said = handler if isinstance(handler, Mapping) else {}
            headers = said.get("headers") if entry.is_url else None
            call = EventCall(
                entry.event,
                entry.command,
                (),
                seconds.get(entry.event, CALL_SECONDS),
                tuple((str(key), str(one)) for key, one in headers.items()) if isinstance(headers, Mapping) else (),
                strict=said.get("onFailure") == "block",
            )
            what = _describe_change(edit.value_at(value, pointer[: len(place) + 1]), self.spell(call))
            if what:
                altered.append((entry.event, what))
        return altered


class NamedBundle(Struct, frozen=True, kw_only=True):
    """Settings of named bundles, of which one is ours: event by event, with groups for some and not for others."""

    name: str
    spell: Speller

    def add(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> str:
        """Add our bundle."""
        value = edit.value_of(text, path=path)
        if edit.value_at(value, (self.name,)) is not None:
            raise ConfigError(f'there is a bundle "{self.name}" that is not ours; nothing was changed', path=path)
        return edit.put(text, (self.name,), {call.event: [self.spell(call)] for call in calls}, path=path)

    def remove(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Remove our bundle, but keep entries of others in it."""
        ours, foreign = self.find_entries(text, path=path)
        if not ours:
            return text
        inside = find_commands(edit.value_at(edit.value_of(text, path=path), (self.name,)))
        if all(parse_entry(command) for _, command in inside):
            text = edit.drop(text, (self.name,), path=path)
        else:
            shape = EventLists(at=(self.name, "{event}"), spell=self.spell)
            return shape.remove(text, path=path, before=before)
        is_bare = not foreign and edit.value_of(text, path=path) == {}
        return None if before is None and is_bare and not _has_comment(text, path=path) else text

    def find_entries(self, text: str, *, path: str) -> tuple[tuple[InstalledEntry, ...], int]:
        """Return the entries of ours in a text, and count the others."""
        return count_entries(edit.value_of(text, path=path), ())

    def matches(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> bool:
        """Return whether a text has exactly these entries of ours already."""
        wanted = {call.event: [self.spell(call)] for call in calls}
        return edit.value_at(edit.value_of(text, path=path), (self.name,)) == wanted

    def find_altered(self, text: str, *, path: str, seconds: Mapping[str, int]) -> list[tuple[str, str]]:
        """Find entries of ours in our bundle that are not as we write them."""
        return EventLists(at=(self.name, "{event}"), spell=self.spell).find_altered(text, path=path, seconds=seconds)


class OwnedFile(Struct, frozen=True, kw_only=True):
    """A file that is ours from the first line to the last, such as a program for one event."""

    mark: str
    write: Callable[[tuple[EventCall, ...]], str]

    def add(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> str:
        """Write the whole file.

        Raises:
            HostError: The file exists and is not ours.
        """
        if text.strip():
            raise HostError(f"{path} is there and is not ours; move it away, and try again")
        return self.write(calls)

    def remove(self, text: str, *, path: str, before: str | None = None) -> str | None:  # noqa: ARG002 - as all shapes
        """Take the file away where it is ours."""
        return None if self.mark in text else text

    def find_entries(self, text: str, *, path: str) -> tuple[tuple[InstalledEntry, ...], int]:  # noqa: ARG002 - as all shapes
        """Return what our file runs; any other counts as one."""
        if self.mark not in text:
            return (), int(bool(text.strip()))
        return tuple(entry for line in text.splitlines() if (entry := parse_entry(line))), 0

    def matches(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> bool:  # noqa: ARG002 - as all shapes
        """Return whether the file is as it would be written now."""
        return text == self.write(calls)

    def find_altered(self, text: str, *, path: str, seconds: Mapping[str, int]) -> list[tuple[str, str]]:  # noqa: ARG002 - as all shapes
        """Find nothing: a file that is ours as a whole is compared as a whole."""
        return []


# a user may give an agent another time limit, as long as a guard has time to answer
_LIMITS: Final = frozenset({"timeout", "timeoutSec"})


def _describe_change(found: object, wanted: object, at: str = "") -> str:
    """Return how an entry differs from the one we write; empty where it does not, but for its time limit."""
    match found, wanted:
        case Mapping(), Mapping():
            more = [key for key in found if key not in wanted]
            less = [key for key in wanted if key not in found and key not in _LIMITS]
            if more or less:
                said = [f"`{key}` is added" for key in more] + [f"`{key}` is missing" for key in less]
                return ", ".join(said)
            texts = (_describe_change(found[key], wanted[key], str(key)) for key in found if key not in _LIMITS)
            return next(filter(None, texts), "")
        case list(), list() if len(found) == len(wanted):
            return next(filter(None, (_describe_change(a, b, at) for a, b in zip(found, wanted, strict=True))), "")
        case list(), list() if wanted and at == "hooks":
            # a hook of another program in our group is left alone
            return "" if any(not _describe_change(one, wanted[0]) for one in found) else f"`{at}` is changed"
        case _:
            return "" if found == wanted else f"`{at}` is changed"


def spell_groups(*, unit: int = 1, matcher: str = "", more: Mapping[str, object] | None = None) -> Speller:
    """Return a speller of matcher groups with one command each, or one URL; `unit` is what a second counts."""

    def spell(call: EventCall) -> object:
        what: dict[str, object] = {"type": "command", "command": call.command}
        if call.headers:
            # variables in a header are replaced only where they are named beside it
            named = [value[1:] for _, value in call.headers if value.startswith("$")]
            what = {"type": "http", "url": call.command, "headers": dict(call.headers), "allowedEnvVars": named}
            what |= {"onFailure": "block"} if call.strict else {}
        handler = {**what, "timeout": call.seconds * unit, **(more or {})}
        return {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}

    return spell


def count_entries(value: object, at: Sequence[str]) -> tuple[tuple[InstalledEntry, ...], int]:
    """Return our entries below a place of a document, and count the others.

    A list of an event that has something in it without a command is counted as a hook all the same.
    """
    inside = edit.value_at(value, tuple(at[: at.index("{event}")] if "{event}" in at else at))
    commands = [command for _, command in find_commands(inside)]
    ours = tuple(entry for command in commands if (entry := parse_entry(command)))
    return ours, len(commands) - len(ours)


def find_commands(value: object, pointer: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield every command in a document, with its pointer."""
    match value:
        case Mapping():
            said = next((value[key] for key in _COMMANDS if isinstance(value.get(key), str)), None)
            if said is not None:
                yield pointer, str(said)
                return
            for key, one in value.items():
                yield from find_commands(one, (*pointer, str(key)))
        case list():
            for place, one in enumerate(value):
                yield from find_commands(one, (*pointer, place))


def _has_comment(text: str, *, path: str) -> bool:
    """Return whether a file has comments."""
    return "#" in text if edit.syntax_of(path) == "toml" else blank(text) != text


SettingsShape = EventLists | NamedBundle | OwnedFile


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
