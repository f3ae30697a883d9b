"""Which files an event is about, and which a tool call may write. No I/O: a link is not followed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hookline.model.event import Event, EventName

# what tools call the files they work on
_PATH_KEYS: Final = ("path", "file_path", "filePath", "filename", "file", "notebook_path", "paths", "files", "to")

_FILE_EVENTS: Final = frozenset({EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED})
_TOOL_EVENTS: Final = frozenset(
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
# Tools that never write a file of the project. Every other tool is opaque: a shell, a server or a subagent may
# write anything, and so may a tool nobody has heard of.
READERS: Final = frozenset(
    {
        "read_file",
        "read_files",
        "list_dir",
        "glob",
        "grep",
        "mcp_resource",
        "web_search",
        "todo",
        "ask_user",
        "plan_mode",
        "tool_search",
    }
)


def named(event: Event) -> tuple[str, ...]:
    """Give the files an event names: a file event's path, a commit's files, or those in a tool's arguments."""
    if event.name in _FILE_EVENTS:
        return tuple(_texts([event.data.get("path")]))
    if event.name is EventName.GIT_COMMIT:
        return tuple(_texts([event.data.get("files")]))
    return _arguments(event.args) if event.tool else ()


def written(event: Event) -> tuple[str, ...] | None:
    """Give the files that are written at an event: none for a tool that only reads, None where nobody can know."""
    if event.name in _FILE_EVENTS:
        return named(event)
    if event.name not in _TOOL_EVENTS or event.tool in READERS:
        return ()
    if event.tool not in WRITERS:
        return None
    # a writing tool whose file is not where we look for it may write any file
    return _arguments(event.args) or None


def _arguments(args: Mapping[str, object]) -> tuple[str, ...]:
    found = list(_texts(args.get(key) for key in _PATH_KEYS))
    changes = args.get("changes")
    for change in changes if isinstance(changes, Sequence) else ():
        if isinstance(change, Mapping):
            found += _texts(change.get(key) for key in _PATH_KEYS)
    return tuple(dict.fromkeys(found))


def _texts(values: Iterable[object]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str) and value:
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            yield from (item for item in value if isinstance(item, str) and item)
