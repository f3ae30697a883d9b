"""OLLM CLI, event automation: JSON-RPC 2.0, one `execute` request in, one response out.

Ours where the document has no field: `tool_name`, `args` and `cwd` in the event's data, `session` in the
context; and in the result everything but `action`, `prompt` and `metadata`. A request that has
another id than 1 keeps it in the event's data as `jsonrpc_id`, because the response must carry it.

A hook cannot answer `runCommand`: only what a person configured may start programs.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline.dialects import _read, _reply
from hookline.dialects._fields import Field, Layout, names, read_session, shape, write_session
from hookline.dialects._ollm import ROWS
from hookline.dialects._tools import toolbox
from hookline.errors import DialectError
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "ollm-rpc"
_TOOLS: Final = toolbox(ROWS)
_RPC: Final = "2.0"
_ID: Final = 1
_ID_KEY: Final = "jsonrpc_id"

SPEC: Final = DialectSpec(
    name=_NAME,
    title="OLLM CLI, event automation",
    events=MappingProxyType(
        {
            EventName.BEFORE_AGENT: "promptSubmit",
            EventName.AFTER_AGENT: "agentStop",
            EventName.BEFORE_TOOL_SELECTION: "before_tool_selection",
            EventName.FILE_CREATED: "fileCreated",
            EventName.FILE_EDITED: "fileEdited",
            EventName.FILE_DELETED: "fileDeleted",
            EventName.USER_TRIGGERED: "userTriggered",
            EventName.NOTIFICATION: "notification",
        }
    ),
    tools=MappingProxyType(_TOOLS.names()),
)

# what the document says every context has; empty where the host does not tell
_AGENT: Final[Mapping[str, object]] = MappingProxyType({"mode": "", "context": {}, "history": []})
_USER: Final[Mapping[str, object]] = MappingProxyType({"preferences": {}, "settings": {}})

_FILE_EVENTS: Final = frozenset({EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED})
_FILE: Final = (("path", "path"), ("content", "content"), ("diff", "changes"))
_TAKEN: Final = ("tool_name", "args", "cwd")
_PLAIN: Final = shape(taken=_TAKEN)
_CHANGED: Final = shape((Field("diff", "changes"),), taken=_TAKEN)

_LAYOUT: Final = Layout(
    dialect=_NAME,
    where="params.event.data",
    names=names(SPEC.events),
    tools=_TOOLS,
    shapes={name: _CHANGED if name in _FILE_EVENTS else _PLAIN for name in EventName},
    foreign=_PLAIN,
    tool=("tool_name",),
    args=("args",),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Say an event to a hook of this dialect."""
    return Request(event=event, later=partial(_document, event))


def _document(event: Event) -> dict[str, object]:
    data: dict[str, object] = {}
    _LAYOUT.write(event, data)
    request_id = _request_id(event)
    if request_id != _ID:
        del data[_ID_KEY]
    context: dict[str, object] = {}
    if event.name in _FILE_EVENTS:
        context["file"] = {theirs: event.data[key] for key, theirs in _FILE if key in event.data}
        # the document has contents here and nowhere else, and they can be large
        data.pop("content", None)
    context["agent"] = _completed(_AGENT, event.session.agent)
    context["user"] = _completed(_USER, event.session.profile)
    if session := write_session(event.session, without=("agent", "profile")):
        context["session"] = session
    said = {"type": _LAYOUT.names.say(event), "timestamp": event.timestamp, "data": data}
    return {
        "jsonrpc": _RPC,
        "method": "execute",
        "params": {"event": said, "context": context},
        "id": request_id,
    }


def _completed(empty: Mapping[str, object], told: Mapping[str, object]) -> dict[str, object]:
    # made anew: a hook that is a function may change what it is given
    return {**{name: type(value)() for name, value in empty.items()}, **told}


