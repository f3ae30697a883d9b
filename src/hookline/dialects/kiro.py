"""Kiro, its command line and its editor: flat documents in snake_case, and answers that are an exit code and plain text.

The hooks of an agent's file (`preToolUse`) and those of files of their own (`PreToolUse`) get the same document, but can do
different things with it: which one it is, is told by the name the hook is called with.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from hookline.dialects import _calls, _mcp, _plain, _read
from hookline.dialects._fields import NO_MESSAGE, Field, Shape, names, shape
from hookline.dialects._kiro_tools import TOOLS
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Outcome, Verdict

_NAME: Final = "kiro"

_A: Final = Ability
_TELLS: Final = frozenset({_A.CONTEXT})
_NOTHING: Final[frozenset[Ability]] = frozenset()

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        # in an agent's file
        "agentSpawn": _TELLS,
        "userPromptSubmit": _TELLS,
        "preToolUse": frozenset({_A.BLOCK}),
        "postToolUse": _NOTHING,
        "stop": _NOTHING,
        # in files of their own
        "SessionStart": _TELLS,
        "AgentSpawn": _TELLS,
        "SessionEnd": _NOTHING,
        "UserPromptSubmit": _TELLS | {_A.BLOCK},
        "PreToolUse": _TELLS | {_A.BLOCK},
        "PostToolUse": _TELLS,
        # its pages contradict each other on whether an answer can send it back to work: we promise nothing
        "Stop": _NOTHING,
        "PostFileCreate": _TELLS,
        "PostFileSave": _TELLS,
        "PostFileDelete": _TELLS,
        "PreTaskExec": _TELLS | {_A.BLOCK},
        "PostTaskExec": _TELLS,
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Kiro",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "agentSpawn",
            EventName.SESSION_END: "SessionEnd",
            EventName.BEFORE_AGENT: "userPromptSubmit",
            EventName.AFTER_AGENT: "stop",
            EventName.BEFORE_TOOL: "preToolUse",
            EventName.AFTER_TOOL: "postToolUse",
            EventName.FILE_CREATED: "PostFileCreate",
            EventName.FILE_EDITED: "PostFileSave",
            EventName.FILE_DELETED: "PostFileDelete",
        }
    ),
    tools=MappingProxyType(
        # whoever guards `fs_write` means every way to change a file
        {
            **TOOLS.names(),
            **dict.fromkeys(("multi_edit", "edit_lines", "apply_patch", "notebook_edit"), ("fs_write", "write")),
            "delete_file": ("fs_write", "write"),
        }
    ),
    timeout=30.0,
    shell=True,
    matcher=MatcherStyle.REGEX,
    abilities=ABILITIES,
    aliases=("kiro-cli",),
    own=frozenset(TOOLS.by_tool),
    mcp="@{server}/{tool}",
    more_events=MappingProxyType(
        {
            "SessionStart": EventName.SESSION_START,
            "AgentSpawn": EventName.SESSION_START,
            "UserPromptSubmit": EventName.BEFORE_AGENT,
            "Stop": EventName.AFTER_AGENT,
            "PreToolUse": EventName.BEFORE_TOOL,
            "PostToolUse": EventName.AFTER_TOOL,
        }
    ),
)

_NAMES: Final = names(SPEC.events)
_TOOL_EVENTS: Final = frozenset({EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED})
# a tool that failed is one that ran, and whose response says so
_RAN: Final = frozenset({"postToolUse", "PostToolUse"})

_TAKEN: Final = ("hook_event_name", "session_id", "cwd", "tool_name", "tool_input")
_FILE: Final = Field("path", "file_path")
_RESULT: Final = Field("result", "tool_response")
_FIELDS: Final[Mapping[EventName, tuple[Field, ...]]] = {
    EventName.AFTER_TOOL: (_RESULT,),
    EventName.TOOL_FAILED: (_RESULT,),
    EventName.AFTER_AGENT: (Field("response", "assistant_response"),),
    EventName.FILE_CREATED: (_FILE,),
    EventName.FILE_EDITED: (_FILE,),
    EventName.FILE_DELETED: (_FILE,),
}
_SHAPES: Final[Mapping[EventName, Shape]] = {name: shape(_FIELDS.get(name, ()), taken=_TAKEN) for name in EventName}


# events


def encode_event(event: Event, hook: Hook) -> Request:
    """Say an event to a hook of this dialect."""
    native = _native(event, hook.native_event)
    return Request(event=event, later=partial(_document, event, native), env=_environment(event), native=native)


def _native(event: Event, wanted: str = "") -> str:
    if wanted in ABILITIES and _canonical(wanted) is event.name:
        return wanted
    if event.host == _NAME and event.native_name:
        return event.native_name
    return "postToolUse" if event.name is EventName.TOOL_FAILED else _NAMES.say(event)


def _canonical(native: str) -> EventName | None:
    return SPEC.more_events.get(native) or _NAMES.known.get(native)


def _environment(event: Event) -> dict[str, str]:
    """Give what the older hooks of its editor find there."""
    found = {"USER_PROMPT": event.data.get("prompt"), "KIRO_HOOK_FILE": event.data.get("path")}
    return {name: value.replace("\0", "") for name, value in found.items() if isinstance(value, str) and value}


def _document(event: Event, native: str) -> dict[str, object]:
    document: dict[str, object] = {"hook_event_name": _spoken(native), "cwd": event.cwd}
    if event.session.id:
        document["session_id"] = event.session.id
    # calls that were kept until the end of a turn come as a list, and only so
    if (event.tool or event.name in _TOOL_EVENTS) and not (event.host == _NAME and "hook_events" in event.data):
        name, args = _calls.resaid(TOOLS, event, dialect=_NAME)
        parts = _mcp.split(event.tool)
        document["tool_name"] = SPEC.mcp.format(server=parts[0], tool=parts[1]) if parts else name
        document["tool_input"] = args
    data = dict(event.data)
    if event.name is EventName.CUSTOM and data.get("event_name") == native:
        del data["event_name"]
    if event.name is EventName.TOOL_FAILED:
        _say_failure(event, data)
    elif event.name is EventName.AFTER_TOOL and ("result" in data or event.host != _NAME):
        data["result"] = _wrapped(data.get("result"))
    _SHAPES[event.name].write(data, document, session=event.session)
    return document


def _wrapped(result: object) -> object:
    """Give a result as documents have it: one of several in a response that says it went well."""
    is_response = isinstance(result, Mapping) and "success" in result
    return result if is_response else {"success": True, "result": [result]}


def _unwrapped(response: object) -> object:
    """Give the result in a response; a response that says more stays as it is."""
    match response:
        case {"success": True, "result": [result], **more} if not more and _wrapped(result) is not result:
            return result
        case _:
            return response


def _spoken(native: str) -> str:
    """Give an event's name as documents have it: with a small letter, wherever the hook stands."""
    return native[:1].lower() + native[1:] if native in ABILITIES else native


