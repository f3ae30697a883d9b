"""A skill and its hooks: they may stop it, and prepare what it is called with."""

from collections.abc import Mapping
from typing import Protocol

from hookline.core.tools import Hear
from hookline.errors import Blocked
from hookline.model.event import EventName
from hookline.model.verdict import Outcome


class Emit(Protocol):
    """How a skill reaches the hooks."""

    async def __call__(self, name: str, data: Mapping[str, object] | None = None, /) -> Outcome:
        """Emit the event."""


async def prepare(
    emit: Emit, name: str, parameters: Mapping[str, object], *, hear: Hear | None = None
) -> Mapping[str, object]:
    """Ask the hooks of a skill, and give the parameters as the last of them left them."""
    outcome = await emit(EventName.SKILL_TRIGGER, {"skill": name, "parameters": dict(parameters)})
    if hear is not None:
        hear(outcome)
    if outcome.blocked:
        raise Blocked(name, outcome)
    return outcome.args if outcome.args is not None else parameters
