"""GitHub Copilot CLI: camelCase documents that do not name their event, flat answers.

The same events can be set up under PascalCase names; then the documents are in snake_case, name their event, and call the
tools as Claude Code does, with Copilot's own arguments. Both are understood, and each is answered as it is. Saying
nothing is having no opinion; a line `{"type": "progress", …}` is shown to the person.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import wire
from hookline.dialects import _calls, _mcp, _read, _reply
from hookline.dialects._copilot_forms import CAMELS, RESULT, SNAKE, respelled
from hookline.dialects._copilot_tools import IN_PASCAL, TOOLS
from hookline.dialects._fields import Field, names
from hookline.dialects._results import as_text
from hookline.dialects._speech import ENDS, NO_CALL, TOOL_EVENTS, Said, Speech, blocks, heeded, shapes
from hookline.dialects._tools import final_output
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "copilot-cli"

# what an answer can do

_A: Final = Ability
_CONTEXT: Final = frozenset({_A.CONTEXT, _A.MESSAGE})
# a stop is to let it rest, which is what saying nothing does
_ENDS: Final = frozenset({_A.BLOCK, _A.FOLLOW_UP, _A.STOP, _A.MESSAGE})

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "sessionStart": _CONTEXT,
        "sessionEnd": frozenset(),
        "userPromptSubmitted": _CONTEXT | {_A.BLOCK},
        "preToolUse": _CONTEXT | {_A.ALLOW, _A.BLOCK, _A.ASK, _A.ARGS},
        # a person is asked when we say nothing
        "permissionRequest": frozenset({_A.ALLOW, _A.ASK, _A.BLOCK, _A.STOP, _A.MESSAGE}),
        "postToolUse": _CONTEXT | {_A.BLOCK, _A.OUTPUT},
        "postToolUseFailure": _CONTEXT,
        "preCompact": frozenset({_A.MESSAGE}),
        "subagentStart": _CONTEXT,
        "subagentStop": _ENDS,
        "agentStop": _ENDS,
        "errorOccurred": frozenset({_A.MESSAGE}),
        "notification": _CONTEXT,
    }
)

# the other name of each event, under which it is said in the other form
_PASCAL: Final[Mapping[str, EventName]] = MappingProxyType(
    {
        "SessionStart": EventName.SESSION_START,
        "SessionEnd": EventName.SESSION_END,
        "UserPromptSubmit": EventName.BEFORE_AGENT,
        "PreToolUse": EventName.BEFORE_TOOL,
        "PermissionRequest": EventName.PERMISSION_REQUEST,
        "PostToolUse": EventName.AFTER_TOOL,
        "PostToolUseFailure": EventName.TOOL_FAILED,
        "PreCompact": EventName.PRE_COMPRESS,
        "SubagentStart": EventName.SUBAGENT_START,
        "SubagentStop": EventName.SUBAGENT_STOP,
        "Stop": EventName.AFTER_AGENT,
        "ErrorOccurred": EventName.ERROR,
        "Notification": EventName.NOTIFICATION,
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="GitHub Copilot CLI",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "sessionStart",
            EventName.SESSION_END: "sessionEnd",
            EventName.BEFORE_AGENT: "userPromptSubmitted",
            EventName.AFTER_AGENT: "agentStop",
            EventName.BEFORE_TOOL: "preToolUse",
            EventName.AFTER_TOOL: "postToolUse",
            EventName.TOOL_FAILED: "postToolUseFailure",
            EventName.PERMISSION_REQUEST: "permissionRequest",
            EventName.PRE_COMPRESS: "preCompact",
            EventName.SUBAGENT_START: "subagentStart",
            EventName.SUBAGENT_STOP: "subagentStop",
            EventName.ERROR: "errorOccurred",
            EventName.NOTIFICATION: "notification",
        }
    ),
    tools=MappingProxyType(
        # whoever guards writing and editing means every way to do it
        {
            **TOOLS.names(),
            "apply_patch": ("apply_patch", "edit", "create"),
            "multi_edit": ("edit",),
            "insert_text": ("edit",),
            "edit_lines": ("edit",),
        }
    ),
    timeout=30.0,
    shell=True,
    own=frozenset(TOOLS.by_tool),
    abilities=ABILITIES,
    aliases=("copilot", "github-copilot"),
    runs_files_of=("claude-code",),
    mcp="{server}-{tool}",
    more_events=_PASCAL,
)


# events

_TEXT: Final = f"{RESULT}.textResultForLlm"
# who speaks, inside a subagent
_WHO: Final = (Field("agent_id", "agentId"), Field("agent_type", "agentType"))
_TRANSCRIPT: Final = Field("transcript_path", "transcriptPath")
_WHY: Final = Field("stop_reason", "stopReason")


def _of_main(moment: EventName) -> Callable[[Mapping[str, object]], EventName]:
    """Tell the main agent's events from those that the program raises once more inside a subagent."""
    return lambda document: EventName.CUSTOM if "parentAgentId" in document else moment


