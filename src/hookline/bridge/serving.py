"""Serve one call of an agent: read it in its language, ask the hooks, answer in its language.

What goes wrong on the way follows the policy: it is never a yes and never a no by accident. Nothing but the answer is
ever said to the agent, which may take every other word for one.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hookline import surroundings
from hookline.bridge import broken, ledger, nesting
from hookline.bridge.call import Call, moment
from hookline.bridge.caller import asks_by_itself, spoken
from hookline.bridge.canary import MARK, is_canary, sing
from hookline.bridge.complaints import Complaints, collected
from hookline.bridge.daemon import waking
from hookline.bridge.ledger import ABOUT_CALLS
from hookline.bridge.notices import Notices, way
from hookline.bridge.place import project_of
from hookline.config.problem import Problem, Severity
from hookline.core.engine import Engine
from hookline.debug.abilities import explained, shortfalls
from hookline.dialects import DIALECTS
from hookline.display import typed
from hookline.errors import DialectError
from hookline.folders import person_folders
from hookline.model.ability import Ability
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer
from hookline.model.plan import Gate
from hookline.model.verdict import Outcome
from hookline.ports import Dialect
from hookline.workspace import Opened, open_project

Say = Callable[[Answer], None]

# exit codes where not even the answer could be said: of a no, and of all else
_NO: Final = 2
_FAILED: Final = 1

# at the end of a turn, and of a session, what the agent wrote down is compared with what reached us
_COMPARED: Final = frozenset({EventName.AFTER_AGENT, EventName.SESSION_END})

# Seconds. Our entries in settings have agents wait a little longer, and what has no answer by then they let run: a guard
# that takes too long must have failed before, so that what it wants in that case holds.
PATIENCE: Final = 580.0


class Projects(Protocol):
    """Who opens projects, and gives them back."""

    def open(self, root: Path) -> Opened:
        """Give a project as it is configured now."""

    async def leave(self, project: Opened) -> None:
        """Take note that a call is answered."""


class OneCall:
    """Open a project for one call, and close it when that is answered."""

    def open(self, root: Path) -> Opened:
        """Load the project."""
        return open_project(root)

    async def leave(self, project: Opened) -> None:
        """Close it, which may take as long as what its hooks left behind."""
        await project.engine.close()


class _Served(Struct):
    """What is known of a call so far; whatever is missing could not be found out, and `trouble` says why.

    What is `endless` is not asked about, and so it may not happen. `is_asked` says whether some hook is to be asked.
    """

    event: Event
    project: Opened | None = None
    outcome: Outcome | None = None
    trouble: str = ""
    endless: bool = False
    is_asked: bool = True


class Begun(Struct, frozen=True):
    """A call that was read, and whose project is open: what is left is to ask the hooks, and to answer."""

    call: Call
    said: str
    served: _Served
    environ: Mapping[str, str]
    projects: Projects

    @property
    def is_quiet(self) -> bool:
        """Whether nobody is asked about it, so that nothing has to be waited for."""
        return not self.served.trouble and not self.served.is_asked


async def serve(
    call: Call, say: Say, *, environ: Mapping[str, str] | None = None, projects: Projects | None = None
) -> int:
    """Answer one call with `say`, and give the exit code that belongs to the answer."""
    with collected() as log:
        given = surroundings.whole_environ() if environ is None else environ
        return await finish(begin(call, given, projects or OneCall()), say, log)


def begin(call: Call, environ: Mapping[str, str], projects: Projects) -> Begun:
    """Read a call, and open the project it is about."""
    true = spoken(call, environ)
    served = _read(true)
    _open(true, served, environ, projects)
    return Begun(true, call.dialect.SPEC.name, served, environ, projects)


async def finish(begun: Begun, say: Say, log: Complaints) -> int:
    """Ask the hooks, and answer; gives the exit code that belongs to the answer."""
    served = begun.served
    try:
        if _is_for_nobody(served, begun.environ, said=begun.said):
            return _said(Outcome(), begun.call.dialect, served.event, say)
        return await _answered(begun.call, served, say, log=log, environ=begun.environ)
    finally:
        if served.project is not None:
            await _left(begun.projects, served.project, served, log)


def _is_for_nobody(served: _Served, environ: Mapping[str, str], *, said: str) -> bool:
    """Say whether no hook is to be asked: doctor tries us out, or the agent asks us the same through its own file.

    `said` is the agent whose settings have us called.
    """
    if served.project is None:
        return False
    folders, event = served.project.folders, served.event
    if MARK in environ and is_canary(environ, folders.data):
        sing(environ, folders.data, served.trouble or f"{event.host} {DIALECTS[event.host].SPEC.native(event)}")
        return True
    spec = DIALECTS[event.host].SPEC
    # a guess at who calls keeps no guard from being asked where nobody knows that agent to run these settings
    return said in spec.runs_files_of and asks_by_itself(
        event.host, spec.native(event), folders=folders, project=served.project.root, environ=environ
    )


def _said(outcome: Outcome, dialect: Dialect, event: Event, say: Say) -> int:
    """Say an outcome; a no that nobody could be told is one all the same."""
    answer = dialect.encode_outcome(outcome, event)
    try:
        say(answer)
    except OSError:
        return _NO if outcome.blocked else _FAILED
    return answer.exit_code


async def _answered(call: Call, served: _Served, say: Say, *, log: Complaints, environ: Mapping[str, str]) -> int:
    dialect = call.dialect
    book = _book(served, dialect)
    notices = Notices(ledger.told_file(book) if book is not None else None)
    if served.project is not None and not served.trouble:
        await _ask(served, environ)
    outcome = _settled(call, served, notices)
    if served.project is not None and book is not None and served.event.name in _COMPARED:
        _compare(served, book, notices, environ)
    for line in log.lines:
        notices.add(line)
    log.lines.clear()
    spec = dialect.SPEC
    able = spec.able(served.event) or frozenset()
    outcome = notices.tell(outcome, served.event, by=way(served.event, able, anywhere=_anywhere(spec.name)))
    code = _said(outcome, dialect, served.event, say)
    if book is not None and served.event.name in ABOUT_CALLS:
        ledger.enter(book, served.event, spec, refused=outcome.blocked)
    return code


@cache
def _anywhere(host: str) -> frozenset[Ability]:
    """Name what an agent can do about an answer at one event or another."""
    return frozenset[Ability]().union(*(DIALECTS[host].SPEC.abilities or {}).values())


def _read(call: Call) -> _Served:
    try:
        return _Served(call.dialect.decode_event(call.raw, call.native))
    except DialectError as problem:
        why = str(problem)
    except Exception as problem:  # noqa: BLE001 - a decoder that falls over is no reason to answer by accident
        why = f"reading what the agent said shows a bug in hookline ({problem!r}); please report it"
    return _Served(moment(call.dialect, call.native), trouble=why)


def _open(call: Call, served: _Served, environ: Mapping[str, str], projects: Projects) -> None:
    host = call.dialect.SPEC.name
    try:
        root = project_of(served.event if not served.trouble else None, host=host, environ=environ)
        served.project = projects.open(root)
        if not served.project.settings.daemon:
            waking.refuse()
    except Exception as problem:  # noqa: BLE001 - whatever it is, the policy decides
        served.trouble = served.trouble or f"the hooks could not be loaded: {problem}"
    if served.project is None:
        return
    if not served.event.cwd:
        served.event = replace(served.event, cwd=served.project.engine.cwd)
    served.is_asked = _is_asked(served.project, served.event)


def _book(served: _Served, dialect: Dialect) -> Path | None:
    """Enter the call into the ledger of its session; None where there is no place for one."""
    try:
        data = served.project.folders.data if served.project is not None else person_folders().data
    except Exception:  # noqa: BLE001 - the answer does not depend on it
        return None
    path = ledger.session_file(data, served.event)
    is_call = served.event.name in ABOUT_CALLS
    # what is answered at once is written down once, with the answer; otherwise an agent may not wait for it
    if not is_call or served.is_asked:
        ledger.enter(path, served.event, dialect.SPEC, waiting=is_call)
    if served.event.name is EventName.SESSION_START:
        ledger.prune(data, now=time.time())
    return path


def _is_asked(project: Opened, event: Event) -> bool:
    try:
        return bool(project.engine.planner.plan(event).stages)
    except Exception:  # noqa: BLE001 - whoever asks the hooks says what is wrong
        return True


async def _ask(served: _Served, environ: Mapping[str, str]) -> None:
    assert served.project is not None  # noqa: S101 - for the type checker
    data = served.project.folders.data
    level = nesting.depth(environ, data)
    if level >= nesting.DEEPEST:
        served.endless = True
        served.trouble = (
            f"a hook started an agent, whose hooks started the next, and so on, {level} times by now: have the hook that "
            "does so start it without hooks, or not be asked about what it does"
        )
        return
    try:
        # where nobody is asked, nothing is started
        with nesting.deeper(level, data) if served.is_asked else nullcontext():
            served.outcome = await served.project.engine.handle(served.event, patience=PATIENCE)
    except Exception as problem:  # noqa: BLE001 - whatever it is, the policy decides
        served.trouble = f"asking the hooks shows a bug in hookline ({problem!r}); please report it"


def _settled(call: Call, served: _Served, notices: Notices) -> Outcome:
    """Give the outcome that holds, and collect what the person has to know of it."""
    project, outcome = served.project, served.outcome
    is_blocked = served.endless or broken.blocks(call, project)
    if outcome is None or project is None:
        notices.add(f"the hooks could not be asked: {served.trouble}; `hookline doctor` says more")
        return broken.answer_without_hooks(call.dialect, served.event, served.trouble, is_blocked=is_blocked)
    _collect(project, served.event, outcome, notices)
    why = broken.unheard(project, served.event, outcome)
    if why and not outcome.blocked:
        without = broken.answer_without_hooks(call.dialect, served.event, why, is_blocked=is_blocked)
        return without if without.blocked else outcome
    return outcome


def _collect(project: Opened, event: Event, outcome: Outcome, notices: Notices) -> None:
    for text in _problems(project.problems):
        notices.add(text)
    for skip in outcome.skipped:
        if skip.gate is Gate.TRUST:
            name = typed(skip.hook.id)
            notices.add(f'hook "{skip.hook.id}" does not run: {skip.reason}; `hookline trust approve {name}`')
    for loss in outcome.losses:
        notices.add(loss.message)
    host = DIALECTS[event.host].SPEC
    for hook in project.loaded.hooks:
        if hook.needs is not None and hook.needs.answers and event.name in hook.on:
            for one in shortfalls(hook, host):
                notices.add(f'hook "{hook.id}" needs to {one.wanted}, and {explained(one, host)}')
    for verdict in outcome.failures:
        said = verdict.failure.message if verdict.failure is not None else ""
        notices.add(f'hook "{verdict.hook}" failed at {event.name}: {said}')


def _problems(problems: tuple[Problem, ...]) -> list[str]:
    bad = [problem for problem in problems if problem.severity is not Severity.NOTE]
    if not bad:
        return []
    more = f", and {len(bad) - 1} more" if len(bad) > 1 else ""
    return [f"{bad[0]}{more}; `hookline check` lists what is wrong"]


def _compare(served: _Served, book: Path, notices: Notices, environ: Mapping[str, str]) -> None:
    """Alarm the person where calls of tools never reached us."""
    from hookline.bridge.missed import missed  # noqa: PLC0415 - a turn ends seldom

    project = served.project
    if project is None:
        return
    host = served.event.host
    native = DIALECTS[host].SPEC.events.get(EventName.BEFORE_TOOL, "")

    def is_installed() -> bool:
        return asks_by_itself(host, native, folders=project.folders, project=project.root, environ=environ)

    try:
        alarm = missed(book, is_installed=is_installed)
    except Exception as problem:  # noqa: BLE001 - the answer does not depend on it
        alarm = f"the calls of this session could not be compared ({problem!r}); please report it"
    if alarm:
        notices.add(alarm)
        _warn(project.engine, served, alarm)


def _warn(engine: Engine, served: _Served, message: str) -> None:
    from hookline.core.recording import beginning, record  # noqa: PLC0415 - see above
    from hookline.model.record import Step  # noqa: PLC0415

    trace = served.outcome.trace if served.outcome is not None else ""
    event = replace(served.event, id=trace) if trace else engine.event(EventName.CUSTOM, {"event_name": "ledger"})
    if not trace:
        event = replace(served.event, id=event.id)
        engine.bus.publish_soon(beginning(event))
    engine.bus.publish_soon(record(event, Step.WARNING, {"message": message}))


async def _left(projects: Projects, project: Opened, served: _Served, log: Complaints) -> None:
    """Give everything back; the answer stands, and what goes wrong now is told at the next event."""
    try:
        await projects.leave(project)
    except Exception as problem:  # noqa: BLE001 - see above
        log.lines.append(f"closing shows a bug in hookline ({problem!r}); please report it")
    if log.lines:
        path = ledger.session_file(project.folders.data, served.event)
        notices = Notices(ledger.told_file(path))
        for line in log.lines:
            notices.add(line)
        notices.owe()
