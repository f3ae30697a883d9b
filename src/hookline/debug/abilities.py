"""What an answer becomes between a hook of one language and an agent of another, worked out from the tables."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from hookline.model.ability import Ability, instead
from hookline.model.dialect import DialectSpec
from hookline.model.event import EVENTS, EventName
from hookline.model.hook import Hook

# what people ask for, and the moments at which they do
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

# what each kind of hook always asks for
_OF_KIND: Final[Mapping[str, Ability]] = {"ask_agent": Ability.FOLLOW_UP}


class Carried(Struct, frozen=True):
    """One wish at one moment of one agent: whether the moment exists there, and what the wish becomes."""

    wanted: Ability
    event: EventName
    happens: bool
    became: Ability | None

    @property
    def is_whole(self) -> bool:
        """Whether it is carried as it is."""
        return self.happens and self.became is self.wanted

    @property
    def word(self) -> str:
        """Say it in one word: yes, what it becomes, lost, or that the moment does not exist."""
        if not self.happens:
            return "no event"
        return "yes" if self.is_whole else str(self.became or "lost")


def carried(host: DialectSpec, wanted: Ability, name: EventName) -> Carried:
    """Say what becomes of a wish at an agent's moment."""
    if name not in host.events:
        return Carried(wanted, name, happens=False, became=None)
    return Carried(wanted, name, happens=True, became=instead(wanted, abilities(host, name)))


def abilities(spec: DialectSpec, name: EventName) -> frozenset[Ability]:
    """Say what an answer in a language can do at a moment: for those without an agent, all that the moment allows."""
    if spec.abilities is not None:
        return spec.abilities.get(spec.events.get(name, name), frozenset())
    return frozenset(Ability) - _beyond(name)


def _beyond(name: EventName) -> frozenset[Ability]:
    """Give what a moment itself has no room for."""
    moment = EVENTS[name]
    blocking = frozenset() if moment.can_block else frozenset({Ability.BLOCK, Ability.ASK, Ability.STOP})
    rewriting = {Ability.ARGS: "args", Ability.OUTPUT: "output"}
    return blocking | {ability for ability, what in rewriting.items() if moment.rewrites != what}


def says(dialect: DialectSpec, wanted: Ability, name: EventName) -> bool:
    """Say whether a hook of a language has words for a wish at a moment."""
    return name in dialect.events and wanted in abilities(dialect, name)


def shortfalls(hook: Hook, host: DialectSpec) -> Iterator[Carried]:
    """Give what a hook counts on and an agent cannot do at the events it listens to."""
    needed = {Ability(answer) for answer in (hook.needs.answers if hook.needs is not None else ())}
    if hook.kind in _OF_KIND:
        needed.add(_OF_KIND[hook.kind])
    for name in filter(_is_known, hook.on):
        for wanted in sorted(needed):
            found = carried(host, wanted, EventName(name))
            if not found.is_whole:
                yield found


def _is_known(name: str) -> bool:
    return name in EVENTS


def explained(found: Carried, host: DialectSpec) -> str:
    """Say a shortfall in a sentence."""
    if not found.happens:
        return f"{host.name} has no {found.event}, so it never runs there"
    what = f"becomes {found.became}" if found.became else "is lost"
    return f"{host.name} cannot {found.wanted} at {found.event}: it {what}"
