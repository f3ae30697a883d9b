"""Qwen Code: Claude Code's dialect over Gemini's tools.

The program supports less than its documentation says, and this module follows the program: it ignores changed arguments and a
denial of a finished tool call, and `continue: false` ends only a prompt: after a tool its reason replaces the result, and at the
end of a turn it sends the agent back to work.
"""

from collections.abc import Mapping
from typing import Final

from hookline.dialects._claude_family import ClaudeFamily, family_field_maps
from hookline.dialects._codec import EventTable, agent_spec
from hookline.dialects._field_map import event_names
from hookline.dialects._tool_calls import result_text
from hookline.dialects._tool_map import FROM_ZERO, ONE_URL, TIMEOUT_MS, ToolRow, tool_map
from hookline.model.capability import Ability
from hookline.model.dialect import MatcherStyle
from hookline.model.event import EventName
from hookline.model.verdict import EffectKind

_NAME: Final = "qwen-code"
_PROMPT: Final = "UserPromptSubmit"

_FILE: Final = {"path": "file_path"}
_BACKGROUND: Final = {"background": "is_background"}

# the name that is sent comes first; Claude Code's names and those on the screen are valid in matchers
TOOLS: Final = tool_map(
    ToolRow(
        "shell", ("run_shell_command", "Bash", "Shell"), keys={"cwd": "directory", **_BACKGROUND}, codecs=(TIMEOUT_MS,)
    ),
    ToolRow("shell", ("monitor",), keys={"cwd": "directory"}),
    ToolRow("shell_control", ("task_stop",), keys={"session": "task_id"}),
    ToolRow("read_file", ("read_file", "Read", "ReadFile"), keys=_FILE, codecs=(FROM_ZERO,)),
    ToolRow("write_file", ("write_file", "Write", "WriteFile"), keys=_FILE),
    ToolRow("edit_file", ("edit", "replace"), keys={**_FILE, "old": "old_string", "new": "new_string"}),
    ToolRow(
        "notebook_edit",
        ("notebook_edit", "NotebookEdit"),
        keys={"path": "notebook_path", "cell": "cell_id", "source": "new_source", "mode": "edit_mode"},
    ),
    ToolRow("list_dir", ("list_directory", "LS")),
    ToolRow("glob", ("glob",)),
    ToolRow("grep", ("grep_search", "search_file_content", "Grep"), keys={"include": "glob"}),
    ToolRow("web_fetch", ("web_fetch", "WebFetch"), codecs=(ONE_URL,)),
    ToolRow("web_search", ("web_search", "WebSearch")),
    ToolRow(
        "subagent",
        ("agent", "task"),
        keys={"type": "subagent_type", "background": "run_in_background", "cwd": "working_dir"},
    ),
    ToolRow("agent_message", ("send_message",), keys={"target": "to", "text": "message"}),
    ToolRow("code", ("workflow",), keys={"source": "script"}),
    ToolRow("code", ("exec",)),
    ToolRow("schedule", ("cron_create",), keys={"when": "cron"}),
    ToolRow("schedule", ("loop_wakeup",), keys={"when": "delaySeconds"}),
    ToolRow("schedule", ("cron_list", "cron_delete")),
    ToolRow("worktree", ("enter_worktree", "exit_worktree")),
    ToolRow("skill", ("skill",), keys={"name": "skill"}),
    ToolRow("todo", ("todo_write", "TodoWrite"), keys={"items": "todos"}),
    ToolRow("todo", ("get_goal", "update_goal", "propose_goal")),
    ToolRow("mcp_resource", ("read_mcp_resource",)),
    ToolRow("ask_user", ("ask_user_question",)),
    ToolRow("plan_mode", ("enter_plan_mode", "exit_plan_mode")),
    ToolRow("tool_search", ("tool_search",)),
)

_A: Final = Ability
_MESSAGE: Final = frozenset({_A.MESSAGE})
_CONTEXT: Final = frozenset({_A.CONTEXT, _A.MESSAGE})
_TURN_END: Final = frozenset({_A.BLOCK, _A.FOLLOW_UP, _A.STOP, _A.MESSAGE})

