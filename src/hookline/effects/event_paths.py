"""List the files that an event names: the path of a file event, the files of a commit, those in the arguments of a tool."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from hookline.effects.patches import BEGIN, parse_changes
from hookline.model.event import Event, EventName

# arguments in which tools take files
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
        *("write_file", "edit_file", "multi_edit", "insert_text", "edit_lines", "notebook_edit"),
        *("apply_patch", "delete_file"),
    }
)


def list_event_paths(event: Event) -> tuple[str, ...]:
    """Return the files that an event names."""
    if event.name in FILE_EVENTS:
        return tuple(find_texts([event.data.get("path")]))
    if event.name is EventName.GIT_COMMIT:
        return tuple(find_texts([event.data.get("files")]))
    return list_argument_paths(event.args) if event.tool else ()


def list_argument_paths(args: Mapping[str, object]) -> tuple[str, ...]:
    """Return the files in the arguments of a tool, those of a patch among them."""
    found = list(find_texts(args[key] for key in _PATH_KEYS if key in args))
    for change in list_changes(args):
        found += find_texts(change[key] for key in _PATH_KEYS if key in change)
    patch = args.get("patch")
    if isinstance(patch, str) and (BEGIN in patch or "+++" in patch):
        found += (name for one in parse_changes(patch) or () for name in (one.path, one.to) if name)
    return tuple(dict.fromkeys(found))


def list_changes(args: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield the changes that a patch was split into."""
    listed = args.get("changes")
    for change in listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ():
        if isinstance(change, Mapping):
            yield change


def find_texts(values: Iterable[object]) -> Iterator[str]:
    """Yield the texts among some values, and those in lists of them."""
    for value in values:
        if isinstance(value, str) and value:
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            yield from (item for item in value if isinstance(item, str) and item)
