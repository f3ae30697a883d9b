"""What the page shows, as JSON: calls and sessions, hooks and what a user may do with them, figures, and the machine.

`mask` makes every text in it safe to show.
"""

import asyncio
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from hookline import json_codec
from hookline.bridge.guarded_paths import find_guarded_if_installed
from hookline.builtin.catalogue import BUILTINS, strip_prefix
from hookline.config.formats.agent_specs import FILE_SPECS
from hookline.debug.capability_matrix import abilities
from hookline.errors import ConfigError, StoreError
from hookline.hosts import HOSTS
from hookline.hosts.host import HostEnvironment
from hookline.hosts.status import find_installed
from hookline.http_server import HTTPException
from hookline.model.event import EVENTS, EventName
from hookline.model.hook import Hook, Layer
from hookline.model.record import Record, Step
from hookline.model.verdict import EffectKind
from hookline.project import Project, load_project
from hookline.stores.queue import SqliteQueue
from hookline.stores.sqlite import LARGEST
from hookline.stores.trace_queries import (
    HookFigures,
    SessionSummary,
    Summary,
    TimeBucket,
    TraceFilter,
    TraceQueries,
    TraceStats,
)
from hookline.text import escape, sanitize
from hookline.trust.fingerprint import HookFingerprint
from hookline.trust.policy import TrustDecision, TrustStatus, suggest_approval
from hookline.user_dirs import UserDirs
from hookline.version import __version__
from hookline.views import HookView, describe_containment, describe_target, find_hook, list_limits, problems_to_json
from hookline.views.approval_screen import ApprovalScreen, list_facts, list_files

Json = Mapping[str, object]

# the steps whose records may carry the fields of the event
_WITH_FIELDS: Final = (Step.EVENT, Step.OUTCOME)
_FIGURES: Final = (
    *("hook", "runs", "failed", "failures", "denials", "observed_denials", "success_rate", "mean", "total"),
    *("last_run", "last_error", "tokens", "cost"),
)

# characters of a text, items of a list or table in the detail of a record, and levels of nesting
LONGEST: Final = 20_000
MOST_ITEMS: Final = 500
# above this level are lists of the server's own: of calls, of records, of figures
_IN_DETAIL: Final = 4
DEEPEST: Final = 16
_SHORT: Final = 300

_PLAIN: Final = (bool, int, float, type(None))

_NOTE: Final = "approved on the page of hookline ui"
_MOST_JOBS: Final = 500
# what `hookline doctor` finds that is nothing to worry about
_FINE: Final = frozenset({"ok", "note"})


def call_to_json(call: Summary) -> dict[str, object]:
    """Return a call in one line."""
    facts = asdict(call)
    facts["agent"] = facts.pop("host")
    return facts


def record_to_json(record: Record) -> Json:
    """Return one record of a call."""
    return {name: getattr(record, name) for name in ("step", "at", "hook", "decision", "duration", "detail")}


def session_to_json(traces: TraceQueries, session: SessionSummary) -> Json:
    """Return a session in one line, with its first prompt and the version of its agent."""
    facts, name = asdict(session), session.session
    return {
        **facts,
        "agent": facts.pop("host"),
        "version": traces.agent_version(name),
        "prompt": traces.first_prompt(name),
    }


def figures_to_json(figures: HookFigures) -> Json:
    """Return the figures of a hook."""
    return {
        **{name: getattr(figures, name) for name in _FIGURES},
        **asdict(figures.times),
    }


def times_to_json(bucket: TimeBucket) -> Json:
    """Return how long runs took in a span of time."""
    facts = asdict(bucket)
    del facts["times"]
    return {**facts, **asdict(bucket.times)}


def list_calls(traces: TraceQueries, wanted: TraceFilter, *, limit: int, before: int) -> Json:
    """Return the newest calls that are wanted."""
    with closing(traces.traces(wanted, before=before)) as calls:
        found = list(islice(calls, limit + 1))
    return {"calls": list(map(call_to_json, found[:limit])), "more": len(found) > limit}


