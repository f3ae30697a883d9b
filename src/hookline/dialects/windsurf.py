"""Windsurf's Cascade: an event for each kind of tool, its arguments in `tool_info`; only exit code 2 has a meaning.

There are no tool names: `pre_run_command` is the shell, `pre_write_code` edits. A call of another agent's tool that none of
these events is about is said as one of an MCP server without a name.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.dialects import _calls, _mcp, _plain, _read
from hookline.dialects._fields import Field, Shape, names, shape
from hookline.dialects._tools import Row, edits, toolbox
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Outcome, Verdict

_NAME: Final = "windsurf"
_INFO: Final = "tool_info"

_FILE: Final = {"path": "file_path"}

TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("run_command",), keys={"command": "command_line"}),
        Row(tool="read_file", names=("read_code",), keys=_FILE),
        Row(
            tool="multi_edit",
            names=("write_code",),
            keys=_FILE,
            changes=(edits({"old": "old_string", "new": "new_string"}),),
        ),
    )
)

_BLOCKS: Final = frozenset({Ability.BLOCK})
_NOTHING: Final[frozenset[Ability]] = frozenset()

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "pre_user_prompt": _BLOCKS,
        "pre_run_command": _BLOCKS,
        "pre_write_code": _BLOCKS,
        "pre_read_code": _BLOCKS,
        "pre_mcp_tool_use": _BLOCKS,
        "post_run_command": _NOTHING,
        "post_write_code": _NOTHING,
        "post_read_code": _NOTHING,
        "post_mcp_tool_use": _NOTHING,
        "post_cascade_response": _NOTHING,
        "post_cascade_response_with_transcript": _NOTHING,
        "post_setup_worktree": _NOTHING,
    }
)

# which event is about a tool of ours; all others are said as tools of a server
_ABOUT: Final = {
    "shell": "run_command",
    "read_file": "read_code",
    "multi_edit": "write_code",
    "edit_file": "write_code",
    "write_file": "write_code",
}

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Windsurf",
    events=MappingProxyType(
        {
            EventName.BEFORE_AGENT: "pre_user_prompt",
            EventName.AFTER_AGENT: "post_cascade_response",
            EventName.BEFORE_TOOL: "pre_run_command",
            EventName.AFTER_TOOL: "post_run_command",
        }
    ),
    tools=MappingProxyType(TOOLS.names()),
    timeout=30.0,
    shell=True,
    matcher=MatcherStyle.SEARCH,
    abilities=ABILITIES,
    aliases=("cascade",),
    own=frozenset(_ABOUT),
    more_events=MappingProxyType(
        {
            "pre_write_code": EventName.BEFORE_TOOL,
            "pre_read_code": EventName.BEFORE_TOOL,
            "pre_mcp_tool_use": EventName.BEFORE_TOOL,
            "post_write_code": EventName.AFTER_TOOL,
            "post_read_code": EventName.AFTER_TOOL,
            "post_mcp_tool_use": EventName.AFTER_TOOL,
        }
    ),
)

_NAMES: Final = names(SPEC.events)


class _Event(Struct, frozen=True):
    """An event about one tool, and the keys of `tool_info` that are its arguments."""

    tool: str
    keys: tuple[str, ...]


_CALLS: Final[Mapping[str, _Event]] = {
    f"{when}_{tool}": _Event(tool, keys)
    for when in ("pre", "post")
    for tool, keys in {
        "run_command": ("command_line", "cwd"),
        "read_code": ("file_path",),
        "write_code": ("file_path", "edits"),
    }.items()
}
_MCP_EVENTS: Final = frozenset({"pre_mcp_tool_use", "post_mcp_tool_use"})
_MCP_KEYS: Final = ("mcp_server_name", "mcp_tool_name", "mcp_tool_arguments")
_WHEN: Final = {EventName.BEFORE_TOOL: "pre", EventName.AFTER_TOOL: "post"}

_TAKEN: Final = ("agent_action_name", "trajectory_id", "model_name", "timestamp", "cwd", _INFO)
_RESULT: Final = Field("result", f"{_INFO}.mcp_result")
_FIELDS: Final[Mapping[EventName, tuple[Field, ...]]] = {
    EventName.BEFORE_AGENT: (Field("prompt", f"{_INFO}.user_prompt"),),
    EventName.AFTER_AGENT: (Field("response", f"{_INFO}.response"),),
    EventName.AFTER_TOOL: (_RESULT,),
}
_SHAPES: Final[Mapping[EventName, Shape]] = {
    name: shape(
        _FIELDS.get(name, ()),
        taken=_TAKEN,
        objects={_INFO: frozenset({"command_line", "cwd", "file_path", "edits", *_MCP_KEYS, "tool_name", "tool_args"})},
    )
    for name in EventName
}


# events


def encode_event(event: Event, hook: Hook) -> Request:
    """Say an event to a hook of this dialect: as the event that the hook was written for."""
    return Request(event=event, later=partial(_document, event, _native(event, hook.native_event)))


def _native(event: Event, wanted: str = "") -> str:
    if wanted in ABILITIES and _canonical(wanted) is event.name:
        return wanted
    if event.host == _NAME:
        return event.native_name or _NAMES.say(event)
    when = _WHEN.get(event.name)
    return f"{when}_{_ABOUT.get(event.tool, 'mcp_tool_use')}" if when else _NAMES.say(event)


def _canonical(native: str) -> EventName | None:
    return SPEC.more_events.get(native) or _NAMES.known.get(native)


def _document(event: Event, native: str) -> dict[str, object]:
    data = dict(event.data)
    document: dict[str, object] = {"agent_action_name": native, "trajectory_id": event.session.id}
    if event.host == _NAME and _read.is_time(data.get("timestamp"), event.timestamp, dialect=_NAME):
        # it was written in another way than ours
        document["timestamp"] = data.pop("timestamp")
    elif event.timestamp:
        document["timestamp"] = _read.to_iso(event.timestamp)
    if event.session.model:
        document["model_name"] = event.session.model
    info: dict[str, object] = {}
    document[_INFO] = info
    if native in _MCP_EVENTS:
        server, tool = _mcp.split(event.tool) or ("", event.tool)
        own = event.host == _NAME and event.native_args is not None and _mcp.parsed(event.native_args) == event.args
        arguments = event.native_args if own else dict(event.args)
        info.update(zip(_MCP_KEYS, (server, tool, arguments), strict=True))
    elif event.tool or native in _CALLS:
        _say_call(event, native, info)
    if event.cwd and "cwd" not in info:
        document["cwd"] = event.cwd
    if event.name is EventName.CUSTOM and data.get("event_name") == native:
        del data["event_name"]
    _SHAPES[event.name].write(data, document, session=event.session)
    return document


def _say_call(event: Event, native: str, info: dict[str, object]) -> None:
    name, args = _calls.resaid(TOOLS, event, dialect=_NAME)
    said = dict(args) if isinstance(args, Mapping) else {}
    about = _CALLS.get(native)
    if about is None:
        info.update(tool_name=name, tool_args=said)
        return
    if about.tool == "write_code" and event.host != _NAME:
        said = {**said, "file_path": event.args.get("path", ""), "edits": _edits(event)}
    elif about.tool == "run_command" and event.host != _NAME and event.cwd:
        said.setdefault("cwd", event.cwd)
    info.update(said)


def _edits(event: Event) -> object:
    """Say what another agent's tool writes as a list of edits; what is no edit of parts is new as a whole."""
    if event.tool == "multi_edit":
        return TOOLS.call(event)[1].get("edits", [])
    old, new = event.args.get("old", ""), event.args.get("new")
    whole = next((event.args[key] for key in ("content", "text", "patch", "source") if key in event.args), "")
    return [{"old_string": old, "new_string": whole if new is None else new}]


