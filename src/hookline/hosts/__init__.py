"""The agents that Hookline can be installed into."""

from collections.abc import Mapping
from typing import Final

from hookline.config.known_names import quote, suggest
from hookline.errors import HostError
from hookline.hosts.agents import AGENTS
from hookline.hosts.host import Host

HOSTS: Final[Mapping[str, Host]] = {host.name: host for host in AGENTS}


def find(name: str) -> Host:
    """Find an agent by its name, or by another word that people have for it.

    Raises:
        HostError: There is none.
    """
    plain = name.lower()
    words = {word: host for host in HOSTS.values() for word in (*host.spec.aliases, host.name)}
    if plain not in words:
        raise HostError(f"there is no agent {quote(name)}{suggest(name, words)}; `hookline hosts` lists them")
    return words[plain]
