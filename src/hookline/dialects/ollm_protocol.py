"""OLLM CLI, hook protocol 1.0.0: `event`, `context` and `metadata` in, `allow`, `message` and `metadata` out.

Our additions to the document: the name and arguments of a tool in `on-approval-request` (which also replace a missing `operation`
and `details`), `cwd` in the context, and in the answer's `metadata` everything but plain yes and no (`decision`, `stop`,
`modifiedArgs`, `modifiedResult`, `context`, `messages`, `askAgent`, `data`, `reason`).

`allow: true` means "go on" everywhere but at `on-approval-request`, where it is the approval itself. So no opinion is written there
as a question: `allow: false` with `decision: "ask"`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline.dialects import _codec, _json_reader, _reply_codec
from hookline.dialects._codec import SESSION, BodyCodec, EventNames, Field, field_maps, parse_events, read_session
from hookline.dialects._json_reader import JsonReader, decision_words, key_set
from hookline.dialects._reply_codec import EffectKeys, ReplyRules
from hookline.dialects._tools import tool_map
from hookline.dialects.ollm import TOOL_ROWS
from hookline.errors import DialectError
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Failure, FailureKind, Request
from hookline.model.hook import Hook, OnError
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "ollm-protocol"
_READER: Final = JsonReader(_NAME)
_VERSION: Final = "1.0.0"
# the protocol spells its tools with a dash
_TOOLS: Final = tool_map(*(replace(row, names=row.names[::-1]) for row in TOOL_ROWS))

SPEC: Final = DialectSpec(
    name=_NAME,
    title="OLLM CLI, hook protocol 1.0.0",
    events=parse_events(
        "session_start=on-session-start session_end=on-session-end before_model=pre-execution "
        "after_model=post-execution before_tool=pre-tool-call after_tool=post-tool-call "
        "tool_failed=post-tool-call permission_request=on-approval-request context_overflow=on-context-overflow "
        "file_created=on-file-change file_edited=on-file-change file_deleted=on-file-change "
        "git_commit=on-git-commit error=on-error custom=custom"
    ),
    tools=_TOOLS.names_by_tool(),
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

_FIELDS: Final[Mapping[str, tuple[Field, ...]]] = {
    EventName.BEFORE_MODEL: (
        Field("model", "config.model", default="model"),
        Field("temperature", "config.temperature"),
    ),
    EventName.AFTER_MODEL: (_DURATION, Field("tokens", "metrics.tokens")),
    EventName.AFTER_TOOL: (_DURATION,),
    EventName.TOOL_FAILED: (_DURATION, *_ERROR),
    EventName.ERROR: _ERROR,
    **dict.fromkeys(_codec.FILE_EVENTS, _FILE),
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
_MARKS: Final[Mapping[str, tuple[tuple[str, object], ...]]] = {
    EventName.AFTER_TOOL: (("metrics.success", True),),
    EventName.TOOL_FAILED: (("metrics.success", False),),
    EventName.FILE_CREATED: (("changes.type", "created"),),
    EventName.FILE_EDITED: (("changes.type", "modified"),),
    EventName.FILE_DELETED: (("changes.type", "deleted"),),
}


def _tool_event(context: Mapping[str, object]) -> EventName:
    metrics = context.get("metrics")
    success = metrics.get("success") if isinstance(metrics, dict) else None
    if not isinstance(success, bool):
        success = not context.get("error")
    return EventName.AFTER_TOOL if success else EventName.TOOL_FAILED


def _file_event(context: Mapping[str, object]) -> EventName:
    changes = context.get("changes")
    kind = changes.get("type") if isinstance(changes, dict) else None
    marked = (("changes.type", kind),)
    return EventName(next((name for name, marks in _MARKS.items() if marks == marked), EventName.FILE_EDITED))


_BODY: Final = BodyCodec(
    dialect=_NAME,
    where="context",
    names=EventNames(SPEC.events, {"post-tool-call": _tool_event, "on-file-change": _file_event}),
    tools=_TOOLS,
    field_maps=field_maps(
        _FIELDS,
        taken=("tool", "args", "cwd"),
        marks=_MARKS,
        objects=SESSION,
        scalars={name: {"error": "error"} for name in (EventName.TOOL_FAILED, EventName.ERROR)},
    ),
    tool=("tool",),
    args=("args",),
)


def encode_event(event: Event, hook: Hook) -> Request:
    """Return the request for a hook of this dialect."""
    return Request(event=event, later=partial(_write_event, event, hook))


def _write_event(event: Event, hook: Hook) -> dict[str, object]:
    session: dict[str, object] = {
        "id": event.session.id,
        "user": event.session.user,
        **_codec.write_session(event.session, without=("id", "user")),
    }
    if event.name is EventName.SESSION_START:
        session.setdefault("config", {})
    context: dict[str, object] = {"session": session}
    _BODY.write(event, context)
    if event.name is EventName.PERMISSION_REQUEST and event.tool:
        # fields that the document promises, for hosts that send only the tool
        context.setdefault("operation", context["tool"])
        context.setdefault("details", context["args"])
    metadata: dict[str, object] = {"hookName": hook.name or hook.id, "sessionId": event.session.id}
    if event.timestamp:
        metadata["timestamp"] = _json_reader.to_iso(event.timestamp)
    if hook.version:
        metadata["hookVersion"] = hook.version
    return {"event": _BODY.names.encode(event), "context": context, "metadata": metadata}


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Return the event of a document."""
    document = _READER.load_object(raw)
    _check_version(document)
    native = _READER.require_text(document.get("event"), "event")
    context = document.get("context")
    if not isinstance(context, dict):
        raise _READER.error(context, "context", wanted="an object")
    metadata = _READER.get_object(document, "metadata")
    session = read_session(context, "context.session", _READER)
    session_id = _READER.get_text(metadata, "sessionId", within="metadata.")
    if session_id and not session.id:
        session = replace(session, id=session_id)
    if native == SPEC.events[EventName.PERMISSION_REQUEST] and context.get("tool"):
        # drop what only repeats the tool
        for key, original in (("operation", "tool"), ("details", "args")):
            if key in context and original in context and _json_reader.is_equal(context[key], context[original]):
                del context[key]
    timestamp = _READER.read_time(metadata.get("timestamp"), "metadata.timestamp")
    return _BODY.read(native, context, session=session, timestamp=timestamp)


