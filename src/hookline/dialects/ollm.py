"""OLLM CLI, hook system: `event` and `data` in, `continue`, `systemMessage`, `data` and `error` out.

Ours where the document has no field: `timestamp`, `cwd` and `session` in `data`; and in the answer's `data`
the words `args`, `result`, `decision` (with `reason`), `stop`, `message`, `askAgent` and `context`. All other
keys of an answer's `data` are handed to the next hook.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET

from hookline.dialects import _read, _reply
from hookline.dialects._fields import (
    NO_MESSAGE,
    SESSION_KEYS,
    Field,
    Layout,
    failed_by_error,
    names,
    read_session,
    shape,
    shapes_with_error,
    write_session,
)
from hookline.dialects._ollm import ROWS
from hookline.dialects._tools import toolbox
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "ollm"
_TOOLS: Final = toolbox(ROWS)

SPEC: Final = DialectSpec(
    name=_NAME,
    title="OLLM CLI, hook system",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "session_start",
            EventName.SESSION_END: "session_end",
            EventName.BEFORE_AGENT: "before_agent",
            EventName.AFTER_AGENT: "after_agent",
            EventName.BEFORE_MODEL: "before_model",
            EventName.AFTER_MODEL: "after_model",
            EventName.BEFORE_TOOL_SELECTION: "before_tool_selection",
            EventName.BEFORE_TOOL: "before_tool",
            EventName.AFTER_TOOL: "after_tool",
            EventName.TOOL_FAILED: "after_tool",
            EventName.PRE_COMPRESS: "pre_compress",
            EventName.POST_COMPRESS: "post_compress",
            EventName.NOTIFICATION: "notification",
        }
    ),
    tools=MappingProxyType(_TOOLS.names()),
)

_MODEL: Final = (Field("model", "model", default="model"),)
_FIELDS: Final = {
    EventName.BEFORE_MODEL: _MODEL,
    EventName.AFTER_MODEL: _MODEL,
}
_TAKEN: Final = ("session_id", "sessionId", "tool_name", "args", "cwd", "timestamp")
_OBJECTS: Final = {"session": SESSION_KEYS}

_LAYOUT: Final = Layout(
    dialect=_NAME,
    where="data",
    names=names(SPEC.events, {"after_tool": failed_by_error}),
    tools=_TOOLS,
    shapes=shapes_with_error(_FIELDS, taken=_TAKEN, objects=_OBJECTS),
    foreign=shape(taken=_TAKEN, objects=_OBJECTS),
    tool=("tool_name",),
    args=("args",),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Say an event to a hook of this dialect."""
    return Request(event=event, later=partial(_document, event))


