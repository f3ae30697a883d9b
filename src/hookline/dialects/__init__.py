"""How systems spell events and answers: one module each, two ways, without side effects."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final, cast

from hookline.model.dialect import AGENTS, FILE_READERS, module_name
from hookline.ports import Dialect

# In the order in which they are asked who knows a word.
_NAMES: Final = ("ollm-protocol", "ollm", "ollm-rpc", "ollama-cli", "cli-agent", "hookline", *AGENTS)
# Facts about all dialects that are needed before any of them is imported.
SHELL_DIALECTS: Final = frozenset({"cli-agent", *AGENTS})
TEMPLATE_DIALECTS: Final = frozenset({"cli-agent", "hookline"})


@cache
def _load(name: str) -> Dialect:
    return cast("Dialect", import_module(f"{__name__}.{module_name(name)}"))


class _Dialects(Mapping[str, "Dialect"]):
    """The dialects by their names; each is imported when it is first asked for."""

    def __getitem__(self, name: str) -> Dialect:
        if name not in _NAMES:
            raise KeyError(name)
        return _load(name)

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


DIALECTS: Final[Mapping[str, Dialect]] = _Dialects()

# variables that only one agent sets for its hooks
ENVIRONMENT: Final = (
    *("CURSOR_VERSION", "FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR", "QWEN_PROJECT_DIR", "GEMINI_SESSION_ID"),
    "CLAUDECODE",
)
# keys that documents of an agent have, and those of a reader of its files lack, at events that can be denied
_OWN_KEYS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("claude-code", "cursor"): ("permission_mode",),
    ("claude-code", "copilot-cli"): ("permission_mode", "tool_use_id"),
}


def detect_agent(document: Mapping[str, object], *, named: str) -> str | None:
    """Return the agent that wrote a document where it is not the one that the installed command names.

    The environment is no evidence: an agent that another agent started inherits all of it.
    """
    for agent in FILE_READERS.get(named, ()):
        signature = DIALECTS[agent].SPEC.signature
        has_own_key = any(key in document for key in _OWN_KEYS.get((named, agent), ()))
        if signature is not None and signature(document) and not has_own_key:
            return agent
    return None
