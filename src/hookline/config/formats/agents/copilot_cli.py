"""Copilot CLI: hooks under events, alone or in groups; the spelling of an event decides which payload hooks receive."""

from collections.abc import Mapping
from typing import Final

from hookline.config.formats.agents import reader as files
from hookline.config.formats.agents.claude_code import WEB, add_header_variables
from hookline.config.formats.agents.reader import AgentEvent, AgentFileSpec, ConfigEntry
from hookline.config.keys import SHARED, Key, nonempty_text, read_texts, text, texts
from hookline.config.reader import FileReader
from hookline.config.script_paths import quote_program

_LINE: Final = Key(text, vital=True, about="The line to run, in this shell.")

KEYS: Final[Mapping[str, Key]] = {
    **files.PLAIN,
    "bash": _LINE,
    "powershell": _LINE,
    "exec": Key(nonempty_text, vital=True, about="A program to run without a shell."),
    "args": Key(texts, vital=True, about="The words of that program."),
    "cwd": Key(text, "working_directory", vital=True, about="The folder it runs in."),
    "env": files.ENV,
    "timeoutSec": files.PLAIN["timeout"],
    "matcher": SHARED["matcher"],
    **WEB,
    "description": SHARED["description"],
}
# camelCase; the same name in PascalCase has the payload and the answers of Claude Code
_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "sessionStart": ("session_start",),
    "sessionEnd": ("session_end",),
    "userPromptSubmitted": ("before_agent",),
    "preToolUse": ("before_tool",),
    "postToolUse": ("after_tool",),
    "postToolUseFailure": ("tool_failed",),
    "permissionRequest": ("permission_request",),
    "agentStop": ("after_agent",),
    "subagentStart": ("subagent_start",),
    "subagentStop": ("subagent_stop",),
    "preCompact": ("pre_compress",),
    "errorOccurred": ("error",),
    "notification": ("notification",),
}
_PASCAL: Final[Mapping[str, str]] = {"userPromptSubmitted": "UserPromptSubmit", "agentStop": "Stop"}
_UNMATCHED: Final = frozenset({"sessionStart", "sessionEnd", "userPromptSubmitted", "agentStop", "errorOccurred"})


def pascal(event: str) -> str:
    """Return the other spelling of an event."""
    return _PASCAL.get(event, event[:1].upper() + event[1:])


_EVENTS: Final[Mapping[str, AgentEvent]] = {
    spelled: AgentEvent(on=on, matches=files.MatchTarget.NOTHING if name in _UNMATCHED else files.MatchTarget.SUBJECT)
    for name, on in _SPELLINGS.items()
    for spelled in (name, pascal(name))
}


def _finish(reader: FileReader, entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
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
    return add_header_variables(entry, fields)


SPEC: Final = AgentFileSpec(
    local=(".github/copilot/settings.local.json",),
    project=(".github/hooks/*.json", ".github/copilot/settings.json"),
    home=(".copilot/hooks/*.json", ".copilot/settings.json"),
    keys=KEYS,
    group_keys=files.GROUP,
    allows_ungrouped=True,
    types={"command": "", "http": "url"},
    agent_only={"prompt": "the agent is given a prompt when a session begins"},
    events=_EVENTS,
    finish=_finish,
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
