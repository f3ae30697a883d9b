"""A time budget that several hooks share."""

from time import perf_counter
from typing import Final

from hookline.model.hook import Hook, Layer

# a message names at most this many hooks, and none that took less than this part of the budget
_MOST_NAMED: Final = 3
_WORTH_NAMING: Final = 0.05


class TimeBudget:
    """How long the hooks of one event, or the steps of one hook, may take together."""

    def __init__(self, seconds: float, what: str = "the event's budget") -> None:
        self._seconds = seconds
        self._what = what
        self._deadline = perf_counter() + seconds
        self._spent: dict[str, float] = {}

    @property
    def remaining(self) -> float:
        """The remaining seconds; zero or less when it is used up."""
        return self._deadline - perf_counter()

    def spend(self, hook: Hook, seconds: float) -> None:
        """Record how long a hook took."""
        self._spent[hook.id] = self._spent.get(hook.id, 0.0) + seconds

    def applies_to(self, hook: Hook) -> bool:
        """Return whether it limits a hook: managed hooks keep their own time, and background hooks are only queued."""
        return hook.layer is not Layer.MANAGED and not hook.background

    def limit(self, timeout: float, hook: Hook) -> float:
        """Return the timeout of a hook: its own, or what is left."""
        # an exhausted budget does not start the hook at all, so a kind always gets a positive time
        return min(timeout, max(self.remaining, 0.001)) if self.applies_to(hook) else timeout

    def __str__(self) -> str:
        return f"{self._what} of {self._seconds:.3g} s was used up" + self._spenders(" by ")

    @property
    def remainder(self) -> str:
        """Describes the time of a hook that got less than its own timeout."""
        return f"all that was left of {self._what} of {self._seconds:.3g} s" + self._spenders(" after ")

    def _spenders(self, word: str) -> str:
        longest = sorted(self._spent.items(), key=lambda item: -item[1])[:_MOST_NAMED]
        shown = [f'"{name}" ({seconds:.3g} s)' for name, seconds in longest if seconds > self._seconds * _WORTH_NAMING]
        return word + ", ".join(shown) if shown else ""