def _request_id(event: Event) -> str | int:
    request_id = event.data.get(_ID_KEY)
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else _ID


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Read an event as a host of this dialect says it."""
    document = _read.load_object(raw, dialect=_NAME)
    _check_rpc(document)
    if document.get("method") != "execute":
        raise _read.wrong(document.get("method"), "method", dialect=_NAME, wanted='"execute"')
    params = _read.obj(document.get("params"), "params", dialect=_NAME)
    said = _read.obj(params.get("event"), "params.event", dialect=_NAME)
    native = _read.need_text(said.get("type"), "params.event.type", dialect=_NAME)
    context = _read.obj(params.get("context"), "params.context", dialect=_NAME)
    data = _read.obj(said.get("data"), "params.event.data", dialect=_NAME)
    _take_file(context, data)
    _take_id(document.get("id"), data)
    at = said.get("timestamp")
    timestamp = 0 if at is None else _timestamp(at)
    return _LAYOUT.read(native, data, session=_session(context), timestamp=timestamp)


def _session(context: dict[str, object]) -> Session:
    return replace(
        read_session(context, "params.context.session", dialect=_NAME),
        agent=_told(context, "agent", _AGENT),
        profile=_told(context, "user", _USER),
    )


def _told(context: Mapping[str, object], key: str, empty: Mapping[str, object]) -> dict[str, object]:
    """Take what a host tells; what is there only to be there says nothing."""
    found = _read.obj(context.get(key), f"params.context.{key}", dialect=_NAME)
    return {name: value for name, value in found.items() if name not in empty or value != empty[name]}


def _timestamp(value: object) -> int:
    where = "params.event.timestamp"
    if isinstance(value, str):
        return _read.from_iso(value, where, dialect=_NAME)
    return _read.from_number(value, where, dialect=_NAME, seconds=True)


def _take_file(context: Mapping[str, object], data: dict[str, object]) -> None:
    file = _read.obj(context.get("file"), "params.context.file", dialect=_NAME)
    for _, theirs in _FILE:
        if theirs in file:
            data.setdefault(theirs, file[theirs])


def _take_id(request_id: object, data: dict[str, object]) -> None:
    if request_id is not None and (request_id != _ID or isinstance(request_id, bool)):
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            raise _read.wrong(request_id, "id", dialect=_NAME, wanted="a text or a whole number")
        data[_ID_KEY] = request_id


def _check_rpc(document: Mapping[str, object]) -> None:
    if document.get("jsonrpc") != _RPC:
        raise _read.wrong(document.get("jsonrpc"), "jsonrpc", dialect=_NAME, wanted=f'"{_RPC}"')


_MANNERS: Final = _reply.Manners(dialect=_NAME)
_ACTIONS: Final = {
    "continue": Decision.PASS,
    "none": Decision.PASS,
    "askAgent": Decision.PASS,
    "allow": Decision.ALLOW,
    "ask": Decision.ASK,
    "block": Decision.DENY,
    "stop": Decision.STOP,
}
_FIELDS: Final = frozenset(
    {"action", "prompt", "metadata", "reason", "modifiedArgs", "modifiedResult", "context", "message", "data"}
)


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered."""
    return _reply.read_reply(reply, request, read=_read_answer, manners=_MANNERS)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    _check_rpc(document)
    result, error = document.get("result"), document.get("error")
    if (result is None) == (error is None):
        raise _read.wrong(document, "", dialect=_NAME, wanted="a response with either `result` or `error`")
    _check_id(document, request)
    if error is not None:
        return Verdict(failure=Failure(FailureKind.HOOK_ERROR, _error_message(error)), metadata={"error": error})
    if not isinstance(result, dict):
        raise _read.wrong(result, "result", dialect=_NAME, wanted="an object")
    return _read_result(result, request.event)


def _check_id(document: Mapping[str, object], request: Request) -> None:
    asked = request.document.get("id", _ID) if isinstance(request.document, dict) else _ID
    answered = document.get("id")
    # a program that could not read the request cannot know its id, and says null
    lost = answered is None and document.get("error") is not None
    if not lost and (answered != asked or isinstance(answered, bool)):
        raise _read.wrong(answered, "id", dialect=_NAME, wanted=f"the request's id {asked!r}")


def _error_message(error: object) -> str:
    found = _read.obj(error, "error", dialect=_NAME)
    message = _read.text(found.get("message"), "error.message", dialect=_NAME) or "no message"
    code = found.get("code")
    data = found.get("data")
    reason = data.get("reason") if isinstance(data, dict) else data
    told = f"{message} (code {_read.shown(code)})" if code is not None else message
    return f"{told}: {reason if isinstance(reason, str) else _read.shown(reason)}" if reason else told


def _read_result(result: Mapping[str, object], event: Event) -> Verdict:
    decision = _action(result.get("action"))
    metadata = _read.obj(result.get("metadata"), "result.metadata", dialect=_NAME)
    others = {key: value for key, value in result.items() if key not in _FIELDS}
    return Verdict(
        decision=decision,
        reason=_read.text(result.get("reason"), "result.reason", dialect=_NAME),
        effects=_effects(result, event),
        ends=decision is Decision.STOP,
        metadata={**others, **metadata},
    )


def _action(action: object) -> Decision:
    decision = _ACTIONS.get(action) if isinstance(action, str) else None
    if decision is not None:
        return decision
    if action == "runCommand":
        raise DialectError(
            "a hook may not answer `runCommand`: only configured hooks may run commands, see `then` in the hook's file",
            dialect=_NAME,
            where="result.action",
        )
    raise _read.wrong(action, "result.action", dialect=_NAME, wanted=f"one of {', '.join(_ACTIONS)}")


def _effects(result: Mapping[str, object], event: Event) -> tuple[Effect, ...]:
    def said(key: str, kind: EffectKind) -> tuple[Effect, ...]:
        return _reply.texts(result.get(key), kind, where=f"result.{key}", dialect=_NAME)

    return (
        *_reply.args_effects(
            result.get("modifiedArgs"), event, tools=_TOOLS, where="result.modifiedArgs", dialect=_NAME
        ),
        *_reply.output_effects(result, "modifiedResult"),
        *said("context", EffectKind.CONTEXT),
        *said("message", EffectKind.MESSAGE),
        *said("prompt", EffectKind.ASK_AGENT),
        *_reply.data_effects(result.get("data"), where="result.data", dialect=_NAME),
    )


_ANSWER_ACTIONS: Final = {
    Decision.PASS: "continue",
    Decision.ALLOW: "allow",
    Decision.ASK: "ask",
    Decision.DENY: "block",
    Decision.STOP: "stop",
}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to a host of this dialect."""
    parts = _reply.parts(outcome, event, tools=_TOOLS)
    asks = outcome.decision is Decision.PASS and parts.prompts is not UNSET
    result = _reply.present(
        {
            "action": "askAgent" if asks else _ANSWER_ACTIONS[outcome.decision],
            "prompt": _reply.joined(parts.prompts),
            "reason": parts.reason,
            "modifiedArgs": parts.args,
            "modifiedResult": parts.output,
            "context": parts.context,
            "message": parts.messages,
            "data": parts.data,
        }
    )
    return _reply.answer({"jsonrpc": _RPC, "result": result, "id": _request_id(event)})
