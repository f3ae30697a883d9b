"""Claude Code: events in PascalCase on stdin, decisions in `hookSpecificOutput`, exit code 2 blocks.

JSON on stdout counts whatever the exit code is, and exit code 2 blocks whatever the JSON says. Plain text is context at
the start of a session and at a prompt. An empty answer is no opinion.
"""

from collections.abc import Mapping
from typing import Final

from hookline.dialects._claude_family import ClaudeFamily, family_field_maps
from hookline.dialects._codec import EventTable, agent_spec
from hookline.dialects._field_map import event_names
from hookline.dialects._tool_calls import result_text
from hookline.dialects._tool_map import ONE_URL, TIMEOUT_MS, ToolRow, edits, milliseconds, tool_map
from hookline.model.capability import Ability
from hookline.model.dialect import MatcherStyle
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

_EVENTS: Final[EventTable] = {
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

SPEC: Final = agent_spec(
    _NAME,
    "Claude Code",
    events=_EVENTS,
    tools=TOOLS,
    matched={
        # other agents write and edit by patch: a guard of Write and Edit has to see it
        "apply_patch": ("Edit", "Write", "MultiEdit"),
        "multi_edit": ("MultiEdit", "Edit", "Write"),
        "insert_text": ("Edit",),
        "edit_lines": ("Edit",),
    },
    timeout=600.0,
    matcher=MatcherStyle.NAMES,
    aliases=("claude",),
    # current versions make one edit per call
    own=frozenset(TOOLS.names_by_tool()) - {"multi_edit"},
)
ABILITIES: Final = SPEC.abilities or {}

# how changes of files are distinguished, which have one native name
_FILE_MARKS: Final[Mapping[str, tuple[str, object]]] = {
    EventName.FILE_CREATED: ("event", "add"),
    EventName.FILE_EDITED: ("event", "change"),
    EventName.FILE_DELETED: ("event", "unlink"),
}


def _file_event(document: Mapping[str, object]) -> EventName:
    """Return the canonical event of a changed file; an unknown kind of change is an edit."""
    change = ("event", document.get("event"))
    return EventName(next((name for name, mark in _FILE_MARKS.items() if mark == change), EventName.FILE_EDITED))


def _as_streams(result: object, tool: str) -> object:
    """Return another agent's result of a command as an object with `stdout` and `stderr`."""
    if tool != "shell" or (isinstance(result, Mapping) and "stdout" in result):
        return result
    return {"stdout": result_text(result), "stderr": "", "interrupted": False, "isImage": False}


_CODEC: Final = ClaudeFamily(
    spec=SPEC,
    names=event_names(SPEC.events, {"FileChanged": _file_event}),
    tools=TOOLS,
    convert_result=_as_streams,
    field_maps=family_field_maps(marks=_FILE_MARKS),
    ignore_exit_code=True,
    texts=frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"}),
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
