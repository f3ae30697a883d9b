"""The keys that a hook may have where it stands."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats import OF_AGENTS, grouped, native, ollm, per_file
from hookline.config.values import Key

# one that is not here says by itself what it does not take
_KEYS: Final[Mapping[str, Mapping[str, Key]]] = MappingProxyType(
    {
        "native": native.KEYS,
        "grouped": {**grouped.KEYS, "matcher": native.KEYS["matcher"]},
        "ollm": ollm.KEYS,
        "per_file": per_file.KEYS,
    }
)
# what stands deeper in the entry than its other keys
_DEEPER: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "kiro": frozenset({"command", "prompt"}),
        "kiro-legacy": frozenset({"command", "prompt", "timeout", "files", "matcher"}),
    }
)


def keys_of(name: str) -> Mapping[str, Key] | None:
    """Give the keys of hooks in one format; None when nobody but the format knows them."""
    if name not in OF_AGENTS:
        return _KEYS.get(name)
    from hookline.config.formats.agents import FORMS  # noqa: PLC0415 - many tables, for few

    style = FORMS[name].style
    deeper = _DEEPER.get(name, frozenset())
    own = {key: value for key, value in style.keys.items() if key not in deeper}
    return {**own, "matcher": style.group_keys["matcher"]} if style.group_keys else own


def in_a_group(pointer: tuple[str | int, ...]) -> bool:
    """Say whether a hook is one of a group, which has the matcher for all of them."""
    return len(pointer) > 3 and pointer[-2] == "hooks"  # noqa: PLR2004 - an event, a group, its hooks, one of them
