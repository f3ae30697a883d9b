"""OLLM's hook definitions: `{"id": …, "name": …, "command": …, "args": […], "event": …}`.

One in a file, a list of them, `{"hooks": […]}`, or lists under event names. A list may also have hooks in the
`when`/`then` form between them: each entry is read as what it is.
"""

from collections.abc import Mapping
from typing import Final

from hookline.config import keys
from hookline.config.document import Document, KeyPath, Problem
from hookline.config.formats import when_then
from hookline.config.keys import RUNNERS, SCHEMA_KEY, SHARED, Key, describe, one_or_more_texts, read_texts, text
from hookline.config.reader import TRUST_RANK, FileOrigin, FileReader, describe_hook
from hookline.model.hook import Hook, Source
from hookline.model.names import resolve_events
from hookline.text import quote

# the dialects of OLLM's documents, which have other names for the same events
_FAMILY: Final = ("ollm-protocol", "ollm-rpc", "ollm")


KEYS: Final[Mapping[str, Key]] = {
    **SHARED,
    **RUNNERS,
    "event": Key(one_or_more_texts, vital=True, about="The event it runs at, or a list of them."),
    "events": Key(one_or_more_texts, vital=True, about="The events it runs at."),
    "dialect": Key(text, vital=True, about="The hook language it speaks; `hookline dialects` lists them."),
    "source": Key(
        keys.WordReader(Source),
        vital=True,
        about="Whose it is; a file can make itself less trusted, never more.",
    ),
    # where OLLM found the definition; we say where we found it
    "sourcePath": Key(keys.anything, about="Where OLLM found it; it means nothing here."),
    "trusted": Key(
        keys.flag, "trusted", about="In your own folders, false makes it ask first; elsewhere it says nothing."
    ),
    **SCHEMA_KEY,
}
# keys that a definition has, and a table of events has not
_TELLING: Final = frozenset(
    {"id", "name", "command", "args", "event", "events", "module", "url", *when_then.DEFINITION_KEYS}
)


def matches(document: object) -> bool:
    """Return whether a document may have this shape; it is the last one to be asked."""
    return isinstance(document, (dict, list))


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read every definition of a file."""
    reader = FileReader(document, origin)
    value, where = reader.unwrap(_TELLING)
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
    if when_then.is_definition(entry):
        when_then.add_definition(reader, entry, where)
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
    names = tuple(dict.fromkeys((*above, *read_texts(values, "event"), *read_texts(values, "events"))))
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