_SPEECH: Final = Speech(
    dialect=_NAME,
    names=names(
        SPEC.events,
        # a subagent's prompt is nobody's, and its end has an event of its own
        {"userPromptSubmitted": _of_main(EventName.BEFORE_AGENT), "agentStop": _of_main(EventName.AFTER_AGENT)},
    ),
    tools=TOOLS,
    shapes=shapes(
        {
            EventName.SESSION_START: (Field("initial_prompt", "initialPrompt"),),
            EventName.BEFORE_TOOL: _WHO,
            EventName.PERMISSION_REQUEST: _WHO,
            EventName.AFTER_TOOL: (Field("result", _TEXT), *_WHO),
            EventName.TOOL_FAILED: _WHO,
            EventName.AFTER_AGENT: (_TRANSCRIPT, _WHY),
            EventName.SUBAGENT_START: (
                _TRANSCRIPT,
                Field("agent_id", "agentId"),
                Field("agent_type", "agentName", mirror="agentType"),
            ),
            EventName.SUBAGENT_STOP: (_TRANSCRIPT, _WHY, *_WHO),
            EventName.PRE_COMPRESS: (_TRANSCRIPT, Field("custom_instructions", "customInstructions")),
            EventName.ERROR: (
                Field("error", "error.message"),
                Field("error_type", "error.name"),
                Field("error_stack", "error.stack"),
                Field("operation", "errorContext"),
            ),
            EventName.NOTIFICATION: (Field("type", "notification_type"),),
        },
        taken=("sessionId", "cwd", "toolName", "toolArgs", "toolInput", "hookName", "hook_event_name"),
        scalars={EventName.ERROR: {"error": "error"}, EventName.AFTER_TOOL: {RESULT: "result"}},
    ),
    mcp=SPEC.mcp,
)

# what the other form's documents have and these do not
_FORM: Final = "hook_event_name"


