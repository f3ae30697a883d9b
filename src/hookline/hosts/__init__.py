"""The agents that Hookline can be installed into."""

from collections.abc import Mapping
from typing import Final

from hookline.errors import HostError
from hookline.hosts.agents import TABLE
from hookline.hosts.host import Host
from hookline.model.names import AGENT_ALIASES, resolve_agent
from hookline.text import quote, suggest

HOSTS: Final[Mapping[str, Host]] = {host.name: host for host in TABLE}


def find(name: str) -> Host:
    """Find an agent by its name, or by another word that people have for it.

    Raises:
        HostError: There is none.
    """
    agent = resolve_agent(name)
    if not agent:
        known = suggest(name, (*AGENT_ALIASES, *HOSTS))
        raise HostError(f"there is no agent {quote(name)}{known}; `hookline hosts` lists them")
    return HOSTS[agent]
