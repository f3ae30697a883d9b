"""The files in which agents keep hooks, as data: one `AgentFileSpec` for each kind of file, and the reader of them all."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct, structs

from hookline.config.document import Document, KeyPath, Problem
from hookline.config.keys import SHARED, Key, anything, describe, flag, nonempty_text, seconds, table, text, wrong_value
from hookline.config.reader import FileOrigin, FileReader
from hookline.model.hook import Hook
from hookline.model.installed_entry import is_ours
from hookline.text import quote, suggest


class MatchTarget(StrEnum):
    """What the matcher of a hook is compared with at an event."""

    SUBJECT = "subject"  # the tool, or whatever the event is about
    WORD = "word"  # the same, but the matcher is one word and no pattern
    COMMAND = "command"  # the command that would run
    PATH = "path"  # the path of a file
    FILES = "files"  # the names of files in the folder the agent works in, listed with |
    CONSTANT = "constant"  # always the same word
    NOTHING = "nothing"  # it is not looked at


class AgentEvent(Struct, frozen=True, kw_only=True):
    """An agent's own event, where it is more than another name for one of ours.

    `on` are the canonical events; without any, those the dialect has. `tools` are the only tools it is about. `matches`
    says what matchers look at there, and `constant` is the word they find if it is always the same one.
    """

    on: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    matches: MatchTarget = MatchTarget.SUBJECT
    constant: str = ""


UNMATCHED: Final = AgentEvent(matches=MatchTarget.NOTHING)
WORD: Final = AgentEvent(matches=MatchTarget.WORD)


class ConfigEntry(Struct, frozen=True, kw_only=True):
    """One hook as it stands in a file: its keys as they were read, and what it is called in a message."""

    event: str
    values: dict[str, object]
    where: KeyPath
    owner: str


# Fields of a hook made of an entry; None when it cannot be one, which was reported.
Finish = Callable[[FileReader, ConfigEntry, dict[str, object]], dict[str, object] | None]


class AgentFileSpec(Struct, frozen=True, kw_only=True):
    """The format of one kind of file in which an agent keeps hooks.

    `wrapper` is the key its events stand under; empty where they are at the top, or in `bundles` that have a name and a
    switch. `keys` are a hook's and `group_keys` a group's; a spec without the latter has no groups, and
    `allows_ungrouped` says that hooks may stand without one. `types` maps each type to the key it needs, and
    `default_type` is meant where none is given; `agent_only` says of the other types why only the agent can run them.
    `events` are events that need a word more than a name. `defaults` are fields that all hooks of the agent have.
    `finish` sees to what one key alone does not decide. `why_disabled` says, from the file as a whole, why its hooks
    are switched off, and `is_disabled` whether one of them is.

    `writers` is the way back: the fields that can be written, and their keys; `converters` make the values of some.
    `header` is what a new file holds besides.

    `local`, `project` and `home` are the paths of such files in a project and in a home folder, where a star stands for
    any name; new hooks go to the first path, and `stem` takes the place of the star. `read` reads a file that is more
    than events with their hooks; one that `is_program` is the hook itself.
    """

    keys: Mapping[str, Key]
    wrapper: str = "hooks"
    bundles: bool = False
    group_keys: Mapping[str, Key] = {}
    allows_ungrouped: bool = False
    types: Mapping[str, str] = MappingProxyType({"command": "command"})
    default_type: str = "command"
    agent_only: Mapping[str, str] = {}
    events: Mapping[str, AgentEvent] = {}
    defaults: Mapping[str, object] = {}
    finish: Finish | None = None
    why_disabled: Callable[[Mapping[str, object]], str] = lambda _settings: ""
    is_disabled: Callable[[Mapping[str, object], Mapping[str, object]], bool] = lambda _settings, _entry: False
    writers: Mapping[str, str] = {}
    converters: Mapping[str, Callable[[object], object]] = {}
    header: Mapping[str, object] = {}
    local: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    stem: str = "hooks"
    is_program: bool = False
    read: Callable[..., tuple[list[Hook], list[Problem]]] | None = None


def _above_zero(value: object, unit: float, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return seconds(value * unit)
    raise wrong_value(f"{name} above 0", value)


def milliseconds(value: object) -> float:
    """Read a time that the agent counts in thousandths of a second."""
    return _above_zero(value, 0.001, "milliseconds")


def as_milliseconds(value: object) -> object:
    """Write a time in milliseconds."""
    return round(float(str(value)) * 1000)


def whole_seconds(value: object) -> float:
    """Read a time that the agent counts in seconds; units are not known there."""
    return _above_zero(value, 1.0, "seconds")


PLAIN: Final[Mapping[str, Key]] = {
    "type": Key(text, vital=True, about="How it is reached."),
    "command": Key(nonempty_text, "command", vital=True, about="The line to run."),
    "timeout": Key(whole_seconds, "timeout", about="How long it may take, in seconds."),
}
GROUP: Final[Mapping[str, Key]] = {
    "matcher": SHARED["matcher"],
    "hooks": Key(anything, about="The hooks of this group."),
    "description": SHARED["description"],
}
ENV: Final = Key(table, "env", vital=True, about="Environment variables it gets on top.")
NAME: Final = Key(text, "name", about="What people call it.")
ENABLED: Final = Key(flag, "enabled", vital=True, about="Whether it runs at all.")
IGNORED: Final = Key(anything, about="For the agent; it means nothing elsewhere.")
BACKGROUND: Final = Key(flag, "background", about="The agent does not wait for it.")
# what the files of most agents can say
WRITERS: Final = {"command": "command", "timeout": "timeout"}


def why_all_disabled(settings: Mapping[str, object]) -> str:
    """Return why a file with `disableAllHooks` has no active hooks, or ""."""
    return '"disableAllHooks" switches its hooks off' if settings.get("disableAllHooks") is True else ""


_WORDS: Final = re.compile(r"[\w|-]*", re.ASCII)
_EVERYTHING: Final = frozenset({"", "*", "**", ".*"})
_CONDITIONS: Final[Mapping[MatchTarget, str]] = {
    MatchTarget.COMMAND: "args.command.matches({})",
    MatchTarget.PATH: "file.path.matches({})",
}


def read(document: Document, *, origin: FileOrigin, spec: AgentFileSpec) -> tuple[list[Hook], list[Problem]]:
    """Read every hook that stands under an event; the other settings of the file are the agent's own business."""
    reader = FileReader(document, origin)
    settings = document.value
    if not isinstance(settings, Mapping):
        reader.error((), f"wanted {'bundles of hooks' if spec.bundles else 'an object'}, got {describe(settings)}")
    elif not spec.bundles:
        if not spec.wrapper and isinstance(settings.get("hooks"), Mapping):
            # a settings file instead of a file of hooks
            spec = structs.replace(spec, wrapper="hooks")
        _read_events(reader, settings, (), spec=spec)
    else:
        for name, bundle in settings.items():
            if isinstance(bundle, Mapping):
                # one that is switched off keeps its hooks, switched off as well
                _read_events(reader, bundle, (name,), spec=spec, off=bundle.get("enabled") is False)
            else:
                reader.warn((name,), f"wanted a bundle of hooks for {quote(name)}, got {describe(bundle)}")
    return reader.hooks, reader.problems


