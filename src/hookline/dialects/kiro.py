"""Kiro, its command line and its editor: flat documents in snake_case, and answers of an exit code and plain text.

Hooks in an agent's file (`preToolUse`) and hooks in files of their own (`PreToolUse`) get the same document, but their answers can do
different things: the name that the hook is called with distinguishes them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from hookline import json_codec
from hookline.dialects import _codec, _tools
from hookline.dialects._codec import TOOL_EVENTS, AgentCodec, EventNames, EventTable, Field, agent_spec, field_maps
from hookline.dialects._json_reader import JsonReader
from hookline.dialects._reply_codec import encode_exit_code, read_exit_code
from hookline.dialects._tools import NO_CALL, ONE_URL, ArgsCodec, DecodedCall, tool_map, tool_row, without
from hookline.model.dialect import MatcherStyle
from hookline.model.event import Ability, Event, EventName, Session
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Outcome, Verdict

_NAME: Final = "kiro"
_READER: Final = JsonReader(_NAME)

# tools: `fs_write` is several canonical tools by its verb, and `fs_read` a list of things to read

# the keys of one operation of `fs_read`
_OPERATION: Final = ("mode", "path", "start_line", "end_line", "pattern", "context_lines", "depth", "image_paths")


def _verb(*verbs: str) -> Callable[[Mapping[str, object]], bool]:
    return lambda args: args.get("command") in verbs


def _with_verb(verb: str) -> ArgsCodec:
    return ArgsCodec(lambda args: {"command": verb, **args}, lambda args: without(args, "command"))


def _write_to_native(args: dict[str, object]) -> dict[str, object]:
    appends = args.get("mode") == "append"
    key = "new_str" if appends else "file_text"
    native = {key if name == "content" else name: args[name] for name in args if not appends or name != "mode"}
    return {"command": "append" if appends else "create", **native}


def _write_to_canonical(args: dict[str, object]) -> dict[str, object]:
    appends = args.get("command") == "append"
    key = "new_str" if appends else "file_text"
    canonical = {"content" if name == key else name: value for name, value in without(args, "command").items()}
    return {**canonical, "mode": "append"} if appends else canonical


def _operations(args: Mapping[str, object]) -> list[Mapping[str, object]]:
    items = args.get("operations")
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _is_one(mode: str) -> Callable[[Mapping[str, object]], bool]:
    """Return a test whether a call has one operation, in this mode."""
    return lambda args: [str(item.get("mode", "Line")).casefold() for item in _operations(args)] == [mode]


def _one_operation(mode: str) -> ArgsCodec:
    def to_native(args: dict[str, object]) -> dict[str, object]:
        operation: dict[str, object] = {"mode": mode, **{key: args[key] for key in _OPERATION if key in args}}
        first, count = args.get("offset"), args.get("limit")
        if isinstance(first, int):
            operation["start_line"] = first
        if isinstance(count, int):
            operation["end_line"] = (first if isinstance(first, int) else 1) + count - 1
        return {"operations": [operation], **without(args, *_OPERATION, "offset", "limit")}

    def to_canonical(args: dict[str, object]) -> dict[str, object]:
        operations = _operations(args)
        if len(operations) != 1:
            return args
        operation = dict(operations[0])
        first, last = operation.get("start_line"), operation.get("end_line")
        # a range that is counted from the end stays unchanged
        if isinstance(first, int) and first > 0:
            operation["offset"] = operation.pop("start_line")
            if isinstance(last, int) and last >= first:
                operation["limit"] = last - first + 1
                del operation["end_line"]
        return {**without(args, "operations"), **operation}

    return ArgsCodec(to_native, to_canonical)


def _paths(args: Mapping[str, object]) -> list[object]:
    """Return every file that a call reads."""
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
    rest = without(args, "paths")
    if "operations" in args and json_codec.dump(_paths(args)) == json_codec.dump(paths):
        return rest
    return {**rest, "operations": [{"mode": "Line", "path": path} for path in paths]}


_PATHS: Final = ArgsCodec(
    _paths_to_operations,
    lambda args: {**args, "paths": _paths(args)} if "operations" in args and "paths" not in args else args,
)

TOOLS: Final = tool_map(
    tool_row("shell", "execute_bash shell", keys="cwd=working_dir"),
    tool_row("grep", "grep"),
    tool_row("read_files", "fs_read read", codecs=(_PATHS,)),
    tool_row("read_file", "fs_read read", codecs=(_one_operation("Line"),), when=_is_one("line")),
    tool_row("list_dir", "fs_read read", codecs=(_one_operation("Directory"),), when=_is_one("directory")),
    tool_row("grep", "fs_read read", codecs=(_one_operation("Search"),), when=_is_one("search")),
    tool_row(
        "write_file",
        "fs_write write",
        codecs=(ArgsCodec(_write_to_native, _write_to_canonical),),
        when=_verb("create", "append"),
    ),
    tool_row(
        "edit_file",
        "fs_write write",
        keys="old=old_str new=new_str",
        codecs=(_with_verb("str_replace"),),
        when=_verb("str_replace"),
    ),
    tool_row(
        "insert_text",
        "fs_write write",
        keys="line=insert_line text=new_str",
        codecs=(_with_verb("insert"),),
        when=_verb("insert"),
    ),
    tool_row("glob", "glob"),
    tool_row("web_fetch", "web_fetch", codecs=(ONE_URL,)),
    tool_row("web_search", "web_search"),
    tool_row("subagent", "use_subagent delegate"),
    tool_row("todo", "todo_list"),
)

# what an answer can do


_EVENTS: Final[EventTable] = {
    # in an agent's file
    "agentSpawn": ("context", EventName.SESSION_START),
    "userPromptSubmit": ("context", EventName.BEFORE_AGENT),
    "preToolUse": ("block", EventName.BEFORE_TOOL),
    "postToolUse": ("", EventName.AFTER_TOOL),
    "stop": ("", EventName.AFTER_AGENT),
    # in files of their own
    "SessionStart": ("context", EventName.SESSION_START),
    "AgentSpawn": ("context", EventName.SESSION_START),
    "SessionEnd": ("", EventName.SESSION_END),
    "UserPromptSubmit": ("block context", EventName.BEFORE_AGENT),
    "PreToolUse": ("block context", EventName.BEFORE_TOOL),
    "PostToolUse": ("context", EventName.AFTER_TOOL),
    # its documentation contradicts itself on whether an answer can send it back to work: nothing is promised
    "Stop": ("", EventName.AFTER_AGENT),
    "PostFileCreate": ("context", EventName.FILE_CREATED),
    "PostFileSave": ("context", EventName.FILE_EDITED),
    "PostFileDelete": ("context", EventName.FILE_DELETED),
    "PreTaskExec": ("block context",),
    "PostTaskExec": ("context",),
}

SPEC: Final = agent_spec(
    _NAME,
    "Kiro",
    events=_EVENTS,
    tools=TOOLS,
    # a guard of `fs_write` has to see every way to change a file
    matched=(
        "multi_edit=fs_write,write edit_lines=fs_write,write apply_patch=fs_write,write "
        "notebook_edit=fs_write,write delete_file=fs_write,write"
    ),
    timeout=30.0,
    matcher=MatcherStyle.REGEX,
    aliases=("kiro-cli",),
    mcp="@{server}/{tool}",
)

_RESULT: Final = (Field("result", "tool_response"),)
_CODEC: Final = AgentCodec(
    spec=SPEC,
    # a failed tool is one that ran, and its response contains the failure
    names=EventNames({**SPEC.events, EventName.TOOL_FAILED: "postToolUse"}, more=SPEC.more_events),
    tools=TOOLS,
    field_maps=field_maps(
        {
            EventName.AFTER_TOOL: _RESULT,
            EventName.TOOL_FAILED: _RESULT,
            EventName.AFTER_AGENT: (Field("response", "assistant_response"),),
            **dict.fromkeys(_codec.FILE_EVENTS, (Field("path", "file_path"),)),
        },
        taken=("hook_event_name", "session_id", "cwd", "tool_name", "tool_input"),
    ),
)


# events


def encode_event(event: Event, hook: Hook) -> Request:
    """Return the request for a hook of this dialect."""
    native = _CODEC.native_name(event, hook.native_event)
    # variables of the editor's older hooks
    env = _codec.fit_environment({"USER_PROMPT": event.data.get("prompt"), "KIRO_HOOK_FILE": event.data.get("path")})
    return Request(event=event, later=partial(_write_event, event, native), env=env, native=native)


def _write_event(event: Event, native: str) -> dict[str, object]:
    # documents have the name with a small first letter, wherever the hook is configured
    name = native[:1].lower() + native[1:] if native in SPEC.abilities else native
    document: dict[str, object] = {"hook_event_name": name, "cwd": event.cwd}
    if event.session.id:
        document["session_id"] = event.session.id
    # calls that Kiro collected until the end of a turn are only in the list
    if (event.tool or event.name in TOOL_EVENTS) and not (event.host == _NAME and "hook_events" in event.data):
        document["tool_name"], document["tool_input"] = _CODEC.encode_call(event)
    data = dict(event.data)
    if event.name is EventName.TOOL_FAILED:
        error = data.pop("error", None)
        if event.host != _NAME or "result" not in data:
            data["result"] = {"success": False, "result": [error or _codec.NO_MESSAGE]}
    elif event.name is EventName.AFTER_TOOL and ("result" in data or event.host != _NAME):
        data["result"] = _wrap_result(data.get("result"))
    return _CODEC.write_data(event, document, data)


def _wrap_result(result: object) -> object:
    """Return a result as one of several in a successful response, as documents have it."""
    is_response = isinstance(result, Mapping) and "success" in result
    return result if is_response else {"success": True, "result": [result]}


def decode_event(raw: bytes, name: str = "") -> Event:
    """Return the event of a document of Kiro."""
    document = _READER.load_object(raw)
    native = _READER.pop_text(document, "hook_event_name")
    capital = native[:1].upper() + native[1:]
    if name in SPEC.abilities and native.casefold() in {"", name.casefold()}:
        # the name that the hook was called with, where the document has the same
        native = name
    elif native not in SPEC.abilities and capital in SPEC.abilities:
        native = capital
    native = _CODEC.read_name(native, name, where="hook_event_name")
    canonical = _CODEC.names.decode(native, document)
    match document.get("tool_response"):
        case {"success": False} if canonical is EventName.AFTER_TOOL:
            canonical = EventName.TOOL_FAILED
    cwd = _READER.pop_text(document, "cwd")
    session = Session(id=_READER.pop_text(document, "session_id"))
    call = _read_call(canonical, document, cwd=cwd)
    data = _CODEC.field_maps(canonical).read(document, "", _READER)
    if canonical is EventName.TOOL_FAILED and "error" not in data:
        response = data.get("result")
        result = response.get("result") if isinstance(response, Mapping) else None
        parts = result if isinstance(result, list) else [result] if result else []
        data["error"] = "\n".join(_tools.to_text(part) for part in parts) or _codec.NO_MESSAGE
    elif canonical is EventName.AFTER_TOOL:
        match data.get("result"):
            case {"success": True, "result": [result], **more} if not more and _wrap_result(result) is not result:
                data["result"] = result
    return _CODEC.build_event(canonical, native, data, call=call, session=session, cwd=cwd)


def _read_call(name: EventName, document: dict[str, object], *, cwd: str) -> DecodedCall:
    collected = document.get("hook_events")
    first = collected[0] if isinstance(collected, list) and collected else None
    if "tool_name" not in document and isinstance(first, dict):
        # the first of several calls represents them, and all of them are among the data
        tool, native_args = first.get("tool_name"), first.get("tool_input")
    elif "tool_name" not in document and name not in TOOL_EVENTS:
        return NO_CALL
    else:
        tool, native_args = document.pop("tool_name", None), document.pop("tool_input", None)
    native = _READER.require_text(tool, "tool_name")
    server, _, name_there = native.removeprefix("@").partition("/") if native.startswith("@") else ("", "", "")
    return _CODEC.decode_call(native, native_args, cwd=cwd, server=server, tool=name_there)


# answers


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Return the verdict of a hook's reply: exit code 2 denies, and text is context where Kiro reads it."""
    return read_exit_code(reply, dialect=_NAME, is_context=_reads_context(request.native))


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for Kiro: the context, a denial, or an empty one."""
    return encode_exit_code(outcome, is_context=_reads_context(_CODEC.native_name(event)))


def _reads_context(native: str) -> bool:
    return Ability.CONTEXT in SPEC.abilities.get(native, ())
