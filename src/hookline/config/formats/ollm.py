"""OLLM's hook definitions: `{"id": …, "name": …, "command": …, "args": […], "event": …}`, and its event automation.

One in a file, a list of them, `{"hooks": […]}`, or lists under event names. Each entry is read as what it is: a list may have
hooks of the automation between others, as `name/when/then`, which people wrote first, or as the definition that replaced it.
"""

from collections.abc import Mapping
from typing import Final

from hookline.config import keys
from hookline.config.document import Document, KeyPath, Problem
from hookline.config.keys import NAME, SCHEMA_KEY, SHARED, Key, anything, describe, text
from hookline.config.reader import TRUST_RANK, FileOrigin, FileReader, describe_hook
from hookline.model import ollm_run_command
from hookline.model.hook import Hook, Source
from hookline.model.names import resolve_events
from hookline.model.ollm_run_command import PROGRAMS
from hookline.text import quote, suggest

# these files lie among OLLM's other hooks, but their events have names of their own
AUTOMATION_DIALECT: Final = "ollm-rpc"
# the field each action needs
ACTIONS: Final[Mapping[str, str]] = {"askAgent": "prompt", "runCommand": "command"}
COMMAND_EVENTS: Final = frozenset(ollm_run_command.EVENTS.values())
_PATTERNS: Final = Key(
    keys.any_texts, "files", vital=True, about="Runs only for these files: patterns as in a .gitignore."
)
_TRUSTED: Final = Key(
    keys.flag, "trusted", about="In your own folders, false makes it ask first; elsewhere it says nothing."
)
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
    "trusted": _TRUSTED,
}
WHEN: Final[Mapping[str, Key]] = {"type": _EVENT, "patterns": _PATTERNS}
ACTION: Final[Mapping[str, Key]] = keys.make_keys(
    {
        "type": Key(text, vital=True, about="Ask the agent, or run a command.", schema={"enum": [*ACTIONS]}),
        "prompt": (text, True, "What to ask the agent; {{file.path}} and other values of the event are filled in."),
        "command": (
            text,
            True,
            f"What to run: one of {', '.join(PROGRAMS)}, with its arguments.",
            {"type": "string", "pattern": rf"^\s*({'|'.join(PROGRAMS)})(\s|$)"},
        ),
    }
)
# keys that only these definitions have
_AUTOMATION_KEYS: Final = frozenset({"when", "then", "eventType", "action"})


def _add_automation(reader: FileReader, entry: Mapping[str, object], where: KeyPath) -> None:
    """Read one definition of the event automation and add its hook."""
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
    ident = str(values.get("id", "")) or keys.slug(name)
    at = (*where, "when", "type") if is_legacy else (*where, "eventType")
    on = reader.resolve_events((str(event),), at, dialect=AUTOMATION_DIALECT)
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
        "dialect": AUTOMATION_DIALECT,
        "format": ollm_run_command.FORMAT,
        # what OLLM runs here is any program, and what that prints is its message
        "plain": "command" in action,
    }
    reader.add_hook(hook, where, keys={}, event=str(event))


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


# the dialects of OLLM's documents, which have other names for the same events
_FAMILY: Final = ("ollm-protocol", "ollm-rpc", "ollm")


