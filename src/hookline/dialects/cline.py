"""Cline: one executable file for each event, a document with an object of the event's own, and an answer that cancels.

Exit codes do not matter to it, the answer does: `{}` is no opinion. The arguments of a tool are texts, also where the tool
takes lists and objects. Its program calls events otherwise on the wire (`tool_call`) than their files (`PreToolUse`).
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET

from hookline.dialects import _calls, _mcp, _read, _reply
from hookline.dialects._cline_tools import STRUCTURED, TOOLS
from hookline.dialects._fields import NO_MESSAGE, Field, Shape, names, shape
from hookline.dialects._tools import final_args
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "cline"
_SERVER_TOOL: Final = "use_mcp_tool"
# the most of a context that Cline takes
_LONGEST: Final = 50_000

_A: Final = Ability
_TELLS: Final = frozenset({_A.CONTEXT})
_NOTHING: Final[frozenset[Ability]] = frozenset()

# Its program waits for these answers only. A cancel after a tool would end the whole task, which is more than an
# objection to one result, so that we say those as context.
ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "TaskStart": _TELLS,
        "TaskResume": _TELLS,
        "TaskCancel": _NOTHING,
        "TaskComplete": _NOTHING,
        "TaskError": _NOTHING,
        "UserPromptSubmit": _NOTHING,
        "PreToolUse": frozenset({_A.BLOCK, _A.ASK, _A.ARGS, _A.CONTEXT}),
        "PostToolUse": _TELLS,
        "PreCompact": _NOTHING,
        "SessionShutdown": _NOTHING,
        "Notification": _NOTHING,
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Cline",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "TaskStart",
            EventName.SESSION_END: "SessionShutdown",
            EventName.BEFORE_AGENT: "UserPromptSubmit",
            EventName.AFTER_AGENT: "TaskComplete",
            EventName.BEFORE_TOOL: "PreToolUse",
            EventName.AFTER_TOOL: "PostToolUse",
            EventName.PRE_COMPRESS: "PreCompact",
            EventName.ERROR: "TaskError",
            EventName.NOTIFICATION: "Notification",
        }
    ),
    tools=MappingProxyType(TOOLS.names()),
    timeout=120.0,
    shell=True,
    matcher=MatcherStyle.SEARCH,
    abilities=ABILITIES,
    own=frozenset(TOOLS.by_tool),
    more_events=MappingProxyType({"TaskResume": EventName.SESSION_START}),
)

_NAMES: Final = names(SPEC.events)
# what the program writes in place of the file's name
_WIRE: Final[Mapping[str, str]] = {
    "TaskStart": "agent_start",
    "TaskResume": "agent_resume",
    "TaskCancel": "agent_abort",
    "TaskComplete": "agent_end",
    "TaskError": "agent_error",
    "PreToolUse": "tool_call",
    "PostToolUse": "tool_result",
    "UserPromptSubmit": "prompt_submit",
    "PreCompact": "pre_compact",
    "SessionShutdown": "session_shutdown",
}
_FILES: Final = {wired: file for file, wired in _WIRE.items()}
_SOURCES: Final = {"TaskStart": "startup", "TaskResume": "resume"}
_TOOL_EVENTS: Final = frozenset({EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED})

_TAKEN: Final = ("clineVersion", "hookName", "taskId", "cwd", "model", "timestamp")
_AFTER: Final = (Field("result", "postToolUse.result"), Field("duration", "postToolUse.executionTimeMs", in_ms=True))
_FIELDS: Final[Mapping[EventName, tuple[Field, ...]]] = {
    EventName.AFTER_TOOL: _AFTER,
    EventName.TOOL_FAILED: (Field("error", "postToolUse.result"), _AFTER[1]),
    EventName.BEFORE_AGENT: (Field("prompt", "userPromptSubmit.prompt"),),
    EventName.ERROR: (
        Field("error", "error.message"),
        Field("error_type", "error.name"),
        Field("error_stack", "error.stack"),
    ),
}
_OBJECTS: Final = {
    "preToolUse": frozenset({"toolName", "parameters"}),
    "postToolUse": frozenset({"toolName", "parameters", "success"}),
}
_SHAPES: Final[Mapping[EventName, Shape]] = {
    name: shape(_FIELDS.get(name, ()), taken=_TAKEN, objects=_OBJECTS) for name in EventName
}


# events


def encode_event(event: Event, hook: Hook) -> Request:
    """Say an event to a hook of this dialect."""
    native = _native(event, hook.native_event)
    return Request(event=event, later=partial(_document, event, native), native=native)


def _native(event: Event, wanted: str = "") -> str:
    if wanted in ABILITIES and _canonical(wanted) is event.name:
        return wanted
    if event.host == _NAME and event.native_name:
        return event.native_name
    return "PostToolUse" if event.name is EventName.TOOL_FAILED else _NAMES.say(event)


def _canonical(native: str) -> EventName | None:
    return SPEC.more_events.get(native) or _NAMES.known.get(native)


def _document(event: Event, native: str) -> dict[str, object]:
    data = dict(event.data)
    is_own = event.host == _NAME
    spoken = data.pop("hookName", None) if is_own else None
    document: dict[str, object] = {
        "clineVersion": data.pop("clineVersion", "") if is_own else "",
        "hookName": spoken or _WIRE.get(native, native),
        "taskId": event.session.id,
    }
    if event.host == _NAME and _read.is_time(data.get("timestamp"), event.timestamp, dialect=_NAME):
        # it was written in another way than ours
        document["timestamp"] = data.pop("timestamp")
    elif event.timestamp:
        document["timestamp"] = _read.to_iso(event.timestamp)
    if event.session.model:
        document["model"] = event.session.model
    if not is_own:
        document.update(workspaceRoots=[event.cwd] if event.cwd else [], userId="", agent_id="", parent_agent_id=None)
    if event.tool or event.name in _TOOL_EVENTS:
        _say_call(event, document)
    if event.name is EventName.CUSTOM and data.get("event_name") == native:
        del data["event_name"]
    if data.get("source") == _SOURCES.get(native, UNSET):
        del data["source"]
    if "tool_call" in data and is_own:
        data.pop("call_id", None)
    _SHAPES[event.name].write(data, document, session=event.session)
    return document


def _say_call(event: Event, document: dict[str, object]) -> None:
    name, said = _said_call(event)
    after = event.name in {EventName.AFTER_TOOL, EventName.TOOL_FAILED}
    body: dict[str, object] = {"toolName": name, "parameters": said}
    if after:
        body["success"] = event.name is EventName.AFTER_TOOL
    document["postToolUse" if after else "preToolUse"] = body


def _said_call(event: Event) -> tuple[str, object]:
    """Say a call: to hooks every argument is a text."""
    name, args = _calls.resaid(TOOLS, event, dialect=_NAME)
    parts = _mcp.split(event.tool)
    if event.host == _NAME and event.native_args is not None:
        return (event.native_tool or name, _server_args(event, event.args)) if parts else (name, args)
    if parts:
        server = {"server_name": parts[0], "tool_name": parts[1], "arguments": _mcp.written(dict(event.args))}
        return _SERVER_TOOL, server
    return name, {key: _mcp.written(value) for key, value in args.items()} if isinstance(args, Mapping) else args


def _server_args(event: Event, args: Mapping[str, object]) -> object:
    """Put a server's arguments where Cline has them, as the kind of value it had."""
    said = event.native_args
    if event.native_tool != _SERVER_TOOL or not isinstance(said, Mapping):
        return dict(args)
    was = said.get("arguments")
    if _given(was) == args:
        return said
    return {**said, "arguments": _mcp.repeated(dict(args), text=was) if isinstance(was, str) else dict(args)}


