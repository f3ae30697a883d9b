"""Run coroutines for callers without a running loop."""

import asyncio
import threading
import weakref
from collections.abc import Coroutine
from contextlib import suppress
from typing import TypeVar

from hookline.errors import EngineError
from hookline.loop_thread import LoopThread

T = TypeVar("T")


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
