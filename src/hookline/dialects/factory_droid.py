"""Factory Droid: Claude Code's language, with exit code 2 for a no and exit code 3 for the end of everything.

JSON on stdout counts whatever the exit code is. Where several hooks answer, a yes of an earlier one beats a no that is
only JSON, and never exit code 2: so a no is both. Every plain field of an event is a variable of a hook's environment, too.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.dialects import _reply
from hookline.dialects._claude import FIELDS, Family, shapes
from hookline.dialects._fields import Field, names
from hookline.dialects._tools import ONE_URL, Change, Row, edits, toolbox
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import EventName

_NAME: Final = "factory-droid"

_FILE: Final = {"path": "file_path"}
_EDIT: Final = {"old": "old_str", "new": "new_str", "replace_all": "change_all"}
# versions differ in how they spell these; a guard has to find them all
_OTHERS: Final = {"old_string": "old_str", "new_string": "new_str", "replace_all": "change_all"}


def _as_said(args: dict[str, object]) -> dict[str, object]:
    return args


def _spelled(args: dict[str, object]) -> dict[str, object]:
    return {_OTHERS.get(key, key) if _OTHERS.get(key) not in args else key: value for key, value in args.items()}


_SPELLINGS: Final = Change(_as_said, _spelled)

TOOLS: Final = toolbox(
    (
        Row(tool="shell", names=("Execute",), keys={"background": "fireAndForget"}),
        Row(tool="read_file", names=("Read",), keys=_FILE),
        Row(tool="write_file", names=("Create", "Write"), keys=_FILE),
        Row(tool="edit_file", names=("Edit",), keys={**_FILE, **_EDIT}, changes=(_SPELLINGS,)),
        Row(tool="multi_edit", names=("MultiEdit",), keys=_FILE, changes=(edits(_EDIT),)),
        Row(tool="apply_patch", names=("ApplyPatch",), keys={"patch": "input"}),
        Row(tool="list_dir", names=("LS",), keys={"path": "directory_path"}),
        Row(tool="glob", names=("Glob",), keys={"pattern": "patterns", "path": "folder"}),
        Row(tool="grep", names=("Grep",), keys={"include": "glob_pattern"}),
        Row(tool="web_fetch", names=("FetchUrl",), changes=(ONE_URL,)),
        Row(tool="web_search", names=("WebSearch",)),
        Row(tool="subagent", names=("Task",), keys={"type": "subagent_type"}),
        Row(tool="todo", names=("TodoWrite",), keys={"items": "todos"}),
        Row(tool="skill", names=("Skill",), keys={"name": "skill"}),
        Row(tool="ask_user", names=("AskUser",)),
        Row(tool="plan_mode", names=("ExitSpecMode",)),
    )
)

_A: Final = Ability
_TOLD: Final = frozenset({_A.MESSAGE})
_BLOCKS: Final = frozenset({_A.BLOCK, _A.STOP, _A.MESSAGE})

ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "SessionStart": _TOLD | {_A.CONTEXT},
        "SessionEnd": frozenset(),
        "UserPromptSubmit": _BLOCKS | {_A.CONTEXT},
        # a question only writes a line into a log, so nobody would be asked
        "PreToolUse": _BLOCKS | {_A.ALLOW, _A.ARGS},
        "PostToolUse": _BLOCKS | {_A.CONTEXT},
        "Stop": _BLOCKS | {_A.FOLLOW_UP},
        "SubagentStop": _BLOCKS | {_A.FOLLOW_UP},
        "PreCompact": _TOLD | {_A.BLOCK},
        "Notification": frozenset(),
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=_NAME,
    title="Factory Droid",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "SessionStart",
            EventName.SESSION_END: "SessionEnd",
            EventName.BEFORE_AGENT: "UserPromptSubmit",
            EventName.AFTER_AGENT: "Stop",
            EventName.BEFORE_TOOL: "PreToolUse",
            EventName.AFTER_TOOL: "PostToolUse",
            EventName.PRE_COMPRESS: "PreCompact",
            EventName.SUBAGENT_STOP: "SubagentStop",
            EventName.NOTIFICATION: "Notification",
        }
    ),
    tools=MappingProxyType(
        # whoever guards writing and editing means every way to do it
        {
            **TOOLS.names(),
            "apply_patch": ("ApplyPatch", "Edit", "Create"),
            "multi_edit": ("MultiEdit", "Edit"),
            "insert_text": ("Edit",),
            "edit_lines": ("Edit",),
        }
    ),
    timeout=60.0,
    shell=True,
    matcher=MatcherStyle.SEARCH,
    abilities=ABILITIES,
    aliases=("droid", "factory"),
    # only old versions make several edits in a call
    own=frozenset(TOOLS.names()) - {"multi_edit"},
)

_FIELDS: Final = {
    **FIELDS,
    EventName.SUBAGENT_STOP: (Field("response", "task_result"), Field("agent_type", "task_name")),
    EventName.PRE_COMPRESS: (Field("messages", "message_count"), Field("size", "estimated_tokens")),
}

# what Droid's own documents have as plain values: exported as variables, and nothing else ever is, because a field that
# somebody called `PATH` would choose the programs a hook starts
_EXPORTED: Final = frozenset(
    {
        "session_id",
        "transcript_path",
        "cwd",
        "permission_mode",
        "hook_event_name",
        "message_id",
        "tool_name",
        "prompt",
        "has_images",
        "stop_hook_active",
        "tool_execution_count",
        "elapsed_time",
        "task_name",
        "task_result",
        "task_error",
        "trigger",
        "custom_instructions",
        "message_count",
        "estimated_tokens",
        "message",
        "notification_type",
        "source",
        "reason",
        "previous_session_id",
        "calling_session_id",
    }
)

_FAMILY: Final = Family(
    dialect=_NAME,
    names=names(SPEC.events),
    tools=TOOLS,
    shapes=shapes(_FIELDS),
    abilities=ABILITIES,
    manners=_reply.Manners(dialect=_NAME, silence=True, chatter=True, deny_exit=2, json_always=True),
    filled={"transcript_path": "", "permission_mode": "off"},
    # as older versions and their documents spell them
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

encode_event = _FAMILY.encode_event
decode_event = _FAMILY.decode_event
decode_reply = _FAMILY.decode_reply
encode_outcome = _FAMILY.encode_outcome
