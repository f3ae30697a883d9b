"""cli-agent's hook files, one hook each: `{"matcher": …, "command": …}` in `pre-NAME.json` or `.yaml`.

The event follows from how the file's name starts, or from `type`. A file with `{"hooks": {Event: […]}}` is grouped.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from msgspec.structs import replace

from hookline.config.document import Document, Problem
from hookline.config.formats import grouped
from hookline.config.keys import RUNNERS, SCHEMA_KEY, SHARED, Key, describe, text
from hookline.config.reader import FileOrigin, FileReader
from hookline.model.hook import Hook
from hookline.model.names import resolve_events
from hookline.text import quote

KEYS: Final[Mapping[str, Key]] = {
    **SHARED,
    **{name: key for name, key in RUNNERS.items() if name in {"command", "args", "working_directory"}},
    "type": Key(text, vital=True, about="The event, where the file's name does not tell it."),
    **SCHEMA_KEY,
}
# how the names of files start, by event
PREFIXES: Final[Mapping[str, tuple[str, ...]]] = {
    "PreToolUse": ("pre-", "before-"),
    "PostToolUse": ("post-", "after-"),
    "Notification": ("notify-", "notification-"),
    "Stop": ("stop-", "end-", "finish-"),
}
# people comment JSON with keys like "_description"
COMMENT: Final = "_"
# what `type` says in the grouped format, and says nothing here
_KIND: Final = "command"


def matches(document: object) -> bool:
    """Return whether a document may have this shape."""
    return isinstance(document, Mapping)


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read the hook of one file."""
    if isinstance(document.value, Mapping) and "hooks" in document.value:
        return grouped.read(document, origin=replace(origin, format="grouped"))
    reader = FileReader(document, origin)
    if not isinstance(document.value, Mapping):
        reader.error((), f"wanted an object with a command, got {describe(document.value)}")
        return [], reader.problems
    entry = {str(key): value for key, value in document.value.items() if not str(key).startswith(COMMENT)}
    stem = PurePath(origin.path).stem
    owner = f"hook {quote(stem)}"
    # the event is stated, or follows from how the file's name starts
    stated = str(entry.get("type", _KIND))
    by_name = (name for name, prefixes in PREFIXES.items() if stem.lower().startswith(prefixes))
    event = stated if stated != _KIND else next(by_name, "")
    with reader.reading_hook({"id": stem, **entry}, (), on=resolve_events(event)):
        values = reader.read_keys(entry, KEYS, (), owner=owner)
        if values is not None and not values.get("command"):
            reader.error((), f'{owner} has no "command"; the hook is not loaded')
        elif values is not None and not event:
            known = ", ".join(f"{prefixes[0]} ({name})" for name, prefixes in PREFIXES.items())
            reader.error((), f'{owner} says no event: let the name of its file start with {known}, or give it a "type"')
        elif values is not None and (on := reader.resolve_events((event,), ("type",), dialect=origin.dialect)):
            reader.add_hook({"id": stem, **values, "on": on}, (), keys=KEYS, event=event)
    return reader.hooks, reader.problems