def _check_version(document: Mapping[str, object]) -> None:
    if document.get("version") is None:
        return
    version = _READER.require_text(document["version"], "version")
    if version.split(".")[0] != _VERSION.split(".")[0]:
        raise DialectError(
            f"protocol version {_json_reader.preview(version)} is not understood, this is version {_VERSION}",
            dialect=_NAME,
            where="version",
        )


_WORDS: Final = decision_words("pass=pass allow=allow ask=ask deny=deny block=deny")


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    _check_version(document)
    allow = document.get("allow")
    if not isinstance(allow, bool):
        raise _READER.error(allow, "allow", wanted="true or false")
    message = _READER.get_text(document, "message")
    metadata = _READER.get_object(document, "metadata")
    word, reason, error = metadata.get("decision"), metadata.get("reason"), metadata.get("error")
    decision = _WORDS.get(word) if isinstance(word, str) else None
    if not allow:
        halted = Decision.ASK if decision is Decision.ASK else Decision.DENY
        decision = Decision.STOP if metadata.get("stop") is True else halted
    elif decision is None:
        decision = Decision.ALLOW if request.event.name is EventName.PERMISSION_REQUEST else Decision.PASS
    failure = None
    if error and not allow:
        # the hook blocks because it could not decide
        text = error if isinstance(error, str) else _json_reader.preview(error)
        failure = Failure(FailureKind.HOOK_ERROR, f"{text}: {message}" if message else text)
    blocks = decision >= Decision.ASK
    return Verdict(
        decision=decision,
        reason=(message if blocks else "") or (reason if isinstance(reason, str) else ""),
        effects=_read_effects(metadata, request.event, message="" if blocks else message),
        failure=failure,
        metadata=metadata,
    )


def _read_effects(metadata: Mapping[str, object], event: Event, *, message: str) -> tuple[Effect, ...]:
    data = metadata.get("data")
    # other metadata belong to the hook: what does not fit here is only kept
    texts = (
        (metadata.get("context"), EffectKind.CONTEXT),
        (message or None, EffectKind.MESSAGE),
        (metadata.get("messages"), EffectKind.MESSAGE),
        (metadata.get("askAgent"), EffectKind.ASK_AGENT),
    )
    return (
        *_RULES.args_effects(metadata.get("modifiedArgs"), event, where="metadata.modifiedArgs"),
        *_reply_codec.output_effects(metadata, "modifiedResult"),
        *(
            effect
            for value, kind in texts
            if value is not None
            for effect in _reply_codec.loose_text_effects(value, kind) or ()
        ),
        *(_RULES.data_effects(data, where="metadata.data") if isinstance(data, dict) else ()),
    )


_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set("allow message metadata version"),
    effects=EffectKeys("modifiedArgs", "modifiedResult", "context", "messages", "askAgent", "data"),
    tools=_TOOLS,
)
decode_reply = _RULES.read_reply

_ANSWER_WORDS: Final = {Decision.ALLOW: "allow", Decision.ASK: "ask"}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for a host of this dialect."""
    decision = outcome.decision
    if decision is Decision.PASS and event.name is EventName.PERMISSION_REQUEST:
        decision = Decision.ASK
    effects = _RULES.write_effects(outcome, event)
    blocks = decision >= Decision.ASK
    reason = outcome.reason or UNSET
    # a message that stands beside a reason is one of several
    message = reason if blocks else _reply_codec.join_texts(effects.pop("messages", UNSET))
    metadata = _reply_codec.drop_unset(
        {
            "decision": _ANSWER_WORDS.get(decision, UNSET),
            "stop": True if decision is Decision.STOP else UNSET,
            "reason": UNSET if blocks else reason,
            **effects,
        }
    )
    return _reply_codec.encode_answer({"allow": not blocks, "message": message, "metadata": metadata or UNSET})
