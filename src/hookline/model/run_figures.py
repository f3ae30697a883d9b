"""How often a hook ran, failed and denied, and how long that took."""

from collections.abc import Mapping

from msgspec import Struct


class RunFigures(Struct, frozen=True, kw_only=True):
    """The figures of one hook; times are in seconds.

    `denials` counts what the hook itself blocked, `observed_denials` what it would have blocked without `observe`, and
    `failures` its failures by kind, whether they blocked or not. `timed` counts the runs whose duration is known: an answer
    from the cache has none.
    """

    hook: str
    runs: int = 0
    failures: Mapping[str, int] = {}
    denials: int = 0
    observed_denials: int = 0
    timed: int = 0
    total: float = 0.0
    last_error: str = ""

    @property
    def failed(self) -> int:
        """The number of runs that failed."""
        return sum(self.failures.values())

    @property
    def success_rate(self) -> float:
        """The fraction of runs that did not fail; 1.0 before the first run."""
        return 1.0 - self.failed / self.runs if self.runs else 1.0

    @property
    def mean(self) -> float:
        """The mean duration."""
        return self.total / self.timed if self.timed else 0.0
