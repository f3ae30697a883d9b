"""One descriptor of an event loop for all its children.

To watch a descriptor through asyncio and forget it again costs more than to start the child's pipes. Here the loop
watches one epoll object for as long as it lives, and a child costs two system calls.
"""

import os
import select
import threading
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol
from weakref import WeakKeyDictionary, ref

# Loops are not ours, so what belongs to one is kept beside it, and goes with it.
_HUBS: Final[WeakKeyDictionary[AbstractEventLoop, "Hub"]] = WeakKeyDictionary()


_CHANGING: Final = threading.Lock()

# Seconds. Most hooks are done before this, and what they said is in the pipes when they exit: then each wake-up of the
# loop that only reads a pipe is saved, 0.4 ms of our own time. A hook that fills its pipe first waits this long, once.
MOMENT: Final = 0.01
# a timer may come this much before its time
_RESOLUTION: Final = 0.0005

# what is left is told in the next round; room for all that the system could tell would be made at each call
_AT_ONCE: Final = 64

_ONCE: Final = getattr(select, "EPOLLIN", 0) | getattr(select, "EPOLLONESHOT", 0)


class _Last:
    """The loop that asked last, and its hub: most programs have one, and to look it up costs a microsecond each time."""

    __slots__ = ("pair",)

    def __init__(self) -> None:
        # one pair, so that a thread that asks meanwhile sees a loop with its own hub
        self.pair: tuple[ref[AbstractEventLoop], ref[Hub]] | None = None


_LAST: Final = _Last()


class Awaited(Protocol):
    """What a task waits for."""

    def wake(self) -> None:
        """Go on with the task."""

    def wake_soon(self) -> None:
        """Go on with the task in the loop's next round."""


class Hub:
    """Call a function when a descriptor has something to read."""

    __slots__ = ("__weakref__", "_calls", "_epoll", "_is_telling", "_is_timed", "_later", "_spent", "_woken")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._epoll = select.epoll()
        self._calls: dict[int, tuple[Callable[[], None], Callable[[], None], bool]] = {}
        self._later: deque[tuple[float, Callable[[], None]]] = deque()
        self._is_timed = False
        self._woken: list[Awaited] = []
        self._is_telling = False
        self._spent: list[int] = []
        loop.add_reader(self._epoll.fileno(), self._dispatch)

    def watch(self, descriptor: int, call: Callable[[], None], *, drop: Callable[[], None], once: bool = False) -> None:
        """Call the function whenever the descriptor is readable, until it is forgotten, or `once`.

        `drop` is called instead when the loop was closed under it: nobody would ever call the function.
        """
        self._calls[descriptor] = (call, drop, once)
        wanted = _ONCE if once else select.EPOLLIN
        try:
            self._epoll.register(descriptor, wanted)
        except FileExistsError:
            # it was told of once, and is still the same
            self._epoll.modify(descriptor, wanted)

    def forget(self, descriptor: int) -> None:
        """Stop watching; to be called before the descriptor is closed, because its number is used again.

        What was told once is forgotten already, and goes with its descriptor.
        """
        if self._calls.pop(descriptor, None) is not None and not self._epoll.closed:
            self._epoll.unregister(descriptor)

    def close(self) -> None:
        """Drop what is still watched, and give the descriptor back."""
        for _, drop, _ in list(self._calls.values()):
            drop()
        self._epoll.close()

    def call_in_a_moment(self, loop: AbstractEventLoop, call: Callable[[], None]) -> None:
        """Call a function some milliseconds from now: one timer of the loop serves all that come until then."""
        due = loop.time() + MOMENT
        self._later.append((due, call))
        if not self._is_timed:
            self._is_timed = True
            loop.call_at(due, self._on_time, loop)

    def close_soon(self, descriptors: tuple[int, ...]) -> None:
        """Close what is not needed any more; where somebody is to be woken first, that is when they have had their turn."""
        self._spent += descriptors
        if not self._is_telling:
            self.close_spent()

    def close_spent(self) -> None:
        """Close now what would be closed soon."""
        if self._spent:
            spent, self._spent = self._spent, []
            for descriptor in spent:
                os.close(descriptor)

    def _on_time(self, loop: AbstractEventLoop) -> None:
        late = loop.time() + _RESOLUTION
        try:
            while self._later and self._later[0][0] <= late:
                self._later.popleft()[1]()
        finally:
            if self._later:
                loop.call_at(self._later[0][0], self._on_time, loop)
            else:
                self._is_timed = False

    def wake(self, awaited: Awaited) -> None:
        """Go on with who waits, when everything was read that there is to read.

        Not before: it may close descriptors, and open others under their numbers.
        """
        self._woken.append(awaited)

    def _dispatch(self) -> None:
        self._is_telling = True
        try:
            self._tell()
        finally:
            self._is_telling = False
            self.close_spent()

    def _tell(self) -> None:
        wrong: BaseException | None = None
        for descriptor, _ in self._epoll.poll(0, _AT_ONCE):
            watched = self._calls.get(descriptor)
            if watched is not None:
                call, _, once = watched
                if once:
                    del self._calls[descriptor]
                try:
                    call()
                except BaseException as problem:  # noqa: BLE001 - raised below: the others would not be told of again
                    wrong = wrong or problem
        woken, self._woken = self._woken, []
        for awaited in woken:
            if wrong is not None:
                # a task that ends the program ends none of the others
                awaited.wake_soon()
                continue
            try:
                awaited.wake()
            except BaseException as problem:  # noqa: BLE001 - as above
                wrong = problem
        if wrong is not None:
            raise wrong


def hub_of(loop: AbstractEventLoop) -> Hub:
    """Give the loop's hub.

    Raises:
        OSError: There is no descriptor left for it.
    """
    last = _LAST.pair
    if last is not None and last[0]() is loop:
        hub = last[1]()
        if hub is not None:
            return hub
    hub = _HUBS.get(loop)
    if hub is None:
        sweep()
        with _CHANGING:
            hub = _HUBS[loop] = Hub(loop)
    _LAST.pair = (ref(loop), ref(hub))
    return hub


def sweep() -> None:
    """Close the hubs of loops that are closed and that somebody still holds on to."""
    with _CHANGING:
        closed = [_HUBS.pop(loop) for loop in list(_HUBS) if loop.is_closed()]
    for hub in closed:
        hub.close()
