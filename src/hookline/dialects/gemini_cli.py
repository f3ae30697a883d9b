"""Gemini CLI: its own events in snake_case on stdin, decisions at the top of the answer, arguments as `tool_input`.

A hook's answer is what it prints on stdout, or else on stderr, whatever the exit code is; plain text is a message to the user at
exit code 0 and a reason to block at codes other than 0 and 1. An empty answer is no opinion, so our own answers never use stderr.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import json_codec
from hookline.dialects import _codec, _reply_codec, _tools
from hookline.dialects._codec import TOOL_EVENTS, TURN_ENDS, AgentCodec, EventNames, EventTable, Field, join_blocks
from hookline.dialects._json_reader import JsonReader, decision_words, key_set
from hookline.dialects._reply_codec import ReplyRules
from hookline.dialects._tools import LINES, NO_CALL, ArgsCodec, final_output, rename, tool_map, tool_row, without
from hookline.model.dialect import MatcherStyle
from hookline.model.event import Ability, Event, EventName, Session
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "gemini-cli"
_READER: Final = JsonReader(_NAME)

# tools

# punctuation at the end of a sentence is not part of a URL
_URL: Final = re.compile(r"https?://[^\s<>\"'`)\]}]*[^\s<>\"'`)\]}.,;:!?]", re.IGNORECASE)


def _find_urls(prompt: object) -> list[str]:
    return list(dict.fromkeys(_URL.findall(prompt))) if isinstance(prompt, str) else []


def _urls_from_prompt(args: dict[str, object]) -> dict[str, object]:
    found = _find_urls(args.get("prompt"))
    return {**args, "urls": found} if found and "urls" not in args else args


def _urls_into_prompt(args: dict[str, object]) -> dict[str, object]:
    """Make a prompt name exactly these URLs: the agent fetches every URL in it."""
    urls = args.get("urls")
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        return args
    text = args.get("prompt")
    prompt = text if isinstance(text, str) else ""
    wanted = [url for url in urls if url not in _find_urls(prompt)]
    unwanted = [url for url in _find_urls(prompt) if url not in urls]
    instead = {url: wanted.pop(0) if wanted else "" for url in unwanted}
    prompt = _URL.sub(lambda url: instead.get(url[0], url[0]), prompt)
    return {**without(args, "urls"), "prompt": " ".join(filter(None, (prompt, *wanted)))}


_RANGE: Final = (LINES, rename({"startLine": "start_line", "endLine": "end_line"}))

_TOOLS: Final = tool_map(
    tool_row("shell", "run_shell_command", keys="cwd=dir_path background=is_background"),
    tool_row("shell_control", "read_background_output list_background_processes", keys="session=pid"),
    tool_row("read_file", "read_file", keys="path=file_path", codecs=_RANGE),
    tool_row("read_files", "read_many_files", keys="paths=include"),
    tool_row("write_file", "write_file", keys="path=file_path"),
    tool_row("edit_file", "replace", keys="path=file_path old=old_string new=new_string replace_all=allow_multiple"),
    tool_row("list_dir", "list_directory", keys="path=dir_path"),
    tool_row("glob", "glob", keys="path=dir_path"),
    # the second is an old name that still works, and hooks get the name that was called
    tool_row("grep", "grep_search search_file_content", keys="path=dir_path include=include_pattern"),
    tool_row("web_fetch", "web_fetch", codecs=(ArgsCodec(_urls_into_prompt, _urls_from_prompt),)),
    tool_row("web_search", "google_web_search"),
    tool_row("subagent", "invoke_agent", keys="type=agent_name"),
    tool_row("skill", "activate_skill"),
    tool_row("todo", "write_todos update_topic", keys="items=todos"),
    tool_row("plan_mode", "enter_plan_mode exit_plan_mode"),
    tool_row("ask_user", "ask_user"),
)

# what an answer can do

_EVENTS: Final[EventTable] = {
    "SessionStart": ("context message", EventName.SESSION_START),
    # the program does not wait for the answer
    "SessionEnd": ("", EventName.SESSION_END),
    "BeforeAgent": ("block stop context message", EventName.BEFORE_AGENT),
    "AfterAgent": ("block stop message follow_up", EventName.AFTER_AGENT),
    "BeforeModel": ("block stop message", EventName.BEFORE_MODEL),
    "AfterModel": ("block stop rewrite_output message", EventName.AFTER_MODEL),
    "BeforeToolSelection": ("block message", EventName.BEFORE_TOOL_SELECTION),
    # An allow does not skip the permission prompt: it is no opinion. A question of a hook would turn a denial of the user's own
    # rules into a question, and without a terminal the program waits for ever: it is sent as a denial.
    "BeforeTool": ("block stop rewrite_args message", EventName.BEFORE_TOOL),
    "AfterTool": ("block stop rewrite_output context message", EventName.AFTER_TOOL, EventName.TOOL_FAILED),
    "Notification": ("message", EventName.NOTIFICATION),
    "PreCompress": ("message", EventName.PRE_COMPRESS),
}

SPEC: Final = _codec.agent_spec(
    _NAME,
    "Gemini CLI",
    events=_EVENTS,
    tools=_TOOLS,
    # a guard of Gemini CLI's two ways to change a file has to see the others
    matched="apply_patch=replace,write_file multi_edit=replace insert_text=replace edit_lines=replace",
    timeout=60.0,
    matcher=MatcherStyle.SEARCH,
    aliases=("gemini",),
    mcp="mcp_{server}_{tool}",
)


# events


def _tool_event(document: Mapping[str, object]) -> EventName:
    response = document.get("tool_response")
    return EventName.TOOL_FAILED if isinstance(response, dict) and response.get("error") else EventName.AFTER_TOOL


_MODEL: Final = Field("model", "llm_request.model", default="model")
_MESSAGES: Final = Field("messages", "llm_request.messages")
_RESULT: Final = Field("result", "tool_response.llmContent")

_CODEC: Final = AgentCodec(
    spec=SPEC,
    names=EventNames(SPEC.events, {"AfterTool": _tool_event}),
    tools=_TOOLS,
    has_iso_time=True,
    field_maps=_codec.field_maps(
        {
            EventName.AFTER_AGENT: (Field("response", "prompt_response"),),
            EventName.BEFORE_MODEL: (_MODEL, _MESSAGES),
            EventName.AFTER_MODEL: (_MODEL, _MESSAGES, Field("response", "llm_response.text")),
            EventName.BEFORE_TOOL_SELECTION: (_MODEL, _MESSAGES),
            EventName.AFTER_TOOL: (_RESULT,),
            EventName.TOOL_FAILED: (_RESULT, Field("error", "tool_response.error")),
            EventName.NOTIFICATION: (Field("type", "notification_type"),),
        },
        taken=("session_id", "cwd", "hook_event_name", "tool_name", "tool_input"),
        scalars={EventName.AFTER_TOOL: {"tool_response": "result"}},
    ),
)


def encode_event(event: Event, hook: Hook) -> Request:
    """Return the request for a hook of this dialect."""
    folder = event.cwd.replace("\0", "")
    project = dict.fromkeys(("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), hook.project(folder))
    env = _codec.fit_environment({"GEMINI_CWD": folder, **project, "GEMINI_SESSION_ID": event.session.id})
    return Request(event=event, later=partial(_write_event, event), env=env)


def _write_event(event: Event) -> dict[str, object]:
    document: dict[str, object] = {
        "session_id": event.session.id,
        "cwd": event.cwd,
        "hook_event_name": SPEC.native(event),
    }
    if event.host != _NAME:
        document["transcript_path"] = ""
    if event.tool or event.name in TOOL_EVENTS:
        document["tool_name"], document["tool_input"] = _CODEC.encode_call(event)
        if event.host != _NAME and (parts := _tools.split_name(event.tool)) is not None:
            document["mcp_context"] = {"server_name": parts[0], "tool_name": parts[1]}
    if event.name is EventName.TOOL_FAILED:
        # only the error distinguishes a failed tool
        error = event.data.get("error") or _codec.NO_MESSAGE
        if "error_type" in event.data:
            error = {"message": error, "type": event.data["error_type"]}
        event = replace(event, data={**without(event.data, "error_type"), "error": error})
    return _CODEC.write_data(event, document)


def decode_event(raw: bytes, name: str = "") -> Event:
    """Return the event of a document of Gemini CLI."""
    document = _READER.load_object(raw)
    native = _CODEC.read_name(document.pop("hook_event_name", None), name, where="hook_event_name")
    session = Session(id=_READER.pop_text(document, "session_id"))
    cwd = _READER.pop_text(document, "cwd")
    call = NO_CALL
    if "tool_name" in document or native in {"BeforeTool", "AfterTool"}:
        tool = _READER.require_text(document.pop("tool_name", None), "tool_name")
        args = document.pop("tool_input", None)
        match document.get("mcp_context"):
            case {"server_name": str(server), "tool_name": str(name_there)}:
                call = _CODEC.decode_call(tool, args, cwd=cwd, server=server, tool=name_there)
            case _:
                call = _CODEC.decode_call(tool, args, cwd=cwd)
    event = _CODEC.decode_document(native, document, session=session, cwd=cwd, call=call)
    error = event.data.get("error")
    if event.name is not EventName.TOOL_FAILED or not isinstance(error, dict) or error.keys() != {"message", "type"}:
        return event
    return replace(event, data={**event.data, "error": error["message"], "error_type": error["type"]})


# answers of hooks


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Return the verdict of a hook's reply.

    Exit code 2 blocks whatever was printed: the program lets a hook pass that prints nothing beside it, but a guard that could
    not print its reason has denied all the same.
    """
    text = b""
    printed = reply
    if reply.value is UNSET:
        text = _unquote(reply.stdout.strip() or reply.stderr.strip())
        # with a text, every code but 0 and 1 blocks
        code = reply.exit_code if reply.exit_code in {0, _WARNING} or not text else _RULES.deny_exit
        printed = replace(reply, stdout=text, exit_code=code)
    verdict = _CODEC.read_reply(_RULES, printed, request)
    if request.event.name in _RESULTS:
        verdict = _reply_codec.hide_result(verdict)
    if reply.exit_code or not text or verdict != Verdict(notes=verdict.notes) or text.startswith(b"{"):
        return verdict
    return replace(verdict, effects=(Effect(EffectKind.MESSAGE, text.decode("utf-8", "replace")),))


