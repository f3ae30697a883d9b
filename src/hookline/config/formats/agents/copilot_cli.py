"""Copilot CLI: hooks under events, alone or in groups; the spelling of an event decides which payload hooks receive."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats.agents.claude_code import add_header_variables
from hookline.config.formats.agents.spec import (
    ENV,
    GROUP,
    PLAIN,
    UNMATCHED,
    AgentEvent,
    AgentFileSpec,
    ConfigEntry,
    as_is,
    as_seconds,
    whole_seconds,
    why_all_disabled,
)
from hookline.config.keys import SHARED, Key, nonempty_text, text, texts
from hookline.config.reader import FileReader
from hookline.config.script_paths import quote_program

_SECONDS: Final = Key(whole_seconds, "timeout", about="How long it may take, in seconds.")
_LINE: Final = Key(text, vital=True, about="The line to run, in this shell.")

KEYS: Final[Mapping[str, Key]] = {
    **PLAIN,
    "bash": _LINE,
    "powershell": _LINE,
    "exec": Key(nonempty_text, vital=True, about="A program to run without a shell."),
    "args": Key(texts, vital=True, about="The words of that program."),
    "cwd": Key(text, "working_directory", vital=True, about="The folder it runs in."),
    "env": ENV,
    "timeoutSec": _SECONDS,
    "matcher": SHARED["matcher"],
    "url": Key(nonempty_text, "url", vital=True, about="The URL to send the event to."),
    "headers": SHARED["headers"],
    "allowedEnvVars": Key(texts, vital=True, about="Variables that headers may name."),
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


def _name_events() -> Mapping[str, AgentEvent]:
    found: dict[str, AgentEvent] = {}
    for name, on in _SPELLINGS.items():
        agent_event = AgentEvent(on=on, matches=UNMATCHED.matches if name in _UNMATCHED else AgentEvent().matches)
        found[name] = found[pascal(name)] = agent_event
    return MappingProxyType(found)


def _finish(reader: FileReader, entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
    values = entry.values
    line = values.get("bash") or fields.get("command", "")
    if "exec" in values:
        words = values.get("args", ())
        args = tuple(map(str, words)) if isinstance(words, tuple) else ()
        fields |= {"command": quote_program(str(values["exec"]), args), "args": args, "shell": False}
    elif line:
        fields["command"] = line
    elif values.get("powershell"):
        reader.note((*entry.where, "powershell"), f"{entry.owner} has a line for PowerShell alone; it is not loaded")
        return None
    matcher = str(fields.get("matcher", ""))
    if matcher and entry.event[:1].isupper():
        fields["matcher"] = _in_our_words(matcher, reader)
    return add_header_variables(entry, fields)


def _in_our_words(matcher: str, reader: FileReader) -> str:
    """Add our names of the tools that a matcher names as Claude Code does."""
    tools = reader.origin.known_names.tools.get("claude-code", {})
    words = [word.strip() for word in matcher.split("|")]
    ours = [tool for tool, names in tools.items() if any(word in names for word in words)]
    return "|".join([matcher, *ours])


SPEC: Final = AgentFileSpec(
    local=(".github/copilot/settings.local.json",),
    project=(".github/hooks/*.json", ".github/copilot/settings.json"),
    home=(".copilot/hooks/*.json", ".copilot/settings.json"),
    keys=KEYS,
    group_keys=GROUP,
    allows_ungrouped=True,
    types={"command": "", "http": "url"},
    agent_only={"prompt": "the agent is given a prompt when a session begins"},
    events=_name_events(),
    finish=_finish,
    why_disabled=why_all_disabled,
    writers={
        "command": ("bash", as_is),
        "timeout": ("timeoutSec", as_seconds),
        "working_directory": ("cwd", as_is),
        "env": ("env", as_is),
        "url": ("url", as_is),
        "headers": ("headers", as_is),
        "header_env": ("allowedEnvVars", as_is),
    },
    header={"version": 1},
)
