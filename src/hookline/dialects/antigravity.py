"""Google Antigravity, the desktop program and `agy`: camelCase documents that do not name their event.

Every answer is a document, and every exit code is 0. Before a tool, a document without a decision blocks, so having no
opinion is an empty decision there and an empty document elsewhere.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline.dialects import _read, _reply
from hookline.dialects._fields import NO_MESSAGE, Field, failed_by_error, names
from hookline.dialects._speech import ENDS, NO_CALL, Said, Speech, blocking, blocks, heeded, shapes
from hookline.dialects._tools import LINES, ONE_URL, OVERWRITE, Row, edits, renaming, toolbox
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "antigravity"

# tools: the first of each is documented, the others are names seen in use, their arguments unsure

_FILE: Final = {"path": "TargetFile"}
_EDIT: Final = {"old": "TargetContent", "new": "ReplacementContent", "replace_all": "AllowMultiple"}

_TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("run_command",), keys={"command": "CommandLine", "cwd": "Cwd"}),
        Row(tool="shell_input", names=("send_command_input",), keys={"session": "CommandId", "text": "Input"}),
        Row(tool="shell_control", names=("command_status",), keys={"session": "CommandId"}),
        Row(
            tool="read_file",
            names=("view_file", "view_file_outline"),
            keys={"path": "AbsolutePath"},
            changes=(LINES, renaming({"startLine": "StartLine", "endLine": "EndLine"})),
        ),
        Row(
            tool="write_file",
            names=("write_to_file",),
            keys={**_FILE, "content": "CodeContent"},
            changes=(OVERWRITE, renaming({"overwrite": "Overwrite"})),
        ),
        Row(tool="edit_file", names=("replace_file_content",), keys={**_FILE, **_EDIT}),
        Row(
            tool="multi_edit",
            names=("multi_replace_file_content",),
            keys=_FILE,
            changes=(edits(_EDIT), renaming({"edits": "ReplacementChunks"})),
        ),
        Row(tool="list_dir", names=("list_dir",), keys={"path": "DirectoryPath"}),
        Row(
            tool="grep", names=("grep_search",), keys={"pattern": "Query", "path": "SearchPath", "include": "Includes"}
        ),
        Row(tool="glob", names=("find_by_name",), keys={"pattern": "Pattern", "path": "SearchDirectory"}),
        Row(tool="web_fetch", names=("read_url_content",), changes=(ONE_URL, renaming({"url": "Url"}))),
        Row(tool="web_search", names=("search_web",)),
    )
)

# what an answer can do

_A: Final = Ability

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "PreToolUse": frozenset({_A.ALLOW, _A.BLOCK, _A.ASK}),
        "PostToolUse": frozenset(),
        "PreInvocation": frozenset({_A.CONTEXT}),
        "PostInvocation": frozenset({_A.CONTEXT, _A.STOP, _A.FOLLOW_UP}),
        # a stop is to let it rest, which is what saying nothing does
        "Stop": frozenset({_A.BLOCK, _A.FOLLOW_UP, _A.STOP}),
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Google Antigravity",
    events=MappingProxyType(
        {
            EventName.BEFORE_TOOL: "PreToolUse",
            EventName.AFTER_TOOL: "PostToolUse",
            EventName.TOOL_FAILED: "PostToolUse",
            EventName.BEFORE_MODEL: "PreInvocation",
            EventName.AFTER_MODEL: "PostInvocation",
            EventName.AFTER_AGENT: "Stop",
        }
    ),
    tools=MappingProxyType(
        {
            **_TOOLS.names(),
            "apply_patch": ("replace_file_content", "write_to_file"),
            "insert_text": ("replace_file_content",),
            "edit_lines": ("replace_file_content",),
        }
    ),
    timeout=30.0,
    shell=True,
    matcher=MatcherStyle.SEARCH,
    own=frozenset(_TOOLS.by_tool),
    abilities=ABILITIES,
    aliases=("agy",),
)

# events

_TRANSCRIPT: Final = Field("transcript_path", "transcriptPath")
_PLACES: Final = "workspacePaths"

_SPEECH: Final = Speech(
    dialect=_NAME,
    names=names(SPEC.events, {"PostToolUse": failed_by_error}),
    tools=_TOOLS,
    shapes=shapes(
        {
            **dict.fromkeys(EventName, (_TRANSCRIPT,)),
            EventName.AFTER_AGENT: (_TRANSCRIPT, Field("reason", "terminationReason")),
        },
        taken=("conversationId", "modelName", "toolCall"),
    ),
    mcp=SPEC.mcp,
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Say an event to a hook of this dialect."""
    return Request(event=event, later=partial(_write, event))


