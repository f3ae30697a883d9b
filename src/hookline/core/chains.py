"""Events that hooks raise: which may be raised, and how far one may lead to the next. No I/O, no clock."""

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from hookline.core.registry import CUSTOM_PREFIX
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.hook import Hook

# how many hooks may lead to an event one after another
DEPTH: Final = 8
# and how many events may come of one hook's event altogether: a few hooks that all raise what the others listen to
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
    """How many events were raised since one that nobody raised."""

    __slots__ = ("events",)

    def __init__(self) -> None:
        self.events = 0


_COUNT: Final[ContextVar[_Count | None]] = ContextVar("hookline_raised", default=None)


@contextmanager
def raising(event: Event, hook: Hook, name: str) -> Iterator[str]:
    """Count an event that a hook raises while it is handled; gives why it may not be raised, or nothing."""
    count = _COUNT.get() if event.chain else None
    token = None
    if count is None:
        count = _Count()
        token = _COUNT.set(count)
    try:
        if len(event.chain) >= DEPTH:
            yield f'the event "{name}" was not raised: {DEPTH} hooks led here already: {told(event, hook)}'
        elif count.events >= MOST:
            yield f'the event "{name}" was not raised: {MOST} events came of this one already: {told(event, hook)}'
        else:
            count.events += 1
            yield ""
    finally:
        if token is not None:
            _COUNT.reset(token)
