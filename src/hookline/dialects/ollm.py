"""OLLM CLI, hook system: `event` and `data` in, `continue`, `systemMessage`, `data` and `error` out.

Our additions to the document: `timestamp`, `cwd` and `session` in `data`; and in the answer's `data` the keys `args`, `result`,
`decision` (with `reason`), `stop`, `message`, `askAgent` and `context`. All other keys of an answer's `data` go to the next hook.
"""

from functools import partial
from typing import Final

from msgspec import UNSET

from hookline.dialects import _codec, _json_reader, _reply_codec
from hookline.dialects._codec import ERROR_TAKEN, NO_MESSAGE, SESSION, BodyCodec, EventNames, Field, field_maps
from hookline.dialects._json_reader import JsonReader, key_set
from hookline.dialects._reply_codec import EffectKeys, ReplyRules
from hookline.dialects._tools import LINES, ONE_EDIT, ONE_URL, OVERWRITE, TIMEOUT_MS, edits, tool_map, tool_row
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Failure, FailureKind, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "ollm"
_READER: Final = JsonReader(_NAME)

_EDITS: Final = edits({"old": "target", "new": "replacement"})

# the tools of OLLM CLI, which its three dialects share
TOOL_ROWS: Final = (
    tool_row("shell", "shell", codecs=(TIMEOUT_MS,)),
    tool_row("read_file", "read_file read-file", codecs=(LINES,)),
    tool_row("read_files", "read_many_files read-many-files", codecs=(LINES,)),
    tool_row("write_file", "write_file write-file", codecs=(OVERWRITE,)),
    tool_row("multi_edit", "edit_file edit-file", codecs=(_EDITS,)),
    # its one editing tool takes a list of edits, so a single edit is sent as a list of one
    tool_row("edit_file", "edit_file edit-file", codecs=(ONE_EDIT, _EDITS)),
    tool_row("list_dir", "ls"),
    tool_row("glob", "glob", keys="path=directory"),
    tool_row("grep", "grep", keys="path=directory include=filePattern"),
    tool_row("web_fetch", "web_fetch web-fetch", codecs=(ONE_URL,)),
    tool_row("web_search", "web_search web-search"),
    tool_row("todo", "write_todos write-todos"),
)
_TOOLS: Final = tool_map(*TOOL_ROWS)

SPEC: Final = DialectSpec(
    name=_NAME,
    title="OLLM CLI, hook system",
    events=_codec.parse_events(
        "session_start=session_start session_end=session_end before_agent=before_agent after_agent=after_agent "
        "before_model=before_model after_model=after_model before_tool_selection=before_tool_selection "
        "before_tool=before_tool after_tool=after_tool tool_failed=after_tool pre_compress=pre_compress "
        "post_compress=post_compress notification=notification"
    ),
    tools=_TOOLS.names_by_tool(),
)

