"""Google Antigravity, the desktop program and `agy`: camelCase documents that do not name their event.

Every answer is a document, and every exit code is 0. Before a tool, a document without a decision blocks, so no opinion is an
empty decision there and an empty document elsewhere.
"""

from functools import partial
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline.dialects import _codec
from hookline.dialects._codec import TURN_ENDS, AgentCodec, EventNames, EventTable, Field, agent_spec, join_blocks
from hookline.dialects._json_reader import JsonReader, decision_words, key_set
from hookline.dialects._reply_codec import ReplyRules, encode_answer, find_reason
from hookline.dialects._tools import LINES, NO_CALL, ONE_URL, OVERWRITE, edits, rename, tool_map, tool_row
from hookline.model.dialect import MatcherStyle
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import Answer, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "antigravity"
_READER: Final = JsonReader(_NAME)

# tools: the first name of each is documented, the others were seen in use, and their arguments are uncertain

_EDIT: Final = {"old": "TargetContent", "new": "ReplacementContent", "replace_all": "AllowMultiple"}

_TOOLS: Final = tool_map(
    tool_row("shell", "run_command", keys="command=CommandLine cwd=Cwd"),
    tool_row("shell_input", "send_command_input", keys="session=CommandId text=Input"),
    tool_row("shell_control", "command_status", keys="session=CommandId"),
    tool_row(
        "read_file",
        "view_file view_file_outline",
        keys="path=AbsolutePath",
        codecs=(LINES, rename({"startLine": "StartLine", "endLine": "EndLine"})),
    ),
    tool_row(
        "write_file",
        "write_to_file",
        keys="path=TargetFile content=CodeContent",
        codecs=(OVERWRITE, rename({"overwrite": "Overwrite"})),
    ),
    tool_row(
        "edit_file",
        "replace_file_content",
        keys="path=TargetFile old=TargetContent new=ReplacementContent replace_all=AllowMultiple",
    ),
    tool_row(
        "multi_edit",
        "multi_replace_file_content",
        keys="path=TargetFile",
        codecs=(edits(_EDIT), rename({"edits": "ReplacementChunks"})),
    ),
    tool_row("list_dir", "list_dir", keys="path=DirectoryPath"),
    tool_row("grep", "grep_search", keys="pattern=Query path=SearchPath include=Includes"),
    tool_row("glob", "find_by_name", keys="pattern=Pattern path=SearchDirectory"),
    tool_row("web_fetch", "read_url_content", codecs=(ONE_URL, rename({"url": "Url"}))),
    tool_row("web_search", "search_web"),
)

# what an answer can do

_EVENTS: Final[EventTable] = {
    "PreToolUse": ("allow block ask", EventName.BEFORE_TOOL),
    "PostToolUse": ("", EventName.AFTER_TOOL, EventName.TOOL_FAILED),
    "PreInvocation": ("context", EventName.BEFORE_MODEL),
    "PostInvocation": ("stop context follow_up", EventName.AFTER_MODEL),
    # a stop lets it rest, as an empty answer does
    "Stop": ("block stop follow_up", EventName.AFTER_AGENT),
}

SPEC: Final = agent_spec(
    _NAME,
    "Google Antigravity",
    events=_EVENTS,
    tools=_TOOLS,
    matched=(
        "apply_patch=replace_file_content,write_to_file insert_text=replace_file_content "
        "edit_lines=replace_file_content"
    ),
    timeout=30.0,
    matcher=MatcherStyle.SEARCH,
    aliases=("agy",),
)

# events

_TRANSCRIPT: Final = Field("transcript_path", "transcriptPath")
_FOLDERS: Final = "workspacePaths"

