"""Plans: the hooks that run for an event, in order, and the skipped ones with their reasons."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, final

from msgspec import Struct

from hookline.model.exchange import Sealed
from hookline.model.hook import Hook


class Gate(StrEnum):
    """A reason to skip a hook, in the order of the checks."""

    ENABLED = "enabled"
    EVENT = "event"
    HOST = "host"
    AGENTS = "agents"
    MATCHER = "matcher"
    FILES = "files"
    WRITES = "writes"
    DELETES = "deletes"
    READS = "reads"
    RUNS = "runs"
    URLS = "urls"
    CONDITION = "condition"
    TRUST = "trust"
    CHAIN = "chain"
    BRANCHES = "branches"
    BETWEEN = "between"
    ONCE = "once"
    NEEDS = "needs"
    BREAKER = "breaker"
    RATE = "rate"
    COOLDOWN = "cooldown"
    DEBOUNCE = "debounce"
    BUDGET = "budget"
    ENDED = "ended"


# those that look at what a tool call does; a hook has a field of the same name for each
EFFECT_GATES: Final = (Gate.WRITES, Gate.DELETES, Gate.READS, Gate.RUNS, Gate.URLS)


@final
class Skip(Struct, frozen=True):
    """A hook left out, and why.

    `failed` marks a hook that should have run and could not: its failure policy decides whether that blocks. `mend` is
    the command that makes it run.
    """

    hook: Hook
    gate: Gate
    reason: str
    failed: bool = False
    mend: str = ""


class Plan(Struct, frozen=True):
    """Stages to run one after another; the hooks of one stage run together.

    `sealed` has, by the id of each hook that had to be approved, the files of it as they were when it was vetted:
    what was compared with the approval is what has to run.
    """

    stages: tuple[tuple[Hook, ...], ...] = ()
    skipped: tuple[Skip, ...] = ()
    sealed: Mapping[str, Sealed] = {}

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """All hooks to run, in order."""
        return tuple(hook for stage in self.stages for hook in stage)
