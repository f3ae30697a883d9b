"""OLLM CLI, event automation: JSON-RPC 2.0, one `execute` request in, one response out.

Our additions to the document: `tool_name`, `args` and `cwd` in the event's data, `session` in the context; and in the result
everything but `action`, `prompt` and `metadata`. A request with another id than 1 keeps it in the event's data as `jsonrpc_id`,
because the response must carry it.

A hook cannot answer `runCommand`: only what a person configured may start programs.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from hookline.dialects import _codec, _json_reader
from hookline.dialects._codec import FILE_EVENTS, BodyCodec, EventNames, Field, field_maps, parse_events, read_session
from hookline.dialects._json_reader import JsonReader, decision_words, key_set
from hookline.dialects._reply_codec import EffectKeys, ReplyRules, encode_answer, join_texts
from hookline.dialects._tools import tool_map
from hookline.dialects.ollm import TOOL_ROWS
from hookline.errors import DialectError
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.exchange import Answer, Failure, FailureKind, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Outcome, Verdict

_NAME: Final = "ollm-rpc"
_READER: Final = JsonReader(_NAME)
_TOOLS: Final = tool_map(*TOOL_ROWS)

_RPC: Final = "2.0"
_ID: Final = 1
_ID_KEY: Final = "jsonrpc_id"

SPEC: Final = DialectSpec(
    name=_NAME,
    title="OLLM CLI, event automation",
    events=parse_events(
        "before_agent=promptSubmit after_agent=agentStop before_tool_selection=before_tool_selection "
        "file_created=fileCreated file_edited=fileEdited file_deleted=fileDeleted user_triggered=userTriggered "
        "notification=notification"
    ),
    tools=_TOOLS.names_by_tool(),
)

# fields that every context has, empty where the host does not send them
_AGENT: Final[Mapping[str, object]] = {"mode": "", "context": {}, "history": []}
_USER: Final[Mapping[str, object]] = {"preferences": {}, "settings": {}}

_FILE: Final = (("path", "path"), ("content", "content"), ("diff", "changes"))

_BODY: Final = BodyCodec(
    dialect=_NAME,
    where="params.event.data",
    names=EventNames(SPEC.events),
    tools=_TOOLS,
    field_maps=field_maps(dict.fromkeys(FILE_EVENTS, (Field("diff", "changes"),)), taken=("tool_name", "args", "cwd")),
    tool=("tool_name",),
    args=("args",),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Return the request for a hook of this dialect."""
    return Request(event=event, later=partial(_write_event, event))


def _write_event(event: Event) -> dict[str, object]:
    data: dict[str, object] = {}
    _BODY.write(event, data)
    request_id = _request_id(event)
    if request_id != _ID:
        del data[_ID_KEY]
    context: dict[str, object] = {}
    if event.name in FILE_EVENTS:
        context["file"] = {theirs: event.data[key] for key, theirs in _FILE if key in event.data}
        # contents can be large, and the document has them in the context
        data.pop("content", None)
    # built anew: a hook that is a function may change it
    context["agent"] = {**{name: type(value)() for name, value in _AGENT.items()}, **event.session.agent}
    context["user"] = {**{name: type(value)() for name, value in _USER.items()}, **event.session.profile}
    if session := _codec.write_session(event.session, without=("agent", "profile")):
        context["session"] = session
    said = {"type": _BODY.names.encode(event), "timestamp": event.timestamp, "data": data}
    return {"jsonrpc": _RPC, "method": "execute", "params": {"event": said, "context": context}, "id": request_id}


