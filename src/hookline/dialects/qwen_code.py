"""Qwen Code: Claude Code's dialect over Gemini's tools.

The program supports less than its documentation says, and this module follows the program: it ignores changed arguments and a
denial of a finished tool call, and `continue: false` ends only a prompt: after a tool its reason replaces the result, and at the
end of a turn it sends the agent back to work.
"""

from collections.abc import Mapping
from typing import Final

from hookline.dialects._claude_family import ClaudeFamily, family_field_maps
from hookline.dialects._codec import EventNames, EventTable, agent_spec
from hookline.dialects._tools import FROM_ZERO, ONE_URL, TIMEOUT_MS, result_text, tool_map, tool_row
from hookline.model.dialect import MatcherStyle
from hookline.model.event import EventName
from hookline.model.verdict import EffectKind

_NAME: Final = "qwen-code"
_PROMPT: Final = "UserPromptSubmit"

# the name that is sent comes first; Claude Code's names and those on the screen are valid in matchers
TOOLS: Final = tool_map(
    tool_row(
        "shell", "run_shell_command Bash Shell", keys="cwd=directory background=is_background", codecs=(TIMEOUT_MS,)
    ),
    tool_row("shell", "monitor", keys="cwd=directory"),
    tool_row("shell_control", "task_stop", keys="session=task_id"),
    tool_row("read_file", "read_file Read ReadFile", keys="path=file_path", codecs=(FROM_ZERO,)),
    tool_row("write_file", "write_file Write WriteFile", keys="path=file_path"),
    tool_row("edit_file", "edit replace", keys="path=file_path old=old_string new=new_string"),
    tool_row(
        "notebook_edit",
        "notebook_edit NotebookEdit",
        keys="path=notebook_path cell=cell_id source=new_source mode=edit_mode",
    ),
    tool_row("list_dir", "list_directory LS"),
    tool_row("glob", "glob"),
    tool_row("grep", "grep_search search_file_content Grep", keys="include=glob"),
    tool_row("web_fetch", "web_fetch WebFetch", codecs=(ONE_URL,)),
    tool_row("web_search", "web_search WebSearch"),
    tool_row("subagent", "agent task", keys="type=subagent_type background=run_in_background cwd=working_dir"),
    tool_row("agent_message", "send_message", keys="target=to text=message"),
    tool_row("code", "workflow", keys="source=script"),
    tool_row("code", "exec"),
    tool_row("schedule", "cron_create", keys="when=cron"),
    tool_row("schedule", "loop_wakeup", keys="when=delaySeconds"),
    tool_row("schedule", "cron_list cron_delete"),
    tool_row("worktree", "enter_worktree exit_worktree"),
    tool_row("skill", "skill", keys="name=skill"),
    tool_row("todo", "todo_write TodoWrite", keys="items=todos"),
    tool_row("todo", "get_goal update_goal propose_goal"),
    tool_row("mcp_resource", "read_mcp_resource"),
    tool_row("ask_user", "ask_user_question"),
    tool_row("plan_mode", "enter_plan_mode exit_plan_mode"),
    tool_row("tool_search", "tool_search"),
)

_EVENTS: Final[EventTable] = {
    "SessionStart": ("context message", EventName.SESSION_START),
    "SessionEnd": ("", EventName.SESSION_END),
    "SessionDelete": ("",),
    "InstructionsLoaded": ("",),
    _PROMPT: ("block stop context message", EventName.BEFORE_AGENT),
    "UserPromptExpansion": ("block context message",),
    "MessageDisplay": ("",),
    # without a user, a question denies
    "PreToolUse": ("allow block ask message", EventName.BEFORE_TOOL),
    "PermissionRequest": ("allow block ask message", EventName.PERMISSION_REQUEST),
    "PermissionDenied": ("",),
    "PostToolUse": ("block rewrite_output context message", EventName.AFTER_TOOL),
    "PostToolUseFailure": ("context message", EventName.TOOL_FAILED),
    "PostToolBatch": ("block context message",),
    "Notification": ("message", EventName.NOTIFICATION),
    "SubagentStart": ("message", EventName.SUBAGENT_START),
    "SubagentStop": ("block stop message follow_up", EventName.SUBAGENT_STOP),
    "TodoCreated": ("block message",),
    "TodoCompleted": ("block message",),
    "Stop": ("block stop message follow_up", EventName.AFTER_AGENT),
    "StopFailure": ("", EventName.ERROR),
    "PreCompact": ("message", EventName.PRE_COMPRESS),
    "PostCompact": ("", EventName.POST_COMPRESS),
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
    # a guard of writing and editing has to see every way to do it
    matched="apply_patch=edit,write_file multi_edit=edit insert_text=edit edit_lines=edit",
    timeout=60.0,
    matcher=MatcherStyle.SEARCH,
    aliases=("qwen",),
)


def _as_response(result: object, _tool: str) -> object:
    """Return another agent's result as an object with `llmContent` and `returnDisplay`."""
    if isinstance(result, Mapping) and "llmContent" in result:
        return result
    return dict.fromkeys(("llmContent", "returnDisplay"), result_text(result))


_CODEC: Final = ClaudeFamily(
    spec=SPEC,
    names=EventNames(SPEC.events, {_PROMPT: _prompt_event}),
    tools=TOOLS,
    convert_result=_as_response,
    field_maps=family_field_maps(),
    defaults={"transcript_path": "", "permission_mode": "default"},
    has_iso_time=True,
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
