"""The files in which agents keep hooks: one row per agent, one spec per kind of file."""

from collections.abc import Mapping
from typing import Final

from hookline.config.formats.agents import claude_code, copilot_cli, kiro, tables
from hookline.config.formats.agents.reader import AgentFileSpec

# agent -> kind of file -> its spec, in the order of `AGENTS`; the first kind has the agent's name
FILE_SPECS_BY_AGENT: Final[Mapping[str, Mapping[str, AgentFileSpec]]] = {
    "claude-code": {"claude-code": claude_code.SPEC},
    "codex-cli": {"codex-cli": tables.CODEX_CLI},
    "gemini-cli": {"gemini-cli": tables.GEMINI_CLI},
    "qwen-code": {"qwen-code": tables.QWEN_CODE},
    "cursor": {"cursor": tables.CURSOR},
    "copilot-cli": {"copilot-cli": copilot_cli.SPEC},
    "kiro": {"kiro": kiro.SPEC, "kiro-legacy": kiro.LEGACY_SPEC, "kiro-agent": kiro.AGENT_SPEC},
    "windsurf": {"windsurf": tables.WINDSURF},
    "cline": {"cline": tables.CLINE},
    "factory-droid": {"factory-droid": tables.FACTORY_DROID},
    "antigravity": {"antigravity": tables.ANTIGRAVITY},
}
FILE_SPECS: Final[Mapping[str, AgentFileSpec]] = {
    form: spec for specs in FILE_SPECS_BY_AGENT.values() for form, spec in specs.items()
}
