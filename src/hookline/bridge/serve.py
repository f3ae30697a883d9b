"""Serve one call of an agent: decode it, ask the hooks, and answer in the agent's dialect.

Every failure on the way follows the failure policy: it never becomes an accidental yes or no. Only the answer is ever written to
the agent, which may take any other output for one.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Final, Protocol

from msgspec.structs import replace

from hookline import caller_context
from hookline.bridge import call_ledger, fallback
from hookline.bridge.call import (
    DEEPEST_NESTING,
    PROBE_VARIABLE,
    Call,
    CallState,
    explain_nesting,
    find_agent_version,
    find_nesting,
    find_project_root,
    is_probe,
    nest_deeper,
    read_call,
    report_probe,
)
from hookline.bridge.call_ledger import ABOUT_CALLS
from hookline.bridge.daemon_socket import remember_choice
from hookline.bridge.guarded_paths import list_guarded_paths
from hookline.bridge.notices import Notices, capture_warnings, choose_channel
from hookline.config.document import Severity
from hookline.debug.capability_matrix import explain_shortfall, find_shortfalls
from hookline.dialects import DIALECTS
from hookline.engine.session import add_error_type
from hookline.engine.trace_records import event_record, record
from hookline.model.event import Ability, Event, EventName
from hookline.model.exchange import Answer
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.record import Step
from hookline.model.scope import is_for_agent
from hookline.model.verdict import Outcome
from hookline.project import Project, load_project
from hookline.text import shell_quote
from hookline.user_dirs import find_user_dirs

Send = Callable[[Answer], None]

# exit codes where the answer could not be written: of a denial, and of all else
_DENIED: Final = 2
_FAILED: Final = 1

# at the end of a turn and of a session, the agent's transcript is compared with the ledger
_COMPARED: Final = frozenset({EventName.AFTER_AGENT, EventName.SESSION_END})
# rare enough to read the agent's settings again
_SETTINGS_READ: Final = frozenset({EventName.SESSION_START, EventName.AFTER_AGENT})

# Seconds. Our entries in settings have agents wait a little longer, and without an answer by then they go on: a guard that takes
# too long must have failed before, so that its failure policy holds.
PATIENCE: Final = 580.0

_EVERYDAY: Final = frozenset(
    {
        *(EventName.SESSION_START, EventName.BEFORE_AGENT, EventName.BEFORE_TOOL),
        *(EventName.AFTER_TOOL, EventName.AFTER_AGENT),
    }
)


class Projects(Protocol):
    """Open projects, and take them back."""

    def open(self, root: Path) -> Project:
        """Return a project as it is configured now."""

    async def release(self, project: Project) -> None:
        """Record that a call is answered."""


class SingleUseProjects:
    """Load a project for one call, and close it when that is answered."""

    def open(self, root: Path) -> Project:
        """Load the project."""
        project = load_project(root, guarded=list_guarded_paths)
        remember_choice(caller_context.full_environ(), wanted=project.settings.daemon)
        return project

    async def release(self, project: Project) -> None:
        """Close the project, which waits for background work of its hooks."""
        await project.close()


async def serve(
    call: Call, send: Send, *, environ: Mapping[str, str] | None = None, projects: Projects | None = None
) -> int:
    """Answer one call with `send`, and return the exit code that belongs to the answer."""
    environ = caller_context.full_environ() if environ is None else environ
    projects = projects or SingleUseProjects()
    with capture_warnings() as log:
        state = _open(call, environ, projects)
        project = state.project
        try:
            if project is not None and _is_probe_or_duplicate(state, project, environ):
                return _send_answer(Outcome(), state, send)
            ledger = _open_ledger(state)
            notices = Notices(call_ledger.notices_file(ledger) if ledger is not None else None)
            if project is not None and not state.trouble:
                level = find_nesting(environ, project.folders.data)
                if level >= DEEPEST_NESTING:
                    state.is_too_deep, state.trouble = True, explain_nesting(level)
                else:
                    # the environment of hook processes is only needed where some are started
                    nested = nest_deeper(level, project.folders.data) if state.has_hooks else nullcontext()
                    try:
                        with nested:
                            state.outcome = await project.engine.handle(state.event, plan=state.plan, patience=PATIENCE)
                    except Exception as problem:  # noqa: BLE001 - the failure policy decides
                        state.trouble = f"asking the hooks shows a bug in hookline ({problem!r}); please report it"
            outcome = await _decide(state, notices)
            await _collect_notices(state, notices, ledger=ledger, environ=environ)
            for line in log:
                notices.add(line)
            log.clear()
            spec = state.call.dialect.SPEC
            able = spec.able(state.event) or frozenset()
            channel = choose_channel(state.event, able, everyday=_everyday_abilities(spec.name))
            outcome = notices.attach(outcome, state.event, channel=channel)
            code = _send_answer(outcome, state, send)
            if ledger is not None and state.event.name in ABOUT_CALLS:
                call_ledger.record_call(ledger, state.event, state.call.dialect.SPEC, refused=outcome.blocked)
            return code
        finally:
            if project is not None:
                try:
                    await projects.release(project)
                except Exception as problem:  # noqa: BLE001 - the answer stands
                    log.append(f"closing shows a bug in hookline ({problem!r}); please report it")
                if log:
                    # warnings from now on wait for the next call
                    later = Notices(
                        call_ledger.notices_file(call_ledger.session_file(project.folders.data, state.event))
                    )
                    for line in log:
                        later.add(line)
                    later.save()


def _open(call: Call, environ: Mapping[str, str], projects: Projects) -> CallState:
    """Decode a call, load its project, and plan its hooks."""
    state = read_call(call)
    try:
        event = None if state.trouble else state.event
        root = find_project_root(event, host=state.call.dialect.SPEC.name, environ=environ)
        project = state.project = projects.open(root)
    except Exception as problem:  # noqa: BLE001 - the failure policy decides
        state.trouble = state.trouble or f"the hooks could not be loaded: {problem}"
        return state
    version = find_agent_version(state.event, environ)
    if version or not state.event.cwd:
        state.event = replace(state.event, cwd=state.event.cwd or str(project.root), host_version=version)
    try:
        state.event = add_error_type(state.event)
        state.plan = project.planner.plan(state.event)
    except Exception:  # noqa: BLE001, S110 - asking the hooks reports it
        pass
    return state


def _is_probe_or_duplicate(state: CallState, project: Project, environ: Mapping[str, str]) -> bool:
    """Return whether no hook is to be asked: `doctor` made the call, or the agent makes the same call by its own entry."""
    folders, event = project.folders, state.event
    spec = DIALECTS[event.host].SPEC
    if PROBE_VARIABLE in environ and is_probe(environ, folders.data):
        report_probe(environ, folders.data, state.trouble or f"{event.host} {spec.native(event)}")
        return True
    # only when this agent is known to read that settings file: a mere guess must not disable a guard
    if state.entry not in spec.runs_files_of:
        return False
    from hookline.bridge.coverage_check import calls_directly  # noqa: PLC0415 - slow to load, and few calls want it

    return calls_directly(event.host, spec.native(event), folders=folders, project=project.root, environ=environ)


def _send_answer(outcome: Outcome, state: CallState, send: Send) -> int:
    """Send an outcome; a denial that could not be sent still has the exit code of one."""
    answer = state.call.dialect.encode_outcome(outcome, state.event)
    try:
        send(answer)
    except OSError:
        return _DENIED if outcome.blocked else _FAILED
    return answer.exit_code


def _open_ledger(state: CallState) -> Path | None:
    """Record the call in the ledger of its session; None where there is no folder for one."""
    try:
        data = state.project.folders.data if state.project is not None else find_user_dirs().data
    except Exception:  # noqa: BLE001 - the answer does not depend on it
        return None
    path = call_ledger.session_file(data, state.event)
    is_call = state.event.name in ABOUT_CALLS
    # without hooks a call is answered at once, and recorded once, with its answer
    if not is_call or state.has_hooks:
        call_ledger.record_call(path, state.event, state.call.dialect.SPEC, waiting=is_call)
    if state.event.name is EventName.SESSION_START:
        call_ledger.prune(data, now=time.time())
    return path


async def _decide(state: CallState, notices: Notices) -> Outcome:
    """Return the outcome of the hooks, or the fallback where they could not be asked or a guard is missing."""
    call, event, project, outcome = state.call, state.event, state.project, state.outcome
    if state.note:
        notices.add(state.note)
    if outcome is None or project is None:
        is_blocked = state.is_too_deep or fallback.fails_closed(call, project)
        is_guarded = state.is_unread and project is not None and await fallback.can_deny(project, event)
        notices.add(f"the hooks could not be asked: {state.trouble}; `hookline doctor` says more")
        return fallback.fallback_outcome(call.dialect, event, state.trouble, is_blocked=is_blocked or is_guarded)
    why = fallback.find_unasked_guard(project, event, outcome)
    if why and not outcome.blocked:
        is_blocked = fallback.fails_closed(call, project)
        without = fallback.fallback_outcome(call.dialect, event, why, is_blocked=is_blocked)
        return without if without.blocked else outcome
    return outcome


async def _collect_notices(
    state: CallState, notices: Notices, *, ledger: Path | None, environ: Mapping[str, str]
) -> None:
    """Collect what the user has to know: problems, skipped and failed hooks, calls that never reached us."""
    project, event = state.project, state.event
    if project is None:
        return
    if state.outcome is not None:
        _add_outcome_notices(project, event, state.outcome, notices)
        notices.add(fallback.find_outdated(state.call, project))
    if event.name is EventName.SESSION_START:
        # which hooks, of any event, may not run
        hooks = [
            hook
            for hook in project.hooks
            if hook.enabled and event.host not in hook.run_by and is_for_agent(hook.agents, event.host)
        ]
        try:
            vetted = await project.trust.vet(Plan(tuple((hook,) for hook in hooks)), event)
            for skip in vetted.skipped:
                notices.add(_describe_skip(skip))
        except Exception as problem:  # noqa: BLE001 - the answer does not depend on it
            notices.add(f"the hooks could not be looked at ({problem!r}); `hookline doctor` says more")
    if ledger is not None and event.name in _COMPARED:
        _compare_transcript(state, project, ledger, notices, environ)
    if event.name in _SETTINGS_READ:
        from hookline.bridge.coverage_check import find_unasked  # noqa: PLC0415 - not at every call

        try:
            gone = find_unasked(event.host, folders=project.folders, project=project.root, environ=environ)
        except Exception as problem:  # noqa: BLE001 - the answer does not depend on it
            gone = [f"the settings of {event.host} could not be compared ({problem!r}); please report it"]
        for text in gone:
            notices.add(text)


def _add_outcome_notices(project: Project, event: Event, outcome: Outcome, notices: Notices) -> None:
    bad = [problem for problem in project.problems if problem.severity is not Severity.NOTE]
    if bad:
        more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
        notices.add(f"{bad[0]}{more}; `hookline check` lists what is wrong")
    for skip in outcome.skipped:
        if skip.failed or skip.gate is Gate.TRUST:
            notices.add(_describe_skip(skip))
    for loss in outcome.losses:
        notices.add(loss.message)
    host = DIALECTS[event.host].SPEC
    for hook in project.hooks:
        if hook.needs is not None and hook.needs.answers and event.name in hook.on:
            for shortfall in find_shortfalls(hook, host):
                notices.add(f'hook "{hook.id}" needs to {shortfall.wanted}, and {explain_shortfall(shortfall, host)}')
    for verdict in outcome.failures:
        message = verdict.failure.message if verdict.failure is not None else ""
        notices.add(f'hook "{verdict.hook}" failed at {event.name}: {message}')


def _describe_skip(skip: Skip) -> str:
    mend = skip.mend or f"`hookline why {shell_quote(skip.hook.id)}` says more"
    return f'hook "{skip.hook.id}" does not run: {skip.reason}; {mend}'


def _compare_transcript(
    state: CallState, project: Project, ledger: Path, notices: Notices, environ: Mapping[str, str]
) -> None:
    """Warn the user, in a notice and in the trace, about tool calls that never reached us."""
    from hookline.bridge.coverage_check import calls_directly, find_missed_calls, was_installed  # noqa: PLC0415 - as above

    host, folders = state.event.host, project.folders
    native = DIALECTS[host].SPEC.events.get(EventName.BEFORE_TOOL, "")

    def is_installed() -> bool:
        return calls_directly(host, native, folders=folders, project=project.root, environ=environ) or was_installed(
            host, native, folders.data, home=folders.home, environ=environ
        )

    try:
        warning = find_missed_calls(ledger, is_installed=is_installed)
    except Exception as problem:  # noqa: BLE001 - the answer does not depend on it
        warning = f"the calls of this session could not be compared ({problem!r}); please report it"
    if warning:
        notices.add(warning)
        # into the trace of the event, or into a new one where no hook ran
        engine = project.engine
        trace = state.outcome.trace if state.outcome is not None else ""
        event = replace(state.event, id=trace or engine.event(EventName.CUSTOM, {"event_name": "ledger"}).id)
        if not trace:
            engine.bus.enqueue(event_record(event))
        engine.bus.enqueue(record(event, Step.WARNING, {"message": warning}))


@cache
def _everyday_abilities(host: str) -> frozenset[Ability]:
    """Return what an agent can do with an answer at the events that every session has."""
    spec = DIALECTS[host].SPEC
    names = [native for event, native in spec.events.items() if event in _EVERYDAY]
    return frozenset[Ability]().union(*(spec.abilities.get(name, frozenset()) for name in names))
