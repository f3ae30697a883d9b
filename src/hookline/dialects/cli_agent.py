"""CLI-Agent, whose hooks are compatible with Claude Code's: exit codes, JSON on stdout, templates.

A hook finds the document's names and Claude Code's in one flat object: `tool_args` and `tool_input`, `result`
and `tool_response`, `prompt` and `user_input`. A tool that failed has `error` beside it. Answers may be the
document's (`continue`, `decision`, `reason`, `metadata`, `modified_args`) or Claude Code's.

Text on stdout is no answer: hooks here are shell lines that print what they were given, and what they were
given is chosen by a model. JSON with other text around it can block, and nothing else.

Ours where the document has no field: `session` in the payload; `decision: "ask"`, `modified_result`,
`additionalContext`, `systemMessage`, `stopReason`, `askAgent` and `data` in the answer.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

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
from hookline.dialects._tools import ONE_URL, TIMEOUT_MS, Row, edits, toolbox
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "cli-agent"

_FILE: Final = {"path": "file_path"}
_EDITS: Final = edits({"old": "old_string", "new": "new_string"})

# the program's own tools first; Claude Code's after them, because its hooks and matchers are to work here
_TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("bash_execute",)),
        Row(tool="read_file", names=("read_file",), keys=_FILE),
        Row(tool="write_file", names=("write_file",), keys=_FILE),
        Row(tool="edit_file", names=("replace_in_file",), keys={**_FILE, "old": "old_text", "new": "new_text"}),
        Row(tool="multi_edit", names=("multiedit", "MultiEdit"), keys=_FILE, changes=(_EDITS,)),
        Row(tool="list_dir", names=("list_directory",), keys={"path": "directory_path"}),
        Row(tool="glob", names=("glob", "Glob")),
        Row(tool="grep", names=("grep",)),
        Row(tool="web_fetch", names=("webfetch", "WebFetch"), changes=(ONE_URL,)),
        Row(tool="web_search", names=("websearch", "WebSearch")),
        Row(tool="subagent", names=("task",), keys={"type": "role"}),
        Row(tool="todo", names=("todo_write", "TodoWrite")),
        Row(tool="todo", names=("todo_read",)),
        Row(tool="shell", names=("Bash",), keys={"background": "run_in_background"}, changes=(TIMEOUT_MS,)),
        Row(tool="read_file", names=("Read",), keys=_FILE),
        Row(tool="write_file", names=("Write",), keys=_FILE),
        Row(tool="edit_file", names=("Edit",), keys={**_FILE, "old": "old_string", "new": "new_string"}),
        Row(tool="list_dir", names=("LS",)),
    )
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="CLI-Agent, compatible with Claude Code",
    events=MappingProxyType(
        {
            EventName.BEFORE_TOOL: "PreToolUse",
            EventName.AFTER_TOOL: "PostToolUse",
            EventName.TOOL_FAILED: "PostToolUse",
            EventName.NOTIFICATION: "Notification",
            EventName.AFTER_AGENT: "Stop",
        }
    ),
    tools=MappingProxyType(_TOOLS.names()),
    shell=True,
    templates=True,
    matcher=MatcherStyle.PATTERN,
)

_DURATION: Final = Field("duration", "execution_time")
_FIELDS: Final[Mapping[EventName, tuple[Field, ...]]] = {
    EventName.AFTER_TOOL: (Field("result", "result", mirror="tool_response"), _DURATION),
    EventName.TOOL_FAILED: (_DURATION,),
}
_TAKEN: Final = ("hook_event_name", "session_id", "timestamp", "cwd", "tool_name", "tool_args", "tool_input")
_OBJECTS: Final = {"session": SESSION_KEYS}

_LAYOUT: Final = Layout(
    dialect=_NAME,
    where="",
    names=names(SPEC.events, {"PostToolUse": failed_by_error}),
    tools=_TOOLS,
    shapes=shapes_with_error(_FIELDS, taken=_TAKEN, objects=_OBJECTS),
    foreign=shape(taken=_TAKEN, objects=_OBJECTS),
    tool=("tool_name",),
    args=("tool_args", "tool_input"),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Say an event to a hook of this dialect."""
    document: dict[str, object] = {
        "hook_event_name": _LAYOUT.names.say(event),
        "session_id": event.session.id,
    }
    if event.timestamp:
        document["timestamp"] = _read.to_iso(event.timestamp)
    if session := write_session(event.session, without=("id",)):
        document["session"] = session
    _LAYOUT.write(event, document)
    if event.name is EventName.TOOL_FAILED and not document.get("error"):
        document["error"] = NO_MESSAGE
    if "prompt" in event.data:
        document.setdefault("user_input", event.data["prompt"])
    return Request(event=event, document=document, values=document)


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Read an event as a host of this dialect says it."""
    document = _read.load_object(raw, dialect=_NAME)
    native = _read.need_text(document.pop("hook_event_name", None), "hook_event_name", dialect=_NAME)
    known = {"id": _read.text(document.pop("session_id", None), "session_id", dialect=_NAME)}
    at = document.pop("timestamp", None)
    timestamp = 0 if at is None else _read.from_iso(at, "timestamp", dialect=_NAME)
    session = read_session(document, "session", dialect=_NAME, known=known)
    event = _LAYOUT.read(native, document, session=session, timestamp=timestamp)
    return replace(event, data=_one_prompt(event.name, dict(event.data)))


def _one_prompt(name: EventName, data: dict[str, object]) -> dict[str, object]:
    """Keep what the person typed once, under our name where the event has it."""
    if "user_input" not in data:
        return data
    if "prompt" in data:
        if _read.same(data["prompt"], data["user_input"]):
            del data["user_input"]
    elif "prompt" in EVENTS[name].fields:
        data["prompt"] = data.pop("user_input")
    return data


_MANNERS: Final = _reply.Manners(dialect=_NAME, silence=True, chatter=True, deny_exit=2, exact=True)
_WORDS: Final = {
    "approve": Decision.ALLOW,
    "allow": Decision.ALLOW,
    "modify": Decision.PASS,
    "ask": Decision.ASK,
    "block": Decision.DENY,
    "deny": Decision.DENY,
}
_PERMISSIONS: Final = {"allow": Decision.ALLOW, "ask": Decision.ASK, "deny": Decision.DENY}
_KNOWN: Final = frozenset(
    {
        "continue",
        "decision",
        "reason",
        "metadata",
        "modified_args",
        "modified_result",
        "stopReason",
        "additionalContext",
        "systemMessage",
        "askAgent",
        "data",
        "hookSpecificOutput",
    }
)


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered."""
    return _reply.read_reply(reply, request, read=_read_answer, manners=_MANNERS)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    own = _read.obj(document.get("hookSpecificOutput"), "hookSpecificOutput", dialect=_NAME)
    goes_on = document.get("continue")
    if goes_on is not None and not isinstance(goes_on, bool):
        raise _read.wrong(goes_on, "continue", dialect=_NAME, wanted="true or false")
    decision = max(
        _word(document.get("decision"), "decision", words=_WORDS),
        _word(own.get("permissionDecision"), "hookSpecificOutput.permissionDecision", words=_PERMISSIONS),
    )
    stop_reason = _read.text(document.get("stopReason"), "stopReason", dialect=_NAME)
    if goes_on is False:
        decision = _halted(decision, stops=document.get("stopReason") is not None)
    metadata = _read.obj(document.get("metadata"), "metadata", dialect=_NAME)
    others = {key: value for key, value in document.items() if key not in _KNOWN}
    return Verdict(
        decision=decision,
        reason=_reason(document, own, stop_reason=stop_reason if decision is Decision.STOP else ""),
        effects=_effects(document, own, event=request.event),
        ends=goes_on is False,
        notes=("suppressOutput has no meaning here",) if "suppressOutput" in document else (),
        metadata={**others, **metadata},
    )


