"""Windsurf's Cascade: an event for each kind of tool, its arguments in `tool_info`; only exit code 2 has a meaning.

There are no tool names: `pre_run_command` is the shell, `pre_write_code` edits. A call of another agent's tool that none of these
events is about is written as one of an MCP server without a name.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from hookline.dialects import _tools
from hookline.dialects._codec import AgentCodec, EventNames, EventTable, Field, agent_spec, field_maps
from hookline.dialects._json_reader import JsonReader, key_set
from hookline.dialects._reply_codec import encode_exit_code, read_exit_code
from hookline.dialects._tools import NO_CALL, DecodedCall, edits, tool_map, tool_row
from hookline.model.dialect import MatcherStyle
from hookline.model.event import READING, WRITING, Event, EventName, Session
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Outcome, Verdict

_NAME: Final = "windsurf"
_READER: Final = JsonReader(_NAME)
_INFO: Final = "tool_info"

TOOLS: Final = tool_map(
    tool_row("shell", "run_command", keys="command=command_line"),
    tool_row("read_file", "read_code", keys="path=file_path"),
    tool_row(
        "multi_edit", "write_code", keys="path=file_path", codecs=(edits({"old": "old_string", "new": "new_string"}),)
    ),
)

_EVENTS: Final[EventTable] = {
    "pre_user_prompt": ("block", EventName.BEFORE_AGENT),
    "pre_run_command": ("block", EventName.BEFORE_TOOL),
    "pre_write_code": ("block", EventName.BEFORE_TOOL),
    "pre_read_code": ("block", EventName.BEFORE_TOOL),
    "pre_mcp_tool_use": ("block", EventName.BEFORE_TOOL),
    "post_run_command": ("", EventName.AFTER_TOOL),
    "post_write_code": ("", EventName.AFTER_TOOL),
    "post_read_code": ("", EventName.AFTER_TOOL),
    "post_mcp_tool_use": ("", EventName.AFTER_TOOL),
    "post_cascade_response": ("", EventName.AFTER_AGENT),
    "post_cascade_response_with_transcript": ("",),
    "post_setup_worktree": ("",),
}

# the event about a canonical tool; all others are written as tools of a server
_ABOUT: Final = {
    "shell": "run_command",
    "read_file": "read_code",
    "multi_edit": "write_code",
    "edit_file": "write_code",
    "write_file": "write_code",
}

SPEC: Final = agent_spec(
    _NAME,
    "Windsurf",
    events=_EVENTS,
    tools=TOOLS,
    timeout=30.0,
    matcher=MatcherStyle.SEARCH,
    aliases=("cascade",),
    own=frozenset(_ABOUT),
    event_tools={
        **dict.fromkeys(("pre_run_command", "post_run_command"), ("shell",)),
        **dict.fromkeys(("pre_write_code", "post_write_code"), WRITING),
        **dict.fromkeys(("pre_read_code", "post_read_code"), READING),
        **dict.fromkeys(("pre_mcp_tool_use", "post_mcp_tool_use"), ("mcp__*",)),
    },
)

# events about one tool, and the keys of `tool_info` that are its arguments
_TOOL_EVENTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    f"{when}_{tool}": (tool, keys)
    for when in ("pre", "post")
    for tool, keys in {
        "run_command": ("command_line", "cwd"),
        "read_code": ("file_path",),
        "write_code": ("file_path", "edits"),
    }.items()
}
_MCP_EVENTS: Final = frozenset({"pre_mcp_tool_use", "post_mcp_tool_use"})
_WHEN: Final = {EventName.BEFORE_TOOL: "pre", EventName.AFTER_TOOL: "post"}

_CODEC: Final = AgentCodec(
    spec=SPEC,
    names=EventNames(SPEC.events, more=SPEC.more_events),
    tools=TOOLS,
    has_iso_time=True,
    field_maps=field_maps(
        {
            EventName.BEFORE_AGENT: (Field("prompt", f"{_INFO}.user_prompt"),),
            EventName.AFTER_AGENT: (Field("response", f"{_INFO}.response"),),
            EventName.AFTER_TOOL: (Field("result", f"{_INFO}.mcp_result"),),
        },
        taken=("agent_action_name", "trajectory_id", "model_name", "cwd", _INFO),
        objects={
            _INFO: key_set(
                "command_line cwd file_path edits mcp_server_name mcp_tool_name mcp_tool_arguments tool_name tool_args"
            )
        },
    ),
)


# events


def encode_event(event: Event, hook: Hook) -> Request:
    """Return the request for a hook of this dialect, as the event that the hook is configured for."""
    native = _CODEC.native_name(event, hook.native_event)
    when = _WHEN.get(event.name)
    if when is not None and event.host != _NAME and native != hook.native_event:
        native = f"{when}_{_ABOUT.get(event.tool, 'mcp_tool_use')}"
    return Request(event=event, later=partial(_write_event, event, native))


def _write_event(event: Event, native: str) -> dict[str, object]:
    document: dict[str, object] = {"agent_action_name": native, "trajectory_id": event.session.id}
    if event.session.model:
        document["model_name"] = event.session.model
    info = document[_INFO] = _encode_call(event, native)
    if event.cwd and "cwd" not in info:
        document["cwd"] = event.cwd
    return _CODEC.write_data(event, document, dict(event.data))


def _encode_call(event: Event, native: str) -> dict[str, object]:
    is_own = event.host == _NAME
    if native in _MCP_EVENTS:
        server, tool = _tools.split_name(event.tool) or ("", event.tool)
        native_args = event.native_args if is_own else None
        is_same = native_args is not None and _tools.parse_text(native_args) == event.args
        args = native_args if is_same else dict(event.args)
        return {"mcp_server_name": server, "mcp_tool_name": tool, "mcp_tool_arguments": args}
    if not event.tool and native not in _TOOL_EVENTS:
        return {}
    name, args = _CODEC.encode_call(event)
    given = dict(args) if isinstance(args, Mapping) else {}
    if native not in _TOOL_EVENTS:
        return {"tool_name": name, "tool_args": given}
    about = _TOOL_EVENTS[native][0]
    if about == "write_code" and not is_own:
        edits_given = given.get("edits", []) if event.tool == "multi_edit" else [_tools.as_edit(event.args)]
        return {**given, "file_path": event.args.get("path", ""), "edits": edits_given}
    if about == "run_command" and not is_own and event.cwd:
        given.setdefault("cwd", event.cwd)
    return given


def decode_event(raw: bytes, name: str = "") -> Event:
    """Return the event of a document of Windsurf."""
    document = _READER.load_object(raw)
    native = _CODEC.read_name(document.pop("agent_action_name", None), name, where="agent_action_name")
    canonical = _CODEC.names.decode(native, document)
    session = Session(id=_READER.pop_text(document, "trajectory_id"), model=_READER.pop_text(document, "model_name"))
    timestamp = _READER.take_time(document, "timestamp")
    info = dict(_READER.read_object(document.pop(_INFO, None), _INFO))
    folder = info.get("cwd") if native in _TOOL_EVENTS else None
    cwd = folder if isinstance(folder, str) and folder else _READER.pop_text(document, "cwd")
    call = _read_call(canonical, native, info, cwd=cwd)
    if info:
        document[_INFO] = info
    data = _CODEC.field_maps(canonical).read(document, "", _READER)
    return _CODEC.build_event(canonical, native, data, call=call, session=session, cwd=cwd, timestamp=timestamp)


def _read_call(name: EventName, native: str, info: dict[str, object], *, cwd: str) -> DecodedCall:
    if native in _TOOL_EVENTS:
        about, keys = _TOOL_EVENTS[native]
        return _CODEC.decode_call(about, {key: info.pop(key) for key in keys if key in info}, cwd=cwd)
    if native in _MCP_EVENTS:
        server = _READER.read_text(info.pop("mcp_server_name", None), f"{_INFO}.mcp_server_name")
        tool = _READER.require_text(info.pop("mcp_tool_name", None), f"{_INFO}.mcp_tool_name")
        native_args = info.pop("mcp_tool_arguments", None)
        call = _tools.normalise_server_call(server, tool, native_args, native_tool="")
        return call if server else replace(call, tool=tool)
    if "tool_name" not in info and name not in _WHEN:
        return NO_CALL
    tool = _READER.require_text(info.pop("tool_name", None), f"{_INFO}.tool_name")
    args = _READER.read_object(info.pop("tool_args", None), f"{_INFO}.tool_args")
    return _CODEC.decode_call(tool, args, cwd=cwd)


# answers


def decode_reply(reply: Reply, request: Request) -> Verdict:  # noqa: ARG001 - an exit code means the same at every event
    """Return the verdict of a hook's reply; what the hook prints is only shown to the user."""
    return read_exit_code(reply, dialect=_NAME, is_context=False)


def encode_outcome(outcome: Outcome, event: Event) -> Answer:  # noqa: ARG001 - the same
    """Return the answer for Windsurf: a denial, or an empty one."""
    return encode_exit_code(outcome, is_context=False)