def decode_event(raw: bytes, name: str = "") -> Event:
    """Read an event as Windsurf says it."""
    document = _read.load_object(raw, dialect=_NAME)
    text = partial(_read.text, dialect=_NAME)
    native = text(document.pop("agent_action_name", None), "agent_action_name") or name
    if not native:
        raise _read.wrong(None, "agent_action_name", dialect=_NAME, wanted="the event's name")
    canonical = _canonical(native) or EventName.CUSTOM
    session = Session(
        id=text(document.pop("trajectory_id", None), "trajectory_id"),
        model=text(document.pop("model_name", None), "model_name"),
    )
    timestamp = _read.take_time(document, "timestamp", dialect=_NAME)
    info = dict(_read.obj(document.pop(_INFO, None), _INFO, dialect=_NAME))
    where = info.get("cwd") if native in _CALLS else None
    cwd = where if isinstance(where, str) and where else text(document.pop("cwd", None), "cwd")
    call, said = _call(canonical, native, info, cwd=cwd)
    if info:
        document[_INFO] = info
    data = _SHAPES[canonical].read(document, "", dialect=_NAME)
    if canonical is EventName.CUSTOM:
        data.setdefault("event_name", native)
    return Event(
        name=canonical,
        data=data,
        tool=call.tool,
        args=call.args,
        session=session,
        cwd=cwd,
        timestamp=timestamp,
        native_tool=call.native_tool,
        native_name="" if SPEC.events.get(canonical) == native or canonical == native else native,
        host=_NAME,
        native_args=said,
    )


def _call(name: EventName, native: str, info: dict[str, object], *, cwd: str) -> tuple[_calls.Call, object]:
    about = _CALLS.get(native)
    if about is not None:
        taken = {key: info.pop(key) for key in about.keys if key in info}
        return _calls.understood(TOOLS, about.tool, taken, cwd=cwd), taken
    if native in _MCP_EVENTS:
        return _server_call(info)
    if "tool_name" not in info and name not in _WHEN:
        return _calls.Call("", {}, ""), None
    tool = _read.need_text(info.pop("tool_name", None), f"{_INFO}.tool_name", dialect=_NAME)
    said = _read.obj(info.pop("tool_args", None), f"{_INFO}.tool_args", dialect=_NAME)
    return _calls.understood(TOOLS, tool, said, cwd=cwd), said


def _server_call(info: dict[str, object]) -> tuple[_calls.Call, object]:
    server = _read.text(info.pop("mcp_server_name", None), f"{_INFO}.mcp_server_name", dialect=_NAME)
    tool = _read.need_text(info.pop("mcp_tool_name", None), f"{_INFO}.mcp_tool_name", dialect=_NAME)
    said = info.pop("mcp_tool_arguments", None)
    args = _mcp.parsed(said)
    given = args if isinstance(args, dict) else {} if args is None else {_calls.PLAIN: args}
    return _calls.Call(_mcp.joined(server, tool) if server else tool, given, ""), said


# answers


def decode_reply(reply: Reply, request: Request) -> Verdict:  # noqa: ARG001 - an exit code means the same at every event
    """Read what a hook of this dialect answered; what it prints is for the person's eyes."""
    return _plain.read_reply(reply, dialect=_NAME, is_context=False)


def encode_outcome(outcome: Outcome, event: Event) -> Answer:  # noqa: ARG001 - and so does ours
    """Say an outcome to Windsurf: nothing, or no."""
    return _plain.answer(outcome, is_context=False)
