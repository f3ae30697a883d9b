"""Payloads: what each agent sends at an event, and what Hookline reads from it."""

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hookline.dialects import DIALECTS
from hookline.engine.event_factory import canonical_events
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.ports import Dialect
from hookline.text import quote, suggest

_HOOK: Final = Hook(id="test", name="test", kind="command", command="test")


def list_agents(event: EventName | str = "") -> tuple[str, ...]:
    """Return the names of all agents, or of those that have an event."""
    agents = {name: dialect.SPEC for name, dialect in DIALECTS.items() if dialect.SPEC.is_agent}
    return tuple(name for name, spec in agents.items() if not event or EventName(event) in spec.events)


def find_dialect(name: str) -> Dialect:
    """Return a dialect by its name or by a short name of its agent.

    Raises:
        ConfigError: There is none.
    """
    words = {word: dialect for own, dialect in DIALECTS.items() for word in (own, *dialect.SPEC.aliases)}
    if name not in words:
        raise ConfigError(f"there is no dialect {quote(name)}{suggest(name, words)}; there are {', '.join(DIALECTS)}")
    return words[name]


def payload(agent: str, event: Event) -> bytes:
    """Return the bytes that an agent, or a system with a dialect of its own, sends at an event.

    An event without a folder happens in the current one.

    Raises:
        ConfigError: There is no such agent, or it does not have the event.
    """
    dialect = find_dialect(agent)
    spec = dialect.SPEC
    if spec.is_agent and event.name not in {*spec.events, EventName.CUSTOM}:
        agents = ", ".join(list_agents(event.name)) or "no agent"
        raise ConfigError(f"{spec.name} has no event {event.name}; {agents} has it")
    if not event.cwd:
        event = replace(event, cwd=str(Path.cwd()))
    return dialect.encode_event(event, _HOOK).body


def read_payload(agent: str, raw: bytes, event: str = "") -> Event:
    """Return the event that Hookline reads from an agent's payload.

    `event` is the event in the words of any dialect, for agents whose payloads do not name it.

    Raises:
        ConfigError: There is no such agent.
        DialectError: It is no payload of this agent, or neither the payload nor `event` says which event it is.
    """
    dialect = find_dialect(agent)
    names = canonical_events(event) if event else ()
    native = next((dialect.SPEC.events[EventName(name)] for name in names if name in dialect.SPEC.events), event)
    return dialect.decode_event(raw, native)
