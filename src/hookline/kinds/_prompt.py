"""A result that one task waits for, and that it is given on the spot.

A future tells who waits for it in the loop's next round: that is a look at all descriptors, and as much of the
interpreter's work as reading an answer is. Whoever stands in a callback of the loop, with nothing left to do, can as well go
on with the task itself.
"""

from asyncio import AbstractEventLoop, CancelledError
from collections.abc import Callable, Generator
from contextvars import Context
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Prompt(Generic[T]):
    """What a task awaits in place of a future; it is one as far as asyncio's tasks ask.

    Belongs to one event loop, and one task waits for it.
    """

    __slots__ = ("_asyncio_future_blocking", "_call", "_cancelled", "_context", "_done", "_loop", "_problem", "_result")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._asyncio_future_blocking = False
        self._loop = loop
        self._call: Callable[[Prompt[T]], object] | None = None
        self._context: Context | None = None
        self._done = False
        self._cancelled = False
        self._result: T | None = None
        self._problem: BaseException | None = None

    def __await__(self) -> Generator[Self, None, T]:
        if not self._done:
            self._asyncio_future_blocking = True
            # what went wrong is raised here: the task has asked for the result before it goes on
            yield self
            if self._problem is None and self._done:
                return self._result
        return self.result()

    def give(self, result: T) -> None:
        """Set the result without telling who waits: `wake` does, once everything else is done."""
        if not self._done:
            self._result, self._done = result, True

    def wake(self) -> None:
        """Go on with the task that waits, here and now: only from a callback of the loop."""
        call, context = self._call, self._context
        if call is not None and context is not None:
            self._call = None
            context.run(call, self)

    def set_result(self, result: T) -> None:
        """Set the result; who waits goes on in the loop's next round."""
        self.give(result)
        self.wake_soon()

    def set_exception(self, problem: BaseException) -> None:
        """Set what went wrong in place of a result."""
        if not self._done:
            self._problem, self._done = problem, True
            self.wake_soon()

    def cancel(self, msg: object = None) -> bool:
        """Give up waiting, as asyncio's tasks ask for it when they are cancelled."""
        if self._done:
            return False
        self._done = self._cancelled = True
        self._problem = CancelledError() if msg is None else CancelledError(msg)
        self.wake_soon()
        return True

    def result(self) -> T:
        """Give the result, or raise what went wrong.

        Raises:
            RuntimeError: There is none yet.
        """
        if self._problem is not None:
            raise self._problem
        if not self._done:
            raise RuntimeError("there is no result yet")
        return self._result  # type: ignore[return-value] # set where it is done

    def done(self) -> bool:
        """Say whether there is a result, or nobody waits for one any more."""
        return self._done

    def cancelled(self) -> bool:
        """Say whether nobody waits for it any more."""
        return self._cancelled

    def get_loop(self) -> AbstractEventLoop:
        """Give the loop it belongs to."""
        return self._loop

    def add_done_callback(self, call: "Callable[[Prompt[T]], object]", *, context: Context) -> None:
        """Take who is to be told; asyncio's tasks give themselves."""
        self._call, self._context = call, context
        if self._done:
            self.wake_soon()

    def wake_soon(self) -> None:
        """Go on with the task in the loop's next round."""
        call, context = self._call, self._context
        if call is not None:
            self._call = None
            self._loop.call_soon(call, self, context=context)
