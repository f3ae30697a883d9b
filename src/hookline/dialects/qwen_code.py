"""Qwen Code: Claude Code's language over Gemini's tools.

The real program takes less than its documents say, and this module says what it takes: changed arguments are ignored, so
is a no to a finished tool call, and `continue: false` ends nothing but a prompt: after a tool its reason stands in place
of the result, and at the end of a turn it sends the agent back to work.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from hookline.dialects import _reply, _results
from hookline.dialects._claude import Family, shapes
from hookline.dialects._fields import names
from hookline.dialects._tools import FROM_ZERO, ONE_URL, TIMEOUT_MS, Row, toolbox
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import EventName
from hookline.model.verdict import EffectKind

_NAME: Final = "qwen-code"
_PROMPT: Final = "UserPromptSubmit"

_FILE: Final = {"path": "file_path"}
_BACKGROUND: Final = {"background": "is_background"}

# what is sent stands first; Claude Code's names and those on the screen are other words for it in matchers
TOOLS: Final = toolbox(
    (
        Row(
            tool="shell",
            names=("run_shell_command", "Bash", "Shell"),
            keys={"cwd": "directory", **_BACKGROUND},
            changes=(TIMEOUT_MS,),
        ),
        Row(tool="shell", names=("monitor",), keys={"cwd": "directory"}),
        Row(tool="shell_control", names=("task_stop",), keys={"session": "task_id"}),
        Row(tool="read_file", names=("read_file", "Read", "ReadFile"), keys=_FILE, changes=(FROM_ZERO,)),
        Row(tool="write_file", names=("write_file", "Write", "WriteFile"), keys=_FILE),
        Row(
            tool="edit_file",
            names=("edit", "replace"),
            keys={**_FILE, "old": "old_string", "new": "new_string"},
        ),
        Row(
            tool="notebook_edit",
            names=("notebook_edit", "NotebookEdit"),
            keys={"path": "notebook_path", "cell": "cell_id", "source": "new_source", "mode": "edit_mode"},
        ),
        Row(tool="list_dir", names=("list_directory", "LS")),
        Row(tool="glob", names=("glob",)),
        Row(tool="grep", names=("grep_search", "search_file_content", "Grep"), keys={"include": "glob"}),
        Row(tool="web_fetch", names=("web_fetch", "WebFetch"), changes=(ONE_URL,)),
        Row(tool="web_search", names=("web_search", "WebSearch")),
        Row(
            tool="subagent",
            names=("agent", "task"),
            keys={"type": "subagent_type", "background": "run_in_background", "cwd": "working_dir"},
        ),
        Row(tool="agent_message", names=("send_message",), keys={"target": "to", "text": "message"}),
        Row(tool="code", names=("workflow",), keys={"source": "script"}),
        Row(tool="code", names=("exec",)),
        Row(tool="schedule", names=("cron_create",), keys={"when": "cron"}),
        Row(tool="schedule", names=("loop_wakeup",), keys={"when": "delaySeconds"}),
        Row(tool="schedule", names=("cron_list", "cron_delete")),
        Row(tool="worktree", names=("enter_worktree", "exit_worktree")),
        Row(tool="skill", names=("skill",), keys={"name": "skill"}),
        Row(tool="todo", names=("todo_write", "TodoWrite"), keys={"items": "todos"}),
        Row(tool="todo", names=("get_goal", "update_goal", "propose_goal")),
        Row(tool="mcp_resource", names=("read_mcp_resource",)),
        Row(tool="ask_user", names=("ask_user_question",)),
        Row(tool="plan_mode", names=("enter_plan_mode", "exit_plan_mode")),
        Row(tool="tool_search", names=("tool_search",)),
    )
)

_A: Final = Ability
_TOLD: Final = frozenset({_A.MESSAGE})
_SPEAKS: Final = frozenset({_A.CONTEXT, _A.MESSAGE})
_ENDS: Final = frozenset({_A.BLOCK, _A.FOLLOW_UP, _A.STOP, _A.MESSAGE})

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "SessionStart": _SPEAKS,
        "SessionEnd": frozenset(),
        "SessionDelete": frozenset(),
        "InstructionsLoaded": frozenset(),
        _PROMPT: _SPEAKS | {_A.BLOCK, _A.STOP},
        "UserPromptExpansion": _SPEAKS | {_A.BLOCK},
        "MessageDisplay": frozenset(),
        # without a person, a question is a no
        "PreToolUse": _TOLD | {_A.ALLOW, _A.BLOCK, _A.ASK},
        "PermissionRequest": _TOLD | {_A.ALLOW, _A.BLOCK, _A.ASK},
        "PermissionDenied": frozenset(),
        "PostToolUse": _SPEAKS | {_A.BLOCK, _A.OUTPUT},
        "PostToolUseFailure": _SPEAKS,
        "PostToolBatch": _SPEAKS | {_A.BLOCK},
        "Notification": _TOLD,
        "SubagentStart": _TOLD,
        "SubagentStop": _ENDS,
        "TodoCreated": _TOLD | {_A.BLOCK},
        "TodoCompleted": _TOLD | {_A.BLOCK},
        "Stop": _ENDS,
        "StopFailure": frozenset(),
        "PreCompact": _TOLD,
        "PostCompact": frozenset(),
    }
)


def _prompt_event(document: Mapping[str, object]) -> EventName:
    """Tell a prompt from a further request to the model, for which the program fires the same event without a prompt.

    Prompt hooks run once for each prompt; the rest is a moment of its own, with the same name.
    """
    is_asked = document.get("prompt") or "submitted_prompt" in document
    return EventName.BEFORE_AGENT if is_asked else EventName.CUSTOM


SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Qwen Code",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "SessionStart",
            EventName.SESSION_END: "SessionEnd",
            EventName.BEFORE_AGENT: _PROMPT,
            EventName.AFTER_AGENT: "Stop",
            EventName.BEFORE_TOOL: "PreToolUse",
            EventName.AFTER_TOOL: "PostToolUse",
            EventName.TOOL_FAILED: "PostToolUseFailure",
            EventName.PERMISSION_REQUEST: "PermissionRequest",
            EventName.PRE_COMPRESS: "PreCompact",
            EventName.POST_COMPRESS: "PostCompact",
            EventName.SUBAGENT_START: "SubagentStart",
            EventName.SUBAGENT_STOP: "SubagentStop",
            EventName.ERROR: "StopFailure",
            EventName.NOTIFICATION: "Notification",
        }
    ),
    tools=MappingProxyType(
        # whoever guards writing and editing means every way to do it
        {
            **TOOLS.names(),
            "apply_patch": ("edit", "write_file"),
            "multi_edit": ("edit",),
            "insert_text": ("edit",),
            "edit_lines": ("edit",),
        }
    ),
    timeout=60.0,
    shell=True,
    matcher=MatcherStyle.SEARCH,
    abilities=ABILITIES,
    aliases=("qwen",),
    own=frozenset(TOOLS.names()),
)

_FAMILY: Final = Family(
    dialect=_NAME,
    names=names(SPEC.events, {_PROMPT: _prompt_event}),
    tools=TOOLS,
    results=partial(_results.in_response, dialect=_NAME),
    shapes=shapes(),
    abilities=ABILITIES,
    manners=_reply.Manners(dialect=_NAME, silence=True, chatter=True, deny_exit=2),
    filled={"transcript_path": "", "permission_mode": "default"},
    time="timestamp",
    variables=("QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"),
    texts=frozenset({"SessionStart", _PROMPT, "UserPromptExpansion"}),
    elsewhere=EffectKind.MESSAGE,
    replaces=frozenset({"PostToolUse"}),
    rests=True,
)

encode_event = _FAMILY.encode_event
decode_event = _FAMILY.decode_event
decode_reply = _FAMILY.decode_reply
encode_outcome = _FAMILY.encode_outcome
