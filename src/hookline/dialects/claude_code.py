"""Claude Code: events in PascalCase on stdin, decisions in `hookSpecificOutput`, exit code 2 blocks.

JSON on stdout counts whatever the exit code is, and exit code 2 blocks whatever the JSON says. Plain text is context at
the start of a session and at a prompt. An empty answer is no opinion.
"""

from functools import partial
from typing import Final

from hookline.dialects import _tool_results
from hookline.dialects._claude_family import FILE_MARKS, READS, ClaudeFamily, family_field_maps, file_event
from hookline.dialects._field_map import event_names, native_events
from hookline.dialects._reply_codec import ReplyRules
from hookline.dialects._tool_map import ONE_URL, TIMEOUT_MS, ToolRow, edits, milliseconds, tool_map
from hookline.model.capability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import EventName

_NAME: Final = "claude-code"

_FILE: Final = {"path": "file_path"}
_EDIT: Final = {"old": "old_string", "new": "new_string"}

TOOLS: Final = tool_map(
    ToolRow("shell", ("Bash",), keys={"background": "run_in_background"}, codecs=(TIMEOUT_MS,)),
    ToolRow("shell", ("Monitor",), keys={"timeout": "timeout_ms"}, codecs=(milliseconds("timeout_ms"),)),
    ToolRow("shell", ("PowerShell",)),
    ToolRow("shell_control", ("TaskStop", "KillShell"), keys={"session": "task_id"}),
    ToolRow("read_file", ("Read",), keys=_FILE),
    ToolRow("write_file", ("Write",), keys=_FILE),
    ToolRow("edit_file", ("Edit",), keys={**_FILE, **_EDIT}),
    ToolRow("multi_edit", ("MultiEdit",), keys=_FILE, codecs=(edits(_EDIT),)),
    ToolRow(
        "notebook_edit",
        ("NotebookEdit",),
        keys={"path": "notebook_path", "cell": "cell_id", "source": "new_source", "mode": "edit_mode"},
    ),
    ToolRow("list_dir", ("LS",)),
    ToolRow("glob", ("Glob",)),
    ToolRow("grep", ("Grep",), keys={"include": "glob"}),
    ToolRow("web_fetch", ("WebFetch",), codecs=(ONE_URL,)),
    ToolRow("web_search", ("WebSearch",), keys={"domains": "allowed_domains"}),
    ToolRow("subagent", ("Agent", "Task"), keys={"type": "subagent_type", "background": "run_in_background"}),
    ToolRow("agent_message", ("SendMessage",), keys={"target": "to", "text": "message"}),
    ToolRow("code", ("Workflow",), keys={"source": "script"}),
    ToolRow("schedule", ("CronCreate",), keys={"when": "cron"}),
    ToolRow("schedule", ("ScheduleWakeup",), keys={"when": "delaySeconds"}),
    ToolRow("schedule", ("CronList", "CronDelete")),
    ToolRow("worktree", ("EnterWorktree", "ExitWorktree")),
    ToolRow("skill", ("Skill",), keys={"name": "skill"}),
    ToolRow("todo", ("TodoWrite",), keys={"items": "todos"}),
    ToolRow("todo", ("TaskCreate", "TaskUpdate", "TaskGet", "TaskList")),
    ToolRow("ask_user", ("AskUserQuestion",)),
    ToolRow("plan_mode", ("EnterPlanMode", "ExitPlanMode")),
    ToolRow("tool_search", ("ToolSearch",)),
)

_A: Final = Ability
_MESSAGE: Final = frozenset({_A.MESSAGE})
_CONTEXT: Final = frozenset({_A.CONTEXT, _A.MESSAGE})
_BLOCKS: Final = frozenset({_A.BLOCK, _A.STOP, _A.MESSAGE})

