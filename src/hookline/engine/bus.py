"""The message bus: trace records go out to sinks, application events come in to handlers."""

import asyncio
import inspect
import logging
import os
import threading
import weakref
from asyncio import get_running_loop
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from hookline.errors import EngineError
from hookline.model.record import Record
from hookline.ports import Sink

logger: Final = logging.getLogger(__name__)

ANY_TOPIC: Final = "*"

# With more pending records than this, a caller flushes them itself: a store drops what exceeds its own buffer.
_MAX_PENDING: Final = 5_000

Handler = Callable[[str, object], object]
Unsubscribe = Callable[[], None]
# builds records at flush time from arguments that must not change until then
BuildRecords = Callable[..., Iterable[Record]]
_T = TypeVar("_T")


class MessageBus:
    """Pass records to sinks and application events to handlers.

    `listening` is False while there is no sink, so that callers need not build records. Sinks cannot change an
    outcome, and a failing sink is logged. Handlers return answers, which `emit` gives to its caller.
    """

    def __init__(self) -> None:
        self.listening = False
        # Both are replaced and never mutated, so that iterating over them needs no lock.
        self._sinks: tuple[Sink, ...] = ()
        self._handlers: tuple[tuple[str, Handler], ...] = ()
        self._changing = threading.RLock()
        self._pending: deque[tuple[BuildRecords, tuple[object, ...]]] = deque()
        # the loop on which a flush is scheduled
        self._flush_loop: asyncio.AbstractEventLoop | None = None
        # One thread flushes at a time, so that each trace keeps its order; reentrant because a sink may publish.
        self._flush_lock = threading.RLock()
        self._is_flushing = False
        # The loop holds tasks weakly; without this reference a task may be collected before it ends.
        self._posted: set[asyncio.Task[None]] = set()
        self._draining: set[asyncio.Task[None]] = set()
        _BUSES.add(self)

    def subscribe(self, sink: Sink) -> Unsubscribe:
        """Send every record to this sink until the returned function is called."""
        with self._changing:
            self._set_sinks((*self._sinks, sink))
        return self._once(lambda: self._set_sinks(_without(self._sinks, sink)))

    def enqueue(self, record: Record) -> None:
        """Deliver a record, in order, when the running loop is idle: a sink never delays an answer."""
        self.enqueue_lazily(tuple, (record,))

    def enqueue_lazily(self, build: BuildRecords, *arguments: object) -> None:
        """Deliver the records that `build(*arguments)` returns, like `enqueue`: building them delays no answer either."""
        self._pending.append((build, arguments))
        loop = get_running_loop()
        # Compared by loop: one that was closed, or hangs, before its flush must not hold back later records.
        if self._flush_loop is not loop:
            self._flush_loop = loop
            loop.call_soon(self._flush)
        elif len(self._pending) >= _MAX_PENDING:
            self._flush()

    def publish(self, record: Record) -> None:
        """Deliver a record to every sink now, after all pending ones."""
        self._pending.append((tuple, ((record,),)))
        self._flush()

    def _flush(self) -> None:
        with self._flush_lock:
            if self._is_flushing:
                # a sink published: the loop below delivers its record after the current one
                return
            self._is_flushing = True
            self._flush_loop = None
            try:
                while self._pending:
                    build, arguments = self._pending.popleft()
                    try:
                        records = tuple(build(*arguments))
                    except Exception:
                        logger.exception("the trace of an event could not be written out")
                        continue
                    for record in records:
                        for sink in self._sinks:
                            try:
                                sink(record)
                            except Exception:
                                logger.exception("sink %r failed on a record of trace %s", sink, record.trace)
            finally:
                self._is_flushing = False

    def on(self, topic: str, handler: Handler) -> Unsubscribe:
        """Call `handler(topic, data)`, which may be async, for this topic, or for every topic with "*"."""
        entry = (topic, handler)
        with self._changing:
            self._handlers = (*self._handlers, entry)

        def remove() -> None:
            self._handlers = _without(self._handlers, entry)

        return self._once(remove)

    def _once(self, remove: Callable[[], None]) -> Unsubscribe:
        """Return a function that removes a subscription the first time it is called."""
        subscribed = [remove]

        def unsubscribe() -> None:
            with self._changing:
                while subscribed:
                    subscribed.pop()()

        return unsubscribe

    async def emit(self, topic: str, data: object = None) -> list[object]:
        """Call the handlers one after another in the order of registration, and return their answers.

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
            except Exception as problem:  # noqa: BLE001 - raised below, after every handler was called
                problems.append(problem)
        if problems:
            raise ExceptionGroup(f'handlers of "{topic}" failed', problems)
        return answers

    def post(self, topic: str, data: object = None) -> None:
        """Emit without waiting; failures are logged.

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
        task = loop.create_task(self._emit_logged(topic, data), name=f"post {topic}")
        self._posted.add(task)
        task.add_done_callback(self._posted.discard)

    async def _emit_logged(self, topic: str, data: object) -> None:
        try:
            await self.emit(topic, data)
        except Exception:
            logger.exception('posted "%s" failed', topic)

    async def drain(self) -> None:
        """Deliver every record, and wait for everything posted in this event loop and what that posts in turn."""
        self._flush()
        loop = asyncio.get_running_loop()
        # A handler may drain as well: two handlers must not wait for each other.
        own = self._posted & {asyncio.current_task()}
        self._draining |= own
        try:
            while waiting := {task for task in self._posted - self._draining if task.get_loop() is loop}:
                await asyncio.wait(waiting)
        finally:
            self._draining -= own

    def _set_sinks(self, sinks: tuple[Sink, ...]) -> None:
        self._sinks = sinks
        self.listening = bool(sinks)

    def reset_after_fork(self) -> None:
        """Drop what the parent will deliver, and the lock whose holder does not exist in the child."""
        self._pending = deque()
        self._flush_lock = threading.RLock()
        self._is_flushing = False
        self._flush_loop = None


_BUSES: Final[weakref.WeakSet[MessageBus]] = weakref.WeakSet()


def _reset_all() -> None:
    for bus in _BUSES:
        bus.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)


def _without(items: tuple[_T, ...], item: _T) -> tuple[_T, ...]:
    """Remove one equal item; a bound method such as `store.write` is a new object at each access."""
    place = items.index(item)
    return (*items[:place], *items[place + 1 :])
