"""`hookline doctor`: check this machine, this project and its agents. Each check tries the real thing."""

import argparse
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from hookline.bridge import call_ledger
from hookline.bridge.coverage_check import find_missed_calls, was_installed
from hookline.bridge.daemon_socket import find_socket_dir
from hookline.bridge.install_check import GONE, AgentCheck, check_agents
from hookline.cli._command import COMMON, CliCommand, argument
from hookline.cli._output import (
    Line,
    TextStyle,
    format_ago,
    format_clock,
    format_span,
    pluralise,
    progress,
    render,
    style_word,
)
from hookline.cli._project import load_from_args
from hookline.cli.hosts import make_around_project
from hookline.config.loader import read_record
from hookline.daemon.protocol import find_hung
from hookline.dialects import DIALECTS
from hookline.engine.engine import Engine
from hookline.errors import StoreError
from hookline.hosts import HOSTS, find
from hookline.hosts.command_line import canonical_events
from hookline.hosts.drift import find_drift
from hookline.hosts.host import HostEnvironment
from hookline.hosts.installer import accept, execute
from hookline.kinds.command.command import WHITELIST
from hookline.model.event import EventName
from hookline.model.hook import Hook, Source
from hookline.model.job import JobState
from hookline.model.sandbox import UNCONTAINED
from hookline.process.containment import find_layers, list_lacking
from hookline.process.sandbox_wrappers import INSTALL_BUBBLEWRAP
from hookline.project import Project
from hookline.stores import worker_registry
from hookline.stores.counters import Counter as Counts
from hookline.stores.queue import SqliteQueue
from hookline.stores.trace_queries import TraceFilter, TraceQueries, TraceStats
from hookline.text import shell_quote
from hookline.version import __version__
from hookline.views import describe_containment

CANARY_RUNS: Final = 9
SLOW_CANARY: Final = 0.05  # seconds; a program that does nothing takes a few milliseconds
LARGE_TRACES: Final = 200 * 1024 * 1024  # bytes of traces

# optional extras: the module, and what needs it
EXTRAS: Final = {"yaml": ("ruamel.yaml", "hooks in YAML files"), "tui": ("textual", "live views in a terminal")}

# the path of problems that are in no file
_ENVIRONMENT: Final = "environment"

# seconds that the daemon has to answer
_DAEMON: Final = 5.0
# seconds that the collector has to answer, and the first status that is no success
_COLLECTOR: Final = 3.0
_BAD_STATUS: Final = 300
_RECENT: Final = 7 * 86_400.0  # seconds
_MOST: Final = 50
_SHOWN: Final = 5


