"""What an agent can do with an answer, and what becomes of an answer it cannot carry."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct


class Ability(StrEnum):
    """One thing that an answer may do at one moment of one agent.

    At the end of a turn, `block` and `follow_up` send the agent back to work, and `stop` lets it rest for good.
    """

    ALLOW = "allow"
    BLOCK = "block"
    ASK = "ask"
    STOP = "stop"
    ARGS = "rewrite_args"
    OUTPUT = "rewrite_output"
    CONTEXT = "context"
    MESSAGE = "message"
    FOLLOW_UP = "follow_up"


class Loss(Struct, frozen=True):
    """What an answer wanted and the agent cannot do, and what it became; None where nothing was left of it."""

    wanted: Ability
    became: Ability | None
    message: str


# What stands in for each, the best first. Nothing here is weaker than what was asked for where something is at stake: a
# question nobody can ask is a no, and a call that cannot be changed does not run unchanged.
INSTEAD: Final[Mapping[Ability, tuple[Ability, ...]]] = MappingProxyType(
    {
        Ability.ALLOW: (),
        Ability.BLOCK: (Ability.STOP, Ability.FOLLOW_UP, Ability.CONTEXT, Ability.MESSAGE),
        Ability.ASK: (Ability.BLOCK, Ability.STOP, Ability.CONTEXT, Ability.MESSAGE),
        Ability.STOP: (Ability.BLOCK, Ability.CONTEXT, Ability.MESSAGE),
        Ability.ARGS: (Ability.BLOCK, Ability.STOP),
        Ability.OUTPUT: (Ability.CONTEXT, Ability.BLOCK, Ability.MESSAGE),
        Ability.CONTEXT: (Ability.MESSAGE,),
        Ability.MESSAGE: (),
        # a wish for later is no reason to stop what happens now
        Ability.FOLLOW_UP: (Ability.CONTEXT, Ability.MESSAGE),
    }
)


def instead(wanted: Ability, able: frozenset[Ability]) -> Ability | None:
    """Give what an agent that is able to do this much does in place of what is wanted; None where there is nothing."""
    if wanted in able:
        return wanted
    return next((other for other in INSTEAD[wanted] if other in able), None)
