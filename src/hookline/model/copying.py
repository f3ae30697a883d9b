"""Copies of event data, for code that may change it or reads it later."""

from collections.abc import Mapping
from typing import Final

_COPIED: Final = frozenset({dict, list})


def copy_fields(fields: Mapping[str, object], copies: dict[int, object]) -> dict[str, object]:
    """Copy the fields of an event, which nothing in them refers back to; see `deep_copy`."""
    made = dict(fields)
    if made and not _COPIED.isdisjoint(map(type, made.values())):
        for name, value in made.items():
            made[name] = deep_copy(value, copies)
    return made


def snapshot(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Copy the fields of an event for a later reader; fields that are nested too deeply to be copied are returned as they are."""
    try:
        return copy_fields(fields, {})
    except RecursionError:
        return fields


def deep_copy(value: object, copies: dict[int, object]) -> object:
    """Copy dicts and lists, each once, as data may be shared or contain itself; return every other value unchanged.

    `copies` maps the identity of each original to its copy.
    """
    if type(value) not in _COPIED:
        return value
    key = id(value)
    if key not in copies:
        if isinstance(value, dict):
            table: dict[object, object] = {}
            copies[key] = table
            table.update((name, deep_copy(item, copies)) for name, item in value.items())
        elif isinstance(value, list):
            items: list[object] = []
            copies[key] = items
            items.extend(deep_copy(item, copies) for item in value)
    return copies[key]
