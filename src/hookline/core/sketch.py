"""The trace of a quick emit: noted down in a few strokes, written out when somebody reads it.

Writing the records of an emit costs more than a plain function that says nothing. So a sketch goes to the bus before
the first hook is asked, and gets the seconds of each hook that has said nothing; the bus writes it out when the loop has
time. Where all hooks have said nothing, that is the outcome.

Somebody may read it before it is done: a hook that publishes a record of its own, or the loop of another thread. A cut
is put into it then. What stands behind a cut was not read and goes on in another sketch. Items only ever come to the end
of the list, which Python does at once for all threads, so both sides see the same order and nothing is lost or told twice.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from hookline.core.recording import beginning, ending, record, said
from hookline.model.event import Event, EventName
from hookline.model.exchange import Reply
from hookline.model.hook import Hook
from hookline.model.plan import Skip
from hookline.model.record import Record, Step
from hookline.model.session import Session
from hookline.model.verdict import Outcome, Verdict

CUT: Final = object()


class Silent(Struct, frozen=True):
    """Hooks that are asked one after another and say nothing, whether each is only observed, and who is left out."""

    hooks: tuple[Hook, ...]
    observed: tuple[bool, ...]
    skipped: tuple[Skip, ...]

    def verdict(self, place: int, seconds: float) -> Verdict:
        """Give the verdict of one of them."""
        return Verdict(hook=self.hooks[place].id, duration=seconds, observed=self.observed[place])


class Seed(Struct, frozen=True):
    """What an event and all of its records are made from, in the order in which a sketch begins with it.

    `at` counts nanoseconds since the epoch.
    """

    name: EventName
    tool: str
    native_tool: str
    data: Mapping[str, object]
    args: Mapping[str, object]
    session: Session
    cwd: str
    at: int
    id: str
    asked: Silent

    def event(self) -> Event:
        """Make the event."""
        return Event(
            name=self.name,
            data=self.data,
            tool=self.tool,
            native_tool=self.native_tool,
            args=self.args,
            session=self.session,
            cwd=self.cwd,
            timestamp=self.at // 1_000_000,
            id=self.id,
        )


class Told(Struct, frozen=True):
    """What an earlier sketch of the same event has told: the seconds of each hook."""

    seconds: tuple[float, ...]


# The fields of a seed, and then what happened: Told, the seconds of hooks, and cuts. One list costs half of what a seed
# and a list do, and the garbage collector has little to look at.
Sketch = list[object]
SEED: Final = len(Seed.__struct_fields__)
DATA: Final = Seed.__struct_fields__.index("data")
ARGS: Final = Seed.__struct_fields__.index("args")


def seed_of(sketch: Sketch) -> Seed:
    """Give what a sketch begins with."""
    return Seed(*sketch[:SEED])  # type: ignore[arg-type] # by its definition


def written_out(sketch: Sketch) -> Iterator[Record]:
    """Give the records of what a sketch has by now; what comes to it later belongs to another one."""
    before, seconds = _taken(sketch)
    seed = seed_of(sketch)
    event, asked = seed.event(), seed.asked
    began, total = seed.at / 1e9, 0.0
    if before is None:
        yield beginning(event, at=began)
        yield from _starting(event, asked, 0, began)
    verdicts: list[Verdict] = []
    for place, duration in enumerate(seconds):
        total += duration
        verdicts.append(asked.verdict(place, duration))
        if place >= len(before or ()):
            at = began + total
            yield record(event, Step.COMPLETED, said(verdicts[-1], Reply()), hook=verdicts[-1].hook, at=at)
            yield from _starting(event, asked, place + 1, at)
    if len(verdicts) == len(asked.hooks) != len(before or ()):
        outcome = Outcome(verdicts=tuple(verdicts), skipped=asked.skipped, trace=event.id, duration=total)
        yield from ending(event, outcome, at=began + total)


def rest(sketch: Sketch) -> Sketch:
    """Cut a sketch here, and give the one that it goes on in; what already stands behind a cut goes with it."""
    _, seconds = _taken(sketch)
    place = sketch.index(CUT, SEED)
    return [*sketch[:SEED], Told(seconds), *(item for item in sketch[place:] if item is not CUT)]


def _taken(sketch: Sketch) -> tuple[tuple[float, ...] | None, tuple[float, ...]]:
    """Cut a sketch; gives the seconds that were told before, None where nothing was, and all seconds up to the cut."""
    sketch.append(CUT)
    happened = sketch[SEED : sketch.index(CUT, SEED)]
    told = happened[0] if happened else None
    before = told.seconds if isinstance(told, Told) else None
    return before, (*(before or ()), *(item for item in happened if isinstance(item, float)))


def _starting(event: Event, asked: Silent, place: int, at: float) -> Iterator[Record]:
    for hook in asked.hooks[place : place + 1]:
        yield record(event, Step.STARTED, {"dialect": hook.dialect}, hook=hook.id, at=at)
