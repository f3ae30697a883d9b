"""opencode, whose hooks are not programs: what the plugin that `hookline install opencode` writes sends to Hookline.

The plugin sends the name of the hook with the hook's `input` and `output`, the directory, and what only it knows: the MCP server
of a tool, and the session that started this one. The answer says what the plugin has to do; an empty one is no opinion.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline.dialects import _codec, _tools
from hookline.dialects._codec import TOOL_EVENTS, TURN_ENDS, AgentCodec, EventNames, EventTable, Field, join_blocks
from hookline.dialects._json_reader import JsonReader, key_set
from hookline.dialects._reply_codec import EffectKeys, ReplyRules, drop_unset, encode_opinion, find_reason
from hookline.dialects._tools import NO_CALL, ONE_URL, TIMEOUT_MS, edits, final_output, tool_map, tool_row, without
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import Answer, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Outcome, Verdict

_NAME: Final = "opencode"
_READER: Final = JsonReader(_NAME)

# tools

_EDIT: Final = {"old": "oldString", "new": "newString", "replace_all": "replaceAll"}

_TOOLS: Final = tool_map(
    tool_row("shell", "bash", keys="cwd=workdir", codecs=(TIMEOUT_MS,)),
    tool_row("read_file", "read", keys="path=filePath"),
    tool_row("write_file", "write", keys="path=filePath"),
    tool_row("edit_file", "edit", keys="path=filePath old=oldString new=newString replace_all=replaceAll"),
    tool_row("multi_edit", "multiedit", keys="path=filePath", codecs=(edits(_EDIT),)),
    tool_row("apply_patch", "apply_patch patch", keys="patch=patchText"),
    tool_row("list_dir", "list"),
    tool_row("glob", "glob"),
    tool_row("grep", "grep"),
    tool_row("web_fetch", "webfetch", codecs=(ONE_URL,)),
    tool_row("web_search", "websearch"),
    tool_row("subagent", "task", keys="type=subagent_type"),
    tool_row("skill", "skill"),
    tool_row("todo", "todowrite todoread", keys="items=todos"),
    tool_row("ask_user", "question"),
)

# what an answer can do

_EVENTS: Final[EventTable] = {
    "session.created": ("context message", EventName.SESSION_START, EventName.SUBAGENT_START),
    "session.deleted": ("message", EventName.SESSION_END),
    "session.error": ("message", EventName.ERROR),
    "session.compacted": ("message", EventName.POST_COMPRESS),
    "session.idle": ("block stop message follow_up", EventName.AFTER_AGENT, EventName.SUBAGENT_STOP),
    "chat.message": ("block context message", EventName.BEFORE_AGENT),
    "tool.execute.before": ("block stop rewrite_args message", EventName.BEFORE_TOOL),
    "tool.execute.after": ("block stop rewrite_output context message", EventName.AFTER_TOOL),
    "permission.asked": ("allow block ask stop message", EventName.PERMISSION_REQUEST),
    "experimental.session.compacting": ("context message", EventName.PRE_COMPRESS),
}

BY_MODE: Final[Mapping[str, str]] = {
    "session.idle": "only in the terminal program: `opencode run` ends with the turn and does not go back to work",
    "permission.asked": "only in the terminal program: `opencode run` refuses by itself, before a hook is asked",
}

SPEC: Final = _codec.agent_spec(
    _NAME,
    "opencode",
    events=_EVENTS,
    tools=_TOOLS,
    by_mode=BY_MODE,
    # a guard of writing and editing has to see every way to do it
    matched="apply_patch=apply_patch,patch,edit,write multi_edit=multiedit,edit insert_text=edit edit_lines=edit",
    timeout=30.0,
    own=frozenset(_TOOLS.by_tool) - {"multi_edit"},
    mcp="{server}_{tool}",
)

# events

_CALL: Final = Field("call_id", "input.callID")
_CHILD: Final = Field("parent", "parent")
_CHILDREN: Final = frozenset({EventName.SUBAGENT_START, EventName.SUBAGENT_STOP})


def _or(main: EventName, child: EventName) -> Callable[[Mapping[str, object]], EventName]:
    """Choose between the main session's event and that of a session that one of its tools started."""
    return lambda document: child if document.get("parent") else main


