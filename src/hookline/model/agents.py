"""The one list of coding agents.

Each agent has a module named after it, `dialects/<name>.py`, a row in `hosts/agents.py` and, unless its hooks are plugins, a
row in `config/formats/agent_specs.py`.
"""

from collections.abc import Mapping
from typing import Final

# Settings files are searched in this order, and commands list the agents in it.
AGENTS: Final = (
    *("claude-code", "codex-cli", "gemini-cli", "qwen-code", "cursor", "copilot-cli"),
    *("kiro", "windsurf", "cline", "factory-droid", "opencode", "antigravity"),
)
# Agents that load hooks only as plugins, so there is no settings file to read hooks from.
PLUGIN_AGENTS: Final = frozenset({"opencode"})
# Agents that also run the settings files of another, as `runs_files_of` of their specs says; their specs have a `signature`.
FILE_READERS: Final[Mapping[str, tuple[str, ...]]] = {"claude-code": ("cursor", "copilot-cli")}


def module_name(agent: str) -> str:
    """Return the name that the modules of an agent have."""
    return agent.replace("-", "_")
