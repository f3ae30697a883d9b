"""Gemini CLI: its own events in snake_case on stdin, decisions at the top of the answer, arguments as `tool_input`.

A hook's answer is what it prints on stdout, or else on stderr, whatever the exit code is; plain text is a message to the
person at exit code 0 and a reason to block at codes other than 0 and 1. Saying nothing on either is having no opinion,
so our own answers never use stderr.
"""

import re
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import wire
from hookline.dialects import _mcp, _read, _reply
from hookline.dialects._fields import NO_MESSAGE, Field, names
from hookline.dialects._results import as_text
from hookline.dialects._speech import ENDS, NO_CALL, TOOL_EVENTS, Said, Speech, blocking, blocks, shapes
from hookline.dialects._tools import LINES, Change, Row, final_output, renaming, toolbox
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "gemini-cli"

# tools

# what ends a sentence does not belong to the address in it
_URL: Final = re.compile(r"https?://[^\s<>\"'`)\]}]*[^\s<>\"'`)\]}.,;:!?]", re.IGNORECASE)


def _found(prompt: object) -> list[str]:
    return list(dict.fromkeys(_URL.findall(prompt))) if isinstance(prompt, str) else []


def _urls_from_prompt(args: dict[str, object]) -> dict[str, object]:
    found = _found(args.get("prompt"))
    return {**args, "urls": found} if found and "urls" not in args else args


def _urls_into_prompt(args: dict[str, object]) -> dict[str, object]:
    """Let a prompt name exactly these addresses: the agent fetches whatever it finds there."""
    urls = args.get("urls")
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        return args
    given = args.get("prompt")
    prompt = given if isinstance(given, str) else ""
    wanted = [url for url in urls if url not in _found(prompt)]
    unwanted = [url for url in _found(prompt) if url not in urls]
    instead = {url: wanted.pop(0) if wanted else "" for url in unwanted}
    prompt = _URL.sub(lambda found: instead.get(found[0], found[0]), prompt)
    return {**{k: v for k, v in args.items() if k != "urls"}, "prompt": " ".join(filter(None, (prompt, *wanted)))}


_FILE: Final = {"path": "file_path"}
_FOLDER: Final = {"path": "dir_path"}
_RANGE: Final = (LINES, renaming({"startLine": "start_line", "endLine": "end_line"}))

_TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("run_shell_command",), keys={"cwd": "dir_path", "background": "is_background"}),
        Row(
            tool="shell_control",
            names=("read_background_output", "list_background_processes"),
            keys={"session": "pid"},
        ),
        Row(tool="read_file", names=("read_file",), keys=_FILE, changes=_RANGE),
        Row(tool="read_files", names=("read_many_files",), keys={"paths": "include"}),
        Row(tool="write_file", names=("write_file",), keys=_FILE),
        Row(
            tool="edit_file",
            names=("replace",),
            keys={**_FILE, "old": "old_string", "new": "new_string", "replace_all": "allow_multiple"},
        ),
        Row(tool="list_dir", names=("list_directory",), keys=_FOLDER),
        Row(tool="glob", names=("glob",), keys=_FOLDER),
        # the second is an old name that still runs, and hooks are told the name that was called
        Row(tool="grep", names=("grep_search", "search_file_content"), keys={**_FOLDER, "include": "include_pattern"}),
        Row(tool="web_fetch", names=("web_fetch",), changes=(Change(_urls_into_prompt, _urls_from_prompt),)),
        Row(tool="web_search", names=("google_web_search",)),
        Row(tool="subagent", names=("invoke_agent",), keys={"type": "agent_name"}),
        Row(tool="skill", names=("activate_skill",)),
        Row(tool="todo", names=("write_todos", "update_topic"), keys={"items": "todos"}),
        Row(tool="plan_mode", names=("enter_plan_mode", "exit_plan_mode")),
        Row(tool="ask_user", names=("ask_user",)),
    )
)

# what an answer can do