def encode_event(event: Event, hook: Hook) -> Request:
    """Say an event to a hook of this dialect."""
    folder = hook.project(event.cwd.replace("\0", ""))
    environment = dict.fromkeys(("COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), folder) if folder else {}
    return Request(event=event, later=partial(_write, event, hook.native_event), env=environment)


def _write(event: Event, wanted: str = "") -> dict[str, object]:
    """Say an event in the form that the hook was set up for, else in the one it was said in."""
    data = dict(event.data)
    form = _form(event)
    if form:
        del data[_FORM]
    if _PASCAL.get(wanted) is event.name or wanted in ABILITIES:
        event = replace(event, native_tool="") if form and wanted in ABILITIES else event
        # where permission is asked, both forms are the same
        form = wanted if wanted in _PASCAL and event.name is not EventName.PERMISSION_REQUEST else ""
    document: dict[str, object] = {"sessionId": event.session.id, "cwd": event.cwd}
    if event.timestamp:
        document["timestamp"] = _read.to_iso(event.timestamp) if form else event.timestamp
    if event.name is EventName.NOTIFICATION:
        document[_FORM] = "Notification"
    if event.name is EventName.PERMISSION_REQUEST:
        document["hookName"] = "permissionRequest"
    if event.tool or event.name in TOOL_EVENTS:
        document["toolName"], said = _told(event)
        document["toolInput" if event.name is EventName.PERMISSION_REQUEST else "toolArgs"] = said
    _SPEECH.write(replace(event, data=data), document)
    if not form:
        return document
    if "toolName" in document:
        document["toolName"] = IN_PASCAL.get(str(document["toolName"]), document["toolName"])
    return {_FORM: form, **respelled(document, CAMELS)}


def _form(event: Event) -> str:
    """Give the name under which the program said an event in the other form; empty where it did not."""
    said = event.data.get(_FORM) if event.host == _NAME else None
    is_name = isinstance(said, str) and (said in _PASCAL or said == event.native_name)
    return str(said) if is_name else ""


def _told(event: Event) -> tuple[str, object]:
    """Say a call; arguments that came as a text of JSON go as one."""
    name, said = _SPEECH.told(replace(event, native_args=_mcp.parsed(event.native_args)))
    is_text = isinstance(event.native_args, str) and not isinstance(said, str) and event.host == _NAME
    return name, _mcp.repeated(said, text=event.native_args) if is_text else said


def decode_event(raw: bytes, name: str = "") -> Event:
    """Read an event as Copilot CLI says it, in either form."""
    document = _read.load_object(raw, dialect=_NAME)
    text = partial(_read.text, dialect=_NAME)
    said_name = text(document.pop(_FORM, None), _FORM)
    is_other = "session_id" in document and "sessionId" not in document
    if is_other:
        document = respelled(document, SNAKE)
    hook_name = text(document.pop("hookName", None), "hookName")
    native = _SPEECH.name(said_name or hook_name, name, where="EVENT")
    session = Session(id=text(document.pop("sessionId", None), "sessionId"))
    cwd = text(document.pop("cwd", None), "cwd")
    moment = _PASCAL.get(native)
    if moment is not None:
        native = SPEC.events[moment]
    said = _call(document, cwd, is_needed=native in {"preToolUse", "postToolUse", "postToolUseFailure"})
    event = _SPEECH.event(native, document, session=session, cwd=cwd, said=said, iso=is_other)
    if event.name is EventName.CUSTOM and not event.native_name:
        event = replace(event, native_name=native, data={**event.data, "event_name": native})
    return replace(event, data={**event.data, _FORM: said_name}) if is_other and said_name else event


def _call(document: dict[str, object], cwd: str, *, is_needed: bool) -> Said:
    if "toolName" not in document and not is_needed:
        return NO_CALL
    name = _read.need_text(document.pop("toolName", None), "toolName", dialect=_NAME)
    args = document.pop("toolArgs" if "toolArgs" in document else "toolInput", None)
    server, tool = _server(name)
    heard = _SPEECH.heard(name, _mcp.parsed(args), cwd=cwd, server=server, tool=tool)
    return Said(heard.call, args)


# the server that comes with the program, whose name cannot be told from the name of a tool
_BUNDLED: Final = "github-mcp-server"


def _server(name: str) -> tuple[str, str]:
    """Find the server in a tool's name: before the slash when permission is asked, else before the first hyphen.

    Only the names of the program's own tools have neither. A server with a hyphen in its name is taken apart wrongly
    where there is no slash, as nothing in the document tells.
    """
    if name.casefold() in TOOLS.by_native:
        return "", ""
    if name.startswith(f"{_BUNDLED}-"):
        return _BUNDLED, name.removeprefix(f"{_BUNDLED}-")
    server, _, tool = name.partition("/" if "/" in name else "-")
    return (server, tool) if server and tool else ("", "")


# answers of hooks

_MANNERS: Final = _reply.Manners(dialect=_NAME, silence=True, chatter=True, exact=True)
_GUARDS: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST})
_BLOCKS: Final = 2


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of Copilot CLI answered.

    Before a tool, a hook that fails has said no; where permission is asked, one that ends with 2 has.
    """
    shown, rest = _progress(reply)
    verdict = _reply.read_reply(rest, request, read=_read_answer, manners=_MANNERS)
    verdict = heeded(verdict, SPEC, request.event)
    if shown:
        verdict = replace(verdict, effects=(*verdict.effects, *shown))
    name = request.event.name
    if reply.exit_code == _BLOCKS and name is EventName.TOOL_FAILED:
        text = rest.stdout.decode("utf-8", "replace").strip()
        return Verdict(effects=(Effect(EffectKind.CONTEXT, text), *shown) if text else shown, notes=verdict.notes)
    denies = name is EventName.BEFORE_TOOL or (name is EventName.PERMISSION_REQUEST and reply.exit_code == _BLOCKS)
    if not reply.exit_code or not denies or verdict.decision >= Decision.DENY:
        return verdict
    said = reply.stderr.decode("utf-8", "replace").strip()
    reason = said or verdict.reason or f"hook exited with code {reply.exit_code}"
    broken = None if reply.exit_code == _BLOCKS else Failure(FailureKind.EXIT_CODE, reason)
    return replace(verdict, decision=Decision.DENY, reason=reason, failure=broken)


def _progress(reply: Reply) -> tuple[tuple[Effect, ...], Reply]:
    """Take the lines out that are shown while the hook runs."""
    if b'"progress"' not in reply.stdout:
        return (), reply
    shown: list[Effect] = []
    kept: list[bytes] = []
    for line in reply.stdout.splitlines(keepends=True):
        match _loaded(line):
            case {"type": "progress", "message": str(message)}:
                shown.append(Effect(EffectKind.MESSAGE, message))
            case {"type": "progress"}:
                pass
            case _:
                kept.append(line)
    return tuple(effect for effect in shown if effect.value), replace(reply, stdout=b"".join(kept))


def _loaded(line: bytes) -> object:
    try:
        return wire.load(line) if line.lstrip().startswith(b"{") else None
    except ValueError:
        return None


_WORDS: Final = {"allow": Decision.ALLOW, "ask": Decision.ASK, "block": Decision.DENY, "deny": Decision.DENY}
_READ: Final = frozenset(
    {
        "decision",
        "reason",
        "permissionDecision",
        "permissionDecisionReason",
        "behavior",
        "message",
        "interrupt",
        "modifiedArgs",
        "updatedInput",
        "modifiedResult",
        "additionalContext",
        "hookSpecificOutput",
        "suppressOutput",
    }
)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    event = request.event
    own = _read.obj(document.get("hookSpecificOutput"), "hookSpecificOutput", dialect=_NAME)
    said = {**document, **own}
    # said in both places, the stronger counts
    decision, reason = max(_decided(document, event), _decided(own, event), key=lambda one: one[0])
    changed = said.get("updatedInput", said.get("modifiedArgs"))
    context = EffectKind.ASK_AGENT if event.name in ENDS else EffectKind.CONTEXT
    return Verdict(
        decision=decision,
        reason=reason,
        effects=(
            *_args(changed, event),
            *_result(said),
            *_reply.texts(said.get("additionalContext"), context, where="additionalContext", dialect=_NAME),
        ),
        ends=decision is Decision.STOP,
        metadata={key: value for key, value in document.items() if key not in _READ},
    )


def _decided(said: Mapping[str, object], event: Event) -> tuple[Decision, str]:
    found: list[tuple[Decision, str]] = [(Decision.PASS, "")]
    for key, why in (
        ("permissionDecision", "permissionDecisionReason"),
        ("behavior", "message"),
        ("decision", "reason"),
    ):
        word = said.get(key)
        if word is None:
            continue
        decision = _WORDS.get(word) if isinstance(word, str) else None
        if decision is None:
            raise _read.wrong(word, key, dialect=_NAME, wanted=", ".join(sorted(_WORDS)))
        if key == "decision" and decision is Decision.ALLOW and event.name in _GUARDS:
            # not a word of this agent at these events: nothing that could let something pass
            continue
        found.append((decision, _read.text(said.get(why), why, dialect=_NAME)))
    if said.get("interrupt") is True:
        found.append((Decision.STOP, _read.text(said.get("message"), "message", dialect=_NAME)))
    return max(found, key=lambda one: one[0])


def _args(changed: object, event: Event) -> tuple[Effect, ...]:
    if isinstance(changed, str) and event.tool == "apply_patch":
        changed = {_calls.PLAIN: changed}
    return _reply.args_effects(changed, event, tools=TOOLS, where="modifiedArgs", dialect=_NAME)


def _result(said: Mapping[str, object]) -> tuple[Effect, ...]:
    match said.get("modifiedResult"):
        case {"textResultForLlm": text}:
            return (Effect(EffectKind.REWRITE, text, ("output",)),)
        case None:
            return ()
        case other:
            return (Effect(EffectKind.REWRITE, other, ("output",)),)


# answers to the agent


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to Copilot CLI; saying nothing is having no opinion."""
    reason = outcome.reason or (_reply.NO_REASON if outcome.decision >= Decision.ASK else "")
    document = _reply.present(_ANSWERS.get(event.name, _others)(outcome, event, reason))
    messages = blocks(outcome.messages)
    shown = wire.dump({"type": "progress", "message": messages}) + b"\n" if messages else b""
    return Answer(stdout=shown + (_reply.answer(document).stdout if document else b""))


