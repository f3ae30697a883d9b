"""Records of a trace, and figures of runs."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Step(StrEnum):
    """The kinds of lines in a trace; the three about hooks carry the names agents know them by."""

    EVENT = "event"
    SKIPPED = "hook_skipped"
    STARTED = "hook_execution_start"
    COMPLETED = "hook_execution_complete"
    FAILED = "hook_execution_error"
    QUEUED = "hook_queued"
    ASKED = "asked"
    DEGRADED = "degraded"
    OUTCOME = "outcome"
    WARNING = "warning"


class Record(Struct, frozen=True):
    """One line of a trace. All lines of one event share `trace`; `at` counts seconds since the epoch.

    `host` is the agent that raised the event, `project` the folder it worked in, `tool` the canonical name of its tool, and
    `subject` what the call is about in one line: a command, a path, the beginning of a prompt.
    """

    trace: str
    step: Step
    at: float
    event: str
    session: str = ""
    hook: str = ""
    detail: Mapping[str, object] = {}
    host: str = ""
    project: str = ""
    tool: str = ""
    subject: str = ""

    @property
    def decision(self) -> str:
        """What was decided, of records that say it: `pass`, `allow`, `ask`, `deny` or `stop`."""
        decided = self.detail.get("decision")
        return decided if isinstance(decided, str) else ""

    @property
    def duration(self) -> float:
        """The seconds that it took, of records that say it."""
        seconds = self.detail.get("duration")
        return float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else 0.0


def text_size(detail: Mapping[str, object]) -> int:
    """Return about how much memory the texts of a record take: those at its top, and those in tables below."""
    size = 0
    for value in detail.values():
        if type(value) is str:
            size += len(value)
        elif type(value) is dict:
            size += sum(len(item) if isinstance(item, str) else 64 for item in value.values())
    return size


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
