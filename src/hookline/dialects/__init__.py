"""How systems spell events and answers: one module each, two ways, without side effects."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final, cast

from hookline.ports import Dialect

# the module of each name, in the order in which they are asked who knows a word
_MODULES: Final[Mapping[str, str]] = {
    "ollm-protocol": "ollm_protocol",
    "ollm": "ollm",
    "ollm-rpc": "ollm_rpc",
    "ollama-cli": "ollama_cli",
    "cli-agent": "cli_agent",
    "hookline": "hookline",
    "claude-code": "claude_code",
    "codex-cli": "codex_cli",
    "qwen-code": "qwen_code",
    "factory-droid": "factory_droid",
    "antigravity": "antigravity",
    "copilot-cli": "copilot_cli",
    "gemini-cli": "gemini_cli",
    "opencode": "opencode",
    "cursor": "cursor",
    "windsurf": "windsurf",
    "cline": "cline",
    "kiro": "kiro",
}

# What is asked of all of them before anybody speaks: written down here, so that one call of one agent does not wait
# for the modules of seventeen others.
SHELL_DIALECTS: Final = frozenset(_MODULES) - {"ollm-protocol", "ollm", "ollm-rpc", "ollama-cli", "hookline"}
TEMPLATE_DIALECTS: Final = frozenset({"cli-agent"})


class _Dialects(Mapping[str, "Dialect"]):
    """The dialects by their names; each is imported when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Dialect] = {}

    def __getitem__(self, name: str) -> Dialect:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = cast("Dialect", import_module(f"{__name__}.{_MODULES[name]}"))
        return found

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __repr__(self) -> str:
        return f"<{len(_MODULES)} dialects>"


DIALECTS: Final[Mapping[str, Dialect]] = _Dialects()