_PERMISSION: Final = {
    Decision.ALLOW: "allow",
    Decision.ASK: "ask",
    Decision.DENY: "deny",
    Decision.STOP: "deny",
}


def _before_tool(outcome: Outcome, event: Event, reason: str) -> dict[str, object]:
    word = _PERMISSION.get(outcome.decision, UNSET)
    plain = replace(event, native_args=_mcp.parsed(event.native_args))
    return {
        "permissionDecision": word,
        "permissionDecisionReason": reason or UNSET if word is not UNSET else UNSET,
        "modifiedArgs": UNSET if outcome.decision >= Decision.DENY else _SPEECH.rewritten(outcome, plain),
        "additionalContext": _context(outcome),
    }


def _permission(outcome: Outcome, _event: Event, reason: str) -> dict[str, object]:
    if outcome.decision is Decision.ALLOW:
        return {"behavior": "allow"}
    if outcome.decision < Decision.DENY:
        return {}
    interrupt = True if outcome.decision is Decision.STOP else UNSET
    return {"behavior": "deny", "message": reason, "interrupt": interrupt}


def _after_tool(outcome: Outcome, event: Event, reason: str) -> dict[str, object]:
    output = final_output(outcome)
    changed: object = UNSET
    if output is not UNSET:
        said = event.data.get(RESULT)
        kept = said if isinstance(said, dict) else {"resultType": "success"}
        changed = {**kept, "textResultForLlm": as_text(output)}
    return {**_end(outcome, event, reason), "modifiedResult": changed, "additionalContext": _context(outcome)}


