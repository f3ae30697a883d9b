"""Background work: queued runs of hooks, and messages for the next agent."""

from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.model.verdict import EffectKind

# an endless burst is cut after this many times the quiet that was asked for
LONGEST_DEBOUNCE: Final = 10

_UNREADABLE: Final = "unreadable"


class JobState(StrEnum):
    """What becomes of a job; one that is done is gone."""

    WAITING = "waiting"
    RUNNING = "running"
    DEAD = "dead"


class Job(Struct, frozen=True, kw_only=True):
    """One queued run of a background hook.

    `hook` and `source`, the file of its definition, find the hook again in the `project` folder; one whose id is only
    its place in that file is found by its `mark`. `attempts` counts the runs that were begun, `redelivered` those of them whose worker died in the middle, so that it is unknown how far the
    hook came. `due` and `created` count seconds since the epoch. `error` is what went wrong the last time.
    """

    id: str
    hook: str
    source: str
    project: str
    event: Event
    state: JobState = JobState.WAITING
    attempts: int = 0
    redelivered: int = 0
    created: float = 0.0
    due: float = 0.0
    error: str = ""
    worker: str = ""
    mark: str = ""

    @property
    def failures(self) -> int:
        """How often the hook itself went wrong."""
        return self.attempts - self.redelivered

    @property
    def is_readable(self) -> bool:
        """Whether the event is the one that the hook was put here for."""
        return self.event != unreadable_event(str(self.event.data.get(_UNREADABLE, "")))


def unreadable_event(written: str) -> Event:
    """Return a placeholder for an event that this version of Hookline cannot decode."""
    return Event(name=EventName.CUSTOM, data={"event_name": "", _UNREADABLE: written})


def fold_events(hook: Hook, earlier: Event, newer: Event) -> Event:
    """Return the event that one run stands for in place of two: the newer one, in a batch with the files of both."""
    if not hook.batch or not (earlier.files or newer.files):
        return newer
    return replace(newer, files=tuple(dict.fromkeys((*earlier.files, *newer.files))))


class EventRef(Struct, frozen=True, kw_only=True):
    """An event by name: enough to write a line into its trace."""

    trace: str
    name: EventName
    session: str


class Ticket(Struct, frozen=True, kw_only=True):
    """The place a hook got in the queue; `instead_of` is the earlier event that it now stands for, too."""

    id: str
    instead_of: EventRef | None = None


class InboxMessage(Struct, frozen=True, kw_only=True):
    """Something for the next agent in a project: a prompt, context, or a message, as a hook said it."""

    project: str
    text: str
    kind: EffectKind = EffectKind.ASK_AGENT
    hook: str = ""
    trace: str = ""
    created: float = 0.0
    id: str = ""
