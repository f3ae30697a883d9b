"""The files in which agents keep hooks: one row per agent, one spec per kind of file."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Final

from hookline.config import keys
from hookline.config.document import Document, KeyPath, Problem
from hookline.config.edit import value_at
from hookline.config.formats import agent_files as files
from hookline.config.formats.agent_files import GROUP, IGNORED, PLAIN, UNMATCHED, WRITERS, AgentEvent, AgentFileSpec
from hookline.config.keys import SHARED, Key, describe, flag, nonempty_text, read_texts, text, texts
from hookline.config.reader import FileOrigin, FileReader, describe_hook
from hookline.config.script_paths import quote_program
from hookline.model.event import READING, WRITING
from hookline.model.hook import Hook, Layer, OnError
from hookline.model.installed_entry import is_ours
from hookline.model.requirements import Caching
from hookline.text import quote

# canonical tools by what agents call "to run" and "a tool of MCP"
_RUNS: Final = ("shell",)
_MCP_TOOLS: Final = ("mcp__.*",)


def _events(
    rows: Mapping[str, str], *, matches: files.MatchTarget = files.MatchTarget.NOTHING
) -> dict[str, AgentEvent]:
    """Return an agent's own events by the names of the canonical ones."""
    return {name: AgentEvent(on=tuple(on.split()), matches=matches) for name, on in rows.items()}


# Claude Code: groups of hooks under events in `settings.json`

_RULE: Final = re.compile(r"(?P<tool>[\w*-]+)(?:\((?P<what>.*)\))?", re.DOTALL)
_SEVERAL: Final = re.compile(r"\)\s+\w+\(")
_MCP: Final = "mcp__"
# a command begins at the start, behind whatever ends another one, and behind variables that are set for it
_BEGINS: Final = r"(?:^|[;&|\n(){}`])\s*(?:\w+=\S*\s+)*"
# what the shell puts in only when it runs
_UNKNOWN: Final = r"[$`]"


def parse_rule(text: str) -> dict[str, object]:
    """Read a rule: the fields of a hook that runs for such calls only.

    Raises:
        ValueError: It says something that cannot be said here.
    """
    found = _RULE.fullmatch(text.strip())
    if found is None or _SEVERAL.search(text):
        raise ValueError("wanted one rule such as Bash(git *)")
    tool, what = found["tool"], found["what"]
    if tool.startswith(_MCP) and not what:
        bare = tool.removesuffix("*").removesuffix("__")
        if "*" in bare:
            raise ValueError("a star may be only at the end of an MCP rule")
        if tool == bare and "__" in bare.removeprefix(_MCP):
            return {"condition": f"tool == {json.dumps(tool)}"}
        return {"condition": f"tool.startsWith({json.dumps(f'{bare}__')})"}
    read = _TOOLS.get(tool)
    if read is None:
        raise ValueError(f"rules for {tool} are not known here; there are {', '.join(_TOOLS)} and mcp__SERVER")
    tools, of = read
    condition = f"tool in {json.dumps(list(tools))}"
    return {"condition": condition} if what in {None, "", "*"} else of(condition, str(what))


def _command(condition: str, what: str) -> dict[str, object]:
    # the older spelling of "begins with these words"
    line = f"{what.removesuffix(':*')} *" if what.endswith(":*") else what
    words, star = (line[:-2], True) if line.endswith(" *") else (line, False)
    glob = ".*".join(re.escape(part).replace("\\ ", r"\s+") for part in words.split("*"))
    ends = r"(?:\s|$|[;&|)}`])" if star else r"\s*(?:$|[;&|\n)}`])"
    pattern = f"(?s){_BEGINS}{glob}{ends}"
    is_one = f"args.command.matches({json.dumps(pattern)})"
    in_doubt = f" || args.command.matches({json.dumps(_UNKNOWN)})" if re.search(r"\s", words) or not star else ""
    return {"condition": f"{condition} && ({is_one}{in_doubt})"}


def _path(condition: str, what: str) -> dict[str, object]:
    if ".." in what.split("/"):
        raise ValueError(f"the path {what} leads out of the folder that it is counted from")
    # two slashes begin a path from the top of the disk, one a path from the project
    pattern = what[1:] if what.startswith("//") else what.removeprefix("./")
    return {"condition": condition, "files": (pattern,)}


