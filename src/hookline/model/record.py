"""What happened, line by line."""

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
    """One line of a trace. All lines of one event share `trace`; `at` counts seconds since the epoch."""

    trace: str
    step: Step
    at: float
    event: str
    session: str = ""
    hook: str = ""
    detail: Mapping[str, object] = {}
