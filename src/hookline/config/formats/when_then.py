"""OLLM's event automation: `name/when/then` as people wrote it first, and the definition that replaced it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.config.document import Document, KeyPath
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading, owner_of
from hookline.config.values import NAME, SCHEMA_KEY, SHARED, Key, any_texts, describe, flag, ignored, slug, text, words
from hookline.config.vocabulary import hint, quoted
from hookline.errors import ConfigError
from hookline.model import run_command
from hookline.model.hook import Hook
from hookline.model.run_command import PROGRAMS

# these files lie among OLLM's other hooks, but their events have names of their own
DIALECT: Final = "ollm-rpc"
# the field each action needs
ACTIONS: Final[Mapping[str, str]] = MappingProxyType({"askAgent": "prompt", "runCommand": "command"})
COMMAND_EVENTS: Final = frozenset(run_command.EVENTS.values())
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
_ACTION: Final = Key(ignored, about="What it does.")
_COMMON: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "name": Key(text, vital=True, about="What people call it; its id is made of it.", schema=NAME),
        "enabled": SHARED["enabled"],
        "description": SHARED["description"],
        "version": Key(ignored, about="For people; it means nothing to the program."),
        **SCHEMA_KEY,
    }
)
LEGACY: Final[Mapping[str, Key]] = MappingProxyType(
    {**_COMMON, "when": Key(ignored, about="When it runs."), "then": _ACTION}
)
MODERN: Final[Mapping[str, Key]] = MappingProxyType(
    {
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
        "trusted": Key(
            flag, "trusted", about="In your own folders, false makes it ask first; elsewhere it says nothing."
        ),
    }
)
WHEN: Final[Mapping[str, Key]] = MappingProxyType({"type": _EVENT, "patterns": _PATTERNS})
ACTION: Final[Mapping[str, Key]] = MappingProxyType(
    {
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
)
_FIELDS: Final[Mapping[str, Key]] = MappingProxyType(
    {name: Key(ignored, name) for name in ("prompt", "command", "plain", "files", "enabled", "trusted")}
)
# what tells one of these from other definitions
TELLING: Final = frozenset({"when", "then", "eventType", "action"})


def is_one(entry: object) -> bool:
    """Say whether one entry has one of the two shapes."""
    return isinstance(entry, Mapping) and not TELLING.isdisjoint(entry)


def matches(document: object) -> bool:
    """Say whether a document has one of the two shapes, and nothing else."""
    if isinstance(document, Mapping) and isinstance(document.get("hooks"), list):
        document = document["hooks"]
    entries = document if isinstance(document, list) else [document]
    return bool(entries) and all(map(is_one, entries))


def translate(legacy: Mapping[str, object]) -> Definition:
    """Turn `name/when/then` into the modern definition, with an id made of the name.

    Raises:
        ConfigError: Something is missing, or not what it should be.
    """
    reading = Reading(Document(legacy), Origin(path="", dialect=""))
    definition = _legacy(reading, legacy, ())
    errors = "; ".join(problem.message for problem in reading.problems)
    if definition is None or errors:
        raise ConfigError(errors or "this is no when/then hook")
    return definition


def read_definitions(document: Document, *, origin: Origin) -> tuple[list[Definition], list[Problem]]:
    """Read every definition of a file, in either form, as modern ones."""
    reading = Reading(document, origin)
    found = [_definition(reading, entry, where) for where, entry in _entries(reading)]
    return [definition for definition in found if definition is not None], reading.problems


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read every definition of a file."""
    reading = Reading(document, origin)
    for where, entry in _entries(reading):
        add(reading, entry, where)
    return reading.hooks, reading.problems


def add(reading: Reading, entry: object, where: KeyPath) -> None:
    """Read one definition and add its hook."""
    definition = _definition(reading, entry, where)
    if definition is None or not isinstance(entry, Mapping):
        return
    stated = {"trusted": entry["trusted"]} if isinstance(entry.get("trusted"), bool) else {}
    reading.trusted(stated, where, owner=f"hook {quoted(definition.id)}")
    on = reading.origin.vocabulary.events(definition.event_type, dialect=DIALECT)
    files = definition.file_patterns
    if files and not all(name.startswith(_FILE_EVENT) for name in on):
        message = f"patterns of hook {quoted(definition.id)} count at file events only; it runs at every "
        reading.warn(where, message + quoted(definition.event_type))
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
        "format": run_command.FORMAT,
        ACTIONS[action.type]: action.prompt or action.command,
        # what OLLM runs here is any program, and what that prints is its message
        "plain": action.type == "runCommand",
    }
    reading.add(values, where, keys=_FIELDS, event=definition.event_type)


