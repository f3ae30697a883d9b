"""Events for tests, with sample values for everything that a test does not name, and payloads as agents send them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.debug.samples import complete_event
from hookline.dialects import DIALECTS
from hookline.engine.event_factory import canonical_events
from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, EVENTS, TOOL_SPECS, Event, EventName, Session
from hookline.model.hook import Hook
from hookline.model.names import known_events, resolve_events
from hookline.ports import Dialect
from hookline.text import find_closest, quote, suggest

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


_NEARLY: Final = 0.8


def event(
    name: str,
    *,
    tool: str = "",
    args: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    session: Session | None = None,
    cwd: str = "",
    agent: str = "",
) -> Event:
    """Build an event by its name in any dialect, or `custom:NAME`; what is not given is a sample.

    With `agent`, it is the event as Hookline reads it from that agent's payload.

    Raises:
        ConfigError: There is no such event or agent, or the agent does not have the event.
    """
    names = (name,) if name.startswith(CUSTOM_PREFIX) else resolve_events(name)
    if not names:
        raise ConfigError(f"there is no event {quote(name)}{suggest(name, known_events())}")
    made = complete_event(names[0], tool=tool, args=args, data=data, cwd=cwd)
    if session is not None:
        made = replace(made, session=session)
    return read_payload(agent, payload(agent, made), made.name) if agent else made


class ToolCallBuilder(Struct, frozen=True):
    """Builds an event that is about a tool call: `before_tool("shell", command="git push")`."""

    name: EventName

    def __call__(
        self,
        tool: str = "shell",
        /,
        *,
        args: Mapping[str, object] | None = None,
        session: Session | None = None,
        cwd: str = "",
        agent: str = "",
        **values: object,
    ) -> Event:
        """Build the event; fields of the event are its data, and all other values are arguments of the tool.

        Raises:
            TypeError: A value is nearly called like an argument of the tool or a field of the event.
        """
        fields = EVENTS[self.name].fields
        data = {key: values.pop(key) for key in tuple(values) if key in fields}
        made = event(self.name, tool=tool, args={**values, **(args or {})}, data=data, session=session, cwd=cwd)
        spec = TOOL_SPECS.get(made.tool)
        _refuse_misspelled(values, {*fields, *(name.rstrip("?") for name in spec.arguments)} if spec else (), made.tool)
        return event(self.name, tool=tool, args=made.args, data=data, session=session, cwd=cwd, agent=agent)


class EventBuilder(Struct, frozen=True):
    """Builds an event that is not about a tool call: `before_agent(prompt="Delete everything")`."""

    name: EventName

    def __call__(self, *, session: Session | None = None, cwd: str = "", agent: str = "", **data: object) -> Event:
        """Build the event with these fields.

        Raises:
            TypeError: A field is nearly called like a field of the event.
        """
        _refuse_misspelled(data, EVENTS[self.name].fields, self.name)
        return event(self.name, data=data, session=session, cwd=cwd, agent=agent)


def _refuse_misspelled(
    values: Mapping[str, object], known: "frozenset[str] | set[str] | tuple[str, ...]", owner: str
) -> None:
    for name in values:
        if name not in known and (near := find_closest(name, known, cutoff=_NEARLY)):
            raise TypeError(f"{owner} has no {name!r}; did you mean {near!r}?")


before_tool: Final = ToolCallBuilder(EventName.BEFORE_TOOL)
after_tool: Final = ToolCallBuilder(EventName.AFTER_TOOL)
tool_failed: Final = ToolCallBuilder(EventName.TOOL_FAILED)
permission_request: Final = ToolCallBuilder(EventName.PERMISSION_REQUEST)

setup: Final = EventBuilder(EventName.SETUP)
session_start: Final = EventBuilder(EventName.SESSION_START)
session_end: Final = EventBuilder(EventName.SESSION_END)
before_agent: Final = EventBuilder(EventName.BEFORE_AGENT)
after_agent: Final = EventBuilder(EventName.AFTER_AGENT)
before_model: Final = EventBuilder(EventName.BEFORE_MODEL)
after_model: Final = EventBuilder(EventName.AFTER_MODEL)
before_tool_selection: Final = EventBuilder(EventName.BEFORE_TOOL_SELECTION)
skill_trigger: Final = EventBuilder(EventName.SKILL_TRIGGER)
pre_compress: Final = EventBuilder(EventName.PRE_COMPRESS)
post_compress: Final = EventBuilder(EventName.POST_COMPRESS)
context_overflow: Final = EventBuilder(EventName.CONTEXT_OVERFLOW)
subagent_start: Final = EventBuilder(EventName.SUBAGENT_START)
subagent_stop: Final = EventBuilder(EventName.SUBAGENT_STOP)
file_created: Final = EventBuilder(EventName.FILE_CREATED)
file_edited: Final = EventBuilder(EventName.FILE_EDITED)
file_deleted: Final = EventBuilder(EventName.FILE_DELETED)
git_commit: Final = EventBuilder(EventName.GIT_COMMIT)
git_message: Final = EventBuilder(EventName.GIT_MESSAGE)
git_push: Final = EventBuilder(EventName.GIT_PUSH)
git_checkout: Final = EventBuilder(EventName.GIT_CHECKOUT)
error: Final = EventBuilder(EventName.ERROR)
user_triggered: Final = EventBuilder(EventName.USER_TRIGGERED)
scheduled: Final = EventBuilder(EventName.SCHEDULED)
notification: Final = EventBuilder(EventName.NOTIFICATION)
custom: Final = EventBuilder(EventName.CUSTOM)
