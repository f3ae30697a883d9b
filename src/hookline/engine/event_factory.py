"""Build events from the names and fields of any dialect."""

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from time import time
from typing import Final, TypedDict

from hookline import json_codec
from hookline.engine.registry import event_key
from hookline.engine.trace_records import new_id
from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, TOOL_SPECS, TOOLS, Event, EventName, Session
from hookline.model.names import resolve_events, resolve_tools

_NAMES: Final = {str(name): name for name in EventName}
ANONYMOUS: Final = Session()


class EventOptions(TypedDict, total=False):
    """The keyword arguments of `Engine.emit`, `emit_sync` and `event`.

    A tool call is given as `tool` and `args`, or inside the data of the event. `host` names the agent in traces.
    """

    tool: str
    args: Mapping[str, object] | None
    session: Session
    cwd: str
    host: str


def resolve_event(name: str) -> str:
    """Return the canonical name of an event that any dialect knows; another name is returned unchanged."""
    return name if name in _NAMES else canonical_events(name)[0]


def canonical_events(name: str) -> tuple[str, ...]:
    """Return every canonical event that a name stands for: some agents use one name for several events."""
    return resolve_events(name) or (name,)


@lru_cache(256)
def _canonical_tool(tool: str) -> tuple[str, str]:
    """Return the canonical name of a tool, and its given name where that differs."""
    meant = resolve_tools(tool) if tool and tool not in TOOLS else ()
    # a name of several tools stands for the first of them
    canonical = next((known for known in TOOL_SPECS if known in meant), None)
    return (tool, "") if canonical is None else (canonical, tool)


def take_tool(fields: dict[str, object], tool: str = "") -> tuple[str, dict[str, object]]:
    """Remove the tool call from an event's fields, and return it: `tool_name` or `tool` unless given, and `args`.

    Raises:
        ConfigError: The arguments are neither an object nor the JSON of one, so a guard could not read them.
    """
    tool = tool or str(fields.pop("tool_name", "") or fields.pop("tool", ""))
    if not tool:
        return "", {}
    args = fields.pop("args", {})
    if isinstance(args, str | bytes):
        # models return arguments as text
        with suppress(ValueError):
            args = json_codec.load(args)
    if args is None or isinstance(args, Mapping):
        return tool, dict(args or {})
    raise ConfigError(f"the arguments of {tool} are {type(args).__name__}, wanted an object or the JSON of one")


def event_of(name: str, data: Mapping[str, object] | None = None) -> Event:
    """Build an event from a name and its fields; `tool_name` and `args` become the tool call.

    Raises:
        ConfigError: There is no such event, or the arguments are not readable.
    """
    fields = dict(data or {})
    tool, args = take_tool(fields)
    return Event(name=_read_name(name, fields), data=fields, tool=tool, args=args)


def _read_name(name: str, fields: dict[str, object]) -> EventName:
    """Return the event of a canonical name; the name of a custom event goes into its fields."""
    known = _NAMES.get(name)
    if known is not None:
        return known
    fields["event_name"] = event_key(name).removeprefix(CUSTOM_PREFIX)
    return EventName.CUSTOM


def make_event(
    name: str,
    data: Mapping[str, object] | None = None,
    *,
    tool: str = "",
    args: Mapping[str, object] | None = None,
    session: Session = ANONYMOUS,
    cwd: str = "",
    project: str = "",
    host: str = "",
) -> Event:
    """Build an event with an id and the current time.

    Raises:
        ConfigError: There is no such event.
        TypeError: An argument is of another type.
    """
    if tool or args is not None or type(data) is not dict or session is not ANONYMOUS:
        check_arguments(data, tool=tool, args=args, session=session)
    fields = dict(data) if data else {}
    event_name = _NAMES.get(name) or _read_name(resolve_event(name), fields)
    if (tool and args is None) or (not tool and ("tool" in fields or "tool_name" in fields)):
        tool, own_args = take_tool(fields, tool)
        args = own_args if args is None else args
    # cached by a plain str: a subclass may compare differently
    tool, native = _canonical_tool(str.__str__(tool)) if tool else ("", "")
    now = int(time() * 1000)
    return Event(
        name=event_name,
        data=fields,
        tool=tool,
        native_tool=native,
        args=dict(args) if args else {},
        session=session,
        cwd=cwd,
        project=project,
        timestamp=now,
        id=new_id(now),
        host=host,
    )


def check_arguments(
    data: object, *, tool: object = "", args: object = None, session: object = ANONYMOUS, **_others: object
) -> None:
    """Refuse arguments of `emit` that are of another type.

    Raises:
        TypeError: An argument is of another type.
    """
    if not isinstance(tool, str):
        raise TypeError(f"tool is {tool!r}, wanted the name of a tool")
    if not isinstance(session, Session):
        raise TypeError(f"session is {session!r}, wanted a Session")
    # the exact type first: isinstance with an abstract class is slow, and every emit comes here
    if data is not None and type(data) is not dict and not isinstance(data, Mapping):
        raise TypeError(f"data is {data!r}, wanted a dict")
    if args is not None and type(args) is not dict and not isinstance(args, Mapping):
        raise TypeError(f"args is {args!r}, wanted a dict")