def _request_id(event: Event) -> str | int:
    request_id = event.data.get(_ID_KEY)
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else _ID


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Return the event of a request."""
    document = _READER.load_object(raw)
    _check_rpc(document)
    if document.get("method") != "execute":
        raise _READER.error(document.get("method"), "method", wanted='"execute"')
    params = _READER.get_object(document, "params")
    event = _READER.get_object(params, "event", within="params.")
    native = _READER.require_text(event.get("type"), "params.event.type")
    context = _READER.get_object(params, "context", within="params.")
    data = _READER.get_object(event, "data", within="params.event.")
    file = _READER.get_object(context, "file", within="params.context.")
    for _, theirs in _FILE:
        if theirs in file:
            data.setdefault(theirs, file[theirs])
    request_id = document.get("id")
    if request_id is not None and (request_id != _ID or isinstance(request_id, bool)):
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            raise _READER.error(request_id, "id", wanted="a text or a whole number")
        data[_ID_KEY] = request_id
    timestamp = _READER.read_time(event.get("timestamp"), "params.event.timestamp", in_seconds=True)
    session = replace(
        read_session(context, "params.context.session", _READER),
        agent=_read_known(context, "agent", _AGENT),
        profile=_read_known(context, "user", _USER),
    )
    return _BODY.read(native, data, session=session, timestamp=timestamp)


def _read_known(context: Mapping[str, object], key: str, empty: Mapping[str, object]) -> dict[str, object]:
    """Return what a host sends beyond the empty defaults."""
    found = _READER.get_object(context, key, within="params.context.")
    return {name: value for name, value in found.items() if name not in empty or value != empty[name]}


def _check_rpc(document: Mapping[str, object]) -> None:
    if document.get("jsonrpc") != _RPC:
        raise _READER.error(document.get("jsonrpc"), "jsonrpc", wanted=f'"{_RPC}"')


_ACTIONS: Final = decision_words("continue=pass none=pass askAgent=pass allow=allow ask=ask block=deny stop=stop")


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    _check_rpc(document)
    result, error = document.get("result"), document.get("error")
    if (result is None) == (error is None):
        raise _READER.error(document, "", wanted="a response with either `result` or `error`")
    asked = request.document.get("id", _ID) if isinstance(request.document, dict) else _ID
    answered = document.get("id")
    # a program that could not parse the request cannot know its id, and sends null
    is_lost = answered is None and error is not None
    if not is_lost and (answered != asked or isinstance(answered, bool)):
        raise _READER.error(answered, "id", wanted=f"the request's id {asked!r}")
    if error is not None:
        return Verdict(failure=Failure(FailureKind.HOOK_ERROR, _error_message(error)), metadata={"error": error})
    if not isinstance(result, dict):
        raise _READER.error(result, "result", wanted="an object")
    action = result.get("action")
    if action == "runCommand":
        raise DialectError(
            "a hook may not answer `runCommand`: only configured hooks may run commands, see `then` in the hook's file",
            dialect=_NAME,
            where="result.action",
        )
    decision = _ACTIONS.get(action) if isinstance(action, str) else None
    if decision is None:
        raise _READER.error(action, "result.action", wanted=f"one of {', '.join(_ACTIONS)}")
    metadata = _READER.get_object(result, "metadata", within="result.")
    return Verdict(
        decision=decision,
        reason=_READER.get_text(result, "reason", within="result."),
        effects=_RULES.read_effects(result, request.event, within="result."),
        metadata={**{key: value for key, value in result.items() if key not in _FIELDS}, **metadata},
    )


def _error_message(error: object) -> str:
    found = _READER.read_object(error, "error")
    message = _READER.get_text(found, "message", within="error.") or "no message"
    code, data = found.get("code"), found.get("data")
    reason = data.get("reason") if isinstance(data, dict) else data
    text = f"{message} (code {_json_reader.preview(code)})" if code is not None else message
    return f"{text}: {reason if isinstance(reason, str) else _json_reader.preview(reason)}" if reason else text


_FIELDS: Final = key_set("action metadata reason modifiedArgs modifiedResult data context message prompt")
_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set("jsonrpc id result error") | {f"result.{key}" for key in _FIELDS},
    effects=EffectKeys("modifiedArgs", "modifiedResult", "context", "message", "prompt", "data"),
    tools=_TOOLS,
)
decode_reply = _RULES.read_reply

_ANSWER_ACTIONS: Final = {
    Decision.PASS: "continue",
    Decision.ALLOW: "allow",
    Decision.ASK: "ask",
    Decision.DENY: "block",
    Decision.STOP: "stop",
}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the response for a host of this dialect."""
    effects = _RULES.write_effects(outcome, event)
    asks = outcome.decision is Decision.PASS and "prompt" in effects
    result = {"action": "askAgent" if asks else _ANSWER_ACTIONS[outcome.decision], **effects}
    if "prompt" in effects:
        result["prompt"] = join_texts(effects["prompt"])
    if outcome.reason:
        result["reason"] = outcome.reason
    return encode_answer({"jsonrpc": _RPC, "result": result, "id": _request_id(event)})
