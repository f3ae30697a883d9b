"""Cursor: flat documents in snake_case, events in camelCase, and a `permission` in every answer to a permission.

It has events for shell commands, MCP calls and files beside those for all tools: they are the same moments, about
one tool each. An answer is read at exit code 0 only, and 2 is a no. Saying nothing where a permission is awaited has been
taken for a broken answer, so that having no opinion is said, too: `{"permission": "allow"}`. For that reason the word
is no more than "go on" to us.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import UNSET, Struct

from hookline.dialects import _calls, _mcp, _read, _reply
from hookline.dialects._cursor import ABILITIES, NAME, SPEC, TOOLS
from hookline.dialects._fields import Field, Shape, names, shape
from hookline.model.ability import Ability
from hookline.model.dialect import MCP_PREFIX
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

__all__ = ["SPEC", "TOOLS", "decode_event", "decode_reply", "encode_event", "encode_outcome"]

_MCP: Final = "MCP:"
_NAMES: Final = names(SPEC.events)


# how each event's document is filled


class _Fixed(Struct, frozen=True):
    """An event about one tool: its name at the events for all tools, and its arguments, which stand at the top."""

    tool: str
    keys: tuple[str, ...]


_FIXED: Final[Mapping[str, _Fixed]] = {
    "beforeShellExecution": _Fixed("Shell", ("command",)),
    "afterShellExecution": _Fixed("Shell", ("command",)),
    "beforeReadFile": _Fixed("Read", ("file_path",)),
    "beforeTabFileRead": _Fixed("TabRead", ("file_path",)),
    "afterFileEdit": _Fixed("Write", ("file_path", "edits")),
    "afterTabFileEdit": _Fixed("TabWrite", ("file_path", "edits")),
}
_MCP_EVENTS: Final = frozenset({"beforeMCPExecution", "afterMCPExecution"})
_TOOL_EVENTS: Final = frozenset({EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED})
_WITH_CWD: Final = frozenset({"preToolUse", "postToolUse", "postToolUseFailure", "beforeShellExecution"})
_WITH_SESSION: Final = frozenset({"sessionStart", "sessionEnd"})
# results that are JSON in a text
_TEXTS: Final = {"postToolUse": "tool_output", "afterMCPExecution": "result_json"}

_TAKEN: Final = ("conversation_id", "session_id", "hook_event_name", "model", "cwd", "tool_name", "tool_input")
_CALL: Final = Field("call_id", "tool_use_id")
_DURATION: Final = Field("duration", "duration", in_ms=True)
_DURATION_MS: Final = Field("duration", "duration_ms", in_ms=True)
_FIELDS: Final[Mapping[str, tuple[Field, ...]]] = {
    "preToolUse": (_CALL,),
    "postToolUse": (_CALL, Field("result", "tool_output"), _DURATION),
    "postToolUseFailure": (_CALL, Field("error", "error_message"), Field("error_type", "failure_type"), _DURATION),
    "afterShellExecution": (Field("result", "output"), _DURATION),
    "afterMCPExecution": (Field("result", "result_json"), _DURATION),
    "subagentStart": (
        Field("agent_id", "subagent_id"),
        Field("agent_type", "subagent_type"),
        Field("prompt", "task"),
    ),
    "subagentStop": (
        Field("agent_type", "subagent_type"),
        Field("prompt", "task"),
        Field("response", "summary"),
        _DURATION_MS,
    ),
    "afterAgentResponse": (Field("response", "text"),),
    "sessionEnd": (_DURATION_MS,),
}
_OTHERS: Final = shape(taken=_TAKEN)
_SHAPES: Final[Mapping[str, Shape]] = {
    native: shape(_FIELDS.get(native, ()), taken=(*_TAKEN, *(_FIXED[native].keys if native in _FIXED else ())))
    for native in ABILITIES
}

# what hooks count on and other agents do not say
_FILLED: Final[Mapping[str, Mapping[str, object]]] = {
    "sessionStart": {"is_background_agent": False},
    "beforeSubmitPrompt": {"prompt": "", "attachments": []},
    "beforeShellExecution": {"command": "", "sandbox": False},
    "afterShellExecution": {"command": "", "output": "", "sandbox": False},
    "beforeMCPExecution": {"mcp_server_name": ""},
    "beforeReadFile": {"file_path": "", "content": "", "attachments": []},
    "beforeTabFileRead": {"file_path": "", "content": ""},
    "afterFileEdit": {"file_path": "", "edits": []},
    "preCompact": {"trigger": "auto"},
    "stop": {"status": "completed", "loop_count": 0},
    "subagentStop": {"status": "completed", "loop_count": 0},
}


# events


def encode_event(event: Event, hook: Hook) -> Request:
    """Say an event to a hook of this dialect: as the event that the hook was written for."""
    native = _native(event, hook.native_event)
    return Request(
        event=event, later=partial(_document, event, native), env=_environment(event, hook.project(event.cwd))
    )


def _native(event: Event, wanted: str = "") -> str:
    """Give Cursor's name of an event: that a hook was written for, or that Cursor said, or the usual one."""
    if wanted in ABILITIES and _canonical(wanted) is event.name:
        return wanted
    known = event.host == NAME and event.native_name in ABILITIES
    return event.native_name if known else _NAMES.say(event)


