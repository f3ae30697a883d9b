"""Qwen Code: Claude Code's events and types in Gemini CLI's groups; a thousand seconds are one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats.agents.claude_code import SPELLED, WEB, with_variables
from hookline.config.formats.agents.gemini_cli import GROUP_KEYS
from hookline.config.formats.agents.style import (
    ASIDE,
    ENV,
    LATER,
    NAME,
    PLAIN,
    UNMATCHED,
    Entry,
    Style,
    all_off,
    as_said,
    seconds_or_milliseconds,
)
from hookline.config.reading import Reading
from hookline.config.values import Key, text

KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **PLAIN,
        **WEB,
        "name": NAME,
        "env": ENV,
        "timeout": Key(seconds_or_milliseconds, "timeout", about="Seconds; from 1000 on, milliseconds."),
        "async": LATER,
        "shell": Key(text, vital=True, about="The shell that reads the line: bash or powershell."),
        **dict.fromkeys(("description", "statusMessage", "once"), ASIDE),
    }
)


def _finish(reading: Reading, entry: Entry, fields: dict[str, object]) -> dict[str, object] | None:
    if entry.values.get("shell") == "powershell":
        reading.warn((*entry.where, "shell"), f"{entry.owner} is a line for PowerShell; the hook is not loaded")
        return None
    return with_variables(entry, fields)


STYLE: Final = Style(
    keys=KEYS,
    group_keys=GROUP_KEYS,
    types=MappingProxyType({"command": "command", "http": "url"}),
    elsewhere=MappingProxyType(
        {"prompt": "the agent asks a model of its own", "function": "it is a function of a running program"}
    ),
    moments=MappingProxyType({"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED}),
    defaults=MappingProxyType({"parallel": True}),
    finish=_finish,
    off=all_off,
    spelled=MappingProxyType(
        {
            **SPELLED,
            "name": ("name", as_said),
            "env": ("env", as_said),
            "url": ("url", as_said),
            "headers": ("headers", as_said),
            "header_env": ("allowedEnvVars", as_said),
            "background": ("async", as_said),
        }
    ),
)
