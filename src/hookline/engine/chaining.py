"""Events raised by hooks: which may be raised, and how deep and how many. No I/O, no clock."""

from contextvars import ContextVar
from typing import Final

from hookline.model.event import CUSTOM_PREFIX, EVENTS, Event, EventName
from hookline.model.hook import Hook
from hookline.text import suggest

# how many hooks may lead to an event one after another
DEPTH: Final = 8
# how many events may come of one: a few hooks that raise what the others listen to could reach millions without a cycle
MOST: Final = 64

_RAISABLE: Final = frozenset(str(name) for name, spec in EVENTS.items() if spec.raisable and name != EventName.CUSTOM)
_MAY: Final = f"a hook may raise {CUSTOM_PREFIX}NAME, {', '.join(sorted(_RAISABLE))}"


def check_raisable(name: str) -> str:
    """Return why a hook may not raise an event, or "".

    The other events state that something happened to the agent, a file or the user, which only their source can know.
    """
    if name in _RAISABLE or (name.startswith(CUSTOM_PREFIX) and len(name) > len(CUSTOM_PREFIX)):
        return ""
    if name in {*EventName}:
        return f'the event "{name}" is not a hook\'s to raise; {_MAY}'
    hint = suggest(name, _RAISABLE) or f' (for an event of your own say "{CUSTOM_PREFIX}{name}")'
    return f'there is no event "{name}"{hint}'


def format_chain(event: Event, hook: Hook) -> str:
    """Return the hooks that led to an event, and on to a hook."""
    return " → ".join((*event.chain, hook.id))


class RaiseCounter:
    """How many events were raised because of one root event."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.events = 0


_COUNTER: Final[ContextVar[RaiseCounter | None]] = ContextVar("hookline_raised", default=None)


def raise_counter(event: Event) -> RaiseCounter:
    """Return the counter of the root event, shared by all tasks that run hooks because of it."""
    counter = _COUNTER.get()
    if counter is None or (not event.chain and (not event.id or counter.root != event.id)):
        counter = RaiseCounter(event.id)
        _COUNTER.set(counter)
    return counter


def count_raise(event: Event, hook: Hook, name: str) -> str:
    """Count an event that a hook is about to raise; return why a limit forbids it, or ""."""
    counter = raise_counter(event)
    if len(event.chain) >= DEPTH:
        return f'the event "{name}" was not raised: {DEPTH} hooks led here already: {format_chain(event, hook)}'
    if counter.events >= MOST:
        return f'the event "{name}" was not raised: {MOST} events came of this one already: {format_chain(event, hook)}'
    counter.events += 1
    return ""
