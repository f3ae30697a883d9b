"""Factory Droid: Claude Code's dialect, with exit code 2 for a denial and exit code 3 to end the run.

JSON on stdout counts whatever the exit code is. If several hooks answer, an earlier allow overrules a denial that is only JSON,
but never exit code 2: so a denial is both. Every plain field of an event is an environment variable as well.
"""

from typing import Final

from hookline.dialects._claude_family import FIELDS, ClaudeFamily, family_field_maps
from hookline.dialects._codec import EventTable, agent_spec
from hookline.dialects._field_map import Field, event_names
from hookline.dialects._json_reader import key_set
from hookline.dialects._tool_map import ONE_URL, ArgsCodec, ToolRow, edits, tool_map
from hookline.model.capability import Ability
from hookline.model.dialect import MatcherStyle
from hookline.model.event import EventName

_NAME: Final = "factory-droid"

_FILE: Final = {"path": "file_path"}
_EDIT: Final = {"old": "old_str", "new": "new_str", "replace_all": "change_all"}
# spellings of other versions; a guard has to find them all
_OTHERS: Final = {"old_string": "old_str", "new_string": "new_str", "replace_all": "change_all"}


def _respell(args: dict[str, object]) -> dict[str, object]:
    return {_OTHERS.get(key, key) if _OTHERS.get(key) not in args else key: value for key, value in args.items()}


_SPELLINGS: Final = ArgsCodec(lambda args: args, _respell)

TOOLS: Final = tool_map(
    ToolRow("shell", ("Execute",), keys={"background": "fireAndForget"}),
    ToolRow("read_file", ("Read",), keys=_FILE),
    ToolRow("write_file", ("Create", "Write"), keys=_FILE),
    ToolRow("edit_file", ("Edit",), keys={**_FILE, **_EDIT}, codecs=(_SPELLINGS,)),
    ToolRow("multi_edit", ("MultiEdit",), keys=_FILE, codecs=(edits(_EDIT),)),
    ToolRow("apply_patch", ("ApplyPatch",), keys={"patch": "input"}),
    ToolRow("list_dir", ("LS",), keys={"path": "directory_path"}),
    ToolRow("glob", ("Glob",), keys={"pattern": "patterns", "path": "folder"}),
    ToolRow("grep", ("Grep",), keys={"include": "glob_pattern"}),
    ToolRow("web_fetch", ("FetchUrl",), codecs=(ONE_URL,)),
    ToolRow("web_search", ("WebSearch",)),
    ToolRow("subagent", ("Task",), keys={"type": "subagent_type"}),
    ToolRow("todo", ("TodoWrite",), keys={"items": "todos"}),
    ToolRow("skill", ("Skill",), keys={"name": "skill"}),
    ToolRow("ask_user", ("AskUser",)),
    ToolRow("plan_mode", ("ExitSpecMode",)),
)

_A: Final = Ability
_MESSAGE: Final = frozenset({_A.MESSAGE})
_BLOCKS: Final = frozenset({_A.BLOCK, _A.STOP, _A.MESSAGE})

_EVENTS: Final[EventTable] = {
    "SessionStart": (_MESSAGE | {_A.CONTEXT}, EventName.SESSION_START),
    "SessionEnd": (frozenset(), EventName.SESSION_END),
    "UserPromptSubmit": (_BLOCKS | {_A.CONTEXT}, EventName.BEFORE_AGENT),
    # the program only logs a question and does not ask the user
    "PreToolUse": (_BLOCKS | {_A.ALLOW, _A.ARGS}, EventName.BEFORE_TOOL),
    "PostToolUse": (_BLOCKS | {_A.CONTEXT}, EventName.AFTER_TOOL),
    "Stop": (_BLOCKS | {_A.FOLLOW_UP}, EventName.AFTER_AGENT),
    "SubagentStop": (_BLOCKS | {_A.FOLLOW_UP}, EventName.SUBAGENT_STOP),
    "PreCompact": (_MESSAGE | {_A.BLOCK}, EventName.PRE_COMPRESS),
    "Notification": (frozenset(), EventName.NOTIFICATION),
}

SPEC: Final = agent_spec(
    _NAME,
    "Factory Droid",
    events=_EVENTS,
    tools=TOOLS,
    matched={
        # a guard of writing and editing has to see every way to do it
        "apply_patch": ("ApplyPatch", "Edit", "Create"),
        "multi_edit": ("MultiEdit", "Edit"),
        "insert_text": ("Edit",),
        "edit_lines": ("Edit",),
    },
    timeout=60.0,
    matcher=MatcherStyle.SEARCH,
    aliases=("droid", "factory"),
    # only old versions make several edits per call
    own=frozenset(TOOLS.names_by_tool()) - {"multi_edit"},
)
ABILITIES: Final = SPEC.abilities or {}

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
    names=event_names(SPEC.events),
    tools=TOOLS,
    field_maps=family_field_maps(_FIELDS),
    ignore_exit_code=True,
    defaults={"transcript_path": "", "permission_mode": "off"},
    # spellings of older versions
    renamed={
        "sessionId": "session_id",
        "transcriptPath": "transcript_path",
        "permissionMode": "permission_mode",
        "hookEventName": "hook_event_name",
        "toolName": "tool_name",
        "toolInput": "tool_input",
        "toolResponse": "tool_response",
        "stopHookActive": "stop_hook_active",
        "customInstructions": "custom_instructions",
        "previousSessionId": "previous_session_id",
    },
    variables=("FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    exported=_EXPORTED,
    texts=frozenset({"SessionStart", "UserPromptSubmit"}),
    stop_exit=3,
    top_allows=False,
    exits=frozenset(name for name, able in ABILITIES.items() if _A.BLOCK in able),
)

encode_event = _CODEC.encode_event
decode_event = _CODEC.decode_event
decode_reply = _CODEC.decode_reply
encode_outcome = _CODEC.encode_outcome