def describe_call(traces: TraceQueries, call: Summary) -> Json:
    """Return a call with its records, and what hooks rewrote."""
    records = traces.records(call.trace)
    return {
        **call_to_json(call),
        "records": list(map(record_to_json, records)),
        "diff": list(find_rewrites(records)),
    }


def find_rewrites(records: Iterable[Record]) -> Iterator[Mapping[str, str]]:
    """Yield the arguments and outputs that hooks rewrote: each with its name, the first text and the last."""
    fields: dict[str, dict[str, object]] = {"args": {}, "data": {}}
    changed: dict[str, tuple[str, str]] = {}
    for record in records:
        if record.step in _WITH_FIELDS:
            for name, table in fields.items():
                value = record.detail.get(name)
                table.update(value if isinstance(value, Mapping) else {})
        if record.step is not Step.COMPLETED or record.detail.get("observed"):
            continue
        for path, value in _list_rewrites(record):
            name = ".".join(path)
            before = changed[name][0] if name in changed else _to_text(_find_value(record.event, path, fields))
            changed[name] = (before, _to_text(value))
    for name, (before, after) in changed.items():
        if before != after:
            yield {"name": name, "before": before, "after": after}


def _list_rewrites(record: Record) -> Iterator[tuple[list[str], object]]:
    effects = record.detail.get("effects")
    for effect in effects if isinstance(effects, list | tuple) else ():
        if isinstance(effect, Mapping) and effect.get("kind") == EffectKind.REWRITE and effect.get("path"):
            yield [str(part) for part in effect["path"]], effect.get("value")


def _find_value(event: str, path: list[str], fields: Mapping[str, Mapping[str, object]]) -> object:
    """Return what the event says at the path of a rewrite."""
    spec = EVENTS[EventName(event)] if event in EVENTS else None
    field = (spec.input if path[0] == "args" else spec.output) if spec is not None else ""
    value: object = fields["data"].get(field) if field else fields["args"] if path[0] == "args" else None
    for part in path[1:]:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _to_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json_codec.dump(value).decode()


def mask(value: object, *, depth: int = 0) -> object:
    """Return a JSON value with every text in it made safe to show."""
    if isinstance(value, str):
        return _mask_short(value) if len(value) <= _SHORT else sanitize(value, longest=LONGEST, tabs=True)
    if isinstance(value, _PLAIN):
        return value
    if depth >= DEEPEST:
        return "… (nested deeper)"
    most = MOST_ITEMS if depth >= _IN_DETAIL else None
    if isinstance(value, Mapping):
        left = len(value) - MOST_ITEMS if most is not None else 0
        table = {str(mask(str(key))): mask(item, depth=depth + 1) for key, item in islice(value.items(), most)}
        return table if left <= 0 else {**table, "…": f"({left} more)"}
    if isinstance(value, list | tuple | set | frozenset):
        left = len(value) - MOST_ITEMS if most is not None else 0
        shown = [mask(item, depth=depth + 1) for item in islice(value, most)]
        return shown if left <= 0 else [*shown, f"… ({left} more)"]
    return mask(str(value))


@lru_cache(maxsize=8_192)
def _mask_short(text: str) -> str:
    # names of sessions, projects, hooks and tools come again and again
    return sanitize(text, longest=LONGEST, tabs=True)


@contextmanager
def open_project(path: str) -> Iterator[Project]:
    """Load the project in a folder as it is now, in a thread.

    Raises:
        HTTPException: There is no such folder.
    """
    root = Path(path)
    if "\0" in path or not root.is_absolute() or not root.is_dir():
        raise HTTPException(400, sanitize(f"there is no folder {path}"))
    project = load_project(root, traced=False, guarded=find_guarded_if_installed(root))
    try:
        yield project
    finally:
        asyncio.run(project.close())


def list_hooks(path: str, figures: Mapping[str, HookFigures]) -> Mapping[str, object]:
    """Return every hook of a project, also the built-in ones that are off, and the problems of its files."""
    with open_project(path) as project:
        known = {hook.id for hook in project.hooks}
        hooks = (*project.hooks, *(hook for hook in project.builtins if hook.id not in known))
        return {
            "project": str(project.root),
            "hooks": [_hook_to_json(hook, project, figures.get(hook.id)) for hook in hooks],
            "problems": problems_to_json(project.problems),
        }


