"""What the page shows beside calls and hooks: agents, the matrix, figures, the queue, and the health of the machine."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from hookline.debug.capability_matrix import abilities
from hookline.hosts import HOSTS
from hookline.hosts.host import HostEnvironment
from hookline.hosts.status import find_installed
from hookline.model.event import EVENTS
from hookline.stores.queue import SqliteQueue
from hookline.stores.sqlite import LARGEST
from hookline.stores.trace_queries import TraceFilter, TraceQueries, TraceStats
from hookline.ui.hook_pages import open_project
from hookline.ui.page_json import figures_to_json, times_to_json
from hookline.user_dirs import UserDirs
from hookline.version import __version__
from hookline.views.limits import list_limits

Json = Mapping[str, object]

_MOST_JOBS: Final = 500
# what `hookline doctor` finds that is nothing to worry about
_FINE: Final = frozenset({"ok", "note"})


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
