"""Copilot CLI's tools: its own names first, then those it uses for the same tools in its other form."""

from collections.abc import Mapping
from typing import Final

from hookline.dialects._calls import PLAIN
from hookline.dialects._tools import ONE_URL, Change, Reshape, Row, toolbox

_END: Final = -1


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _range_to_native(args: dict[str, object]) -> dict[str, object]:
    if "view_range" in args or not {"offset", "limit"} & args.keys():
        return args
    first, count = _whole(args.get("offset", 1)), _whole(args.get("limit", _END))
    if first < 1 or (count < 1 and count != _END):
        return args
    rest = {key: value for key, value in args.items() if key not in {"offset", "limit"}}
    return {**rest, "view_range": [first, _END if count == _END else first + count - 1]}


def _range_to_canonical(args: dict[str, object]) -> dict[str, object]:
    match args.get("view_range"):
        case [int(first), int(last)] if first >= 1 and (last >= first or last == _END):
            rest = {key: value for key, value in args.items() if key != "view_range"}
            return {**rest, "offset": first, **({} if last == _END else {"limit": last - first + 1})}
        case _:
            return args


def _background(word: str) -> Change:
    """Say in the mode whether something runs beside the conversation."""

    def to_native(args: dict[str, object]) -> dict[str, object]:
        beside = args.get("background")
        if not isinstance(beside, bool) or "mode" in args:
            return args
        return {**{k: v for k, v in args.items() if k != "background"}, "mode": word if beside else "sync"}

    def to_canonical(args: dict[str, object]) -> dict[str, object]:
        if args.get("mode") not in (word, "sync") or "background" in args:
            return args
        return {**{k: v for k, v in args.items() if k != "mode"}, "background": args["mode"] == word}

    return Change(to_native, to_canonical)


def _moved(source: str, target: str, kind: type) -> Reshape:
    def reshape(args: dict[str, object]) -> dict[str, object]:
        if not isinstance(args.get(source), kind) or target in args:
            return args
        return {target if key == source else key: value for key, value in args.items()}

    return reshape


def _is_patch(args: Mapping[str, object]) -> bool:
    return isinstance(args.get(PLAIN), str)


# one folder is `path` to us; several stay a list under the tool's own name
_ONE_PATH: Final = Change(_moved("path", "paths", str), _moved("paths", "path", str))
_LINES: Final = Change(_range_to_native, _range_to_canonical)
# where permission is asked, the program calls a file otherwise
_ALSO: Final = {"file_path": "path"}

TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("bash", "powershell"), keys={"session": "shellId"}, changes=(_background("async"),)),
        Row(tool="shell_input", names=("write_bash",), keys={"session": "shellId", "text": "input"}),
        Row(tool="shell_control", names=("read_bash", "stop_bash", "list_bash"), keys={"session": "shellId"}),
        Row(tool="read_file", names=("view", "Read"), changes=(_LINES,), also=_ALSO),
        Row(tool="write_file", names=("create", "Write"), keys={"content": "file_text"}, also=_ALSO),
        # a patch is a plain text, and called like an edit in the other form
        Row(tool="apply_patch", names=("apply_patch",), keys={"patch": PLAIN}),
        Row(tool="apply_patch", names=("edit",), keys={"patch": PLAIN}, when=_is_patch),
        Row(
            tool="edit_file",
            names=("edit", "str_replace_editor"),
            keys={"old": "old_str", "new": "new_str"},
            also=_ALSO,
            when=lambda args: not _is_patch(args),
        ),
        Row(tool="grep", names=("grep", "rg"), keys={"include": "glob"}, changes=(_ONE_PATH,)),
        Row(tool="glob", names=("glob",), changes=(_ONE_PATH,)),
        Row(tool="web_fetch", names=("web_fetch", "WebFetch"), changes=(ONE_URL,)),
        Row(tool="web_search", names=("web_search", "WebSearch")),
        Row(
            tool="subagent",
            names=("task", "Agent"),
            keys={"type": "agent_type"},
            changes=(_background("background"),),
        ),
        Row(tool="agent_message", names=("write_agent",), keys={"target": "agent_id", "text": "message"}),
        Row(tool="skill", names=("skill",), keys={"name": "skill"}),
        Row(tool="todo", names=("update_todo", "TodoWrite"), keys={"items": "todos"}),
        Row(tool="ask_user", names=("ask_user", "AskUserQuestion")),
    )
)

# what the tools are called in documents of the other form; their arguments stay the same
IN_PASCAL: Final[Mapping[str, str]] = {
    "bash": "Bash",
    "powershell": "Bash",
    "view": "Read",
    "create": "Write",
    "edit": "Edit",
    "str_replace_editor": "Edit",
    "apply_patch": "Edit",
    "grep": "Grep",
    "rg": "Grep",
    "glob": "Glob",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "ask_user": "AskUserQuestion",
    "update_todo": "TodoWrite",
    "task": "Agent",
}