def _unquote(printed: bytes) -> bytes:
    """Return the answer in a JSON string, as the program does."""
    try:
        inner = json_codec.load(printed) if printed.startswith(b'"') else None
    except ValueError:
        return printed
    return inner.strip().encode("utf-8", "replace") if isinstance(inner, str) else printed


# an allow of a hook does not skip the permission prompt here, so it must not elsewhere
_WORDS: Final = decision_words("allow=pass approve=pass ask=ask block=deny deny=deny")


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    event = request.event
    own = _READER.get_object(document, "hookSpecificOutput")
    reason, message = _READER.get_text(document, "reason"), _READER.get_text(document, "systemMessage")
    word = document.get("decision")
    decision = _READER.read_decision(word, "decision", _WORDS, wanted=", ".join(sorted(_WORDS)))
    if _READER.get_flag(document, "continue") is False:
        decision, reason = Decision.STOP, _READER.get_text(document, "stopReason") or reason
    match own.get("toolConfig"):
        case {"mode": "NONE"} if event.name is EventName.BEFORE_TOOL_SELECTION:
            decision = max(decision, Decision.DENY)
    if decision is Decision.ASK:
        # the question shows the message, and not the reason
        reason, message = "\n\n".join(dict.fromkeys(filter(None, (message, reason)))), ""
    context = EffectKind.ASK_AGENT if event.name in TURN_ENDS else EffectKind.CONTEXT
    return Verdict(
        decision=decision,
        reason=reason if decision else "",
        effects=(
            *_RULES.args_effects(own.get("tool_input"), event, where="tool_input"),
            *(_read_chunk(own.get("llm_response")) if event.name is EventName.AFTER_MODEL else ()),
            *_RULES.text_effects(own.get("additionalContext"), context, where="additionalContext"),
            *((Effect(EffectKind.MESSAGE, message),) if message else ()),
        ),
        metadata={**without(document, *_READ), **without(own, *_READ_OWN)},
    )


