"""Factory Droid: Claude Code's dialect, with exit code 2 for a denial and exit code 3 to end the run.

JSON on stdout counts whatever the exit code is. If several hooks answer, an earlier allow overrules a denial that is only JSON,
but never exit code 2: so a denial is both. Every plain field of an event is an environment variable as well.
"""

from typing import Final

from hookline.dialects._claude_family import FIELDS, ClaudeFamily, family_field_maps
from hookline.dialects._codec import EventNames, EventTable, Field, agent_spec
from hookline.dialects._json_reader import key_set
from hookline.dialects._tools import ONE_URL, edits, parse_pairs, tool_map, tool_row
from hookline.model.dialect import MatcherStyle
from hookline.model.event import Ability, EventName

_NAME: Final = "factory-droid"

_EDIT: Final = {"old": "old_str", "new": "new_str", "replace_all": "change_all"}

TOOLS: Final = tool_map(
    tool_row("shell", "Execute", keys="background=fireAndForget"),
    tool_row("read_file", "Read", keys="path=file_path"),
    tool_row("write_file", "Create Write", keys="path=file_path"),
    # other versions have other spellings; a guard has to find them all
    tool_row(
        "edit_file",
        "Edit",
        keys="path=file_path old=old_str new=new_str replace_all=change_all",
        also="old_string=old new_string=new",
    ),
    tool_row("multi_edit", "MultiEdit", keys="path=file_path", codecs=(edits(_EDIT),)),
    tool_row("apply_patch", "ApplyPatch", keys="patch=input"),
    tool_row("list_dir", "LS", keys="path=directory_path"),
    tool_row("glob", "Glob", keys="pattern=patterns path=folder"),
    tool_row("grep", "Grep", keys="include=glob_pattern"),
    tool_row("web_fetch", "FetchUrl", codecs=(ONE_URL,)),
    tool_row("web_search", "WebSearch"),
    tool_row("subagent", "Task", keys="type=subagent_type"),
    tool_row("todo", "TodoWrite", keys="items=todos"),
    tool_row("skill", "Skill", keys="name=skill"),
    tool_row("ask_user", "AskUser"),
    tool_row("plan_mode", "ExitSpecMode"),
)

_EVENTS: Final[EventTable] = {
    "SessionStart": ("context message", EventName.SESSION_START),
    "SessionEnd": ("", EventName.SESSION_END),
    "UserPromptSubmit": ("block stop context message", EventName.BEFORE_AGENT),
    # the program only logs a question and does not ask the user
    "PreToolUse": ("allow block stop rewrite_args message", EventName.BEFORE_TOOL),
    "PostToolUse": ("block stop context message", EventName.AFTER_TOOL),
    "Stop": ("block stop message follow_up", EventName.AFTER_AGENT),
    "SubagentStop": ("block stop message follow_up", EventName.SUBAGENT_STOP),
    "PreCompact": ("block message", EventName.PRE_COMPRESS),
    "Notification": ("", EventName.NOTIFICATION),
}

SPEC: Final = agent_spec(
    _NAME,
    "Factory Droid",
    events=_EVENTS,
    tools=TOOLS,
    # a guard of writing and editing has to see every way to do it
    matched="apply_patch=ApplyPatch,Edit,Create multi_edit=MultiEdit,Edit insert_text=Edit edit_lines=Edit",
    timeout=60.0,
    matcher=MatcherStyle.SEARCH,
    aliases=("droid", "factory"),
    # only old versions make several edits per call
    own=frozenset(TOOLS.names_by_tool()) - {"multi_edit"},
)

_FIELDS: Final = {
    **FIELDS,
    EventName.SUBAGENT_STOP: (Field("response", "task_result"), Field("agent_type", "task_name")),
    EventName.PRE_COMPRESS: (Field("messages", "message_count"), Field("size", "estimated_tokens")),
}

# The plain fields of Droid's own documents. No other field is exported: one named `PATH` would choose the programs that a
# hook starts.
_EXPORTED: Final = key_set(
    "session_id transcript_path cwd permission_mode hook_event_name message_id tool_name prompt "
    "has_images stop_hook_active tool_execution_count elapsed_time task_name task_result task_error "
    "trigger custom_instructions message_count estimated_tokens message notification_type source reason "
    "previous_session_id calling_session_id"
)

_CODEC: Final = ClaudeFamily(
    spec=SPEC,
    names=EventNames(SPEC.events),
    tools=TOOLS,
    field_maps=family_field_maps(_FIELDS),
    ignore_exit_code=True,
    defaults={"transcript_path": "", "permission_mode": "off"},
    # spellings of older versions
    renamed=parse_pairs(
        "sessionId=session_id transcriptPath=transcript_path permissionMode=permission_mode "
        "hookEventName=hook_event_name toolName=tool_name toolInput=tool_input toolResponse=tool_response "
        "stopHookActive=stop_hook_active customInstructions=custom_instructions "
        "previousSessionId=previous_session_id"
    ),
    variables=("FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    exported=_EXPORTED,
    texts=frozenset({"SessionStart", "UserPromptSubmit"}),
    stop_exit=3,
    top_allows=False,
    exits=frozenset(name for name, able in SPEC.abilities.items() if Ability.BLOCK in able),
)

encode_event = _CODEC.encode_event
decode_event = _CODEC.decode_event
decode_reply = _CODEC.decode_reply
encode_outcome = _CODEC.encode_outcome