def _end(outcome: Outcome, event: Event, reason: str) -> dict[str, object]:
    follow = blocks(outcome.follow_ups) if event.name in ENDS else ""
    rests = outcome.decision is Decision.STOP and event.name in ENDS
    if rests or (outcome.decision < Decision.ASK and not follow):
        return {}
    return {"decision": "block", "reason": blocks((reason if outcome.decision >= Decision.ASK else "", follow))}


def _prompt(outcome: Outcome, event: Event, reason: str) -> dict[str, object]:
    return {**_end(outcome, event, reason), "additionalContext": _context(outcome)}


def _others(outcome: Outcome, event: Event, _reason: str) -> dict[str, object]:
    able = ABILITIES.get(SPEC.native(event), frozenset())
    return {"additionalContext": _context(outcome)} if Ability.CONTEXT in able else {}


_ANSWERS: Final = {
    EventName.BEFORE_TOOL: _before_tool,
    EventName.PERMISSION_REQUEST: _permission,
    EventName.AFTER_TOOL: _after_tool,
    EventName.BEFORE_AGENT: _prompt,
    EventName.AFTER_AGENT: _end,
    EventName.SUBAGENT_STOP: _end,
}


def _context(outcome: Outcome) -> object:
    return blocks(outcome.context) or UNSET
