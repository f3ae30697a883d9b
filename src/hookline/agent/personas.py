"""Which files the agent reads, and under which name its events are recorded: its own, or as another agent's."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class Persona(Struct, frozen=True, kw_only=True):
    """An agent that `--as` names.

    `host` is its name in traces. With a `dialect`, only configuration of this dialect and our own is loaded. `context` are the
    files that the model gets to read, `folders` hold `agents/NAME.md` and `skills/NAME.md`.
    """

    host: str
    dialect: str = ""
    context: tuple[str, ...]
    folders: tuple[str, ...]


# honoured under every name: it keeps files from the model
IGNORE_FILE: Final = ".ollamaignore"

OWN: Final = "hookline"
PERSONAS: Final[Mapping[str, Persona]] = {
    OWN: Persona(host="hookline-agent", context=("AGENTS.md", "OLLAMA.md"), folders=(".agents", ".ollama")),
    "ollm": Persona(host="ollm", dialect="ollm", context=("OLLM.md", "AGENTS.md"), folders=(".ollm",)),
    "ollama-cli": Persona(host="ollama-cli", dialect="ollama-cli", context=("OLLAMA.md",), folders=(".ollama",)),
    "cli-agent": Persona(host="cli-agent", dialect="cli-agent", context=("AGENT.md",), folders=(".config/agent",)),
}
