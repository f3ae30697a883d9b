"""OLLM's event automation: `name/when/then` as people wrote it first, and the definition that replaced it."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hookline.config.document import Document, KeyPath, Problem
from hookline.config.keys import (
    NAME,
    SCHEMA_KEY,
    SHARED,
    Key,
    any_texts,
    anything,
    describe,
    flag,
    read_texts,
    slug,
    text,
)
from hookline.config.known_names import quote, suggest
from hookline.config.reader import FileOrigin, FileReader, describe_hook
from hookline.errors import ConfigError
from hookline.model import ollm_run_command
from hookline.model.hook import Hook
from hookline.model.ollm_run_command import PROGRAMS

# these files lie among OLLM's other hooks, but their events have names of their own
DIALECT: Final = "ollm-rpc"
# the field each action needs
ACTIONS: Final[Mapping[str, str]] = {"askAgent": "prompt", "runCommand": "command"}
COMMAND_EVENTS: Final = frozenset(ollm_run_command.EVENTS.values())
_FILE_EVENT: Final = "file_"


class Action(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a hook does: ask the agent with a prompt, or run a command."""

    type: str
    prompt: str = ""
    command: str = ""


class Definition(Struct, frozen=True, kw_only=True, rename="camel"):
    """A hook in the modern form; `msgspec.to_builtins` gives it as OLLM writes it."""

    id: str
    name: str
    event_type: str
    file_patterns: tuple[str, ...] = ()
    action: Action
    trusted: bool = False
    enabled: bool = True


_PATTERNS: Final = Key(any_texts, "files", vital=True, about="Runs only for these files: patterns as in a .gitignore.")
_EVENT: Final = Key(text, vital=True, about="The event it runs at.")
_ACTION: Final = Key(anything, about="What it does.")
_COMMON: Final[Mapping[str, Key]] = {
    "name": Key(text, vital=True, about="What people call it; its id is made of it.", schema=NAME),
    "enabled": SHARED["enabled"],
    "description": SHARED["description"],
    "version": Key(anything, about="For people; it means nothing to the program."),
    **SCHEMA_KEY,
}
LEGACY: Final[Mapping[str, Key]] = {**_COMMON, "when": Key(anything, about="When it runs."), "then": _ACTION}
MODERN: Final[Mapping[str, Key]] = {
    **_COMMON,
    "id": Key(
        text,
        vital=True,
        about="What commands and traces call it; made of the name unless it is given.",
        schema=NAME,
    ),
    "eventType": _EVENT,
    "filePatterns": _PATTERNS,
    "action": _ACTION,
    "trusted": Key(flag, "trusted", about="In your own folders, false makes it ask first; elsewhere it says nothing."),
}
WHEN: Final[Mapping[str, Key]] = {"type": _EVENT, "patterns": _PATTERNS}
ACTION: Final[Mapping[str, Key]] = {
    "type": Key(text, vital=True, about="Ask the agent, or run a command.", schema={"enum": [*ACTIONS]}),
    "prompt": Key(
        text,
        "prompt",
        vital=True,
        about="What to ask the agent; {{file.path}} and other values of the event are filled in.",
    ),
    "command": Key(
        text,
        "command",
        vital=True,
        about=f"What to run: one of {', '.join(PROGRAMS)}, with its arguments.",
        schema={"type": "string", "pattern": rf"^\s*({'|'.join(PROGRAMS)})(\s|$)"},
    ),
}
_FIELDS: Final[Mapping[str, Key]] = {
    name: Key(anything, name) for name in ("prompt", "command", "plain", "files", "enabled", "trusted")
}
# keys that only these definitions have
DEFINITION_KEYS: Final = frozenset({"when", "then", "eventType", "action"})


def is_definition(entry: object) -> bool:
    """Return whether one entry has one of the two shapes."""
    return isinstance(entry, Mapping) and not DEFINITION_KEYS.isdisjoint(entry)


def matches(document: object) -> bool:
    """Return whether a document has one of the two shapes, and nothing else."""
    if isinstance(document, Mapping) and isinstance(document.get("hooks"), list):
        document = document["hooks"]
    entries = document if isinstance(document, list) else [document]
    return bool(entries) and all(map(is_definition, entries))


def translate(legacy: Mapping[str, object]) -> Definition:
    """Turn `name/when/then` into the modern definition, with an id made of the name.

    Raises:
        ConfigError: Something is missing, or not what it should be.
    """
    reader = FileReader(Document(legacy), FileOrigin(path="", dialect=""))
    definition = _legacy(reader, legacy, ())
    errors = "; ".join(problem.message for problem in reader.problems)
    if definition is None or errors:
        raise ConfigError(errors or "this is no when/then hook")
    return definition


