"""Cline: one executable file for each event, a document with an object of the event's own, and an answer that cancels.

Cline ignores the exit code and reads the answer: `{}` is no opinion. The arguments of a tool are texts, also where the tool takes lists
and objects. Its program calls events otherwise on the wire (`tool_call`) than their files (`PreToolUse`).
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec import UNSET

from hookline.dialects import _codec, _reply_codec, _tools
from hookline.dialects._codec import TOOL_EVENTS, AgentCodec, EventNames, EventTable, Field, agent_spec, join_blocks
from hookline.dialects._json_reader import JsonReader, key_set
from hookline.dialects._reply_codec import ReplyRules
from hookline.dialects._tools import NO_CALL, ONE_URL, PLAIN, ArgsCodec, DecodedCall, tool_map, tool_row, without
from hookline.model.dialect import MatcherStyle
from hookline.model.event import Ability, Event, EventName, Session
from hookline.model.exchange import Answer, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "cline"
_READER: Final = JsonReader(_NAME)
_SERVER_TOOL: Final = "use_mcp_tool"
# the longest context that Cline accepts
_LONGEST: Final = 50_000

# tools of its program and of its older extension

# arguments that are lists or objects, sent as JSON in a text
_STRUCTURED: Final = frozenset({"commands", "files", "requests", "queries", "arguments"})


def _command_line(command: object) -> str:
    """Return one command as a line: it may be a text, or a program with its arguments."""
    if not isinstance(command, Mapping):
        return _tools.to_text(command)
    args = command.get("args")
    words = [command.get("command"), *(args if isinstance(args, list) else ())]
    return " ".join(_tools.to_text(word) for word in words if word is not None)


def _commands_to_command(args: dict[str, object]) -> dict[str, object]:
    """Join all commands of a call in one text, a line each; the call may be only its commands."""
    key = "commands" if "commands" in args else PLAIN
    if key not in args or "command" in args:
        return args
    commands = _tools.parse_text(args[key])
    lines = [_command_line(item) for item in (commands if isinstance(commands, list) else [commands])]
    return {"command": "\n".join(lines), **without(args, key)}


def _command_to_commands(args: dict[str, object]) -> dict[str, object]:
    command = args.get("command")
    if not isinstance(command, str) or "commands" in args:
        return args
    return {"commands": [command], **without(args, "command")}


def _list_of_parts(key: str, ours: str, part: str) -> ArgsCodec:
    """Convert a list of objects with one part each to the canonical list of these parts."""

    def to_native(args: dict[str, object]) -> dict[str, object]:
        values = args.get(ours)
        if not isinstance(values, list):
            return args
        rest = without(args, ours)
        return rest if values == read_parts(args.get(key)) else {**rest, key: [{part: value} for value in values]}

    def to_canonical(args: dict[str, object]) -> dict[str, object]:
        values = read_parts(args.get(key if key in args else PLAIN))
        return {**args, ours: values} if values and ours not in args else args

    def read_parts(value: object) -> list[object]:
        parsed = _tools.parse_text(value)
        items = parsed if isinstance(parsed, list) else [] if parsed is None else [parsed]
        return [item.get(part) if isinstance(item, Mapping) else item for item in items]

    return ArgsCodec(to_native, to_canonical)


TOOLS: Final = tool_map(
    tool_row("shell", "execute_command"),
    tool_row("shell", "run_commands", codecs=(ArgsCodec(_command_to_commands, _commands_to_command),)),
    tool_row("read_file", "read_file"),
    tool_row("read_files", "read_files", codecs=(_list_of_parts("files", "paths", "path"),)),
    tool_row("write_file", "write_to_file new_rule"),
    # without an old text it writes a file, or inserts a line
    tool_row("edit_file", "editor", keys="old=old_text new=new_text", when=lambda args: bool(args.get("old_text"))),
    tool_row(
        "insert_text",
        "editor",
        keys="text=new_text line=insert_line",
        when=lambda args: not args.get("old_text") and "insert_line" in args,
    ),
    tool_row(
        "write_file",
        "editor",
        keys="content=new_text",
        when=lambda args: not args.get("old_text") and "insert_line" not in args,
    ),
    tool_row("multi_edit", "replace_in_file"),
    tool_row("apply_patch", "apply_patch", keys="patch=input"),
    tool_row("list_dir", "list_files"),
    tool_row("grep", "search_files", keys="pattern=regex include=file_pattern"),
    tool_row("grep", "search_codebase"),
    tool_row("web_fetch", "web_fetch", codecs=(ONE_URL,)),
    tool_row("web_fetch", "fetch_web_content", codecs=(_list_of_parts("requests", "urls", "url"),)),
    tool_row("web_search", "web_search"),
    tool_row("subagent", "new_task", keys="prompt=context"),
    tool_row("skill", "skills", keys="name=skill"),
    tool_row("ask_user", "ask_question ask_followup_question"),
    tool_row("todo", "focus_chain"),
)

# what an answer can do


# Its program waits for these answers only. A cancel after a tool would end the whole task, which is more than a denial of one
# result, so those are sent as context.
_EVENTS: Final[EventTable] = {
    "TaskStart": ("context", EventName.SESSION_START),
    "TaskResume": ("context", EventName.SESSION_START),
    "TaskCancel": ("",),
    "TaskComplete": ("", EventName.AFTER_AGENT),
    "TaskError": ("", EventName.ERROR),
    "UserPromptSubmit": ("", EventName.BEFORE_AGENT),
    "PreToolUse": ("block ask rewrite_args context", EventName.BEFORE_TOOL),
    "PostToolUse": ("context", EventName.AFTER_TOOL),
    "PreCompact": ("", EventName.PRE_COMPRESS),
    "SessionShutdown": ("", EventName.SESSION_END),
    "Notification": ("", EventName.NOTIFICATION),
}

SPEC: Final = agent_spec(
    _NAME,
    "Cline",
    events=_EVENTS,
    tools=TOOLS,
    timeout=120.0,
    matcher=MatcherStyle.SEARCH,
)

# event names on the wire, by the names of their files
_WIRE: Final = _tools.parse_pairs(
    "TaskStart=agent_start TaskResume=agent_resume TaskCancel=agent_abort TaskComplete=agent_end "
    "TaskError=agent_error PreToolUse=tool_call PostToolUse=tool_result UserPromptSubmit=prompt_submit "
    "PreCompact=pre_compact SessionShutdown=session_shutdown"
)
_FILES: Final = {wire: file for file, wire in _WIRE.items()}
_SOURCES: Final = {"TaskStart": "startup", "TaskResume": "resume"}

_DURATION: Final = Field("duration", "postToolUse.executionTimeMs", in_ms=True)
_OBJECTS: Final = {
    "preToolUse": frozenset({"toolName", "parameters"}),
    "postToolUse": frozenset({"toolName", "parameters", "success"}),
}
_CODEC: Final = AgentCodec(
    spec=SPEC,
    # a failed tool is one that ran without success
    names=EventNames({**SPEC.events, EventName.TOOL_FAILED: "PostToolUse"}, more=SPEC.more_events),
    tools=TOOLS,
    has_iso_time=True,
    field_maps=_codec.field_maps(
        {
            EventName.AFTER_TOOL: (Field("result", "postToolUse.result"), _DURATION),
            EventName.TOOL_FAILED: (Field("error", "postToolUse.result"), _DURATION),
            EventName.BEFORE_AGENT: (Field("prompt", "userPromptSubmit.prompt"),),
            EventName.ERROR: (
                Field("error", "error.message"),
                Field("error_type", "error.name"),
                Field("error_stack", "error.stack"),
            ),
        },
        taken=("clineVersion", "hookName", "taskId", "cwd", "model"),
        objects=_OBJECTS,
    ),
)


# events


def encode_event(event: Event, hook: Hook) -> Request:
    """Return the request for a hook of this dialect."""
    native = _CODEC.native_name(event, hook.native_event)
    return Request(event=event, later=partial(_write_event, event, native), native=native)


def _write_event(event: Event, native: str) -> dict[str, object]:
    data = dict(event.data)
    is_own = event.host == _NAME
    wire = data.pop("hookName", None) if is_own else None
    document: dict[str, object] = {
        "clineVersion": data.pop("clineVersion", "") if is_own else "",
        "hookName": wire or _WIRE.get(native, native),
        "taskId": event.session.id,
    }
    if event.session.model:
        document["model"] = event.session.model
    if not is_own:
        document.update(workspaceRoots=[event.cwd] if event.cwd else [], userId="", agent_id="", parent_agent_id=None)
    if event.tool or event.name in TOOL_EVENTS:
        name, args = _encode_call(event)
        body: dict[str, object] = {"toolName": name, "parameters": args}
        has_run = event.name in {EventName.AFTER_TOOL, EventName.TOOL_FAILED}
        if has_run:
            body["success"] = event.name is EventName.AFTER_TOOL
        document["postToolUse" if has_run else "preToolUse"] = body
    if data.get("source") == _SOURCES.get(native, UNSET):
        del data["source"]
    if "tool_call" in data and is_own:
        data.pop("call_id", None)
    return _CODEC.write_data(event, document, data)


def _encode_call(event: Event) -> tuple[str, object]:
    """Return the tool and its arguments, each of them a text."""
    name, args = _CODEC.encode_call(event)
    parts = _tools.split_name(event.tool)
    if event.host == _NAME and event.native_args is not None:
        return (event.native_tool or name, _encode_server_args(event, event.args)) if parts else (name, args)
    if parts:
        server = {"server_name": parts[0], "tool_name": parts[1], "arguments": _tools.to_text(dict(event.args))}
        return _SERVER_TOOL, server
    return name, {key: _tools.to_text(value) for key, value in args.items()} if isinstance(args, Mapping) else args


def _encode_server_args(event: Event, args: Mapping[str, object]) -> object:
    """Return a server's arguments where Cline has them, as a text if they came as one."""
    native = event.native_args
    if event.native_tool != _SERVER_TOOL or not isinstance(native, Mapping):
        return dict(args)
    before = native.get("arguments")
    if _read_server_args(before) == args:
        return native
    changed = _tools.to_same_text(dict(args), text=before) if isinstance(before, str) else dict(args)
    return {**native, "arguments": changed}