def _write(event: Event) -> dict[str, object]:
    document: dict[str, object] = {"conversationId": event.session.id}
    if event.session.model:
        document["modelName"] = event.session.model
    if event.host != _NAME:
        document[_PLACES] = [event.cwd] if event.cwd else []
    if event.timestamp:
        document["timestamp"] = _read.to_iso(event.timestamp)
    if event.tool:
        name, args = _SPEECH.told(event)
        document["toolCall"] = {"name": name, "args": args}
    if event.name is EventName.TOOL_FAILED and not event.data.get("error"):
        # what is told apart by its error has to have one
        event = replace(event, data={**event.data, "error": NO_MESSAGE})
    if event.host != _NAME and event.name is EventName.AFTER_TOOL:
        document["error"] = ""
    return _SPEECH.write(event, document)


def decode_event(raw: bytes, name: str = "") -> Event:
    """Read an event as Antigravity says it; its folder is the first of the workspace's."""
    document = _read.load_object(raw, dialect=_NAME)
    text = partial(_read.text, dialect=_NAME)
    native = _SPEECH.name(None, name, where="EVENT")
    session = Session(
        id=text(document.pop("conversationId", None), "conversationId"),
        model=text(document.pop("modelName", None), "modelName"),
    )
    cwd = _folder(document.get(_PLACES))
    said = _call(document, cwd, is_needed=native == "PreToolUse")
    return _SPEECH.event(native, document, session=session, cwd=cwd, said=said)


def _folder(places: object) -> str:
    match places:
        case [str(first), *_]:
            return first
        case None | []:
            return ""
        case _:
            raise _read.wrong(places, _PLACES, dialect=_NAME, wanted="a list of paths")


def _call(document: dict[str, object], cwd: str, *, is_needed: bool) -> Said:
    """Take the call out; after a tool, not every version of the program says which tool it was."""
    call = _read.obj(document.pop("toolCall", None), "toolCall", dialect=_NAME)
    if not call and not is_needed:
        return NO_CALL
    name = _read.need_text(call.pop("name", None), "toolCall.name", dialect=_NAME)
    args = call.pop("args", None)
    if call:
        document["toolCall"] = call
    return _SPEECH.heard(name, args, cwd=cwd)


# answers of hooks

