"""The engine: plan, vet, run and merge the hooks of one event."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from time import perf_counter, time
from typing import Final, Self, TypeVar, Unpack

from msgspec.structs import replace

from hookline import caller_context
from hookline.engine.admission import AdmissionControl
from hookline.engine.background import INBOX_EVENTS, Background, TaskSet, TellAgent, require_loop
from hookline.engine.bus import MessageBus
from hookline.engine.components import Components, default_components, default_state
from hookline.engine.confirmation import Ask, Digest, confirm, digest
from hookline.engine.degrade import capabilities_at, degrade
from hookline.engine.event_decorators import EventDecorators, HookOptions, RuleOptions, take_event
from hookline.engine.event_factory import (
    ANONYMOUS,
    EventOptions,
    canonical_events,
    check_arguments,
    make_event,
    resolve_event,
)
from hookline.engine.filters import EventSubjects
from hookline.engine.metrics import HookDebugger
from hookline.engine.ordering import references, refuse_cycles
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry, check_types
from hookline.engine.runner import HookRunner, Run
from hookline.engine.session import OnOutcome, SessionScope, Tool, add_error_type, prepare_skill, run_tool
from hookline.engine.trace_records import add_identity, new_id, record, unasked_records
from hookline.engine.turns import TURN_ENDS, TURN_START, Compensation, CompensationLog, StopLoopGuard
from hookline.errors import ConfigError, StoreError
from hookline.loop_thread import SyncLoop
from hookline.model.event import EVENTS, Event, EventName, Session
from hookline.model.hook import Hook, Source, make_undo_hook
from hookline.model.names import narrow_matcher
from hookline.model.plan import Plan, Skip
from hookline.model.record import Step
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Outcome, OutcomeCode
from hookline.ports import JobQueue, Sink, StateStore, TraceStore
from hookline.trust.policy import Approve, TrustedHooks, TrustedHooksConfig

logger = logging.getLogger(__name__)

T = TypeVar("T")

# the outcome of every event without hooks
NO_OPINION: Final = Outcome()
# Events at which `no_hooks = "deny"` holds. At the end of a turn, a denial would send the agent back forever.
NEEDS_A_HOOK: Final = frozenset(name for name, spec in EVENTS.items() if spec.can_block) - TURN_ENDS

# messages of an agent to its user: they run notification hooks, and the agent does not wait
NOTIFYING: Final = ("status", "system_message", "error")


class Engine:
    """Run hooks for an agent.

    Build one with `Engine.load()` to get the hooks that users configured, or with `Engine()` to start with none and add
    functions with `on`. Use it as an async context manager, or call `close` when done.
    """

    def __init__(  # noqa: PLR0913 - each is a component that a program may replace
        self,
        *,
        components: Components | None = None,
        planner: HookPlanner | None = None,
        settings: Settings | None = None,
        trust: TrustedHooks | None = None,
        ask: Ask | None = None,
        store: TraceStore | None = None,
        state: StateStore | None = None,
        queue: JobQueue | None = None,
        tell_agent: TellAgent | None = None,
        cwd: str | None = None,
        identify: Digest = digest,
    ) -> None:
        self.settings = settings or Settings()
        self.state = state or default_state()
        self._components = components = components or default_components(self.settings, self.state)
        self.cwd = cwd if cwd is not None else caller_context.folder()
        self.bus = MessageBus()
        self.planner = planner or HookPlanner.from_components(HookRegistry(), components)
        self.registry = self.planner.registry
        self.trust = trust or TrustedHooks(
            TrustedHooksConfig(
                unapproved=self.settings.unapproved,
                trust_workspace=self.settings.trust_workspace,
                trusted_workspaces=self.settings.trusted_workspaces,
                shell_dialects=frozenset(name for name, one in components.dialects.items() if one.SPEC.shell),
            )
        )
        # shares the planner's filters, so that the effects of an event are computed once
        subjects = EventSubjects(self.planner.filters)
        self.admission = AdmissionControl(
            self.state,
            components=components,
            settings=self.settings,
            bus=self.bus,
            subjects=subjects,
            identify=self.trust.fingerprint,
        )
        self.background = Background(
            self.bus, self.admission, subjects, queue=queue, tell_agent=tell_agent, project=self.cwd
        )
        self.compensations = CompensationLog(self.state, self.cwd)
        self.runner = HookRunner(
            None,
            self.trust,
            self.settings,
            components=components,
            bus=self.bus,
            planner=self.planner,
            subjects=subjects,
            admission=self.admission,
            background=self.background,
            compensations=self.compensations,
            cwd=self.cwd,
        )
        self._listening = self.registry.listening if self.settings.enabled else frozenset[str]()
        self.stop_guard = StopLoopGuard(self.state, self.bus, listening=self._listening, most=self.settings.returns)
        self._ask = ask
        self._identify = identify
        # False where events come from elsewhere, such as a watched folder: prompts then wait in the inbox for an agent
        self.agent_listens = True
        self._inbox_events = INBOX_EVENTS if queue is not None and self.settings.enabled else frozenset()
        denied = NEEDS_A_HOOK if self.settings.no_hooks == "deny" else frozenset()
        always_handled = frozenset({TURN_START}) | self._inbox_events | denied
        if self.settings.record == "all":
            always_handled = frozenset(EventName)
        self.registry.handle_always(always_handled)
        self._idle = self.registry.idle if self.settings.enabled else frozenset(EventName) - always_handled
        self._notifications = TaskSet("notification")
        self._referenced: set[str] = set()
        self._sync_loop = SyncLoop()
        self.problems: tuple[str, ...] = ()
        self.debugger = HookDebugger()
        self.stop_debugger = self.bus.subscribe(self.debugger)
        self.store = store
        if store is not None:
            self.bus.subscribe(store.write)
        self._close_sinks: list[Callable[[], None]] = []

    @classmethod
    def load(
        cls,
        project: str | Path | None = None,
        *,
        settings: Settings | None = None,
        ask: Ask | None = None,
        approve: Approve | None = None,
        tell_agent: TellAgent | None = None,
    ) -> "Engine":
        """Build an engine with the hooks configured for a project and for the user, traced into SQLite.

        `ask` answers hooks that want the user to decide; `approve` decides whether a hook may run at all. Without them
        the answer is no. `tell_agent` gets prompts for the agent and the event each is about; without it they are in
        `follow_ups` of the outcome.

        Raises:
            ConfigError: There is no such folder.
        """
        from hookline.project import load_project  # noqa: PLC0415 - the import upwards, see engine/components.py

        root = Path(project) if project is not None else None
        if root is not None and not root.is_dir():
            raise ConfigError("there is no such folder; name the folder of a project", path=str(root))
        return load_project(root, settings=settings, ask=ask, approve=approve, tell_agent=tell_agent).engine

    async def emit(
        self, name: str, data: Mapping[str, object] | None = None, **options: Unpack[EventOptions]
    ) -> Outcome:
        """Raise an event, and return the merged answer of all its hooks.

        `name` is a canonical event, the name a dialect has for it, or `custom:NAME`. A tool call is given as `tool` and
        `args`, or inside `data`; `session` and `cwd` say where it happens.

        Raises:
            ConfigError: There is no such event.
            TypeError: An argument is of another type.
        """
        if name in self._idle:
            # most events have no hook: the usual types are recognised without a call
            if options or type(data) is not dict:
                check_arguments(data, **options)
            return NO_OPINION
        return await self.handle(self.event(name, data, **options))

    def event(self, name: str, data: Mapping[str, object] | None = None, **options: Unpack[EventOptions]) -> Event:
        """Build the event that `emit` would handle.

        Raises:
            ConfigError: There is no such event.
            TypeError: An argument is of another type.
        """
        options["cwd"] = options.get("cwd") or self.cwd
        return make_event(name, data, project=self.cwd, **options)

    async def handle(
        self, event: Event, *, host_asks: bool = False, patience: float | None = None, plan: Plan | None = None
    ) -> Outcome:
        """Answer an event; with `host_asks`, a question is left to the agent's own dialog.

        `patience` is how many seconds the agent waits: hooks that need longer have failed. A caller that has planned the event
        already passes its `plan`.
        """
        if event.name is EventName.TOOL_FAILED:
            event = add_error_type(event)
        elif event.name is TURN_START:
            await self.stop_guard.reset(event)
            if self.registry.has_turn_limits:
                await self.admission.begin_turn(event)
            if self.registry.has_undo:
                await self.compensations.begin_turn(event)
        if event.name not in self._listening:
            plan = Plan()
        elif plan is None:
            plan = self.planner.plan(event)
        if self.registry.has_facts:
            event, plan = await self.runner.with_facts(event, plan, self.planner.plan)
        if not plan.stages:
            # a guard for one tool does not run for all others
            return await self._answer_without_hooks(event, plan.skipped)
        started = perf_counter()
        event = event if event.id else add_identity(event, self.cwd, int(time() * 1000))
        plan = await self.trust.vet(plan, event)
        self.runner.trace_event(event)
        run = await self.runner.run(plan, event, self.runner.budget(patience), replan=True)
        return await self._conclude(event, run, started=started, host_asks=host_asks)

    async def start(self, hook: Hook, event: Event, *, host_asks: bool = False) -> Outcome:
        """Answer an event with one hook that the user or the schedule starts; all gates except its events apply."""
        started = perf_counter()
        event = add_identity(event, self.cwd, int(time() * 1000))
        plan = self.planner.plan_single(hook, event)
        if self.registry.has_facts:
            event, plan = await self.runner.with_facts(event, plan, partial(self.planner.plan_single, hook))
        plan = await self.trust.vet(plan, event)
        self.runner.trace_event(event)
        run = await self.runner.run(plan, event, self.runner.budget())
        return await self._conclude(event, run, started=started, host_asks=host_asks)

    async def undo(self, run: Compensation) -> str:
        """Take back what a hook did, with its `undo`; return why that failed, or "".

        `compensations.list_pending()` returns the runs that can be taken back.

        Raises:
            ConfigError: The hook is not there any more, or has no `undo`.
        """
        hook = self.registry.get_hook(run.hook)
        if hook is None or not hook.has_undo:
            raise ConfigError(f'the hook "{run.hook}" is gone or has no `undo` any more; take back by hand what it did')
        event = replace(run.event, id="", data={**run.event.data, "undo_of": run.event.id})
        event = add_identity(event, self.cwd, int(time() * 1000))
        # what was approved covers the undo of a hook, and the files of both are sealed together
        plan = await self.trust.vet(Plan(((hook,),)), event)
        if plan.skipped:
            problem = "; ".join(filter(None, (plan.skipped[0].reason, plan.skipped[0].mend)))
        else:
            # the trace has it as an event of its own: what the hook ran for did not happen again
            data = {"event_name": "undo", "hook": hook.id, "undo_of": run.event.id}
            traced = replace(event, name=EventName.CUSTOM, data=data, tool="", args={})
            self.runner.trace_event(traced)
            execution = await self.runner.execute_vetted(make_undo_hook(hook), event, plan.sealed.get(hook.id))
            verdict = execution.verdict
            self.runner.trace_outcome(traced, Outcome(verdicts=(verdict,), duration=execution.duration))
            problem = verdict.failure.message if verdict.failure is not None else verdict.reason * verdict.blocks
        await self.compensations.close_runs({run.id}, error=problem)
        return problem

    async def _conclude(self, event: Event, run: Run, *, started: float, host_asks: bool) -> Outcome:
        """Merge the verdicts of a run, ask the user, deliver prompts, and degrade to what the agent supports."""
        # a hook that the user did not ask for and that has no opinion does not answer for the hooks that a user wants to be asked
        counted = [one for one in run.executions if one.verdict.decision or not one.hook.implicit]
        is_answered = bool(counted or (run.executions and self.settings.no_hooks != "deny"))
        outcome = self.runner.merge_run(event, run) if is_answered or event.chain else self._no_hook_outcome(event, ())
        capabilities = capabilities_at(event, self._components.dialects)
        # without a callback of the program, the agent's own capabilities decide about a question
        can_degrade = capabilities is not None and self._ask is None
        if outcome.decision is Decision.ASK and not (host_asks or can_degrade):
            # the user judges the event as the last hook left it, unless the changes are void
            judged = event if outcome.code == OutcomeCode.DISAGREEMENT else run.event
            outcome = await confirm(outcome, judged, self._ask, identify=self._identify)
            if self.bus.listening:
                detail = {"allowed": not outcome.blocked, "reasons": outcome.reasons}
                self.bus.enqueue(record(event, Step.ASKED, detail))
        if event.name in TURN_ENDS:
            outcome = await self.stop_guard.limit(outcome, event)
        if (outcome.effects or event.name in self._inbox_events) and not event.chain:
            outcome = await self._exchange_messages(outcome, event)
        if outcome.blocked and self.registry.has_undo:
            outcome = await self.compensations.offer(outcome, event)
        if capabilities is not None:
            outcome = degrade(outcome, event, capabilities)
        outcome = replace(outcome, skipped=run.skipped, trace=event.id, duration=perf_counter() - started)
        self.runner.trace_outcome(event, outcome)
        return outcome

    async def _answer_without_hooks(self, event: Event, skipped: tuple[Skip, ...]) -> Outcome:
        outcome = self._no_hook_outcome(event, skipped)
        if event.name in self._inbox_events:
            outcome = await self._exchange_messages(outcome, event)
        if outcome.decision or outcome.effects:
            outcome = degrade(outcome, event, capabilities_at(event, self._components.dialects))
        if self.settings.record == "all" and self.bus.listening:
            self.bus.enqueue_lazily(unasked_records, event, self.cwd, outcome, time())
        return outcome

    def _no_hook_outcome(self, event: Event, skipped: tuple[Skip, ...]) -> Outcome:
        if self.settings.no_hooks == "deny" and event.name in NEEDS_A_HOOK:
            reason = f"no hook is there to allow this: no_hooks is set to deny, and none was asked at {event.name}"
            return Outcome(
                decision=Decision.DENY, reasons=(reason,), code=OutcomeCode.NO_HOOK, skipped=skipped, trace=event.id
            )
        return Outcome(skipped=skipped) if skipped else NO_OPINION

    async def _exchange_messages(self, outcome: Outcome, event: Event) -> Outcome:
        """Add the agent's inbox to the outcome, and deliver the outcome's prompts."""
        if event.name in self._inbox_events and self.agent_listens:
            outcome = await self.background.collect(outcome, event)
        return await self.background.deliver(outcome, event, listens=self.agent_listens)

    def emit_sync(
        self, name: str, data: Mapping[str, object] | None = None, **options: Unpack[EventOptions]
    ) -> Outcome:
        """Raise an event like `emit`, for callers without an event loop.

        Raises:
            EngineError: A loop is running, which waiting here would block. Use `await engine.emit(…)`.
        """
        if name in self._idle:
            check_arguments(data, **options)
            return NO_OPINION

        async def emit() -> Outcome:
            outcome = await self.emit(name, data, **options)
            # records have to be delivered now: the caller has no loop that would flush them later
            await self.bus.drain()
            return outcome

        return self.wait_for(emit())

    def wait_for(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine of the engine from code without an event loop.

        Raises:
            EngineError: A loop is running in this thread.
        """
        return self._sync_loop.wait_for(work)

    async def call_tool(
        self,
        name: str,
        args: Mapping[str, object],
        function: Tool,
        *,
        session: Session = ANONYMOUS,
        cwd: str = "",
        on_outcome: OnOutcome | None = None,
    ) -> object:
        """Run a tool between its hooks: they may block it, change its arguments and its result, and see errors.

        `on_outcome` gets each outcome, for what else the hooks returned: context for the model, messages, follow-ups.

        Raises:
            Blocked: A hook denied the call or its result. Exceptions of the tool itself pass through.
        """
        emit = partial(self.emit, session=session, cwd=cwd)
        return await run_tool(emit, name, args, function, on_outcome=on_outcome)

    async def skill(
        self,
        name: str,
        parameters: Mapping[str, object] | None = None,
        *,
        session: Session = ANONYMOUS,
        cwd: str = "",
        on_outcome: OnOutcome | None = None,
    ) -> Mapping[str, object]:
        """Run the hooks of a skill before it runs, and return its parameters as they prepared them.

        Raises:
            Blocked: A hook denied it.
        """
        emit = partial(self.emit, session=session, cwd=cwd)
        return await prepare_skill(emit, name, parameters or {}, on_outcome=on_outcome)

    def notify(
        self,
        message: str,
        *,
        type: str = "status",  # noqa: A002 - the event's own word
        session: Session = ANONYMOUS,
        cwd: str = "",
        host: str = "",
    ) -> None:
        """Send a notification to hooks without waiting for them.

        Raises:
            EngineError: No event loop is running. Use `engine.emit_sync("notification", …)`.
        """
        if EventName.NOTIFICATION not in self._listening:
            return
        require_loop()
        data = {"message": message, "type": type}
        self._notifications.start(self.emit(EventName.NOTIFICATION, data, session=session, cwd=cwd, host=host))

    async def drain(self) -> None:
        """Wait for running notifications, and deliver pending records to sinks."""
        await self._notifications.drain()
        await self.bus.drain()

    def session(
        self,
        id: str = "",  # noqa: A002 - the usual word
        *,
        user: str = "",
        model: str = "",
        provider: str = "",
        config: Mapping[str, object] | None = None,
        cwd: str = "",
        host: str = "",
    ) -> SessionScope:
        """Open a session: `async with engine.session(model=…) as session`. Emits its start and its end.

        `host` is the name of the agent in traces.
        """
        session_id = id or new_id(int(time() * 1000))
        session = Session(id=session_id, user=user, model=model, provider=provider, config=config or {})
        return SessionScope(self, session, cwd=cwd, host=host)

    @property
    def on(self) -> EventDecorators:
        """Make a function a hook: `@engine.on.before_tool`, `@engine.on("before_tool", tools="shell", runs=["git push"])`.

        It gets the `Event`, or the typed event that its parameter is annotated with (`event: BeforeTool`), and returns a
        `Verdict`, False to deny, a text such as "deny: reason", or None. A plain function is called directly and should be
        quick; an `async def` may wait, up to its timeout. The options are the keys of hookline.toml; `if` is spelled `if_`.

        The call raises a ConfigError where an event or an option is unknown or the value of an option cannot be used, and
        the decorator a TypeError where the decorated object cannot be called with an event.
        """
        return EventDecorators(self._register_function)

    def _register_function(
        self, events: Sequence[str], options: HookOptions, /
    ) -> Callable[[Callable[..., object]], object]:
        if not events:
            raise ConfigError('name the events: `@engine.on("before_tool")` or `@engine.on.before_tool`')
        read = self._components.read_options or default_components().read_options
        fields = read(options) if read is not None else dict(options)
        on = tuple(dict.fromkeys(name for event in events for name in canonical_events(event)))
        fields["matcher"] = narrow_matcher(events, str(fields.get("matcher", "")))

        def register(function: Callable[..., object]) -> None:
            name = getattr(function, "__qualname__", repr(function)).replace("<locals>.", "")
            values = {"name": name, **fields, "id": fields.get("id") or self.registry.free_id(name)}
            undo = fields.get("undo_call")
            if callable(undo):
                values["undo_call"] = take_event(undo, on)
            make_hook: Callable[..., Hook] = Hook
            self.add(make_hook(on=on, call=take_event(function, on), source=Source.BUILTIN, **values))

        return register

    def rule(self, id: str = "", **options: Unpack[RuleOptions]) -> Hook:  # noqa: A002 - the key of hookline.toml
        """Add a constant answer: `engine.rule("no-force", runs=["git push --force"], deny="no force pushes")`.

        Without an id it is named after its text.
        `on` may be omitted where `deny`, `confirm` or `allow` is narrowed by `tools` or effects: it is about tool calls.

        Raises:
            ConfigError: It has no answer, or an option is unknown or cannot be used.
        """
        return self.hook(id, **options)

    def hook(self, id: str, **options: object) -> Hook:  # noqa: A002 - the key of hookline.toml
        """Add a hook with the keys of hookline.toml: `engine.hook("lint", on="file_edited", run=["ruff", "check"])`.

        The program vouches for it, so it needs no approval. `if` is spelled `if_`, `raise` is spelled `raise_`.

        Raises:
            ConfigError: An option is unknown or cannot be used, or the hook as a whole makes no sense.
        """
        read = self._components.read_hook or default_components().read_hook
        if read is None:
            raise ConfigError("this engine was put together without a reader of options")
        made = replace(read({**options, "id": id}), source_line=0)
        if not id:
            # two rules may say the same
            names = chain([made.id], (f"{made.id}-{number}" for number in count(2)))
            made = replace(made, id=next(name for name in names if not self.registry.has_hook(name)))
        self.add(made)
        return made

    def add(self, *hooks: Hook) -> None:
        """Register hooks for the events they name.

        Raises:
            ConfigError: A hook names an unknown event, has a broken matcher, or the id of another one; or hooks are
                to run after each other in a circle, or are steps of themselves.
        """
        for hook in hooks:
            if not isinstance(hook, Hook):
                raise TypeError(f"wanted a Hook, got {hook!r}")
        fresh = [hook.id for hook in hooks if not self.registry.has_hook(hook.id)]
        try:
            for hook in hooks:
                if not hook.source_path:
                    # a hook from a file was checked by its reader
                    check_types(hook)
                self.planner.check(hook)
                self.registry.add(hook)
            self._referenced.update(name for hook in hooks for name in references(hook))
            refuse_cycles(hooks, self.planner, self._referenced)
        except ConfigError:
            for name in fresh:
                self.registry.unregister_hook(name)
            raise

    def resolve(self, name: str) -> str:
        """Return the canonical name of an event that any dialect knows; another name is returned unchanged."""
        return resolve_event(name)

    async def close(self) -> None:
        """Finish running work, and close stores, kinds and the queue."""
        await self._finish()
        self._sync_loop.stop()
        await asyncio.to_thread(self._close_stores)

    def close_sync(self) -> None:
        """Close the engine like `close`, for callers without an event loop.

        Raises:
            EngineError: A loop is running in this thread.
        """
        self.wait_for(self._finish())
        self._sync_loop.stop()
        self._close_stores()

    def attach(self, sink: Sink, *, close: Callable[[], None]) -> None:
        """Send every record to a sink; `close` is called when the engine is closed, before its stores."""
        self.bus.subscribe(sink)
        self._close_sinks.append(close)

    def _close_stores(self) -> None:
        for close in self._close_sinks:
            close()
        try:
            if self.store is not None:
                self.store.close()
            self.state.close()
        except StoreError as problem:
            # lost traces do not change an outcome
            logger.warning("%s", problem)
        self.background.close()

    async def _finish(self) -> None:
        await self.background.drain()
        await self.drain()
        for kind in self._components.kinds.values():
            await kind.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()


