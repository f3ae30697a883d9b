"""Hooks, their runs and their problems, as text for people and as JSON for programs."""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import asdict

from hookline.builtin.catalogue import BUILTINS
from hookline.cli._output import format_ago, format_span, pluralise, print_error
from hookline.config.document import Problem
from hookline.debug.explain import uses_shell
from hookline.dialects import DIALECTS
from hookline.errors import StoreError
from hookline.model.dialect import DialectSpec
from hookline.model.hook import ACTIONS, TEXT_TARGETS, Hook, describe_actions
from hookline.model.plan import EFFECT_GATES
from hookline.model.record import Record
from hookline.project import Project
from hookline.stores.trace_queries import TraceQueries
from hookline.trust.policy import TrustDecision, TrustStatus

SPECS: Final[Mapping[str, DialectSpec]] = MappingProxyType({name: one.SPEC for name, one in DIALECTS.items()})

_STATES: Final[Mapping[TrustStatus, str]] = MappingProxyType(
    {
        TrustStatus.TRUSTED: "trusted",
        TrustStatus.APPROVED: "approved",
        TrustStatus.ONCE: "approved once",
        TrustStatus.CHANGED: "changed",
        TrustStatus.UNAPPROVED: "needs approval",
        TrustStatus.UNKNOWN: "unknown",
    }
)
UNKNOWN: Final = "unknown"
_UNITS: Final = ((3_600, "h"), (60, "min"))
_BUILTIN: Final[Mapping[str, str]] = MappingProxyType({one.id: one.about for one in BUILTINS.values()})
_reported: Final[set[str]] = set()
# keys of hookline.toml for `--json`
_KEYS: Final = (
    *("id", "files", "writes", "kind", "dialect", "source", "layer", "enabled", "priority", "after", "before", "once"),
    *("background", "persistent", "warm", "observe", "steps"),
)
# the same, null where they are not set
_OPTIONAL: Final = ("name", "matcher", "schedule", "per_minute", "cooldown", "debounce", "batch", "breaker", *ACTIONS)


class HookView:
    """A hook of a project as commands show it: whether it may run, and its problems."""

    def __init__(self, hook: Hook, project: Project) -> None:
        self.hook = hook
        self.project = project
        self.trust = decide_trust(hook, project)
        names = {f'"{name}"' for name in (hook.id, hook.name) if name}
        # those at its line or with its name
        self.problems = [
            problem
            for problem in project.problems
            if problem.path == hook.source_path
            and (problem.line == hook.source_line or any(name in problem.message for name in names))
        ]

    @property
    def state(self) -> str:
        """The trust status in a word or two."""
        return _STATES[self.trust.status] if self.trust is not None else UNKNOWN

    def to_json(self) -> dict[str, object]:
        """Return the hook for `--json`; keys of hookline.toml that are not set are null, false or empty."""
        hook, cache = self.hook, self.hook.cache
        return {
            **{name: getattr(hook, name) for name in _KEYS},
            **{name: getattr(hook, name) or None for name in _OPTIONAL},
            "events": hook.on,
            "effects": {str(kind): getattr(hook, kind) for kind in EFFECT_GATES},
            "unknown": hook.on_unknown,
            "runs": describe_target(hook),
            "shell": hook.kind == "command" and uses_shell(hook),
            "path": hook.source_path or None,
            "line": hook.source_line or None,
            "in_force": hook.enabled and self.project.is_active(hook),
            "trust": self.state,
            "objection": (self.trust.reason_denied if self.trust is not None else UNKNOWN) or None,
            "if": hook.condition or None,
            "retry_after": hook.retry_after if hook.breaker else None,
            "needs": asdict(hook.needs) if hook.needs is not None else None,
            "cache": {"for": cache.seconds, "by": cache.by, "files": cache.files, "env": cache.env} if cache else None,
            "raise": hook.raises or None,
            "problems": problems_to_json(self.problems),
        }


def describe_target(hook: Hook) -> str:
    """Return what a hook runs, in one line."""
    line = shlex.join([hook.command, *hook.args]) if hook.args else hook.command
    targets: Mapping[str, str] = {
        "command": f"sh: {line}" if uses_shell(hook) else line,
        "python": f"{hook.module}:{hook.function}" if hook.function else hook.module,
        "webhook": f"{hook.method} {hook.url}",
        "steps": f"steps: {', '.join(hook.steps)}",
        "raise_event": f"raise: {hook.raises}",
        "rule": describe_actions(hook),
        "invalid": f"not in force: {hook.invalid}",
        "function": _BUILTIN.get(hook.id, hook.kind),
        **{one.kind: f"{one.key}: {getattr(hook, field)}" for field, one in TEXT_TARGETS.items()},
    }
    return targets.get(hook.kind, hook.kind)


def describe_location(hook: Hook, project: Project) -> str:
    """Return the file and line of a hook, shortened."""
    if hook.source_path:
        return f"{shorten_paths(hook.source_path, project)}:{hook.source_line}"
    return "hookline itself" if hook.id in _BUILTIN else "a program"


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


def problems_to_json(problems: Iterable[Problem]) -> list[Mapping[str, object]]:
    """Return problems for `--json`."""
    return [
        {"path": one.path, "line": one.line or None, "severity": one.severity, "message": one.message}
        for one in problems
    ]


def truncate(text: str, longest: int) -> str:
    """Return a text on one line, shortened for a column."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def describe_policies(hook: Hook) -> Iterator[tuple[str, str]]:
    """Return when, how often and in which way a hook runs: pairs of the key that is set and its meaning.

    The texts contain what the author of the hook wrote.
    """
    cached = ""
    if hook.cache is not None:
        lists = _join_lists({"by": hook.cache.by, "files": hook.cache.files, "env": hook.cache.env})
        cached = f"an answer holds for {_format_exactly(hook.cache.seconds)}" + (f"; {lists}" if lists else "")
    failures = "each failure" if hook.breaker == 1 else f"{hook.breaker} failures in a row"
    policies = {
        "if": hook.condition,
        "schedule": hook.schedule,
        "after": ", ".join(hook.after),
        "before": ", ".join(hook.before),
        "once": hook.once and "once in a session",
        "per_minute": hook.per_minute and f"at most {pluralise(hook.per_minute, 'run')} in any minute",
        "cooldown": hook.cooldown and f"not within {_format_exactly(hook.cooldown)} of its last run",
        "debounce": hook.debounce
        and f"after {_format_exactly(hook.debounce)} without another event about the same thing",
        "batch": hook.batch and f"once for all files within {_format_exactly(hook.batch)}",
        "breaker": hook.breaker and f"pauses for {_format_exactly(hook.retry_after)} after {failures}",
        "needs": _join_lists(asdict(hook.needs)) if hook.needs is not None else "",
        "cache": cached,
        "background": hook.background and "from the queue, and nobody waits for it",
        "persistent": hook.persistent and "it stays, and answers many events",
        "warm": hook.warm and "its process is made ahead",
        "observe": hook.observe and "what it says is only written down",
    }
    return ((key, str(text)) for key, text in policies.items() if text)


def _format_exactly(seconds: float) -> str:
    """Write a time in the largest unit that divides it."""
    return next((f"{seconds // size:g} {unit}" for size, unit in _UNITS if seconds % size == 0), f"{seconds:g} s")


def _join_lists(lists: Mapping[str, object]) -> str:
    return "; ".join(
        f"{name} {', '.join(items)}" for name, items in lists.items() if isinstance(items, tuple) and items
    )
