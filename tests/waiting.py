"""Waiting for what other processes and threads do: it comes sooner or later, on a busy machine later."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PATIENCE: Final = 60.0


def until(happens: Callable[[], T], what: str = "it happened") -> T:
    """Ask again and again until something is so, and give it; fail when it takes longer than any machine needs."""
    end = time.monotonic() + PATIENCE
    while not (found := happens()):
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.01)
    return found
