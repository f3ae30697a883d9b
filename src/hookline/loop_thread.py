"""An event loop in a thread of its own, which outlives the loops of its callers."""

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from hookline.errors import EngineError

T = TypeVar("T")


class LoopThread:
    """Run coroutines on one loop in a background thread, so that connections and workers stay usable between calls."""

    def __init__(self, name: str = "hookline-loop") -> None:
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        self._is_stopped = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name=name, daemon=True)
        self._thread.start()

    @property
    def is_usable(self) -> bool:
        """Whether it accepts work: it is not stopped, and this process is not a fork without its thread."""
        return not self._is_stopped and self._pid == os.getpid()

    def start(self, work: Coroutine[object, object, T]) -> Future[T]:
        """Run one coroutine, and return its result when there is one.

        Raises:
            EngineError: It was stopped.
        """
        with self._lock:
            if not self.is_usable:
                work.close()
                raise EngineError("the engine was closed")
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run one coroutine and wait for it; an interrupt of the caller cancels it.

        Raises:
            EngineError: It was stopped.
        """
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """Stop the loop and its thread, and cancel running work."""
        with self._lock:
            if not self.is_usable:
                return
            self._is_stopped = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join()


# not a method: the thread must not keep its owner alive
def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    while tasks := asyncio.all_tasks(loop):
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


class SyncLoop:
    """Runs coroutines for synchronous callers: the thread is started on first use, and again after a fork."""

    def __init__(self) -> None:
        self._thread: LoopThread | None = None
        self._lock = threading.Lock()

    def wait_for(self, work: Coroutine[object, object, T]) -> T:
        """Run one coroutine and wait for it.

        Raises:
            EngineError: A loop is running in this thread, which waiting here would block.
        """
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            work.close()
            raise EngineError("an event loop is running here: use `await engine.emit(…)` instead of the sync call")
        with self._lock:
            if self._thread is None or not self._thread.is_usable:
                self._thread = LoopThread()
                # an engine that is collected without being closed stops its thread
                weakref.finalize(self, self._thread.stop).atexit = False
            thread = self._thread
        return thread.run(work)

    def stop(self) -> None:
        """Stop the thread; the next call starts another."""
        if self._thread is not None:
            self._thread.stop()
            self._thread = None
