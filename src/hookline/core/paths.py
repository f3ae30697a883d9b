"""Which files an event names: a file event's path, a commit's files, or those in a tool's arguments. No I/O."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from hookline.core.effects.patches import BEGIN, changes_of
from hookline.model.event import Event, EventName

# what tools call the files they work on
_PATH_KEYS: Final = (
    *("path", "file_path", "filePath", "filename", "file", "notebook_path", "paths", "files", "to", "save_to"),
)

FILE_EVENTS: Final = frozenset({EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED})
TOOL_EVENTS: Final = frozenset(
    {EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED, EventName.PERMISSION_REQUEST}
)

# tools that write exactly the files they name
WRITERS: Final = frozenset(
    {
        "write_file",
        "edit_file",
        "multi_edit",
        "insert_text",
        "edit_lines",
        "apply_patch",
        "delete_file",
        "notebook_edit",
    }
)


def named(event: Event) -> tuple[str, ...]:
    """Give the files an event names."""
    if event.name in FILE_EVENTS:
        return tuple(texts([event.data.get("path")]))
    if event.name is EventName.GIT_COMMIT:
        return tuple(texts([event.data.get("files")]))
    return arguments(event.args) if event.tool else ()


def arguments(args: Mapping[str, object]) -> tuple[str, ...]:
    """Give the files in a tool's arguments, those of a patch among them."""
    found = list(texts(args.get(key) for key in _PATH_KEYS))
    for change in changes(args):
        found += texts(change.get(key) for key in _PATH_KEYS)
    patch = args.get("patch")
    if isinstance(patch, str) and (BEGIN in patch or "+++" in patch):
        found += (name for one in changes_of(patch) or () for name in (one.path, one.to) if name)
    return tuple(dict.fromkeys(found))


def changes(args: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Give the changes that a patch was taken apart into."""
    listed = args.get("changes")
    for change in listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ():
        if isinstance(change, Mapping):
            yield change


def texts(values: Iterable[object]) -> Iterator[str]:
    """Give the texts among some values, and those in lists of them."""
    for value in values:
        if isinstance(value, str) and value:
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            yield from (item for item in value if isinstance(item, str) and item)
