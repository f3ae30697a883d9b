"""Ollama CLI, 14 lifecycle hooks: one payload in, `permissionDecision` and `reason` out.

The document's hooks read the event's own fields at the top level, its payload shows them under `data`: both
are there. A tool call is `tool`, `tool_name` and `tool_input`, and each argument also stands by itself where
no other field has its name. A failed tool's error is flat: `error` is the message, then `error_type`,
`error_code` and `error_stack`; an error that comes as an object is taken apart the same way.

Ours where the document has no field: `cwd` and `session` in `data`; `continue`, `stopReason`, `updatedInput`,
`updatedOutput`, `additionalContext`, `systemMessage`, `askAgent` and `data` in the answer.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET

from hookline.dialects import _read, _reply
from hookline.dialects._fields import SESSION_KEYS, Layout, names, read_session, shape, write_session
from hookline.dialects._tools import ONE_URL, Row, toolbox
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "ollama-cli"

_TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("bash", "Bash", "shell_exec")),
        Row(tool="read_file", names=("Read", "file_read")),
        Row(tool="write_file", names=("file_write",)),
        Row(
            tool="edit_lines",
            names=("file_edit",),
            keys={"first": "startLine", "last": "endLine", "text": "newContent"},
        ),
        Row(tool="glob", names=("Glob",), keys={"path": "directory"}),
        Row(tool="grep", names=("Grep", "grep_search"), keys={"path": "directory"}),
        Row(tool="web_fetch", names=("web_fetch",), changes=(ONE_URL,)),
    )
)

SPEC: Final = DialectSpec(
    name=_NAME,
    title="Ollama CLI, lifecycle hooks",
    events=MappingProxyType(
        {
            EventName.SETUP: "Setup",
            EventName.SESSION_START: "SessionStart",
            EventName.SESSION_END: "SessionEnd",
            EventName.BEFORE_AGENT: "UserPromptSubmit",
            EventName.BEFORE_TOOL: "PreToolUse",
            EventName.AFTER_TOOL: "PostToolUse",
            EventName.TOOL_FAILED: "PostToolUseFailure",
            EventName.PERMISSION_REQUEST: "PermissionRequest",
            EventName.SKILL_TRIGGER: "SkillTrigger",
            EventName.PRE_COMPRESS: "PreCompact",
            EventName.AFTER_AGENT: "Stop",
            EventName.SUBAGENT_START: "SubagentStart",
            EventName.SUBAGENT_STOP: "SubagentStop",
            EventName.NOTIFICATION: "Notification",
        }
    ),
    tools=MappingProxyType(_TOOLS.names()),
)

_RESERVED: Final = frozenset({"hook", "timestamp", "session_id", "model", "provider", "data"})
_SHAPE: Final = shape(taken=("tool", "tool_name", "tool_input", "cwd"), objects={"session": SESSION_KEYS})

_LAYOUT: Final = Layout(
    dialect=_NAME,
    where="data",
    names=names(SPEC.events),
    tools=_TOOLS,
    shapes=dict.fromkeys(EventName, _SHAPE),
    foreign=_SHAPE,
    tool=("tool", "tool_name"),
    args=("tool_input",),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Say an event to a hook of this dialect."""
    return Request(event=event, later=partial(_document, event), env=_environment(event))


def _document(event: Event) -> dict[str, object]:
    session = event.session
    data: dict[str, object] = {}
    if rest := write_session(session, without=("id", "model", "provider")):
        data["session"] = rest
    _LAYOUT.write(event, data, flatten=True)
    document: dict[str, object] = {
        "hook": _LAYOUT.names.say(event),
        "timestamp": _read.to_iso(event.timestamp) if event.timestamp else None,
        "session_id": session.id,
        "model": session.model,
        "provider": session.provider,
        "data": data,
    }
    document.update((key, value) for key, value in data.items() if key not in _RESERVED)
    return document


