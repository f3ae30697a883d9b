"""Copilot CLI: hooks under events, alone or in groups; how an event is spelled says what hooks are told."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats.agents.claude_code import with_variables
from hookline.config.formats.agents.style import (
    ENV,
    GROUP,
    PLAIN,
    UNMATCHED,
    Entry,
    Moment,
    Style,
    all_off,
    as_said,
    as_seconds,
    whole_seconds,
)
from hookline.config.reading import Reading
from hookline.config.scripts import command_of
from hookline.config.values import SHARED, Key, filled, text, texts

_SECONDS: Final = Key(whole_seconds, "timeout", about="How long it may take, in seconds.")
_LINE: Final = Key(text, vital=True, about="The line to run, in this shell.")

KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **PLAIN,
        "bash": _LINE,
        "powershell": _LINE,
        "exec": Key(filled, vital=True, about="A program to run without a shell."),
        "args": Key(texts, vital=True, about="The words of that program."),
        "cwd": Key(text, "working_directory", vital=True, about="The folder it runs in."),
        "env": ENV,
        "timeoutSec": _SECONDS,
        "matcher": SHARED["matcher"],
        "url": Key(filled, "url", vital=True, about="The URL to send the event to."),
        "headers": SHARED["headers"],
        "allowedEnvVars": Key(texts, vital=True, about="Variables that headers may name."),
        "description": SHARED["description"],
    }
)
# camelCase, and the same in PascalCase, which is told and answered as in Claude Code
_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
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
)
_PASCAL: Final[Mapping[str, str]] = MappingProxyType({"userPromptSubmitted": "UserPromptSubmit", "agentStop": "Stop"})
_UNMATCHED: Final = frozenset({"sessionStart", "sessionEnd", "userPromptSubmitted", "agentStop", "errorOccurred"})


def pascal(event: str) -> str:
    """Give the other spelling of an event."""
    return _PASCAL.get(event, event[:1].upper() + event[1:])


def _moments() -> Mapping[str, Moment]:
    found: dict[str, Moment] = {}
    for name, on in _SPELLINGS.items():
        moment = Moment(on=on, aim=UNMATCHED.aim if name in _UNMATCHED else Moment().aim)
        found[name] = found[pascal(name)] = moment
    return MappingProxyType(found)


def _finish(reading: Reading, entry: Entry, fields: dict[str, object]) -> dict[str, object] | None:
    values = entry.values
    line = values.get("bash") or fields.get("command", "")
    if "exec" in values:
        words = values.get("args", ())
        args = tuple(map(str, words)) if isinstance(words, tuple) else ()
        fields |= {"command": command_of(str(values["exec"]), args), "args": args, "shell": False}
    elif line:
        fields["command"] = line
    elif values.get("powershell"):
        reading.note((*entry.where, "powershell"), f"{entry.owner} has a line for PowerShell alone; it is not loaded")
        return None
    matcher = str(fields.get("matcher", ""))
    if matcher and entry.event[:1].isupper():
        fields["matcher"] = _in_our_words(matcher, reading)
    return with_variables(entry, fields)


def _in_our_words(matcher: str, reading: Reading) -> str:
    """Add our names of the tools that a matcher names as Claude Code does."""
    tools = reading.origin.vocabulary.tools.get("claude-code", {})
    words = [word.strip() for word in matcher.split("|")]
    ours = [tool for tool, names in tools.items() if any(word in names for word in words)]
    return "|".join([matcher, *ours])


STYLE: Final = Style(
    keys=KEYS,
    group_keys=GROUP,
    alone=True,
    types=MappingProxyType({"command": "", "http": "url"}),
    elsewhere=MappingProxyType({"prompt": "the agent is given a prompt when a session begins"}),
    moments=_moments(),
    finish=_finish,
    off=all_off,
    spelled=MappingProxyType(
        {
            "command": ("bash", as_said),
            "timeout": ("timeoutSec", as_seconds),
            "working_directory": ("cwd", as_said),
            "env": ("env", as_said),
            "url": ("url", as_said),
            "headers": ("headers", as_said),
            "header_env": ("allowedEnvVars", as_said),
        }
    ),
    around=MappingProxyType({"version": 1}),
)