_CODEC: Final = AgentCodec(
    spec=SPEC,
    names=EventNames(SPEC.events, {"PostToolUse": _codec.tool_event_by_error}),
    tools=_TOOLS,
    has_iso_time=True,
    field_maps=_codec.field_maps(
        {
            **dict.fromkeys(EventName, (_TRANSCRIPT,)),
            EventName.AFTER_AGENT: (_TRANSCRIPT, Field("reason", "terminationReason")),
        },
        taken=("conversationId", "modelName", "toolCall"),
    ),
)


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Return the request for a hook of this dialect."""
    return Request(event=event, later=partial(_write_event, event))


def _write_event(event: Event) -> dict[str, object]:
    document: dict[str, object] = {"conversationId": event.session.id}
    if event.session.model:
        document["modelName"] = event.session.model
    if event.tool:
        name, args = _CODEC.encode_call(event)
        document["toolCall"] = {"name": name, "args": args}
    if event.host != _NAME:
        document[_FOLDERS] = [event.cwd] if event.cwd else []
        if event.name is EventName.AFTER_TOOL:
            document["error"] = ""
    if event.name is EventName.TOOL_FAILED and not event.data.get("error"):
        # only the error distinguishes a failed tool
        event = replace(event, data={**event.data, "error": _codec.NO_MESSAGE})
    return _CODEC.write_data(event, document)


def decode_event(raw: bytes, name: str = "") -> Event:
    """Return the event of a document of Antigravity; its directory is the first of the workspace's."""
    document = _READER.load_object(raw)
    native = _CODEC.read_name(None, name, where="EVENT")
    session = Session(id=_READER.pop_text(document, "conversationId"), model=_READER.pop_text(document, "modelName"))
    match folders := document.get(_FOLDERS):
        case [str(cwd), *_]:
            pass
        case None | []:
            cwd = ""
        case _:
            raise _READER.error(folders, _FOLDERS, wanted="a list of paths")
    found = _READER.read_object(document.pop("toolCall", None), "toolCall")
    call = NO_CALL
    # after a tool, not every version of the program sends the call
    if found or native == "PreToolUse":
        tool = _READER.require_text(found.pop("name", None), "toolCall.name")
        call = _CODEC.decode_call(tool, found.pop("args", None), cwd=cwd)
    if found:
        document["toolCall"] = found
    return _CODEC.decode_document(native, document, session=session, cwd=cwd, call=call)


# answers of hooks

_WORDS: Final = decision_words("=pass allow=allow ask=ask force_ask=ask deny=deny block=deny")
_UNDECIDED: Final = "the hook's answer has no decision, which is a no to Antigravity"
_STEPS: Final = {"ephemeralMessage": EffectKind.CONTEXT, "userMessage": EffectKind.ASK_AGENT}


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    word = document.get("decision")
    # at the end of a turn one word sends the agent back to work, and every other lets it rest
    rests = request.event.name in TURN_ENDS and word != "continue"
    reason = "" if rests else _READER.get_text(document, "reason")
    if request.event.name in TURN_ENDS:
        decision = Decision.PASS if rests else Decision.DENY
    elif word is None and request.event.name is EventName.BEFORE_TOOL:
        decision, reason = Decision.DENY, reason or _UNDECIDED
    else:
        decision = _READER.read_decision(word, "decision", _WORDS, wanted=", ".join(sorted(_WORDS)))
    reason = reason if decision else ""
    if document.get("terminationBehavior") == "terminate":
        decision = Decision.STOP
    steps = document.get("injectSteps")
    if steps is not None and not isinstance(steps, list):
        raise _READER.error(steps, "injectSteps", wanted="a list")
    texts = [(kind, step.get(key)) for step in steps or () if isinstance(step, dict) for key, kind in _STEPS.items()]
    return Verdict(
        decision=decision,
        reason=reason,
        effects=tuple(Effect(kind, text) for kind, text in texts if isinstance(text, str) and text),
        metadata=_RULES.extra_keys(document),
    )


_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set("decision reason injectSteps terminationBehavior"),
    tools=_TOOLS,
    allow_empty=True,
    allow_text=True,
    deny_exit=2,
    strict_json=True,
)
decode_reply = partial(_CODEC.read_reply, _RULES)

# answers to the agent

_DECISIONS: Final = {
    Decision.PASS: "",
    Decision.ALLOW: "allow",
    # a plain "ask" does not ask where the user once chose "always allow"
    Decision.ASK: "force_ask",
    Decision.DENY: "deny",
    Decision.STOP: "deny",
}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for Antigravity, which expects a document every time."""
    return encode_answer(_build_answer(outcome, SPEC.native(event)))


def _build_answer(outcome: Outcome, native: str) -> dict[str, object]:
    reason = find_reason(outcome)
    context: list[object] = [{"ephemeralMessage": text} for text in outcome.context if text]
    blocks, prompts = outcome.decision >= Decision.ASK, join_blocks(outcome.follow_ups)
    match native:
        case "PreToolUse":
            return {"decision": _DECISIONS[outcome.decision], "reason": reason or UNSET}
        case "PreInvocation":
            return {"injectSteps": context or UNSET}
        case "PostInvocation" if blocks:
            return {"injectSteps": context or UNSET, "terminationBehavior": "terminate"}
        case "PostInvocation":
            steps = [*context, *({"userMessage": text} for text in outcome.follow_ups if text)]
            return {"injectSteps": steps or UNSET, "terminationBehavior": "force_continue" if prompts else UNSET}
        case "Stop" if outcome.decision is not Decision.STOP and (blocks or prompts):
            return {"decision": "continue", "reason": join_blocks((reason if blocks else "", prompts))}
        case _:
            return {}
