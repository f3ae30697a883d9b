"""Qwen Code: Claude Code's events and types in Gemini CLI's groups; timeouts from 1000 on are milliseconds."""

from collections.abc import Mapping
from typing import Final

from hookline.config.formats.agents.claude_code import WEB, WRITERS, add_header_variables
from hookline.config.formats.agents.gemini_cli import GROUP_KEYS
from hookline.config.formats.agents.spec import (
    BACKGROUND,
    ENV,
    IGNORED,
    NAME,
    PLAIN,
    UNMATCHED,
    AgentFileSpec,
    ConfigEntry,
    as_is,
    seconds_or_milliseconds,
    why_all_disabled,
)
from hookline.config.keys import Key, text
from hookline.config.reader import FileReader

KEYS: Final[Mapping[str, Key]] = {
    **PLAIN,
    **WEB,
    "name": NAME,
    "env": ENV,
    "timeout": Key(seconds_or_milliseconds, "timeout", about="Seconds; from 1000 on, milliseconds."),
    "async": BACKGROUND,
    "shell": Key(text, vital=True, about="The shell that reads the line: bash or powershell."),
    **dict.fromkeys(("description", "statusMessage", "once"), IGNORED),
}


def _finish(reader: FileReader, entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
    if entry.values.get("shell") == "powershell":
        reader.warn((*entry.where, "shell"), f"{entry.owner} is a line for PowerShell; the hook is not loaded")
        return None
    return add_header_variables(entry, fields)


SPEC: Final = AgentFileSpec(
    project=(".qwen/settings.json",),
    home=(".qwen/settings.json",),
    keys=KEYS,
    group_keys=GROUP_KEYS,
    types={"command": "command", "http": "url"},
    agent_only={"prompt": "the agent asks a model of its own", "function": "it is a function of a running program"},
    events={"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED},
    defaults={"parallel": True},
    finish=_finish,
    why_disabled=why_all_disabled,
    writers={
        **WRITERS,
        "name": ("name", as_is),
        "env": ("env", as_is),
        "url": ("url", as_is),
        "headers": ("headers", as_is),
        "header_env": ("allowedEnvVars", as_is),
        "background": ("async", as_is),
    },
)