_A: Final = Ability
_TELLS: Final = frozenset({_A.MESSAGE})
_STOPS: Final = frozenset({_A.BLOCK, _A.STOP, _A.MESSAGE})

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "SessionStart": _TELLS | {_A.CONTEXT},
        # the program does not wait for it
        "SessionEnd": frozenset(),
        "BeforeAgent": _STOPS | {_A.CONTEXT},
        "AfterAgent": _STOPS | {_A.FOLLOW_UP},
        "BeforeModel": _STOPS,
        "AfterModel": _STOPS | {_A.OUTPUT},
        "BeforeToolSelection": _TELLS | {_A.BLOCK},
        # an allow does not keep the program from asking: it is no more than having no opinion. A question of a hook turns a
        # no of the person's own rules into a question, and without a terminal the program waits for ever: it is a no
        "BeforeTool": _STOPS | {_A.ARGS},
        "AfterTool": _STOPS | {_A.OUTPUT, _A.CONTEXT},
        "Notification": _TELLS,
        "PreCompress": _TELLS,
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Gemini CLI",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "SessionStart",
            EventName.SESSION_END: "SessionEnd",
            EventName.BEFORE_AGENT: "BeforeAgent",
            EventName.AFTER_AGENT: "AfterAgent",
            EventName.BEFORE_MODEL: "BeforeModel",
            EventName.AFTER_MODEL: "AfterModel",
            EventName.BEFORE_TOOL_SELECTION: "BeforeToolSelection",
            EventName.BEFORE_TOOL: "BeforeTool",
            EventName.AFTER_TOOL: "AfterTool",
            EventName.TOOL_FAILED: "AfterTool",
            EventName.PRE_COMPRESS: "PreCompress",
            EventName.NOTIFICATION: "Notification",
        }
    ),
    tools=MappingProxyType(
        # other ways to change a file: whoever guards Gemini CLI's two means them
        {
            **_TOOLS.names(),
            "apply_patch": ("replace", "write_file"),
            "multi_edit": ("replace",),
            "insert_text": ("replace",),
            "edit_lines": ("replace",),
        }
    ),
    timeout=60.0,
    shell=True,
    matcher=MatcherStyle.SEARCH,
    own=frozenset(_TOOLS.by_tool),
    abilities=ABILITIES,
    aliases=("gemini",),
    mcp="mcp_{server}_{tool}",
)


# events


def _failed(document: Mapping[str, object]) -> EventName:
    response = document.get("tool_response")
    return EventName.TOOL_FAILED if isinstance(response, dict) and response.get("error") else EventName.AFTER_TOOL


_MODEL: Final = Field("model", "llm_request.model", default="model")
_MESSAGES: Final = Field("messages", "llm_request.messages")
_RESULT: Final = Field("result", "tool_response.llmContent")

