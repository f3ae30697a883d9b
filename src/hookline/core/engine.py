"""One answer to one event: choose, vet, ask, decide."""

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from time import perf_counter, time
from typing import Final, Self, TypeVar, Unpack

from msgspec.structs import replace

from hookline import surroundings
from hookline.core import merge
from hookline.core.asking import Ask, answer
from hookline.core.background import MAIL, NO_MAIL, Background, TellAgent
from hookline.core.budget import Budget
from hookline.core.bus import MessageBus
from hookline.core.calling import Left
from hookline.core.composition import Steps
from hookline.core.debugger import HookDebugger
from hookline.core.doorkeeper import HookDoorkeeper
from hookline.core.fitting import able_at, fit
from hookline.core.ids import new_id
from hookline.core.loops import OwnLoop
from hookline.core.moments import Moments
from hookline.core.notes import Notes, running_loop
from hookline.core.options import HookOptions
from hookline.core.parts import Parts, default_parts, default_state
from hookline.core.planner import planner_of
from hookline.core.quick import QUIET, Quick
from hookline.core.recording import begun, ending, record
from hookline.core.registry import HookRegistry, nothing_ready
from hookline.core.relations import mentions, refuse_entangled
from hookline.core.returns import BEGINS, ENDS, Returns
from hookline.core.rounds import ask_again
from hookline.core.runner import HookRunner, Run
from hookline.core.scope import SessionScope
from hookline.core.skills import prepare
from hookline.core.specs import Specs
from hookline.core.tools import Hear, Tool, run_tool
from hookline.core.trust import Approve, TrustedHooks, TrustedHooksConfig, still_vetted
from hookline.errors import ConfigError, StoreError
from hookline.model.copying import kept
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Source
from hookline.model.plan import Plan
from hookline.model.record import Step
from hookline.model.session import Session
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Outcome
from hookline.ports import JobQueue, StateStore, TraceStore

logger = logging.getLogger(__name__)

T = TypeVar("T")
HookFunction = TypeVar("HookFunction", bound=Callable[..., object])

NOBODY: Final = Session()


