"""Places and runs of hooks, as text for people and as JSON for programs."""

import os
from collections.abc import Mapping
from typing import Final

from hookline.builtin.catalogue import PREFIX
from hookline.cli._output import format_ago, format_span, print_error
from hookline.dialects import DIALECTS
from hookline.errors import StoreError
from hookline.model.dialect import DialectSpec
from hookline.model.hook import Hook
from hookline.model.language_models import ModelUsage
from hookline.model.record import Record
from hookline.project import Project
from hookline.stores.trace_queries import TraceQueries
from hookline.trust.policy import TrustDecision

SPECS: Final[Mapping[str, DialectSpec]] = {name: one.SPEC for name, one in DIALECTS.items()}

_reported: Final[set[str]] = set()


def describe_location(hook: Hook, project: Project) -> str:
    """Return the file and line of a hook, shortened."""
    if hook.source_path:
        return f"{shorten_paths(hook.source_path, project)}:{hook.source_line}"
    return "hookline itself" if hook.id.startswith(PREFIX) else "a program"


def shorten_paths(text: str, project: Project) -> str:
    """Write paths of the project and of the user's home relative to these folders."""
    for folder, start in ((project.root, ""), (project.folders.home, "~/")):
        text = text.replace(f"{folder}{os.sep}", start)
    return text


def decide_trust(hook: Hook, project: Project) -> TrustDecision | None:
    """Return whether a hook may run; None when the approvals cannot be read, which is reported once."""
    try:
        return project.trust.decide(hook, cwd=str(project.root))
    except StoreError as problem:
        if str(problem) not in _reported:
            _reported.add(str(problem))
            print_error(f"hookline: {problem}")
        return None


def open_history(project: Project) -> TraceQueries:
    """Open the user's traces."""
    return TraceQueries(project.folders.data / "traces.db")


def get_result(record: Record) -> str:
    """Return how a run ended: the decision, or the kind of failure."""
    return str(record.detail.get("failure") or record.detail.get("decision") or "done")


def get_duration(detail: Mapping[str, object]) -> float | None:
    """Return how long a run took, in seconds; None if it is not known."""
    duration = detail.get("duration")
    return float(duration) if isinstance(duration, int | float) else None


def describe_run(record: Record) -> str:
    """Return when a hook ran, how it ended and how long it took."""
    return f"{format_ago(record.at)}, {get_result(record)}, {format_span(get_duration(record.detail) or 0.0)}"


def run_to_json(record: Record) -> Mapping[str, object]:
    """Return a run for `--json`."""
    return {
        "at": record.at,
        "event": record.event,
        "result": get_result(record),
        "reason": record.detail.get("reason") or record.detail.get("message"),
        "duration": get_duration(record.detail) or 0.0,
        "trace": record.trace,
    }


def describe_usage(usage: ModelUsage) -> str:
    """Return what an answer of a language model took."""
    cost = f", {format_cost(usage.cost)}" if usage.cost else ""
    return f"{usage.model}, {usage.input} tokens read, {usage.output} written{cost}"


def format_cost(cost: float) -> str:
    """Return a small amount of money with the digits that matter."""
    return f"{cost:.2f}" if cost >= 1 else f"{cost:.6f}".rstrip("0").rstrip(".")


def truncate(text: str, longest: int) -> str:
    """Return a text on one line, shortened for a column."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"