_MODEL: Final = (Field("model", "model", default="model"),)
_BODY: Final = BodyCodec(
    dialect=_NAME,
    where="data",
    names=EventNames(SPEC.events, {"after_tool": _codec.tool_event_by_error}),
    tools=_TOOLS,
    field_maps=field_maps(
        {EventName.BEFORE_MODEL: _MODEL, EventName.AFTER_MODEL: _MODEL},
        taken=("session_id", "sessionId", "tool_name", "args", "cwd", "timestamp"),
        taken_at=ERROR_TAKEN,
        objects=SESSION,
    ),
    tool=("tool_name",),
    args=("args",),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Return the request for a hook of this dialect."""
    return Request(event=event, later=partial(_write_event, event))


def _write_event(event: Event) -> dict[str, object]:
    data: dict[str, object] = {}
    if event.session.id:
        data["session_id"] = data["sessionId"] = event.session.id
    if event.timestamp:
        data["timestamp"] = _json_reader.to_iso(event.timestamp)
    if session := _codec.write_session(event.session, without=("id",)):
        data["session"] = session
    _BODY.write(event, data)
    if event.name is EventName.TOOL_FAILED and not data.get("error"):
        data["error"] = NO_MESSAGE
    return {"event": _BODY.names.encode(event), "data": data}


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Return the event of a document."""
    document = _READER.load_object(raw)
    native = _READER.require_text(document.get("event"), "event")
    data = _READER.get_object(document, "data")
    ids = [_READER.read_text(data.pop(key, None), f"data.{key}") for key in ("session_id", "sessionId")]
    session = _codec.read_session(data, "data.session", _READER, known={"id": ids[0] or ids[1]})
    timestamp = _READER.read_time(data.pop("timestamp", None), "data.timestamp")
    return _BODY.read(native, data, session=session, timestamp=timestamp)


_WORDS: Final = {"allow": Decision.ALLOW, "ask": Decision.ASK, "deny": Decision.DENY, "block": Decision.DENY}


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    goes_on = document.get("continue")
    if not isinstance(goes_on, bool):
        raise _READER.error(goes_on, "continue", wanted="true or false")
    message, error = _READER.get_text(document, "systemMessage"), _READER.get_text(document, "error")
    data = dict(_READER.get_object(document, "data"))
    # an unknown word is the hook's own and stays among the data
    word = data.get("decision")
    decision = _WORDS.get(word, Decision.PASS) if isinstance(word, str) else Decision.PASS
    if decision:
        del data["decision"]
    if not goes_on:
        halted = Decision.ASK if decision is Decision.ASK else Decision.DENY
        decision = Decision.STOP if data.get("stop") is True else halted
    if decision is Decision.STOP:
        del data["stop"]
    blocks = decision >= Decision.ASK
    why = data.pop("reason") if decision is Decision.ALLOW and isinstance(data.get("reason"), str) else ""
    effects = _take_effects(data, request.event)
    context = (Effect(EffectKind.CONTEXT, message),) if message and not blocks else ()
    handed_on = (Effect(EffectKind.DATA, value, (str(key),)) for key, value in data.items())
    return Verdict(
        decision=decision,
        reason=message if blocks else str(why),
        effects=(*effects, *context, *handed_on),
        failure=Failure(FailureKind.HOOK_ERROR, error) if error else None,
        ends=not goes_on,
    )


def _take_effects(data: dict[str, object], event: Event) -> tuple[Effect, ...]:
    """Remove the effects from the data; a value of another type is the hook's own and stays."""
    effects: list[Effect] = []
    if event.tool and "args" in data:
        effects += _RULES.args_effects(data.pop("args"), event, where="data.args")
    if "result" in data:
        effects.append(Effect(EffectKind.REWRITE, data.pop("result"), ("output",)))
    for key, kind in _TEXTS.items():
        texts = _reply_codec.loose_text_effects(data.get(key), kind)
        if texts is not None:
            effects += texts
            data.pop(key, None)
    return tuple(effects)


_TEXTS: Final = {"context": EffectKind.CONTEXT, "message": EffectKind.MESSAGE, "askAgent": EffectKind.ASK_AGENT}
_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set("continue systemMessage data error"),
    effects=EffectKeys("args", "result", "context", "message", "askAgent", "data"),
    tools=_TOOLS,
)
decode_reply = _RULES.read_reply

_OWN_WORDS: Final = key_set("args result decision reason stop context message askAgent")
_ANSWER_WORDS: Final = {Decision.ALLOW: "allow", Decision.ASK: "ask"}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for a host of this dialect."""
    effects = _RULES.write_effects(outcome, event)
    blocks = outcome.decision >= Decision.ASK
    handed_on = _READER.get_object(effects, "data")
    reason, context = outcome.reason or UNSET, effects.get("context", UNSET)
    data = _reply_codec.drop_unset(
        {
            "decision": _ANSWER_WORDS.get(outcome.decision, UNSET),
            "reason": reason if outcome.decision is Decision.ALLOW else UNSET,
            "stop": True if outcome.decision is Decision.STOP else UNSET,
            **effects,
            "context": context if blocks else UNSET,
            "data": UNSET,
            # a datum under one of these keys would be read as a decision or an effect
            **{key: value for key, value in handed_on.items() if key not in _OWN_WORDS},
        }
    )
    return _reply_codec.encode_answer(
        {
            "continue": not blocks,
            "systemMessage": reason if blocks else _reply_codec.join_texts(context),
            "data": data or UNSET,
        }
    )
