"""Count what hooks spend on language models in a day, in the state that all processes of a user share.

A request is counted by an estimate before it is sent, so that requests of several processes do not exceed a budget together,
and corrected by what it really took. A day begins at midnight UTC.
"""

import hashlib
import time
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from hookline.model.hook import Hook
from hookline.model.language_models import ModelBudget, ModelUsage
from hookline.ports import StateStore, StateValue

_DAY: Final = 86_400
_ALL: Final = "judge:all:"


class Spending(Struct, frozen=True):
    """What was spent in a day."""

    tokens: int = 0
    cost: float = 0.0

    def add(self, usage: ModelUsage, *, sign: int = 1) -> "Spending":
        """Return the sum; a cost that is not known counts as none."""
        cost = self.cost + sign * (usage.cost or 0.0)
        return Spending(max(self.tokens + sign * usage.tokens, 0), max(cost, 0.0))

    def amount(self, budget: ModelBudget) -> float:
        """Return what was spent in the unit of a budget."""
        return self.tokens if budget.in_tokens else self.cost

    def exceeds(self, budget: ModelBudget) -> bool:
        """Return whether more was spent than a budget allows."""
        # sums of prices are not exact
        return self.amount(budget) > budget.amount * (1 + 1e-9)


class BudgetStatus(Struct, frozen=True):
    """How a budget stands: whether anything is left, and the figures."""

    passed: bool
    reason: str


def key_prefix(hook: Hook) -> str:
    """Return the beginning of the keys that hold what a hook spent; hooks of two projects may have the same id."""
    identity = f"{hook.source_path}\0{hook.id}".encode("utf-8", "surrogatepass")
    return f"judge:{hashlib.sha256(identity).hexdigest()[:32]}:"


class BudgetLedger:
    """The budgets of hooks and of all hooks together. Every method may block, and raises `StoreError`."""

    def __init__(self, state: StateStore, shared: ModelBudget | None) -> None:
        self.state = state
        self._shared = shared

    def list_budgets(self, hook: Hook) -> list[tuple[str, ModelBudget, str]]:
        """Return the budgets that a hook spends: the beginning of the key, the budget, and what it is called."""
        own = [(key_prefix(hook), hook.budget, "the hook's")] if hook.budget is not None else []
        shared = [(_ALL, self._shared, "all judges'")] if self._shared is not None else []
        return [*own, *shared]

    def reserve(self, hook: Hook, estimate: ModelUsage, now: float) -> str:
        """Count a request before it is sent; return why it may not be sent, or ""."""
        budgets = self.list_budgets(hook)
        keys = {_key(prefix, now): (budget, whose) for prefix, budget, whose in budgets}

        def decide(entries: Mapping[str, bytes], _now: float) -> tuple[Mapping[str, StateValue], str]:
            changes: dict[str, StateValue] = {}
            for key, (budget, whose) in keys.items():
                before = _decode(entries.get(key))
                after = before.add(estimate)
                if after.exceeds(budget):
                    needed = budget.format(Spending().add(estimate).amount(budget))
                    why = f"{whose} budget of {budget} does not allow another request of about {needed}"
                    if Spending().add(estimate).exceeds(budget):
                        return {}, f"{why}; it is too small for a single one, so set a larger budget"
                    spent = f"{budget.format(before.amount(budget))} were spent today"
                    return {}, f"{why}: {spent}; it starts anew at midnight UTC, and `hookline limits` shows it"
                changes[key] = _entry(after, now)
            return changes, ""

        return self.state.change(list(keys), decide)

    def settle(self, hook: Hook, estimate: ModelUsage, usage: ModelUsage, now: float) -> None:
        """Replace the estimate of a request by what it took; `now` is the time of its reservation, whose day it counts for."""
        keys = [_key(prefix, now) for prefix, _, _ in self.list_budgets(hook)]

        def decide(entries: Mapping[str, bytes], _now: float) -> tuple[Mapping[str, StateValue], None]:
            spent = {key: _decode(entries.get(key)).add(usage).add(estimate, sign=-1) for key in keys}
            return {key: _entry(one, now) for key, one in spent.items()}, None

        self.state.change(keys, decide)

    def status(self, hook: Hook | None) -> list[BudgetStatus]:
        """Return how the budget of a hook stands, or that of all hooks together."""
        shared = [(_ALL, self._shared)] if self._shared is not None and hook is None else []
        own = [(key_prefix(hook), hook.budget)] if hook is not None and hook.budget is not None else []
        return [self._describe(prefix, budget) for prefix, budget in (*own, *shared)]

    def _describe(self, prefix: str, budget: ModelBudget) -> BudgetStatus:
        key = _key(prefix, time.time())
        spent = _decode(self.state.read([key]).get(key))
        text = f"{budget.format(spent.amount(budget))} of {budget.format(budget.amount)} spent today"
        return BudgetStatus(passed=spent.amount(budget) < budget.amount, reason=text)


def forget_prefixes(hooks: Iterable[Hook | None]) -> list[str]:
    """Return the prefixes of the keys of hooks; None stands for all hooks together."""
    return [key_prefix(hook) if hook is not None else _ALL for hook in hooks]


def _key(prefix: str, now: float) -> str:
    return f"{prefix}{int(now // _DAY)}"


def _entry(spent: Spending, now: float) -> StateValue:
    return StateValue(msgspec.msgpack.encode(spent), (now // _DAY + 2) * _DAY)


def _decode(raw: bytes | None) -> Spending:
    try:
        return msgspec.msgpack.decode(raw, type=Spending) if raw is not None else Spending()
    except msgspec.DecodeError:
        return Spending()