def _say_failure(event: Event, data: dict[str, object]) -> None:
    error = data.pop("error", None)
    if event.host != _NAME or "result" not in data:
        data["result"] = {"success": False, "result": [error or NO_MESSAGE]}


def decode_event(raw: bytes, name: str = "") -> Event:
    """Read an event as Kiro says it."""
    document = _read.load_object(raw, dialect=_NAME)
    text = partial(_read.text, dialect=_NAME)
    native = _heard(text(document.pop("hook_event_name", None), "hook_event_name"), name)
    canonical = _canonical(native) or EventName.CUSTOM
    if native in _RAN and _failed(document.get("tool_response")):
        canonical = EventName.TOOL_FAILED
    cwd = text(document.pop("cwd", None), "cwd")
    session = Session(id=text(document.pop("session_id", None), "session_id"))
    call, said = _call(canonical, document, cwd=cwd)
    data = _SHAPES[canonical].read(document, "", dialect=_NAME)
    if canonical is EventName.CUSTOM:
        data.setdefault("event_name", native)
    elif canonical is EventName.TOOL_FAILED and "error" not in data:
        data["error"] = _error(data.get("result"))
    elif canonical is EventName.AFTER_TOOL and isinstance(data.get("result"), Mapping):
        data["result"] = _unwrapped(data["result"])
    return Event(
        name=canonical,
        data=data,
        tool=call.tool,
        args=call.args,
        session=session,
        cwd=cwd,
        native_tool=call.native_tool,
        native_name="" if SPEC.events.get(canonical) == native or canonical == native else native,
        host=_NAME,
        native_args=said,
    )


def _heard(said: str, name: str) -> str:
    """Give an event's own name: as the hook was called, where that is the one the document says."""
    if not said and not name:
        raise _read.wrong(None, "hook_event_name", dialect=_NAME, wanted="the event's name")
    if name in ABILITIES and said.casefold() in {"", name.casefold()}:
        return name
    capital = said[:1].upper() + said[1:]
    return capital if said not in ABILITIES and capital in ABILITIES else said or name


def _call(name: EventName, document: dict[str, object], *, cwd: str) -> tuple[_calls.Call, object]:
    kept = document.get("hook_events")
    first = kept[0] if isinstance(kept, list) and kept else None
    if "tool_name" not in document and isinstance(first, dict):
        # several calls at once: the first stands for them, all of them are among the data
        return _understood(_tool(first), first.get("tool_input"), cwd=cwd)
    if "tool_name" not in document and name not in _TOOL_EVENTS:
        return _calls.Call("", {}, ""), None
    tool = _tool(document)
    del document["tool_name"]
    return _understood(tool, document.pop("tool_input", None), cwd=cwd)


def _tool(document: Mapping[str, object]) -> str:
    return _read.need_text(document.get("tool_name"), "tool_name", dialect=_NAME)


def _understood(tool: str, said: object, *, cwd: str) -> tuple[_calls.Call, object]:
    call = _calls.understood(TOOLS, tool, {} if said is None else said, cwd=cwd)
    server, slash, name = tool.removeprefix("@").partition("/")
    if tool.startswith("@") and slash:
        given = dict(said) if isinstance(said, Mapping) else {} if said is None else {_calls.PLAIN: said}
        call = _calls.Call(_mcp.joined(server, name), given, tool)
    return call, said


def _failed(response: object) -> bool:
    return isinstance(response, Mapping) and response.get("success") is False


def _error(response: object) -> str:
    """Give what a response that says it failed says beside that."""
    said = response.get("result") if isinstance(response, Mapping) else None
    parts = [_mcp.written(part) for part in said] if isinstance(said, list) else [_mcp.written(said)] if said else []
    return "\n".join(parts) or NO_MESSAGE


# answers


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered: exit code 2 is a no, and what it prints is context where Kiro reads it."""
    return _plain.read_reply(reply, dialect=_NAME, is_context=_reads(request.native))


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to Kiro: what it is to be told, or no, or nothing."""
    return _plain.answer(outcome, is_context=_reads(_native(event)))


def _reads(native: str) -> bool:
    return Ability.CONTEXT in ABILITIES.get(native, _NOTHING)
