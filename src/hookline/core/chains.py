"""Events that hooks raise: which may be raised, and how far one may lead to the next. No I/O, no clock."""

import difflib
from contextvars import ContextVar
from typing import Final

from hookline.model.event import CUSTOM_PREFIX, EVENTS, Event, EventName
from hookline.model.hook import Hook

# how many hooks may lead to an event one after another
DEPTH: Final = 8
# and how many events may come of one altogether: a few hooks that all raise what the others listen to
# would come to millions without ever going in a circle
MOST: Final = 64

_RAISABLE: Final = frozenset(str(name) for name, spec in EVENTS.items() if spec.raisable and name != EventName.CUSTOM)
_MAY: Final = f"a hook may raise {CUSTOM_PREFIX}NAME, {', '.join(sorted(_RAISABLE))}"


def objection(name: str) -> str:
    """Say why a hook may not raise an event; empty when it may.

    The other events say that something happened to the agent, to a file or to a person, which is not a hook's to say.
    """
    if name in _RAISABLE or (name.startswith(CUSTOM_PREFIX) and len(name) > len(CUSTOM_PREFIX)):
        return ""
    if name in {*EventName}:
        return f'the event "{name}" is not a hook\'s to raise; {_MAY}'
    near = difflib.get_close_matches(name, _RAISABLE, n=1)
    hint = f'did you mean "{near[0]}"?' if near else f'for an event of your own say "{CUSTOM_PREFIX}{name}"'
    return f'there is no event "{name}" ({hint})'


def told(event: Event, hook: Hook) -> str:
    """Tell the way that led to an event, and on to a hook."""
    return " → ".join((*event.chain, hook.id))


class _Count:
    """How many events came of one that nobody raised."""

    __slots__ = ("events", "root")

    def __init__(self, root: str) -> None:
        self.root = root
        self.events = 0


_COUNT: Final[ContextVar[_Count | None]] = ContextVar("hookline_raised", default=None)


def begin(event: Event) -> None:
    """Let hooks that run side by side, each in a task of its own, count the events they raise together."""
    _count(event)


def refusal(event: Event, hook: Hook, name: str) -> str:
    """Count an event that a hook is about to raise; gives why it may not be raised, or nothing."""
    count = _count(event)
    if len(event.chain) >= DEPTH:
        return f'the event "{name}" was not raised: {DEPTH} hooks led here already: {told(event, hook)}'
    if count.events >= MOST:
        return f'the event "{name}" was not raised: {MOST} events came of this one already: {told(event, hook)}'
    count.events += 1
    return ""


def _count(event: Event) -> _Count:
    """Give the count of the event that all of this began with; it is known wherever its hooks run."""
    count = _COUNT.get()
    if count is None or (not event.chain and (not event.id or count.root != event.id)):
        count = _Count(event.id)
        _COUNT.set(count)
    return count