def _read_events(
    reader: FileReader, settings: Mapping[str, object], where: KeyPath, *, spec: AgentFileSpec, off: bool = False
) -> None:
    """Read the events of an object, below its wrapper if the spec has one."""
    why = spec.why_disabled(settings)
    if why and spec.wrapper in settings:
        reader.note((*where, spec.wrapper), f"{why}; they are off under other agents, too")
    place = (*where, spec.wrapper) if spec.wrapper else where
    events = settings.get(spec.wrapper) if spec.wrapper else settings
    if events is None:
        return
    if not isinstance(events, Mapping):
        reader.error(place, f"wanted events with their hooks, got {describe(events)}")
        return
    known = {*spec.events, *reader.origin.known_names.names.get(reader.origin.dialect, {})}
    for name, entries in events.items():
        at = (*place, name)
        if not isinstance(entries, list):
            # what is no event is a setting that stands among them
            if entries is not None and name in known:
                reader.error(at, f"wanted a list for {quote(name)}, got {describe(entries)}; its hooks are not loaded")
            continue
        if name not in known:
            inside = (entry.get("hooks", [entry]) if isinstance(entry, Mapping) else [entry] for entry in entries)
            hooks = [hook for group in inside for hook in (group if isinstance(group, list) else [group])]
            # what `hookline install` wrote needs no note
            if hooks and all(isinstance(hook, Mapping) and _is_installed_entry(hook) for hook in hooks):
                continue
        agent_event = resolve_event(reader, name, at, spec=spec)
        if agent_event is None:
            continue
        for hook, path, shared in _iter_hooks(reader, entries, at, event=name, spec=spec):
            owner = f"hook {quote(str(hook['name']))}" if hook.get("name") else f"a hook of {quote(name)}"
            if _is_installed_entry(hook) or not is_runnable(reader, hook, path, spec=spec, owner=owner):
                continue
            with reader.reading_hook(hook, path, on=tuple(agent_event.on)):
                values = reader.read_keys(hook, spec.keys, path, owner=owner)
                if values is not None:
                    switch = {"enabled": False} if off or why or spec.is_disabled(settings, hook) else {}
                    one = ConfigEntry(event=name, values=values, where=path, owner=owner)
                    add_entry(reader, one, spec=spec, agent_event=agent_event, shared={**shared, **switch})