def decode_event(raw: bytes, name: str = "") -> Event:
    """Read an event as Cline says it."""
    document = _read.load_object(raw, dialect=_NAME)
    text = partial(_read.text, dialect=_NAME)
    spoken = text(document.pop("hookName", None), "hookName")
    native = _FILES.get(spoken, spoken) or name
    if not native:
        raise _read.wrong(None, "hookName", dialect=_NAME, wanted="the event's name")
    body_key, body = _body(document)
    canonical = _canonical(native) or EventName.CUSTOM
    if native == "PostToolUse" and body.get("success") is False:
        canonical = EventName.TOOL_FAILED
    cwd = _root(document)
    call, said = _call(canonical, body, cwd=cwd)
    session = Session(id=text(document.pop("taskId", None), "taskId"), model=text(document.pop("model", None), "model"))
    timestamp = _read.take_time(document, "timestamp", dialect=_NAME)
    if body_key and body:
        document[body_key] = body
    data = _SHAPES[canonical].read(document, "", dialect=_NAME)
    _add(canonical, native, spoken, data)
    return Event(
        name=canonical,
        data=data,
        tool=call.tool,
        args=call.args,
        session=session,
        cwd=cwd,
        timestamp=timestamp,
        native_tool=call.native_tool,
        native_name="" if SPEC.events.get(canonical) == native or canonical == native else native,
        host=_NAME,
        native_args=said,
    )


def _body(document: dict[str, object]) -> tuple[str, dict[str, object]]:
    """Take the object of a tool event out of the document."""
    key = next((key for key in _OBJECTS if key in document), "")
    return key, dict(_read.obj(document.pop(key, None), key, dialect=_NAME))