def _read_server_args(native_args: object) -> dict[str, object]:
    args = _tools.parse_text(native_args)
    return args if isinstance(args, dict) else {} if args in (None, "") else {PLAIN: args}


def decode_event(raw: bytes, name: str = "") -> Event:
    """Return the event of a document of Cline."""
    document = _READER.load_object(raw)
    wire = _READER.pop_text(document, "hookName")
    native = _CODEC.read_name(_FILES.get(wire, wire), name, where="hookName")
    key = next((key for key in _OBJECTS if key in document), "")
    body = dict(_READER.read_object(document.pop(key, None), key))
    canonical = _CODEC.names.decode(native, document)
    if native == "PostToolUse":
        canonical = EventName.TOOL_FAILED if body.get("success") is False else EventName.AFTER_TOOL
    cwd = ""
    match document.get("workspaceRoots"):
        case [str(root), *_]:
            cwd = root
    call = _read_call(body, cwd=cwd) if "toolName" in body or canonical in TOOL_EVENTS else NO_CALL
    session = Session(id=_READER.pop_text(document, "taskId"), model=_READER.pop_text(document, "model"))
    timestamp = _READER.take_time(document, "timestamp")
    if key and body:
        document[key] = body
    data = _CODEC.field_maps(canonical).read(document, "", _READER)
    # data that hooks of other agents expect
    if canonical is EventName.TOOL_FAILED and not data.get("error"):
        data["error"] = _codec.NO_MESSAGE
    if canonical is EventName.SESSION_START and native in _SOURCES:
        data.setdefault("source", _SOURCES[native])
    match data.get("tool_call"):
        case {"id": str(call_id)}:
            data.setdefault("call_id", call_id)
    if wire and wire != _WIRE.get(native, native):
        # needed to write the same document again
        data["hookName"] = wire
    return _CODEC.build_event(canonical, native, data, call=call, session=session, cwd=cwd, timestamp=timestamp)


