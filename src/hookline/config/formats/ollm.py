"""OLLM's hook definitions: `{"id": …, "name": …, "command": …, "args": […], "event": …}`.

One in a file, a list of them, `{"hooks": […]}`, or lists under event names.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.document import Document, KeyPath
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading, owner_of
from hookline.config.values import SHARED, Key, describe, flag, ignored, one_or_more_texts, text, texts, words
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
        "command": Key(text, "command", vital=True),
        "args": Key(texts, "args", vital=True),
        "working_directory": Key(text, "working_directory", vital=True),
        "module": Key(text, "module", vital=True),
        "function": Key(text, "function", vital=True),
        "url": Key(text, "url", vital=True),
        "event": Key(one_or_more_texts, vital=True),
        "events": Key(one_or_more_texts, vital=True),
        "dialect": Key(text, vital=True),
        "source": Key(_source, vital=True),
        # where OLLM found the definition; we say where we found it
        "sourcePath": Key(ignored),
        "trusted": Key(flag),
    }
)
# what tells a definition from lists under event names
_TELLING: Final = frozenset({"id", "name", "command", "args", "event", "events", "module", "url"})


def matches(document: object) -> bool:
    """Say whether a document may have this shape; it is the last one to be asked."""
    return isinstance(document, Mapping | list)


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read every definition of a file."""
    reading = Reading(document, origin)
    value, where = reading.unwrapped(_TELLING)
    match value:
        case list():
            for place, entry in enumerate(value):
                _definition(reading, entry, (*where, place), event="")
        case Mapping() if not value or _TELLING & value.keys():
            if value:
                _definition(reading, value, where, event="")
        case Mapping():
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
    reading.add({**values, "on": on, "dialect": dialect, "source": source}, where, keys=KEYS, event=names[0])


def _events(values: Mapping[str, object], *, event: str) -> tuple[str, ...]:
    above = (event,) if event else ()
    return tuple(dict.fromkeys((*above, *words(values, "event"), *words(values, "events"))))
