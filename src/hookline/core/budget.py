"""The time that several hooks have together."""

from time import perf_counter
from typing import Final

from hookline.model.hook import Hook, Layer

# what is named of those that used the time up: the rest is in the trace
_MOST_NAMED: Final = 3
_WORTH_NAMING: Final = 0.05


class Budget:
    """How long the hooks of one event, or the steps of one hook, may take together, and who took how much of it."""

    __slots__ = ("_deadline", "_seconds", "_spent", "_what")

    def __init__(self, seconds: float, what: str = "the event's budget") -> None:
        self._seconds = seconds
        self._what = what
        self._deadline = perf_counter() + seconds
        self._spent: dict[str, float] = {}

    @property
    def left(self) -> float:
        """How many seconds are left; none or fewer when it is used up."""
        return self._deadline - perf_counter()

    def note(self, hook: Hook, seconds: float) -> None:
        """Take down how long a hook took."""
        self._spent[hook.id] = self._spent.get(hook.id, 0.0) + seconds

    def holds_for(self, hook: Hook) -> bool:
        """Say whether it limits a hook: nobody can take the time from a managed one, and a queued one needs none."""
        return hook.layer is not Layer.MANAGED and not hook.background

    def __str__(self) -> str:
        return f"{self._what} of {self._seconds:.3g} s was used up" + self._named(" by ")

    @property
    def rest(self) -> str:
        """What a hook was given that had less than its own time."""
        return f"all that was left of {self._what} of {self._seconds:.3g} s" + self._named(" after ")

    def _named(self, word: str) -> str:
        """Name those that took the most of it, and nobody who took next to nothing."""
        longest = sorted(self._spent.items(), key=lambda item: -item[1])[:_MOST_NAMED]
        taken = [f'"{name}" ({seconds:.3g} s)' for name, seconds in longest if seconds > self._seconds * _WORTH_NAMING]
        return word + ", ".join(taken) if taken else ""


def limited(timeout: float, budget: Budget | None, hook: Hook) -> float:
    """Give the time a hook has: its own, or what is left for all."""
    if budget is None or not budget.holds_for(hook):
        return timeout
    # a kind gets at least a moment: what has none at all is not started in the first place
    return min(timeout, max(budget.left, 0.001))