_SPEECH: Final = Speech(
    dialect=_NAME,
    names=names(SPEC.events, {"AfterTool": _failed}),
    tools=_TOOLS,
    shapes=shapes(
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
    mcp=SPEC.mcp,
)


def encode_event(event: Event, hook: Hook) -> Request:
    """Say an event to a hook of this dialect."""
    folder, session = event.cwd.replace("\0", ""), event.session.id.replace("\0", "")
    environment = {"GEMINI_CWD": folder} if folder else {}
    if project := hook.project(folder):
        environment.update(dict.fromkeys(("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), project))
    if session:
        environment["GEMINI_SESSION_ID"] = session
    return Request(event=event, later=partial(_write, event), env=environment)


def _write(event: Event) -> dict[str, object]:
    document: dict[str, object] = {
        "session_id": event.session.id,
        "cwd": event.cwd,
        "hook_event_name": SPEC.native(event),
    }
    if event.host != _NAME:
        document["transcript_path"] = ""
    if event.timestamp:
        document["timestamp"] = _read.to_iso(event.timestamp)
    if event.tool or event.name in TOOL_EVENTS:
        document["tool_name"], document["tool_input"] = _SPEECH.told(event)
        if event.host != _NAME and (parts := _mcp.split(event.tool)) is not None:
            document["mcp_context"] = {"server_name": parts[0], "tool_name": parts[1]}
    if event.name is not EventName.TOOL_FAILED:
        return _SPEECH.write(event, document)
    # what is told apart by its error has to have one
    error = event.data.get("error") or NO_MESSAGE
    data = {key: value for key, value in event.data.items() if key not in {"error", "error_type"}}
    if "error_type" in event.data:
        error = {"message": error, "type": event.data["error_type"]}
    return _SPEECH.write(replace(event, data={**data, "error": error}), document)


_CALLS: Final = frozenset({"BeforeTool", "AfterTool"})


def decode_event(raw: bytes, name: str = "") -> Event:
    """Read an event as Gemini CLI says it."""
    document = _read.load_object(raw, dialect=_NAME)
    text = partial(_read.text, dialect=_NAME)
    native = _SPEECH.name(document.pop("hook_event_name", None), name, where="hook_event_name")
    session = Session(id=text(document.pop("session_id", None), "session_id"))
    cwd = text(document.pop("cwd", None), "cwd")
    said = _call(document, cwd) if "tool_name" in document or native in _CALLS else NO_CALL
    event = _SPEECH.event(native, document, session=session, cwd=cwd, said=said)
    error = event.data.get("error")
    if event.name is not EventName.TOOL_FAILED or not isinstance(error, dict) or error.keys() != {"message", "type"}:
        return event
    return replace(event, data={**event.data, "error": error["message"], "error_type": error["type"]})


def _call(document: dict[str, object], cwd: str) -> Said:
    name = _read.need_text(document.pop("tool_name", None), "tool_name", dialect=_NAME)
    context = document.get("mcp_context")
    origin = context if isinstance(context, dict) else {}
    server, tool = origin.get("server_name"), origin.get("tool_name")
    known = isinstance(server, str) and isinstance(tool, str)
    return _SPEECH.heard(
        name,
        document.pop("tool_input", None),
        cwd=cwd,
        server=str(server) if known else "",
        tool=str(tool) if known else "",
    )


# answers of hooks

_MANNERS: Final = _reply.Manners(dialect=_NAME, silence=True, chatter=True, deny_exit=2, exact=True, json_always=True)
_WARNS: Final = 1


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of Gemini CLI answered.

    Exit code 2 blocks whatever was said: the program would let pass a hook that says nothing at all beside it, and a
    guard that could not print its reason has still said no.
    """
    manners = blocking(_MANNERS, SPEC, request.event)
    if reply.value is not UNSET:
        verdict = _reply.read_reply(reply, request, read=_read_answer, manners=manners)
        return _reply.hiding(verdict) if request.event.name in _RESULTS else verdict
    said = reply.stdout.strip() or reply.stderr.strip()
    text = _unquoted(said)
    verdict = _reply.read_reply(
        replace(reply, stdout=text, exit_code=_code(reply, text)), request, read=_read_answer, manners=manners
    )
    if request.event.name in _RESULTS:
        verdict = _reply.hiding(verdict)
    if reply.exit_code or not text or verdict != Verdict(notes=verdict.notes) or text.startswith(b"{"):
        return verdict
    return replace(verdict, effects=(Effect(EffectKind.MESSAGE, text.decode("utf-8", "replace")),))


def _code(reply: Reply, text: bytes) -> int:
    """Give the code that means what this one means to Gemini CLI: every code but 0 and 1 blocks, with a text."""
    return reply.exit_code if reply.exit_code in {0, _WARNS} or not text else _MANNERS.deny_exit


def _unquoted(said: bytes) -> bytes:
    """Take an answer out of a JSON text, as the program does."""
    if not said.startswith(b'"'):
        return said
    try:
        inner = wire.load(said)
    except ValueError:
        return said
    return inner.strip().encode("utf-8", "replace") if isinstance(inner, str) else said


# a yes of a hook skips nobody's permission here, and so it skips none elsewhere
_WORDS: Final = {
    "allow": Decision.PASS,
    "approve": Decision.PASS,
    "ask": Decision.ASK,
    "block": Decision.DENY,
    "deny": Decision.DENY,
}
_READ: Final = frozenset(
    {"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}
)
_READ_OWN: Final = frozenset({"hookEventName", "tool_input", "additionalContext"})


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    event = request.event
    text = partial(_read.text, dialect=_NAME)
    own = _read.obj(document.get("hookSpecificOutput"), "hookSpecificOutput", dialect=_NAME)
    decision, reason = _decided(document, own, event)
    shown = text(document.get("systemMessage"), "systemMessage")
    if decision is Decision.ASK:
        # the question shows this, and not the reason
        reason, shown = "\n\n".join(dict.fromkeys(filter(None, (shown, reason)))), ""
    context = EffectKind.ASK_AGENT if event.name in ENDS else EffectKind.CONTEXT
    return Verdict(
        decision=decision,
        reason=reason,
        effects=(
            *_reply.args_effects(own.get("tool_input"), event, tools=_TOOLS, where="tool_input", dialect=_NAME),
            *_response(own, event),
            *_reply.texts(own.get("additionalContext"), context, where="additionalContext", dialect=_NAME),
            *((Effect(EffectKind.MESSAGE, shown),) if shown else ()),
        ),
        ends=decision is Decision.STOP,
        metadata={
            **{key: value for key, value in document.items() if key not in _READ},
            **{key: value for key, value in own.items() if key not in _READ_OWN},
        },
    )


def _decided(document: Mapping[str, object], own: Mapping[str, object], event: Event) -> tuple[Decision, str]:
    text = partial(_read.text, dialect=_NAME)
    word, reason = document.get("decision"), text(document.get("reason"), "reason")
    decision = Decision.PASS if word is None else _WORDS.get(word) if isinstance(word, str) else None
    if decision is None:
        raise _read.wrong(word, "decision", dialect=_NAME, wanted=", ".join(sorted(_WORDS)))
    goes_on = document.get("continue")
    if goes_on is not None and not isinstance(goes_on, bool):
        raise _read.wrong(goes_on, "continue", dialect=_NAME, wanted="true or false")
    if goes_on is False:
        return Decision.STOP, text(document.get("stopReason"), "stopReason") or reason
    tools = own.get("toolConfig")
    if event.name is EventName.BEFORE_TOOL_SELECTION and isinstance(tools, dict) and tools.get("mode") == "NONE":
        decision = max(decision, Decision.DENY)
    return decision, reason if decision else ""


def _response(own: Mapping[str, object], event: Event) -> tuple[Effect, ...]:
    """Take another chunk than the model's: its text, as far as an answer can change one."""
    response = own.get("llm_response")
    if event.name is not EventName.AFTER_MODEL or not isinstance(response, dict):
        return ()
    match response:
        case {"candidates": [{"content": {"parts": [*parts]}}, *_]} if all(isinstance(part, str) for part in parts):
            return (Effect(EffectKind.REWRITE, "".join(parts), ("output",)),)
        case {"text": str(said)}:
            return (Effect(EffectKind.REWRITE, said, ("output",)),)
        case _:
            return ()


# answers to the agent


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to Gemini CLI; saying nothing is having no opinion."""
    reason = outcome.reason or (_reply.NO_REASON if outcome.decision >= Decision.ASK else "")
    stops = outcome.decision is Decision.STOP
    word, why = _decision(outcome, event, reason)
    document = _reply.present(
        {
            "continue": False if stops else UNSET,
            "stopReason": reason if stops else UNSET,
            "decision": word or UNSET,
            "reason": why or UNSET,
            "systemMessage": blocks(outcome.messages) or UNSET,
        }
    )
    own = _reply.present(_own(outcome, event))
    if own:
        document["hookSpecificOutput"] = {"hookEventName": SPEC.native(event), **own}
    return _reply.answer(document) if document else Answer()


_RESULTS: Final = frozenset({EventName.AFTER_TOOL, EventName.TOOL_FAILED})


def _decision(outcome: Outcome, event: Event, reason: str) -> tuple[str, str]:
    if outcome.decision is Decision.STOP:
        # beside the end of everything, the call itself must not run; at the end of a turn, a no would go on with it
        return ("", "") if event.name in ENDS else ("deny", reason)
    output = final_output(outcome) if event.name is EventName.AFTER_TOOL else UNSET
    instead = "" if output is UNSET else as_text(output)
    if outcome.decision >= Decision.ASK:
        more = outcome.follow_ups if event.name in ENDS else outcome.context if event.name in _RESULTS else ()
        return ("deny", blocks(dict.fromkeys((reason, instead, *more))))
    if event.name in ENDS and outcome.follow_ups:
        return ("deny", blocks(outcome.follow_ups))
    if output is not UNSET:
        # the only way to give the model another result
        return ("deny", blocks((instead, *outcome.context)) or _reply.NOTHING)
    return "", ""


def _own(outcome: Outcome, event: Event) -> dict[str, object]:
    replaced = event.name is EventName.AFTER_TOOL and final_output(outcome) is not UNSET
    if event.name in _RESULTS and (replaced or outcome.decision >= Decision.ASK):
        # beside a no the program does not look at it: there it is a part of the reason
        return {}
    if outcome.decision >= Decision.DENY:
        none = event.name is EventName.BEFORE_TOOL_SELECTION
        return {"toolConfig": {"mode": "NONE"} if none else UNSET, "additionalContext": _context(outcome, event)}
    if event.name is EventName.BEFORE_TOOL:
        return {"tool_input": _SPEECH.rewritten(outcome, event)}
    if event.name is EventName.AFTER_MODEL:
        return {"llm_response": _chunk(outcome, event)}
    return {"additionalContext": _context(outcome, event)}


def _context(outcome: Outcome, event: Event) -> object:
    able = ABILITIES.get(SPEC.native(event), frozenset())
    return blocks(outcome.context) or UNSET if Ability.CONTEXT in able else UNSET


def _chunk(outcome: Outcome, event: Event) -> object:
    output = final_output(outcome)
    if output is UNSET:
        return UNSET
    text = _mcp.written(output)
    said = event.data.get("llm_response")
    rest = dict(said) if isinstance(said, dict) else {}
    content = {"role": "model", "parts": [text]}
    match rest.get("candidates"):
        case [dict() as first, *others]:
            candidates = [{**first, "content": content}, *others]
        case _:
            candidates = [{"content": content, "index": 0}]
    return {**rest, "text": text, "candidates": candidates}