def _canonical(native: str) -> EventName | None:
    return SPEC.more_events.get(native) or _NAMES.known.get(native)


def _environment(event: Event, project: str) -> dict[str, str]:
    found = {
        "CURSOR_PROJECT_DIR": project,
        "CLAUDE_PROJECT_DIR": project,
        "CURSOR_VERSION": event.data.get("cursor_version"),
        "CURSOR_USER_EMAIL": event.data.get("user_email"),
        "CURSOR_TRANSCRIPT_PATH": event.data.get("transcript_path"),
    }
    return {name: value.replace("\0", "") for name, value in found.items() if isinstance(value, str) and value}


def _document(event: Event, native: str) -> dict[str, object]:
    is_own = event.host == NAME
    document: dict[str, object] = {"hook_event_name": native}
    if event.session.id or not is_own:
        document["conversation_id"] = event.session.id
    if event.session.model or not is_own:
        document["model"] = event.session.model
    if native in _WITH_SESSION:
        document["session_id"] = event.session.id
    if native in _WITH_CWD or (native not in ABILITIES and event.cwd):
        document["cwd"] = event.cwd
    if event.tool or event.name in _TOOL_EVENTS:
        _say_call(event, native, document)
    data = _said_data(event, native)
    _SHAPES.get(native, _OTHERS).write(data, document, session=event.session)
    if not is_own:
        _fill(event, native, document)
    return document


def _say_call(event: Event, native: str, document: dict[str, object]) -> None:
    name, args = _calls.resaid(TOOLS, event, dialect=NAME)
    server, tool = _mcp.split(event.tool) or ("", "")
    fixed = _FIXED.get(native)
    if native in _MCP_EVENTS:
        document["tool_name"] = tool or name
        document["tool_input"] = _mcp.repeated(dict(event.args), text=event.native_args)
        if server:
            document["mcp_server_name"] = server
    elif fixed is not None:
        changed = _edited(event) if "edits" in fixed.keys else {}
        said = {**args, **changed} if isinstance(args, Mapping) else changed
        document.update((key, said[key]) for key in fixed.keys if key in said)
    else:
        document["tool_name"] = f"{_MCP}{tool}" if tool else name
        document["tool_input"] = _mcp.parsed(args) if tool else args


def _edited(event: Event) -> dict[str, object]:
    """Say what another tool changed in a file as a list of edits; what is no edit of parts is new as a whole."""
    if "edits" in event.args or (event.host == NAME and event.native_name in _FIXED):
        return {}
    whole = next((event.args[key] for key in ("new", "content", "text", "patch", "source") if key in event.args), "")
    return {"edits": [{"old_string": event.args.get("old", ""), "new_string": whole}]}


def _said_data(event: Event, native: str) -> dict[str, object]:
    data = dict(event.data)
    if event.name is EventName.CUSTOM and data.get("event_name") == native:
        del data["event_name"]
    if event.name in _RETURNS:
        again = data.pop("stop_hook_active", None)
        if event.host != NAME and again is not None:
            data.setdefault("loop_count", 1 if again is True else 0)
    place = _TEXTS.get(native)
    if place is not None and "result" in data:
        data["result"] = _mcp.repeated(data["result"], text=data.pop(place, None))
    elif native == "afterShellExecution" and "result" in data:
        data["result"] = _mcp.written(data["result"])
    return data


def _fill(event: Event, native: str, document: dict[str, object]) -> None:
    roots = [event.cwd] if event.cwd else []
    common = {
        "generation_id": "",
        "cursor_version": "",
        "workspace_roots": roots,
        "user_email": None,
        "transcript_path": None,
    }
    for key, value in {**common, **_FILLED.get(native, {})}.items():
        document.setdefault(key, value)


_RETURNS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})


