"""Records of a trace."""

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


def text_size(detail: Mapping[str, object]) -> int:
    """Return about how much memory the texts of a record take: those at its top, and those in tables below."""
    size = 0
    for value in detail.values():
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, Mapping):
            size += sum(len(item) if isinstance(item, str) else 64 for item in value.values())
    return size