_EVENTS: Final[EventTable] = {
    "SessionStart": (_CONTEXT, EventName.SESSION_START),
    "SessionEnd": (frozenset(), EventName.SESSION_END),
    "SessionDelete": (frozenset(),),
    "InstructionsLoaded": (frozenset(),),
    _PROMPT: (_CONTEXT | {_A.BLOCK, _A.STOP}, EventName.BEFORE_AGENT),
    "UserPromptExpansion": (_CONTEXT | {_A.BLOCK},),
    "MessageDisplay": (frozenset(),),
    # without a user, a question denies
    "PreToolUse": (_MESSAGE | {_A.ALLOW, _A.BLOCK, _A.ASK}, EventName.BEFORE_TOOL),
    "PermissionRequest": (_MESSAGE | {_A.ALLOW, _A.BLOCK, _A.ASK}, EventName.PERMISSION_REQUEST),
    "PermissionDenied": (frozenset(),),
    "PostToolUse": (_CONTEXT | {_A.BLOCK, _A.OUTPUT}, EventName.AFTER_TOOL),
    "PostToolUseFailure": (_CONTEXT, EventName.TOOL_FAILED),
    "PostToolBatch": (_CONTEXT | {_A.BLOCK},),
    "Notification": (_MESSAGE, EventName.NOTIFICATION),
    "SubagentStart": (_MESSAGE, EventName.SUBAGENT_START),
    "SubagentStop": (_TURN_END, EventName.SUBAGENT_STOP),
    "TodoCreated": (_MESSAGE | {_A.BLOCK},),
    "TodoCompleted": (_MESSAGE | {_A.BLOCK},),
    "Stop": (_TURN_END, EventName.AFTER_AGENT),
    "StopFailure": (frozenset(), EventName.ERROR),
    "PreCompact": (_MESSAGE, EventName.PRE_COMPRESS),
    "PostCompact": (frozenset(), EventName.POST_COMPRESS),
}


def _prompt_event(document: Mapping[str, object]) -> EventName:
    """Return the event of a prompt, or a custom one for a further request to the model, which has the same native name.

    Prompt hooks run once for each prompt.
    """
    is_request = document.get("prompt") == "" and "submitted_prompt" not in document
    return EventName.CUSTOM if is_request else EventName.BEFORE_AGENT


SPEC: Final = agent_spec(
    _NAME,
    "Qwen Code",
    events=_EVENTS,
    tools=TOOLS,
    matched={
        # a guard of writing and editing has to see every way to do it
        "apply_patch": ("edit", "write_file"),
        "multi_edit": ("edit",),
        "insert_text": ("edit",),
        "edit_lines": ("edit",),
    },
    timeout=60.0,
    matcher=MatcherStyle.SEARCH,
    aliases=("qwen",),
)
ABILITIES: Final = SPEC.abilities or {}


def _as_response(result: object, _tool: str) -> object:
    """Return another agent's result as an object with `llmContent` and `returnDisplay`."""
    if isinstance(result, Mapping) and "llmContent" in result:
        return result
    return dict.fromkeys(("llmContent", "returnDisplay"), result_text(result))


_CODEC: Final = ClaudeFamily(
    spec=SPEC,
    names=event_names(SPEC.events, {_PROMPT: _prompt_event}),
    tools=TOOLS,
    convert_result=_as_response,
    field_maps=family_field_maps(),
    defaults={"transcript_path": "", "permission_mode": "default"},
    time="timestamp",
    variables=("QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"),
    texts=frozenset({"SessionStart", _PROMPT, "UserPromptExpansion"}),
    other_texts=EffectKind.MESSAGE,
    replaces=frozenset({"PostToolUse"}),
    rests=True,
)

encode_event = _CODEC.encode_event
decode_event = _CODEC.decode_event
decode_reply = _CODEC.decode_reply
encode_outcome = _CODEC.encode_outcome
