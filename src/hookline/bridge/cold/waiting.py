"""What our modules use of asyncio, for one call in a process of its own: one thing at a time is waited for.

To import asyncio takes longer than everything else such a call does. This stands in its place, under its name, and has
nothing that could run two things at once: calls that need more are answered with asyncio itself.
"""

import os
import select
import signal
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Final, TypeVar

T = TypeVar("T")

_HANGUP: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL


class CancelledError(BaseException):
    """What waits is to end."""


class Future:
    """A value that is not there yet."""

    __slots__ = ("__weakref__", "_callbacks", "_is_done", "_problem", "_value")

    def __init__(self) -> None:
        self._is_done = False
        self._value: object = None
        self._problem: BaseException | None = None
        self._callbacks: list[Callable[[Future], object]] = []

    def done(self) -> bool:
        """Say whether it is there, or never will be."""
        return self._is_done

    def cancelled(self) -> bool:
        """Say whether nobody wants it any more."""
        return isinstance(self._problem, CancelledError)

    def set_result(self, value: object) -> None:
        """Give the value."""
        self._settle(value, None)

    def set_exception(self, problem: BaseException) -> None:
        """Say why there will be none."""
        self._settle(None, problem)

    def cancel(self) -> bool:
        """Say that nobody wants it any more."""
        if self._is_done:
            return False
        self._settle(None, CancelledError())
        return True

    def result(self) -> object:
        """Give the value, or raise what keeps it from being there."""
        if self._problem is not None:
            raise self._problem
        return self._value

    def add_done_callback(self, call: Callable[["Future"], object]) -> None:
        """Call a function as soon as it is there."""
        if self._is_done:
            call(self)
        else:
            self._callbacks.append(call)

    def _settle(self, value: object, problem: BaseException | None) -> None:
        self._is_done, self._value, self._problem = True, value, problem
        for call in self._callbacks:
            call(self)

    def __await__(self) -> Generator["Future", None, object]:
        if not self._is_done:
            yield self
        return self.result()


class Handle:
    """Something to be done at a time."""

    __slots__ = ("_args", "_call", "when")

    def __init__(self, when: float, call: Callable[..., object], args: tuple[object, ...]) -> None:
        self.when = when
        self._call: Callable[..., object] | None = call
        self._args = args

    def cancel(self) -> None:
        """Do not do it."""
        self._call = None

    def cancelled(self) -> bool:
        """Say whether it is not to be done any more."""
        return self._call is None

    def run(self) -> None:
        """Do it, once."""
        call, self._call = self._call, None
        if call is not None:
            call(*self._args)


class Task:
    """The one thing that is done, as far as it can be ended."""

    __slots__ = ("is_cancelled",)

    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> bool:
        """End it where it waits next."""
        self.is_cancelled = True
        return True


