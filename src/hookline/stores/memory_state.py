"""What is remembered from one event to the next, for one program: nothing of it is on disk."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from hookline.ports import Decide, Entry

T = TypeVar("T")

# entries; beyond that, the longest of those go that can be had again, and then those that end first
BOUND: Final = 10_000


class MemoryState:
    """Remember for as long as the program runs."""

    waits: Final = False

    def __init__(self, *, clock: Callable[[], float] = time.time, bound: int = BOUND) -> None:
        self._clock = clock
        self._bound = bound
        self._entries: dict[str, Entry] = {}
        # reentrant, because a finalizer may emit in the middle of anything
        self._lock = threading.RLock()

    def read(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Give what stands at these keys."""
        with self._lock:
            return self._found(keys, self._clock())

    def change(self, keys: Sequence[str], decide: Decide[T]) -> T:
        """Let `decide` look at these keys and change them."""
        with self._lock:
            now = self._clock()
            entries, answer = decide(self._found(keys, now), now)
            self._entries.update(entries)
            if len(self._entries) > self._bound:
                self._make_room(now)
            return answer

    def forget(self, prefixes: Sequence[str]) -> int:
        """Remove every value whose key begins like this, and say how many."""
        with self._lock:
            gone = [key for key in self._entries if key.startswith(tuple(prefixes))]
            for key in gone:
                del self._entries[key]
            return len(gone)

    def close(self) -> None:
        """Do nothing: there are no files, and what is remembered stays."""

    def _found(self, keys: Sequence[str], now: float) -> Mapping[str, bytes]:
        entries = ((key, self._entries.get(key)) for key in keys)
        return {key: entry.value for key, entry in entries if entry is not None and entry.until > now}

    def _make_room(self, now: float) -> None:
        counting = ((key, entry) for key, entry in self._entries.items() if entry.until > now)
        ordered = sorted(counting, key=_worth)
        # a quarter at once, so that not each of the next ones has to do this
        self._entries = dict(ordered[: self._bound * 3 // 4])


def _worth(item: tuple[str, Entry]) -> tuple[bool, bool, int, float]:
    """Sort what is to stay before what may go. What is empty only says that something was: it is counted no further."""
    _, entry = item
    return entry.spare, not entry.value, len(entry.value) if entry.spare else 0, -entry.until