_EVENTS: Final = native_events(
    {
        "Setup": (_CONTEXT, EventName.SETUP),
        # the program ignores `continue: false` here
        "SessionStart": (_CONTEXT, EventName.SESSION_START),
        "SessionEnd": (frozenset(), EventName.SESSION_END),
        "InstructionsLoaded": (frozenset(),),
        "UserPromptSubmit": (_CONTEXT | _BLOCKS, EventName.BEFORE_AGENT),
        "UserPromptExpansion": (_CONTEXT | _BLOCKS,),
        "MessageDisplay": (frozenset(),),
        "PreToolUse": (_CONTEXT | _BLOCKS | {_A.ALLOW, _A.ASK, _A.ARGS}, EventName.BEFORE_TOOL),
        # with an empty answer the program asks the user
        "PermissionRequest": (_BLOCKS | {_A.ALLOW, _A.ASK, _A.ARGS}, EventName.PERMISSION_REQUEST),
        "PermissionDenied": (frozenset(),),
        "PostToolUse": (_CONTEXT | _BLOCKS | {_A.OUTPUT}, EventName.AFTER_TOOL),
        "PostToolUseFailure": (_CONTEXT | _BLOCKS, EventName.TOOL_FAILED),
        "PostToolBatch": (_CONTEXT | _BLOCKS,),
        "Notification": (_MESSAGE, EventName.NOTIFICATION),
        "SubagentStart": (_CONTEXT, EventName.SUBAGENT_START),
        "SubagentStop": (_BLOCKS | {_A.FOLLOW_UP}, EventName.SUBAGENT_STOP),
        "TaskCreated": (_MESSAGE | {_A.BLOCK},),
        "TaskCompleted": (_BLOCKS,),
        "TeammateIdle": (_BLOCKS,),
        "Stop": (_BLOCKS | {_A.FOLLOW_UP}, EventName.AFTER_AGENT),
        "StopFailure": (frozenset(), EventName.ERROR),
        "ConfigChange": (_MESSAGE | {_A.BLOCK},),
        "CwdChanged": (frozenset(),),
        "DirectoryAdded": (frozenset(),),
        "FileChanged": (frozenset(), EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED),
        "WorktreeCreate": (frozenset({_A.BLOCK}),),
        "WorktreeRemove": (frozenset(),),
        "PreCompact": (_BLOCKS, EventName.PRE_COMPRESS),
        "PostCompact": (_MESSAGE, EventName.POST_COMPRESS),
        "Elicitation": (frozenset({_A.BLOCK}),),
        "ElicitationResult": (frozenset({_A.BLOCK}),),
        "PreModelSwitch": (_MESSAGE | {_A.BLOCK},),
        "PostModelSwitch": (_CONTEXT,),
    }
)
ABILITIES: Final = _EVENTS.abilities

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Claude Code",
    events=_EVENTS.events,
    tools={
        # other agents write and edit by patch: a guard of Write and Edit has to see it
        **TOOLS.names_by_tool(),
        "apply_patch": ("Edit", "Write", "MultiEdit"),
        "multi_edit": ("MultiEdit", "Edit", "Write"),
        "insert_text": ("Edit",),
        "edit_lines": ("Edit",),
    },
    timeout=600.0,
    shell=True,
    matcher=MatcherStyle.NAMES,
    abilities=ABILITIES,
    aliases=("claude",),
    # current versions make one edit per call
    own=frozenset(TOOLS.names_by_tool()) - {"multi_edit"},
)

_CODEC: Final = ClaudeFamily(
    spec=SPEC,
    names=event_names(SPEC.events, {"FileChanged": file_event}),
    tools=TOOLS,
    convert_result=partial(_tool_results.with_streams, dialect=_NAME),
    field_maps=family_field_maps(marks=FILE_MARKS),
    rules=ReplyRules(
        dialect=_NAME, reads=READS, tools=TOOLS, allow_empty=True, allow_text=True, deny_exit=2, ignore_exit_code=True
    ),
    texts=frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"}),
    marks=FILE_MARKS,
    # the program ignores a `decision` at the top there
    exits=frozenset(
        {"TaskCreated", "TaskCompleted", "TeammateIdle", "WorktreeCreate", "Elicitation", "ElicitationResult"}
    ),
    defaults={"transcript_path": "", "permission_mode": "default"},
    variables=("CLAUDE_PROJECT_DIR",),
)

encode_event = _CODEC.encode_event
decode_event = _CODEC.decode_event
decode_reply = _CODEC.decode_reply
encode_outcome = _CODEC.encode_outcome
