"""Tool calls, and what they do."""

from msgspec.structs import replace

from hookline.effects.effects import Effects
from hookline.effects.tools import find_effects
from hookline.model.event import Event, EventName

CWD = "/p"


def call(tool: str, *, name: EventName = EventName.BEFORE_TOOL, native: str = "", **args: object) -> Event:
    """Make an event of a tool call."""
    return Event(name=name, tool=tool, args=args, cwd=CWD, native_tool=native)


def done(tool: str, *, native: str = "", **args: object) -> Effects:
    """Say what a call does."""
    return find_effects(Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, cwd=CWD, native_tool=native))


def texts(effects: Effects) -> Effects:
    """Leave out all but the lists that conditions have."""
    return replace(effects, commands=(), targets={})


def line(command: str) -> Effects:
    """Say what a shell line does."""
    return done("shell", command=command)
