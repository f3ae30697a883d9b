"""Copies of what an event carries, for whoever could change it by accident, or has to see it as it was."""

from collections.abc import Mapping


def own_copy(fields: dict[str, object], copies: dict[int, object]) -> dict[str, object]:
    """Copy the fields of an event, which nothing in them leads back to.

    Most of them are texts and numbers: the interpreter copies all at once, and only what can be changed itself is gone
    into. That is half the time of copying each by itself.
    """
    own = fields.copy()
    for name, value in fields.items():
        kind = type(value)
        if kind is dict or kind is list:
            own[name] = _copied_once(value, copies)
    return own


def kept(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Copy the fields of an event for who reads them later, when the caller may have changed its own.

    What is nested deeper than can be copied is given as it is.
    """
    try:
        return own_copy(fields if type(fields) is dict else dict(fields), {})
    except RecursionError:
        return fields


def copied(value: object, copies: dict[int, object]) -> object:
    """Copy dicts and lists, each once: data may be shared, or contain itself. All else is given as it is.

    `copies` has what was copied before, by the identity of the original.
    """
    kind = type(value)
    return _copied_once(value, copies) if kind is dict or kind is list else value


def _copied_once(value: object, copies: dict[int, object]) -> object:
    key = id(value)
    if key in copies:
        return copies[key]
    if type(value) is dict:
        fields = copies[key] = value.copy()
        for name, item in value.items():
            kind = type(item)
            if kind is dict or kind is list:
                fields[name] = _copied_once(item, copies)
        return fields
    items = copies[key] = list(value) if type(value) is list else []
    for place, item in enumerate(items):
        kind = type(item)
        if kind is dict or kind is list:
            items[place] = _copied_once(item, copies)
    return items
