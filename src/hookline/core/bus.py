"""Who is told what: records go out to sinks, application events come in to handlers."""

import asyncio
import inspect
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final, TypeVar

from hookline.core.sketch import Sketch, written_out
from hookline.errors import EngineError
from hookline.model.record import Record
from hookline.ports import Sink

logger: Final = logging.getLogger(__name__)

ANY_TOPIC: Final = "*"

# A loop may end, or hang, before it has given what waits, and two threads may both think that the other one wakes
# somebody. So that this does not keep all that comes after, somebody is woken again at every so many.
_AGAIN: Final = 64
# as much as may wait; a store that gets more than it can hold at once loses some of it
_MOST: Final = 5_000
# how many seconds the beginning of something may wait for its end, so that both are given at once: most hooks are
# over before, and nobody who looks on sees the difference
_TOGETHER: Final = 0.05

Handler = Callable[[str, object], object]
Unsubscribe = Callable[[], None]
# gives records when the loop has time to write them: what they say must not change until then
Later = Callable[[], Iterable[Record]]
_T = TypeVar("_T")


class MessageBus:
    """Pass records to sinks and application events to handlers.

    `listening` is False while there is no sink: whoever would publish can save itself the record. Sinks cannot
    change anything, and one that fails is logged; handlers answer, and theirs are the emitter's answers.
    """

    def __init__(self) -> None:
        self.listening = False
        # Both are rebuilt and never changed, so that whoever is going through them is not disturbed.
        self._sinks: tuple[Sink, ...] = ()
        self._handlers: tuple[tuple[str, Handler], ...] = ()
        self._changing = threading.RLock()
        # One thread gives at a time, so that each trace keeps its order; a sink may publish something itself.
        self._giving = threading.RLock()
        # what waits to be given to the sinks; another list as soon as somebody begins to give it
        self.late: list[Record | Sketch | Later] = []
        # the list that a loop was woken for, and the one that it is to look at in a while
        self.woken: list[Record | Sketch | Later] | None = None
        self._timed: list[Record | Sketch | Later] | None = None
        self._timer: tuple[float, weakref.ref[asyncio.AbstractEventLoop]] | None = None
        # The loop holds tasks weakly; one that nobody else holds may vanish in the middle.
        self._posted: set[asyncio.Task[None]] = set()
        self._draining: set[asyncio.Task[None]] = set()
        _BUSES.add(self)

    def subscribe(self, sink: Sink) -> Unsubscribe:
        """Send every record to this sink until the function given back is called."""
        with self._changing:
            self._set_sinks((*self._sinks, sink))
        left = [sink]

        def unsubscribe() -> None:
            with self._changing:
                if left:
                    self._set_sinks(_without(self._sinks, left.pop()))

        return unsubscribe

    def publish_soon(self, record: Record | Later) -> None:
        """Give a record to every sink when the loop has time, in order: no sink ever delays an answer."""
        self.put_aside(record)

    def put_aside(self, item: Record | Sketch | Later) -> list[Record | Sketch | Later]:
        """Do the same for us, a call less for each; a sketch stands for several records. Gives the list that it waits in."""
        late = self.late
        late.append(item)
        if self.woken is not late or len(late) % _AGAIN == 1:
            (self.wake if len(late) < _MOST else self._catch_up)()
        return late

    def put_aside_for_now(self, item: Record | Sketch | Later) -> None:
        """Do the same for the beginning of something: whoever tells of its end wakes the loop, or time does."""
        late = self.late
        late.append(item)
        loop, timer = asyncio.get_running_loop(), self._timer
        # the loop that was to look at it may be gone
        is_minded = self._timed is late and timer is not None and timer[1]() is loop
        if not is_minded or len(late) % _AGAIN == 1:
            self._wake_in_a_while(loop)

    def _wake_in_a_while(self, loop: asyncio.AbstractEventLoop) -> None:
        if len(self.late) >= _MOST:
            self._catch_up()
            return
        self._timed = self.late
        now = monotonic()
        # one timer for all that comes until then
        if self._timer is None or now >= self._timer[0] or self._timer[1]() is not loop:
            self._timer = (now + _TOGETHER, weakref.ref(loop))
            loop.call_later(_TOGETHER, self._catch_up)

    def wake(self) -> None:
        """Have what waits given to the sinks when the loop has time: once for all that comes until then."""
        self.woken = self.late
        asyncio.get_running_loop().call_soon(self._catch_up)

    def wake_again(self) -> None:
        """Have this loop do it, too, if something waits: whoever was woken for it may never come.

        A caller that never lets its loop do anything else has it done at once, when there is too much of it.
        """
        if len(self.late) >= _MOST:
            self._catch_up()
        elif self.late:
            self.wake()

    def _catch_up(self) -> None:
        with self._giving:
            late, self.late = self.late, []
            self.woken = self._timed = None
            waiting = iter(late)
            try:
                for item in waiting:
                    if isinstance(item, Record):
                        self._give(item)
                    else:
                        self._give_all(item)
            finally:
                # what an interrupt has left goes first the next time
                self.late[:0] = waiting

    def _give_all(self, noted: Sketch | Later) -> None:
        try:
            for record in written_out(noted) if isinstance(noted, list) else noted():
                self._give(record)
        except Exception:
            # a mistake of ours in one trace is no reason to lose those behind it
            logger.exception("the trace of an event could not be written out")

    def publish(self, record: Record) -> None:
        """Give a record to every sink."""
        with self._giving:
            if self.late:
                self._catch_up()
            self._give(record)

    def _give(self, record: Record) -> None:
        for sink in self._sinks:
            try:
                sink(record)
            except Exception:
                logger.exception("sink %r failed on a record of trace %s", sink, record.trace)

    def on(self, topic: str, handler: Handler) -> Unsubscribe:
        """Call `handler(topic, data)`, which may be async, for this topic, or for every topic with "*"."""
        entry = (topic, handler)
        with self._changing:
            self._handlers = (*self._handlers, entry)
        left = [entry]

        def unsubscribe() -> None:
            with self._changing:
                if left:
                    self._handlers = _without(self._handlers, left.pop())

        return unsubscribe

    async def emit(self, topic: str, data: object = None) -> list[object]:
        """Call the handlers one after another, in the order they came, and give their answers.

        Raises:
            ExceptionGroup: Handlers failed; the others were called all the same.
        """
        answers: list[object] = []
        problems: list[Exception] = []
        for wanted, handler in self._handlers:
            if wanted not in (topic, ANY_TOPIC):
                continue
            try:
                answer = handler(topic, data)
                answers.append(await answer if inspect.isawaitable(answer) else answer)
            except Exception as problem:  # noqa: BLE001 - raised below, when everybody has been asked
                problems.append(problem)
        if problems:
            raise ExceptionGroup(f'handlers of "{topic}" failed', problems)
        return answers

    def post(self, topic: str, data: object = None) -> None:
        """Emit without waiting; what fails is logged.

        Raises:
            EngineError: No event loop is running in this thread.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise EngineError(
                f'cannot post "{topic}": no event loop is running in this thread; '
                f'call post from async code, or run "await bus.emit(…)" with asyncio.run'
            ) from None
        task = loop.create_task(self._emit_alone(topic, data), name=f"post {topic}")
        self._posted.add(task)
        task.add_done_callback(self._posted.discard)

    async def drain(self) -> None:
        """Pass on every record, and wait for everything posted in this event loop and what that posts in turn."""
        self._catch_up()
        loop = asyncio.get_running_loop()
        me = asyncio.current_task()
        # A handler may drain, too: it waits for nobody who may be waiting for it.
        mine = self._posted & {me}
        self._draining |= mine
        try:
            while waiting := {task for task in self._posted - self._draining if task.get_loop() is loop}:
                await asyncio.wait(waiting)
        finally:
            self._draining -= mine

    async def _emit_alone(self, topic: str, data: object) -> None:
        try:
            await self.emit(topic, data)
        except Exception:
            logger.exception('posted "%s" failed', topic)

    def _set_sinks(self, sinks: tuple[Sink, ...]) -> None:
        self._sinks = sinks
        self.listening = bool(sinks)


_BUSES: Final[weakref.WeakSet[MessageBus]] = weakref.WeakSet()


def _forget() -> None:
    """Begin anew in a forked child: what waited before is given by the parent."""
    for bus in _BUSES:
        bus.late = []
        bus._timer = None  # noqa: SLF001 - its own, as below
        # who held it is not there any more
        bus._giving = threading.RLock()  # noqa: SLF001 - its own


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _without(items: tuple[_T, ...], item: _T) -> tuple[_T, ...]:
    """Leave out one that is equal; `store.write` is another object each time it is written down."""
    place = items.index(item)
    return (*items[:place], *items[place + 1 :])
