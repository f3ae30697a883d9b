"""OLLM CLI, hook protocol 1.0.0: `event`, `context` and `metadata` in, `allow`, `message` and `metadata` out.

Ours where the document has no field: the name and arguments of a tool in `on-approval-request` (which also stand
in for a missing `operation` and `details`), `cwd` in the context, and in the answer's `metadata` everything but plain yes and no (`decision`, `stop`, `modifiedArgs`,
`modifiedResult`, `context`, `messages`, `askAgent`, `data`, `reason`).

`allow: true` means "go on" everywhere but at `on-approval-request`, where it is the approval itself. So "no
opinion" is said there as a question: `allow: false` with `decision: "ask"`.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline.dialects import _read, _reply
from hookline.dialects._fields import (
    SESSION_KEYS,
    Field,
    Layout,
    Shape,
    Shapes,
    names,
    read_session,
    shape,
    write_session,
)
from hookline.dialects._ollm import DASHED_ROWS
from hookline.dialects._tools import toolbox
from hookline.errors import DialectError
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook, OnError
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "ollm-protocol"
_VERSION: Final = "1.0.0"
_TOOLS: Final = toolbox(DASHED_ROWS)

SPEC: Final = DialectSpec(
    name=_NAME,
    title="OLLM CLI, hook protocol 1.0.0",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "on-session-start",
            EventName.SESSION_END: "on-session-end",
            EventName.BEFORE_MODEL: "pre-execution",
            EventName.AFTER_MODEL: "post-execution",
            EventName.BEFORE_TOOL: "pre-tool-call",
            EventName.AFTER_TOOL: "post-tool-call",
            EventName.TOOL_FAILED: "post-tool-call",
            EventName.PERMISSION_REQUEST: "on-approval-request",
            EventName.CONTEXT_OVERFLOW: "on-context-overflow",
            EventName.FILE_CREATED: "on-file-change",
            EventName.FILE_EDITED: "on-file-change",
            EventName.FILE_DELETED: "on-file-change",
            EventName.GIT_COMMIT: "on-git-commit",
            EventName.ERROR: "on-error",
            EventName.CUSTOM: "custom",
        }
    ),
    tools=MappingProxyType(_TOOLS.names()),
    timeout=5.0,
    on_error=OnError.BLOCK,
)

_ERROR: Final = (
    Field("error", "error.message"),
    Field("error_type", "error.type"),
    Field("error_code", "error.code"),
    Field("error_stack", "error.stack"),
)
_FILE: Final = (
    Field("path", "file"),
    Field("size", "changes.size"),
    Field("changed", "changes.timestamp", time=True),
)
_DURATION: Final = Field("duration", "metrics.duration")

_FIELDS: Final[Mapping[EventName, tuple[Field, ...]]] = {
    EventName.BEFORE_MODEL: (
        Field("model", "config.model", default="model"),
        Field("temperature", "config.temperature"),
    ),
    EventName.AFTER_MODEL: (_DURATION, Field("tokens", "metrics.tokens")),
    EventName.AFTER_TOOL: (_DURATION,),
    EventName.TOOL_FAILED: (_DURATION, *_ERROR),
    EventName.ERROR: _ERROR,
    EventName.FILE_CREATED: _FILE,
    EventName.FILE_EDITED: _FILE,
    EventName.FILE_DELETED: _FILE,
    EventName.SESSION_END: (
        Field("ended", "session.endTime", time=True),
        Field("duration", "session.duration"),
        Field("message_count", "session.messageCount"),
    ),
    EventName.CONTEXT_OVERFLOW: (
        Field("size", "context.size"),
        Field("max_size", "context.maxSize"),
        Field("utilization", "context.utilization"),
    ),
    EventName.CUSTOM: (Field("event_name", "eventName"), Field("payload", "data")),
}
_MARKS: Final[Mapping[EventName, tuple[tuple[str, object], ...]]] = {
    EventName.AFTER_TOOL: (("metrics.success", True),),
    EventName.TOOL_FAILED: (("metrics.success", False),),
    EventName.FILE_CREATED: (("changes.type", "created"),),
    EventName.FILE_EDITED: (("changes.type", "modified"),),
    EventName.FILE_DELETED: (("changes.type", "deleted"),),
}
_TAKEN: Final = ("tool", "args", "cwd")
_OBJECTS: Final = {"session": SESSION_KEYS}


def _shape(name: EventName) -> Shape:
    return shape(
        _FIELDS.get(name, ()),
        marks=_MARKS.get(name, ()),
        taken=_TAKEN,
        objects=_OBJECTS,
        scalars={"error": "error"} if name in {EventName.TOOL_FAILED, EventName.ERROR} else {},
    )


def _tool_event(context: Mapping[str, object]) -> EventName:
    metrics = context.get("metrics")
    success = metrics.get("success") if isinstance(metrics, dict) else None
    if not isinstance(success, bool):
        success = not context.get("error")
    return EventName.AFTER_TOOL if success else EventName.TOOL_FAILED


def _file_event(context: Mapping[str, object]) -> EventName:
    changes = context.get("changes")
    kind = changes.get("type") if isinstance(changes, dict) else None
    return next((name for name, marks in _MARKS.items() if marks == (("changes.type", kind),)), EventName.FILE_EDITED)


_LAYOUT: Final = Layout(
    dialect=_NAME,
    where="context",
    names=names(SPEC.events, {"post-tool-call": _tool_event, "on-file-change": _file_event}),
    tools=_TOOLS,
    shapes=Shapes(_shape),
    foreign=shape(taken=_TAKEN, objects=_OBJECTS),
    tool=("tool",),
    args=("args",),
)


def encode_event(event: Event, hook: Hook) -> Request:
    """Say an event to a hook of this dialect."""
    return Request(event=event, later=partial(_document, event, hook))


def _document(event: Event, hook: Hook) -> dict[str, object]:
    session: dict[str, object] = {
        "id": event.session.id,
        "user": event.session.user,
        **write_session(event.session, without=("id", "user")),
    }
    if event.name is EventName.SESSION_START:
        session.setdefault("config", {})
    context: dict[str, object] = {"session": session}
    _LAYOUT.write(event, context)
    if event.name is EventName.PERMISSION_REQUEST and event.tool:
        # what the document promises hooks here, for hosts that ask about a tool and say no more
        context.setdefault("operation", context["tool"])
        context.setdefault("details", context["args"])
    metadata: dict[str, object] = {"hookName": hook.name or hook.id, "sessionId": event.session.id}
    if event.timestamp:
        metadata["timestamp"] = _read.to_iso(event.timestamp)
    if hook.version:
        metadata["hookVersion"] = hook.version
    return {"event": _LAYOUT.names.say(event), "context": context, "metadata": metadata}


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Read an event as a host of this dialect says it."""
    document = _read.load_object(raw, dialect=_NAME)
    _check_version(document)
    native = _read.need_text(document.get("event"), "event", dialect=_NAME)
    context = document.get("context")
    if not isinstance(context, dict):
        raise _read.wrong(context, "context", dialect=_NAME, wanted="an object")
    metadata = _read.obj(document.get("metadata"), "metadata", dialect=_NAME)
    session = read_session(context, "context.session", dialect=_NAME)
    session_id = _read.text(metadata.get("sessionId"), "metadata.sessionId", dialect=_NAME)
    if session_id and not session.id:
        session = replace(session, id=session_id)
    if native == SPEC.events[EventName.PERMISSION_REQUEST] and context.get("tool"):
        _drop_repeated(context)
    at = metadata.get("timestamp")
    timestamp = 0 if at is None else _read.from_iso(at, "metadata.timestamp", dialect=_NAME)
    return _LAYOUT.read(native, context, session=session, timestamp=timestamp)