_MANNERS: Final = _reply.Manners(dialect=_NAME, silence=True, chatter=True, deny_exit=2, exact=True)
_WORDS: Final = {
    "": Decision.PASS,
    "allow": Decision.ALLOW,
    "ask": Decision.ASK,
    "force_ask": Decision.ASK,
    "deny": Decision.DENY,
    "block": Decision.DENY,
}
_UNDECIDED: Final = "the hook's answer has no decision, which is a no to Antigravity"
_READ: Final = frozenset({"decision", "reason", "injectSteps", "terminationBehavior"})


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of Antigravity answered."""
    manners = blocking(_MANNERS, SPEC, request.event)
    return heeded(_reply.read_reply(reply, request, read=_read_answer, manners=manners), SPEC, request.event)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    event = request.event
    decision, reason = _ended(document, event) if event.name in ENDS else _decided(document, event)
    behavior = document.get("terminationBehavior")
    if behavior == "terminate":
        decision = Decision.STOP
    return Verdict(
        decision=decision,
        reason=reason,
        effects=_steps(document.get("injectSteps")),
        ends=decision is Decision.STOP,
        metadata={key: value for key, value in document.items() if key not in _READ},
    )


def _decided(document: Mapping[str, object], event: Event) -> tuple[Decision, str]:
    reason = _read.text(document.get("reason"), "reason", dialect=_NAME)
    word = document.get("decision")
    if word is None:
        is_no = event.name is EventName.BEFORE_TOOL
        return (Decision.DENY, reason or _UNDECIDED) if is_no else (Decision.PASS, "")
    decision = _WORDS.get(word) if isinstance(word, str) else None
    if decision is None:
        raise _read.wrong(word, "decision", dialect=_NAME, wanted=", ".join(sorted(_WORDS)))
    return decision, reason if decision else ""


def _ended(document: Mapping[str, object], _event: Event) -> tuple[Decision, str]:
    """Read what a hook says at the end: one word sends the agent back to work, every other lets it rest."""
    if document.get("decision") != "continue":
        return Decision.PASS, ""
    return Decision.DENY, _read.text(document.get("reason"), "reason", dialect=_NAME)


_STEPS: Final = {"ephemeralMessage": EffectKind.CONTEXT, "userMessage": EffectKind.ASK_AGENT}


def _steps(steps: object) -> tuple[Effect, ...]:
    if steps is None:
        return ()
    if not isinstance(steps, list):
        raise _read.wrong(steps, "injectSteps", dialect=_NAME, wanted="a list")
    said = [(kind, step.get(key)) for step in steps if isinstance(step, dict) for key, kind in _STEPS.items()]
    return tuple(Effect(kind, text) for kind, text in said if isinstance(text, str) and text)


# answers to the agent


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to Antigravity, which wants a document every time."""
    reason = outcome.reason or (_reply.NO_REASON if outcome.decision >= Decision.ASK else "")
    return _reply.answer(_ANSWERS.get(SPEC.native(event), _nothing)(outcome, reason))


_SAID: Final = {
    Decision.PASS: "",
    Decision.ALLOW: "allow",
    # a plain "ask" is not asked where the person once said "always allow"
    Decision.ASK: "force_ask",
    Decision.DENY: "deny",
    Decision.STOP: "deny",
}


def _before_tool(outcome: Outcome, reason: str) -> dict[str, object]:
    return {"decision": _SAID[outcome.decision], "reason": reason or UNSET}


def _before_model(outcome: Outcome, _reason: str) -> dict[str, object]:
    return {"injectSteps": [{"ephemeralMessage": text} for text in outcome.context if text] or UNSET}


def _after_model(outcome: Outcome, _reason: str) -> dict[str, object]:
    asked = [{"userMessage": text} for text in outcome.follow_ups if text]
    told = [{"ephemeralMessage": text} for text in outcome.context if text]
    stops = outcome.decision >= Decision.ASK
    behavior = "terminate" if stops else "force_continue" if asked else UNSET
    return {"injectSteps": [*told, *([] if stops else asked)] or UNSET, "terminationBehavior": behavior}


def _end(outcome: Outcome, reason: str) -> dict[str, object]:
    asked = blocks(outcome.follow_ups)
    if outcome.decision is Decision.STOP or (outcome.decision < Decision.ASK and not asked):
        return {}
    return {"decision": "continue", "reason": blocks((reason if outcome.decision >= Decision.ASK else "", asked))}


def _nothing(_outcome: Outcome, _reason: str) -> dict[str, object]:
    return {}


_ANSWERS: Final = {
    "PreToolUse": _before_tool,
    "PreInvocation": _before_model,
    "PostInvocation": _after_model,
    "Stop": _end,
}
