"""OLLM's event automation: `name/when/then` as people wrote it first, and the definition that replaced it."""

from collections.abc import Mapping
from typing import Final

from hookline.config.document import Document, KeyPath, Problem
from hookline.config.keys import NAME, SCHEMA_KEY, SHARED, Key, any_texts, anything, describe, flag, slug, text
from hookline.config.reader import FileOrigin, FileReader, describe_hook
from hookline.model import ollm_run_command
from hookline.model.hook import Hook
from hookline.model.ollm_run_command import PROGRAMS
from hookline.text import quote, suggest

# these files lie among OLLM's other hooks, but their events have names of their own
DIALECT: Final = "ollm-rpc"
# the field each action needs
ACTIONS: Final[Mapping[str, str]] = {"askAgent": "prompt", "runCommand": "command"}
COMMAND_EVENTS: Final = frozenset(ollm_run_command.EVENTS.values())
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
    "id": Key(text, vital=True, about=SHARED["id"].about, schema=NAME),
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


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read every definition of a file."""
    reader = FileReader(document, origin)
    value, where = reader.unwrap(DEFINITION_KEYS)
    if isinstance(value, list):
        for place, entry in enumerate(value):
            add_definition(reader, entry, (*where, place))
    else:
        add_definition(reader, value, where)
    return reader.hooks, reader.problems


def add_definition(reader: FileReader, entry: object, where: KeyPath) -> None:
    """Read one definition and add its hook."""
    if not isinstance(entry, Mapping):
        reader.error(where, f"wanted an object for a hook, got {describe(entry)}")
        return
    owner = describe_hook(entry)
    is_legacy = bool({"when", "then"} & entry.keys())
    values = reader.read_keys(entry, LEGACY if is_legacy else MODERN, where, owner=owner)
    when = reader.read_part(entry, WHEN, (*where, "when"), owner=owner) if is_legacy else {}
    action = _action(reader, entry, (*where, "then" if is_legacy else "action"), owner=owner)
    if values is None or when is None or action is None:
        return
    event = when.get("type") if is_legacy else values.get("eventType")
    files = when.get("patterns", ()) if is_legacy else values.get("filePatterns", ())
    name = str(values.get("name", "") or values.get("id", ""))
    if not name or not event:
        what = "says no event type" if name else "has no name"
        reader.error(where, f"{describe_hook(values)} {what}; it is not loaded")
        return
    ident = str(values.get("id", "")) or slug(name)
    at = (*where, "when", "type") if is_legacy else (*where, "eventType")
    on = reader.resolve_events((str(event),), at, dialect=DIALECT)
    if not on:
        return
    if "command" in action:
        refused = (
            ollm_run_command.describe_wrong_event(str(event))
            if event not in COMMAND_EVENTS
            else ollm_run_command.why_command_refused(action["command"])
        )
        if refused:
            reader.error(where, f"hook {quote(ident)}: {refused}; the hook is not loaded")
            return
    stated = {"trusted": values["trusted"]} if "trusted" in values else {}
    reader.check_trusted(stated, where, owner=f"hook {quote(ident)}")
    if files and not all(name.startswith("file_") for name in on):
        message = f"patterns of hook {quote(ident)} count at file events only; it runs at every {quote(str(event))}"
        reader.warn(where, message)
        files = ()
    hook = {
        **stated,
        **action,
        "id": ident,
        "name": name,
        "enabled": values.get("enabled") is not False,
        "files": files,
        "on": on,
        "dialect": DIALECT,
        "format": ollm_run_command.FORMAT,
        # what OLLM runs here is any program, and what that prints is its message
        "plain": "command" in action,
    }
    reader.add_hook(hook, where, keys=_FIELDS, event=str(event))


def _action(reader: FileReader, entry: Mapping[str, object], where: KeyPath, *, owner: str) -> dict[str, str] | None:
    """Return the field of a hook that its action sets, and its value."""
    values = reader.read_part(entry, ACTION, where, owner=owner)
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
    return {needed: str(values[needed])}
