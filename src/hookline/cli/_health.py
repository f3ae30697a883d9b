"""What `hookline doctor` looks at: one function and one row a check. Each really tries what it speaks of."""

import asyncio
import importlib.util
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from hookline.cli._agents_health import agents, sessions
from hookline.cli._finding import Finding, Health
from hookline.cli._output import counted
from hookline.cli._times import ago, span
from hookline.config.problem import Problem, Severity
from hookline.core.engine import Engine
from hookline.display import typed
from hookline.errors import StoreError
from hookline.kinds.command import WHITELIST
from hookline.model.hook import Hook, Source
from hookline.model.job import JobState
from hookline.stores import standby
from hookline.stores.history import History, Question
from hookline.stores.queue import SqliteQueue
from hookline.version import __version__
from hookline.workspace import Opened

CANARY_RUNS: Final = 9
SLOW_CANARY: Final = 0.05  # seconds; a program that does nothing takes a few milliseconds
MUCH: Final = 200 * 1024 * 1024  # bytes of traces

# what an extra brings, and what for
EXTRAS: Final = {"yaml": ("ruamel.yaml", "hooks in YAML files")}


# where a problem lies that no file has
_ENVIRONMENT: Final = "environment"

Check = Callable[[Opened], Iterator[Finding]]

_HEALTH: Final = {Severity.ERROR: Health.ERROR, Severity.WARNING: Health.WARNING, Severity.NOTE: Health.NOTE}


def _program(_project: Opened) -> Iterator[Finding]:
    python = f"Python {platform.python_version()} ({sys.executable})"
    yield Finding(Health.OK, f"hookline {__version__}, {python}, {platform.system()} {platform.release()}")


_PRIVATE: Final = ("approvals.json", "traces.db", "state.db", "queue.db")


def _folders(project: Opened) -> Iterator[Finding]:
    for problem in project.folders.problems:
        advice = "unset the variable, or point it to a folder of yours" if problem.path == _ENVIRONMENT else ""
        yield Finding(_HEALTH[problem.severity], problem.message, advice)
    yield Finding(Health.OK, f"configuration in {project.folders.config}")
    data = project.folders.data
    # not with pathlib, which raises where a folder may not be looked into: that is what is to be found out
    place = next(folder for folder in (data, *data.parents) if os.path.lexists(folder))
    if not os.path.isdir(place) or not os.access(place, os.W_OK | os.X_OK):  # noqa: PTH112
        yield Finding(Health.ERROR, f"data folder {data} cannot be written to", "approvals and traces need it")
    else:
        yield Finding(Health.OK, f"data in {data}{'' if place == data else ', which is made when it is needed'}")
    for path in (data, *(data / name for name in _PRIVATE)):
        if os.path.exists(path) and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):  # noqa: PTH110
            yield Finding(Health.WARNING, f"others may use {path}", f"chmod go= {path}")


def _managed(project: Opened) -> Iterator[Finding]:
    if project.folders.managed is not None:
        yield Finding(Health.OK, f"managed hooks come from {project.folders.managed}")


def _switches(project: Opened) -> Iterator[Finding]:
    settings = project.settings
    for problem in project.problems:
        if problem.path == _ENVIRONMENT and problem not in project.folders.problems:
            yield Finding(_HEALTH[problem.severity], problem.message)
    if not settings.enabled:
        advice = "unset HOOKS_ENABLED, or set `enabled` in your [settings]"
        yield Finding(Health.WARNING, "hooks are switched off; only managed ones run", advice)
    if settings.observe:
        yield Finding(Health.WARNING, "hooks are only observed; nothing is blocked", "take `observe` out of [settings]")
    if settings.trust_workspace:
        text = "every workspace is trusted: what a project brings runs without approval"
        yield Finding(Health.WARNING, text, "take `trust_workspace` out of [settings], and approve hooks instead")
    for folder in settings.trusted_workspaces:
        yield Finding(Health.NOTE, f"hooks of {folder} run without approval")


def _configurations(project: Opened) -> Iterator[Finding]:
    if not project.loaded.found:
        yield Finding(Health.NOTE, "no configuration was found", "`hookline init` makes one")
    for file in project.loaded.found:
        yield Finding(Health.OK, f"{file.path}: {counted(file.hooks, 'hook')} ({file.layer}, {file.dialect})")
    for health, number in Counter(_HEALTH[problem.severity] for problem in _of_files(project)).items():
        if health is not Health.NOTE:
            yield Finding(health, f"{number} {health}s in configuration files", "`hookline check` lists them")


def _of_files(project: Opened) -> list[Problem]:
    return [problem for problem in project.problems if problem.path != _ENVIRONMENT]


def _approvals(project: Opened) -> Iterator[Finding]:
    trust = project.engine.trust
    try:
        count = len(trust.get_approvals())
    except StoreError as problem:
        yield Finding(Health.ERROR, str(problem), "until then nothing that needs approval runs")
        return
    yield Finding(Health.OK, counted(count, "approval"))
    for hook in project.loaded.hooks:
        objection = trust.objection(hook, cwd=str(project.root)) if hook.enabled else ""
        if objection:
            name = typed(hook.id)
            advice = f"`hookline trust approve {name}`, after `hookline trust show {name}`"
            yield Finding(Health.WARNING, f'hook "{hook.id}" does not run: {objection}', advice)