_TOOLS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[str, str], dict[str, object]]]]] = {
    "Bash": (_RUNS, _command),
    "PowerShell": (_RUNS, _command),
    "Edit": (WRITING, _path),
    "Write": (WRITING, _path),
    "MultiEdit": (WRITING, _path),
    "NotebookEdit": (("notebook_edit",), _path),
    "Read": (READING, _path),
}


_PLACE: Final = re.compile(r"\$\{(\w+)\}")
# at these, a rule can be asked; at any other event a hook with one never runs
_RULED: Final = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"})


def _shell(value: object) -> str:
    if value in {"bash", "powershell"}:
        return text(value)
    raise keys.wrong_value("bash or powershell", value)


_WEB: Final[Mapping[str, Key]] = {
    "url": Key(nonempty_text, "url", vital=True, about="The URL to send the event to."),
    "headers": SHARED["headers"],
    "allowedEnvVars": Key(texts, vital=True, about="Variables that headers may name."),
}


def _finish_claude(reader: FileReader, entry: files.ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
    values = entry.values
    if values.get("shell") == "powershell" and "args" not in values:
        reader.warn((*entry.where, "shell"), f"{entry.owner} is a line for PowerShell; the hook is not loaded")
        return None
    if values.get("asyncRewake"):
        reader.note((*entry.where, "asyncRewake"), f"{entry.owner} cannot wake other agents; they go on without it")
    if "args" in values:
        program, args = str(fields.get("command", "")), read_texts(values, "args")
        if any(_PLACE.search(word) for word in (program, *args)):
            # a shell fills the placeholders in, and splits nothing
            fields |= {"command": " ".join(map(_quote_word, (program, *args))), "args": ()}
        else:
            fields |= {"command": quote_program(program, args), "args": args, "shell": False}
    if "if" in values:
        place = (*entry.where, "if")
        if entry.event not in _RULED:
            reader.warn(place, f"{entry.owner} never runs: at this event there is no call that its rule could be about")
            return None
        try:
            fields |= parse_rule(str(values["if"]))
        except ValueError as problem:
            reader.warn(place, f"the rule of {entry.owner}: {problem}; the hook is not loaded, so it runs only there")
            return None
    return _add_header_variables(entry, fields)


def _add_header_variables(entry: files.ConfigEntry, fields: dict[str, object]) -> dict[str, object]:
    """Let headers name the variables they may; where they name none, they are as they stand."""
    headers = fields.get("headers")
    if isinstance(headers, Mapping) and any("$" in str(value) for value in headers.values()):
        fields["header_env"] = entry.values.get("allowedEnvVars", ())
    return fields


def _quote_word(word: str) -> str:
    if not _PLACE.search(word):
        return shlex.quote(word)
    plain = re.sub(r'([\\"`$])', r"\\\1", word)
    return '"' + re.sub(r"\\\$\{(\w+)\}", r"${\1}", plain) + '"'


CLAUDE_CODE: Final = AgentFileSpec(
    local=(".claude/settings.local.json",),
    project=(".claude/settings.json",),
    home=(".claude/settings.json",),
    keys={
        **PLAIN,
        **_WEB,
        "args": Key(texts, "args", vital=True, about="Words of its own: then no shell reads the command."),
        "shell": Key(_shell, vital=True, about="The shell that reads the line."),
        "if": Key(nonempty_text, vital=True, about="A permission rule: it runs only for such calls."),
        "async": files.BACKGROUND,
        "asyncRewake": files.BACKGROUND,
        "onFailure": Key(keys.on_error, "on_error", about="What its failure means."),
        **dict.fromkeys(("once", "statusMessage", "description"), IGNORED),
    },
    group_keys=GROUP,
    types={"command": "command", "http": "url"},
    agent_only={
        "prompt": "the agent asks a model of its own",
        "agent": "the agent starts another agent",
        "mcp_tool": "the agent calls a tool of a server it is connected to",
    },
    events={
        "UserPromptSubmit": UNMATCHED,
        "Stop": UNMATCHED,
        "FileChanged": AgentEvent(matches=files.MatchTarget.FILES),
    },
    defaults={"parallel": True},
    finish=_finish_claude,
    why_disabled=files.why_all_disabled,
    writers={
        **WRITERS,
        "url": "url",
        "headers": "headers",
        "header_env": "allowedEnvVars",
        "background": "async",
        "on_error": "onFailure",
    },
)


# Copilot CLI: hooks under events, alone or in groups; the spelling of an event decides which payload hooks receive

_LINE: Final = Key(text, vital=True, about="The line to run, in this shell.")
_COPILOT_EVENTS: Final[Mapping[str, AgentEvent]] = {
    **_events(
        {
            "sessionStart": "session_start",
            "sessionEnd": "session_end",
            "userPromptSubmitted": "before_agent",
            "agentStop": "after_agent",
            "errorOccurred": "error",
        }
    ),
    **_events(
        {
            "preToolUse": "before_tool",
            "postToolUse": "after_tool",
            "postToolUseFailure": "tool_failed",
            "permissionRequest": "permission_request",
            "subagentStart": "subagent_start",
            "subagentStop": "subagent_stop",
            "preCompact": "pre_compress",
            "notification": "notification",
        },
        matches=files.MatchTarget.SUBJECT,
    ),
}
# the same name in PascalCase has the payload and the answers of Claude Code
_PASCAL: Final[Mapping[str, str]] = {"userPromptSubmitted": "UserPromptSubmit", "agentStop": "Stop"}


def _finish_copilot(
    reader: FileReader, entry: files.ConfigEntry, fields: dict[str, object]
) -> dict[str, object] | None:
    values = entry.values
    line = values.get("bash") or fields.get("command", "")
    if "exec" in values:
        args = read_texts(values, "args")
        fields |= {"command": quote_program(str(values["exec"]), args), "args": args, "shell": False}
    elif line:
        fields["command"] = line
    elif values.get("powershell"):
        reader.note((*entry.where, "powershell"), f"{entry.owner} has a line for PowerShell alone; it is not loaded")
        return None
    matcher = str(fields.get("matcher", ""))
    if matcher and entry.event[:1].isupper():
        # such a matcher names tools as Claude Code does; our names are added
        tools = reader.origin.known_names.tools.get("claude-code", {})
        words = [word.strip() for word in matcher.split("|")]
        ours = [tool for tool, names in tools.items() if any(word in names for word in words)]
        fields["matcher"] = "|".join([matcher, *ours])
    return _add_header_variables(entry, fields)


COPILOT_CLI: Final = AgentFileSpec(
    local=(".github/copilot/settings.local.json",),
    project=(".github/hooks/*.json", ".github/copilot/settings.json"),
    home=(".copilot/hooks/*.json", ".copilot/settings.json"),
    keys={
        **PLAIN,
        "bash": _LINE,
        "powershell": _LINE,
        "exec": Key(nonempty_text, vital=True, about="A program to run without a shell."),
        "args": Key(texts, vital=True, about="The words of that program."),
        "cwd": Key(text, "working_directory", vital=True, about="The folder it runs in."),
        "env": files.ENV,
        "timeoutSec": PLAIN["timeout"],
        "matcher": SHARED["matcher"],
        **_WEB,
        "description": SHARED["description"],
    },
    group_keys=GROUP,
    allows_ungrouped=True,
    types={"command": "", "http": "url"},
    agent_only={"prompt": "the agent is given a prompt when a session begins"},
    events={
        **_COPILOT_EVENTS,
        **{_PASCAL.get(name, name[0].upper() + name[1:]): event for name, event in _COPILOT_EVENTS.items()},
    },
    finish=_finish_copilot,
    why_disabled=files.why_all_disabled,
    writers={
        "command": "bash",
        "timeout": "timeoutSec",
        "working_directory": "cwd",
        "env": "env",
        "url": "url",
        "headers": "headers",
        "header_env": "allowedEnvVars",
    },
    header={"version": 1},
)


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


def _why_gemini_disabled(settings: Mapping[str, object]) -> str:
    is_off = value_at(settings, ("hooksConfig", "enabled")) is False
    return '"hooksConfig.enabled" switches its hooks off' if is_off else ""


def _is_gemini_disabled(settings: Mapping[str, object], entry: Mapping[str, object]) -> bool:
    disabled = value_at(settings, ("hooksConfig", "disabled"))
    words = (word for word in (entry.get("name"), entry.get("command")) if isinstance(word, str))
    return isinstance(disabled, list) and any(word in disabled for word in words)


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
    return _add_header_variables(entry, fields)


QWEN_CODE: Final = AgentFileSpec(
    project=(".qwen/settings.json",),
    home=(".qwen/settings.json",),
    keys={
        **PLAIN,
        **_WEB,
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
        "beforeShellExecution": AgentEvent(on=_BEFORE, tools=_RUNS, matches=files.MatchTarget.COMMAND),
        "afterShellExecution": AgentEvent(on=_AFTER, tools=_RUNS, matches=files.MatchTarget.COMMAND),
        "beforeMCPExecution": AgentEvent(on=_BEFORE, tools=_MCP_TOOLS),
        "afterMCPExecution": AgentEvent(on=_AFTER, tools=_MCP_TOOLS),
        "beforeReadFile": AgentEvent(on=_BEFORE, tools=READING, matches=files.MatchTarget.CONSTANT, constant="Read"),
        "afterFileEdit": AgentEvent(on=_AFTER, tools=WRITING, matches=files.MatchTarget.CONSTANT, constant="Write"),
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
                ("read_code", READING),
                ("write_code", WRITING),
                ("run_command", _RUNS),
                ("mcp_tool_use", _MCP_TOOLS),
            )
            for step, on in (("pre", _BEFORE), ("post", _AFTER))
        },
        **_events({"pre_user_prompt": "before_agent", "post_cascade_response": "after_agent"}),
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
    events=_events(
        {
            "TaskStart": "session_start",
            "TaskResume": "session_start",
            "TaskComplete": "after_agent",
            "TaskError": "error",
            "PreToolUse": "before_tool",
            "PostToolUse": "after_tool tool_failed",
            "UserPromptSubmit": "before_agent",
            "PreCompact": "pre_compress",
            "SessionShutdown": "session_end",
            "Notification": "notification",
        }
    ),
)


