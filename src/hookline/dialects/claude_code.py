"""Claude Code: events in PascalCase on stdin, decisions in `hookSpecificOutput`, exit code 2 blocks.

JSON on stdout counts whatever the exit code is, and exit code 2 blocks whatever the JSON says. Plain text is context at
the start of a session and at a prompt. An empty answer is no opinion.
"""

from collections.abc import Mapping
from typing import Final

from hookline.dialects._claude_family import ClaudeFamily, family_field_maps
from hookline.dialects._codec import EventNames, EventTable, agent_spec
from hookline.dialects._json_reader import key_set
from hookline.dialects._tools import ONE_URL, TIMEOUT_MS, edits, milliseconds, result_text, tool_map, tool_row
from hookline.model.dialect import MatcherStyle
from hookline.model.event import EventName

_NAME: Final = "claude-code"

_EDIT: Final = {"old": "old_string", "new": "new_string"}

TOOLS: Final = tool_map(
    tool_row("shell", "Bash", keys="background=run_in_background", codecs=(TIMEOUT_MS,)),
    tool_row("shell", "Monitor", keys="timeout=timeout_ms", codecs=(milliseconds("timeout_ms"),)),
    tool_row("shell", "PowerShell"),
    tool_row("shell_control", "TaskStop KillShell", keys="session=task_id"),
    tool_row("read_file", "Read", keys="path=file_path"),
    tool_row("write_file", "Write", keys="path=file_path"),
    tool_row("edit_file", "Edit", keys="path=file_path old=old_string new=new_string"),
    tool_row("multi_edit", "MultiEdit", keys="path=file_path", codecs=(edits(_EDIT),)),
    tool_row("notebook_edit", "NotebookEdit", keys="path=notebook_path cell=cell_id source=new_source mode=edit_mode"),
    tool_row("list_dir", "LS"),
    tool_row("glob", "Glob"),
    tool_row("grep", "Grep", keys="include=glob"),
    tool_row("web_fetch", "WebFetch", codecs=(ONE_URL,)),
    tool_row("web_search", "WebSearch", keys="domains=allowed_domains"),
    tool_row("subagent", "Agent Task", keys="type=subagent_type background=run_in_background"),
    tool_row("agent_message", "SendMessage", keys="target=to text=message"),
    tool_row("code", "Workflow", keys="source=script"),
    tool_row("schedule", "CronCreate", keys="when=cron"),
    tool_row("schedule", "ScheduleWakeup", keys="when=delaySeconds"),
    tool_row("schedule", "CronList CronDelete"),
    tool_row("worktree", "EnterWorktree ExitWorktree"),
    tool_row("skill", "Skill", keys="name=skill"),
    tool_row("todo", "TodoWrite", keys="items=todos"),
    tool_row("todo", "TaskCreate TaskUpdate TaskGet TaskList"),
    tool_row("ask_user", "AskUserQuestion"),
    tool_row("plan_mode", "EnterPlanMode ExitPlanMode"),
    tool_row("tool_search", "ToolSearch"),
)

_EVENTS: Final[EventTable] = {
    "Setup": ("context message", EventName.SETUP),
    # the program ignores `continue: false` here
    "SessionStart": ("context message", EventName.SESSION_START),
    "SessionEnd": ("", EventName.SESSION_END),
    "InstructionsLoaded": ("",),
    "UserPromptSubmit": ("block stop context message", EventName.BEFORE_AGENT),
    "UserPromptExpansion": ("block stop context message",),
    "MessageDisplay": ("",),
    "PreToolUse": ("allow block ask stop rewrite_args context message", EventName.BEFORE_TOOL),
    # with an empty answer the program asks the user
    "PermissionRequest": ("allow block ask stop rewrite_args message", EventName.PERMISSION_REQUEST),
    "PermissionDenied": ("",),
    "PostToolUse": ("block stop rewrite_output context message", EventName.AFTER_TOOL),
    "PostToolUseFailure": ("block stop context message", EventName.TOOL_FAILED),
    "PostToolBatch": ("block stop context message",),
    "Notification": ("message", EventName.NOTIFICATION),
    "SubagentStart": ("context message", EventName.SUBAGENT_START),
    "SubagentStop": ("block stop message follow_up", EventName.SUBAGENT_STOP),
    "TaskCreated": ("block message",),
    "TaskCompleted": ("block stop message",),
    "TeammateIdle": ("block stop message",),
    "Stop": ("block stop message follow_up", EventName.AFTER_AGENT),
    "StopFailure": ("", EventName.ERROR),
    "ConfigChange": ("block message",),
    "CwdChanged": ("",),
    "DirectoryAdded": ("",),
    "FileChanged": ("", EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED),
    "WorktreeCreate": ("block",),
    "WorktreeRemove": ("",),
    "PreCompact": ("block stop message", EventName.PRE_COMPRESS),
    "PostCompact": ("message", EventName.POST_COMPRESS),
    "Elicitation": ("block",),
    "ElicitationResult": ("block",),
    "PreModelSwitch": ("block message",),
    "PostModelSwitch": ("context message",),
}

SPEC: Final = agent_spec(
    _NAME,
    "Claude Code",
    events=_EVENTS,
    tools=TOOLS,
    # other agents write and edit by patch: a guard of Write and Edit has to see it
    matched="apply_patch=Edit,Write,MultiEdit multi_edit=MultiEdit,Edit,Write insert_text=Edit edit_lines=Edit",
    timeout=600.0,
    matcher=MatcherStyle.NAMES,
    aliases=("claude",),
    # current versions make one edit per call
    own=frozenset(TOOLS.names_by_tool()) - {"multi_edit"},
)

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
    names=EventNames(SPEC.events, {"FileChanged": _file_event}),
    tools=TOOLS,
    convert_result=_as_streams,
    field_maps=family_field_maps(marks=_FILE_MARKS),
    ignore_exit_code=True,
    texts=frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"}),
    # the program ignores a `decision` at the top there
    exits=key_set("TaskCreated TaskCompleted TeammateIdle WorktreeCreate Elicitation ElicitationResult"),
    defaults={"transcript_path": "", "permission_mode": "default"},
    variables=("CLAUDE_PROJECT_DIR",),
)

encode_event = _CODEC.encode_event
decode_event = _CODEC.decode_event
decode_reply = _CODEC.decode_reply
encode_outcome = _CODEC.encode_outcome
