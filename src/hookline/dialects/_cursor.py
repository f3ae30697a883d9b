"""Cursor's tools, what an answer can do at each of its events, and its other fixed facts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.dialects._tools import ONE_URL, TIMEOUT_MS, Row, edits, one_of, toolbox
from hookline.model.ability import Ability
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import EventName

NAME: Final = "cursor"

_FILE: Final = {"path": "file_path"}
_EDIT: Final = {"old": "old_string", "new": "new_string"}

TOOLS: Final = toolbox(
    (
        Row(
            tool="shell",
            names=("Shell",),
            keys={"cwd": "working_directory", "background": "is_background"},
            changes=(TIMEOUT_MS,),
        ),
        Row(tool="read_file", names=("Read", "TabRead"), keys=_FILE),
        Row(tool="write_file", names=("Write", "TabWrite"), keys=_FILE, also={"contents": "content"}),
        Row(
            tool="multi_edit",
            names=("Write", "TabWrite"),
            keys=_FILE,
            changes=(edits(_EDIT),),
            when=lambda a: "edits" in a,
        ),
        Row(tool="edit_file", names=("Write",), keys={**_FILE, **_EDIT}, when=lambda a: "old_string" in a),
        Row(tool="edit_file", names=("StrReplace",), keys={**_FILE, **_EDIT}),
        Row(tool="apply_patch", names=("ApplyPatch",), also={"input": "patch"}),
        Row(tool="notebook_edit", names=("EditNotebook",), keys={"path": "target_notebook"}),
        Row(tool="delete_file", names=("Delete",), changes=(one_of("paths", "path"),), also={"file_path": "path"}),
        Row(tool="grep", names=("Grep",), keys={"include": "glob"}),
        Row(tool="glob", names=("Glob",), keys={"pattern": "glob_pattern", "path": "target_directory"}),
        Row(tool="list_dir", names=("LS",), keys={"path": "target_directory"}),
        Row(tool="web_fetch", names=("WebFetch",), changes=(ONE_URL,)),
        Row(tool="web_search", names=("WebSearch",), also={"search_term": "query"}),
        Row(tool="subagent", names=("Task",), keys={"type": "subagent_type"}),
        Row(tool="todo", names=("TodoWrite",), keys={"items": "todos"}),
    )
)

_A: Final = Ability
_ENDS: Final = frozenset({_A.BLOCK, _A.FOLLOW_UP, _A.STOP})
_BLOCKS: Final = frozenset({_A.BLOCK})
_NOTHING: Final[frozenset[Ability]] = frozenset()

# `ask` is accepted at preToolUse and not enforced there; a session that starts waits for nobody
ABILITIES: Final[Mapping[str, frozenset[Ability]]] = MappingProxyType(
    {
        "sessionStart": frozenset({_A.CONTEXT}),
        "sessionEnd": _NOTHING,
        "beforeSubmitPrompt": _BLOCKS,
        "preToolUse": frozenset({_A.BLOCK, _A.ARGS}),
        "beforeShellExecution": frozenset({_A.BLOCK, _A.ASK}),
        "beforeMCPExecution": frozenset({_A.BLOCK, _A.ASK}),
        "beforeReadFile": _BLOCKS,
        "beforeTabFileRead": _BLOCKS,
        "postToolUse": frozenset({_A.CONTEXT}),
        "postToolUseFailure": _NOTHING,
        "afterShellExecution": _NOTHING,
        "afterMCPExecution": _NOTHING,
        "afterFileEdit": _NOTHING,
        "afterTabFileEdit": _NOTHING,
        "subagentStart": _BLOCKS,
        "subagentStop": _ENDS,
        "preCompact": frozenset({_A.MESSAGE}),
        "stop": _ENDS,
        "afterAgentResponse": _NOTHING,
        "afterAgentThought": _NOTHING,
        "workspaceOpen": _NOTHING,
    }
)

SPEC: Final = DialectSpec(  # noqa: S604 - says that hooks are shell lines, and runs none
    name=NAME,
    title="Cursor",
    events=MappingProxyType(
        {
            EventName.SESSION_START: "sessionStart",
            EventName.SESSION_END: "sessionEnd",
            EventName.BEFORE_AGENT: "beforeSubmitPrompt",
            EventName.AFTER_AGENT: "stop",
            EventName.AFTER_MODEL: "afterAgentResponse",
            EventName.BEFORE_TOOL: "preToolUse",
            EventName.AFTER_TOOL: "postToolUse",
            EventName.TOOL_FAILED: "postToolUseFailure",
            EventName.PRE_COMPRESS: "preCompact",
            EventName.SUBAGENT_START: "subagentStart",
            EventName.SUBAGENT_STOP: "subagentStop",
        }
    ),
    tools=MappingProxyType(
        # edits of every kind are `Write` to matchers here
        {
            **TOOLS.names(),
            "edit_file": ("Write", "StrReplace"),
            "insert_text": ("Write",),
            "edit_lines": ("Write",),
            "apply_patch": ("ApplyPatch", "Write"),
            "notebook_edit": ("EditNotebook", "Write"),
        }
    ),
    timeout=60.0,
    shell=True,
    matcher=MatcherStyle.SEARCH,
    abilities=ABILITIES,
    runs_files_of=("claude-code",),
    own=frozenset(TOOLS.by_tool),
    mcp="MCP:{tool}",
    of_mcp=MappingProxyType({"postToolUse": frozenset({_A.OUTPUT})}),
    more_events=MappingProxyType(
        {
            "beforeShellExecution": EventName.BEFORE_TOOL,
            "beforeMCPExecution": EventName.BEFORE_TOOL,
            "beforeReadFile": EventName.BEFORE_TOOL,
            "beforeTabFileRead": EventName.BEFORE_TOOL,
            "afterShellExecution": EventName.AFTER_TOOL,
            "afterMCPExecution": EventName.AFTER_TOOL,
            "afterFileEdit": EventName.AFTER_TOOL,
            "afterTabFileEdit": EventName.AFTER_TOOL,
        }
    ),
)
