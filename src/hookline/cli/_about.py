"""A hook in a few words: what it runs, where it stands, whether it may run, and how it did lately."""

import os
import shlex
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from hookline.builtin.catalogue import BUILTINS
from hookline.cli._output import complain
from hookline.cli._policies import described_policies
from hookline.cli._times import ago, span
from hookline.config.problem import Problem
from hookline.core.trust import Clearance, Standing
from hookline.debug.explain import uses_shell
from hookline.dialects import DIALECTS
from hookline.errors import StoreError
from hookline.kinds.python import Python
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.plan import OF_EFFECTS
from hookline.model.record import Record
from hookline.stores.history import History
from hookline.workspace import Opened

SPECS: Final[Mapping[str, DialectSpec]] = MappingProxyType({name: one.SPEC for name, one in DIALECTS.items()})

STANDINGS: Final[Mapping[Standing, str]] = MappingProxyType(
    {
        Standing.TRUSTED: "trusted",
        Standing.APPROVED: "approved",
        Standing.ONCE: "approved once",
        Standing.CHANGED: "changed",
        Standing.UNAPPROVED: "needs approval",
    }
)
UNKNOWN: Final = "unknown"
_BUILTIN: Final[Mapping[str, str]] = MappingProxyType({one.id: one.about for one in BUILTINS.values()})


def runs(hook: Hook) -> str:
    """Say what a hook runs, in the words of its kind."""
    said: Mapping[str, str] = {
        "command": _line(hook),
        "python": f"{hook.module}:{hook.function}" if hook.function else hook.module,
        "webhook": f"{hook.method} {hook.url}",
        "ask_agent": f"ask: {hook.prompt}",
        "steps": f"steps: {', '.join(hook.steps)}",
        "raise_event": f"raise: {hook.raises}",
        "function": _BUILTIN.get(hook.id, hook.kind),
    }
    return said.get(hook.kind, hook.kind)


def runs_shortly(hook: Hook, project: Opened) -> str:
    """Say the same with the paths of the project and of the person's home cut short."""
    text = runs(hook)
    for folder, start in ((project.root, ""), (project.folders.home, "~/")):
        text = text.replace(f"{folder}{os.sep}", start)
    return text


def _line(hook: Hook) -> str:
    line = shlex.join([hook.command, *hook.args]) if hook.args else hook.command
    return f"sh: {line}" if uses_shell(hook, SPECS) else line


def place(hook: Hook, project: Opened) -> str:
    """Say where a hook is defined, short enough for a line."""
    if hook.source_path:
        return f"{short(hook.source_path, project)}:{hook.source_line}"
    return "hookline itself" if hook.id in _BUILTIN else "a program"


def short(path: str, project: Opened) -> str:
    """Write a path from the project or from the person's home where it lies there."""
    for folder, start in ((project.root, ""), (project.folders.home, "~/")):
        below = os.path.join(folder, "")  # noqa: PTH118 - with the separator at its end
        if path.startswith(below):
            return f"{start}{path.removeprefix(below)}"
    return path


def clearance(hook: Hook, project: Opened) -> Clearance | None:
    """Say whether a hook may run; None when the approvals cannot be read, which is said once."""
    try:
        return project.engine.trust.clearance(hook, cwd=str(project.root))
    except StoreError as problem:
        if str(problem) not in _SAID:
            _SAID.add(str(problem))
            complain(f"hookline: {problem}")
        return None


_SAID: Final[set[str]] = set()


def standing(found: Clearance | None) -> str:
    """Say in a word whether a hook may run."""
    return STANDINGS[found.standing] if found is not None else UNKNOWN


def module_file(hook: Hook, event: Event) -> str:
    """Name the file of the module a Python hook calls; empty when it is an installed one, or nowhere."""
    return Python().file(hook, event)


def history(project: Opened) -> History:
    """Open the traces of the person."""
    return History(project.folders.data / "traces.db")


def last_runs(project: Opened) -> Mapping[str, Record]:
    """Give the last run of each hook; none when the traces cannot be read, which is said."""
    try:
        return history(project).last_of_each()
    except StoreError as problem:
        complain(f"hookline: {problem}")
        return {}


def result(record: Record) -> str:
    """Say how a run ended: a decision, or how the hook fell over."""
    return str(record.detail.get("failure") or record.detail.get("decision") or "done")


def took(record: Record) -> float:
    """Say how many seconds a run took; 0 when nobody knows."""
    duration = record.detail.get("duration")
    return float(duration) if isinstance(duration, int | float) else 0.0


def said(record: Record) -> str:
    """Say when a hook ran, how it ended and how long it took."""
    return f"{ago(record.at)}, {result(record)}, {span(took(record))}"


def described_run(record: Record | None) -> Mapping[str, object] | None:
    """Give a run as `--json` prints it."""
    if record is None:
        return None
    detail = record.detail
    return {
        "at": record.at,
        "event": record.event,
        "result": result(record),
        "reason": detail.get("reason") or detail.get("message"),
        "duration": took(record),
        "trace": record.trace,
    }


def described_hook(hook: Hook, project: Opened, found: Clearance | None) -> dict[str, object]:
    """Give what every `--json` says of a hook."""
    return {
        "id": hook.id,
        "name": hook.name or None,
        "events": hook.on,
        "matcher": hook.matcher or None,
        "files": hook.files,
        "writes": hook.writes,
        "effects": {str(kind): getattr(hook, kind) for kind in OF_EFFECTS},
        "kind": hook.kind,
        "runs": runs(hook),
        "shell": hook.kind == "command" and uses_shell(hook, SPECS),
        "dialect": hook.dialect,
        "source": hook.source,
        "layer": hook.layer,
        "path": hook.source_path or None,
        "line": hook.source_line or None,
        "enabled": hook.enabled,
        "in_force": hook.enabled and project.engine.registry.has_hook(hook.id),
        "trust": standing(found),
        "objection": (found.objection if found is not None else UNKNOWN) or None,
        "priority": hook.priority,
        **described_policies(hook),
    }


def problems_of(hook: Hook, problems: Iterable[Problem]) -> list[Problem]:
    """Give the problems that are about one hook: at its line, or with its name."""
    names = {f'"{name}"' for name in (hook.id, hook.name) if name}
    return [
        problem
        for problem in problems
        if problem.path == hook.source_path
        and (problem.line == hook.source_line or any(name in problem.message for name in names))
    ]


def described_problem(problem: Problem) -> Mapping[str, object]:
    """Give a problem as `--json` prints it."""
    return {
        "path": problem.path,
        "line": problem.line or None,
        "severity": problem.severity,
        "message": problem.message,
    }


def cut(text: str, longest: int) -> str:
    """Shorten a text for a column."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"
