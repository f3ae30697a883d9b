"""`{"hooks": {Event: [{"matcher": …, "hooks": [{"type": …}]}]}}`: ollama-cli, cli-agent, and many others."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.document import Document, KeyPath
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading
from hookline.config.values import RUNNERS, SHARED, Key, describe, ignored, text
from hookline.config.vocabulary import hint, quoted
from hookline.model.hook import KIND_BY_FIELD, Hook

# the field each type of hook needs
FIELD_BY_TYPE: Final[Mapping[str, str]] = MappingProxyType(
    {kind: field for field, kind in KIND_BY_FIELD.items() if field in {"module", "url", "command"}}
)
KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **{name: key for name, key in SHARED.items() if name != "matcher"},
        **RUNNERS,
        "type": Key(
            text,
            vital=True,
            about="How it is reached: by a command, a function or a URL.",
            schema={"enum": [*FIELD_BY_TYPE]},
        ),
    }
)
GROUP_KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "matcher": SHARED["matcher"],
        "hooks": Key(ignored, about="The hooks of this group."),
        "description": SHARED["description"],
    }
)

_FIELDS: Final[Mapping[str, Key]] = MappingProxyType({**KEYS, "matcher": SHARED["matcher"]})


def matches(document: object) -> bool:
    """Say whether a document has this shape: groups of hooks under event names."""
    events = document.get("hooks") if isinstance(document, dict) else None
    if not isinstance(events, dict):
        return False
    groups = [group for value in events.values() if isinstance(value, list) for group in value]
    return not groups or any(isinstance(group, Mapping) and "hooks" in group for group in groups)


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read every hook of a settings file; its other settings are the agent's own business."""
    reading = Reading(document, origin)
    settings = document.value
    if not isinstance(settings, Mapping):
        reading.error((), f"wanted an object, got {describe(settings)}")
    elif "hooks" in settings:
        _events(reading, settings["hooks"])
    else:
        _near_miss(reading, settings)
    return reading.hooks, reading.problems


def _near_miss(reading: Reading, settings: Mapping[str, object]) -> None:
    for key in settings:
        if key.lower() in {"hooks", "hook"}:
            reading.error((key,), f'unknown key {quoted(key)}: hooks stand under "hooks"')


def _events(reading: Reading, events: object) -> None:
    if not isinstance(events, Mapping):
        reading.error(("hooks",), f"wanted events with their hooks, got {describe(events)}")
        return
    for event, groups in events.items():
        where = ("hooks", event)
        on = reading.events((event,), where, dialect=reading.origin.dialect)
        if not isinstance(groups, list):
            reading.error(where, f"wanted a list of groups for {quoted(event)}, got {describe(groups)}")
        elif on:
            for place, group in enumerate(groups):
                _group(reading, group, (*where, place), event=event, on=on)


def _group(reading: Reading, group: object, where: KeyPath, *, event: str, on: tuple[str, ...]) -> None:
    owner = f"a group of {quoted(event)}"
    if not isinstance(group, Mapping):
        reading.error(where, f"wanted an object for {owner}, got {describe(group)}")
        return
    if "hooks" not in group:
        wrap = '; write {"hooks": [{"type": …}]}' if KEYS.keys() & group.keys() else ""
        reading.error(where, f'{owner} has no "hooks"{hint_for_group(group)}{wrap}')
        return
    values = reading.values(group, GROUP_KEYS, where, owner=owner)
    hooks = group["hooks"]
    if not isinstance(hooks, list):
        reading.error((*where, "hooks"), f"wanted a list of hooks in {owner}, got {describe(hooks)}")
    elif values is not None:
        for place, entry in enumerate(hooks):
            _hook(reading, entry, (*where, "hooks", place), event=event, shared={"on": on, **values})


def hint_for_group(group: Mapping[str, object]) -> str:
    """Point at a key of a group that was probably meant to be "hooks"."""
    close = [key for key in group if key not in GROUP_KEYS and hint(key, ["hooks"])]
    return f", only {quoted(close[0])}" if close else ""


def _hook(reading: Reading, entry: object, where: KeyPath, *, event: str, shared: Mapping[str, object]) -> None:
    if not isinstance(entry, Mapping):
        reading.error(where, f"wanted an object for a hook of {quoted(event)}, got {describe(entry)}")
        return
    owner = f"hook {quoted(str(entry['name']))}" if entry.get("name") else f"a hook of {quoted(event)}"
    values = reading.values(entry, KEYS, where, owner=owner)
    if values is not None and _has_its_target(reading, values, where, owner=owner):
        reading.add({**shared, **values}, where, keys=_FIELDS, event=event)


def _has_its_target(reading: Reading, values: Mapping[str, object], where: KeyPath, *, owner: str) -> bool:
    """Check that the type and the fields say the same; without a type, the field alone decides."""
    kind = values.get("type")
    if kind is None:
        return True
    field = FIELD_BY_TYPE.get(str(kind))
    if field is None:
        known = ", ".join(sorted(FIELD_BY_TYPE))
        nearest = hint(str(kind), FIELD_BY_TYPE)
        reading.error(
            (*where, "type"),
            f"type {quoted(str(kind))} of {owner} is not one of {known}{nearest}; the hook is not loaded",
        )
        return False
    if not values.get(field):
        reading.error(where, f"{owner} is of type {kind} and has no {field}; the hook is not loaded")
        return False
    return True
