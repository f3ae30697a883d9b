"""cli-agent's hook files, one hook each: `{"matcher": …, "command": …}` in `pre-NAME.json` or `.yaml`.

The event follows from how the file's name starts, or from `type`. A file with `{"hooks": {Event: […]}}` is grouped.
"""

from collections.abc import Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from hookline.config.document import Document
from hookline.config.formats import grouped
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading
from hookline.config.values import RUNNERS, SCHEMA_KEY, SHARED, Key, describe, text
from hookline.config.vocabulary import quoted
from hookline.model.hook import Hook

KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **SHARED,
        **{name: key for name, key in RUNNERS.items() if name in {"command", "args", "working_directory"}},
        "type": Key(text, vital=True, about="The event, where the file's name does not tell it."),
        **SCHEMA_KEY,
    }
)
# how the names of files start, by event
PREFIXES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "PreToolUse": ("pre-", "before-"),
        "PostToolUse": ("post-", "after-"),
        "Notification": ("notify-", "notification-"),
        "Stop": ("stop-", "end-", "finish-"),
    }
)
# people comment JSON with keys like "_description"
COMMENT: Final = "_"
# what `type` says in the grouped format, and says nothing here
_KIND: Final = "command"


def matches(document: object) -> bool:
    """Say whether a document may have this shape."""
    return isinstance(document, Mapping)


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Read the hook of one file."""
    if isinstance(document.value, Mapping) and "hooks" in document.value:
        return grouped.read(document, origin=replace(origin, format="grouped"))
    reading = Reading(document, origin)
    if isinstance(document.value, Mapping):
        _hook(reading, {str(key): value for key, value in document.value.items() if not str(key).startswith(COMMENT)})
    else:
        reading.error((), f"wanted an object with a command, got {describe(document.value)}")
    return reading.hooks, reading.problems


def _hook(reading: Reading, entry: Mapping[str, object]) -> None:
    stem = PurePath(reading.origin.path).stem
    owner = f"hook {quoted(stem)}"
    values = reading.values(entry, KEYS, (), owner=owner)
    if values is None:
        return
    if not values.get("command"):
        reading.error((), f'{owner} has no "command"; the hook is not loaded')
        return
    event = _event(stem, str(values.get("type", _KIND)))
    if not event:
        known = ", ".join(f"{prefixes[0]} ({name})" for name, prefixes in PREFIXES.items())
        reading.error((), f'{owner} says no event: let the name of its file start with {known}, or give it a "type"')
        return
    on = reading.events((event,), ("type",), dialect=reading.origin.dialect)
    if on:
        reading.add({"id": stem, **values, "on": on}, (), keys=KEYS, event=event)


def _event(stem: str, stated: str) -> str:
    if stated != _KIND:
        return stated
    return next((name for name, prefixes in PREFIXES.items() if stem.lower().startswith(prefixes)), "")