def _document(event: Event) -> dict[str, object]:
    data: dict[str, object] = {}
    if event.session.id:
        data["session_id"] = data["sessionId"] = event.session.id
    if event.timestamp:
        data["timestamp"] = _read.to_iso(event.timestamp)
    if session := write_session(event.session, without=("id",)):
        data["session"] = session
    _LAYOUT.write(event, data)
    if event.name is EventName.TOOL_FAILED and not data.get("error"):
        data["error"] = NO_MESSAGE
    return {"event": _LAYOUT.names.say(event), "data": data}


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Read an event as a host of this dialect says it."""
    document = _read.load_object(raw, dialect=_NAME)
    native = _read.need_text(document.get("event"), "event", dialect=_NAME)
    data = _read.obj(document.get("data"), "data", dialect=_NAME)
    known = {"id": ""}
    for key in ("sessionId", "session_id"):
        known["id"] = _read.text(data.pop(key, None), f"data.{key}", dialect=_NAME) or known["id"]
    session = read_session(data, "data.session", dialect=_NAME, known=known)
    at = data.pop("timestamp", None)
    timestamp = 0 if at is None else _read.from_iso(at, "data.timestamp", dialect=_NAME)
    return _LAYOUT.read(native, data, session=session, timestamp=timestamp)


_MANNERS: Final = _reply.Manners(dialect=_NAME)
_WORDS: Final = {"allow": Decision.ALLOW, "ask": Decision.ASK, "deny": Decision.DENY, "block": Decision.DENY}
_TEXTS: Final = {
    "context": EffectKind.CONTEXT,
    "message": EffectKind.MESSAGE,
    "askAgent": EffectKind.ASK_AGENT,
}


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered."""
    return _reply.read_reply(reply, request, read=_read_answer, manners=_MANNERS)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    goes_on = document.get("continue")
    if not isinstance(goes_on, bool):
        raise _read.wrong(goes_on, "continue", dialect=_NAME, wanted="true or false")
    said = _read.text(document.get("systemMessage"), "systemMessage", dialect=_NAME)
    error = _read.text(document.get("error"), "error", dialect=_NAME)
    data = dict(_read.obj(document.get("data"), "data", dialect=_NAME))
    if goes_on and not data and not error:
        return Verdict(effects=(Effect(EffectKind.CONTEXT, said),) if said else ())
    decision = _decision(data, goes_on=goes_on)
    blocks = decision >= Decision.ASK
    why = data.pop("reason") if decision is Decision.ALLOW and isinstance(data.get("reason"), str) else ""
    context = (Effect(EffectKind.CONTEXT, said),) if said and not blocks else ()
    return Verdict(
        decision=decision,
        reason=said if blocks else str(why),
        effects=(*_effects(data, request.event), *context, *_handed_on(data)),
        failure=Failure(FailureKind.HOOK_ERROR, error) if error else None,
        ends=not goes_on or decision is Decision.STOP,
    )


def _decision(data: dict[str, object], *, goes_on: bool) -> Decision:
    """Take the decision out of the data; a word we do not know is the hook's own and stays."""
    word = data.get("decision")
    said = _WORDS.get(word) if isinstance(word, str) else None
    if said is not None:
        del data["decision"]
    if goes_on:
        return said or Decision.PASS
    if data.get("stop") is True:
        del data["stop"]
        return Decision.STOP
    return Decision.ASK if said is Decision.ASK else Decision.DENY


def _effects(data: dict[str, object], event: Event) -> tuple[Effect, ...]:
    effects: list[Effect] = []
    if event.tool and "args" in data:
        effects += _reply.args_effects(data.pop("args"), event, tools=_TOOLS, where="data.args", dialect=_NAME)
    if "result" in data:
        effects.append(Effect(EffectKind.REWRITE, data.pop("result"), ("output",)))
    for key, kind in _TEXTS.items():
        found = _reply.loose_texts(data.get(key), kind)
        if found is not None:
            effects += found
            data.pop(key, None)
    return tuple(effects)


def _handed_on(data: Mapping[str, object]) -> tuple[Effect, ...]:
    return tuple(Effect(EffectKind.DATA, value, (str(key),)) for key, value in data.items())


_OWN_WORDS: Final = frozenset({"args", "result", "decision", "reason", "stop", *_TEXTS})
_ANSWER_WORDS: Final = {Decision.ALLOW: "allow", Decision.ASK: "ask"}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to a host of this dialect."""
    parts = _reply.parts(outcome, event, tools=_TOOLS)
    blocks = outcome.decision >= Decision.ASK
    handed_on = parts.data if isinstance(parts.data, dict) else {}
    data = _reply.present(
        {
            "decision": _ANSWER_WORDS.get(outcome.decision, UNSET),
            "reason": parts.reason if outcome.decision is Decision.ALLOW else UNSET,
            "stop": True if outcome.decision is Decision.STOP else UNSET,
            "args": parts.args,
            "result": parts.output,
            "context": parts.context if blocks else UNSET,
            "message": parts.messages,
            "askAgent": parts.prompts,
            # a datum under one of these names would be taken for a decision or an effect
            **{key: value for key, value in handed_on.items() if key not in _OWN_WORDS},
        }
    )
    return _reply.answer(
        {
            "continue": not blocks,
            "systemMessage": parts.reason if blocks else _reply.joined(parts.context),
            "data": data or UNSET,
        }
    )
