"""Read the hooks of an agent's own file as its spec says; its other settings are ignored."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from hookline.config.document import Document, KeyPath, Problem
from hookline.config.formats.agents.spec import AgentEvent, AgentFileSpec, ConfigEntry, MatchTarget
from hookline.config.keys import Key, anything, describe
from hookline.config.known_names import quote, suggest
from hookline.config.reader import FileOrigin, FileReader
from hookline.model.hook import Hook
from hookline.model.installed_entry import is_ours

_WORDS: Final = re.compile(r"[\w|-]*", re.ASCII)
_EVERYTHING: Final = frozenset({"", "*", "**", ".*"})
# where two words are needed for one key, what was made of them is put in under the name of the field
FIELDS: Final[Mapping[str, Key]] = {
    field.name: Key(anything, field.name)
    for field in structs.fields(Hook)
    if field.name not in {"id", "name", "layer", "root"} and not field.name.startswith("source")
}


class _EventContext(Struct, frozen=True, kw_only=True):
    """One event of a file: its native name, its meaning, and what all its entries share."""

    name: str
    agent_event: AgentEvent
    spec: AgentFileSpec
    settings: Mapping[str, object]
    off: bool = False


def read(document: Document, *, origin: FileOrigin, spec: AgentFileSpec) -> tuple[list[Hook], list[Problem]]:
    """Read every hook that stands under an event."""
    reader = FileReader(document, origin)
    settings = document.value
    if not isinstance(settings, Mapping):
        reader.error((), f"wanted an object, got {describe(settings)}")
    else:
        read_events(reader, settings, (), spec=spec)
    return reader.hooks, reader.problems


def read_events(
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
    for name, entries in events.items():
        if not isinstance(entries, list):
            _report_missing_list(reader, name, entries, (*place, name), spec=spec)
            continue
        if _has_only_own_hooks(reader, name, entries, spec=spec):
            continue
        agent_event = resolve_event(reader, name, (*place, name), spec=spec)
        if agent_event is not None:
            event = _EventContext(
                name=name, agent_event=agent_event, spec=spec, settings=settings, off=off or bool(why)
            )
            for number, entry in enumerate(entries):
                _entry(reader, entry, (*place, name, number), event=event)


def _report_missing_list(reader: FileReader, name: str, value: object, where: KeyPath, *, spec: AgentFileSpec) -> None:
    """Report an event without a list; what is no event is a setting that stands among them."""
    names = reader.origin.known_names.names.get(reader.origin.dialect, {})
    if value is not None and (name in names or name in spec.events):
        reader.error(where, f"wanted a list for {quote(name)}, got {describe(value)}; its hooks are not loaded")


def _has_only_own_hooks(reader: FileReader, name: str, entries: Sequence[object], *, spec: AgentFileSpec) -> bool:
    """Return whether an event without a canonical name holds only entries of `hookline install`, which need no note."""
    if name in spec.events or name in reader.origin.known_names.names.get(reader.origin.dialect, {}):
        return False
    inside = (entry.get("hooks", [entry]) if isinstance(entry, Mapping) else [entry] for entry in entries)
    hooks = [hook for group in inside for hook in (group if isinstance(group, list) else [group])]
    return bool(hooks) and all(isinstance(hook, Mapping) and _is_installed_entry(hook) for hook in hooks)


def _is_installed_entry(entry: Mapping[str, object]) -> bool:
    return any(is_ours(line) for line in entry.values() if isinstance(line, str))


def resolve_event(reader: FileReader, name: str, where: KeyPath, *, spec: AgentFileSpec) -> AgentEvent | None:
    """Return what an agent's own event means to us; one we have no word for is noted, as the agent runs it itself."""
    agent_event = spec.events.get(name, AgentEvent())
    names = reader.origin.known_names.names.get(reader.origin.dialect, {})
    on = agent_event.on or names.get(name, ())
    if on:
        return structs.replace(agent_event, on=on)
    nearest = "" if reader.is_full else suggest(name, {*names, *spec.events} - {name})
    reader.note(
        where, f"the event {quote(name)} has no counterpart in other agents, so its hooks run only there{nearest}"
    )
    return None


