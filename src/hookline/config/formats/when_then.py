"""OLLM's event automation: `name/when/then` as people wrote it first, and the definition that replaced it.

What these hooks do, asking the agent or running one of the allowed programs, belongs to kinds that are
not there yet. They are read, checked and reported, so that nobody waits for a hook that cannot run.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.config.document import Document, KeyPath
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading, owner_of
from hookline.config.values import Key, describe, flag, ignored, one_or_more_texts, slug, text, words
from hookline.config.vocabulary import hint, quoted
from hookline.errors import ConfigError
from hookline.model.hook import Hook

# these files lie among OLLM's other hooks, but their events have names of their own
DIALECT: Final = "ollm-rpc"
# the field each action needs
ACTIONS: Final[Mapping[str, str]] = MappingProxyType({"askAgent": "prompt", "runCommand": "command"})
# "Only valid with promptSubmit and agentStop", says OLLM's document
COMMAND_EVENTS: Final = frozenset({"promptSubmit", "agentStop"})


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


_LEGACY: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "name": Key(text, vital=True),
        "when": Key(ignored),
        "then": Key(ignored),
        "description": Key(ignored),
        "version": Key(ignored),
        "enabled": Key(flag, vital=True),
    }
)
_MODERN: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "id": Key(text, vital=True),
        "name": Key(text, vital=True),
        "eventType": Key(text, vital=True),
        "filePatterns": Key(one_or_more_texts, vital=True),
        "action": Key(ignored),
        "trusted": Key(flag),
        "enabled": Key(flag, vital=True),
        "description": Key(ignored),
        "version": Key(ignored),
    }
)
_WHEN: Final[Mapping[str, Key]] = MappingProxyType(
    {"type": Key(text, vital=True), "patterns": Key(one_or_more_texts, vital=True)}
)
_ACTION: Final[Mapping[str, Key]] = MappingProxyType(
    {"type": Key(text, vital=True), "prompt": Key(text, vital=True), "command": Key(text, vital=True)}
)
_TELLING: Final = frozenset({"when", "then", "eventType", "action"})


def matches(document: object) -> bool:
    """Say whether a document has one of the two shapes."""
    if isinstance(document, Mapping) and isinstance(document.get("hooks"), list):
        document = document["hooks"]
    entries = document if isinstance(document, list) else [document]
    return any(isinstance(entry, Mapping) and _TELLING & entry.keys() for entry in entries)


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
    found = [definition for _, definition in _definitions(reading)]
    return found, reading.problems


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Check every definition of a file, and report that it is not run yet."""
    reading = Reading(document, origin)
    for where, definition in _definitions(reading):
        owner = f"hook {quoted(definition.id)}"
        reading.trusted({"trusted": definition.trusted}, where, owner=owner)
        state = "" if definition.enabled else " (and it is switched off)"
        reading.warn(where, f"{owner}: {definition.action.type} hooks are not run yet{state}")
    return [], reading.problems


def _definitions(reading: Reading) -> list[tuple[KeyPath, Definition]]:
    value, where = reading.unwrapped(_TELLING)
    entries = [((*where, place), entry) for place, entry in enumerate(value)] if isinstance(value, list) else []
    found = []
    for place, entry in entries or [(where, value)]:
        definition = _definition(reading, entry, place)
        if definition is not None:
            found.append((place, definition))
    return found


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
    if definition.action.type != "runCommand" or definition.event_type in COMMAND_EVENTS:
        return True
    allowed = " and ".join(sorted(COMMAND_EVENTS))
    reading.error(
        where,
        f"hook {quoted(definition.id)}: runCommand is for {allowed} only, not for {quoted(definition.event_type)}; "
        "use askAgent",
    )
    return False


def _legacy(reading: Reading, entry: Mapping[str, object], where: KeyPath) -> Definition | None:
    owner = owner_of(entry)
    values = reading.values(entry, _LEGACY, where, owner=owner)
    when = _part(reading, entry, (*where, "when"), keys=_WHEN, owner=owner)
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
    values = reading.values(entry, _MODERN, where, owner=owner)
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
    values = _part(reading, entry, where, keys=_ACTION, owner=owner)
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
