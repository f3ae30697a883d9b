"""Tool calls, and what they do."""

from hookline.core.effects.found import Effects
from hookline.core.effects.tools import effects_of
from hookline.model.event import Event, EventName

CWD = "/p"


def call(tool: str, *, name: EventName = EventName.BEFORE_TOOL, native: str = "", **args: object) -> Event:
    """Make an event of a tool call."""
    return Event(name=name, tool=tool, args=args, cwd=CWD, native_tool=native)


def done(tool: str, *, native: str = "", **args: object) -> Effects:
    """Say what a call does."""
    return effects_of(Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, cwd=CWD, native_tool=native))


def line(command: str) -> Effects:
    """Say what a shell line does."""
    return done("shell", command=command)