_CODEC: Final = AgentCodec(
    spec=SPEC,
    names=EventNames(
        SPEC.events,
        {
            "session.created": _or(EventName.SESSION_START, EventName.SUBAGENT_START),
            "session.idle": _or(EventName.AFTER_AGENT, EventName.SUBAGENT_STOP),
            # the user did not type a subagent's prompt
            "chat.message": _or(EventName.BEFORE_AGENT, EventName.CUSTOM),
        },
    ),
    tools=_TOOLS,
    field_maps=_codec.field_maps(
        {
            EventName.BEFORE_TOOL: (_CALL,),
            EventName.AFTER_TOOL: (_CALL, Field("result", "output.output")),
            EventName.PERMISSION_REQUEST: (_CALL, Field("operation", "input.permission")),
            EventName.ERROR: (Field("error", "input.error"), Field("error_type", "input.errorName")),
            EventName.SUBAGENT_START: (_CHILD,),
            EventName.SUBAGENT_STOP: (_CHILD,),
        },
        taken=("hook", "directory", "mcp"),
        objects={"input": frozenset({"sessionID", "tool", "args"}), "output": frozenset({"args"})},
    ),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Return the request for a hook of this dialect."""
    return Request(event=event, later=partial(_write_event, event))


def _write_event(event: Event) -> dict[str, object]:
    given: dict[str, object] = {"sessionID": event.session.id}
    output: dict[str, object] = {}
    document: dict[str, object] = {"hook": SPEC.native(event), "input": given, "output": output}
    if event.cwd:
        document["directory"] = event.cwd
    if event.timestamp:
        document["timestamp"] = event.timestamp
    if event.tool or event.name in TOOL_EVENTS:
        given["tool"], args = _CODEC.encode_call(event)
        (output if event.name is EventName.BEFORE_TOOL else given)["args"] = args
        if (parts := _tools.split_name(event.tool)) is not None:
            document["mcp"] = {"server": parts[0], "tool": parts[1]}
    if event.name in _CHILDREN and event.host != _NAME:
        document["parent"] = event.session.id or "main"
    if event.name is EventName.BEFORE_AGENT and isinstance(prompt := event.data.get("prompt"), str):
        event = replace(event, data=without(event.data, "prompt"))
        if event.host != _NAME:
            output["parts"] = [{"type": "text", "text": prompt}]
    return _CODEC.write_data(event, document)


def decode_event(raw: bytes, name: str = "") -> Event:
    """Return the event of a document of the plugin."""
    document = _READER.load_object(raw)
    native = _CODEC.read_name(document.pop("hook", None), name, where="hook")
    given = dict(_READER.read_object(document.pop("input", None), "input"))
    output = dict(_READER.read_object(document.pop("output", None), "output"))
    session = Session(id=_READER.read_text(given.pop("sessionID", None), "input.sessionID"))
    cwd = _READER.pop_text(document, "directory")
    is_needed = native in {SPEC.events[EventName.BEFORE_TOOL], SPEC.events[EventName.AFTER_TOOL]}
    call = NO_CALL
    if is_needed or "tool" in given:
        args = (given if "args" in given else output).pop("args", None)
        tool = _READER.require_text(given.pop("tool", None), "input.tool")
        match document.pop("mcp", None):
            # a server's tool with the name of a built-in one is judged as that: nothing distinguishes them
            case {"server": str(server), "tool": str(name_there)} if tool.casefold() not in _TOOLS.by_native:
                call = _CODEC.decode_call(tool, args, cwd=cwd, server=server, tool=name_there)
            case _:
                call = _CODEC.decode_call(tool, args, cwd=cwd)
    document.update(drop_unset({"input": given or UNSET, "output": output or UNSET}))
    event = _CODEC.decode_document(native, document, session=session, cwd=cwd, call=call, iso=False)
    if event.name is not EventName.BEFORE_AGENT:
        return event
    # what the user typed, without the parts that the program added
    parts = output.get("parts")
    texts = [
        part.get("text")
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and part.get("type") == "text" and part.get("synthetic") is not True
    ]
    prompt = "\n".join(text for text in texts if isinstance(text, str))
    return replace(event, data={**event.data, "prompt": prompt})


# answers of hooks and answers to the plugin have the same form


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    found = [(Decision.PASS, "")]
    found += [(decision, _READER.get_text(document, key)) for decision, key in _KEYS.items() if key in document]
    allows = _READER.get_flag(document, "allow")
    if allows is not None:
        found.append((Decision.ALLOW if allows else Decision.DENY, ""))
    decision, reason = max(found, key=lambda item: item[0])
    return Verdict(
        decision=decision,
        reason=reason,
        effects=_RULES.read_effects(document, request.event),
        metadata=_RULES.extra_keys(document),
    )


_KEYS: Final = {Decision.ASK: "ask", Decision.DENY: "block", Decision.STOP: "stop"}
_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set("block allow ask stop args output context message prompt"),
    effects=EffectKeys("args", "output", "context", "message", "prompt"),
    tools=_TOOLS,
    allow_empty=True,
    allow_text=True,
    deny_exit=2,
    strict_json=True,
)
decode_reply = partial(_CODEC.read_reply, _RULES)


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for the plugin; an empty one is no opinion."""
    decision = outcome.decision
    output = final_output(outcome)
    document: dict[str, object] = {
        "allow": True if decision is Decision.ALLOW else UNSET,
        "args": UNSET if decision >= Decision.DENY else _tools.apply_rewrite(_TOOLS, outcome, event),
        "output": UNSET if output is UNSET else _tools.result_text(output),
        "context": join_blocks(outcome.context) or UNSET,
        "message": join_blocks(outcome.messages) or UNSET,
    }
    if decision >= Decision.ASK:
        document[_KEYS[decision]] = find_reason(outcome)
    if event.name in TURN_ENDS and outcome.follow_ups and decision is not Decision.STOP:
        document["prompt"] = join_blocks(outcome.follow_ups)
    return encode_opinion(document)