def _read_chunk(response: object) -> tuple[Effect, ...]:
    """Return the effect of a chunk that replaces the model's: its text, as far as an answer can change one."""
    match response:
        case {"candidates": [{"content": {"parts": [*parts]}}, *_]} if all(isinstance(part, str) for part in parts):
            return (Effect(EffectKind.REWRITE, "".join(parts), ("output",)),)
        case {"text": str(text)}:
            return (Effect(EffectKind.REWRITE, text, ("output",)),)
        case _:
            return ()


_READ: Final = key_set("continue stopReason suppressOutput systemMessage decision reason hookSpecificOutput")
_READ_OWN: Final = key_set("hookEventName tool_input additionalContext")
_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=_READ | {f"hookSpecificOutput.{key}" for key in (*_READ_OWN, "toolConfig", "llm_response")},
    tools=_TOOLS,
    allow_empty=True,
    allow_text=True,
    deny_exit=2,
    strict_json=True,
    ignore_exit_code=True,
)
_WARNING: Final = 1

# answers to the agent

_RESULTS: Final = frozenset({EventName.AFTER_TOOL, EventName.TOOL_FAILED})


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for Gemini CLI; an empty one is no opinion."""
    reason = _reply_codec.find_reason(outcome)
    stops = outcome.decision is Decision.STOP
    word, why = _answer_decision(outcome, event, reason)
    own = _reply_codec.drop_unset(_answer_own(outcome, event))
    return _reply_codec.encode_opinion(
        {
            "continue": False if stops else UNSET,
            "stopReason": reason if stops else UNSET,
            "decision": word or UNSET,
            "reason": why or UNSET,
            "systemMessage": join_blocks(outcome.messages) or UNSET,
            "hookSpecificOutput": {"hookEventName": SPEC.native(event), **own} if own else UNSET,
        }
    )


def _answer_decision(outcome: Outcome, event: Event, reason: str) -> tuple[str, str]:
    if outcome.decision is Decision.STOP:
        # the call itself must not run either; at the end of a turn, a denial would continue the run
        return ("", "") if event.name in TURN_ENDS else ("deny", reason)
    output = final_output(outcome) if event.name is EventName.AFTER_TOOL else UNSET
    instead = "" if output is UNSET else _tools.result_text(output)
    if outcome.decision >= Decision.ASK:
        more = outcome.follow_ups if event.name in TURN_ENDS else outcome.context if event.name in _RESULTS else ()
        return ("deny", join_blocks(dict.fromkeys((reason, instead, *more))))
    if event.name in TURN_ENDS and outcome.follow_ups:
        return ("deny", join_blocks(outcome.follow_ups))
    if output is not UNSET:
        # the only way to replace the result
        return ("deny", join_blocks((instead, *outcome.context)) or _reply_codec.NOTHING)
    return "", ""


def _answer_own(outcome: Outcome, event: Event) -> dict[str, object]:
    is_replaced = event.name is EventName.AFTER_TOOL and final_output(outcome) is not UNSET
    if event.name in _RESULTS and (is_replaced or outcome.decision >= Decision.ASK):
        # the program ignores it beside a denial, whose reason contains it
        return {}
    able = SPEC.abilities.get(SPEC.native(event), frozenset())
    context = join_blocks(outcome.context) or UNSET if Ability.CONTEXT in able else UNSET
    if outcome.decision >= Decision.DENY:
        is_selection = event.name is EventName.BEFORE_TOOL_SELECTION
        return {"toolConfig": {"mode": "NONE"} if is_selection else UNSET, "additionalContext": context}
    if event.name is EventName.BEFORE_TOOL:
        return {"tool_input": _tools.apply_rewrite(_TOOLS, outcome, event)}
    if event.name is EventName.AFTER_MODEL:
        return {"llm_response": _answer_chunk(outcome, event)}
    return {"additionalContext": context}


def _answer_chunk(outcome: Outcome, event: Event) -> object:
    output = final_output(outcome)
    if output is UNSET:
        return UNSET
    text = _tools.to_text(output)
    response = event.data.get("llm_response")
    rest = dict(response) if isinstance(response, dict) else {}
    content = {"role": "model", "parts": [text]}
    match rest.get("candidates"):
        case [dict() as first, *others]:
            candidates = [{**first, "content": content}, *others]
        case _:
            candidates = [{"content": content, "index": 0}]
    return {**rest, "text": text, "candidates": candidates}