def _entries(reading: Reading) -> list[tuple[KeyPath, object]]:
    value, where = reading.unwrapped(TELLING)
    return (
        [((*where, place), entry) for place, entry in enumerate(value)] if isinstance(value, list) else [(where, value)]
    )


def _definition(reading: Reading, entry: object, where: KeyPath) -> Definition | None:
    if not isinstance(entry, Mapping):
        reading.error(where, f"wanted an object for a hook, got {describe(entry)}")
        return None
    is_legacy = bool({"when", "then"} & entry.keys())
    definition = (_legacy if is_legacy else _modern)(reading, entry, where)
    if definition is None:
        return None
    at = (*where, "when", "type") if is_legacy else (*where, "eventType")
    known = reading.events((definition.event_type,), at, dialect=DIALECT)
    return definition if known and _may_run(reading, definition, where) else None


def _may_run(reading: Reading, definition: Definition, where: KeyPath) -> bool:
    if definition.action.type != "runCommand":
        return True
    owner = f"hook {quoted(definition.id)}"
    if definition.event_type not in COMMAND_EVENTS:
        what = run_command.not_at(definition.event_type)
    else:
        what = run_command.objection(definition.action.command)
    if what:
        reading.error(where, f"{owner}: {what}; the hook is not loaded")
    return not what


def _legacy(reading: Reading, entry: Mapping[str, object], where: KeyPath) -> Definition | None:
    owner = owner_of(entry)
    values = reading.values(entry, LEGACY, where, owner=owner)
    when = _part(reading, entry, (*where, "when"), keys=WHEN, owner=owner)
    action = _action(reading, entry, (*where, "then"), owner=owner)
    if values is None or when is None or action is None:
        return None
    return _made(
        reading,
        {**values, "eventType": when.get("type"), "filePatterns": when.get("patterns", ())},
        where,
        action=action,
    )


def _modern(reading: Reading, entry: Mapping[str, object], where: KeyPath) -> Definition | None:
    owner = owner_of(entry)
    values = reading.values(entry, MODERN, where, owner=owner)
    action = _action(reading, entry, (*where, "action"), owner=owner)
    return _made(reading, values, where, action=action) if values is not None and action is not None else None


def _made(reading: Reading, values: Mapping[str, object], where: KeyPath, *, action: Action) -> Definition | None:
    name = str(values.get("name", "") or values.get("id", ""))
    event = values.get("eventType")
    owner = owner_of(values)
    if not name:
        reading.error(where, f"{owner} has no name; it is not loaded")
        return None
    if not event:
        reading.error(where, f"{owner} says no event type; it is not loaded")
        return None
    return Definition(
        id=str(values.get("id", "")) or slug(name),
        name=name,
        event_type=str(event),
        file_patterns=words(values, "filePatterns"),
        action=action,
        trusted=values.get("trusted") is True,
        enabled=values.get("enabled") is not False,
    )


def _part(
    reading: Reading, entry: Mapping[str, object], where: KeyPath, *, keys: Mapping[str, Key], owner: str
) -> dict[str, object] | None:
    name = str(where[-1])
    part = entry.get(name)
    if not isinstance(part, Mapping):
        found = describe(part) if name in entry else "none"
        reading.error(where, f'{owner} needs an object "{name}", got {found}; it is not loaded')
        return None
    return reading.values(part, keys, where, owner=f'"{name}" of {owner}')


def _action(reading: Reading, entry: Mapping[str, object], where: KeyPath, *, owner: str) -> Action | None:
    values = _part(reading, entry, where, keys=ACTION, owner=owner)
    if values is None:
        return None
    kind = str(values.get("type", ""))
    needed = ACTIONS.get(kind)
    if needed is None:
        known = " or ".join(ACTIONS)
        reading.error((*where, "type"), f"{owner} needs an action {known}, got {quoted(kind)}{hint(kind, ACTIONS)}")
        return None
    if not values.get(needed):
        reading.error(where, f"{owner} is an {kind} hook and has no {needed}; it is not loaded")
        return None
    return Action(type=kind, prompt=str(values.get("prompt", "")), command=str(values.get("command", "")))
