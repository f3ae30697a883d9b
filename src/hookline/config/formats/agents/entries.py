"""Read the hooks of an agent's own file, whatever its style; its other settings are the agent's own business."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct, structs

from hookline.config.document import Document, KeyPath
from hookline.config.formats.agents.style import Aim, Entry, Moment, Style
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading
from hookline.config.values import Key, describe, ignored
from hookline.config.vocabulary import hint, quoted
from hookline.model.hook import Hook
from hookline.model.ours import is_ours

_WORDS: Final = re.compile(r"[\w|-]*", re.ASCII)
_EVERYTHING: Final = frozenset({"", "*", "**", ".*"})
# where two words are needed for one key, what was made of them is put in under the name of the field
FIELDS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        field.name: Key(ignored, field.name)
        for field in structs.fields(Hook)
        if field.name not in {"id", "name", "layer", "root"} and not field.name.startswith("source")
    }
)


class _Event(Struct, frozen=True, kw_only=True):
    """One event of a file: as the file spells it, what it means, and what holds for all that stands there."""

    name: str
    moment: Moment
    style: Style
    settings: Mapping[str, object]
    off: bool = False


def read(document: Document, *, origin: Origin, style: Style) -> tuple[list[Hook], list[Problem]]:
    """Read every hook that stands under an event."""
    reading = Reading(document, origin)
    settings = document.value
    if not isinstance(settings, Mapping):
        reading.error((), f"wanted an object, got {describe(settings)}")
    else:
        read_events(reading, settings, (), style=style)
    return reading.hooks, reading.problems


def read_events(
    reading: Reading, settings: Mapping[str, object], where: KeyPath, *, style: Style, off: bool = False
) -> None:
    """Read the events of an object, below its wrapper if the style has one."""
    why = style.off(settings)
    if why and style.wrapper in settings:
        reading.note((*where, style.wrapper), f"{why}; they are off under other agents, too")
    place = (*where, style.wrapper) if style.wrapper else where
    events = settings.get(style.wrapper) if style.wrapper else settings
    if events is None:
        return
    if not isinstance(events, Mapping):
        reading.error(place, f"wanted events with their hooks, got {describe(events)}")
        return
    for name, entries in events.items():
        if not isinstance(entries, list):
            _no_list(reading, name, entries, (*place, name), style=style)
            continue
        if _is_for_us_alone(reading, name, entries, style=style):
            continue
        moment = moment_of(reading, name, (*place, name), style=style)
        if moment is not None:
            event = _Event(name=name, moment=moment, style=style, settings=settings, off=off or bool(why))
            for number, entry in enumerate(entries):
                _entry(reading, entry, (*place, name, number), event=event)


def _no_list(reading: Reading, name: str, value: object, where: KeyPath, *, style: Style) -> None:
    """Report an event without a list; what is no event is a setting that stands among them."""
    names = reading.origin.vocabulary.names.get(reading.origin.dialect, {})
    if value is not None and (name in names or name in style.moments):
        reading.error(where, f"wanted a list for {quoted(name)}, got {describe(value)}; its hooks are not loaded")


def _is_for_us_alone(reading: Reading, name: str, entries: Sequence[object], *, style: Style) -> bool:
    """Say whether an event that we have no word for holds nothing but what we put there: nobody is to be told of that."""
    if name in style.moments or name in reading.origin.vocabulary.names.get(reading.origin.dialect, {}):
        return False
    inside = (entry.get("hooks", [entry]) if isinstance(entry, Mapping) else [entry] for entry in entries)
    hooks = [hook for group in inside for hook in (group if isinstance(group, list) else [group])]
    return bool(hooks) and all(isinstance(hook, Mapping) and _is_our_own(hook) for hook in hooks)


def _is_our_own(entry: Mapping[str, object]) -> bool:
    return any(is_ours(line) for line in entry.values() if isinstance(line, str))


def moment_of(reading: Reading, name: str, where: KeyPath, *, style: Style) -> Moment | None:
    """Say what an agent's own event means to us; one we have no word for is noted, as the agent runs it itself."""
    moment = style.moments.get(name, Moment())
    names = reading.origin.vocabulary.names.get(reading.origin.dialect, {})
    on = moment.on or names.get(name, ())
    if on:
        return structs.replace(moment, on=on)
    nearest = "" if reading.full else hint(name, {*names, *style.moments} - {name})
    reading.note(
        where, f"the event {quoted(name)} has no counterpart in other agents, so its hooks run only there{nearest}"
    )
    return None


def _entry(reading: Reading, entry: object, where: KeyPath, *, event: _Event) -> None:
    owner = f"a hook of {quoted(event.name)}"
    if not isinstance(entry, Mapping):
        reading.error(where, f"wanted an object for {owner}, got {describe(entry)}")
    elif event.style.group_keys and "hooks" in entry:
        _group(reading, entry, where, event=event)
    elif event.style.alone:
        _hook(reading, entry, where, event=event, shared={})
    else:
        reading.error(where, f'a group of {quoted(event.name)} has no "hooks"; write {{"hooks": [{{"type": …}}]}}')


