"""Replay recorded events: run the hooks as they are now, without effects, and compare what they decide with what was decided.

Hooks run without effects: processes are contained, whatever their definition says, and nothing leaves the machine. A replayed
process reads what it could read, writes only a temporary folder of its own, and has no network. Kinds that exist for their effect
are not run at all; a replay says what they would have done.
"""

import asyncio
import copy
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.bridge.guarded_paths import find_guarded_if_installed
from hookline.config.document import Severity
from hookline.engine.components import Components
from hookline.engine.engine import Engine
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.engine.trace_records import find_subject
from hookline.errors import ConfigError, EngineError
from hookline.model.event import Event
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.plan import Gate, Plan
from hookline.model.sandbox import PRIVATE, READ_ONLY, Sandbox
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Outcome, Verdict
from hookline.ports import Kind
from hookline.process.containment import describe_lacking, find_layers, list_lacking
from hookline.project import Project, load_project
from hookline.replay.recording import RecordedEvent, Recording, read_records
from hookline.stores.trace_queries import TraceFilter, TraceQueries
from hookline.text import quote, suggest
from hookline.user_dirs import UserDirs, find_user_dirs
from hookline.wiring import make_components, make_state

CUT: Final = "their arguments were not kept whole"
REFUSED_BEFORE: Final = "they were refused before, perhaps by a hook that was not asked now"

# Hook processes wait for each other in the limiter of their kind. A few more events than processors keep it busy.
_WORKERS: Final = max(4, 2 * (os.cpu_count() or 1))
# events that are answered before other work of the loop gets its turn
_UNYIELDING: Final = 64
_DECISIONS: Final = {decision.word: decision for decision in Decision}
# a transcript does not show whether hooks allowed a call or had no opinion
_SILENT: Final = frozenset({Decision.PASS.word, Decision.ALLOW.word})
_CONTAINED: Final = ("command", "python")
_WITHOUT_EFFECT: Final = frozenset({"rule", "function", "raise_event"})


class Unasked(Struct, frozen=True):
    """A hook that was not run in a replay, and why; where it `decides`, the outcome could be another one."""

    hook: str
    reason: str
    decides: bool = False


unasked_hooks: Final[ContextVar[list[Unasked]]] = ContextVar("hookline_unasked_hooks")
"""The hooks that were not run for the event that is replayed."""


def make_contained_components(
    folder: str, *, protected: tuple[str, ...], state_root: str, uncontained: bool
) -> Components:
    """Return the components of an engine without effects; processes of a folder that is gone run in `folder`.

    With `uncontained`, processes run even where this machine cannot contain them.
    """
    components = make_components(always_isolated=True, protected=protected, state_root=state_root)
    machine = find_layers()
    refusal = ""
    if not machine.can_contain and not uncontained:
        lacking = describe_lacking(list_lacking(Sandbox(level=READ_ONLY)))
        refusal = f"it cannot be contained here ({lacking}); --uncontained runs it all the same"
    kinds: dict[str, Kind] = {}
    for name, kind in components.kinds.items():
        if name in _CONTAINED:
            kinds[name] = ContainedKind(kind, folder, refusal=refusal, required=not uncontained)
        else:
            kinds[name] = kind if name in _WITHOUT_EFFECT else UnperformedKind(kind)
    return replace(components, kinds=kinds)