KEYS: Final[Mapping[str, Key]] = {
    **SHARED,
    **keys.RUNNERS,
    "event": Key(keys.one_or_more_texts, vital=True, about="The event it runs at, or a list of them."),
    "events": Key(keys.one_or_more_texts, vital=True, about="The events it runs at."),
    "dialect": Key(text, vital=True, about="The hook language it speaks; `hookline dialects` lists them."),
    "source": Key(
        keys.WordReader(Source),
        vital=True,
        about="Whose it is; a file can make itself less trusted, never more.",
    ),
    # where OLLM found the definition; we say where we found it
    "sourcePath": Key(anything, about="Where OLLM found it; it means nothing here."),
    "trusted": _TRUSTED,
    **SCHEMA_KEY,
}
# what may stand beside the list of hooks in a file of definitions
WRAPPER_KEYS: Final[Mapping[str, str]] = {
    "hooks": "The hooks.",
    "$schema": "The schema an editor completes this file with.",
    "description": "For people; it means nothing to the program.",
    "version": "For people; it means nothing to the program.",
}
# keys that a definition has, and a table of events has not
_TELLING: Final = frozenset({"id", "name", "command", "args", "event", "events", "module", "url", *_AUTOMATION_KEYS})


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read every definition of a file."""
    reader = FileReader(document, origin)
    value = document.value
    where: KeyPath = ()
    if isinstance(value, Mapping) and "hooks" in value and _TELLING.isdisjoint(value):
        for key in value:
            if key not in WRAPPER_KEYS:
                reader.report_unknown_key((), key, WRAPPER_KEYS, owner="the file")
        value, where = value["hooks"], ("hooks",)
    match value:
        case list():
            for place, entry in enumerate(value):
                _definition(reader, entry, (*where, place), event="")
        case dict() if not value or not _TELLING.isdisjoint(value):
            if value:
                _definition(reader, value, where, event="")
        case dict():
            for event, group in value.items():
                at = (*where, event)
                if not isinstance(group, list | Mapping):
                    reader.error(at, f"wanted hook definitions under {quote(event)}, got {describe(group)}")
                elif reader.resolve_events((event,), at, dialect=origin.dialect):
                    entries = enumerate(group) if isinstance(group, list) else [(None, group)]
                    for number, entry in entries:
                        _definition(reader, entry, at if number is None else (*at, number), event=event)
        case _:
            reader.error(where, f"wanted hook definitions, got {describe(value)}")
    return reader.hooks, reader.problems


def _definition(reader: FileReader, entry: object, where: KeyPath, *, event: str) -> None:
    if not isinstance(entry, Mapping):
        reader.error(where, f"wanted an object for a hook, got {describe(entry)}")
        return
    if not _AUTOMATION_KEYS.isdisjoint(entry):
        _add_automation(reader, entry, where)
        return
    with reader.reading_hook(entry, where, on=resolve_events(event)):
        _read_entry(reader, entry, where, event=event)


def _read_entry(reader: FileReader, entry: Mapping[str, object], where: KeyPath, *, event: str) -> None:
    owner = describe_hook(entry)
    values = reader.read_keys(entry, KEYS, where, owner=owner)
    dialect = reader.resolve_dialect(values, where) if values is not None else ""
    if values is None or not dialect:
        return
    above = (event,) if event else ()
    names = tuple(dict.fromkeys((*above, *keys.read_texts(values, "event"), *keys.read_texts(values, "events"))))
    if not names:
        reader.error(where, f'{owner} says no event; add "event": "before_tool" or another one')
        return
    on = reader.resolve_events(names, (*where, "events" if "events" in entry else "event"), dialect=dialect)
    if not on:
        return
    # an event with the name of another OLLM dialect: the hook is likely to read and answer in that
    known = reader.origin.known_names.names
    for name in names:
        other = next((one for one in _FAMILY if one != dialect and name in known.get(one, {})), "")
        if other and name not in known.get(dialect, {}):
            message = (
                f'{quote(name)} is an event of {other}, and this hook is sent it in {dialect}: say "dialect": "{other}"'
            )
            reader.warn((*where, "event"), message)
            break
    reader.check_trusted(values, where, owner=owner)
    source, wish = reader.origin.source, values.get("source")
    if isinstance(wish, Source) and TRUST_RANK[wish] < TRUST_RANK[source]:
        # a file may lower its own trust, never raise it
        source = wish
    elif isinstance(wish, Source) and TRUST_RANK[wish] > TRUST_RANK[source]:
        why = f"{owner} calls itself a {wish} hook; it was found as a {source} hook and stays one"
        reader.note((*where, "source"), why)
    values |= {"on": on, "dialect": dialect, "source": source, "format": "ollm"}
    reader.add_hook(values, where, keys=KEYS, event=names[0])