def _read_call(body: dict[str, object], *, cwd: str) -> DecodedCall:
    tool = _READER.require_text(body.pop("toolName", None), "toolName")
    native_args = body.pop("parameters", None)
    body.pop("success", None)
    if tool == _SERVER_TOOL and isinstance(native_args, Mapping):
        called = _tools.join_name(str(native_args.get("server_name", "")), str(native_args.get("tool_name", "")))
        return DecodedCall(called, _read_server_args(native_args.get("arguments")), tool, native_args)
    return _CODEC.decode_call(tool, native_args, cwd=cwd)


# answers of hooks


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    cancels = _READER.get_flag(document, "cancel") is True
    asks = _READER.get_flag(document, "review") is True
    texts = document.get("contextModification") or document.get("context")
    context = _RULES.text_effects(texts, EffectKind.CONTEXT, where="contextModification")
    reason = _READER.get_text(document, "errorMessage")
    decision = Decision.DENY if cancels else Decision.ASK if asks else Decision.PASS
    if cancels:
        # Cline drops the context beside a cancel, so it is the reason
        reason = reason or "\n".join(str(effect.value) for effect in context)
        context = ()
    message = (Effect(EffectKind.MESSAGE, reason),) if reason and not decision else ()
    # arguments that replace the call's: an object, or a value that represents one
    changed = document.get("overrideInput")
    if changed is not None and not isinstance(changed, dict):
        changed = {PLAIN: changed}
    if changed is not None and _tools.split_name(request.event.tool) and "arguments" in changed:
        changed = _READER.read_object(_tools.parse_text(changed["arguments"]), "overrideInput.arguments")
    return Verdict(
        decision=decision,
        reason=reason if decision else "",
        effects=(*_RULES.args_effects(changed, request.event, where="overrideInput"), *context, *message),
        metadata=_RULES.extra_keys(document),
    )


