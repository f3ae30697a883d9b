"""Which hooks run for an event, in what order, and which do not, and why."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, final

from msgspec import Struct

from hookline.model.exchange import Sealed
from hookline.model.hook import Hook


class Gate(StrEnum):
    """What can keep a hook from running, in the order it is asked."""

    ENABLED = "enabled"
    EVENT = "event"
    HOST = "host"
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
    ONCE = "once"
    NEEDS = "needs"
    BREAKER = "breaker"
    RATE = "rate"
    COOLDOWN = "cooldown"
    DEBOUNCE = "debounce"
    ENDED = "ended"


# those that look at what a tool call does; a hook has a field of the same name for each
OF_EFFECTS: Final = (Gate.WRITES, Gate.DELETES, Gate.READS, Gate.RUNS, Gate.URLS)


@final
class Skip(Struct, frozen=True):
    """A hook left out, and why."""

    hook: Hook
    gate: Gate
    reason: str


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
