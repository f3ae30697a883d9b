"""State in memory, for tests and for programs that want nothing on disk."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from hookline.ports import Decide, StateValue

T = TypeVar("T")

STATE_BOUND: Final = 10_000  # entries; see `_sort_key` for what is removed beyond that


class MemoryState:
    """Keeps values as long as the process runs."""

    waits: Final = False

    def __init__(self, *, clock: Callable[[], float] = time.time, bound: int = STATE_BOUND) -> None:
        self._clock = clock
        self._bound = bound
        self._entries: dict[str, StateValue] = {}
        # reentrant: a finalizer may emit an event at any time
        self._lock = threading.RLock()

    def read(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the values of these keys."""
        with self._lock:
            return self._read(keys, self._clock())

    def change(self, keys: Sequence[str], decide: Decide[T]) -> T:
        """Let `decide` read and change these keys atomically."""
        with self._lock:
            now = self._clock()
            entries, answer = decide(self._read(keys, now), now)
            self._entries.update(entries)
            if len(self._entries) > self._bound:
                valid = ((key, entry) for key, entry in self._entries.items() if entry.until > now)
                # a quarter at once, so that the next changes need not do this again
                self._entries = dict(sorted(valid, key=_sort_key)[: self._bound * 3 // 4])
            return answer

    def forget(self, prefixes: Sequence[str]) -> int:
        """Remove every value whose key has one of these prefixes; return how many."""
        with self._lock:
            gone = [key for key in self._entries if key.startswith(tuple(prefixes))]
            for key in gone:
                del self._entries[key]
            return len(gone)

    def close(self) -> None:
        """Do nothing: the values stay."""

    def _read(self, keys: Sequence[str], now: float) -> Mapping[str, bytes]:
        entries = ((key, self._entries.get(key)) for key in keys)
        return {key: entry.value for key, entry in entries if entry is not None and entry.until > now}


def _sort_key(item: tuple[str, StateValue]) -> tuple[bool, bool, int, float]:
    """Sort entries to keep first: spare ones go before others, long ones before short ones, empty ones before counters."""
    _, entry = item
    return entry.spare, not entry.value, len(entry.value) if entry.spare else 0, -entry.until
