"""Codex CLI: Claude Code's dialect in a strict form, where one field too many invalidates an answer.

An allow counts only beside changed arguments, and does not skip the permission prompt. Exit code 2 blocks if there is text on
stderr; Hookline takes it for a denial without text, too. JSON is read at exit code 0 only, except for a denial.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from hookline.dialects._claude_family import ClaudeFamily, family_field_maps
from hookline.dialects._codec import EventNames, EventTable, agent_spec
from hookline.dialects._tools import milliseconds, result_text, tool_map, tool_row
from hookline.model.dialect import MatcherStyle
from hookline.model.event import Event, EventName

_NAME: Final = "codex-cli"

# namespace and name of a tool are joined without a separator
TOOLS: Final = tool_map(
    tool_row("shell", "Bash"),
    tool_row("apply_patch", "apply_patch", keys="patch=command"),
    tool_row("read_file", "view_image"),
    tool_row("subagent", "spawn_agent collaborationspawn_agent", keys="prompt=message"),
    tool_row(
        "agent_message",
        "multi_agent_v1send_input collaborationsend_message collaborationfollowup_task",
        keys="text=message",
    ),
    tool_row(
        "shell_control",
        "multi_agent_v1wait_agent multi_agent_v1close_agent multi_agent_v1resume_agent collaborationwait_agent collaborationinterrupt_agent collaborationlist_agents",
        keys="session=target timeout=timeout_ms",
        codecs=(milliseconds("timeout_ms"),),
    ),
    tool_row("mcp_resource", "read_mcp_resource list_mcp_resources list_mcp_resource_templates"),
    tool_row("todo", "update_plan", keys="items=plan"),
    tool_row("todo", "create_goal update_goal get_goal"),
    tool_row("ask_user", "request_user_input request_user_input_async"),
)

# changes of files as patches, for hooks: Codex changes files only by patch


def as_patch(event: Event) -> Event:
    """Return a call that changes files as the equivalent patch; any other event unchanged."""
    encode = _PATCHES.get(event.tool)
    lines = encode(event.args, event.cwd) if encode is not None else []
    if not lines:
        return event
    patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])
    return replace(event, tool="apply_patch", args={"patch": patch}, native_tool="", native_args=None)


def _patch_file(verb: str, path: object, cwd: str, lines: Iterable[str]) -> list[str]:
    """Return one file of a patch; paths inside the directory are relative to it, as in the patches of models."""
    if not isinstance(path, str) or not path:
        return []
    inside = path.removeprefix(cwd.rstrip("/") + "/") if cwd else path
    # a line break in a name must not start a new line of the patch
    return [f"*** {verb} File: {inside.replace(chr(10), chr(92) + 'n')}", *lines]


def _mark_lines(mark: str, text: object) -> list[str]:
    """Put a mark before every line, so that no content is mistaken for a line of the patch."""
    lines = text.split("\n") if isinstance(text, str) and text else []
    if lines and not lines[-1]:
        lines.pop()
    return [mark + line for line in lines]


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _patch_edits(args: Mapping[str, object], cwd: str, edits: object) -> list[str]:
    hunks: list[str] = []
    for edit in _as_list(edits):
        if isinstance(edit, Mapping):
            hunks += ["@@", *_mark_lines("-", edit.get("old")), *_mark_lines("+", edit.get("new"))]
    return _patch_file("Update", args.get("path"), cwd, hunks)


def _patch_insertion(key: str, args: Mapping[str, object], cwd: str) -> list[str]:
    return _patch_file("Update", args.get("path"), cwd, ["@@", *_mark_lines("+", args.get(key))])


_PATCHES: Final[Mapping[str, Callable[[Mapping[str, object], str], list[str]]]] = {
    "write_file": lambda args, cwd: _patch_file("Add", args.get("path"), cwd, _mark_lines("+", args.get("content"))),
    "edit_file": lambda args, cwd: _patch_edits(args, cwd, [args]),
    "multi_edit": lambda args, cwd: _patch_edits(args, cwd, args.get("edits")),
    "insert_text": partial(_patch_insertion, "text"),
    "edit_lines": partial(_patch_insertion, "text"),
    "notebook_edit": partial(_patch_insertion, "source"),
    "delete_file": lambda args, cwd: [
        line for path in _as_list(args.get("paths")) for line in _patch_file("Delete", path, cwd, ())
    ],
}
PATCHED_TOOLS: Final = frozenset(_PATCHES)

# what an answer can do

_EVENTS: Final[EventTable] = {
    "SessionStart": ("stop context message", EventName.SESSION_START),
    "SessionEnd": ("", EventName.SESSION_END),
    "UserPromptSubmit": ("block stop context message", EventName.BEFORE_AGENT),
    # it fires, and no answer of any kind has an effect
    "PreModelRequest": ("", EventName.BEFORE_MODEL),
    "PreToolUse": ("block rewrite_args context message", EventName.BEFORE_TOOL),
    # saying nothing leaves the question to the person
    "PermissionRequest": ("allow block ask message", EventName.PERMISSION_REQUEST),
    # `continue: false` stops nothing here: its reason stands in place of the result
    "PostToolUse": ("block rewrite_output context message", EventName.AFTER_TOOL),
    "PreCompact": ("stop message", EventName.PRE_COMPRESS),
    "PostCompact": ("stop message", EventName.POST_COMPRESS),
    "SubagentStart": ("context message", EventName.SUBAGENT_START),
    "SubagentStop": ("block stop message follow_up", EventName.SUBAGENT_STOP),
    "Stop": ("block stop message follow_up", EventName.AFTER_AGENT),
    "Interrupt": ("message",),
}

SPEC: Final = agent_spec(
    _NAME,
    "Codex CLI",
    events=_EVENTS,
    tools=TOOLS,
    # Codex changes files only by patch and accepts Claude Code's names in matchers: a guard of its patches has to
    # see every way to change a file
    matched=(
        "apply_patch=apply_patch,Write,Edit write_file=apply_patch,Write edit_file=apply_patch,Edit "
        "multi_edit=apply_patch,Edit insert_text=apply_patch,Edit edit_lines=apply_patch,Edit "
        "delete_file=apply_patch,Edit notebook_edit=apply_patch,Edit "
        "subagent=spawn_agent,collaborationspawn_agent,Agent"
    ),
    timeout=600.0,
    matcher=MatcherStyle.NAMES,
    aliases=("codex",),
    # calls that change files are sent as patches
    own=frozenset(TOOLS.names_by_tool()) | PATCHED_TOOLS,
)

_CODEC: Final = ClaudeFamily(
    spec=SPEC,
    names=EventNames(SPEC.events),
    tools=TOOLS,
    convert_result=lambda result, _tool: result_text(result),
    field_maps=family_field_maps(),
    defaults={"turn_id": "", "transcript_path": None, "model": "", "permission_mode": "default"},
    texts=frozenset({"SessionStart", "SubagentStart", "UserPromptSubmit"}),
    broken=("{", "["),
    convert_call=as_patch,
    top_allows=False,
    beside="allow",
    replaces=frozenset({"PostToolUse"}),
    hides=frozenset({"PostToolUse"}),
)

encode_event = _CODEC.encode_event
decode_event = _CODEC.decode_event
decode_reply = _CODEC.decode_reply
encode_outcome = _CODEC.encode_outcome
