"""What an answer of a hook in one dialect becomes under an agent with another, computed from the tables."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from hookline.model.dialect import DialectSpec
from hookline.model.event import EVENTS, Ability, EventName, fallback_for
from hookline.model.hook import Hook

# the wishes that the matrix shows, and their events
MOMENTS: Final[tuple[tuple[Ability, EventName], ...]] = (
    (Ability.BLOCK, EventName.BEFORE_TOOL),
    (Ability.ASK, EventName.BEFORE_TOOL),
    (Ability.ARGS, EventName.BEFORE_TOOL),
    (Ability.CONTEXT, EventName.BEFORE_TOOL),
    (Ability.STOP, EventName.BEFORE_TOOL),
    (Ability.OUTPUT, EventName.AFTER_TOOL),
    (Ability.CONTEXT, EventName.AFTER_TOOL),
    (Ability.STOP, EventName.AFTER_TOOL),
    (Ability.BLOCK, EventName.BEFORE_AGENT),
    (Ability.CONTEXT, EventName.BEFORE_AGENT),
    (Ability.CONTEXT, EventName.SESSION_START),
    (Ability.FOLLOW_UP, EventName.AFTER_AGENT),
    (Ability.ALLOW, EventName.PERMISSION_REQUEST),
    (Ability.BLOCK, EventName.PERMISSION_REQUEST),
)

# the wish that a field of a hook stands for
_OF_FIELD: Final[Mapping[str, Ability]] = {
    "prompt": Ability.FOLLOW_UP,
    "deny": Ability.BLOCK,
    "confirm": Ability.ASK,
    "allow": Ability.ALLOW,
    "tell": Ability.MESSAGE,
    "context": Ability.CONTEXT,
}


class WishOutcome(Struct, frozen=True):
    """What becomes of a wish at an event of an agent; it `happens` if the agent has the event."""

    wanted: Ability
    event: EventName
    happens: bool
    became: Ability | None

    @property
    def is_whole(self) -> bool:
        """Whether the agent does exactly what was wished for."""
        return self.happens and self.became is self.wanted

    @property
    def word(self) -> str:
        """Return it in a word: yes, what it becomes, lost, or no event."""
        if not self.happens:
            return "no event"
        return "yes" if self.is_whole else str(self.became or "lost")


def translate_wish(host: DialectSpec, wanted: Ability, name: EventName) -> WishOutcome:
    """Return what becomes of a wish at an event of an agent."""
    if name not in host.events:
        return WishOutcome(wanted, name, happens=False, became=None)
    return WishOutcome(wanted, name, happens=True, became=fallback_for(wanted, abilities(host, name)))


def abilities(spec: DialectSpec, name: EventName) -> frozenset[Ability]:
    """Return what answers in a dialect can do at an event; in dialects without an agent, all that the event allows."""
    if spec.is_agent:
        return spec.abilities.get(spec.events.get(name, name), frozenset())
    event = EVENTS[name]
    blocking = frozenset() if event.can_block else frozenset({Ability.BLOCK, Ability.ASK, Ability.STOP})
    rewriting = {Ability.ARGS: "args", Ability.OUTPUT: "output"}
    return frozenset(Ability) - blocking - {ability for ability, what in rewriting.items() if event.rewrites != what}


def can_express(dialect: DialectSpec, wanted: Ability, name: EventName) -> bool:
    """Return whether a hook of a dialect can express a wish at an event."""
    return name in dialect.events and wanted in abilities(dialect, name)


def find_shortfalls(hook: Hook, host: DialectSpec) -> Iterator[WishOutcome]:
    """Yield what a hook needs and an agent cannot do at the hook's events."""
    needed = {Ability(answer) for answer in (hook.needs.answers if hook.needs is not None else ())}
    needed.update(ability for field, ability in _OF_FIELD.items() if getattr(hook, field))
    for name in (name for name in hook.on if name in EVENTS):
        for wanted in sorted(needed):
            outcome = translate_wish(host, wanted, EventName(name))
            if not outcome.is_whole:
                yield outcome


def explain_shortfall(shortfall: WishOutcome, host: DialectSpec) -> str:
    """Return a shortfall as a clause."""
    if not shortfall.happens:
        return f"{host.name} has no {shortfall.event}, so it never runs there"
    what = f"becomes {shortfall.became}" if shortfall.became else "is lost"
    return f"{host.name} cannot {shortfall.wanted} at {shortfall.event}: it {what}"