def _drop_repeated(context: dict[str, object]) -> None:
    """Take out what only says again which tool is meant."""
    for key, original in (("operation", "tool"), ("details", "args")):
        if key in context and original in context and _read.same(context[key], context[original]):
            del context[key]


def _check_version(document: Mapping[str, object]) -> None:
    version = document.get("version")
    if version is None:
        return
    spoken = _read.need_text(version, "version", dialect=_NAME)
    if spoken.split(".")[0] != _VERSION.split(".")[0]:
        raise DialectError(
            f"protocol version {_read.shown(spoken)} is not understood, this is version {_VERSION}",
            dialect=_NAME,
            where="version",
        )


_MANNERS: Final = _reply.Manners(dialect=_NAME)
_WORDS: Final = {
    "pass": Decision.PASS,
    "allow": Decision.ALLOW,
    "ask": Decision.ASK,
    "deny": Decision.DENY,
    "block": Decision.DENY,
}


# words in an answer's metadata that mean something to us; most answers have none
_OUR_WORDS: Final = frozenset(
    {"decision", "stop", "reason", "error", "modifiedArgs", "modifiedResult", "context", "messages", "askAgent", "data"}
)


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered."""
    return _reply.read_reply(reply, request, read=_read_answer, manners=_MANNERS)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    if "version" in document:
        _check_version(document)
    allow = document.get("allow")
    if not isinstance(allow, bool):
        raise _read.wrong(allow, "allow", dialect=_NAME, wanted="true or false")
    message = _read.text(document.get("message"), "message", dialect=_NAME)
    metadata = _read.obj(document.get("metadata"), "metadata", dialect=_NAME)
    if allow and _OUR_WORDS.isdisjoint(metadata):
        approves = request.event.name is EventName.PERMISSION_REQUEST
        return Verdict(
            decision=Decision.ALLOW if approves else Decision.PASS,
            effects=(Effect(EffectKind.MESSAGE, message),) if message else (),
            metadata=metadata,
        )
    decision = _decision(metadata, request.event.name, allow=allow)
    reason = metadata.get("reason")
    blocks = decision >= Decision.ASK
    return Verdict(
        decision=decision,
        reason=(message if blocks else "") or (reason if isinstance(reason, str) else ""),
        effects=_effects(metadata, request.event, message="" if blocks else message),
        failure=None if allow else _own_error(metadata, message),
        ends=decision is Decision.STOP,
        metadata=metadata,
    )


def _decision(metadata: Mapping[str, object], event: EventName, *, allow: bool) -> Decision:
    word = metadata.get("decision")
    said = _WORDS.get(word) if isinstance(word, str) else None
    if allow:
        approves = event is EventName.PERMISSION_REQUEST and said is None
        return Decision.ALLOW if approves else said or Decision.PASS
    if metadata.get("stop") is True:
        return Decision.STOP
    return Decision.ASK if said is Decision.ASK else Decision.DENY


def _own_error(metadata: Mapping[str, object], message: str) -> Failure | None:
    """Give the error a hook reports about itself when it blocks because it could not judge."""
    error = metadata.get("error")
    if not error:
        return None
    said = error if isinstance(error, str) else _read.shown(error)
    return Failure(FailureKind.HOOK_ERROR, f"{said}: {message}" if message else said)


def _effects(metadata: Mapping[str, object], event: Event, *, message: str) -> tuple[Effect, ...]:
    data = metadata.get("data")
    return (
        *_reply.args_effects(
            metadata.get("modifiedArgs"), event, tools=_TOOLS, where="metadata.modifiedArgs", dialect=_NAME
        ),
        *_reply.output_effects(metadata, "modifiedResult"),
        # the rest of the metadata is the hook's own business: what does not fit here is only kept
        *(_reply.loose_texts(metadata.get("context"), EffectKind.CONTEXT) or ()),
        *(_reply.loose_texts([message], EffectKind.MESSAGE) or ()),
        *(_reply.loose_texts(metadata.get("messages"), EffectKind.MESSAGE) or ()),
        *(_reply.loose_texts(metadata.get("askAgent"), EffectKind.ASK_AGENT) or ()),
        *(_reply.data_effects(data, where="metadata.data", dialect=_NAME) if isinstance(data, dict) else ()),
    )


_ANSWER_WORDS: Final = {Decision.ALLOW: "allow", Decision.ASK: "ask"}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to a host of this dialect."""
    decision = outcome.decision
    if decision is Decision.PASS and event.name is EventName.PERMISSION_REQUEST:
        decision = Decision.ASK
    parts = _reply.parts(outcome, event, tools=_TOOLS)
    blocks = decision >= Decision.ASK
    metadata = _reply.present(
        {
            "decision": _ANSWER_WORDS.get(decision, UNSET),
            "stop": True if decision is Decision.STOP else UNSET,
            "reason": UNSET if blocks else parts.reason,
            "modifiedArgs": parts.args,
            "modifiedResult": parts.output,
            "context": parts.context,
            "messages": parts.messages if blocks else UNSET,
            "askAgent": parts.prompts,
            "data": parts.data,
        }
    )
    return _reply.answer(
        {
            "allow": not blocks,
            "message": parts.reason if blocks else _reply.joined(parts.messages),
            "metadata": metadata or UNSET,
        }
    )