def _environment(event: Event) -> dict[str, str]:
    values = {
        "OLLAMA_PROJECT_DIR": event.cwd,
        "OLLAMA_SESSION_ID": event.session.id,
        "OLLAMA_MODEL": event.session.model,
        "OLLAMA_PROVIDER": event.session.provider,
        "OLLAMA_HOOKS_ENABLED": "true",
    }
    # no environment can hold a NUL, and a guard must start whatever the session is called
    return {key: value.replace("\0", "") for key, value in values.items()}


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Read an event as a host of this dialect says it."""
    document = _read.load_object(raw, dialect=_NAME)
    native = _read.need_text(document.get("hook"), "hook", dialect=_NAME)
    data = _read.obj(document.get("data"), "data", dialect=_NAME)
    top = {key: value for key, value in document.items() if key not in _RESERVED}
    # a host that says the call at the top level has its arguments there, and other things under `data`
    flat_args = top if "tool" in top or "tool_name" in top else data
    body = {**top, **data}
    known = {
        attribute: _read.text(document.get(key), key, dialect=_NAME)
        for attribute, key in (("id", "session_id"), ("model", "model"), ("provider", "provider"))
    }
    at = document.get("timestamp")
    timestamp = 0 if at is None else _read.from_iso(at, "timestamp", dialect=_NAME)
    session = read_session(body, "data.session", dialect=_NAME, known=known)
    return _LAYOUT.read(native, body, session=session, timestamp=timestamp, flat_args=flat_args)


_MANNERS: Final = _reply.Manners(dialect=_NAME, silence=True)
_WORDS: Final = {"allow": Decision.ALLOW, "ask": Decision.ASK, "deny": Decision.DENY}
_FIELDS: Final = frozenset(
    {
        "permissionDecision",
        "reason",
        "continue",
        "stopReason",
        "updatedInput",
        "updatedOutput",
        "additionalContext",
        "systemMessage",
        "askAgent",
        "data",
    }
)


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered."""
    return _reply.read_reply(reply, request, read=_read_answer, manners=_MANNERS)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    stops = _stops(document.get("continue"))
    decision = Decision.STOP if stops else _permission(document.get("permissionDecision"))
    reason = _read.text(document.get("reason"), "reason", dialect=_NAME)
    stop_reason = _read.text(document.get("stopReason"), "stopReason", dialect=_NAME)
    return Verdict(
        decision=decision,
        reason=(stop_reason or reason) if stops else reason,
        effects=_effects(document, request.event),
        ends=stops,
        metadata={key: value for key, value in document.items() if key not in _FIELDS},
    )


def _stops(goes_on: object) -> bool:
    if goes_on is None or isinstance(goes_on, bool):
        return goes_on is False
    raise _read.wrong(goes_on, "continue", dialect=_NAME, wanted="true or false")


def _permission(word: object) -> Decision:
    if word is None:
        return Decision.PASS
    decision = _WORDS.get(word) if isinstance(word, str) else None
    if decision is None:
        raise _read.wrong(word, "permissionDecision", dialect=_NAME, wanted="allow, deny or ask")
    return decision


def _effects(document: Mapping[str, object], event: Event) -> tuple[Effect, ...]:
    def said(key: str, kind: EffectKind) -> tuple[Effect, ...]:
        return _reply.texts(document.get(key), kind, where=key, dialect=_NAME)

    data = document.get("data")
    return (
        *_reply.args_effects(document.get("updatedInput"), event, tools=_TOOLS, where="updatedInput", dialect=_NAME),
        *_reply.output_effects(document, "updatedOutput"),
        *said("additionalContext", EffectKind.CONTEXT),
        *said("systemMessage", EffectKind.MESSAGE),
        *said("askAgent", EffectKind.ASK_AGENT),
        *_reply.data_effects(data, where="data", dialect=_NAME),
    )


_ANSWER_WORDS: Final = {
    Decision.ALLOW: "allow",
    Decision.ASK: "ask",
    Decision.DENY: "deny",
    Decision.STOP: "deny",
}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to a host of this dialect."""
    parts = _reply.parts(outcome, event, tools=_TOOLS)
    stops = outcome.decision is Decision.STOP
    return _reply.answer(
        {
            "permissionDecision": _ANSWER_WORDS.get(outcome.decision, UNSET),
            "reason": parts.reason,
            "continue": False if stops else UNSET,
            "stopReason": parts.reason if stops else UNSET,
            "updatedInput": parts.args,
            "updatedOutput": parts.output,
            "additionalContext": parts.context,
            "systemMessage": parts.messages,
            "askAgent": parts.prompts,
            "data": parts.data,
        }
    )