def _word(word: object, where: str, *, words: Mapping[str, Decision]) -> Decision:
    if word is None:
        return Decision.PASS
    decision = words.get(word) if isinstance(word, str) else None
    if decision is None:
        raise _read.wrong(word, where, dialect=_NAME, wanted=f"one of {', '.join(words)}")
    return decision


def _halted(decision: Decision, *, stops: bool) -> Decision:
    """Say what `continue: false` means beside a decision: a question stays one, everything else blocks."""
    if stops:
        return Decision.STOP
    return Decision.ASK if decision is Decision.ASK else Decision.DENY


def _reason(document: Mapping[str, object], own: Mapping[str, object], *, stop_reason: str) -> str:
    where = "hookSpecificOutput.permissionDecisionReason"
    return (
        stop_reason
        or _read.text(document.get("reason"), "reason", dialect=_NAME)
        or _read.text(own.get("permissionDecisionReason"), where, dialect=_NAME)
    )


def _effects(document: Mapping[str, object], own: Mapping[str, object], *, event: Event) -> tuple[Effect, ...]:
    def said(value: object, kind: EffectKind, where: str) -> tuple[Effect, ...]:
        return _reply.texts(value, kind, where=where, dialect=_NAME)

    own_input = own.get("updatedInput")
    return (
        *_reply.args_effects(own_input, event, tools=_TOOLS, where="hookSpecificOutput.updatedInput", dialect=_NAME),
        *_reply.args_effects(document.get("modified_args"), event, tools=_TOOLS, where="modified_args", dialect=_NAME),
        *_reply.output_effects(document, "modified_result"),
        *said(document.get("additionalContext"), EffectKind.CONTEXT, "additionalContext"),
        *said(own.get("additionalContext"), EffectKind.CONTEXT, "hookSpecificOutput.additionalContext"),
        *said(document.get("systemMessage"), EffectKind.MESSAGE, "systemMessage"),
        *said(document.get("askAgent"), EffectKind.ASK_AGENT, "askAgent"),
        *_reply.data_effects(document.get("data"), where="data", dialect=_NAME),
    )


_ANSWER_WORDS: Final = {
    Decision.ALLOW: "approve",
    Decision.ASK: "ask",
    Decision.DENY: "block",
    Decision.STOP: "block",
}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to a host of this dialect."""
    parts = _reply.parts(outcome, event, tools=_TOOLS)
    unspoken = "modify" if parts.args is not UNSET else UNSET
    return _reply.answer(
        {
            "continue": outcome.decision < Decision.ASK,
            "decision": _ANSWER_WORDS.get(outcome.decision, unspoken),
            "reason": parts.reason,
            "stopReason": outcome.reason if outcome.decision is Decision.STOP else UNSET,
            "modified_args": parts.args,
            "modified_result": parts.output,
            "additionalContext": parts.context,
            "systemMessage": parts.messages,
            "askAgent": parts.prompts,
            "data": parts.data,
        }
    )
