"""Cursor: flat documents in snake_case, events in camelCase, and a `permission` in every answer to a permission request.

Besides the events for all tools it has events for shell commands, MCP calls and files, about one tool each. An answer is read at exit
code 0 only, and 2 denies. An empty answer to a permission request has been taken for a broken one, so no opinion is written out:
`{"permission": "allow"}`. For the same reason Hookline reads that word only as "go on".
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec import UNSET

from hookline.dialects import _codec, _reply_codec, _tools
from hookline.dialects._codec import TOOL_EVENTS, TURN_ENDS, AgentCodec, EventNames, EventTable, Field, join_blocks
from hookline.dialects._json_reader import JsonReader, key_set
from hookline.dialects._reply_codec import ReplyRules
from hookline.dialects._tools import NO_CALL, ONE_URL, TIMEOUT_MS, DecodedCall, edits, one_of, tool_map, tool_row
from hookline.model.dialect import MCP_PREFIX, MatcherStyle
from hookline.model.event import READING, WRITING, Ability, Event, EventName, Session
from hookline.model.exchange import Answer, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "cursor"
_READER: Final = JsonReader(_NAME)

# tools

_EDIT: Final = {"old": "old_string", "new": "new_string"}

TOOLS: Final = tool_map(
    tool_row("shell", "Shell", keys="cwd=working_directory background=is_background", codecs=(TIMEOUT_MS,)),
    tool_row("read_file", "Read TabRead", keys="path=file_path"),
    tool_row("write_file", "Write TabWrite", keys="path=file_path", also="contents=content"),
    tool_row(
        "multi_edit", "Write TabWrite", keys="path=file_path", codecs=(edits(_EDIT),), when=lambda a: "edits" in a
    ),
    tool_row(
        "edit_file", "Write", keys="path=file_path old=old_string new=new_string", when=lambda a: "old_string" in a
    ),
    tool_row("edit_file", "StrReplace", keys="path=file_path old=old_string new=new_string"),
    tool_row("apply_patch", "ApplyPatch", also="input=patch"),
    tool_row("notebook_edit", "EditNotebook", keys="path=target_notebook"),
    tool_row("delete_file", "Delete", codecs=(one_of("paths", "path"),), also="file_path=path"),
    tool_row("grep", "Grep", keys="include=glob"),
    tool_row("glob", "Glob", keys="pattern=glob_pattern path=target_directory"),
    tool_row("list_dir", "LS", keys="path=target_directory"),
    tool_row("web_fetch", "WebFetch", codecs=(ONE_URL,)),
    tool_row("web_search", "WebSearch", also="search_term=query"),
    tool_row("subagent", "Task", keys="type=subagent_type"),
    tool_row("todo", "TodoWrite", keys="items=todos"),
)

# preToolUse accepts `ask` and does not enforce it; sessionStart does not wait for the answer
_EVENTS: Final[EventTable] = {
    "sessionStart": ("context", EventName.SESSION_START),
    "sessionEnd": ("", EventName.SESSION_END),
    "beforeSubmitPrompt": ("block", EventName.BEFORE_AGENT),
    "preToolUse": ("block rewrite_args", EventName.BEFORE_TOOL),
    "beforeShellExecution": ("block ask", EventName.BEFORE_TOOL),
    "beforeMCPExecution": ("block ask", EventName.BEFORE_TOOL),
    "beforeReadFile": ("block", EventName.BEFORE_TOOL),
    "beforeTabFileRead": ("block", EventName.BEFORE_TOOL),
    "postToolUse": ("context", EventName.AFTER_TOOL),
    "postToolUseFailure": ("", EventName.TOOL_FAILED),
    "afterShellExecution": ("", EventName.AFTER_TOOL),
    "afterMCPExecution": ("", EventName.AFTER_TOOL),
    "afterFileEdit": ("", EventName.AFTER_TOOL),
    "afterTabFileEdit": ("", EventName.AFTER_TOOL),
    "subagentStart": ("block", EventName.SUBAGENT_START),
    "subagentStop": ("block stop follow_up", EventName.SUBAGENT_STOP),
    "preCompact": ("message", EventName.PRE_COMPRESS),
    "stop": ("block stop follow_up", EventName.AFTER_AGENT),
    "afterAgentResponse": ("", EventName.AFTER_MODEL),
    "afterAgentThought": ("",),
    "workspaceOpen": ("",),
}


def _is_author(document: Mapping[str, object]) -> bool:
    """Return whether Cursor wrote a document; older versions do not name their version."""
    return "cursor_version" in document or (
        "conversation_id" in document and str(document.get("hook_event_name")) in _EVENTS
    )


SPEC: Final = _codec.agent_spec(
    _NAME,
    "Cursor",
    events=_EVENTS,
    tools=TOOLS,
    # matchers call edits of every kind `Write`
    matched=(
        "edit_file=Write,StrReplace insert_text=Write edit_lines=Write apply_patch=ApplyPatch,Write "
        "notebook_edit=EditNotebook,Write"
    ),
    timeout=60.0,
    matcher=MatcherStyle.SEARCH,
    runs_files_of=("claude-code",),
    signature=_is_author,
    mcp="MCP:{tool}",
    of_mcp={"postToolUse": frozenset({Ability.OUTPUT})},
    event_tools={
        **dict.fromkeys(("beforeShellExecution", "afterShellExecution"), ("shell",)),
        **dict.fromkeys(("beforeMCPExecution", "afterMCPExecution"), ("mcp__*",)),
        **dict.fromkeys(("beforeReadFile", "beforeTabFileRead"), READING),
        **dict.fromkeys(("afterFileEdit", "afterTabFileEdit"), WRITING),
    },
)

_MCP: Final = "MCP:"

# fields of documents

# events about one tool: the tool's name at the events for all tools, and the arguments at the top of the document
_TOOL_EVENTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "beforeShellExecution": ("Shell", ("command",)),
    "afterShellExecution": ("Shell", ("command",)),
    "beforeReadFile": ("Read", ("file_path",)),
    "beforeTabFileRead": ("TabRead", ("file_path",)),
    "afterFileEdit": ("Write", ("file_path", "edits")),
    "afterTabFileEdit": ("TabWrite", ("file_path", "edits")),
}
_MCP_EVENTS: Final = frozenset({"beforeMCPExecution", "afterMCPExecution"})
_WITH_CWD: Final = frozenset({"preToolUse", "postToolUse", "postToolUseFailure", "beforeShellExecution"})
_WITH_SESSION: Final = frozenset({"sessionStart", "sessionEnd"})
# results that are JSON in a text
_JSON_RESULTS: Final = {"postToolUse": "tool_output", "afterMCPExecution": "result_json"}

_CALL: Final = Field("call_id", "tool_use_id")
_DURATION: Final = Field("duration", "duration", in_ms=True)
_DURATION_MS: Final = Field("duration", "duration_ms", in_ms=True)
_AGENT_TYPE: Final = Field("agent_type", "subagent_type")
_TASK: Final = Field("prompt", "task")
_FIELDS: Final[Mapping[str, tuple[Field, ...]]] = {
    "preToolUse": (_CALL,),
    "postToolUse": (_CALL, Field("result", "tool_output"), _DURATION),
    "postToolUseFailure": (_CALL, Field("error", "error_message"), Field("error_type", "failure_type"), _DURATION),
    "afterShellExecution": (Field("result", "output"), _DURATION),
    "afterMCPExecution": (Field("result", "result_json"), _DURATION),
    "subagentStart": (Field("agent_id", "subagent_id"), _AGENT_TYPE, _TASK),
    "subagentStop": (_AGENT_TYPE, _TASK, Field("response", "summary"), _DURATION_MS),
    "afterAgentResponse": (Field("response", "text"),),
    "sessionEnd": (_DURATION_MS,),
}
_FIELD_MAPS: Final = _codec.field_maps(
    _FIELDS,
    taken=("conversation_id", "session_id", "hook_event_name", "model", "cwd", "tool_name", "tool_input"),
    taken_at={native: keys for native, (_, keys) in _TOOL_EVENTS.items()},
)
_CODEC: Final = AgentCodec(
    spec=SPEC, names=EventNames(SPEC.events, more=SPEC.more_events), tools=TOOLS, field_maps=_FIELD_MAPS
)

# fields that hooks rely on and other agents do not send
_DEFAULTS: Final[Mapping[str, Mapping[str, object]]] = {
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
    """Return the request for a hook of this dialect, as the event that the hook is configured for."""
    native = _CODEC.native_name(event, hook.native_event)
    project = hook.project(event.cwd)
    variables = {
        "CURSOR_PROJECT_DIR": project,
        "CLAUDE_PROJECT_DIR": project,
        "CURSOR_VERSION": event.data.get("cursor_version"),
        "CURSOR_USER_EMAIL": event.data.get("user_email"),
        "CURSOR_TRANSCRIPT_PATH": event.data.get("transcript_path"),
    }
    env = _codec.fit_environment(variables)
    return Request(event=event, later=partial(_write_event, event, native), env=env)


def _write_event(event: Event, native: str) -> dict[str, object]:
    is_own = event.host == _NAME
    document: dict[str, object] = {"hook_event_name": native}
    if event.session.id or not is_own:
        document["conversation_id"] = event.session.id
    if event.session.model or not is_own:
        document["model"] = event.session.model
    if native in _WITH_SESSION:
        document["session_id"] = event.session.id
    if native in _WITH_CWD or (native not in SPEC.abilities and event.cwd):
        document["cwd"] = event.cwd
    if event.tool or event.name in TOOL_EVENTS:
        _write_call(event, native, document)
    _FIELD_MAPS(native).write(_encode_data(event, native), document, session=event.session)
    if is_own:
        return document
    return {
        "generation_id": "",
        "cursor_version": "",
        "workspace_roots": [event.cwd] if event.cwd else [],
        "user_email": None,
        "transcript_path": None,
        **_DEFAULTS.get(native, {}),
        **document,
    }


def _write_call(event: Event, native: str, document: dict[str, object]) -> None:
    is_own = event.host == _NAME
    name, args = _CODEC.encode_call(event)
    server, tool = _tools.split_name(event.tool) or ("", "")
    if native in _MCP_EVENTS:
        document["tool_name"] = tool or name
        document["tool_input"] = _tools.to_same_text(dict(event.args), text=event.native_args)
        if server:
            document["mcp_server_name"] = server
    elif native in _TOOL_EVENTS:
        keys = _TOOL_EVENTS[native][1]
        given = dict(args) if isinstance(args, Mapping) else {}
        if "edits" in keys and "edits" not in event.args and not (is_own and event.native_name in _TOOL_EVENTS):
            # the change of another tool
            given["edits"] = [_tools.as_edit(event.args)]
        document.update((key, given[key]) for key in keys if key in given)
    else:
        document["tool_name"] = f"{_MCP}{tool}" if tool else name
        document["tool_input"] = _tools.parse_text(args) if tool else args


def _encode_data(event: Event, native: str) -> dict[str, object]:
    data = dict(event.data)
    if event.name is EventName.CUSTOM and data.get("event_name") == native:
        del data["event_name"]
    if event.name in TURN_ENDS:
        again = data.pop("stop_hook_active", None)
        if event.host != _NAME and again is not None:
            data.setdefault("loop_count", 1 if again is True else 0)
    key = _JSON_RESULTS.get(native)
    if key is not None and "result" in data:
        data["result"] = _tools.to_same_text(data["result"], text=data.pop(key, None))
    elif native == "afterShellExecution" and "result" in data:
        data["result"] = _tools.to_text(data["result"])
    return data


def decode_event(raw: bytes, name: str = "") -> Event:
    """Return the event of a document of Cursor."""
    document = _READER.load_object(raw)
    native = _CODEC.read_name(document.pop("hook_event_name", None), name, where="hook_event_name")
    canonical = _CODEC.names.decode(native, document)
    session_id = _READER.pop_text(document, "conversation_id")
    named = document.get("session_id")
    if isinstance(named, str) and (not session_id or named == session_id):
        session_id = named
        del document["session_id"]
    session = Session(id=session_id, model=_READER.pop_text(document, "model"))
    cwd = _READER.pop_text(document, "cwd")
    match document.get("workspace_roots"):
        case [str(root), *_] if not cwd:
            cwd = root
    call = _read_call(canonical, native, document, cwd=cwd)
    data = _FIELD_MAPS(native).read(document, "", _READER)
    if canonical in TURN_ENDS:
        # no set: the value may be of any type, also one without a hash
        data.setdefault("stop_hook_active", data.get("loop_count") not in (0, None))
    key = _JSON_RESULTS.get(native)
    text = data.get("result")
    result = _tools.parse_text(text)
    if key is not None and result is not text:
        data["result"] = result
        if _tools.to_text(result) != text:
            # we would write the text differently
            data[key] = text
    return _CODEC.build_event(canonical, native, data, call=call, session=session, cwd=cwd)


def _read_call(name: EventName, native: str, document: dict[str, object], *, cwd: str) -> DecodedCall:
    if native in _TOOL_EVENTS:
        about, keys = _TOOL_EVENTS[native]
        return _CODEC.decode_call(about, {key: document.pop(key) for key in keys if key in document}, cwd=cwd)
    if "tool_name" not in document and name not in TOOL_EVENTS:
        return NO_CALL
    tool = _READER.require_text(document.pop("tool_name", None), "tool_name")
    native_args = document.pop("tool_input", None)
    if native not in _MCP_EVENTS and not tool.startswith((_MCP, MCP_PREFIX)):
        return _CODEC.decode_call(tool, native_args, cwd=cwd)
    named = _READER.pop_text(document, "mcp_server_name") if not tool.startswith(MCP_PREFIX) else ""
    server, bare = _tools.split_name(tool) or (named, tool.removeprefix(_MCP))
    return _tools.normalise_server_call(server, bare, native_args, native_tool=f"{_MCP}{bare}")


# answers of hooks

_WORDS: Final = {"allow": Decision.PASS, "deny": Decision.DENY, "ask": Decision.ASK}
_CLAUDE_WORDS: Final = {"allow": Decision.PASS, "approve": Decision.PASS, "block": Decision.DENY, **_WORDS}


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    """Read an answer in Cursor's words, or in Claude Code's, which Cursor accepts as well."""
    own = _READER.get_object(document, "hookSpecificOutput")
    decision = max(
        _READER.read_decision(document.get("permission"), "permission", _WORDS),
        _READER.read_decision(document.get("decision"), "decision", _CLAUDE_WORDS),
        _READER.read_decision(own.get("permissionDecision"), "permissionDecision", _CLAUDE_WORDS),
        Decision.DENY if _READER.get_flag(document, "continue") is False else Decision.PASS,
    )
    message = _READER.get_text(document, "user_message")
    reasons = ((document, "agent_message"), (own, "permissionDecisionReason"), (document, "reason"))
    why = next(filter(None, (_READER.get_text(part, key) for part, key in reasons)), "")
    follow_up = _READER.get_text(document, "followup_message")
    if follow_up and request.event.name in TURN_ENDS:
        # at the end of a turn this is a denial of the end
        why = join_blocks((why if decision else "", follow_up))
        decision = max(decision, Decision.DENY)
    reason = (why or message) if decision else ""
    texts = _RULES.text_effects
    changed = document.get("updated_input", own.get("updatedInput"))
    return Verdict(
        decision=decision,
        reason=reason,
        effects=(
            *_RULES.args_effects(changed, request.event, where="updated_input"),
            *_reply_codec.output_effects(document, "updated_mcp_tool_output"),
            *texts(document.get("additional_context"), EffectKind.CONTEXT, where="additional_context"),
            *texts(own.get("additionalContext"), EffectKind.CONTEXT, where="hookSpecificOutput.additionalContext"),
            *((Effect(EffectKind.MESSAGE, message),) if message and message != reason else ()),
        ),
        metadata=_RULES.extra_keys(document),
    )


_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set(
        "permission user_message agent_message updated_input continue followup_message additional_context "
        "updated_mcp_tool_output hookSpecificOutput decision reason hookSpecificOutput.hookEventName "
        "hookSpecificOutput.permissionDecision hookSpecificOutput.permissionDecisionReason "
        "hookSpecificOutput.updatedInput hookSpecificOutput.additionalContext"
    ),
    tools=TOOLS,
    allow_empty=True,
    deny_exit=2,
)
decode_reply = _RULES.read_reply

# answers to Cursor


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for Cursor, which reads every answer at exit code 0."""
    return _reply_codec.encode_answer(_build_answer(outcome, event, _CODEC.native_name(event)))