def _root(document: Mapping[str, object]) -> str:
    roots = document.get("workspaceRoots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return first if isinstance(first, str) else ""


def _call(name: EventName, body: dict[str, object], *, cwd: str) -> tuple[_calls.Call, object]:
    if "toolName" not in body and name not in _TOOL_EVENTS:
        return _calls.Call("", {}, ""), None
    tool = _read.need_text(body.pop("toolName", None), "toolName", dialect=_NAME)
    said = body.pop("parameters", None)
    body.pop("success", None)
    if tool == _SERVER_TOOL and isinstance(said, Mapping):
        server, name_there = str(said.get("server_name", "")), str(said.get("tool_name", ""))
        return _calls.Call(_mcp.joined(server, name_there), _given(said.get("arguments")), tool), said
    return _calls.understood(TOOLS, tool, {} if said is None else said, cwd=cwd), said


def _given(said: object) -> dict[str, object]:
    """Understand the arguments of a server's tool."""
    args = _mcp.parsed(said)
    return args if isinstance(args, dict) else {} if args in (None, "") else {_calls.PLAIN: args}


def _add(name: EventName, native: str, spoken: str, data: dict[str, object]) -> None:
    """Add what hooks of others look for, and what is needed to say the same again."""
    if name is EventName.CUSTOM:
        data.setdefault("event_name", native)
    if name is EventName.TOOL_FAILED and not data.get("error"):
        data["error"] = NO_MESSAGE
    if name is EventName.SESSION_START and native in _SOURCES:
        data.setdefault("source", _SOURCES[native])
    made = data.get("tool_call")
    if isinstance(made, Mapping) and isinstance(made.get("id"), str):
        data.setdefault("call_id", made["id"])
    if spoken and spoken != _WIRE.get(native, native):
        data["hookName"] = spoken


# answers of hooks

_MANNERS: Final = _reply.Manners(dialect=_NAME, silence=True, json_always=True)
_ANSWER_FIELDS: Final = frozenset(
    {"cancel", "review", "contextModification", "context", "errorMessage", "overrideInput"}
)


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered."""
    return _reply.read_reply(reply, request, read=_read_answer, manners=_MANNERS)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    cancels, asks = _flag(document, "cancel"), _flag(document, "review")
    context = document.get("contextModification") or document.get("context")
    said = _reply.texts(context, EffectKind.CONTEXT, where="contextModification", dialect=_NAME)
    reason = _read.text(document.get("errorMessage"), "errorMessage", dialect=_NAME)
    decision = Decision.DENY if cancels else Decision.ASK if asks else Decision.PASS
    if cancels:
        # what it wanted to add is the reason then, or is lost
        reason = reason or "\n".join(str(effect.value) for effect in said)
        said = ()
    return Verdict(
        decision=decision,
        reason=reason if decision else "",
        effects=(*_changes(document.get("overrideInput"), request.event), *said, *_shown(reason, decision)),
        metadata={key: value for key, value in document.items() if key not in _ANSWER_FIELDS},
    )


def _shown(reason: str, decision: Decision) -> tuple[Effect, ...]:
    return (Effect(EffectKind.MESSAGE, reason),) if reason and not decision else ()


def _flag(document: Mapping[str, object], key: str) -> bool:
    value = document.get(key)
    if value is not None and not isinstance(value, bool):
        raise _read.wrong(value, key, dialect=_NAME, wanted="true or false")
    return value is True


def _changes(value: object, event: Event) -> tuple[Effect, ...]:
    """Take arguments that a hook gives in place of those it was told: an object, or what stands for one."""
    if value is None:
        return ()
    changed = value if isinstance(value, dict) else {_calls.PLAIN: value}
    if _mcp.split(event.tool) and "arguments" in changed:
        changed = _read.obj(_mcp.parsed(changed["arguments"]), "overrideInput.arguments", dialect=_NAME)
    return _reply.args_effects(changed, event, tools=TOOLS, where="overrideInput", dialect=_NAME)


# answers to Cline


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to Cline; it reads the answer whatever the exit code is."""
    reason = outcome.reason or _reply.NO_REASON
    able = ABILITIES.get(_native(event), _NOTHING)
    if outcome.decision is Decision.ASK and Ability.ASK in able:
        asked = {"review": True, "errorMessage": reason, "contextModification": _context(outcome, able)}
        return _reply.answer({**asked, "overrideInput": _rewritten(outcome, event)})
    if outcome.blocked:
        # the context is dropped beside a cancel, and the message is not
        told = "\n\n".join((reason, *filter(None, outcome.context))) if Ability.CONTEXT in able else reason
        return _reply.answer({"cancel": True, "errorMessage": told})
    changed = _rewritten(outcome, event) if Ability.ARGS in able else UNSET
    return _reply.answer({"contextModification": _context(outcome, able), "overrideInput": changed})


def _context(outcome: Outcome, able: frozenset[Ability]) -> object:
    if Ability.CONTEXT not in able:
        return UNSET
    return "\n\n".join(filter(None, outcome.context))[:_LONGEST] or UNSET


def _rewritten(outcome: Outcome, event: Event) -> object:
    """Give the whole call as Cline is to make it: lists and objects as such, as its tools take them."""
    final = final_args(outcome, event)
    if final is not None and _mcp.split(event.tool) and event.native_args is not None:
        return UNSET if final == event.args else _server_args(event, final)
    changed = _calls.rewritten(TOOLS, outcome, event)
    if not isinstance(changed, Mapping):
        return changed
    return {key: _mcp.parsed(value) if key in STRUCTURED else value for key, value in changed.items()}
