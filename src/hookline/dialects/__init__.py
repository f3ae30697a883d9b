"""How systems spell events and answers: one module each, two ways, without side effects."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final, cast

from hookline.model.dialect import AGENTS, module_name
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
