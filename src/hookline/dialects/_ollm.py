"""The tools of OLLM CLI, which three of its documents share."""

from typing import Final

from hookline.dialects._tools import LINES, ONE_EDIT, ONE_URL, OVERWRITE, TIMEOUT_MS, Row, edits

_EDITS: Final = edits({"old": "target", "new": "replacement"})

ROWS: Final = (
    Row(tool="shell", names=("shell",), changes=(TIMEOUT_MS,)),
    Row(tool="read_file", names=("read_file", "read-file"), changes=(LINES,)),
    Row(tool="read_files", names=("read_many_files", "read-many-files"), changes=(LINES,)),
    Row(tool="write_file", names=("write_file", "write-file"), changes=(OVERWRITE,)),
    Row(tool="multi_edit", names=("edit_file", "edit-file"), changes=(_EDITS,)),
    # Its one editing tool takes a list of edits, so an edit of ours is said as a list of one.
    Row(tool="edit_file", names=("edit_file", "edit-file"), changes=(ONE_EDIT, _EDITS)),
    Row(tool="list_dir", names=("ls",)),
    Row(tool="glob", names=("glob",), keys={"path": "directory"}),
    Row(tool="grep", names=("grep",), keys={"path": "directory", "include": "filePattern"}),
    Row(tool="web_fetch", names=("web_fetch", "web-fetch"), changes=(ONE_URL,)),
    Row(tool="web_search", names=("web_search", "web-search")),
    Row(tool="todo", names=("write_todos", "write-todos")),
)

# the protocol's own text spells its tools with a dash
DASHED_ROWS: Final = tuple(
    Row(tool=row.tool, names=row.names[::-1], keys=row.keys, changes=row.changes) for row in ROWS
)
