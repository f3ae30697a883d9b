"""Ollama CLI, 14 lifecycle hooks: one payload in, `permissionDecision` and `reason` out.

The document's hooks read the event's own fields at the top level, its payload shows them under `data`: both are there. A tool
call is `tool`, `tool_name` and `tool_input`, and each argument is repeated at the top level where no other field has its name. A
failed tool's error is flat: `error` is the message, then `error_type`, `error_code` and `error_stack`; an error that is an
object is split the same way.

Our additions to the document: `cwd` and `session` in `data`; `continue`, `stopReason`, `updatedInput`, `updatedOutput`,
`additionalContext`, `systemMessage`, `askAgent` and `data` in the answer.
"""

from functools import partial
from typing import Final

from msgspec import UNSET

from hookline.dialects import _codec, _json_reader
from hookline.dialects._codec import SESSION, BodyCodec, EventNames, field_maps, parse_events, read_session
from hookline.dialects._json_reader import JsonReader, key_set
from hookline.dialects._reply_codec import EffectKeys, ReplyRules, encode_answer
from hookline.dialects._tools import ONE_URL, tool_map, tool_row
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.exchange import Answer, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Outcome, Verdict

_NAME: Final = "ollama-cli"
_READER: Final = JsonReader(_NAME)

_TOOLS: Final = tool_map(
    tool_row("shell", "bash Bash shell_exec"),
    tool_row("read_file", "Read file_read"),
    tool_row("write_file", "file_write"),
    tool_row("edit_lines", "file_edit", keys="first=startLine last=endLine text=newContent"),
    tool_row("glob", "Glob", keys="path=directory"),
    tool_row("grep", "Grep grep_search", keys="path=directory"),
    tool_row("web_fetch", "web_fetch", codecs=(ONE_URL,)),
)

SPEC: Final = DialectSpec(
    name=_NAME,
    title="Ollama CLI, lifecycle hooks",
    events=parse_events(
        "setup=Setup session_start=SessionStart session_end=SessionEnd before_agent=UserPromptSubmit "
        "before_tool=PreToolUse after_tool=PostToolUse tool_failed=PostToolUseFailure "
        "permission_request=PermissionRequest skill_trigger=SkillTrigger pre_compress=PreCompact after_agent=Stop "
        "subagent_start=SubagentStart subagent_stop=SubagentStop notification=Notification"
    ),
    tools=_TOOLS.names_by_tool(),
)

_RESERVED: Final = frozenset({"hook", "timestamp", "session_id", "model", "provider", "data"})

_BODY: Final = BodyCodec(
    dialect=_NAME,
    where="data",
    names=EventNames(SPEC.events),
    tools=_TOOLS,
    field_maps=field_maps({}, taken=("tool", "tool_name", "tool_input", "cwd"), objects=SESSION),
    tool=("tool", "tool_name"),
    args=("tool_input",),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Return the request for a hook of this dialect."""
    values = {
        "OLLAMA_PROJECT_DIR": event.cwd,
        "OLLAMA_SESSION_ID": event.session.id,
        "OLLAMA_MODEL": event.session.model,
        "OLLAMA_PROVIDER": event.session.provider,
        "OLLAMA_HOOKS_ENABLED": "true",
    }
    # an environment cannot hold a NUL, and a guard has to start whatever the session is called
    env = {key: value.replace("\0", "") for key, value in values.items()}
    return Request(event=event, later=partial(_write_event, event), env=env)


def _write_event(event: Event) -> dict[str, object]:
    session = event.session
    data: dict[str, object] = {}
    if rest := _codec.write_session(session, without=("id", "model", "provider")):
        data["session"] = rest
    _BODY.write(event, data, flatten=True)
    return {
        "hook": _BODY.names.encode(event),
        "timestamp": _json_reader.to_iso(event.timestamp) if event.timestamp else None,
        "session_id": session.id,
        "model": session.model,
        "provider": session.provider,
        "data": data,
        **{key: value for key, value in data.items() if key not in _RESERVED},
    }


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Return the event of a document."""
    document = _READER.load_object(raw)
    native = _READER.require_text(document.get("hook"), "hook")
    data = _READER.get_object(document, "data")
    top = {key: value for key, value in document.items() if key not in _RESERVED}
    # a host that sends the call at the top level has its arguments there, and other things under `data`
    flat_args = top if "tool" in top or "tool_name" in top else data
    body = {**top, **data}
    names = (("id", "session_id"), ("model", "model"), ("provider", "provider"))
    known = {attribute: _READER.get_text(document, key) for attribute, key in names}
    timestamp = _READER.read_time(document.get("timestamp"), "timestamp")
    session = read_session(body, "data.session", _READER, known=known)
    return _BODY.read(native, body, session=session, timestamp=timestamp, flat_args=flat_args)


_WORDS: Final = {"allow": Decision.ALLOW, "ask": Decision.ASK, "deny": Decision.DENY}


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    stops = _READER.get_flag(document, "continue") is False
    word = None if stops else document.get("permissionDecision")
    decision = _READER.read_decision(word, "permissionDecision", _WORDS, wanted="allow, deny or ask")
    reason, stop_reason = _READER.get_text(document, "reason"), _READER.get_text(document, "stopReason")
    return Verdict(
        decision=Decision.STOP if stops else decision,
        reason=(stop_reason or reason) if stops else reason,
        effects=_RULES.read_effects(document, request.event),
        metadata=_RULES.extra_keys(document),
    )


_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set(
        "permissionDecision reason continue stopReason updatedInput updatedOutput data "
        "additionalContext systemMessage askAgent"
    ),
    effects=EffectKeys("updatedInput", "updatedOutput", "additionalContext", "systemMessage", "askAgent", "data"),
    tools=_TOOLS,
    allow_empty=True,
)
decode_reply = _RULES.read_reply

_ANSWER_WORDS: Final = {Decision.ALLOW: "allow", Decision.ASK: "ask", Decision.DENY: "deny", Decision.STOP: "deny"}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for a host of this dialect."""
    stops = outcome.decision is Decision.STOP
    reason = outcome.reason or UNSET
    return encode_answer(
        {
            "permissionDecision": _ANSWER_WORDS.get(outcome.decision, UNSET),
            # a reason without a decision is not an answer
            "reason": reason if outcome.decision else UNSET,
            "continue": False if stops else UNSET,
            "stopReason": reason if stops else UNSET,
            **_RULES.write_effects(outcome, event),
        }
    )