class HookEventHandler:
    """Turn messages on a bus into events for hooks.

    A topic that is an event's name is answered with the outcome. The topics in `NOTIFYING` start notification hooks
    without waiting for them; `error` does both.
    """

    def __init__(self, engine: Engine, bus: MessageBus | None = None) -> None:
        self._engine = engine
        self._bus = bus or engine.bus
        self._undo: list[Callable[[], None]] = []

    def connect(self) -> None:
        """Start listening; a second call has no effect."""
        if not self._undo:
            self._undo += [self._bus.on(name, self._answer) for name in EventName]
            self._undo += [self._bus.on(topic, self._notify) for topic in NOTIFYING]

    def disconnect(self) -> None:
        """Stop listening."""
        while self._undo:
            self._undo.pop()()

    async def _answer(self, name: str, data: object) -> Outcome:
        if data is None or isinstance(data, Mapping):
            return await self._engine.emit(name, data)
        # a bare value is the first field of the event: the prompt, the error, the message
        field = next(iter(EVENTS[EventName(name)].fields), "value")
        return await self._engine.emit(name, {field: data})

    def _notify(self, topic: str, data: object) -> None:
        text = data.get("message", data.get("error", "")) if isinstance(data, Mapping) else data
        self._engine.notify(str(text or ""), type=topic)
