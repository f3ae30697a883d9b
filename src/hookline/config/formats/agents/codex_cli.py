"""Codex CLI: groups of hooks under events, in `hooks.json` or under `[hooks]` of `config.toml`."""

from collections.abc import Mapping
from typing import Final

from hookline.config.formats.agents.claude_code import WRITERS
from hookline.config.formats.agents.spec import BACKGROUND, GROUP, IGNORED, PLAIN, UNMATCHED, AgentFileSpec, as_is
from hookline.config.keys import Key

KEYS: Final[Mapping[str, Key]] = {
    **PLAIN,
    "async": BACKGROUND,
    **dict.fromkeys(("commandWindows", "command_windows", "statusMessage", "additionalContextLimit"), IGNORED),
}

SPEC: Final = AgentFileSpec(
    project=(".codex/hooks.json", ".codex/config.toml"),
    home=(".codex/hooks.json", ".codex/config.toml"),
    keys=KEYS,
    group_keys=GROUP,
    agent_only={
        "mcp_tool": "the agent calls a tool of a server it is connected to",
        "prompt": "the agent does not run it yet",
        "agent": "the agent does not run it yet",
    },
    events={"UserPromptSubmit": UNMATCHED, "Stop": UNMATCHED},
    defaults={"parallel": True},
    writers={**WRITERS, "background": ("async", as_is)},
)