def decode_event(raw: bytes, name: str = "") -> Event:
    """Read an event as Cursor says it."""
    document = _read.load_object(raw, dialect=NAME)
    text = partial(_read.text, dialect=NAME)
    native = text(document.pop("hook_event_name", None), "hook_event_name") or name
    if not native:
        raise _read.wrong(None, "hook_event_name", dialect=NAME, wanted="the event's name")
    canonical = _canonical(native) or EventName.CUSTOM
    session = Session(id=_session(document), model=text(document.pop("model", None), "model"))
    cwd = text(document.pop("cwd", None), "cwd") or _root(document)
    call, said = _call(canonical, native, document, cwd=cwd)
    data = _SHAPES.get(native, _OTHERS).read(document, "", dialect=NAME)
    if canonical is EventName.CUSTOM:
        data.setdefault("event_name", native)
    if canonical in _RETURNS:
        data.setdefault("stop_hook_active", data.get("loop_count") not in {0, None})
    _understand_result(native, data)
    return Event(
        name=canonical,
        data=data,
        tool=call.tool,
        args=call.args,
        session=session,
        cwd=cwd,
        native_tool=call.native_tool,
        native_name="" if SPEC.events.get(canonical) == native or canonical == native else native,
        host=NAME,
        native_args=said,
    )


def _session(document: dict[str, object]) -> str:
    talk = _read.text(document.pop("conversation_id", None), "conversation_id", dialect=NAME)
    named = document.get("session_id")
    if isinstance(named, str) and (not talk or named == talk):
        del document["session_id"]
        return named
    return talk


def _root(document: Mapping[str, object]) -> str:
    """Give the first folder of the workspace."""
    roots = document.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return first if isinstance(first, str) else ""


def _call(name: EventName, native: str, document: dict[str, object], *, cwd: str) -> tuple[_calls.Call, object]:
    fixed = _FIXED.get(native)
    if fixed is not None:
        taken = {key: document.pop(key) for key in fixed.keys if key in document}
        return _calls.understood(TOOLS, fixed.tool, taken, cwd=cwd), taken
    if "tool_name" not in document and name not in _TOOL_EVENTS:
        return _calls.Call("", {}, ""), None
    tool = _read.need_text(document.pop("tool_name", None), "tool_name", dialect=NAME)
    said = document.pop("tool_input", None)
    if native not in _MCP_EVENTS and not tool.startswith((_MCP, MCP_PREFIX)):
        return _calls.understood(TOOLS, tool, {} if said is None else said, cwd=cwd), said
    server, bare = _mcp.split(tool) or (_server(document), tool.removeprefix(_MCP))
    args = _mcp.parsed(said)
    given = args if isinstance(args, dict) else {} if args is None else {_calls.PLAIN: args}
    return _calls.Call(_mcp.joined(server, bare), given, f"{_MCP}{bare}"), said


def _server(document: dict[str, object]) -> str:
    return _read.text(document.pop("mcp_server_name", None), "mcp_server_name", dialect=NAME)


def _understand_result(native: str, data: dict[str, object]) -> None:
    """Take the result out of its text, and keep the text where it could not be written again."""
    place = _TEXTS.get(native)
    text = data.get("result") if place is not None else None
    value = _mcp.parsed(text)
    if place is None or value is text:
        return
    data["result"] = value
    if _mcp.written(value) != text:
        data[place] = text


# answers of hooks

