"""The agents whose files are said by tables alone, or nearly so."""

import json
from collections.abc import Mapping
from typing import Final

from hookline.config.document import Document, Problem
from hookline.config.formats.agents import reader as files
from hookline.config.formats.agents.claude_code import WEB, add_header_variables
from hookline.config.formats.agents.reader import GROUP, IGNORED, PLAIN, UNMATCHED, WRITERS, AgentEvent, AgentFileSpec
from hookline.config.keys import SHARED, Key, flag, nonempty_text, text
from hookline.config.reader import FileOrigin, FileReader
from hookline.config.script_paths import quote_program
from hookline.model.hook import Hook, Layer, OnError
from hookline.model.installed_entry import is_ours
from hookline.text import quote

# Codex CLI: groups of hooks under events, in `hooks.json` or under `[hooks]` of `config.toml`

CODEX_CLI: Final = AgentFileSpec(
    project=(".codex/hooks.json", ".codex/config.toml"),
    home=(".codex/hooks.json", ".codex/config.toml"),
    keys={
        **PLAIN,
        "async": files.BACKGROUND,
        **dict.fromkeys(("commandWindows", "command_windows", "statusMessage", "additionalContextLimit"), IGNORED),
    },
    group_keys=GROUP,
    agent_only={
        "mcp_tool": "the agent calls a tool of a server it is connected to",
        "prompt": "the agent does not run it yet",
        "agent": "the agent does not run it yet",
    },
    events={"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED},
    defaults={"parallel": True},
    writers={**WRITERS, "background": "async"},
)


# Factory Droid: groups of hooks under events, without anything around them; a group may name commands


def _command_pattern(value: object) -> str:
    # a call without a command is passed over, as the agent does
    return f"has(args.command) && args.command.matches({json.dumps(nonempty_text(value))})"


FACTORY_DROID: Final = AgentFileSpec(
    project=(".factory/hooks.json",),
    home=(".factory/hooks.json",),
    keys=PLAIN,
    wrapper="",
    group_keys={
        **GROUP,
        "commandRegex": Key(
            _command_pattern, "condition", vital=True, about="Only for commands in which this is found."
        ),
    },
    events={"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED, "SubagentStop": UNMATCHED},
    defaults={"parallel": True},
    writers=WRITERS,
)


# Gemini CLI: groups of hooks under events in `settings.json`, times in milliseconds


def _hooks_config(settings: Mapping[str, object]) -> Mapping[str, object]:
    found = settings.get("hooksConfig")
    return found if isinstance(found, Mapping) else {}


def _why_gemini_disabled(settings: Mapping[str, object]) -> str:
    return '"hooksConfig.enabled" switches its hooks off' if _hooks_config(settings).get("enabled") is False else ""


def _is_gemini_disabled(settings: Mapping[str, object], entry: Mapping[str, object]) -> bool:
    disabled = _hooks_config(settings).get("disabled")
    names = {name for name in disabled if isinstance(name, str)} if isinstance(disabled, list) else set()
    return any(word in names for word in (entry.get("name"), entry.get("command")) if isinstance(word, str))


_SEQUENTIAL_GROUP: Final[Mapping[str, Key]] = {
    **GROUP,
    "sequential": Key(lambda value: not flag(value), "parallel", about="Whether they run one after another."),
}
GEMINI_CLI: Final = AgentFileSpec(
    project=(".gemini/settings.json",),
    home=(".gemini/settings.json",),
    keys={
        **PLAIN,
        "name": files.NAME,
        "env": files.ENV,
        "timeout": Key(files.milliseconds, "timeout", about="How long it may take, in milliseconds."),
        "description": IGNORED,
    },
    group_keys=_SEQUENTIAL_GROUP,
    agent_only={"runtime": "it is a function of a running program", "plugin": "the agent does not run it itself"},
    events={
        **dict.fromkeys(("BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"), UNMATCHED),
        **dict.fromkeys(("BeforeToolSelection", "Notification"), UNMATCHED),
        **dict.fromkeys(("SessionStart", "SessionEnd", "PreCompress"), files.WORD),
    },
    defaults={"parallel": True},
    why_disabled=_why_gemini_disabled,
    is_disabled=_is_gemini_disabled,
    writers={**WRITERS, "name": "name", "env": "env"},
    converters={"timeout": files.as_milliseconds},
)


# Qwen Code: Claude Code's events and types in Gemini CLI's groups; timeouts from 1000 on are milliseconds


def _seconds_or_milliseconds(value: object) -> float:
    """Read a time; a thousand seconds and more were milliseconds once, and still are."""
    is_milliseconds = isinstance(value, int | float) and value >= 1000  # noqa: PLR2004
    return files.milliseconds(value) if is_milliseconds else files.whole_seconds(value)


def _finish_qwen(reader: FileReader, entry: files.ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
    if entry.values.get("shell") == "powershell":
        reader.warn((*entry.where, "shell"), f"{entry.owner} is a line for PowerShell; the hook is not loaded")
        return None
    return add_header_variables(entry, fields)


QWEN_CODE: Final = AgentFileSpec(
    project=(".qwen/settings.json",),
    home=(".qwen/settings.json",),
    keys={
        **PLAIN,
        **WEB,
        "name": files.NAME,
        "env": files.ENV,
        "timeout": Key(_seconds_or_milliseconds, "timeout", about="Seconds; from 1000 on, milliseconds."),
        "async": files.BACKGROUND,
        "shell": Key(text, vital=True, about="The shell that reads the line: bash or powershell."),
        **dict.fromkeys(("description", "statusMessage", "once"), IGNORED),
    },
    group_keys=_SEQUENTIAL_GROUP,
    types={"command": "command", "http": "url"},
    agent_only={"prompt": "the agent asks a model of its own", "function": "it is a function of a running program"},
    events={"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED},
    defaults={"parallel": True},
    finish=_finish_qwen,
    why_disabled=files.why_all_disabled,
    writers={
        **WRITERS,
        **{name: name for name in ("name", "env", "url", "headers")},
        "header_env": "allowedEnvVars",
        "background": "async",
    },
)


# Antigravity: bundles with a name and a switch, events in them, and groups of hooks at tools


def _finish_antigravity(reader: FileReader, _entry: files.ConfigEntry, fields: dict[str, object]) -> dict[str, object]:
    # commands run in the folder that holds the file
    return {**fields, "working_directory": reader.origin.path.rpartition("/")[0]}


ANTIGRAVITY: Final = AgentFileSpec(
    project=(".agents/hooks.json",),
    home=(".gemini/config/hooks.json",),
    keys=PLAIN,
    wrapper="",
    bundles=True,
    group_keys=GROUP,
    allows_ungrouped=True,
    events=dict.fromkeys(("PreInvocation", "PostInvocation", "Stop"), UNMATCHED),
    finish=_finish_antigravity,
    writers=WRITERS,
)


# Cursor: hooks under events, without groups; at a shell event the matcher looks at the command


def _read_fail_closed(value: object) -> OnError:
    return OnError.BLOCK if flag(value) else OnError.CONTINUE


def _finish_cursor(reader: FileReader, _entry: files.ConfigEntry, fields: dict[str, object]) -> dict[str, object]:
    # a project's hooks run in the project, a user's own beside their file
    origin = reader.origin
    folder = origin.root if origin.layer is Layer.PROJECT else origin.path.rpartition("/")[0]
    return {**fields, "working_directory": folder}


_BEFORE: Final = ("before_tool",)
_AFTER: Final = ("after_tool",)
CURSOR: Final = AgentFileSpec(
    project=(".cursor/hooks.json",),
    home=(".cursor/hooks.json",),
    keys={
        **PLAIN,
        "matcher": SHARED["matcher"],
        "failClosed": Key(_read_fail_closed, "on_error", about="Whether its failure blocks."),
        "loop_limit": IGNORED,
        "description": IGNORED,
    },
    allows_ungrouped=True,
    agent_only={"prompt": "the agent asks a model of its own"},
    events={
        "beforeShellExecution": AgentEvent(on=_BEFORE, tools=files.RUNS, matches=files.MatchTarget.COMMAND),
        "afterShellExecution": AgentEvent(on=_AFTER, tools=files.RUNS, matches=files.MatchTarget.COMMAND),
        "beforeMCPExecution": AgentEvent(on=_BEFORE, tools=files.MCP),
        "afterMCPExecution": AgentEvent(on=_AFTER, tools=files.MCP),
        "beforeReadFile": AgentEvent(
            on=_BEFORE, tools=files.READS, matches=files.MatchTarget.CONSTANT, constant="Read"
        ),
        "afterFileEdit": AgentEvent(
            on=_AFTER, tools=files.WRITES, matches=files.MatchTarget.CONSTANT, constant="Write"
        ),
        "beforeSubmitPrompt": AgentEvent(
            on=("before_agent",), matches=files.MatchTarget.CONSTANT, constant="UserPromptSubmit"
        ),
        "stop": AgentEvent(on=("after_agent",), matches=files.MatchTarget.CONSTANT, constant="Stop"),
    },
    finish=_finish_cursor,
    writers={**WRITERS, "on_error": "failClosed"},
    converters={"on_error": lambda value: value == OnError.BLOCK},
    header={"version": 1},
)


# Windsurf: hooks under events, without groups, matchers or times

WINDSURF: Final = AgentFileSpec(
    project=(".windsurf/hooks.json",),
    home=(".codeium/windsurf/hooks.json",),
    keys={
        "command": PLAIN["command"],
        "working_directory": Key(text, "working_directory", vital=True, about="The folder it runs in."),
        **dict.fromkeys(("powershell", "show_output", "description"), IGNORED),
    },
    allows_ungrouped=True,
    events={
        **{
            f"{step}_{what}": AgentEvent(on=on, tools=tools, matches=files.MatchTarget.NOTHING)
            for what, tools in (
                ("read_code", files.READS),
                ("write_code", files.WRITES),
                ("run_command", files.RUNS),
                ("mcp_tool_use", files.MCP),
            )
            for step, on in (("pre", _BEFORE), ("post", _AFTER))
        },
        "pre_user_prompt": AgentEvent(on=("before_agent",), matches=files.MatchTarget.NOTHING),
        "post_cascade_response": AgentEvent(on=("after_agent",), matches=files.MatchTarget.NOTHING),
    },
    writers={"command": "command", "working_directory": "working_directory"},
)


# Cline: a program for each event, named after it


def _read_program(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Make a hook of a program; its text is only looked at to know our own."""
    reader = FileReader(document, origin)
    name = origin.path.rpartition("/")[2]
    said = document.value
    if "." in name:
        # PowerShell's twin of a program, or something to read
        return [], []
    ours = isinstance(said, str) and any(map(is_ours, said.splitlines()))
    agent_event = None if ours else files.resolve_event(reader, name, (), spec=CLINE)
    if agent_event is not None:
        entry = files.ConfigEntry(event=name, values={}, where=(), owner=f"hook {quote(name)}")
        program = {"command": quote_program(origin.path, ()), "shell": False}
        files.add_entry(reader, entry, spec=CLINE, agent_event=agent_event, shared=program)
    return reader.hooks, reader.problems


CLINE: Final = AgentFileSpec(
    read=_read_program,
    is_program=True,
    project=(".clinerules/hooks/*",),
    home=("Documents/Cline/Hooks/*",),
    keys={},
    events={
        name: AgentEvent(on=on, matches=files.MatchTarget.NOTHING)
        for name, on in {
            "TaskStart": ("session_start",),
            "TaskResume": ("session_start",),
            "TaskComplete": ("after_agent",),
            "TaskError": ("error",),
            "PreToolUse": _BEFORE,
            "PostToolUse": ("after_tool", "tool_failed"),
            "UserPromptSubmit": ("before_agent",),
            "PreCompact": ("pre_compress",),
            "SessionShutdown": ("session_end",),
            "Notification": ("notification",),
        }.items()
    },
)
