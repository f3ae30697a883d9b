"""An event loop of its own for callers that have none."""

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine
from typing import TypeVar

from hookline.errors import EngineError

T = TypeVar("T")


class LoopThread:
    """Run coroutines on one loop in a background thread, so that kept connections and workers stay usable."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        self._stopped = False
        self._changing = threading.Lock()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name="hookline-loop", daemon=True)
        self._thread.start()

    @property
    def usable(self) -> bool:
        """Whether it can be given work: it is not stopped, and a fork has not left its thread behind."""
        return not self._stopped and self._pid == os.getpid()

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Wait for one coroutine; an interrupt of the caller cancels it.

        Raises:
            EngineError: It was stopped.
        """
        with self._changing:
            if not self.usable:
                work.close()
                raise EngineError("the engine was closed")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the loop and its thread; work that is under way is cancelled."""
        with self._changing:
            if not self.usable:
                return
            self._stopped = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join()


class OwnLoop:
    """The loop of somebody who waits without one: started when it is first needed, and again after a fork."""

    def __init__(self) -> None:
        self._thread: LoopThread | None = None
        self._starting = threading.Lock()

    def wait_for(self, work: Coroutine[object, object, T]) -> T:
        """Wait for one coroutine.

        Raises:
            EngineError: There is a running loop in this thread: waiting here would stop it.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            work.close()
            raise EngineError("an event loop is running here: use `await engine.emit(…)` instead of the sync call")
        with self._starting:
            if self._thread is None or not self._thread.usable:
                self._thread = LoopThread()
                # one that is forgotten without being stopped takes its thread with it
                weakref.finalize(self, self._thread.stop).atexit = False
            thread = self._thread
        return thread.run(work)

    def stop(self) -> None:
        """End the thread; the next to wait gets another."""
        if self._thread is not None:
            self._thread.stop()
            self._thread = None


# not a method: the thread must not keep alive who started it
def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    while left := asyncio.all_tasks(loop):
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