def _hook_to_json(hook: Hook, project: Project, figures: HookFigures | None) -> Mapping[str, object]:
    trust, problem = _decide(hook, project)
    view = HookView(hook, project, trust)
    reason = trust.reason_denied if trust is not None else problem
    is_active = project.is_active(hook)
    off = "" if is_active else "all hooks are switched off in your settings"
    why = (
        "it is switched off"
        if not hook.enabled
        else off or reason or project.components.refusal(hook) or view.find_trouble()
    )
    return {
        **{name: getattr(hook, name) for name in ("id", "kind", "source", "layer", "enabled")},
        "agents": hook.agents or hook.run_by,
        "description": hook.name,
        "target": describe_target(hook),
        "events": hook.on,
        "path": hook.source_path,
        "line": hook.source_line,
        "active": not why,
        "why_inactive": why,
        "guard": project.fails_closed(hook),
        "trust": {"state": view.state, "reason": reason},
        "sandbox": {"level": hook.containment.level, "words": describe_containment(hook)},
        "can_toggle": _can_toggle(hook),
        "figures": figures_to_json(figures) if figures is not None else None,
    }


def _decide(hook: Hook, project: Project) -> tuple[TrustDecision | None, str]:
    try:
        return project.trust.decide(hook, cwd=str(project.root)), ""
    except StoreError as problem:
        return None, str(problem)


def _can_toggle(hook: Hook) -> bool:
    """Return whether `hookline enable` and `disable` can change the file of a hook."""
    if hook.layer is Layer.MANAGED:
        return False
    if hook.run_by and hook.source_format in FILE_SPECS:
        return "enabled" in FILE_SPECS[hook.source_format].keys
    return strip_prefix(hook.id) in BUILTINS or bool(hook.source_path)


def show_approval(path: str, name: str) -> Mapping[str, object]:
    """Return what the approval screen of the terminal says about a hook, whole and without masks.

    A mask could hide what would run; every character that could hide something is escaped.
    """
    with open_project(path) as project:
        hook, cwd = _find(project, name), str(project.root)
        screen = ApprovalScreen.build(hook, project.trust, cwd=cwd)
        clearance = screen.clearance
        facts = [*list_facts(hook, clearance, cwd=cwd), *list_files(clearance)]
        return {
            "id": escape(hook.id),
            "state": HookView(hook, project, clearance).state,
            "facts": [{"label": one.label, "lines": [line._asdict() for line in one.lines]} for one in facts],
            "diffs": [{"path": escape(one.name), "unified": escape(one.text, tabs=True)} for one in screen.changes],
            "digest": _make_digest(clearance.fingerprint) if clearance.fingerprint is not None else "",
            "mend": escape(clearance.mend or (suggest_approval(hook) if clearance.reason_denied else "")),
        }


def _make_digest(fingerprint: HookFingerprint) -> str:
    """Return the digest of all that an approval covers: the definition, the files, and the programs that are found now."""
    programs = hashlib.sha256(repr([asdict(one) for one in fingerprint.programs]).encode("utf-8", "surrogatepass"))
    return f"{fingerprint.digest}.{programs.hexdigest()[:16]}"


def approve(path: str, name: str, digest: str) -> Mapping[str, object]:
    """Approve a hook exactly as it was shown.

    Raises:
        HTTPException: It changed since, or cannot be approved.
    """
    with open_project(path) as project:
        hook, cwd = _find(project, name), str(project.root)
        decision = project.trust.decide(hook, cwd=cwd)
        if decision.fingerprint is None or decision.status is TrustStatus.APPROVED:
            return {"message": f"{hook.id} may run already"}
        if digest != _make_digest(decision.fingerprint):
            raise HTTPException(409, sanitize(f"{hook.id} is no longer what you looked at; look again"))
        try:
            project.trust.approve(hook, cwd=cwd, digest=decision.fingerprint.digest, note=_NOTE)
        except ConfigError as problem:
            raise HTTPException(409, sanitize(str(problem))) from None
        return {"message": f"{hook.id} is approved as you saw it"}