class ContainedKind:
    """Runs the processes of hooks contained."""

    def __init__(self, kind: Kind, folder: str, *, refusal: str, required: bool) -> None:
        self._kind = kind
        self._folder = folder
        self._refusal = refusal
        self._required = required
        # by id; the same object each time, as kinds cache what they prepare for a hook
        self._hooks: dict[str, tuple[Hook, Hook]] = {}
        self.refusal = kind.refusal
        self.close = kind.close
        self._exists = cache(os.path.isdir)
        self.missing_folders: set[str] = set()

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Run the hook contained, unless it would run in the background or cannot be contained."""
        if hook.background:
            return _leave_out(hook, "it would run in the background, after the answer")
        if self._refusal:
            return _leave_out(hook, self._refusal, decides=True)
        cwd = request.event.cwd
        if cwd and not self._exists(cwd):
            self.missing_folders.add(cwd)
            request = self._move(request)
        return await self._kind.call(self._contain(hook), request, timeout=timeout)

    def _contain(self, hook: Hook) -> Hook:
        known = self._hooks.get(hook.id)
        if known is None or known[0] is not hook:
            own = hook.containment
            # a hook of the user's own sees all variables, and keeps them: it cannot tell them to anyone
            sandbox = own if own.is_contained else Sandbox(env=tuple(caller_context.environ()))
            sandbox = replace(sandbox, level=READ_ONLY, write=(), net=False, tmp=PRIVATE, required=self._required)
            known = self._hooks[hook.id] = (hook, replace(hook, sandbox=sandbox))
        return known[1]

    def _move(self, request: Request) -> Request:
        """Return the request for a process that runs in another folder; what it is told about the event stays the same."""
        _ = request.document, request.values
        moved = copy.copy(request)
        moved.event = replace(request.event, cwd=self._folder)
        return moved


class UnperformedKind:
    """Stands for a kind that exists for its effect: a request to a server, a question to the agent, a notification."""

    def __init__(self, kind: Kind) -> None:
        self.refusal = kind.refusal
        self.close = kind.close

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:  # noqa: ARG002 - the protocol's
        """Note what the hook would have done."""
        if hook.kind == "webhook":
            # without the path and the user, which may hold secrets
            server = hook.url.partition("://")[2].partition("/")[0].rpartition("@")[2]
            return _leave_out(hook, f"it would post to {server}", decides=True)
        if hook.kind == "mcp":
            return _leave_out(hook, f"it would call the MCP tool {hook.mcp}", decides=True)
        if hook.kind == "judge":
            return _leave_out(hook, f"it would ask the language model {hook.model}", decides=True)
        return _leave_out(hook, _WOULD.get(hook.kind, f"it is of the kind {hook.kind}"))


_WOULD: Final = {"ask_agent": "it would ask the agent", "notify": "it would show a notification"}


def _leave_out(hook: Hook, reason: str, *, decides: bool = False) -> Reply:
    # a hook in the background decides nothing, whatever its kind is
    unasked_hooks.get().append(Unasked(hook.id, reason, decides and not hook.background))
    return Reply(value=Verdict())


class DecisionChange(Struct, frozen=True, kw_only=True):
    """An event that would be decided otherwise; `hook` and `reason` are those of the new decision, where it has any."""

    trace: str
    at: float
    agent: str
    session: str
    project: str
    event: str
    tool: str
    subject: str
    was: str
    now: str
    hook: str = ""
    reason: str = ""


class LeftOut(Struct, frozen=True, kw_only=True):
    """What was not replayed: events, or a hook at so many events."""

    reason: str
    events: int
    hook: str = ""


class ReplayReport(Struct, frozen=True, kw_only=True):
    """What a replay found: how many events were compared, and which of them would be decided otherwise.

    `counts` has the changes by what was decided and what would be: `pass -> deny`. `problems` are errors of the configuration:
    hooks that are not in force because of them were not asked.
    """

    events: int
    hooks: int = 0
    changes: tuple[DecisionChange, ...] = ()
    counts: Mapping[str, int] = {}
    skipped: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    seconds: float = 0.0


class HookChoice(Struct, frozen=True, kw_only=True):
    """Which hooks are replayed: by default those of the project that an event happened in, and the user's.

    `project` names one project for all events; `config` is a folder whose `hookline.toml` replaces all other configuration;
    `hooks` are those of a program, which vouches for them. `rules` are added to any of these, and replace hooks with the
    same id. With `only`, what one hook decides is compared. `uncontained` runs processes even where they cannot be contained.
    """

    project: Path | None = None
    config: Path | None = None
    hooks: Sequence[Hook] | None = None
    rules: Sequence[Hook] = ()
    only: str = ""
    uncontained: bool = False


class TriedEvent(Struct, frozen=True):
    """An event that did not happen, its outcome, and the hooks that were not asked."""

    event: Event
    outcome: Outcome
    unasked: tuple[Unasked, ...]


class _Result(Struct, frozen=True):
    """How one event would be decided; `left_out` says why it could not be compared."""

    now: str = ""
    hook: str = ""
    reason: str = ""
    left_out: str = ""
    unasked: tuple[Unasked, ...] = ()


async def replay(
    recording: Recording, choice: HookChoice | None = None, *, on_progress: Callable[[], object] | None = None
) -> ReplayReport:
    """Run the hooks for every event of a recording, and report which would be decided otherwise.

    `on_progress` is called after each event.

    Raises:
        ConfigError: The configuration that `choice` names cannot be read, or has no such hook.
    """
    choice = choice or HookChoice()
    started = perf_counter()
    events = recording.events
    results: list[_Result] = [_Result()] * len(events)
    queue = iter(range(len(events)))
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hookline-replay-"))
        sets = _HookSets(choice, folder)
        stack.push_async_callback(sets.close)
        # mistakes in the choice are found without any event
        if choice.project is not None or choice.config is not None or choice.hooks is not None:
            sets.find("")

        async def work() -> None:
            for number in queue:
                recorded = events[number]
                engine = sets.find(recorded.event.project or recorded.event.cwd)
                results[number] = await _replay_event(engine, recorded, only=choice.only)
                if on_progress is not None:
                    on_progress()
                if number % _UNYIELDING == 0:
                    # rules and functions never wait, and the loop may have other work
                    await asyncio.sleep(0)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(_WORKERS, len(events))):
                    group.create_task(work())
        except BaseExceptionGroup as problems:
            known = problems.subgroup(EngineError)
            if known is None:
                raise
            raise known.exceptions[0] from None
        if choice.only:
            sets.check_name(choice.only)
        facts = {
            "hooks": len(sets.list_ids()),
            "notes": (*recording.notes, *sets.list_notes()),
            "problems": sets.list_problems(),
        }
    return replace(_compare(recording, results, only=choice.only), **facts, seconds=perf_counter() - started)


async def try_event(root: Path, build: Callable[[Engine], Event], *, only: str = "") -> TriedEvent:
    """Run the hooks of a project, or one of them, for an event that did not happen, without effects.

    Raises:
        ConfigError: There is no such project, event or hook.
    """
    with tempfile.TemporaryDirectory(prefix="hookline-replay-") as folder:
        sets = _HookSets(HookChoice(project=root), folder)
        try:
            engine = sets.find("")
            if only:
                sets.check_name(only)
            event = build(engine)
            outcome, unasked = await _handle(engine, event, _plan_only(engine, event, only) if only else None)
        finally:
            await sets.close()
    return TriedEvent(event, outcome, unasked)


async def replay_session(data_folder: Path, session: str, project: Path | None = None, toml: str = "") -> ReplayReport:
    """Replay the recorded events of a session, with the rules of a TOML text beside the hooks, or in their place.

    Raises:
        ConfigError: The text has a mistake, or a hook that is no rule; or there is no such folder.
        StoreError: The traces cannot be read.
    """
    traces = TraceQueries(data_folder / "traces.db")
    recording = await asyncio.to_thread(lambda: read_records(traces.matching(TraceFilter(session=session))))
    return await replay(recording, HookChoice(project=project, rules=read_rules(toml) if toml.strip() else ()))


def read_rules(toml: str) -> tuple[Hook, ...]:
    """Read rules as hookline.toml has them.

    Raises:
        ConfigError: The text has a mistake, or a hook that is no rule.
    """
    with tempfile.TemporaryDirectory(prefix="hookline-rules-") as folder:
        path = Path(folder, "hookline.toml")
        path.write_text(toml, "utf-8")
        project = load_config(Path(folder), Path(folder, "empty"))
    for problem in project.problems:
        if problem.severity is Severity.ERROR:
            raise ConfigError(problem.message, path="the rules", line=problem.line)
    for hook in project.loaded.hooks:
        if hook.kind != "rule":
            raise ConfigError(
                f"hook {quote(hook.id)} is no rule; only deny, confirm, allow, tell and context can be tried this way",
                path="the rules",
                line=hook.source_line,
            )
    return project.loaded.hooks


def load_config(folder: Path, empty: Path) -> Project:
    """Load the `hookline.toml` of a folder as if it were the user's, and nothing else; `empty` is a folder without files.

    Raises:
        ConfigError: The folder has no such file.
    """
    if not (folder / "hookline.toml").is_file():
        raise ConfigError("there is no hookline.toml in it; name the folder with the one to replay", path=str(folder))
    dirs = UserDirs(home=empty, config=folder.absolute(), data=empty)
    return load_project(empty, folders=dirs, traced=False, records=False)


def make_effectless_engine(
    hooks: Sequence[Hook], project: Project | None, folder: str, *, state_root: str, uncontained: bool
) -> tuple[Engine, list[ContainedKind]]:
    """Return an engine that writes nothing and runs hooks without effects, and its kinds that run processes.

    Processes of a folder that is gone run in `folder`; what hooks keep is in `state_root`.
    """
    data = project.folders.data if project is not None else find_user_dirs().data
    components = make_contained_components(
        folder,
        protected=(str(data),),
        # a folder that is hidden among the temporary ones makes every cell depend on them, and they change with each cell
        state_root=state_root if any(hook.state for hook in hooks) else "",
        uncontained=uncontained,
    )
    settings = project.settings if project is not None else Settings()
    engine = Engine(
        components=components,
        planner=HookPlanner.from_components(HookRegistry(), components),
        # What was counted then is over: every hook is asked about every event.
        settings=replace(settings, enabled=True, record="hooks", returns=0, budget=None),
        trust=project.trust if project is not None else None,
        state=make_state(),
        cwd=str(project.root) if project is not None else folder,
    )
    for hook in hooks:
        engine.registry.add(hook)
    # without limits, queue and cached answers, and without records
    engine.runner = engine.runner.for_trial()
    engine.stop_debugger()
    return engine, [kind for kind in components.kinds.values() if isinstance(kind, ContainedKind)]


class _HookSets:
    """The engines of a replay, one for each project; none of them writes anything."""

    def __init__(self, choice: HookChoice, folder: str) -> None:
        self._choice = choice
        self._folder = os.path.join(os.path.realpath(folder), "project")  # noqa: PTH118 - a text
        os.mkdir(self._folder)  # noqa: PTH102 - as above
        # what a hook keeps while it is replayed is nothing to what it keeps for its user
        self._state = os.path.join(os.path.realpath(folder), "state")  # noqa: PTH118 - as above
        self._engines: dict[str, Engine] = {}
        self._projects: list[Project] = []
        self._contained: list[ContainedKind] = []
        self._missing: set[str] = set()

    def find(self, folder: str) -> Engine:
        """Return the engine with the hooks of the project in a folder."""
        choice = self._choice
        if choice.project is not None or choice.config is not None or choice.hooks is not None:
            folder = ""
        elif folder not in self._engines and not os.path.isdir(folder):  # noqa: PTH112 - a text
            # the user's own hooks are for every project
            self._missing.add(folder)
            folder = self._folder
        engine = self._engines.get(folder)
        if engine is None:
            engine = self._engines[folder] = self._build(folder)
        return engine

    def _build(self, folder: str) -> Engine:
        choice = self._choice
        if choice.hooks is not None:
            return self._make_engine(choice.hooks, None)
        if choice.config is not None:
            project = load_config(choice.config, Path(self._folder))
        else:
            root = choice.project or Path(folder)
            if not root.is_dir():
                raise ConfigError("there is no such folder; name the folder of a project", path=str(root))
            project = load_project(root, traced=False, records=False, guarded=find_guarded_if_installed(root))
        self._projects.append(project)
        return self._make_engine([hook for hook in project.hooks if project.is_active(hook)], project)

    def _make_engine(self, hooks: Sequence[Hook], project: Project | None) -> Engine:
        rules = self._choice.rules
        replaced = {name for rule in rules for name in (rule.id, rule.name) if name}
        hooks = (*(hook for hook in hooks if hook.id not in replaced), *rules)
        engine, contained = make_effectless_engine(
            hooks, project, self._folder, state_root=self._state, uncontained=self._choice.uncontained
        )
        self._contained += contained
        return engine

    def check_name(self, name: str) -> None:
        """Raise for a hook that none of the engines has.

        Raises:
            ConfigError: There is no such hook.
        """
        known = self.list_ids()
        if self._engines and name not in known:
            raise ConfigError(f"there is no hook {quote(name)}{suggest(name, known)}; `hookline list` shows them all")

    def list_ids(self) -> set[str]:
        """Return the hooks that were in force, in all projects together."""
        tables = [engine.registry.get_all_hooks() for engine in self._engines.values()]
        return {hook.id for table in tables for hooks in table.values() for hook in hooks}

    def list_notes(self) -> list[str]:
        """Return what the user has to know about the folders."""
        moved = sorted(set().union(*(kind.missing_folders for kind in self._contained)))
        notes = (
            [f"{_name_first(moved)} not there any more, so that the processes of hooks ran in an empty folder"]
            if moved
            else []
        )
        gone = sorted(filter(None, self._missing))
        if gone:
            notes.append(f"{_name_first(gone)} not there any more, so that only your own hooks were asked there")
        return notes

    def list_problems(self) -> tuple[str, ...]:
        """Return the errors of the configuration, each once."""
        found = (problem for project in self._projects for problem in project.problems)
        return tuple(dict.fromkeys(str(problem) for problem in found if problem.severity is Severity.ERROR))

    async def close(self) -> None:
        """End the processes of all hooks."""
        for engine in self._engines.values():
            await engine.close()


def _name_first(folders: Sequence[str]) -> str:
    return f"{folders[0]} is" if len(folders) == 1 else f"{folders[0]} and {len(folders) - 1} more folders are"


async def _replay_event(engine: Engine, recorded: RecordedEvent, *, only: str) -> _Result:
    event = recorded.event
    plan: Plan | None = None
    if recorded.is_cut:
        plan = engine.planner.plan(event)
        if not _works_without_contents(plan, recorded):
            return _Result(left_out=CUT)
    outcome, unasked = await _handle(engine, event, _plan_only(engine, event, only) if only else plan)
    return _judge(recorded, outcome, unasked, only=only)


def _plan_only(engine: Engine, event: Event, only: str) -> Plan:
    plan = engine.planner.plan(event)
    stages = (tuple(hook for hook in stage if hook.id == only) for stage in plan.stages)
    return replace(plan, stages=tuple(stage for stage in stages if stage))


async def _handle(engine: Engine, event: Event, plan: Plan | None) -> tuple[Outcome, tuple[Unasked, ...]]:
    unasked: list[Unasked] = []
    unasked_hooks.set(unasked)
    outcome = await engine.handle(event, host_asks=True, plan=plan)
    unasked += [
        Unasked(skip.hook.id, f"it is not approved: {skip.reason}")
        for skip in outcome.skipped
        if skip.gate is Gate.TRUST
    ]
    return outcome, tuple(unasked)


def _works_without_contents(plan: Plan, recorded: RecordedEvent) -> bool:
    """Return whether the hooks of a plan decide by what a shortened record still has: rules without a condition, by paths."""
    hooks = (*plan.hooks, *(skip.hook for skip in plan.skipped))
    return "path" in recorded.event.args and all(hook.kind == "rule" and not hook.condition for hook in hooks)


def _judge(recorded: RecordedEvent, outcome: Outcome, unasked: tuple[Unasked, ...], *, only: str) -> _Result:
    verdicts = [verdict for verdict in outcome.verdicts if not verdict.observed and only in {"", verdict.hook}]
    strongest = max(verdicts, key=lambda verdict: verdict.decision, default=Verdict())
    decision = strongest.decision if only else outcome.decision
    # others were not asked: hooks that exist for their effect, or all but one whose own past decision is not known
    has_others = any(one.decides for one in unasked) or (only and not recorded.is_exact)
    is_doubtful = has_others and decision < _DECISIONS.get(recorded.was, Decision.PASS)
    is_rewritten = not only and recorded.rewrote is not None and not outcome.blocked and outcome.args is not None
    return _Result(
        now=f"{decision.word}, rewritten" if is_rewritten else decision.word,
        hook=strongest.hook if strongest.decision else "",
        reason=strongest.reason if only else "; ".join(outcome.reasons),
        left_out=REFUSED_BEFORE if is_doubtful else "",
        unasked=unasked,
    )


def _find_past(recorded: RecordedEvent, only: str) -> str:
    """Return what was decided then, in the words of a result."""
    if only and recorded.is_exact:
        return recorded.by_hook.get(only, Decision.PASS.word)
    is_blocked = _DECISIONS.get(recorded.was, Decision.PASS) >= Decision.ASK
    return f"{recorded.was}, rewritten" if recorded.rewrote and not is_blocked else recorded.was


def _compare(recording: Recording, results: Sequence[_Result], *, only: str) -> ReplayReport:
    changes: list[DecisionChange] = []
    left_out = Counter(recording.left_out)
    unasked: Counter[tuple[str, str]] = Counter()
    for recorded, result in zip(recording.events, results, strict=True):
        unasked.update({(one.hook, one.reason) for one in result.unasked})
        was = _find_past(recorded, only)
        if result.left_out:
            left_out[result.left_out] += 1
        elif was != result.now and (recorded.is_exact or not {was, result.now} <= _SILENT):
            changes.append(_make_change(recorded, result, was))
    compared = len(results) - sum(1 for result in results if result.left_out)
    return ReplayReport(
        events=compared,
        changes=tuple(changes),
        counts=dict(Counter(f"{change.was} -> {change.now}" for change in changes).most_common()),
        skipped=(
            *(LeftOut(reason=reason, events=count) for reason, count in left_out.items()),
            *(LeftOut(hook=hook, reason=reason, events=count) for (hook, reason), count in sorted(unasked.items())),
        ),
    )


def _make_change(recorded: RecordedEvent, result: _Result, was: str) -> DecisionChange:
    event = recorded.event
    return DecisionChange(
        trace=event.id,
        at=recorded.at,
        agent=event.host,
        session=event.session.id,
        project=event.project or event.cwd,
        event=event.name,
        tool=event.tool,
        subject=find_subject(event),
        was=was,
        now=result.now,
        hook=result.hook,
        reason=result.reason,
    )