def _programs(project: Opened) -> Iterator[Finding]:
    used = Counter(hook.command.split()[0] for hook in project.loaded.hooks if hook.command.split())
    for name in sorted(set(used) & set(WHITELIST)):
        found = shutil.which(name)
        if found is None:
            yield Finding(Health.ERROR, f"{used[name]} hooks need {name}, which is not on PATH", f"install {name}")
        elif Path(found).is_relative_to(project.root):
            text = f"{name} on PATH is the project's own ({found}); hooks get the next one"
            yield Finding(Health.NOTE, text)
        else:
            yield Finding(Health.OK, f"{name} is {found}")


def _traces(project: Opened) -> Iterator[Finding]:
    history = History(project.folders.data / "traces.db")
    if not os.path.exists(history.path):  # noqa: PTH110 - see above
        yield Finding(Health.OK, "no traces yet")
        return
    try:
        damage, count = history.damage(), history.count()
        last = next(history.traces(Question()), None)
    except StoreError as problem:
        yield Finding(Health.ERROR, str(problem))
        return
    if damage:
        yield Finding(Health.ERROR, f"{history.path} is damaged: {damage}", "move it away; a new one is made")
        return
    size = history.path.stat().st_size
    newest = f", the newest {ago(last.at)}" if last is not None else ""
    yield Finding(Health.OK, f"{count} records in {history.path} ({size / 1e6:.1f} MB){newest}")
    if size > MUCH:
        yield Finding(Health.NOTE, "the trace file is large", "`hookline trace prune --older-than 30d`")
    if last is not None and last.at > time.time() + 60:
        yield Finding(Health.WARNING, "the newest trace is from the future", "check this machine's clock")


def _extras(_project: Opened) -> Iterator[Finding]:
    for name, (module, purpose) in EXTRAS.items():
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            yield Finding(Health.NOTE, f"{purpose} need the extra {name}", f"pip install 'hookline[{name}]'")


def _questions(_project: Opened) -> Iterator[Finding]:
    if os.environ.get("CI"):
        yield Finding(Health.NOTE, "this is CI: nobody is asked, and what nobody approved does not run")
        return
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        yield Finding(Health.NOTE, "there is no terminal here: nobody is asked, and what nobody approved does not run")


def _speed(_project: Opened) -> Iterator[Finding]:
    program = shutil.which("true")
    if program is None:
        return
    typical, failure = asyncio.run(_canary(program))
    if failure:
        yield Finding(Health.ERROR, f"a program that does nothing could not be run as a hook: {failure}")
    elif typical > SLOW_CANARY:
        advice = "something on this machine slows down every program that starts"
        yield Finding(Health.WARNING, f"a hook that does nothing takes {span(typical)}", advice)
    else:
        yield Finding(Health.OK, f"a hook that does nothing takes {span(typical)}")


async def _canary(program: str) -> tuple[float, str]:
    """Run a hook that does nothing some times; give the typical time, or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(cwd=folder) as engine:
            engine.add(Hook(id="canary", on="notification", command=program, source=Source.BUILTIN))
            outcomes = [await engine.emit("notification", {"message": "doctor"}) for _ in range(CANARY_RUNS)]
    failures = [verdict.failure.message for one in outcomes for verdict in one.verdicts if verdict.failure]
    return sorted(outcome.duration for outcome in outcomes)[CANARY_RUNS // 2], failures[0] if failures else ""


def _queue(project: Opened) -> Iterator[Finding]:
    queue = SqliteQueue(project.folders.data / "queue.db")
    try:
        if not queue.is_there():
            return
        counts = queue.counts()
    except StoreError as problem:
        yield Finding(Health.ERROR, str(problem))
        return
    if dead := counts[JobState.DEAD]:
        advice = "`hookline queue list --all --dead` says why, `hookline queue retry` runs them again"
        yield Finding(Health.WARNING, f"{counted(dead, 'background job')} given up", advice)
    owed = counts[JobState.WAITING] + counts[JobState.RUNNING]
    if owed and not standby.workers(project.folders.data):
        yield Finding(
            Health.NOTE, f"{counted(owed, 'background job')} and no worker", "`hookline queue work` runs them"
        )
    elif not dead:
        yield Finding(Health.OK, f"{counted(owed, 'background job')} in the queue")


CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("program", _program),
    ("folders", _folders),
    ("managed", _managed),
    ("settings", _switches),
    ("configuration", _configurations),
    ("approvals", _approvals),
    ("programs", _programs),
    ("traces", _traces),
    ("queue", _queue),
    ("extras", _extras),
    ("questions", _questions),
    ("speed", _speed),
    ("agents", agents),
    ("sessions", sessions),
)
