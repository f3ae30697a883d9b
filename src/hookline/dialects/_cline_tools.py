"""Cline's tools, those of its program and those of its older extension: texts that are lists, and lists that are texts."""

from collections.abc import Mapping
from typing import Final

from hookline.dialects import _mcp
from hookline.dialects._calls import PLAIN
from hookline.dialects._tools import ONE_URL, Change, Row, toolbox

# arguments that are lists or objects, and come as JSON in a text
STRUCTURED: Final = frozenset({"commands", "files", "requests", "queries", "arguments"})

_EDIT: Final = {"old": "old_text", "new": "new_text"}


def _line(command: object) -> str:
    """Give one command as a line: it may be a text, or a program with its words."""
    if not isinstance(command, Mapping):
        return _mcp.written(command)
    words = command.get("args")
    spoken = [command.get("command"), *(words if isinstance(words, list) else ())]
    return " ".join(_mcp.written(word) for word in spoken if word is not None)


def _commands_to_command(args: dict[str, object]) -> dict[str, object]:
    """Put all commands of a call into one text, a line each; the call may be nothing but its commands."""
    key = "commands" if "commands" in args else PLAIN
    if key not in args or "command" in args:
        return args
    found = _mcp.parsed(args[key])
    lines = [_line(item) for item in found] if isinstance(found, list) else [_line(found)]
    return {"command": "\n".join(lines), **{name: args[name] for name in args if name != key}}


def _command_to_commands(args: dict[str, object]) -> dict[str, object]:
    command = args.get("command")
    if not isinstance(command, str) or "commands" in args:
        return args
    return {"commands": [command], **{key: args[key] for key in args if key != "command"}}


def _listed(key: str, ours: str, part: str) -> Change:
    """Take one part out of each item of a list, where we have a list of these."""

    def to_native(args: dict[str, object]) -> dict[str, object]:
        values = args.get(ours)
        if not isinstance(values, list):
            return args
        rest = {name: args[name] for name in args if name != ours}
        return rest if values == _parts(args.get(key)) else {**rest, key: [{part: value} for value in values]}

    def to_canonical(args: dict[str, object]) -> dict[str, object]:
        spoken = key if key in args else PLAIN
        values = _parts(args.get(spoken))
        if not values or ours in args:
            return args
        return {**args, ours: values}

    def _parts(said: object) -> list[object]:
        found = _mcp.parsed(said)
        items = found if isinstance(found, list) else [] if found is None else [found]
        return [item.get(part) if isinstance(item, Mapping) else item for item in items]

    return Change(to_native, to_canonical)


TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("execute_command",)),
        Row(
            tool="shell",
            names=("run_commands",),
            changes=(Change(_command_to_commands, _commands_to_command),),
        ),
        Row(tool="read_file", names=("read_file",)),
        Row(tool="read_files", names=("read_files",), changes=(_listed("files", "paths", "path"),)),
        Row(tool="write_file", names=("write_to_file", "new_rule")),
        # without an old text a file is written, or a line put into it
        Row(tool="edit_file", names=("editor",), keys=_EDIT, when=lambda args: bool(args.get("old_text"))),
        Row(
            tool="insert_text",
            names=("editor",),
            keys={"text": "new_text", "line": "insert_line"},
            when=lambda args: not args.get("old_text") and "insert_line" in args,
        ),
        Row(
            tool="write_file",
            names=("editor",),
            keys={"content": "new_text"},
            when=lambda args: not args.get("old_text") and "insert_line" not in args,
        ),
        Row(tool="multi_edit", names=("replace_in_file",)),
        Row(tool="apply_patch", names=("apply_patch",), keys={"patch": PLAIN}),
        Row(tool="list_dir", names=("list_files",)),
        Row(tool="grep", names=("search_files",), keys={"pattern": "regex", "include": "file_pattern"}),
        Row(tool="grep", names=("search_codebase",)),
        Row(tool="web_fetch", names=("web_fetch",), changes=(ONE_URL,)),
        Row(tool="web_fetch", names=("fetch_web_content",), changes=(_listed("requests", "urls", "url"),)),
        Row(tool="web_search", names=("web_search",)),
        Row(tool="subagent", names=("new_task",), keys={"prompt": "context"}),
        Row(tool="skill", names=("skills",), keys={"name": "skill"}),
        Row(tool="ask_user", names=("ask_question", "ask_followup_question")),
        Row(tool="todo", names=("focus_chain",)),
    )
)
