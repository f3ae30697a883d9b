"""Work for the background: hooks that wait in the queue, and what waits for an agent to come by."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from hookline.model.event import Event, EventName
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
    """One run of a background hook that is still owed.

    `hook` and `source`, the file of its definition, find the hook again in the `project` folder; one whose id is only
    its place in that file is found by its `mark`. `attempts` counts the runs that were begun, `redelivered` those of them whose worker died in the middle, so that nobody knows how far the
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
        return self.event != unreadable(str(self.event.data.get(_UNREADABLE, "")))


def unreadable(written: str) -> Event:
    """Stand for an event that this version of Hookline cannot read."""
    return Event(name=EventName.CUSTOM, data={"event_name": "", _UNREADABLE: written})


class Moment(Struct, frozen=True, kw_only=True):
    """An event by name: enough to write a line into its trace."""

    trace: str
    name: EventName
    session: str


class Ticket(Struct, frozen=True, kw_only=True):
    """The place a hook got in the queue; `instead_of` is the earlier event that it now stands for, too."""

    id: str
    instead_of: Moment | None = None


class Letter(Struct, frozen=True, kw_only=True):
    """Something for the next agent in a project: a prompt, context, or a message, as a hook said it."""

    project: str
    text: str
    kind: EffectKind = EffectKind.ASK_AGENT
    hook: str = ""
    trace: str = ""
    created: float = 0.0
    id: str = ""