class Engine:
    """Run hooks for an agent.

    Build one with `Engine.load()` to get the hooks people configured, or with `Engine()` to start with none
    and add functions with `on`. Use it as an async context manager, or call `close` when done.
    """

    def __init__(  # noqa: PLR0913 - each is a part that a program may bring along
        self,
        *,
        parts: Parts | None = None,
        settings: Settings | None = None,
        trust: TrustedHooks | None = None,
        ask: Ask | None = None,
        store: TraceStore | None = None,
        state: StateStore | None = None,
        queue: JobQueue | None = None,
        tell_agent: TellAgent | None = None,
        cwd: str | None = None,
    ) -> None:
        self._parts = parts or default_parts()
        self.settings = settings or Settings()
        self.bus = MessageBus()
        self.registry = HookRegistry()
        self._specs = Specs(self._parts.dialects)
        self.planner = planner_of(self.registry, self._specs, self._parts)
        self.trust = trust or TrustedHooks(
            TrustedHooksConfig(
                trust_workspace=self.settings.trust_workspace,
                trusted_workspaces=self.settings.trusted_workspaces,
                shell_dialects=frozenset(name for name, spec in self._specs.items() if spec.shell),
            )
        )
        self._parts = replace(self._parts, kinds={**self._parts.kinds, "steps": Steps(self)})
        self.runner = HookRunner(None, self.trust, self.settings, parts=self._parts, bus=self.bus)
        self.runner.raise_event = self._raise
        self.state = state or default_state()
        self.doorkeeper = HookDoorkeeper(
            self.state, parts=self._parts, settings=self.settings, bus=self.bus, identify=self.trust.identity
        )
        self.runner.doorkeeper = self.doorkeeper
        self.debugger = HookDebugger()
        self.store = store
        self.cwd = cwd if cwd is not None else surroundings.folder()
        self.problems: tuple[str, ...] = ()
        self._ask = ask
        self.background = Background(self.runner, self.bus, queue=queue, tell_agent=tell_agent, project=self.cwd)
        self.runner.enqueue = self.background.enqueue
        # False where events come from elsewhere, as from a watched folder: then prompts wait for an agent to come by
        self.agent_listens = True
        self._mail = MAIL if queue is not None and self.settings.enabled else NO_MAIL
        self._moments = Moments(self._specs)
        # with these, something is to be done although no hook wants them
        self._always = self._mail | {BEGINS}
        self._ready = self.registry.ready if self.settings.enabled else nothing_ready()
        self.returns = Returns(self.state, self.bus, ready=self._ready, most=self.settings.returns)
        self._quick = Quick(
            self,
            moments=self._moments,
            kinds=self._parts.kinds,
            ready=self._ready,
            except_at=self._always,
            handle=Engine.handle,
        )
        self._ways, self._silent = self._quick.ways, self._quick.silent
        self._notes = Notes()
        self._mentioned: set[str] = set()
        self._loop = OwnLoop()
        self.stop_debugger = self.bus.subscribe(self.debugger)
        if store is not None:
            self.bus.subscribe(store.write)

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
        """Build an engine with the hooks configured for a project and for the person, traced into SQLite.

        `ask` answers hooks that want a person to decide; `approve` is asked whether a hook may run at all.
        Without them the answer is no. `tell_agent` is given prompts for the agent and the event each is about;
        without it they are in `follow_ups` of the outcome.
        """
        from hookline.workspace import load_engine  # noqa: PLC0415 - the door upwards, see core/parts.py

        root = Path(project) if project is not None else None
        return load_engine(root, settings=settings, ask=ask, approve=approve, tell_agent=tell_agent)

    async def emit(
        self,
        name: str,
        data: Mapping[str, object] | None = None,
        *,
        tool: str = "",
        args: Mapping[str, object] | None = None,
        session: Session = NOBODY,
        cwd: str = "",
    ) -> Outcome:
        """Say that a moment has come, and get the one answer of all hooks that want it.

        `name` is a canonical event, the name a dialect has for it, or `custom:NAME`. A tool call is given
        as `tool` and `args`, or inside `data`.

        Raises:
            ConfigError: There is no such event.
        """
        if name in self._silent:
            return QUIET
        if self._ready.get(name) is False and name not in self._always:
            return self._quick.silence(name)
        way = self._ways.get((name, tool)) or self._quick.find(name, tool)
        said = way(data, args, session, cwd or self.cwd)
        if type(said) is Outcome:
            return said
        if type(said) is Left:
            return await self._go_on(said)
        event = self.event(name, data, tool=tool, args=args, session=session, cwd=cwd)
        if type(said) is Plan:
            return await self._answer(event, said, host_asks=False, budget=None)
        return await self.handle(event)

    async def handle(self, event: Event, *, host_asks: bool = False, patience: float | None = None) -> Outcome:
        """Answer an event; with `host_asks` a question is left to the host's own dialog.

        `patience` is how many seconds the host waits: hooks that need longer have failed, and what they want then holds.
        """
        if event.name is BEGINS:
            await self.returns.begin(event)
        if not self._ready[event.name]:
            return await self._only_mail(QUIET, event)
        chosen = self.planner.plan(event)
        if not chosen.stages:
            # nothing happens, so there is nothing to trace: a guard for one tool sees all others pass by
            return await self._only_mail(Outcome(skipped=chosen.skipped), event)
        return await self._answer(event, chosen, host_asks=host_asks, budget=self.runner.budget(patience))

    async def _only_mail(self, outcome: Outcome, event: Event) -> Outcome:
        """Bring the agent what waits for it, at an event that no hook wants."""
        if event.name not in self._mail:
            return outcome
        return fit(await self._passed_on(outcome, event), event, able_at(event, self._specs))

    async def start(self, hook: Hook, event: Event, *, host_asks: bool = False) -> Outcome:
        """Answer an event with one hook: a person starts it, or its time has come. Its gates are asked as ever."""
        chosen = self.planner.only(hook, event)
        return await self._answer(event, chosen, host_asks=host_asks, budget=self.runner.budget(), is_alone=True)

    async def _raise(
        self, hook: Hook, event: Event, name: str, data: Mapping[str, object], budget: Budget | None
    ) -> Outcome:
        """Raise an event in the name of a hook, in the time that is left; questions and prompts are the first one's."""
        raised = self.event(name, data, session=event.session, cwd=event.cwd)
        if not self._ready[raised.name]:
            return QUIET
        raised = replace(raised, chain=(*event.chain, hook.id), parent=event.id)
        chosen = self.planner.plan(raised)
        return await self._answer(raised, chosen, host_asks=True, budget=budget) if chosen.stages else QUIET

    async def _answer(
        self, event: Event, chosen: Plan, *, host_asks: bool, budget: Budget | None, is_alone: bool = False
    ) -> Outcome:
        started = perf_counter()
        if not event.id:
            now = int(time() * 1000)
            event = replace(event, id=new_id(now), timestamp=event.timestamp or now)
        plan = still_vetted(self.trust, chosen, event) or await self.trust.vet(chosen, event)
        if self.bus.listening:
            self.bus.put_aside_for_now(functools.partial(begun, event, kept(event.data), kept(event.args), time()))
        run = await self.runner.run(plan, event, budget)
        return await self._conclude(
            event, plan, run, started=started, host_asks=host_asks, budget=budget, is_alone=is_alone
        )

    async def _go_on(self, left: Left) -> Outcome:
        """Answer an event from where the short way has left off."""
        event, plan = left.event, left.plan
        execution = await self.runner.heard(left.hook, event, left.reply, started=left.started)
        run = await self.runner.run(plan, event, done=(*left.done, execution))
        return await self._conclude(event, plan, run, started=left.began, host_asks=False, budget=None)

    async def _conclude(
        self,
        event: Event,
        plan: Plan,
        run: Run,
        *,
        started: float,
        host_asks: bool,
        budget: Budget | None,
        is_alone: bool = False,
    ) -> Outcome:
        """Make one answer of what the hooks of a plan said."""
        if is_alone or run.event is event:
            # nothing was changed that somebody could be asked about again
            skipped = (*plan.skipped, *run.skipped)
        else:
            run = await ask_again(run, plan, event, host=self, budget=budget)
            skipped = run.skipped
        outcome = merge.merge(event, run.event, run.verdicts)
        able = able_at(event, self._specs)
        # where we cannot ask anybody, what the agent can do about a question decides
        if outcome.decision is Decision.ASK and not (host_asks or (able is not None and self._ask is None)):
            # the person judges what would happen: the event as the last hook left it
            outcome = await answer(outcome, run.event, self._ask)
            if self.bus.listening:
                asked = {"allowed": not outcome.blocked, "reasons": outcome.reasons}
                self.bus.put_aside(record(event, Step.ASKED, asked))
        outcome = await self.returns.capped(outcome, event) if event.name in ENDS else outcome
        if (outcome.effects or event.name in self._mail) and not event.chain:
            outcome = await self._passed_on(outcome, event)
        outcome = fit(outcome, event, able) if able is not None else outcome
        outcome = replace(outcome, skipped=skipped, trace=event.id, duration=perf_counter() - started)
        if self.bus.listening:
            self.bus.put_aside(functools.partial(ending, event, outcome, at=time()))
        return outcome

    async def _passed_on(self, outcome: Outcome, event: Event) -> Outcome:
        """Bring the agent what waits for it, and give its prompts to whoever can put them before it."""
        if event.name in self._mail and self.agent_listens:
            outcome = await self.background.collected(outcome, event)
        return await self.background.delivered(outcome, event, listens=self.agent_listens)

    def emit_sync(
        self,
        name: str,
        data: Mapping[str, object] | None = None,
        *,
        tool: str = "",
        args: Mapping[str, object] | None = None,
        session: Session = NOBODY,
        cwd: str = "",
    ) -> Outcome:
        """Do the same for callers without an event loop.

        Raises:
            EngineError: There is a running loop: waiting here would stop it. Use `await engine.emit(…)`.
        """
        if self._ready.get(name) is False and name not in self._always:
            return QUIET
        emit = functools.partial(self.emit, name, data, tool=tool, args=args, session=session, cwd=cwd)
        return self.wait_for(self._and_tell(emit))

    async def _and_tell(self, emit: Callable[[], Awaitable[Outcome]]) -> Outcome:
        outcome = await emit()
        # a caller without a loop has no other moment at which its listeners could hear of it
        await self.bus.drain()
        return outcome

    def wait_for(self, work: Coroutine[object, object, T]) -> T:
        """Wait for the engine's work from code without an event loop.

        Raises:
            EngineError: There is a running loop in this thread.
        """
        return self._loop.wait_for(work)

    async def call_tool(
        self,
        name: str,
        args: Mapping[str, object],
        function: Tool,
        *,
        session: Session = NOBODY,
        cwd: str = "",
        hear: Hear | None = None,
    ) -> object:
        """Run a tool between its hooks: they may stop it, change its arguments and its result, and see errors.

        `hear` is given each outcome, for what else the hooks said: context for the model, messages, follow-ups.

        Raises:
            Blocked: A hook said no, before the tool ran or to its result. What the tool itself raises passes through.
        """
        emit = functools.partial(self.emit, session=session, cwd=cwd)
        return await run_tool(emit, name, args, function, hear=hear)

    async def skill(
        self,
        name: str,
        parameters: Mapping[str, object] | None = None,
        *,
        session: Session = NOBODY,
        cwd: str = "",
        hear: Hear | None = None,
    ) -> Mapping[str, object]:
        """Ask the hooks of a skill before it runs, and get its parameters as they prepared them.

        Raises:
            Blocked: A hook said no.
        """
        emit = functools.partial(self.emit, session=session, cwd=cwd)
        return await prepare(emit, name, parameters or {}, hear=hear)

    def notify(
        self,
        message: str,
        *,
        type: str = "status",  # noqa: A002 - the event's own word
        session: Session = NOBODY,
        cwd: str = "",
    ) -> None:
        """Tell notification hooks something without waiting for them.

        Raises:
            EngineError: No event loop is running here to do it. Use `engine.emit_sync("notification", …)`.
        """
        if not self._ready[EventName.NOTIFICATION]:
            return
        loop = running_loop()
        data = {"message": message, "type": type}
        self._notes.send(self.emit(EventName.NOTIFICATION, data, session=session, cwd=cwd), loop)

    async def drain(self) -> None:
        """Wait for the notifications that are still under way, and for records on their way to sinks."""
        await self._notes.drain()
        await self.bus.drain()

    def session(
        self,
        id: str = "",  # noqa: A002 - the word everybody uses
        *,
        user: str = "",
        model: str = "",
        provider: str = "",
        config: Mapping[str, object] | None = None,
        cwd: str = "",
    ) -> SessionScope:
        """Open a session: `async with engine.session(model=…) as session`. Fires its start and its end."""
        described = Session(
            id=id or new_id(int(time() * 1000)), user=user, model=model, provider=provider, config=config or {}
        )
        return SessionScope(self, described, cwd=cwd)

    def on(self, *events: str, **options: Unpack[HookOptions]) -> Callable[[HookFunction], HookFunction]:
        """Make a function a hook: `@engine.on("before_tool", matcher="shell")`.

        It gets the `Event` and returns a `Verdict` or None. A plain function is called at once and should
        be quick; an `async def` may wait, up to its timeout. The options are the fields of a `Hook`.
        """
        if not events or not all(isinstance(event, str) for event in events):
            raise ConfigError('name the events: `@engine.on("before_tool")`')

        def register(function: HookFunction) -> HookFunction:
            name = getattr(function, "__qualname__", repr(function)).replace("<locals>.", "")
            on = tuple(name for event in events for name in self._moments.listened(event))
            fields: HookOptions = {**options, "id": options.get("id") or self.registry.free_id(name)}
            self.add(Hook(on=on, name=name, call=function, source=Source.BUILTIN, **fields))
            return function

        return register

    def add(self, *hooks: Hook) -> None:
        """Register hooks for the events they name.

        Raises:
            ConfigError: A hook names an unknown event, has a broken matcher, or the id of another one; or hooks are
                to run after each other in a circle, or are steps of themselves.
        """
        fresh = [hook.id for hook in hooks if not self.registry.has_hook(hook.id)]
        try:
            for hook in hooks:
                self.planner.check(hook)
                self.registry.add(hook)
            self._mentioned.update(name for hook in hooks for name in mentions(hook))
            refuse_entangled(hooks, self.planner, self._mentioned)
        except ConfigError:
            for name in fresh:
                self.registry.unregister_hook(name)
            raise

    def resolve(self, name: str) -> str:
        """Give the canonical name of an event that any dialect knows; another name stays as it is."""
        return self._moments.resolve(name)

    def event(
        self,
        name: str,
        data: Mapping[str, object] | None = None,
        *,
        tool: str = "",
        args: Mapping[str, object] | None = None,
        session: Session = NOBODY,
        cwd: str = "",
    ) -> Event:
        """Make the event that `emit` would handle.

        Raises:
            ConfigError: There is no such event.
        """
        now = time()
        id_ = new_id(int(now * 1000))
        return self._moments.event(
            name, data, tool=tool, args=args, session=session, cwd=cwd or self.cwd, at=now, id=id_
        )

    async def close(self) -> None:
        """Finish what is under way and give everything back."""
        await self._finish()
        self._loop.stop()
        await asyncio.to_thread(self._close_store)

    def close_sync(self) -> None:
        """Do the same for callers without an event loop.

        Raises:
            EngineError: There is a running loop in this thread.
        """
        self.wait_for(self._finish())
        self._loop.stop()
        self._close_store()

    def _close_store(self) -> None:
        try:
            if self.store is not None:
                self.store.close()
            self.state.close()
        except StoreError as problem:
            # traces are not worth an answer: what was decided stands
            logger.warning("%s", problem)
        self.background.close()

    async def _finish(self) -> None:
        await self.background.drain()
        await self.drain()
        for kind in self._parts.kinds.values():
            await kind.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()