def _group(reading: Reading, group: Mapping[str, object], where: KeyPath, *, event: _Event) -> None:
    owner = f"a group of {quoted(event.name)}"
    keys = event.style.group_keys
    values = reading.values(group, keys, where, owner=owner)
    hooks = group["hooks"]
    if not isinstance(hooks, list):
        reading.error((*where, "hooks"), f"wanted a list of hooks in {owner}, got {describe(hooks)}")
    elif values is not None:
        shared = {keys[name].field: value for name, value in values.items() if keys[name].field}
        for number, entry in enumerate(hooks):
            place = (*where, "hooks", number)
            if isinstance(entry, Mapping):
                _hook(reading, entry, place, event=event, shared=shared)
            else:
                reading.error(place, f"wanted an object for a hook of {quoted(event.name)}, got {describe(entry)}")


def _hook(
    reading: Reading, entry: Mapping[str, object], where: KeyPath, *, event: _Event, shared: Mapping[str, object]
) -> None:
    if _is_our_own(entry):
        return
    owner = f"hook {quoted(str(entry['name']))}" if entry.get("name") else f"a hook of {quoted(event.name)}"
    style = event.style
    if not runs_here(reading, entry, where, style=style, owner=owner):
        return
    values = reading.values(entry, style.keys, where, owner=owner)
    if values is None:
        return
    off = {"enabled": False} if event.off or style.is_off(event.settings, entry) else {}
    one = Entry(event=event.name, values=values, where=where, owner=owner)
    add(reading, one, style=style, moment=event.moment, shared={**shared, **off})


def add(reading: Reading, entry: Entry, *, style: Style, moment: Moment, shared: Mapping[str, object]) -> None:
    """Make a hook of an entry that was read."""
    said = {style.keys[name].field: value for name, value in entry.values.items() if style.keys[name].field}
    fields = style.finish(reading, entry, {**style.defaults, **shared, **said})
    if fields is None:
        return
    if not any(fields.get(name) for name in ("command", "url", "prompt")):
        reading.error(entry.where, f"{entry.owner} says nothing to run; the hook is not loaded")
        return
    aimed = _aimed(reading, entry, fields, moment=moment)
    if aimed is not None:
        given = {**fields, **aimed, "native_event": entry.event}
        given["agents"] = (reading.origin.agent,) if reading.origin.agent else ()
        reading.add({**given, "on": moment.on}, entry.where, keys=FIELDS, event=entry.event)


def runs_here(reading: Reading, entry: Mapping[str, object], where: KeyPath, *, style: Style, owner: str) -> bool:
    """Say whether a hook is of a type that is run outside of its agent; every other is noted."""
    kind = entry.get("type", style.default_type)
    if not isinstance(kind, str):
        return True
    why = style.elsewhere.get(kind)
    if why is not None:
        reading.note(where, f"{owner} is of type {kind}: {why}, so it runs only there")
        return False
    if kind not in style.types:
        known = ", ".join([*style.types, *style.elsewhere])
        reading.warn((*where, "type"), f"type {quoted(kind)} of {owner} is not one of {known}; the hook is not loaded")
        return False
    needed = style.types[kind]
    if needed and not entry.get(needed):
        reading.error(where, f"{owner} is of type {kind} and has no {needed}; the hook is not loaded")
        return False
    return True


def _aimed(reading: Reading, entry: Entry, fields: Mapping[str, object], *, moment: Moment) -> dict[str, object] | None:
    """Say what a hook is for, in our words: its matcher as the agent means it at this event."""
    matcher = str(fields.get("matcher", "")).strip()
    conditions = [str(fields["condition"])] if fields.get("condition") else []
    tools = f"^(?:{'|'.join(moment.tools)})$" if moment.tools else ""
    if matcher in _EVERYTHING or moment.aim is Aim.NOTHING:
        matcher = ""
    elif moment.aim is Aim.CONSTANT:
        if not _finds(matcher, moment.constant):
            reading.note(entry.where, f"{entry.owner} never runs: its matcher does not find {quoted(moment.constant)}")
            return None
        matcher = ""
    elif moment.aim in _CONDITIONS:
        conditions.append(_CONDITIONS[moment.aim].format(json.dumps(matcher)))
        matcher = ""
    elif moment.aim is Aim.FILES:
        return {"matcher": "", "files": tuple(f"/{name.strip()}" for name in matcher.split("|"))}
    elif moment.aim is Aim.WORD:
        matcher = f"^{re.escape(matcher)}$"
    if tools and matcher:
        conditions.append(f"tool.matches({json.dumps(tools)})")
    return {"matcher": matcher or tools, "condition": both(conditions)}


_CONDITIONS: Final[Mapping[Aim, str]] = MappingProxyType(
    {Aim.COMMAND: "args.command.matches({})", Aim.PATH: "file.path.matches({})"}
)


def both(conditions: list[str]) -> str:
    """Put conditions together that have to be true at once."""
    return conditions[0] if len(conditions) == 1 else " && ".join(f"({one})" for one in conditions)


def _finds(pattern: str, word: str) -> bool:
    """Say whether one of some plain words stands in a word; what is more than words may well do."""
    return not _WORDS.fullmatch(pattern) or any(part and part in word for part in pattern.split("|"))


def texts_in(value: object) -> Iterator[str]:
    """Give the texts of a list, and nothing of anything else."""
    yield from (item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
