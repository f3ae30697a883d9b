"""Claude Code: events in PascalCase on stdin, decisions in `hookSpecificOutput`, exit code 2 blocks.

JSON on stdout counts whatever the exit code is, and exit code 2 blocks whatever the JSON says. Plain text is context at
the start of a session and at a prompt. Saying nothing is having no opinion.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from hookline.dialects import _reply, _results
from hookline.dialects._claude import FILE_MARKS, Family, file_event, shapes
from hookline.dialects._fields import names
from hookline.dialects._tools import ONE_URL, TIMEOUT_MS, Row, edits, milliseconds, toolbox
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import EventName

_NAME: Final = "claude-code"

_FILE: Final = {"path": "file_path"}
_EDIT: Final = {"old": "old_string", "new": "new_string"}

TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("Bash",), keys={"background": "run_in_background"}, changes=(TIMEOUT_MS,)),
        Row(
            tool="shell",
            names=("Monitor",),
            keys={"timeout": "timeout_ms"},
            changes=(milliseconds("timeout_ms"),),
        ),
        Row(tool="shell", names=("PowerShell",)),
        Row(tool="shell_control", names=("TaskStop", "KillShell"), keys={"session": "task_id"}),
        Row(tool="read_file", names=("Read",), keys=_FILE),
        Row(tool="write_file", names=("Write",), keys=_FILE),
        Row(tool="edit_file", names=("Edit",), keys={**_FILE, **_EDIT}),
        Row(tool="multi_edit", names=("MultiEdit",), keys=_FILE, changes=(edits(_EDIT),)),
        Row(
            tool="notebook_edit",
            names=("NotebookEdit",),
            keys={"path": "notebook_path", "cell": "cell_id", "source": "new_source", "mode": "edit_mode"},
        ),
        Row(tool="list_dir", names=("LS",)),
        Row(tool="glob", names=("Glob",)),
        Row(tool="grep", names=("Grep",), keys={"include": "glob"}),
        Row(tool="web_fetch", names=("WebFetch",), changes=(ONE_URL,)),
        Row(tool="web_search", names=("WebSearch",), keys={"domains": "allowed_domains"}),
        Row(
            tool="subagent",
            names=("Agent", "Task"),
            keys={"type": "subagent_type", "background": "run_in_background"},
        ),
        Row(tool="agent_message", names=("SendMessage",), keys={"target": "to", "text": "message"}),
        Row(tool="code", names=("Workflow",), keys={"source": "script"}),
        Row(tool="schedule", names=("CronCreate",), keys={"when": "cron"}),
        Row(tool="schedule", names=("ScheduleWakeup",), keys={"when": "delaySeconds"}),
        Row(tool="schedule", names=("CronList", "CronDelete")),
        Row(tool="worktree", names=("EnterWorktree", "ExitWorktree")),
        Row(tool="skill", names=("Skill",), keys={"name": "skill"}),
        Row(tool="todo", names=("TodoWrite",), keys={"items": "todos"}),
        Row(tool="todo", names=("TaskCreate", "TaskUpdate", "TaskGet", "TaskList")),
        Row(tool="ask_user", names=("AskUserQuestion",)),
        Row(tool="plan_mode", names=("EnterPlanMode", "ExitPlanMode")),
        Row(tool="tool_search", names=("ToolSearch",)),
    )
)

_A: Final = Ability
_TOLD: Final = frozenset({_A.MESSAGE})
_SPEAKS: Final = frozenset({_A.CONTEXT, _A.MESSAGE})
_BLOCKS: Final = frozenset({_A.BLOCK, _A.STOP, _A.MESSAGE})

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "Setup": _SPEAKS,
        # the real program goes on when a hook says `continue: false` here
        "SessionStart": _SPEAKS,
        "SessionEnd": frozenset(),
        "InstructionsLoaded": frozenset(),
        "UserPromptSubmit": _SPEAKS | _BLOCKS,
        "UserPromptExpansion": _SPEAKS | _BLOCKS,
        "MessageDisplay": frozenset(),
        "PreToolUse": _SPEAKS | _BLOCKS | {_A.ALLOW, _A.ASK, _A.ARGS},
        # saying nothing leaves the question to the person
        "PermissionRequest": _BLOCKS | {_A.ALLOW, _A.ASK, _A.ARGS},
        "PermissionDenied": frozenset(),
        "PostToolUse": _SPEAKS | _BLOCKS | {_A.OUTPUT},
        "PostToolUseFailure": _SPEAKS | _BLOCKS,
        "PostToolBatch": _SPEAKS | _BLOCKS,
        "Notification": _TOLD,
        "SubagentStart": _SPEAKS,
        "SubagentStop": _BLOCKS | {_A.FOLLOW_UP},
        "TaskCreated": _TOLD | {_A.BLOCK},
        "TaskCompleted": _BLOCKS,
        "TeammateIdle": _BLOCKS,
        "Stop": _BLOCKS | {_A.FOLLOW_UP},
        "StopFailure": frozenset(),
        "ConfigChange": _TOLD | {_A.BLOCK},
        "CwdChanged": frozenset(),
        "DirectoryAdded": frozenset(),
        "FileChanged": frozenset(),
        "WorktreeCreate": frozenset({_A.BLOCK}),
        "WorktreeRemove": frozenset(),
        "PreCompact": _BLOCKS,
        "PostCompact": _TOLD,
        "Elicitation": frozenset({_A.BLOCK}),
        "ElicitationResult": frozenset({_A.BLOCK}),
        "PreModelSwitch": _TOLD | {_A.BLOCK},
        "PostModelSwitch": _SPEAKS,
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Claude Code",
    events=MappingProxyType(
        {
            EventName.SETUP: "Setup",
            EventName.SESSION_START: "SessionStart",
            EventName.SESSION_END: "SessionEnd",
            EventName.BEFORE_AGENT: "UserPromptSubmit",
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
            EventName.FILE_CREATED: "FileChanged",
            EventName.FILE_EDITED: "FileChanged",
            EventName.FILE_DELETED: "FileChanged",
        }
    ),
    tools=MappingProxyType(
        # a patch is how other agents write and edit: whoever guards Claude Code's Write and Edit means it
        {
            **TOOLS.names(),
            "apply_patch": ("Edit", "Write", "MultiEdit"),
            "multi_edit": ("MultiEdit", "Edit", "Write"),
            "insert_text": ("Edit",),
            "edit_lines": ("Edit",),
        }
    ),
    timeout=600.0,
    shell=True,
    matcher=MatcherStyle.NAMES,
    abilities=ABILITIES,
    aliases=("claude",),
    # the program of today edits once in a call
    own=frozenset(TOOLS.names()) - {"multi_edit"},
)

_FAMILY: Final = Family(
    dialect=_NAME,
    names=names(SPEC.events, {"FileChanged": file_event}),
    tools=TOOLS,
    results=partial(_results.in_streams, dialect=_NAME),
    shapes=shapes(marks=FILE_MARKS),
    abilities=ABILITIES,
    manners=_reply.Manners(dialect=_NAME, silence=True, chatter=True, deny_exit=2, json_always=True),
    texts=frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"}),
    marks=FILE_MARKS,
    # a `decision` at the top is not looked at there
    exits=frozenset(
        {"TaskCreated", "TaskCompleted", "TeammateIdle", "WorktreeCreate", "Elicitation", "ElicitationResult"}
    ),
    filled={"transcript_path": "", "permission_mode": "default"},
    variables=("CLAUDE_PROJECT_DIR",),
)

encode_event = _FAMILY.encode_event
decode_event = _FAMILY.decode_event
decode_reply = _FAMILY.decode_reply
encode_outcome = _FAMILY.encode_outcome