_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set("cancel review contextModification context errorMessage overrideInput"),
    tools=TOOLS,
    allow_empty=True,
    ignore_exit_code=True,
)
decode_reply = _RULES.read_reply

# answers to Cline


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for Cline, which reads it whatever the exit code is."""
    reason = outcome.reason or _reply_codec.NO_REASON
    able = SPEC.abilities.get(_CODEC.native_name(event), ())
    context = (join_blocks(outcome.context)[:_LONGEST] if Ability.CONTEXT in able else "") or UNSET
    if outcome.decision is Decision.ASK and Ability.ASK in able:
        question = {"review": True, "errorMessage": reason, "contextModification": context}
        return _reply_codec.encode_answer({**question, "overrideInput": _apply_rewrite(outcome, event)})
    if outcome.blocked:
        # Cline drops the context beside a cancel, but not the message
        message = join_blocks((reason, *outcome.context)) if Ability.CONTEXT in able else reason
        return _reply_codec.encode_answer({"cancel": True, "errorMessage": message})
    changed = _apply_rewrite(outcome, event) if Ability.ARGS in able else UNSET
    return _reply_codec.encode_answer({"contextModification": context, "overrideInput": changed})


def _apply_rewrite(outcome: Outcome, event: Event) -> object:
    """Return the whole arguments for Cline: lists and objects as such, as its tools take them."""
    final = _tools.final_args(outcome, event)
    if final is not None and _tools.split_name(event.tool) and event.native_args is not None:
        return UNSET if final == event.args else _encode_server_args(event, final)
    changed = _tools.apply_rewrite(TOOLS, outcome, event)
    if not isinstance(changed, Mapping):
        return changed
    return {key: _tools.parse_text(value) if key in _STRUCTURED else value for key, value in changed.items()}