def _entry(reader: FileReader, entry: object, where: KeyPath, *, event: _EventContext) -> None:
    owner = f"a hook of {quote(event.name)}"
    if not isinstance(entry, Mapping):
        reader.error(where, f"wanted an object for {owner}, got {describe(entry)}")
    elif event.spec.group_keys and "hooks" in entry:
        _group(reader, entry, where, event=event)
    elif event.spec.allows_ungrouped:
        _hook(reader, entry, where, event=event, shared={})
    else:
        reader.error(where, f'a group of {quote(event.name)} has no "hooks"; write {{"hooks": [{{"type": …}}]}}')


def _group(reader: FileReader, group: Mapping[str, object], where: KeyPath, *, event: _EventContext) -> None:
    owner = f"a group of {quote(event.name)}"
    keys = event.spec.group_keys
    values = reader.read_keys(group, keys, where, owner=owner)
    hooks = group["hooks"]
    if not isinstance(hooks, list):
        reader.error((*where, "hooks"), f"wanted a list of hooks in {owner}, got {describe(hooks)}")
    elif values is not None:
        shared = {keys[name].field: value for name, value in values.items() if keys[name].field}
        for number, entry in enumerate(hooks):
            place = (*where, "hooks", number)
            if isinstance(entry, Mapping):
                _hook(reader, entry, place, event=event, shared=shared)
            else:
                reader.error(place, f"wanted an object for a hook of {quote(event.name)}, got {describe(entry)}")


def _hook(
    reader: FileReader,
    entry: Mapping[str, object],
    where: KeyPath,
    *,
    event: _EventContext,
    shared: Mapping[str, object],
) -> None:
    if _is_installed_entry(entry):
        return
    owner = f"hook {quote(str(entry['name']))}" if entry.get("name") else f"a hook of {quote(event.name)}"
    spec = event.spec
    if not is_runnable(reader, entry, where, spec=spec, owner=owner):
        return
    with reader.reading_hook(entry, where, on=tuple(event.agent_event.on)):
        _read_entry(reader, entry, where, event=event, shared=shared)


def _read_entry(
    reader: FileReader,
    entry: Mapping[str, object],
    where: KeyPath,
    *,
    event: _EventContext,
    shared: Mapping[str, object],
) -> None:
    owner = f"hook {quote(str(entry['name']))}" if entry.get("name") else f"a hook of {quote(event.name)}"
    spec = event.spec
    values = reader.read_keys(entry, spec.keys, where, owner=owner)
    if values is None:
        return
    off = {"enabled": False} if event.off or spec.is_disabled(event.settings, entry) else {}
    one = ConfigEntry(event=event.name, values=values, where=where, owner=owner)
    add_entry(reader, one, spec=spec, agent_event=event.agent_event, shared={**shared, **off})


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
    fields = spec.finish(reader, entry, {**spec.defaults, **shared, **said})
    if fields is None:
        return
    if not any(fields.get(name) for name in ("command", "url", "prompt")):
        reader.error(entry.where, f"{entry.owner} says nothing to run; the hook is not loaded")
        return
    aimed = _match_fields(reader, entry, fields, agent_event=agent_event)
    if aimed is not None:
        given = {**fields, **aimed, "native_event": entry.event}
        given["agents"] = (reader.origin.agent,) if reader.origin.agent else ()
        reader.add_hook({**given, "on": agent_event.on}, entry.where, keys=FIELDS, event=entry.event)


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
        if not _may_match(matcher, agent_event.constant):
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
    return {"matcher": matcher or tools, "condition": join_conditions(conditions)}


_CONDITIONS: Final[Mapping[MatchTarget, str]] = {
    MatchTarget.COMMAND: "args.command.matches({})",
    MatchTarget.PATH: "file.path.matches({})",
}


def join_conditions(conditions: list[str]) -> str:
    """Put conditions together that have to be true at once."""
    return conditions[0] if len(conditions) == 1 else " && ".join(f"({one})" for one in conditions)


def _may_match(pattern: str, word: str) -> bool:
    """Return whether one of some plain words stands in a word; what is more than words may well do."""
    return not _WORDS.fullmatch(pattern) or any(part and part in word for part in pattern.split("|"))


def iter_texts(value: object) -> Iterator[str]:
    """Return the texts of a list, and nothing of anything else."""
    yield from (item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
