"""`{"hooks": {Event: [{"matcher": …, "hooks": [{"type": …}]}]}}`: ollama-cli, cli-agent, and many others.

cli-agent also has files with one hook each: `{"matcher": …, "command": …}` in `pre-NAME.json` or `.yaml`. The event follows from
how the file's name starts, or from `type`.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from msgspec.structs import replace

from hookline.config.document import Document, KeyPath, Problem
from hookline.config.keys import RUNNERS, SCHEMA_KEY, SHARED, Key, anything, describe, text
from hookline.config.reader import FileOrigin, FileReader
from hookline.model.hook import TARGETS, Hook
from hookline.model.names import resolve_events
from hookline.text import quote, suggest

# the field each type of hook needs
FIELD_BY_TYPE: Final[Mapping[str, str]] = {
    target.kind: field for field, target in TARGETS.items() if field in {"module", "url", "command"}
}
KEYS: Final[Mapping[str, Key]] = {
    **{name: key for name, key in SHARED.items() if name != "matcher"},
    **RUNNERS,
    "type": Key(
        text,
        vital=True,
        about="How it is reached: by a command, a function or a URL.",
        schema={"enum": [*FIELD_BY_TYPE]},
    ),
}
GROUP_KEYS: Final[Mapping[str, Key]] = {
    "matcher": SHARED["matcher"],
    "hooks": Key(anything, about="The hooks of this group."),
    "description": SHARED["description"],
}


def matches(document: object) -> bool:
    """Return whether a document has this shape: groups of hooks under event names."""
    events = document.get("hooks") if isinstance(document, dict) else None
    if not isinstance(events, dict):
        return False
    groups = [group for value in events.values() if isinstance(value, list) for group in value]
    return not groups or any(isinstance(group, Mapping) and "hooks" in group for group in groups)


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read every hook of a settings file; its other settings are the agent's own business."""
    reader = FileReader(document, origin)
    settings = document.value
    if not isinstance(settings, Mapping):
        reader.error((), f"wanted an object, got {describe(settings)}")
    elif "hooks" not in settings:
        for key in settings:
            if key.lower() in {"hooks", "hook"}:
                reader.error((key,), f'unknown key {quote(key)}: hooks belong under "hooks"')
    elif not isinstance(settings["hooks"], Mapping):
        reader.error(("hooks",), f"wanted events with their hooks, got {describe(settings['hooks'])}")
    else:
        for event, groups in settings["hooks"].items():
            where = ("hooks", event)
            on = reader.resolve_events((event,), where, dialect=origin.dialect)
            if not isinstance(groups, list):
                reader.error(where, f"wanted a list of groups for {quote(event)}, got {describe(groups)}")
            elif on:
                for place, group in enumerate(groups):
                    _group(reader, group, (*where, place), event=event, on=on)
    return reader.hooks, reader.problems


def _group(reader: FileReader, group: object, where: KeyPath, *, event: str, on: tuple[str, ...]) -> None:
    owner = f"a group of {quote(event)}"
    if not isinstance(group, Mapping):
        reader.error(where, f"wanted an object for {owner}, got {describe(group)}")
        return
    if "hooks" not in group:
        wrap = '; write {"hooks": [{"type": …}]}' if KEYS.keys() & group.keys() else ""
        close = next((key for key in group if key not in GROUP_KEYS and suggest(key, ["hooks"])), "")
        meant = f", only {quote(close)}" if close else ""
        reader.error(where, f'{owner} has no "hooks"{meant}{wrap}')
        return
    for entry, at, values in reader.read_group(group, GROUP_KEYS, where, event=event):
        with reader.reading_hook(entry, at, on=on):
            _hook(reader, entry, at, event=event, shared={"on": on, **values})


def _hook(
    reader: FileReader, entry: Mapping[str, object], where: KeyPath, *, event: str, shared: Mapping[str, object]
) -> None:
    owner = f"hook {quote(str(entry['name']))}" if entry.get("name") else f"a hook of {quote(event)}"
    values = reader.read_keys(entry, KEYS, where, owner=owner)
    if values is None:
        return
    # the type and the fields have to say the same; without a type, the field alone decides
    kind = values.get("type")
    field = FIELD_BY_TYPE.get(str(kind))
    if kind is not None and field is None:
        known = ", ".join(sorted(FIELD_BY_TYPE)) + suggest(str(kind), FIELD_BY_TYPE)
        reader.error(
            (*where, "type"), f"type {quote(str(kind))} of {owner} is not one of {known}; the hook is not loaded"
        )
    elif field and not values.get(field):
        reader.error(where, f"{owner} is of type {kind} and has no {field}; the hook is not loaded")
    else:
        reader.add_hook({**shared, **values}, where, keys=KEYS, event=event)


# cli-agent's files with one hook each

PER_FILE_KEYS: Final[Mapping[str, Key]] = {
    **SHARED,
    **{name: key for name, key in RUNNERS.items() if name in {"command", "args", "working_directory"}},
    "type": Key(text, vital=True, about="The event, where the file's name does not tell it."),
    **SCHEMA_KEY,
}
# how the names of files start, by event
PREFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "PreToolUse": ("pre-", "before-"),
    "PostToolUse": ("post-", "after-"),
    "Notification": ("notify-", "notification-"),
    "Stop": ("stop-", "end-", "finish-"),
}
# people comment JSON with keys like "_description"
COMMENT: Final = "_"
# what `type` says in the grouped format, and says nothing here
_KIND: Final = "command"


def read_per_file(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read the hook of a file that has one, or its groups where it has those."""
    if isinstance(document.value, Mapping) and "hooks" in document.value:
        return read(document, origin=replace(origin, format="grouped"))
    reader = FileReader(document, origin)
    if not isinstance(document.value, Mapping):
        reader.error((), f"wanted an object with a command, got {describe(document.value)}")
        return [], reader.problems
    entry = {str(key): value for key, value in document.value.items() if not str(key).startswith(COMMENT)}
    stem = PurePath(origin.path).stem
    owner = f"hook {quote(stem)}"
    # the event is stated, or follows from how the file's name starts
    stated = str(entry.get("type", _KIND))
    by_name = (name for name, prefixes in PREFIXES.items() if stem.lower().startswith(prefixes))
    event = stated if stated != _KIND else next(by_name, "")
    with reader.reading_hook({"id": stem, **entry}, (), on=resolve_events(event)):
        values = reader.read_keys(entry, PER_FILE_KEYS, (), owner=owner)
        if values is not None and not values.get("command"):
            reader.error((), f'{owner} has no "command"; the hook is not loaded')
        elif values is not None and not event:
            known = ", ".join(f"{prefixes[0]} ({name})" for name, prefixes in PREFIXES.items())
            reader.error((), f'{owner} says no event: let the name of its file start with {known}, or give it a "type"')
        elif values is not None and (on := reader.resolve_events((event,), ("type",), dialect=origin.dialect)):
            reader.add_hook({"id": stem, **values, "on": on}, (), keys=PER_FILE_KEYS, event=event)
    return reader.hooks, reader.problems