# Kiro: a list of hooks with triggers, the older file with `when` and `then`, and hooks inside an agent's file

_GLOB: Final = re.compile(r"[\w*-]+", re.ASCII)
# what Kiro calls tools together
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "read": READING,
    "write": WRITING,
    "shell": _RUNS,
    "web": ("web_fetch", "web_search"),
    "@mcp": ("mcp__.*",),
    "@builtin": ("builtin:.*",),
}


def _kiro_matcher(said: str) -> str:
    """Return a matcher in our words: names with stars or a pattern, categories, and `@server/tool`."""
    if "(" in said:
        return said
    found: list[str] = []
    for word in map(str.strip, said.split("|")):
        if word in _CATEGORIES:
            found += dict.fromkeys((*_CATEGORIES[word], *(() if word.startswith("@") else (word,))))
        elif word.startswith("@"):
            server, _, tool = word[1:].partition("/")
            found.append(f"mcp__{server}__{tool or '*'}".replace("*", ".*"))
        else:
            # a star in what is otherwise a name stands for anything
            found.append(word.replace("*", ".*") if _GLOB.fullmatch(word) else word)
    return "|".join(found)


def _kiro_cache(value: object) -> Caching | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return Caching(seconds=float(value)) if value else None
    raise keys.wrong_value("seconds", value)


