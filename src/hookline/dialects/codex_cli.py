"""Codex CLI: Claude Code's language in a strict form, where one field too many makes an answer void.

A yes counts only beside changed arguments, and skips nobody's permission there. Exit code 2 blocks when something
stands on stderr; a hook that forgot it has said no all the same to us. JSON is read on exit code 0 only, except for a no.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from hookline.dialects import _reply, _results
from hookline.dialects._claude import Family, shapes
from hookline.dialects._fields import names
from hookline.dialects._patches import PATCHED, as_patch
from hookline.dialects._tools import Row, milliseconds, toolbox
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import EventName

_NAME: Final = "codex-cli"

# namespace and name of a tool stand together without anything between them
TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("Bash",)),
        Row(tool="apply_patch", names=("apply_patch",), keys={"patch": "command"}),
        Row(tool="read_file", names=("view_image",)),
        Row(tool="subagent", names=("spawn_agent", "collaborationspawn_agent"), keys={"prompt": "message"}),
        Row(
            tool="agent_message",
            names=("multi_agent_v1send_input", "collaborationsend_message", "collaborationfollowup_task"),
            keys={"text": "message"},
        ),
        Row(
            tool="shell_control",
            names=(
                "multi_agent_v1wait_agent",
                "multi_agent_v1close_agent",
                "multi_agent_v1resume_agent",
                "collaborationwait_agent",
                "collaborationinterrupt_agent",
                "collaborationlist_agents",
            ),
            keys={"session": "target", "timeout": "timeout_ms"},
            changes=(milliseconds("timeout_ms"),),
        ),
        Row(
            tool="mcp_resource",
            names=("read_mcp_resource", "list_mcp_resources", "list_mcp_resource_templates"),
        ),
        Row(tool="todo", names=("update_plan",), keys={"items": "plan"}),
        Row(tool="todo", names=("create_goal", "update_goal", "get_goal")),
        Row(tool="ask_user", names=("request_user_input", "request_user_input_async")),
    )
)

_A: Final = Ability
_TOLD: Final = frozenset({_A.MESSAGE})
_SPEAKS: Final = frozenset({_A.CONTEXT, _A.MESSAGE})
_BLOCKS: Final = frozenset({_A.BLOCK, _A.STOP, _A.MESSAGE})

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "SessionStart": _SPEAKS | {_A.STOP},
        "SessionEnd": frozenset(),
        "UserPromptSubmit": _SPEAKS | _BLOCKS,
        # it fires, and no answer of any kind has an effect
        "PreModelRequest": frozenset(),
        "PreToolUse": _SPEAKS | {_A.BLOCK, _A.ARGS},
        # saying nothing leaves the question to the person
        "PermissionRequest": frozenset({_A.ALLOW, _A.BLOCK, _A.ASK, _A.MESSAGE}),
        # `continue: false` stops nothing here: its reason stands in place of the result
        "PostToolUse": _SPEAKS | {_A.BLOCK, _A.OUTPUT},
        "PreCompact": _TOLD | {_A.STOP},
        "PostCompact": _TOLD | {_A.STOP},
        "SubagentStart": _SPEAKS,
        "SubagentStop": _BLOCKS | {_A.FOLLOW_UP},
        "Stop": _BLOCKS | {_A.FOLLOW_UP},
        "Interrupt": _TOLD,
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Codex CLI",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "SessionStart",
            EventName.SESSION_END: "SessionEnd",
            EventName.BEFORE_AGENT: "UserPromptSubmit",
            EventName.AFTER_AGENT: "Stop",
            EventName.BEFORE_MODEL: "PreModelRequest",
            EventName.BEFORE_TOOL: "PreToolUse",
            EventName.AFTER_TOOL: "PostToolUse",
            EventName.PERMISSION_REQUEST: "PermissionRequest",
            EventName.PRE_COMPRESS: "PreCompact",
            EventName.POST_COMPRESS: "PostCompact",
            EventName.SUBAGENT_START: "SubagentStart",
            EventName.SUBAGENT_STOP: "SubagentStop",
        }
    ),
    tools=MappingProxyType(
        # Codex changes files by patch alone, and takes Claude Code's names in matchers: whoever guards its patches means
        # every way to change a file
        {
            **TOOLS.names(),
            "apply_patch": ("apply_patch", "Write", "Edit"),
            "write_file": ("apply_patch", "Write"),
            "edit_file": ("apply_patch", "Edit"),
            "multi_edit": ("apply_patch", "Edit"),
            "insert_text": ("apply_patch", "Edit"),
            "edit_lines": ("apply_patch", "Edit"),
            "delete_file": ("apply_patch", "Edit"),
            "notebook_edit": ("apply_patch", "Edit"),
            "subagent": (*TOOLS.names()["subagent"], "Agent"),
        }
    ),
    timeout=600.0,
    shell=True,
    matcher=MatcherStyle.NAMES,
    abilities=ABILITIES,
    aliases=("codex",),
    # what changes files is told as a patch
    own=frozenset(TOOLS.names()) | PATCHED,
)

_FAMILY: Final = Family(
    dialect=_NAME,
    names=names(SPEC.events),
    tools=TOOLS,
    results=partial(_results.in_texts, dialect=_NAME),
    shapes=shapes(),
    abilities=ABILITIES,
    manners=_reply.Manners(dialect=_NAME, silence=True, chatter=True, deny_exit=2),
    filled={"turn_id": "", "transcript_path": None, "model": "", "permission_mode": "default"},
    texts=frozenset({"SessionStart", "SubagentStart", "UserPromptSubmit"}),
    broken=("{", "["),
    retold=as_patch,
    top_allows=False,
    beside="allow",
    replaces=frozenset({"PostToolUse"}),
    hides=frozenset({"PostToolUse"}),
)

encode_event = _FAMILY.encode_event
decode_event = _FAMILY.decode_event
decode_reply = _FAMILY.decode_reply
encode_outcome = _FAMILY.encode_outcome