def _iter_hooks(
    reader: FileReader, entries: list[object], where: KeyPath, *, event: str, spec: AgentFileSpec
) -> Iterator[tuple[Mapping[str, object], KeyPath, Mapping[str, object]]]:
    """Yield the hooks of an event, which stand alone or in groups, each with the fields that its group sets."""
    keys = spec.group_keys
    for number, entry in enumerate(entries):
        at = (*where, number)
        if not isinstance(entry, Mapping):
            reader.error(at, f"wanted an object for a hook of {quote(event)}, got {describe(entry)}")
        elif keys and "hooks" in entry:
            for hook, place, values in reader.read_group(entry, keys, at, event=event):
                yield hook, place, {keys[name].field: value for name, value in values.items() if keys[name].field}
        elif spec.allows_ungrouped:
            yield entry, at, {}
        else:
            reader.error(at, f'a group of {quote(event)} has no "hooks"; write {{"hooks": [{{"type": …}}]}}')


def _is_installed_entry(entry: Mapping[str, object]) -> bool:
    return any(is_ours(line) for line in entry.values() if isinstance(line, str))


def resolve_event(reader: FileReader, name: str, where: KeyPath, *, spec: AgentFileSpec) -> AgentEvent | None:
    """Return what an agent's own event means to us; one we have no word for is noted, as the agent runs it itself."""
    agent_event = spec.events.get(name, AgentEvent())
    names = reader.origin.known_names.names.get(reader.origin.dialect, {})
    on = agent_event.on or names.get(name, ())
    if on:
        return structs.replace(agent_event, on=on)
    nearest = "" if reader.is_full else suggest(name, [known for known in (*names, *spec.events) if known != name])
    reader.note(
        where, f"the event {quote(name)} has no counterpart in other agents, so its hooks run only there{nearest}"
    )
    return None


def add_entry(
    reader: FileReader,
    entry: ConfigEntry,
    *,
    spec: AgentFileSpec,
    agent_event: AgentEvent,
    shared: Mapping[str, object],
) -> None:
    """Make a hook of an entry that was read."""
    said = {spec.keys[name].field: value for name, value in entry.values.items() if spec.keys[name].field}
    plain = {**spec.defaults, **shared, **said}
    fields = spec.finish(reader, entry, plain) if spec.finish is not None else plain
    if fields is None:
        return
    if not any(fields.get(name) for name in ("command", "url", "prompt")):
        reader.error(entry.where, f"{entry.owner} says nothing to run; the hook is not loaded")
        return
    aimed = _match_fields(reader, entry, fields, agent_event=agent_event)
    if aimed is not None:
        given = {**fields, **aimed, "native_event": entry.event}
        given["run_by"] = (reader.origin.agent,) if reader.origin.agent else ()
        reader.add_hook({**given, "on": agent_event.on}, entry.where, keys={}, event=entry.event)


def is_runnable(
    reader: FileReader, entry: Mapping[str, object], where: KeyPath, *, spec: AgentFileSpec, owner: str
) -> bool:
    """Return whether a hook is of a type that is run outside of its agent; every other is noted."""
    kind = entry.get("type", spec.default_type)
    if not isinstance(kind, str):
        return True
    why = spec.agent_only.get(kind)
    if why is not None:
        reader.note(where, f"{owner} is of type {kind}: {why}, so it runs only there")
        return False
    if kind not in spec.types:
        known = ", ".join([*spec.types, *spec.agent_only])
        reader.warn((*where, "type"), f"type {quote(kind)} of {owner} is not one of {known}; the hook is not loaded")
        return False
    needed = spec.types[kind]
    if needed and not entry.get(needed):
        reader.error(where, f"{owner} is of type {kind} and has no {needed}; the hook is not loaded")
        return False
    return True


def _match_fields(
    reader: FileReader, entry: ConfigEntry, fields: Mapping[str, object], *, agent_event: AgentEvent
) -> dict[str, object] | None:
    """Return what a hook is for, in our words: its matcher as the agent means it at this event."""
    matcher = str(fields.get("matcher", "")).strip()
    conditions = [str(fields["condition"])] if fields.get("condition") else []
    tools = f"^(?:{'|'.join(agent_event.tools)})$" if agent_event.tools else ""
    if matcher in _EVERYTHING or agent_event.matches is MatchTarget.NOTHING:
        matcher = ""
    elif agent_event.matches is MatchTarget.CONSTANT:
        # what is more than words may well match
        if _WORDS.fullmatch(matcher) and not any(part and part in agent_event.constant for part in matcher.split("|")):
            reader.note(
                entry.where, f"{entry.owner} never runs: its matcher does not find {quote(agent_event.constant)}"
            )
            return None
        matcher = ""
    elif agent_event.matches in _CONDITIONS:
        conditions.append(_CONDITIONS[agent_event.matches].format(json.dumps(matcher)))
        matcher = ""
    elif agent_event.matches is MatchTarget.FILES:
        return {"matcher": "", "files": tuple(f"/{name.strip()}" for name in matcher.split("|"))}
    elif agent_event.matches is MatchTarget.WORD:
        matcher = f"^{re.escape(matcher)}$"
    if tools and matcher:
        conditions.append(f"tool.matches({json.dumps(tools)})")
    joined = conditions[0] if len(conditions) == 1 else " && ".join(f"({one})" for one in conditions)
    return {"matcher": matcher or tools, "condition": joined}
