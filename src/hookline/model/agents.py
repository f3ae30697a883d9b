"""The one list of coding agents.

Each agent has two modules named after it, `dialects/<name>.py` and `hosts/<name>.py`, from which tables of agents are
derived by this list, and, unless its hooks are plugins, a row in `config/formats/agents/__init__.py`.
"""

from typing import Final

# Settings files are searched in this order, and commands list the agents in it.
AGENTS: Final = (
    *("claude-code", "codex-cli", "gemini-cli", "qwen-code", "cursor", "copilot-cli"),
    *("kiro", "windsurf", "cline", "factory-droid", "opencode", "antigravity"),
)
# Agents that load hooks only as plugins, so there is no settings file to read hooks from.
PLUGIN_AGENTS: Final = frozenset({"opencode"})


def module_name(agent: str) -> str:
    """Return the name that the modules of an agent have."""
    return agent.replace("-", "_")
