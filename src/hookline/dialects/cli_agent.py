"""CLI-Agent, whose hooks are compatible with Claude Code's: exit codes, JSON on stdout, templates.

A hook finds the document's names and Claude Code's in one flat object: `tool_args` and `tool_input`, `result` and
`tool_response`, `prompt` and `user_input`. A failed tool has `error` beside it. Answers may be the document's (`continue`,
`decision`, `reason`, `metadata`, `modified_args`) or Claude Code's.

Text on stdout is not an answer: hooks here are shell lines that print their input, and a model chooses that input. JSON with
other text around it can block, and nothing else.

Our additions to the document: `session` in the payload; `decision: "ask"`, `modified_result`, `additionalContext`,
`systemMessage`, `stopReason`, `askAgent` and `data` in the answer.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline.dialects import _codec, _json_reader
from hookline.dialects._codec import ERROR_TAKEN, NO_MESSAGE, SESSION, BodyCodec, EventNames, Field, field_maps
from hookline.dialects._json_reader import JsonReader, decision_words, key_set
from hookline.dialects._reply_codec import EffectKeys, ReplyRules, encode_answer
from hookline.dialects._tools import ONE_URL, TIMEOUT_MS, edits, tool_map, tool_row
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.exchange import Answer, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, EffectKind, Outcome, Verdict

_NAME: Final = "cli-agent"
_READER: Final = JsonReader(_NAME)

_EDITS: Final = edits({"old": "old_string", "new": "new_string"})

# the program's own tools first, then Claude Code's, because its hooks and matchers work here
_TOOLS: Final = tool_map(
    tool_row("shell", "bash_execute"),
    tool_row("read_file", "read_file", keys="path=file_path"),
    tool_row("write_file", "write_file", keys="path=file_path"),
    tool_row("edit_file", "replace_in_file", keys="path=file_path old=old_text new=new_text"),
    tool_row("multi_edit", "multiedit MultiEdit", keys="path=file_path", codecs=(_EDITS,)),
    tool_row("list_dir", "list_directory", keys="path=directory_path"),
    tool_row("glob", "glob Glob"),
    tool_row("grep", "grep"),
    tool_row("web_fetch", "webfetch WebFetch", codecs=(ONE_URL,)),
    tool_row("web_search", "websearch WebSearch"),
    tool_row("subagent", "task", keys="type=role"),
    tool_row("todo", "todo_write TodoWrite"),
    tool_row("todo", "todo_read"),
    tool_row("shell", "Bash", keys="background=run_in_background", codecs=(TIMEOUT_MS,)),
    tool_row("read_file", "Read", keys="path=file_path"),
    tool_row("write_file", "Write", keys="path=file_path"),
    tool_row("edit_file", "Edit", keys="path=file_path old=old_string new=new_string"),
    tool_row("list_dir", "LS"),
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="CLI-Agent, compatible with Claude Code",
    events=_codec.parse_events(
        "before_tool=PreToolUse after_tool=PostToolUse tool_failed=PostToolUse notification=Notification "
        "after_agent=Stop"
    ),
    tools=_TOOLS.names_by_tool(),
    shell=True,
    templates=True,
    matcher=MatcherStyle.PATTERN,
)

_DURATION: Final = Field("duration", "execution_time")
_BODY: Final = BodyCodec(
    dialect=_NAME,
    where="",
    names=EventNames(SPEC.events, {"PostToolUse": _codec.tool_event_by_error}),
    tools=_TOOLS,
    field_maps=field_maps(
        {
            EventName.AFTER_TOOL: (Field("result", "result", mirror="tool_response"), _DURATION),
            EventName.TOOL_FAILED: (_DURATION,),
        },
        taken=("hook_event_name", "session_id", "timestamp", "cwd", "tool_name", "tool_args", "tool_input"),
        taken_at=ERROR_TAKEN,
        objects=SESSION,
    ),
    tool=("tool_name",),
    args=("tool_args", "tool_input"),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Return the request for a hook of this dialect."""
    document: dict[str, object] = {"hook_event_name": _BODY.names.encode(event), "session_id": event.session.id}
    if event.timestamp:
        document["timestamp"] = _json_reader.to_iso(event.timestamp)
    if session := _codec.write_session(event.session, without=("id",)):
        document["session"] = session
    _BODY.write(event, document)
    if event.name is EventName.TOOL_FAILED and not document.get("error"):
        document["error"] = NO_MESSAGE
    if "prompt" in event.data:
        document.setdefault("user_input", event.data["prompt"])
    return Request(event=event, document=document, values=document)


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Return the event of a document."""
    document = _READER.load_object(raw)
    native = _READER.require_text(document.pop("hook_event_name", None), "hook_event_name")
    known = {"id": _READER.pop_text(document, "session_id")}
    timestamp = _READER.read_time(document.pop("timestamp", None), "timestamp")
    session = _codec.read_session(document, "session", _READER, known=known)
    event = _BODY.read(native, document, session=session, timestamp=timestamp)
    data = dict(event.data)
    if "user_input" in data and "prompt" in data:
        if _json_reader.is_equal(data["prompt"], data["user_input"]):
            del data["user_input"]
    elif "user_input" in data and "prompt" in EVENTS[event.name].fields:
        data["prompt"] = data.pop("user_input")
    return replace(event, data=data)


_WORDS: Final = decision_words("approve=allow allow=allow modify=pass ask=ask block=deny deny=deny")
_PERMISSIONS: Final = {"allow": Decision.ALLOW, "ask": Decision.ASK, "deny": Decision.DENY}
_OWN: Final = "hookSpecificOutput."


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    event = request.event
    own = _READER.get_object(document, "hookSpecificOutput")
    goes_on = _READER.get_flag(document, "continue")
    decision = max(
        _read_word(document, "decision", _WORDS), _read_word(own, "permissionDecision", _PERMISSIONS, within=_OWN)
    )
    stop_reason = _READER.get_text(document, "stopReason")
    if goes_on is False:
        # a question stays a question, and everything else blocks
        halted = Decision.ASK if decision is Decision.ASK else Decision.DENY
        decision = Decision.STOP if document.get("stopReason") is not None else halted
    metadata = _READER.get_object(document, "metadata")
    reason = _READER.get_text(document, "reason")
    own_reason = _READER.get_text(own, "permissionDecisionReason", within=_OWN)
    effects = _RULES.read_effects(document, event)
    own_context = own.get("additionalContext")
    return Verdict(
        decision=decision,
        reason=(stop_reason if decision is Decision.STOP else "") or reason or own_reason,
        effects=(
            *_RULES.args_effects(own.get("updatedInput"), event, where=f"{_OWN}updatedInput"),
            *effects,
            *_RULES.text_effects(own_context, EffectKind.CONTEXT, where=f"{_OWN}additionalContext"),
        ),
        ends=goes_on is False,
        notes=("suppressOutput has no meaning here",) if "suppressOutput" in document else (),
        metadata={**_RULES.extra_keys(document), **metadata},
    )


def _read_word(part: Mapping[str, object], key: str, words: Mapping[str, Decision], within: str = "") -> Decision:
    return _READER.read_decision(part.get(key), within + key, words, wanted=f"one of {', '.join(words)}")


_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set(
        "continue decision reason metadata modified_args modified_result stopReason data hookSpecificOutput "
        "additionalContext systemMessage askAgent hookSpecificOutput.hookEventName hookSpecificOutput.permissionDecision "
        "hookSpecificOutput.permissionDecisionReason hookSpecificOutput.updatedInput hookSpecificOutput.additionalContext"
    ),
    effects=EffectKeys("modified_args", "modified_result", "additionalContext", "systemMessage", "askAgent", "data"),
    tools=_TOOLS,
    allow_empty=True,
    allow_text=True,
    deny_exit=2,
    strict_json=True,
)
decode_reply = _RULES.read_reply

_ANSWER_WORDS: Final = {
    Decision.ALLOW: "approve",
    Decision.ASK: "ask",
    Decision.DENY: "block",
    Decision.STOP: "block",
}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for a host of this dialect."""
    effects = _RULES.write_effects(outcome, event)
    undecided = "modify" if "modified_args" in effects else UNSET
    return encode_answer(
        {
            "continue": outcome.decision < Decision.ASK,
            "decision": _ANSWER_WORDS.get(outcome.decision, undecided),
            "reason": outcome.reason or UNSET,
            "stopReason": outcome.reason if outcome.decision is Decision.STOP else UNSET,
            **effects,
        }
    )
