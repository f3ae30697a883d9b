"""A hook of a project as commands and the page of `hookline ui` show it: what it runs, whether it may, and its limits."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import asdict

from hookline.builtin.catalogue import describe_builtin
from hookline.config.document import Problem, Severity
from hookline.config.keys import to_file_value
from hookline.debug.explain import uses_shell
from hookline.debug.lint import lint_hooks
from hookline.engine.limits import LimitStatus
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.hook import (
    ACTIONS,
    SERVER_PREFIX,
    TEXT_TARGETS,
    Hook,
    Layer,
    describe_actions,
    get_process_hook,
    make_server_hook,
    make_undo_hook,
)
from hookline.model.plan import EFFECT_GATES
from hookline.model.sandbox import describe_sandbox
from hookline.model.scope import ONCE_PER_TURN
from hookline.project import Project
from hookline.text import escape_all, quote, suggest
from hookline.trust.policy import TrustDecision, TrustStatus

_STATES: Final[Mapping[TrustStatus, str]] = {
    TrustStatus.TRUSTED: "trusted",
    TrustStatus.APPROVED: "approved",
    TrustStatus.ONCE: "approved once",
    TrustStatus.CHANGED: "changed",
    TrustStatus.UNAPPROVED: "needs approval",
    TrustStatus.UNKNOWN: "unknown",
}
_UNKNOWN: Final = "unknown"
_CANNOT_START: Final = "cannot start: "
# the kinds of hooks that run code of their author
_WITH_PROCESS: Final = frozenset({"command", "python"})
_UNITS: Final = ((3_600, "h"), (60, "min"))
# keys of hookline.toml for `--json`
_KEYS: Final = (
    *("id", "files", "writes", "kind", "dialect", "source", "layer", "enabled", "priority", "after", "before", "once"),
    *("agents", "branches", "between", "background", "persistent", "warm", "observe", "steps"),
)
# the same, null where they are not set
_OPTIONAL: Final = (
    *("name", "matcher", "schedule", "per_minute", "cooldown", "debounce", "batch", "breaker", "undo"),
    *ACTIONS,
)


def find_hook(project: Project, name: str) -> Hook:
    """Return the hook with this id, or with this name if only one hook has it; `mcp:NAME` stands for an MCP server.

    Raises:
        ConfigError: There is none, or there are several.
    """
    if name.startswith(SERVER_PREFIX) and (server := project.servers.by_name().get(name.removeprefix(SERVER_PREFIX))):
        return make_server_hook(server)
    known = {hook.id for hook in project.hooks}
    hooks = (*project.hooks, *(hook for hook in project.builtins if hook.id not in known))
    found = (
        [hook for hook in hooks if hook.id == name]
        or [hook for hook in hooks if hook.name == name]
        # an id with control characters, copied from the terminal, arrives escaped
        or [hook for hook in hooks if escape_all(hook.id) == name]
    )
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(f"{hook.id} ({hook.source_path}:{hook.source_line})" for hook in found)
        raise ConfigError(f"several hooks are called {quote(name)}: {places}; name one by its id")
    for problem in project.loaded.problems:
        if problem.severity is Severity.ERROR and f"hook {quote(name)}" in problem.message:
            place = f"{problem.path}:{problem.line}" if problem.line else problem.path
            raise ConfigError(f"there is no hook {quote(name)} as long as {place} is wrong: {problem.message}")
    nearest = suggest(name, [hook.id for hook in hooks])
    raise ConfigError(f"there is no hook {quote(name)}{nearest}; `hookline list` shows them all")


class HookView:
    """A hook of a project as it is shown: whether it may run, and its problems.

    `trust` is None where the approvals cannot be read.
    """

    def __init__(self, hook: Hook, project: Project, trust: TrustDecision | None) -> None:
        self.hook = hook
        self.project = project
        self.trust = trust
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
        return _STATES[self.trust.status] if self.trust is not None else _UNKNOWN

    def find_trouble(self) -> str:
        """Return why a hook that is switched on cannot start; empty if it can."""
        if not self.hook.enabled:
            return ""
        findings = lint_hooks([self.hook], engine=self.project.engine)
        message = next((one.message for one in findings if _CANNOT_START in one.message), "")
        trouble = message.partition(_CANNOT_START)[2]
        return trouble or ("not usable" if self.project.components.refusal(self.hook) else "")

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
            "objection": (self.trust.reason_denied if self.trust is not None else _UNKNOWN) or None,
            "if": hook.condition or None,
            "retry_after": hook.retry_after if hook.breaker else None,
            "needs": asdict(hook.needs) if hook.needs is not None else None,
            "cache": {"for": cache.seconds, "by": cache.by, "files": cache.files, "env": cache.env} if cache else None,
            "raise": hook.raises or None,
            "sandbox": containment_to_json(hook),
            "problems": problems_to_json(self.problems),
        }


def describe_containment(hook: Hook) -> Sequence[str]:
    """Return what the process of a hook may do, a sentence each; none for a hook without a process.

    The texts contain what the author of the hook wrote.
    """
    runs = get_process_hook(hook)
    return tuple(describe_sandbox(runs.containment)) if runs.kind in _WITH_PROCESS else ()


def explain_containment(hook: Hook) -> str:
    """Return why a hook is contained in this way."""
    hook = get_process_hook(hook)
    if hook.sandbox is not None:
        return "its definition says so"
    if hook.containment.is_contained:
        return f"the default for {hook.source} hooks, which are not your own"
    is_users = hook.layer is Layer.USER
    return "the default for hooks of your own" if is_users else f"the default for {hook.source} hooks"


def containment_to_json(hook: Hook) -> Mapping[str, object] | None:
    """Return what the process of a hook may do for `--json`; None for a hook without a process."""
    sentences = describe_containment(hook)
    if not sentences:
        return None
    hook = get_process_hook(hook)
    return {
        "value": to_file_value(hook.containment),
        "contained": hook.containment.is_contained,
        "allows": sentences,
        "from": "definition" if hook.sandbox is not None else "default",
        "why": explain_containment(hook),
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
        "function": describe_builtin(hook.id) or hook.kind,
        **{one.kind: f"{one.key}: {getattr(hook, field)}" for field, one in TEXT_TARGETS.items()},
        "judge": f"judge, {hook.model}: {hook.judge}",
    }
    return targets.get(hook.kind, hook.kind)


def problems_to_json(problems: Iterable[Problem]) -> list[Mapping[str, object]]:
    """Return problems for `--json`."""
    return [
        {"path": one.path, "line": one.line or None, "severity": one.severity, "message": one.message}
        for one in problems
    ]


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
        "model": hook.model and f"{hook.model}{f' at {hook.model_url}' if hook.model_url else ''}",
        "budget": hook.budget is not None and f"it spends at most {hook.budget} on its model",
        "redact": not hook.redact and "secrets are not masked in what its model is shown",
        "if": hook.condition,
        "schedule": hook.schedule,
        "after": ", ".join(hook.after),
        "before": ", ".join(hook.before),
        "agents": ", ".join(hook.agents),
        "branches": ", ".join(hook.branches),
        "between": " and ".join(hook.between),
        "once": hook.once and f"once in a {'turn' if hook.once == ONCE_PER_TURN else 'session'}",
        "per_minute": hook.per_minute
        and f"at most {hook.per_minute} run{'' if hook.per_minute == 1 else 's'} in any minute",
        "cooldown": hook.cooldown and f"not within {_format_exactly(hook.cooldown)} of its last run",
        "debounce": hook.debounce
        and f"after {_format_exactly(hook.debounce)} without another event about the same thing",
        "batch": hook.batch and f"once for all files within {_format_exactly(hook.batch)}",
        "breaker": hook.breaker and f"pauses for {_format_exactly(hook.retry_after)} after {failures}",
        "needs": _join_lists(asdict(hook.needs)) if hook.needs is not None else "",
        "cache": cached,
        "facts": ", ".join(hook.facts),
        "state": hook.state and "it has a private folder to keep files in",
        "undo": hook.undo and f"hookline rollback runs: {describe_target(make_undo_hook(hook))}",
        "background": hook.background and "from the queue, and nobody waits for it",
        "persistent": hook.persistent and "it stays, and answers many events",
        "warm": hook.warm and "its process is made ahead",
        "observe": hook.observe and "what it says is only written down",
        "elsewhere": "; ".join(
            f"{name}: {command if isinstance(command, str) else ' '.join(command)}"
            for name, command in hook.platforms.items()
            if command
        ),
    }
    return ((key, str(text)) for key, text in policies.items() if text)


def _format_exactly(seconds: float) -> str:
    """Write a time in the largest unit that divides it."""
    return next((f"{seconds // size:g} {unit}" for size, unit in _UNITS if seconds % size == 0), f"{seconds:g} s")


def _join_lists(lists: Mapping[str, object]) -> str:
    return "; ".join(
        f"{name} {', '.join(items)}" for name, items in lists.items() if isinstance(items, tuple) and items
    )


def list_limits(project: Project, hooks: Iterable[Hook], *, alone: bool) -> list[tuple[str, LimitStatus]]:
    """Return the status of every limit of these hooks, by the id of the hook; `alone` leaves out shared limits.

    Raises:
        StoreError: The state of the hooks cannot be read.
    """
    # without a session: it is not known which one is meant
    event = Event(name=EventName.USER_TRIGGERED, cwd=str(project.root))
    admission = project.engine.admission
    return [(hook.id, limit) for hook in hooks for limit in admission.limit_status(hook, event, alone=alone)]