def _seconds_or_never(value: object) -> float:
    """Read a time of which 0 means that the hook may take as long as it likes."""
    return float(keys.LONG) if value == 0 and not isinstance(value, bool) else files.whole_seconds(value)


_KIRO_FILE_EVENTS: Final = _events(
    {"PostFileCreate": "file_created", "PostFileSave": "file_edited", "PostFileDelete": "file_deleted"},
    matches=files.MatchTarget.PATH,
)
_KIRO_PROMPT: Final = Key(nonempty_text, "prompt", vital=True, about="What to ask the agent.")
_KIRO_COMMAND: Final = PLAIN["command"]
_KIRO_ACTION: Final[Mapping[str, Key]] = {
    "type": Key(text, vital=True, about="Run a command, or ask the agent."),
    "command": _KIRO_COMMAND,
    "prompt": _KIRO_PROMPT,
}
# the older file
_KIRO_WHEN: Final[Mapping[str, Key]] = {
    "type": Key(nonempty_text, vital=True, about="The event it runs at."),
    "patterns": Key(keys.any_texts, "files", vital=True, about="Only for these files."),
    "toolTypes": Key(keys.any_texts, vital=True, about="Only for these tools."),
}
_KIRO_THEN: Final[Mapping[str, Key]] = {**_KIRO_ACTION, "timeout": PLAIN["timeout"]}


