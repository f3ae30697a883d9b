"""Kiro's tools: `fs_write` is several of ours by its verb, and `fs_read` a list of things to look at."""

from collections.abc import Callable, Mapping
from typing import Final

from hookline import wire
from hookline.dialects._tools import ONE_URL, Change, Row, toolbox

_READ: Final = ("fs_read", "read")
_WRITE: Final = ("fs_write", "write")
# what one operation of `fs_read` may say
_OPERATION: Final = ("mode", "path", "start_line", "end_line", "pattern", "context_lines", "depth", "image_paths")


def _verb(*verbs: str) -> Callable[[Mapping[str, object]], bool]:
    return lambda args: args.get("command") in verbs


def _said(verb: str) -> Change:
    """Say the verb of a call."""
    return Change(
        lambda args: {"command": verb, **args}, lambda args: {key: args[key] for key in args if key != "command"}
    )


def _write_to_native(args: dict[str, object]) -> dict[str, object]:
    appends = args.get("mode") == "append"
    key = "new_str" if appends else "file_text"
    native = {key if name == "content" else name: args[name] for name in args if not appends or name != "mode"}
    return {"command": "append" if appends else "create", **native}


def _write_to_canonical(args: dict[str, object]) -> dict[str, object]:
    appends = args.get("command") == "append"
    key = "new_str" if appends else "file_text"
    ours = {"content" if name == key else name: args[name] for name in args if name != "command"}
    return {**ours, "mode": "append"} if appends else ours


def _operations(args: Mapping[str, object]) -> list[Mapping[str, object]]:
    found = args.get("operations")
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def _is_one(*modes: str) -> Callable[[Mapping[str, object]], bool]:
    """Tell whether a call looks at one thing only, in one of these ways."""

    def is_it(args: Mapping[str, object]) -> bool:
        match _operations(args):
            case [operation]:
                return str(operation.get("mode", "Line")).casefold() in modes
            case _:
                return False

    return is_it


def _one_operation(mode: str) -> Change:
    def to_native(args: dict[str, object]) -> dict[str, object]:
        operation: dict[str, object] = {"mode": mode, **{key: args[key] for key in _OPERATION if key in args}}
        first, count = args.get("offset"), args.get("limit")
        if isinstance(first, int):
            operation["start_line"] = first
        if isinstance(count, int):
            operation["end_line"] = (first if isinstance(first, int) else 1) + count - 1
        rest = {key: args[key] for key in args if key not in {*_OPERATION, "offset", "limit"}}
        return {"operations": [operation], **rest}

    def to_canonical(args: dict[str, object]) -> dict[str, object]:
        match _operations(args):
            case [operation]:
                rest = {key: args[key] for key in args if key != "operations"}
                return {**rest, **_lines(dict(operation))}
            case _:
                return args

    return Change(to_native, to_canonical)


def _lines(operation: dict[str, object]) -> dict[str, object]:
    """Count lines as we do, where they are counted from the beginning."""
    first, last = operation.get("start_line"), operation.get("end_line")
    if isinstance(first, int) and first > 0:
        operation["offset"] = operation.pop("start_line")
        if isinstance(last, int) and last >= first:
            operation["limit"] = last - first + 1
            del operation["end_line"]
    return operation


def _paths(args: Mapping[str, object]) -> list[object]:
    """List every file that a call looks at."""
    paths: list[object] = []
    for operation in _operations(args):
        images = operation.get("image_paths")
        paths += [operation["path"]] if "path" in operation else []
        paths += images if isinstance(images, list) else []
    return paths


def _paths_to_operations(args: dict[str, object]) -> dict[str, object]:
    paths = args.get("paths")
    if not isinstance(paths, list):
        return args
    rest = {key: args[key] for key in args if key != "paths"}
    if "operations" in args and wire.dump(_paths(args)) == wire.dump(paths):
        return rest
    return {**rest, "operations": [{"mode": "Line", "path": path} for path in paths]}


def _operations_to_paths(args: dict[str, object]) -> dict[str, object]:
    """Name the files beside what is said of each."""
    return {**args, "paths": _paths(args)} if "operations" in args and "paths" not in args else args


TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("execute_bash", "shell"), keys={"cwd": "working_dir"}),
        Row(tool="grep", names=("grep",)),
        Row(
            tool="read_files",
            names=_READ,
            changes=(Change(_paths_to_operations, _operations_to_paths),),
        ),
        Row(tool="read_file", names=_READ, changes=(_one_operation("Line"),), when=_is_one("line")),
        Row(tool="list_dir", names=_READ, changes=(_one_operation("Directory"),), when=_is_one("directory")),
        Row(tool="grep", names=_READ, changes=(_one_operation("Search"),), when=_is_one("search")),
        Row(
            tool="write_file",
            names=_WRITE,
            changes=(Change(_write_to_native, _write_to_canonical),),
            when=_verb("create", "append"),
        ),
        Row(
            tool="edit_file",
            names=_WRITE,
            keys={"old": "old_str", "new": "new_str"},
            changes=(_said("str_replace"),),
            when=_verb("str_replace"),
        ),
        Row(
            tool="insert_text",
            names=_WRITE,
            keys={"line": "insert_line", "text": "new_str"},
            changes=(_said("insert"),),
            when=_verb("insert"),
        ),
        Row(tool="glob", names=("glob",)),
        Row(tool="web_fetch", names=("web_fetch",), changes=(ONE_URL,)),
        Row(tool="web_search", names=("web_search",)),
        Row(tool="subagent", names=("use_subagent", "delegate")),
        Row(tool="todo", names=("todo_list",)),
    )
)
