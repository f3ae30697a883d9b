"""The canonical tools: names, purpose and arguments."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class ToolSpec(Struct, frozen=True):
    """What a tool does, and the names of its arguments; "?" marks one that may be missing."""

    does: str
    arguments: tuple[str, ...]


TOOL_SPECS: Final[Mapping[str, ToolSpec]] = {
    "shell": ToolSpec("run a command line", ("command", "cwd?", "timeout?", "background?", "session?")),
    "shell_input": ToolSpec("type into a running program", ("session", "text")),
    "shell_control": ToolSpec("list, read or stop running programs", ("session?",)),
    "code": ToolSpec("run a script inside the agent", ("language?", "source")),
    "read_file": ToolSpec("read one file", ("path", "offset?", "limit?", "pages?")),
    "read_files": ToolSpec("read several files", ("paths",)),
    "write_file": ToolSpec("write a whole file", ("path", "content", "mode?")),
    "edit_file": ToolSpec("replace text in a file", ("path", "old", "new", "replace_all?")),
    "multi_edit": ToolSpec("replace several texts in a file", ("path", "edits")),
    "insert_text": ToolSpec("insert text at a line", ("path", "line", "text")),
    "edit_lines": ToolSpec("replace lines of a file", ("path", "first", "last", "text")),
    "apply_patch": ToolSpec("add, change, move and delete files by a patch", ("patch",)),
    "delete_file": ToolSpec("delete files", ("paths",)),
    "notebook_edit": ToolSpec("change a cell of a notebook", ("path", "cell?", "source?", "mode?", "cell_type?")),
    "list_dir": ToolSpec("list a folder", ("path", "ignore?")),
    "glob": ToolSpec("find files by name", ("pattern", "path?")),
    "grep": ToolSpec("find text in files", ("pattern", "path?", "include?")),
    "web_fetch": ToolSpec("fetch pages", ("urls", "prompt?", "save_to?")),
    "web_search": ToolSpec("search the web", ("query", "domains?")),
    "mcp_resource": ToolSpec("list or read resources of an MCP server", ("server?", "uri?")),
    "subagent": ToolSpec("start another agent", ("prompt", "type?", "background?", "cwd?")),
    "agent_message": ToolSpec("write to another agent", ("target", "text")),
    "schedule": ToolSpec("have the agent act later", ("prompt", "when", "recurring?")),
    "worktree": ToolSpec("make or leave a git worktree", ("action?", "name?", "path?")),
    "skill": ToolSpec("load instructions", ("name", "args?")),
    "todo": ToolSpec("keep the list of tasks", ("items",)),
    "ask_user": ToolSpec("ask the person", ("questions",)),
    "plan_mode": ToolSpec("begin or end planning", ("action?", "plan?")),
    "tool_search": ToolSpec("look for further tools", ("query",)),
}
TOOLS: Final = frozenset(TOOL_SPECS)

# the tools that read and that change files
READING: Final = ("read_file", "read_files", "list_dir", "glob", "grep")
WRITING: Final = (
    *("write_file", "edit_file", "multi_edit", "insert_text", "edit_lines"),
    *("apply_patch", "delete_file", "notebook_edit"),
)

# before the name of a tool that is none of the table, though it may be called like one of it
OTHER: Final = "other:"
