"""Who is working with which agent."""

from collections.abc import Mapping

from msgspec import Struct


class Session(Struct, frozen=True, kw_only=True):
    """One conversation with one agent.

    `started` counts milliseconds since the epoch. `agent` is the agent's state as it tells it (mode,
    context, history), `profile` the person's preferences and settings.
    """

    id: str = ""
    user: str = ""
    started: int = 0
    model: str = ""
    provider: str = ""
    config: Mapping[str, object] = {}
    agent: Mapping[str, object] = {}
    profile: Mapping[str, object] = {}