class Loop:
    """Wait for files, times and signals, and call whoever wants to know."""

    def __init__(self) -> None:
        self.task = Task()
        self._soon: list[Handle] = []
        self._timers: list[Handle] = []
        self._readers: dict[int, tuple[Callable[..., object], tuple[object, ...]]] = {}
        self._writers: dict[int, tuple[Callable[..., object], tuple[object, ...]]] = {}
        self._signals: dict[int, Callable[[], object]] = {}
        self._wakeup = -1
        self._is_closed = False

    time = staticmethod(time.monotonic)

    def is_closed(self) -> bool:
        """Say whether it is over."""
        return self._is_closed

    def create_future(self) -> Future:
        """Make a value that is not there yet."""
        return Future()

    def call_soon(self, call: Callable[..., object], *args: object) -> Handle:
        """Call a function when nothing else is to be done first."""
        handle = Handle(0.0, call, args)
        self._soon.append(handle)
        return handle

    def call_later(self, delay: float, call: Callable[..., object], *args: object) -> Handle:
        """Call a function after some seconds."""
        return self.call_at(self.time() + delay, call, *args)

    def call_at(self, when: float, call: Callable[..., object], *args: object) -> Handle:
        """Call a function at a time."""
        handle = Handle(when, call, args)
        self._timers.append(handle)
        return handle

    def add_reader(self, handle: int, call: Callable[..., object], *args: object) -> None:
        """Call a function whenever there is something to read."""
        self._readers[handle] = (call, args)

    def remove_reader(self, handle: int) -> bool:
        """Do not look at it any more."""
        return self._readers.pop(handle, None) is not None

    def add_writer(self, handle: int, call: Callable[..., object], *args: object) -> None:
        """Call a function whenever something can be written."""
        self._writers[handle] = (call, args)

    def remove_writer(self, handle: int) -> bool:
        """Do not look at it any more."""
        return self._writers.pop(handle, None) is not None

    def add_signal_handler(self, number: int, call: Callable[[], object]) -> None:
        """Call a function when a signal comes."""
        self._signals[number] = call
        if self._wakeup < 0:
            read, self._wakeup = os.pipe()
            os.set_blocking(read, False)
            os.set_blocking(self._wakeup, False)
            signal.set_wakeup_fd(self._wakeup, warn_on_full_buffer=False)
            self.add_reader(read, self._on_signal, read)
        # what arrives is read from the pipe, so that waiting ends; the handler has nothing left to do
        signal.signal(number, _nothing)
        signal.siginterrupt(number, False)  # noqa: FBT003 - it takes nothing else

    def _on_signal(self, handle: int) -> None:
        for number in os.read(handle, 64):
            call = self._signals.get(number)
            if call is not None:
                call()

    def run(self, work: Coroutine[Future | None, None, T]) -> T:
        """Do one thing to its end."""
        problem: BaseException | None = None
        try:
            while True:
                try:
                    waited = work.send(None) if problem is None else work.throw(problem)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
                try:
                    problem = self._wait(waited)
                except Exception as found:  # noqa: BLE001 - of a callback: whoever waits cleans up, and says what it means
                    problem = found
        finally:
            self._is_closed = True

    def _wait(self, waited: Future | None) -> BaseException | None:
        """Wait until something is there; gives what is to be raised instead."""
        if waited is None:
            self._turn(0.0)
        while not self.task.is_cancelled and waited is not None and not waited.done():
            self._turn(None)
        if self.task.is_cancelled:
            self.task.is_cancelled = False
            return CancelledError()
        return None

    def _turn(self, longest: float | None) -> None:
        soon, self._soon = self._soon, []
        for handle in soon:
            handle.run()
        if soon:
            longest = 0.0
        self._timers = [timer for timer in self._timers if not timer.cancelled()]
        if self._timers:
            first = max(0.0, min(timer.when for timer in self._timers) - self.time())
            longest = first if longest is None else min(first, longest)
        self._look(longest)
        now = self.time()
        for timer in sorted(self._timers, key=_when):
            if timer.when <= now:
                timer.run()

    def _look(self, longest: float | None) -> None:
        poll = select.poll()
        for handle in self._readers.keys() | self._writers.keys():
            wanted = (select.POLLIN if handle in self._readers else 0) | (
                select.POLLOUT if handle in self._writers else 0
            )
            poll.register(handle, wanted)
        # rounded up: a timer that is looked for a moment too early is looked for again and again
        for handle, events in poll.poll(None if longest is None else int(longest * 1000) + (longest > 0)):
            for table, event in ((self._readers, select.POLLIN), (self._writers, select.POLLOUT)):
                entry = table.get(handle)
                if entry is not None and events & (event | _HANGUP):
                    call, args = entry
                    call(*args)


def _nothing(*_: object) -> None:
    pass


def _when(handle: Handle) -> float:
    return handle.when


_running: list[Loop] = []


def get_running_loop() -> Loop:
    """Give the loop.

    Raises:
        RuntimeError: There is none.
    """
    if not _running:
        raise RuntimeError("no running event loop")
    return _running[-1]


def current_task() -> Task | None:
    """Give what is done now."""
    return _running[-1].task if _running else None


def run(work: Coroutine[Future | None, None, T]) -> T:
    """Do one thing; ended by Ctrl-C, it may still clean up."""
    loop = Loop()
    interrupted: list[bool] = []

    def interrupt() -> None:
        interrupted.append(True)
        loop.task.cancel()

    with suppress(ValueError):
        loop.add_signal_handler(signal.SIGINT, interrupt)
    _running.append(loop)
    try:
        return loop.run(work)
    except CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        _running.pop()


async def to_thread(call: Callable[..., T], *args: object, **more: object) -> T:
    """Call a function; nothing else is waiting to be done meanwhile."""
    return call(*args, **more)


def shield(waited: Future) -> Future:
    """Give what is waited for: it is only ever ended by who made it."""
    return waited
