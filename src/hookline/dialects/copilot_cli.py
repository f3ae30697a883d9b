"""GitHub Copilot CLI: camelCase documents that do not name their event, flat answers.

The same events can be configured under PascalCase names; then the documents are in snake_case, name their event, and call the tools
as Claude Code does, with Copilot's own arguments. Both forms are read, and each is answered in the same way. An empty answer is no
opinion; a line `{"type": "progress", …}` is shown to the user.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import json_codec
from hookline.dialects import _codec, _json_reader, _tools
from hookline.dialects._codec import TOOL_EVENTS, TURN_ENDS, AgentCodec, EventNames, EventTable, Field, join_blocks
from hookline.dialects._json_reader import JsonReader, key_set
from hookline.dialects._reply_codec import ReplyRules, encode_opinion, find_reason
from hookline.dialects._tools import NO_CALL, PLAIN, ArgsCodec, DecodedCall, as_int, tool_map, tool_row, without
from hookline.model.event import Ability, Event, EventName, Session
from hookline.model.exchange import Answer, Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "copilot-cli"
_READER: Final = JsonReader(_NAME)

# tools: its own names first, then those it uses for the same tools in its other form

_END: Final = -1


def _range_to_native(args: dict[str, object]) -> dict[str, object]:
    if "view_range" in args or not {"offset", "limit"} & args.keys():
        return args
    first, count = as_int(args.get("offset", 1)), as_int(args.get("limit", _END))
    if first < 1 or (count < 1 and count != _END):
        return args
    return {**without(args, "offset", "limit"), "view_range": [first, _END if count == _END else first + count - 1]}


def _range_to_canonical(args: dict[str, object]) -> dict[str, object]:
    match args.get("view_range"):
        case [int(first), int(last)] if first >= 1 and (last >= first or last == _END):
            limit = {} if last == _END else {"limit": last - first + 1}
            return {**without(args, "view_range"), "offset": first, **limit}
        case _:
            return args


def _background(word: str) -> ArgsCodec:
    """Convert the flag for a background run to the mode."""
    return _tools.convert(
        "background",
        "mode",
        lambda flag: (word if flag else "sync") if isinstance(flag, bool) else UNSET,
        lambda mode: mode == word if mode in (word, "sync") else UNSET,
    )


def _text_only(value: object) -> object:
    return value if isinstance(value, str) else UNSET


def _is_patch(args: Mapping[str, object]) -> bool:
    return isinstance(args.get(PLAIN), str)


# one directory is the canonical `path`; several stay a list under the native name
_ONE_PATH: Final = _tools.convert("path", "paths", _text_only, _text_only)
_LINES: Final = ArgsCodec(_range_to_native, _range_to_canonical)

# a file is `file_path` in permission requests
TOOLS: Final = tool_map(
    tool_row("shell", "bash powershell", keys="session=shellId", codecs=(_background("async"),)),
    tool_row("shell_input", "write_bash", keys="session=shellId text=input"),
    tool_row("shell_control", "read_bash stop_bash list_bash", keys="session=shellId"),
    tool_row("read_file", "view Read", codecs=(_LINES,), also="file_path=path"),
    tool_row("write_file", "create Write", keys="content=file_text", also="file_path=path"),
    # a patch is a plain text, and has the name of an edit in the other form
    tool_row("apply_patch", "apply_patch", keys="patch=input"),
    tool_row("apply_patch", "edit", keys="patch=input", when=_is_patch),
    tool_row(
        "edit_file",
        "edit str_replace_editor",
        keys="old=old_str new=new_str",
        also="file_path=path",
        when=lambda args: not _is_patch(args),
    ),
    tool_row("grep", "grep rg", keys="include=glob", codecs=(_ONE_PATH,)),
    tool_row("glob", "glob", codecs=(_ONE_PATH,)),
    tool_row("web_fetch", "web_fetch WebFetch", codecs=(_tools.ONE_URL,)),
    tool_row("web_search", "web_search WebSearch"),
    tool_row("subagent", "task Agent", keys="type=agent_type", codecs=(_background("background"),)),
    tool_row("agent_message", "write_agent", keys="target=agent_id text=message"),
    tool_row("skill", "skill", keys="name=skill"),
    tool_row("todo", "update_todo TodoWrite", keys="items=todos"),
    tool_row("ask_user", "ask_user AskUserQuestion"),
)

# the tools' names in documents of the other form; their arguments are the same
_PASCAL_TOOLS: Final = _tools.parse_pairs(
    "bash=Bash powershell=Bash view=Read create=Write edit=Edit str_replace_editor=Edit apply_patch=Edit "
    "grep=Grep rg=Grep glob=Glob web_fetch=WebFetch web_search=WebSearch ask_user=AskUserQuestion "
    "update_todo=TodoWrite task=Agent"
)

# what an answer can do

_EVENTS: Final[EventTable] = {
    "sessionStart": ("context message", EventName.SESSION_START),
    "sessionEnd": ("", EventName.SESSION_END),
    "userPromptSubmitted": ("block context message", EventName.BEFORE_AGENT),
    "preToolUse": ("allow block ask rewrite_args context message", EventName.BEFORE_TOOL),
    # with an empty answer the program asks the user
    "permissionRequest": ("allow block ask stop message", EventName.PERMISSION_REQUEST),
    "postToolUse": ("block rewrite_output context message", EventName.AFTER_TOOL),
    "postToolUseFailure": ("context message", EventName.TOOL_FAILED),
    "preCompact": ("message", EventName.PRE_COMPRESS),
    "subagentStart": ("context message", EventName.SUBAGENT_START),
    # a stop lets it rest, as an empty answer does
    "subagentStop": ("block stop message follow_up", EventName.SUBAGENT_STOP),
    "agentStop": ("block stop message follow_up", EventName.AFTER_AGENT),
    "errorOccurred": ("message", EventName.ERROR),
    "notification": ("context message", EventName.NOTIFICATION),
}

# the name of each event in the other form: in PascalCase, with two exceptions
_OTHER_NAMES: Final = {"userPromptSubmitted": "UserPromptSubmit", "agentStop": "Stop"}
_PASCAL: Final[Mapping[str, EventName]] = {
    _OTHER_NAMES.get(native, native[0].upper() + native[1:]): name
    for native, (_, *names) in _EVENTS.items()
    for name in names
}


def _is_author(document: Mapping[str, object]) -> bool:
    """Return whether Copilot CLI wrote a document, in either form; other agents have keys that it does not send."""
    keys = document.keys()
    if keys & {"cursor_version", "hookEventName", "event", "event_type", "conversation_id", "turn_id", "prompt_id"}:
        return False
    name, time = str(document.get("hook_event_name")), document.get("timestamp")
    if "sessionId" in keys:
        return isinstance(time, int | float) and not isinstance(time, bool)
    # VS Code and Gemini CLI name the transcript at events at which it does not
    is_other = "transcript_path" in keys and (
        "tool_name" in keys or name in {"SessionStart", "SessionEnd", "Notification"}
    )
    return name in _PASCAL and isinstance(time, str) and not is_other


SPEC: Final = _codec.agent_spec(
    _NAME,
    "GitHub Copilot CLI",
    events=_EVENTS,
    tools=TOOLS,
    # a guard of writing and editing has to see every way to do it
    matched="apply_patch=apply_patch,edit,create multi_edit=edit insert_text=edit edit_lines=edit",
    timeout=30.0,
    aliases=("copilot", "github-copilot"),
    runs_files_of=("claude-code",),
    signature=_is_author,
    mcp="{server}-{tool}",
    more_events=_PASCAL,
)

# the two forms of documents

_RESULT: Final = "toolResult"
# keys of the other form: in snake_case, and another one for a subagent's answer
_SNAKE_TO_CAMEL: Final[Mapping[str, str]] = {
    re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", camel): camel
    for camel in (
        *("sessionId", "toolName", _RESULT, "initialPrompt", "transcriptPath", "stopReason", "agentId", "agentType"),
        *("agentName", "agentDisplayName", "agentDescription", "customInstructions", "errorContext", "resultType"),
        "textResultForLlm",
    )
} | {"tool_input": "toolArgs", "last_assistant_message": "response"}
_CAMEL_TO_SNAKE: Final[Mapping[str, str]] = {camel: snake for snake, camel in _SNAKE_TO_CAMEL.items()}


def _respell(document: Mapping[str, object], keys: Mapping[str, str]) -> dict[str, object]:
    """Return a document in the other form; arguments are the tool's own and stay unchanged."""
    spelled: dict[str, object] = {keys.get(key, key): value for key, value in document.items()}
    for key in (_RESULT, "tool_result"):
        if isinstance(part := spelled.get(key), dict):
            spelled[key] = {keys.get(name, name): value for name, value in part.items()}
    return spelled


