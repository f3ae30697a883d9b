"""Codex CLI: groups of hooks under events, in `hooks.json` or under `[hooks]` of `config.toml`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats.agents.claude_code import SPELLED
from hookline.config.formats.agents.style import ASIDE, GROUP, LATER, PLAIN, UNMATCHED, Style, as_said
from hookline.config.values import Key

KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **PLAIN,
        "async": LATER,
        **dict.fromkeys(("commandWindows", "command_windows", "statusMessage", "additionalContextLimit"), ASIDE),
    }
)

STYLE: Final = Style(
    keys=KEYS,
    group_keys=GROUP,
    elsewhere=MappingProxyType(
        {
            "mcp_tool": "the agent calls a tool of a server it is connected to",
            "prompt": "the agent does not run it yet",
            "agent": "the agent does not run it yet",
        }
    ),
    moments=MappingProxyType({"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED}),
    defaults=MappingProxyType({"parallel": True}),
    spelled=MappingProxyType({**SPELLED, "background": ("async", as_said)}),
)
