"""What a full store had to give up, counted per session, so that no loss is silent."""

import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Final

from hookline.model.record import Record, Step

# A program with a session per request and a dead disk must not fill the memory with counts.
MOST_SESSIONS: Final = 1_000


class Dropped:
    """Count dropped records until a warning about them is stored."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._at = 0.0
        # reentrant, because a signal handler or a finalizer may write in the middle of a write
        self._lock = threading.RLock()

    def make_room(self, queue: deque[Record], bound: int) -> None:
        """Take the oldest records out of a queue that holds more than `bound`."""
        with self._lock:
            try:
                while len(queue) > bound:
                    self._count(queue.popleft().session)
            except IndexError:
                return  # somebody else emptied it meanwhile

    def counts(self) -> Mapping[str, int]:
        """Say how many were dropped, by session."""
        with self._lock:
            return dict(self._counts)

    def forget(self, counts: Mapping[str, int]) -> None:
        """Take off what is stored by now."""
        with self._lock:
            for session, count in counts.items():
                left = self._counts.pop(session, 0) - count
                if left > 0:
                    self._counts[session] = left

    def warnings(self, counts: Mapping[str, int]) -> list[Record]:
        """Say it in records, one per session, so that a session's export shows its own loss."""
        return [_warning(session, count, at=self._at) for session, count in counts.items()]

    def _count(self, session: str) -> None:
        known = session in self._counts or len(self._counts) < MOST_SESSIONS
        key = session if known else ""
        self._counts[key] = self._counts.get(key, 0) + 1
        self._at = time.time()


def _warning(session: str, count: int, *, at: float) -> Record:
    return Record(
        trace=f"dropped-{session}" if session else "dropped",
        step=Step.WARNING,
        at=at,
        event="",
        session=session,
        detail={"message": f"the trace store was full: {count} older records were dropped", "dropped": count},
    )