# events

_RESULT_TEXT: Final = f"{_RESULT}.textResultForLlm"
# inside a subagent
_AGENT: Final = (Field("agent_id", "agentId"), Field("agent_type", "agentType"))
_TRANSCRIPT: Final = Field("transcript_path", "transcriptPath")
_STOP_REASON: Final = Field("stop_reason", "stopReason")


def _of_main_agent(name: EventName) -> Callable[[Mapping[str, object]], EventName]:
    """Return the event of the main agent, or a custom one for its repetition inside a subagent."""
    return lambda document: EventName.CUSTOM if "parentAgentId" in document else name


_CODEC: Final = AgentCodec(
    spec=SPEC,
    names=EventNames(
        SPEC.events,
        # the user did not type a subagent's prompt, and its end has an event of its own
        {
            "userPromptSubmitted": _of_main_agent(EventName.BEFORE_AGENT),
            "agentStop": _of_main_agent(EventName.AFTER_AGENT),
        },
    ),
    tools=TOOLS,
    field_maps=_codec.field_maps(
        {
            EventName.SESSION_START: (Field("initial_prompt", "initialPrompt"),),
            EventName.BEFORE_TOOL: _AGENT,
            EventName.PERMISSION_REQUEST: _AGENT,
            EventName.AFTER_TOOL: (Field("result", _RESULT_TEXT), *_AGENT),
            EventName.TOOL_FAILED: _AGENT,
            EventName.AFTER_AGENT: (_TRANSCRIPT, _STOP_REASON),
            EventName.SUBAGENT_START: (_TRANSCRIPT, _AGENT[0], Field("agent_type", "agentName", mirror="agentType")),
            EventName.SUBAGENT_STOP: (_TRANSCRIPT, _STOP_REASON, *_AGENT),
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
        scalars={EventName.ERROR: {"error": "error"}, EventName.AFTER_TOOL: {_RESULT: "result"}},
    ),
)

# the key that only documents of the other form have
_FORM: Final = "hook_event_name"


def encode_event(event: Event, hook: Hook) -> Request:
    """Return the request for a hook of this dialect."""
    folder = hook.project(event.cwd.replace("\0", ""))
    env = _codec.fit_environment(dict.fromkeys(("COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), folder))
    return Request(event=event, later=partial(_write_event, event, hook.native_event), env=env)


def _write_event(event: Event, wanted: str = "") -> dict[str, object]:
    """Return the document in the form that the hook is configured for, else in the one that the agent sent."""
    data = _codec.fit_result(event, _NAME)
    form = ""
    # the name under which the agent sent an event in the other form
    name = data.get(_FORM) if event.host == _NAME else None
    if isinstance(name, str) and (name in _PASCAL or name == event.native_name):
        form = name
        del data[_FORM]
    if _PASCAL.get(wanted) is event.name or wanted in SPEC.abilities:
        event = replace(event, native_tool="") if form and wanted in SPEC.abilities else event
        # both forms of a permission request are the same
        form = wanted if wanted in _PASCAL and event.name is not EventName.PERMISSION_REQUEST else ""
    document: dict[str, object] = {"sessionId": event.session.id, "cwd": event.cwd}
    if event.timestamp:
        document["timestamp"] = _json_reader.to_iso(event.timestamp) if form else event.timestamp
    if event.name is EventName.NOTIFICATION:
        document[_FORM] = "Notification"
    if event.name is EventName.PERMISSION_REQUEST:
        document["hookName"] = "permissionRequest"
    if event.tool or event.name in TOOL_EVENTS:
        tool, args = _CODEC.encode_call(replace(event, native_args=_tools.parse_text(event.native_args)))
        if isinstance(event.native_args, str) and not isinstance(args, str) and event.host == _NAME:
            # arguments that came as JSON in a text are sent as one
            args = _tools.to_same_text(args, text=event.native_args)
        document["toolName"] = _PASCAL_TOOLS.get(tool, tool) if form else tool
        document["toolInput" if event.name is EventName.PERMISSION_REQUEST else "toolArgs"] = args
    _CODEC.write_data(event, document, data)
    return {_FORM: form, **_respell(document, _CAMEL_TO_SNAKE)} if form else document


def decode_event(raw: bytes, name: str = "") -> Event:
    """Return the event of a document of Copilot CLI, in either form."""
    document = _READER.load_object(raw)
    form = _READER.pop_text(document, _FORM)
    is_other = "session_id" in document and "sessionId" not in document
    if is_other:
        document = _respell(document, _SNAKE_TO_CAMEL)
    hook_name = _READER.pop_text(document, "hookName")
    native = _CODEC.read_name(form or hook_name, name, where="EVENT")
    session = Session(id=_READER.pop_text(document, "sessionId"))
    cwd = _READER.pop_text(document, "cwd")
    if native in _PASCAL:
        native = SPEC.events[_PASCAL[native]]
    call = NO_CALL
    if "toolName" in document or native in {"preToolUse", "postToolUse", "postToolUseFailure"}:
        tool = _READER.require_text(document.pop("toolName", None), "toolName")
        call = _decode_call(tool, document.pop("toolArgs" if "toolArgs" in document else "toolInput", None), cwd)
    event = _CODEC.decode_document(native, document, session=session, cwd=cwd, call=call, iso=is_other)
    return replace(event, data={**event.data, _FORM: form}) if is_other and form else event


# the server that comes with the program, whose name contains the separator
_BUNDLED: Final = "github-mcp-server"


def _decode_call(name: str, args: object, cwd: str) -> DecodedCall:
    """Return the call; the server precedes the slash in a permission request, else the first hyphen.

    Only the names of built-in tools have neither. Without a slash, a server with a hyphen in its name is split wrongly: nothing in
    the document distinguishes it.
    """
    server = tool = ""
    if name.startswith(f"{_BUNDLED}-"):
        server, tool = _BUNDLED, name.removeprefix(f"{_BUNDLED}-")
    elif name.casefold() not in TOOLS.by_native:
        server, _, tool = name.partition("/" if "/" in name else "-")
    call = _CODEC.decode_call(name, _tools.parse_text(args), cwd=cwd, server=server, tool=tool)
    return replace(call, native_args=args)


# answers of hooks

_GUARDS: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST})
_DENY_EXIT: Final = 2


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Return the verdict of a hook's reply.

    Before a tool, a hook that fails denies; at a permission request, one that ends with exit code 2 does.
    """
    progress, rest = _take_progress(reply)
    verdict = _CODEC.read_reply(_RULES, rest, request)
    if progress:
        verdict = replace(verdict, effects=(*verdict.effects, *progress))
    name = request.event.name
    if reply.exit_code == _DENY_EXIT and name is EventName.TOOL_FAILED:
        text = rest.stdout.decode("utf-8", "replace").strip()
        effects = (Effect(EffectKind.CONTEXT, text), *progress) if text else progress
        return Verdict(effects=effects, notes=verdict.notes)
    is_deny_exit = reply.exit_code == _DENY_EXIT
    denies = name is EventName.BEFORE_TOOL or (name is EventName.PERMISSION_REQUEST and is_deny_exit)
    if not reply.exit_code or not denies or verdict.decision >= Decision.DENY:
        return verdict
    complaint = reply.stderr.decode("utf-8", "replace").strip()
    reason = complaint or verdict.reason or f"hook exited with code {reply.exit_code}"
    failure = None if is_deny_exit else Failure(FailureKind.EXIT_CODE, reason)
    return replace(verdict, decision=Decision.DENY, reason=reason, failure=failure)


def _take_progress(reply: Reply) -> tuple[tuple[Effect, ...], Reply]:
    """Remove the lines that are shown while the hook runs, and return them as messages."""
    if b'"progress"' not in reply.stdout:
        return (), reply
    messages: list[Effect] = []
    rest: list[bytes] = []
    for line in reply.stdout.splitlines(keepends=True):
        try:
            document = json_codec.load(line) if line.lstrip().startswith(b"{") else None
        except ValueError:
            document = None
        match document:
            case {"type": "progress", "message": str(message)} if message:
                messages.append(Effect(EffectKind.MESSAGE, message))
            case {"type": "progress"}:
                pass
            case _:
                rest.append(line)
    return tuple(messages), replace(reply, stdout=b"".join(rest))


# each key with a decision, and the key of its reason
_REASON_KEYS: Final = {"permissionDecision": "permissionDecisionReason", "behavior": "message", "decision": "reason"}
_WORDS: Final = {"allow": Decision.ALLOW, "ask": Decision.ASK, "block": Decision.DENY, "deny": Decision.DENY}


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    event = request.event
    own = _READER.get_object(document, "hookSpecificOutput")
    answer = {**document, **own}
    # of decisions in both places, the stronger counts
    decision, reason = max(_read_decision(document, event), _read_decision(own, event), key=lambda found: found[0])
    changed = answer.get("updatedInput", answer.get("modifiedArgs"))
    if isinstance(changed, str) and event.tool == "apply_patch":
        changed = {PLAIN: changed}
    context = EffectKind.ASK_AGENT if event.name in TURN_ENDS else EffectKind.CONTEXT
    result = answer.get("modifiedResult")
    output = result.get("textResultForLlm", result) if isinstance(result, dict) else result
    return Verdict(
        decision=decision,
        reason=reason,
        effects=(
            *_RULES.args_effects(changed, event, where="modifiedArgs"),
            *((Effect(EffectKind.REWRITE, output, ("output",)),) if result is not None else ()),
            *_RULES.text_effects(answer.get("additionalContext"), context, where="additionalContext"),
        ),
        metadata=_RULES.extra_keys(document),
    )


def _read_decision(answer: Mapping[str, object], event: Event) -> tuple[Decision, str]:
    found: list[tuple[Decision, str]] = [(Decision.PASS, "")]
    for key, why in _REASON_KEYS.items():
        if answer.get(key) is None:
            continue
        decision = _READER.read_decision(answer[key], key, _WORDS, wanted=", ".join(sorted(_WORDS)))
        if key == "decision" and decision is Decision.ALLOW and event.name in _GUARDS:
            # the agent does not read this key at these events, so it must not allow anything
            continue
        found.append((decision, _READER.get_text(answer, why)))
    if answer.get("interrupt") is True:
        found.append((Decision.STOP, _READER.get_text(answer, "message")))
    return max(found, key=lambda item: item[0])


_READ: Final = key_set(
    "decision reason permissionDecision permissionDecisionReason behavior message interrupt modifiedArgs updatedInput "
    "modifiedResult additionalContext hookSpecificOutput suppressOutput"
)
_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=_READ | {f"hookSpecificOutput.{key}" for key in (*_READ, "hookEventName")},
    tools=TOOLS,
    allow_empty=True,
    allow_text=True,
    strict_json=True,
)

# answers to the agent

_PERMISSION: Final = {Decision.ALLOW: "allow", Decision.ASK: "ask", Decision.DENY: "deny", Decision.STOP: "deny"}


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for Copilot CLI; an empty one is no opinion."""
    messages = join_blocks(outcome.messages)
    progress = json_codec.dump({"type": "progress", "message": messages}) + b"\n" if messages else b""
    return Answer(stdout=progress + encode_opinion(_build_answer(outcome, event)).stdout)


def _build_answer(outcome: Outcome, event: Event) -> dict[str, object]:
    decision, reason = outcome.decision, find_reason(outcome)
    document: dict[str, object] = {}
    if Ability.CONTEXT in SPEC.abilities.get(SPEC.native(event), ()):
        document["additionalContext"] = join_blocks(outcome.context) or UNSET
    if event.name is EventName.BEFORE_TOOL:
        plain = replace(event, native_args=_tools.parse_text(event.native_args))
        changed = UNSET if decision >= Decision.DENY else _tools.apply_rewrite(TOOLS, outcome, plain)
        word = _PERMISSION.get(decision, UNSET)
        why = reason or UNSET if word is not UNSET else UNSET
        return {**document, "permissionDecision": word, "permissionDecisionReason": why, "modifiedArgs": changed}
    if event.name is EventName.PERMISSION_REQUEST:
        if decision is Decision.ALLOW:
            return {"behavior": "allow"}
        interrupt = True if decision is Decision.STOP else UNSET
        return {"behavior": "deny", "message": reason, "interrupt": interrupt} if decision >= Decision.DENY else {}
    if event.name not in _BLOCKED:
        return document
    output = _tools.final_output(outcome)
    if event.name is EventName.AFTER_TOOL and output is not UNSET:
        result = event.data.get(_RESULT)
        rest = result if isinstance(result, dict) else {"resultType": "success"}
        document["modifiedResult"] = {**rest, "textResultForLlm": _tools.result_text(output)}
    ends = event.name in TURN_ENDS
    prompts = join_blocks(outcome.follow_ups) if ends else ""
    if (decision is Decision.STOP and ends) or not (outcome.blocked or prompts):
        return document
    return {"decision": "block", "reason": join_blocks((reason if outcome.blocked else "", prompts)), **document}


# the events at which `decision: "block"` is read
_BLOCKED: Final = frozenset({EventName.AFTER_TOOL, EventName.BEFORE_AGENT, *TURN_ENDS})