def read_definitions(document: Document, *, origin: FileOrigin) -> tuple[list[Definition], list[Problem]]:
    """Read every definition of a file, in either form, as modern ones."""
    reader = FileReader(document, origin)
    found = [_definition(reader, entry, where) for where, entry in _entries(reader)]
    return [definition for definition in found if definition is not None], reader.problems


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read every definition of a file."""
    reader = FileReader(document, origin)
    for where, entry in _entries(reader):
        add_definition(reader, entry, where)
    return reader.hooks, reader.problems


def add_definition(reader: FileReader, entry: object, where: KeyPath) -> None:
    """Read one definition and add its hook."""
    definition = _definition(reader, entry, where)
    if definition is None or not isinstance(entry, Mapping):
        return
    stated = {"trusted": entry["trusted"]} if isinstance(entry.get("trusted"), bool) else {}
    reader.check_trusted(stated, where, owner=f"hook {quote(definition.id)}")
    on = reader.origin.known_names.events(definition.event_type, dialect=DIALECT)
    files = definition.file_patterns
    if files and not all(name.startswith(_FILE_EVENT) for name in on):
        message = f"patterns of hook {quote(definition.id)} count at file events only; it runs at every "
        reader.warn(where, message + quote(definition.event_type))
        files = ()
    action = definition.action
    values = {
        **stated,
        "id": definition.id,
        "name": definition.name,
        "enabled": definition.enabled,
        "files": files,
        "on": on,
        "dialect": DIALECT,
        "format": ollm_run_command.FORMAT,
        ACTIONS[action.type]: action.prompt or action.command,
        # what OLLM runs here is any program, and what that prints is its message
        "plain": action.type == "runCommand",
    }
    reader.add_hook(values, where, keys=_FIELDS, event=definition.event_type)


def _entries(reader: FileReader) -> list[tuple[KeyPath, object]]:
    value, where = reader.unwrap(DEFINITION_KEYS)
    return (
        [((*where, place), entry) for place, entry in enumerate(value)] if isinstance(value, list) else [(where, value)]
    )


def _definition(reader: FileReader, entry: object, where: KeyPath) -> Definition | None:
    if not isinstance(entry, Mapping):
        reader.error(where, f"wanted an object for a hook, got {describe(entry)}")
        return None
    is_legacy = bool({"when", "then"} & entry.keys())
    definition = (_legacy if is_legacy else _modern)(reader, entry, where)
    if definition is None:
        return None
    at = (*where, "when", "type") if is_legacy else (*where, "eventType")
    known = reader.resolve_events((definition.event_type,), at, dialect=DIALECT)
    return definition if known and _may_run(reader, definition, where) else None


def _may_run(reader: FileReader, definition: Definition, where: KeyPath) -> bool:
    if definition.action.type != "runCommand":
        return True
    owner = f"hook {quote(definition.id)}"
    if definition.event_type not in COMMAND_EVENTS:
        what = ollm_run_command.describe_wrong_event(definition.event_type)
    else:
        what = ollm_run_command.why_command_refused(definition.action.command)
    if what:
        reader.error(where, f"{owner}: {what}; the hook is not loaded")
    return not what


def _legacy(reader: FileReader, entry: Mapping[str, object], where: KeyPath) -> Definition | None:
    owner = describe_hook(entry)
    values = reader.read_keys(entry, LEGACY, where, owner=owner)
    when = _part(reader, entry, (*where, "when"), keys=WHEN, owner=owner)
    action = _action(reader, entry, (*where, "then"), owner=owner)
    if values is None or when is None or action is None:
        return None
    return _make_definition(
        reader,
        {**values, "eventType": when.get("type"), "filePatterns": when.get("patterns", ())},
        where,
        action=action,
    )


def _modern(reader: FileReader, entry: Mapping[str, object], where: KeyPath) -> Definition | None:
    owner = describe_hook(entry)
    values = reader.read_keys(entry, MODERN, where, owner=owner)
    action = _action(reader, entry, (*where, "action"), owner=owner)
    return _make_definition(reader, values, where, action=action) if values is not None and action is not None else None


def _make_definition(
    reader: FileReader, values: Mapping[str, object], where: KeyPath, *, action: Action
) -> Definition | None:
    name = str(values.get("name", "") or values.get("id", ""))
    event = values.get("eventType")
    owner = describe_hook(values)
    if not name:
        reader.error(where, f"{owner} has no name; it is not loaded")
        return None
    if not event:
        reader.error(where, f"{owner} says no event type; it is not loaded")
        return None
    return Definition(
        id=str(values.get("id", "")) or slug(name),
        name=name,
        event_type=str(event),
        file_patterns=read_texts(values, "filePatterns"),
        action=action,
        trusted=values.get("trusted") is True,
        enabled=values.get("enabled") is not False,
    )


def _part(
    reader: FileReader, entry: Mapping[str, object], where: KeyPath, *, keys: Mapping[str, Key], owner: str
) -> dict[str, object] | None:
    name = str(where[-1])
    part = entry.get(name)
    if not isinstance(part, Mapping):
        found = describe(part) if name in entry else "none"
        reader.error(where, f'{owner} needs an object "{name}", got {found}; it is not loaded')
        return None
    return reader.read_keys(part, keys, where, owner=f'"{name}" of {owner}')


def _action(reader: FileReader, entry: Mapping[str, object], where: KeyPath, *, owner: str) -> Action | None:
    values = _part(reader, entry, where, keys=ACTION, owner=owner)
    if values is None:
        return None
    kind = str(values.get("type", ""))
    needed = ACTIONS.get(kind)
    if needed is None:
        known = " or ".join(ACTIONS)
        reader.error((*where, "type"), f"{owner} needs an action {known}, got {quote(kind)}{suggest(kind, ACTIONS)}")
        return None
    if not values.get(needed):
        reader.error(where, f"{owner} is an {kind} hook and has no {needed}; it is not loaded")
        return None
    return Action(type=kind, prompt=str(values.get("prompt", "")), command=str(values.get("command", "")))
