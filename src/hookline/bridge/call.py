"""One call of an agent, and what is known of it when nothing else is."""

from enum import StrEnum

from msgspec import Struct

from hookline.model.event import Event, EventName
from hookline.ports import Dialect


class IfBroken(StrEnum):
    """What an agent is told when the hooks could not be asked."""

    BLOCK = "block"
    ALLOW = "allow"


class Call(Struct, frozen=True, kw_only=True):
    """What an agent said, and in which language: `native` is its own name of the event.

    Without `if_broken`, the hooks that are there decide: what they want when they fall over themselves.
    """

    dialect: Dialect
    native: str
    raw: bytes
    if_broken: IfBroken | None = None


def is_known(dialect: Dialect, native: str) -> bool:
    """Say whether an agent has an event of this name."""
    spec = dialect.SPEC
    return native in (spec.abilities or {}) or native in spec.events.values() or native in spec.more_events


def moment(dialect: Dialect, native: str) -> Event:
    """Give the event that a name alone tells of: what an agent said could not be read, and it waits for an answer."""
    spec = dialect.SPEC
    usual = next((name for name, own in spec.events.items() if own == native), None)
    if usual is not None:
        return Event(name=usual, host=spec.name)
    more = spec.more_events.get(native)
    if more is not None:
        return Event(name=more, native_name=native, host=spec.name)
    return Event(name=EventName.CUSTOM, data={"event_name": native}, native_name=native, host=spec.name)