class Health(StrEnum):
    """The result of a check."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class HealthFinding(Struct, frozen=True):
    """One result of a check, with advice where something is to be done."""

    health: Health
    text: str
    advice: str = ""


_ok, _note = partial(HealthFinding, Health.OK), partial(HealthFinding, Health.NOTE)
_warning, _error = partial(HealthFinding, Health.WARNING), partial(HealthFinding, Health.ERROR)


def run(args: argparse.Namespace) -> int:
    """Print every finding; return 1 if there is an error among them."""
    project = load_from_args(args)
    if args.accept:
        return _accept_settings(args, make_around_project(project))
    findings = []
    with progress(len(CHECKS), "checking", args=args) as bar:
        for area, check in CHECKS:
            findings += [(area, finding) for finding in check(project)]
            bar.advance(f"checked {area}")
    widest = max(len(area) for area, _ in CHECKS)
    lines = []
    for area, finding in findings:
        health = finding.health.upper() if finding.health is Health.ERROR else finding.health
        advice = f"; {finding.advice}" if finding.advice else ""
        marks = [(health, style_word(health)), (area, TextStyle.DIM), (finding.text, TextStyle.NONE)]
        marks.append((advice, TextStyle.DIM))
        lines.append(Line(f"{health:<8} {area:<{widest}}  {finding.text}{advice}", marks))
    render(args, [{"area": area, **asdict(finding)} for area, finding in findings], *lines)
    return 1 if any(finding.health is Health.ERROR for _, finding in findings) else 0


def _accept_settings(args: argparse.Namespace, around: HostEnvironment) -> int:
    """Take the hooks of others in the settings of an agent as known.

    Raises:
        HostError: There is no such agent.
    """
    host = find(args.accept)
    texts = [text for text, _ in find_drift(host, around)]
    plans, number = execute(
        around,
        lambda: [accept(host, scope, around) for scope in host.files],
        what="take the settings as they are:",
        dry_run=False,
    )
    is_installed = any(plan.files for plan in plans)
    summary = f"{pluralise(len(texts), 'change')} in the settings of {host.title} accepted"
    missing = f"Hookline is not installed in {host.title} here; `hookline install {host.name}` does that"
    value = {"changed": bool(number), "agent": host.name, "accepted": texts}
    return render(args, value, *texts, summary if is_installed else missing)


def _check_program(_project: Project) -> Iterator[HealthFinding]:
    python = f"Python {platform.python_version()} ({sys.executable})"
    yield _ok(f"hookline {__version__}, {python}, {platform.system()} {platform.release()}")


_PRIVATE: Final = ("approvals.json", "traces.db", "state.db", "queue.db")


def _check_folders(project: Project) -> Iterator[HealthFinding]:
    for problem in project.folders.problems:
        advice = "unset the variable, or point it to a folder of yours" if problem.path == _ENVIRONMENT else ""
        yield HealthFinding(Health(problem.severity), problem.message, advice)
    yield _ok(f"configuration in {project.folders.config}")
    data = project.folders.data
    # not with pathlib, which raises for a folder that is not readable: that is what this checks
    place = next(folder for folder in (data, *data.parents) if os.path.lexists(folder))
    if not os.path.isdir(place) or not os.access(place, os.W_OK | os.X_OK):  # noqa: PTH112
        yield _error(f"data folder {data} cannot be written to", "approvals and traces need it")
    else:
        yield _ok(f"data in {data}{'' if place == data else ', which is made when it is needed'}")
    for path in (data, *(data / name for name in _PRIVATE)):
        if os.path.exists(path) and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):  # noqa: PTH110
            yield _warning(f"others may use {path}", f"chmod go= {path}")


def _check_managed(project: Project) -> Iterator[HealthFinding]:
    if project.folders.managed is not None:
        yield _ok(f"managed hooks come from {project.folders.managed}")


def _check_settings(project: Project) -> Iterator[HealthFinding]:
    settings = project.settings
    for problem in project.problems:
        if problem.path == _ENVIRONMENT and problem not in project.folders.problems:
            yield HealthFinding(Health(problem.severity), problem.message)
    if not settings.enabled and not settings.guards_only:
        advice = "unset HOOKS_ENABLED, or set `enabled` in your [settings]"
        yield _warning("hooks are switched off; only managed ones run", advice)
    if settings.observe:
        yield _warning("hooks are only observed; nothing is blocked", "take `observe` out of [settings]")
    if settings.trust_workspace:
        text = "every workspace is trusted: what a project brings runs without approval"
        yield _warning(text, "take `trust_workspace` out of [settings], and approve hooks instead")
    for folder in settings.trusted_workspaces:
        yield _note(f"hooks of {folder} run without approval")


def _check_configuration(project: Project) -> Iterator[HealthFinding]:
    if not project.loaded.loaded_files:
        yield _note("no configuration was found", "`hookline init` makes one")
    for file in project.loaded.loaded_files:
        yield _ok(f"{file.path}: {pluralise(file.hooks, 'hook')} ({file.layer}, {file.dialect})")
    in_files = [Health(problem.severity) for problem in project.problems if problem.path != _ENVIRONMENT]
    for health, number in Counter(in_files).items():
        if health is not Health.NOTE:
            yield HealthFinding(health, f"{number} {health}s in configuration files", "`hookline check` lists them")


def _check_approvals(project: Project) -> Iterator[HealthFinding]:
    trust = project.trust
    try:
        count = len(trust.get_approvals())
    except StoreError as problem:
        yield _error(str(problem), "until then nothing that needs approval runs")
        return
    yield _ok(pluralise(count, "approval"))
    record = read_record(project.folders.data)
    if record is not None and record.was_missing:
        made = format_clock(record.made_at)
        text = f"the record of known hooks in your home was missing and was made anew on {made}"
        advice = "look at the hooks of your home with `hookline list`, then run `hookline install AGENT` again"
        yield _warning(text, advice)
    for hook in project.hooks:
        objection = trust.reason_denied(hook, cwd=str(project.root)) if hook.enabled else ""
        if objection:
            name = shell_quote(hook.id)
            advice = f"`hookline trust approve {name}`, after `hookline trust show {name}`"
            health = Health.ERROR if project.fails_closed(hook) else Health.WARNING
            yield HealthFinding(health, f'hook "{hook.id}" does not run: {objection}', advice)


def _check_programs(project: Project) -> Iterator[HealthFinding]:
    used = Counter(hook.command.split()[0] for hook in project.hooks if hook.command.split())
    for name in sorted(set(used) & set(WHITELIST)):
        path = shutil.which(name)
        if path is None:
            yield _error(f"{used[name]} hooks need {name}, which is not on PATH", f"install {name}")
        elif Path(path).is_relative_to(project.root):
            yield _note(f"{name} on PATH is the project's own ({path}); hooks get the next one")
        else:
            yield _ok(f"{name} is {path}")


def _check_sandbox(project: Project) -> Iterator[HealthFinding]:
    machine = find_layers()
    if machine.can_contain:
        yield _ok(f"what is not your own is contained by {', '.join(machine.layers)}")
        for lacking in list_lacking(UNCONTAINED):
            yield _note(lacking)
        return
    text = f"files cannot be contained here: {' and '.join(machine.lacking)}"
    advice = INSTALL_BUBBLEWRAP if "bubblewrap is not installed" in machine.lacking else ""
    hooks = (hook for hook in project.hooks if hook.enabled and hook.containment.is_contained)
    if contained := [hook.id for hook in hooks if describe_containment(hook)]:
        text += f", and {pluralise(len(contained), 'hook')} should be ({', '.join(contained[:_SHOWN])})"
    yield _warning(text, advice) if contained else _note(text, advice)


def _check_traces(project: Project) -> Iterator[HealthFinding]:
    history = TraceQueries(project.folders.data / "traces.db")
    if not os.path.exists(history.path):  # noqa: PTH110 - see above
        yield _ok("no traces yet")
        return
    try:
        damage, count = history.damage(), history.count()
        last = next(history.traces(TraceFilter()), None)
    except StoreError as problem:
        yield _error(str(problem))
        return
    if damage:
        yield _error(f"{history.path} is damaged: {damage}", "move it away; a new one is made")
        return
    size = history.path.stat().st_size
    newest = f", the newest {format_ago(last.at)}" if last is not None else ""
    yield _ok(f"{count} records in {history.path} ({size / 1e6:.1f} MB){newest}")
    if size > LARGE_TRACES:
        yield _note("the trace file is large", "`hookline trace prune --older-than 30d`")
    if last is not None and last.at > time.time() + 60:
        yield _warning("the newest trace is from the future", "check this machine's clock")


def _check_telemetry(project: Project) -> Iterator[HealthFinding]:
    wanted = project.settings.telemetry
    if wanted is None:
        return
    import httpx2  # noqa: PLC0415 - only where telemetry is exported

    from hookline.telemetry.exporter import find_target  # noqa: PLC0415 - as above

    target, _problem = find_target(wanted, os.environ)
    for url in (target.traces, target.metrics) if target is not None else ():
        headers = {"content-type": "application/x-protobuf", **dict(target.headers if target is not None else ())}
        try:
            # an empty document is a valid request that brings nothing
            status = httpx2.post(url, content=b"", headers=headers, timeout=_COLLECTOR).status_code if url else 0
        except httpx2.HTTPError as problem:
            yield _warning(f"the collector at {url} does not answer: {problem}", "hooks run, telemetry is dropped")
            continue
        if status >= _BAD_STATUS:
            yield _warning(f"the collector at {url} refuses telemetry with status {status}", "look at its log")
        elif url:
            yield _ok(f"telemetry goes to {url}")
    with suppress(StoreError):
        totals = TraceStats(project.folders.data / "traces.db").totals()
        if dropped := totals[Counts.DROPPED].get(("telemetry",)):
            yield _note(f"{dropped:.0f} records were not exported since they are counted", "`hookline trace tail`")


def _check_extras(_project: Project) -> Iterator[HealthFinding]:
    for name, (module, purpose) in EXTRAS.items():
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            yield _note(f"{purpose} need the extra {name}", f"pip install 'hookline[{name}]'")


def _check_prompts(_project: Project) -> Iterator[HealthFinding]:
    if os.environ.get("CI"):
        yield _note("this is CI: no user is asked, and hooks without an approval do not run")
        return
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0)))
    except OSError:
        yield _note("there is no terminal here: no user is asked, and hooks without an approval do not run")


def _check_speed(_project: Project) -> Iterator[HealthFinding]:
    program = shutil.which("true")
    if program is None:
        return
    typical, failure = asyncio.run(_measure_hook(program))
    if failure:
        yield _error(f"a program that does nothing could not be run as a hook: {failure}")
    else:
        text = f"a hook that does nothing takes {format_span(typical)}"
        advice = "something on this machine slows down every program that starts"
        yield _warning(text, advice) if typical > SLOW_CANARY else _ok(text)


async def _measure_hook(program: str) -> tuple[float, str]:
    """Run a hook that does nothing several times; return the median time, and the first failure."""
    with tempfile.TemporaryDirectory() as folder:
        async with Engine(cwd=folder) as engine:
            engine.add(Hook(id="canary", on="notification", command=program, source=Source.BUILTIN))
            outcomes = [await engine.emit("notification", {"message": "doctor"}) for _ in range(CANARY_RUNS)]
    failures = [verdict.failure.message for one in outcomes for verdict in one.verdicts if verdict.failure]
    return sorted(outcome.duration for outcome in outcomes)[CANARY_RUNS // 2], failures[0] if failures else ""


def _check_queue(project: Project) -> Iterator[HealthFinding]:
    queue = SqliteQueue(project.folders.data / "queue.db")
    try:
        if not queue.is_there():
            return
        counts = queue.counts()
    except StoreError as problem:
        yield _error(str(problem))
        return
    if dead := counts[JobState.DEAD]:
        advice = "`hookline queue list --all --dead` says why, `hookline queue retry` runs them again"
        yield _warning(f"{pluralise(dead, 'background job')} given up", advice)
    owed = counts[JobState.WAITING] + counts[JobState.RUNNING]
    if owed and not worker_registry.list_workers(project.folders.data):
        yield _note(f"{pluralise(owed, 'background job')} and no worker", "`hookline queue work` runs them")
    elif not dead:
        yield _ok(f"{pluralise(owed, 'background job')} in the queue")


def _check_daemon(_project: Project) -> Iterator[HealthFinding]:
    if os.name == "nt":
        return
    hung = find_hung(find_socket_dir(os.environ), patience=_DAEMON)
    if hung:
        text = f"the daemon, process {hung}, does not answer: every call starts a Python instead"
        yield _error(text, "hookline daemon stop")


def _check_agents(project: Project) -> Iterator[HealthFinding]:
    """Call Hookline as each agent with entries in its settings would."""
    standings = list(check_agents(make_around_project(project)))
    if not standings:
        yield _note("no agent has us in its settings", "`hookline install` puts us there")
    for standing in standings:
        yield from _check_agent(standing)
    if standings:
        yield from _find_unraised(project, standings)


# events that do not come from agents alone
_FROM_ELSEWHERE: Final = frozenset(
    {
        *(EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED, EventName.GIT_COMMIT),
        *(EventName.USER_TRIGGERED, EventName.CUSTOM, EventName.ERROR),
    }
)


def _find_unraised(project: Project, standings: Sequence[AgentCheck]) -> Iterator[HealthFinding]:
    """Find hooks for events that no installed agent sends."""
    sent = {
        moment for standing in standings for one in standing.tried for moment in canonical_events(one.host, one.event)
    }
    of_agents = {name for host in HOSTS.values() for name in host.spec.events} - _FROM_ELSEWHERE
    for hook in project.hooks:
        events = [event for event in EventName if event in hook.on and not hook.implicit]
        if hook.enabled and events and set(events) <= of_agents and not sent & set(events):
            whom = ", ".join(HOSTS[standing.host].title for standing in standings)
            text = f'hook "{hook.id}" waits for {", ".join(events)}, which {whom} does not ask about'
            having = (
                f"`hookline install {host.name} --events +{host.spec.events[event]}` has it asked"
                for event in events
                for host in HOSTS.values()
                if event in host.spec.events and host.spec.events[event] in host.events
            )
            yield _warning(text, next(having, ""))


def _check_agent(standing: AgentCheck) -> Iterator[HealthFinding]:
    again = f"`hookline install {standing.host}` writes the entries anew"
    start = "`hookline daemon start` starts it; the next session of the agent does so, too"
    arrived = [one for one in standing.tried if one.arrived]
    if arrived:
        names = ", ".join(dict.fromkeys(one.event for one in arrived))
        yield _ok(f"{standing.host}: {pluralise(len(arrived), 'event')} of {len(standing.tried)} reach us: {names}")
    silent: dict[tuple[str, str, bool], list[str]] = {}
    for one in standing.tried:
        if not one.arrived:
            silent.setdefault((one.path, one.why, one.called), []).append(one.event)
    for (path, why, called), events in silent.items():
        text = f"{standing.host}: {', '.join(events)} in {path} do not reach us: {why}"
        yield _error(text, start if called else again)
    # a missing program was reported by the trial already
    gone = tuple(one.why.partition(GONE)[2] for one in standing.tried if GONE in one.why)
    for obstacle in standing.obstacles:
        if not (gone and obstacle.text.startswith(gone)):
            health = Health.ERROR if obstacle.is_error else Health.WARNING
            yield HealthFinding(health, f"{standing.host}: {obstacle.text}", obstacle.fix)
    for text in standing.problems:
        yield _warning(f"{standing.host}: {text}")


def _check_sessions(project: Project) -> Iterator[HealthFinding]:
    """Compare recent transcripts of agents with the calls that reached Hookline."""
    folders = project.folders
    ledgers = list(call_ledger.list_ledgers(folders.data, since=time.time() - _RECENT))[:_MOST]
    for path in ledgers:
        # the settings may have changed since the session; the install record counts
        host = next((line.host for line in call_ledger.read(path)), "")
        native = DIALECTS[host].SPEC.events.get(EventName.BEFORE_TOOL, "") if host in DIALECTS else ""
        is_installed = partial(was_installed, host, native, folders.data, home=folders.home, environ=os.environ)
        alarm = find_missed_calls(path, is_installed=is_installed)
        if alarm:
            yield _error(f"in a session of the last days {alarm.partition('; ')[0]}")
    if ledgers:
        yield _ok(f"{pluralise(len(ledgers), 'session')} of the last days looked at for calls that we missed")


CHECKS: Final[Sequence[tuple[str, Callable[[Project], Iterator[HealthFinding]]]]] = (
    *(("program", _check_program), ("folders", _check_folders), ("managed", _check_managed)),
    *(("settings", _check_settings), ("configuration", _check_configuration), ("approvals", _check_approvals)),
    ("sandbox", _check_sandbox),
    *(("programs", _check_programs), ("traces", _check_traces), ("queue", _check_queue), ("extras", _check_extras)),
    ("telemetry", _check_telemetry),
    *(("questions", _check_prompts), ("speed", _check_speed), ("daemon", _check_daemon)),
    *(("agents", _check_agents), ("sessions", _check_sessions)),
)


COMMAND: Final = CliCommand(
    "check this machine, this project and every hook in it, and say what to do",
    *COMMON,
    argument("--accept", "take the hooks that others have put into this agent's settings as they are", metavar="AGENT"),
    example="",
    run=run,
)
