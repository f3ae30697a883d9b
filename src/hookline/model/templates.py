"""Find `{{name}}` in the texts of hooks, and look up the values that the names stand for."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from hookline.model.event import Event
from hookline.model.hook import TEXT_TARGETS, Hook

TEMPLATE: Final = re.compile(r"\{\{[ \t]*([A-Za-z_][\w-]*(?:\.[\w-]+)*)[ \t]*\}\}")
# These end Go's own blocks, as in docker ps --format '{{range .Ports}}…{{end}}'.
GO_KEYWORDS: Final = frozenset(("end", "else", "break", "continue"))
_LONGEST_INDEX: Final = 9
_OF_FILES: Final = frozenset({"file", "files"})

NamePath = tuple[str, ...]


def find_marks(text: str) -> Iterator[re.Match[str]]:
    """Yield a match for each template of a text; group 1 is the name."""
    for found in TEMPLATE.finditer(text):
        if found[1] not in GO_KEYWORDS:
            yield found


def find_names(*texts: str) -> tuple[NamePath, ...]:
    """Return the names in some texts, each once, split at their dots."""
    return tuple(dict.fromkeys(tuple(found[1].split(".")) for text in texts for found in find_marks(text)))


def command_names(hook: Hook) -> tuple[NamePath, ...]:
    """Return the template names in a hook's command line."""
    return find_names(hook.command, *hook.args) if "{{" in hook.command or any("{{" in arg for arg in hook.args) else ()


def hook_names(hook: Hook) -> tuple[NamePath, ...]:
    """Return the template names in every text of a hook that is filled with values of the event."""
    return (
        *command_names(hook),
        *find_names(
            *(getattr(hook, field) for field in TEXT_TARGETS), *body_texts(hook.body), *body_texts(hook.arguments)
        ),
    )


def body_texts(body: object) -> Iterator[str]:
    """Yield every text in the body of a web request."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping | list | tuple):
        for item in body.values() if isinstance(body, Mapping) else body:
            yield from body_texts(item)


def map_texts(body: object, change: Callable[[str], object]) -> object:
    """Return a JSON value with every text in it replaced by what a function returns."""
    if isinstance(body, str):
        return change(body)
    if isinstance(body, Mapping):
        return {key: map_texts(item, change) for key, item in body.items()}
    return [map_texts(item, change) for item in body] if isinstance(body, list | tuple) else body


def look_up(values: Mapping[str, object], path: Sequence[str]) -> object:
    """Return the value under a dotted name; None if there is none. Numbers are places in lists."""
    value: object = values
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list | tuple) and step.isascii() and step.isdigit() and len(step) <= _LONGEST_INDEX:
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value


def has_value(values: Mapping[str, object], path: Sequence[str]) -> bool:
    """Return whether a name has a value; an empty list is none."""
    value = look_up(values, path)
    return value is not None and (not isinstance(value, list | tuple) or bool(value))


def describe_missing(name: str, event: Event, hook: Hook) -> str:
    """Return the message for a template without a value at an event."""
    what = f"{event.name} of {event.tool}" if event.tool else str(event.name)
    text = f"this {what} has no {{{{{name}}}}}, so the command was not run"
    if name.partition(".")[0] not in _OF_FILES:
        return text
    if hook.files or hook.writes or hook.deletes or hook.reads:
        return f"{text}: no file is known that it touches and the hook is for"
    return f"{text}; narrow the hook with `files` or `writes`"