def revoke(path: str, name: str) -> Mapping[str, object]:
    """Take back the approval of a hook as it is now.

    Raises:
        HTTPException: There is none.
    """
    with open_project(path) as project:
        hook = _find(project, name)
        decision = project.trust.decide(hook, cwd=str(project.root))
        if decision.approval is None:
            raise HTTPException(409, sanitize(f"{hook.id} has no approval that could be taken back"))
        project.trust.revoke(decision.approval.digest)
        return {"message": f"the approval of {hook.id} is taken back"}


def _find(project: Project, name: str) -> Hook:
    try:
        return find_hook(project, name)
    except ConfigError as problem:
        raise HTTPException(404, sanitize(str(problem))) from None


def describe_status(traces: TraceQueries, folders: UserDirs, project: Path) -> dict[str, object]:
    """Return what the head of the page and its filters need."""
    around = HostEnvironment(home=folders.home, data=folders.data, project=project, environ=os.environ)
    installed = {host.name for host in find_installed(around)}
    path = traces.path
    return {
        "version": __version__,
        "project": str(project),
        "agents": [
            {"name": host.name, "title": host.title, "installed": host.name in installed} for host in HOSTS.values()
        ],
        "projects": traces.projects(limit=100),
        "hooks": traces.hooks(),
        "records": traces.count(),
        "file_size": path.stat().st_size if path.exists() else 0,
        "file_limit": LARGEST,
        "now": time.time(),
    }


def describe_matrix() -> Json:
    """Return which events each agent has, and what an answer can do there."""
    return {
        "events": [{"name": name, "about": spec.when} for name, spec in EVENTS.items()],
        "agents": [{"name": host.name, "title": host.title} for host in HOSTS.values()],
        "cells": {
            host.name: {
                name: {"native": native, "can": sorted(abilities(host.spec, name))}
                for name, native in host.spec.events.items()
            }
            for host in HOSTS.values()
        },
    }


def describe_metrics(traces: Path, *, since: float, step: float) -> Json:
    """Return rates, failures and durations of the last so many seconds, in spans of `step` seconds."""
    stats = TraceStats(traces)
    wanted = TraceFilter(since=time.time() - since)
    hooks, by_hook, by_agent = stats.hooks_over_time(wanted, step)
    calls = []
    for bucket in stats.calls(wanted, step):
        facts = asdict(bucket)
        calls.append({**facts, "agent": facts.pop("host")})
    return {
        "since": since,
        "step": step,
        "calls": calls,
        "hooks": list(map(figures_to_json, hooks)),
        "times_by_hook": list(map(times_to_json, by_hook)),
        "times_by_agent": list(map(times_to_json, by_agent)),
    }


def describe_queue(data: Path, project: str) -> Json:
    """Return the jobs of all projects, and the limits of the hooks of one."""
    queue = SqliteQueue(data / "queue.db")
    with open_project(project) as opened:
        limits: list[Json] = [
            {"hook": hook, "limit": limit.gate, "passed": limit.passed, "reason": limit.reason}
            for hook, limit in (
                *list_limits(opened, opened.hooks, alone=True),
                *(("", limit) for limit in opened.engine.admission.shared_limit_status()),
            )
        ]
    is_there = queue.is_there()
    return {
        "jobs": [
            {
                **{name: getattr(job, name) for name in ("id", "hook", "project", "state", "attempts", "error")},
                "at": job.created,
            }
            for job in (queue.jobs(limit=_MOST_JOBS) if is_there else ())
        ],
        "counts": {str(state): count for state, count in queue.counts().items()} if is_there else {},
        "limits": limits,
    }


def shape_doctor(findings: object) -> Json:
    """Return what `hookline doctor --json` printed in the shape of the page."""
    checks = [
        {
            "name": one.get("area", ""),
            "ok": one.get("health") in _FINE,
            "level": one.get("health", ""),
            "message": one.get("text", ""),
            "mend": one.get("advice", ""),
        }
        for one in (findings if isinstance(findings, list) else ())
        if isinstance(one, Mapping)
    ]
    return {"ok": all(check["level"] != "error" for check in checks), "checks": checks}