_MANNERS: Final = _reply.Manners(dialect=NAME, silence=True, deny_exit=2)
_WORDS: Final = {"allow": Decision.PASS, "deny": Decision.DENY, "ask": Decision.ASK}
_CLAUDE_WORDS: Final = {"allow": Decision.PASS, "approve": Decision.PASS, "block": Decision.DENY, **_WORDS}
_ANSWER_FIELDS: Final = frozenset(
    {
        "permission",
        "user_message",
        "agent_message",
        "updated_input",
        "continue",
        "followup_message",
        "additional_context",
        "updated_mcp_tool_output",
        "hookSpecificOutput",
        "decision",
        "reason",
    }
)


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered."""
    return _reply.read_reply(reply, request, read=_read_answer, manners=_MANNERS)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    """Read an answer: in Cursor's words, or in Claude Code's, which Cursor takes as well."""
    own = _read.obj(document.get("hookSpecificOutput"), "hookSpecificOutput", dialect=NAME)
    text = partial(_read.text, dialect=NAME)
    decision = max(
        _word(document, "permission", _WORDS),
        _word(document, "decision", _CLAUDE_WORDS),
        _word(own, "permissionDecision", _CLAUDE_WORDS),
        Decision.DENY if _stops(document) else Decision.PASS,
    )
    shown = text(document.get("user_message"), "user_message")
    told = (
        text(document.get("agent_message"), "agent_message")
        or text(own.get("permissionDecisionReason"), "permissionDecisionReason")
        or text(document.get("reason"), "reason")
    )
    again = text(document.get("followup_message"), "followup_message")
    if again and request.event.name in _RETURNS:
        # at the end of a turn this is how to say no to the end
        told = "\n\n".join(filter(None, (told if decision else "", again)))
        decision = max(decision, Decision.DENY)
    reason = (told or shown) if decision else ""
    messages = (Effect(EffectKind.MESSAGE, shown),) if shown and shown != reason else ()
    return Verdict(
        decision=decision,
        reason=reason,
        effects=(*_effects(document, own, request.event), *messages),
        metadata={key: value for key, value in document.items() if key not in _ANSWER_FIELDS},
    )


def _word(part: Mapping[str, object], key: str, words: Mapping[str, Decision]) -> Decision:
    word = part.get(key)
    if word is None:
        return Decision.PASS
    decision = words.get(word) if isinstance(word, str) else None
    if decision is None:
        raise _read.wrong(word, key, dialect=NAME, wanted=", ".join(words))
    return decision


def _stops(document: Mapping[str, object]) -> bool:
    goes_on = document.get("continue")
    if goes_on is not None and not isinstance(goes_on, bool):
        raise _read.wrong(goes_on, "continue", dialect=NAME, wanted="true or false")
    return goes_on is False


def _effects(document: Mapping[str, object], own: Mapping[str, object], event: Event) -> tuple[Effect, ...]:
    texts = partial(_reply.texts, dialect=NAME)
    changed = document.get("updated_input", own.get("updatedInput"))
    return (
        *_reply.args_effects(changed, event, tools=TOOLS, where="updated_input", dialect=NAME),
        *_reply.output_effects(document, "updated_mcp_tool_output"),
        *texts(document.get("additional_context"), EffectKind.CONTEXT, where="additional_context"),
        *texts(own.get("additionalContext"), EffectKind.CONTEXT, where="hookSpecificOutput.additionalContext"),
    )


# answers to Cursor


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to Cursor; it reads every answer at exit code 0."""
    native = _native(event)
    reason = outcome.reason or (_reply.NO_REASON if outcome.blocked else "")
    return _reply.answer(_ANSWERS.get(native, _refusal)(outcome, event, native, reason))


_Answering = Callable[[Outcome, Event, str, str], dict[str, object]]


def _permission(outcome: Outcome, event: Event, native: str, reason: str) -> dict[str, object]:
    able = ABILITIES[native]
    if not outcome.blocked:
        changed = _calls.rewritten(TOOLS, outcome, event) if Ability.ARGS in able else UNSET
        return {"permission": "allow", "updated_input": changed}
    asks = outcome.decision is Decision.ASK and Ability.ASK in able
    told = native in {"preToolUse", "beforeShellExecution", "beforeMCPExecution"}
    return {
        "permission": "ask" if asks else "deny",
        "user_message": reason,
        "agent_message": reason if told else UNSET,
    }


def _prompt(outcome: Outcome, _event: Event, _native: str, reason: str) -> dict[str, object]:
    return {"continue": not outcome.blocked, "user_message": reason if outcome.blocked else UNSET}


def _end(outcome: Outcome, _event: Event, _native: str, reason: str) -> dict[str, object]:
    """Send the agent back to work with a message, the only thing that is heeded at the end of a turn."""
    if outcome.stopped:
        return {}
    said = (reason if outcome.blocked else "", *outcome.follow_ups)
    return {"followup_message": "\n\n".join(filter(None, said)) or UNSET}


def _result(outcome: Outcome, event: Event, _native: str, _reason: str) -> dict[str, object]:
    return {
        "updated_mcp_tool_output": outcome.output if event.tool.startswith(MCP_PREFIX) else UNSET,
        "additional_context": "\n\n".join(filter(None, outcome.context)) or UNSET,
    }


def _message(outcome: Outcome, _event: Event, _native: str, _reason: str) -> dict[str, object]:
    return {"user_message": "\n\n".join(filter(None, outcome.messages)) or UNSET}


def _refusal(outcome: Outcome, _event: Event, _native: str, reason: str) -> dict[str, object]:
    """Say no also where nobody is known to listen; a yes needs no words there."""
    return {"permission": "deny", "user_message": reason} if outcome.blocked else {}


_ANSWERS: Final[Mapping[str, _Answering]] = {
    **dict.fromkeys(
        (
            *("preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeTabFileRead"),
            "subagentStart",
        ),
        _permission,
    ),
    "beforeSubmitPrompt": _prompt,
    "stop": _end,
    "subagentStop": _end,
    "postToolUse": _result,
    "sessionStart": _result,
    "preCompact": _message,
}
