"""The capabilities of an agent at an event, and the fallbacks for what it does not support."""

from collections.abc import Mapping
from enum import StrEnum
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


class Degradation(Struct, frozen=True):
    """A part of an answer that the agent does not support, and its replacement; None where nothing is left of it."""

    wanted: Ability
    became: Ability | None
    message: str


# What stands in for each, the best first. Nothing here is weaker than what was asked for where something is at stake: a
# question that cannot be asked becomes a denial, and a call that cannot be changed does not run unchanged.
FALLBACKS: Final[Mapping[Ability, tuple[Ability, ...]]] = {
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


def fallback_for(wanted: Ability, able: frozenset[Ability]) -> Ability | None:
    """Return what an agent that is able to do this much does in place of what is wanted; None where there is nothing."""
    if wanted in able:
        return wanted
    return next((other for other in FALLBACKS[wanted] if other in able), None)