def _finish_kiro(_reading: FileReader, entry: files.ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
    if fields.get("matcher") and entry.event not in _KIRO_FILE_EVENTS:
        fields["matcher"] = _kiro_matcher(str(fields["matcher"]))
    return fields


def _read_kiro(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read a file with a list of hooks."""
    reader = FileReader(document, origin)
    value = document.value
    hooks = value.get("hooks") if isinstance(value, Mapping) else None
    if not isinstance(hooks, list):
        reader.error((), f'wanted an object with a list "hooks", got {describe(value)}')
        return [], reader.problems
    for number, entry in enumerate(hooks):
        _read_kiro_hook(reader, entry, ("hooks", number), spec=KIRO)
    return reader.hooks, reader.problems


def _read_kiro_legacy(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Read a file that is one hook with `when` and `then`."""
    reader = FileReader(document, origin)
    _read_kiro_hook(reader, document.value, (), spec=KIRO_LEGACY)
    return reader.hooks, reader.problems


def _read_kiro_hook(reader: FileReader, entry: object, where: KeyPath, *, spec: AgentFileSpec) -> None:
    if not isinstance(entry, Mapping):
        reader.error(where, f"wanted an object for a hook, got {describe(entry)}")
        return
    owner = describe_hook(entry)
    is_legacy = spec is KIRO_LEGACY
    at = (*where, "then" if is_legacy else "action")
    action = entry.get(at[-1])
    if isinstance(action, Mapping) and is_ours(str(action.get("command", ""))):
        return
    can_run = not isinstance(action, Mapping) or files.is_runnable(reader, action, at, spec=spec, owner=owner)
    inner = _KIRO_THEN if is_legacy else _KIRO_ACTION
    outer = {name: key for name, key in spec.keys.items() if name not in inner}
    values = reader.read_keys(entry, outer, where, owner=owner)
    when = reader.read_part(entry, _KIRO_WHEN, (*where, "when"), owner=owner) if is_legacy else {}
    does = reader.read_part(entry, inner, at, owner=owner) if can_run else None
    if values is None or when is None or does is None:
        return
    event = str(when.get("type", "") if is_legacy else values.get("trigger", ""))
    place = (*where, "when", "type") if is_legacy else (*where, "trigger")
    agent_event = files.resolve_event(reader, event, place, spec=spec)
    limit = next((name for name in ("patterns", "toolTypes") if when.get(name) == ()), "")
    if agent_event is not None and limit:
        reader.warn((*where, "when", limit), f"{owner} never runs: it is for none of them")
    elif agent_event is not None:
        given = {name: value for name, value in {**values, **does}.items() if name != "type"}
        patterns, types = read_texts(when, "patterns"), read_texts(when, "toolTypes")
        limits = {**({"files": patterns} if patterns else {}), **({"matcher": "|".join(types)} if types else {})}
        one = files.ConfigEntry(event=event, values=given, where=where, owner=owner)
        files.add_entry(reader, one, spec=spec, agent_event=agent_event, shared=limits)


KIRO: Final = AgentFileSpec(
    read=_read_kiro,
    project=(".kiro/hooks/*.json",),
    home=(".kiro/hooks/*.json",),
    keys={
        "name": files.NAME,
        "trigger": Key(nonempty_text, vital=True, about="The event it runs at."),
        "matcher": SHARED["matcher"],
        "action": Key(keys.anything, about="What it does."),
        "timeout": Key(
            _seconds_or_never, "timeout", about="How long it may take, in seconds; 0 for as long as it likes."
        ),
        "enabled": files.ENABLED,
        "description": IGNORED,
        "confirm": IGNORED,
        "command": _KIRO_COMMAND,
        "prompt": _KIRO_PROMPT,
    },
    allows_ungrouped=True,
    types={"command": "command", "agent": "prompt"},
    events={
        **_events(
            {
                "SessionStart": "session_start",
                "AgentSpawn": "session_start",
                "SessionEnd": "session_end",
                "UserPromptSubmit": "before_agent",
                "Stop": "after_agent",
            }
        ),
        **_events({"PreToolUse": "before_tool", "PostToolUse": "after_tool"}, matches=files.MatchTarget.SUBJECT),
        **_KIRO_FILE_EVENTS,
    },
    finish=_finish_kiro,
    writers={**WRITERS, "name": "name", "prompt": "prompt", "enabled": "enabled"},
    header={"version": "v1"},
)
KIRO_AGENT: Final = AgentFileSpec(
    project=(".kiro/agents/*.json",),
    home=(".kiro/agents/*.json",),
    stem="default",
    keys={
        "command": _KIRO_COMMAND,
        "matcher": SHARED["matcher"],
        "timeout_ms": Key(files.milliseconds, "timeout", about="How long it may take, in milliseconds."),
        "cache_ttl_seconds": Key(_kiro_cache, "cache", about="How long an answer holds; 0 for not at all."),
        "only_when_turn_complete": IGNORED,
        "max_output_size": IGNORED,
        "description": IGNORED,
    },
    allows_ungrouped=True,
    events={
        **_events({"agentSpawn": "session_start", "userPromptSubmit": "before_agent", "stop": "after_agent"}),
        **_events({"preToolUse": "before_tool", "postToolUse": "after_tool"}, matches=files.MatchTarget.SUBJECT),
    },
    finish=_finish_kiro,
    writers={"command": "command", "timeout": "timeout_ms"},
    converters={"timeout": files.as_milliseconds},
)
KIRO_LEGACY: Final = AgentFileSpec(
    project=(".kiro/hooks/*.kiro.hook",),
    read=_read_kiro_legacy,
    keys={
        "name": files.NAME,
        "enabled": files.ENABLED,
        **dict.fromkeys(("description", "version", "when", "then", "shortName", "workspaceFolderName"), IGNORED),
        **{name: key for name, key in _KIRO_THEN.items() if name != "type"},
    },
    types={"runCommand": "command", "askAgent": "prompt"},
    events={
        **_events(
            {
                "fileEdited": "file_edited",
                "fileCreated": "file_created",
                "fileDeleted": "file_deleted",
                "userTriggered": "user_triggered",
                "promptSubmit": "before_agent",
                "agentStop": "after_agent",
            }
        ),
        **_events({"preToolUse": "before_tool", "postToolUse": "after_tool"}, matches=files.MatchTarget.SUBJECT),
    },
    finish=_finish_kiro,
)


# agent -> kind of file -> its spec, in the order of `AGENTS`; the first kind has the agent's name
FILE_SPECS_BY_AGENT: Final[Mapping[str, Mapping[str, AgentFileSpec]]] = {
    "claude-code": {"claude-code": CLAUDE_CODE},
    "codex-cli": {"codex-cli": CODEX_CLI},
    "gemini-cli": {"gemini-cli": GEMINI_CLI},
    "qwen-code": {"qwen-code": QWEN_CODE},
    "cursor": {"cursor": CURSOR},
    "copilot-cli": {"copilot-cli": COPILOT_CLI},
    "kiro": {"kiro": KIRO, "kiro-legacy": KIRO_LEGACY, "kiro-agent": KIRO_AGENT},
    "windsurf": {"windsurf": WINDSURF},
    "cline": {"cline": CLINE},
    "factory-droid": {"factory-droid": FACTORY_DROID},
    "antigravity": {"antigravity": ANTIGRAVITY},
}
FILE_SPECS: Final[Mapping[str, AgentFileSpec]] = {
    form: spec for specs in FILE_SPECS_BY_AGENT.values() for form, spec in specs.items()
}
