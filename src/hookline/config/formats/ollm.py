"""OLLM's hook definitions: `{"id": …, "name": …, "command": …, "args": […], "event": …}`.

One in a file, a list of them, `{"hooks": […]}`, or lists under event names. A list may also have hooks in the
`when`/`then` form between them: each entry is read as what it is.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.document import Document, KeyPath
from hookline.config.formats import when_then
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading, owner_of
from hookline.config.values import (
    RUNNERS,
    SCHEMA_KEY,
    SHARED,
    Key,
    describe,
    flag,
    ignored,
    one_or_more_texts,
    text,
    words,
)
from hookline.config.vocabulary import quoted
from hookline.model.hook import Hook, Source


def _source(value: object) -> Source:
    try:
        return Source(text(value))
    except ValueError:
        raise ValueError(f"wanted one of {', '.join(Source)}, got {describe(value)}") from None


KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **SHARED,
        **RUNNERS,
        "event": Key(one_or_more_texts, vital=True, about="The event it runs at, or a list of them."),
        "events": Key(one_or_more_texts, vital=True, about="The events it runs at."),
        "dialect": Key(text, vital=True, about="The hook language it speaks; `hookline dialects` lists them."),
        "source": Key(
            _source,
            vital=True,
            about="Whose it is; a file can make itself less trusted, never more.",
            schema={"enum": [*Source]},
        ),
        # where OLLM found the definition; we say where we found it
        "sourcePath": Key(ignored, about="Where OLLM found it; it means nothing here."),
        "trusted": Key(
            flag, "trusted", about="In your own folders, false makes it ask first; elsewhere it says nothing."
        ),
        **SCHEMA_KEY,
    }
)
# what tells a definition from lists under event names
_TELLING: Final = frozenset({"id", "name", "command", "args", "event", "events", "module", "url", *when_then.TELLING})


def matches(document: object) -> bool:
    """Say whether a document may have this shape; it is the last one to be asked."""
    return isinstance(document, (dict, list))


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read every definition of a file."""
    reading = Reading(document, origin)
    value, where = reading.unwrapped(_TELLING)
    match value:
        case list():
            for place, entry in enumerate(value):
                _definition(reading, entry, (*where, place), event="")
        case dict() if not value or not _TELLING.isdisjoint(value):
            if value:
                _definition(reading, value, where, event="")
        case dict():
            for event, group in value.items():
                _under_event(reading, group, (*where, event), event=event)
        case _:
            reading.error(where, f"wanted hook definitions, got {describe(value)}")
    return reading.hooks, reading.problems


def _under_event(reading: Reading, group: object, where: KeyPath, *, event: str) -> None:
    if not isinstance(group, list | Mapping):
        reading.error(where, f"wanted hook definitions under {quoted(event)}, got {describe(group)}")
    elif not reading.events((event,), where, dialect=reading.origin.dialect):
        return
    elif isinstance(group, list):
        for place, entry in enumerate(group):
            _definition(reading, entry, (*where, place), event=event)
    else:
        _definition(reading, group, where, event=event)


def _definition(reading: Reading, entry: object, where: KeyPath, *, event: str) -> None:
    if not isinstance(entry, Mapping):
        reading.error(where, f"wanted an object for a hook, got {describe(entry)}")
        return
    if when_then.is_one(entry):
        when_then.add(reading, entry, where)
        return
    owner = owner_of(entry)
    values = reading.values(entry, KEYS, where, owner=owner)
    dialect = reading.dialect(values, where) if values is not None else ""
    if values is None or not dialect:
        return
    names = _events(values, event=event)
    if not names:
        reading.error(where, f'{owner} says no event; add "event": "before_tool" or another one')
        return
    on = reading.events(names, (*where, "events" if "events" in entry else "event"), dialect=dialect)
    if not on:
        return
    reading.trusted(values, where, owner=owner)
    source = reading.source(values, where, owner=owner)
    known = {"on": on, "dialect": dialect, "source": source, "format": "ollm"}
    reading.add({**values, **known}, where, keys=KEYS, event=names[0])


def _events(values: Mapping[str, object], *, event: str) -> tuple[str, ...]:
    above = (event,) if event else ()
    return tuple(dict.fromkeys((*above, *words(values, "event"), *words(values, "events"))))