def _build_answer(outcome: Outcome, event: Event, native: str) -> dict[str, object]:
    able = SPEC.abilities.get(native, ())
    reason = _reply_codec.find_reason(outcome)
    message = join_blocks(outcome.messages) or UNSET
    match native:
        case "beforeSubmitPrompt":
            return {"continue": not outcome.blocked, "user_message": reason if outcome.blocked else UNSET}
        case "stop" | "subagentStop":
            # all that Cursor reads at the end of a turn is a message that sends the agent back to work
            prompts = join_blocks((reason if outcome.blocked else "", *outcome.follow_ups))
            return {"followup_message": UNSET if outcome.stopped else prompts or UNSET}
        case "postToolUse" | "sessionStart":
            output = outcome.output if event.tool.startswith(MCP_PREFIX) else UNSET
            return {"updated_mcp_tool_output": output, "additional_context": join_blocks(outcome.context) or UNSET}
        case "preCompact":
            return {"user_message": message}
        case _ if native not in _PERMISSIONS:
            # a denial is written also where Cursor is not known to read one; no opinion is empty there
            return {"permission": "deny", "user_message": reason} if outcome.blocked else {}
        case _ if not outcome.blocked:
            changed = _tools.apply_rewrite(TOOLS, outcome, event) if Ability.ARGS in able else UNSET
            return {"permission": "allow", "updated_input": changed, "user_message": message}
    asks = outcome.decision is Decision.ASK and Ability.ASK in able
    answer: dict[str, object] = {"permission": "ask" if asks else "deny", "user_message": reason}
    return {**answer, "agent_message": reason} if native in _CALLS else answer


_CALLS: Final = frozenset({"preToolUse", "beforeShellExecution", "beforeMCPExecution"})
_PERMISSIONS: Final = _CALLS | {"beforeReadFile", "beforeTabFileRead", "subagentStart"}
