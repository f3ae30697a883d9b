"""Agents that can be made to ask us: where their settings are, how ours get in there, and out again."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.vocabulary import hint, quoted
from hookline.errors import HostError
from hookline.hosts import (
    antigravity,
    claude_code,
    cline,
    codex_cli,
    copilot_cli,
    cursor,
    factory_droid,
    gemini_cli,
    kiro,
    opencode,
    qwen_code,
    windsurf,
)
from hookline.hosts.host import Host

_MODULES: Final = (
    claude_code,
    codex_cli,
    gemini_cli,
    qwen_code,
    cursor,
    copilot_cli,
    kiro,
    windsurf,
    cline,
    factory_droid,
    opencode,
    antigravity,
)

HOSTS: Final[Mapping[str, Host]] = MappingProxyType({module.HOST.name: module.HOST for module in _MODULES})


def find(name: str) -> Host:
    """Find an agent by its name, or by another word that people have for it.

    Raises:
        HostError: There is none.
    """
    plain = name.lower()
    words = {word: host for host in HOSTS.values() for word in (*host.spec.aliases, host.name)}
    if plain not in words:
        raise HostError(f"there is no agent {quoted(name)}{hint(name, words)}; `hookline hosts` lists them")
    return words[plain]
