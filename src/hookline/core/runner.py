"""Run the hooks of a plan. The one module of the core that waits."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from math import inf
from time import perf_counter, time
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from hookline.core import chains, merge
from hookline.core.budget import Budget, limited
from hookline.core.bus import MessageBus
from hookline.core.failure import failed, settle
from hookline.core.parts import Parts, default_parts
from hookline.core.raising import Raise, raised
from hookline.core.recording import as_it_was, said
from hookline.core.translator import HookTranslator
from hookline.core.trust import TrustedHooks
from hookline.core.unfolding import together, untold
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.exchange import Failure, FailureKind, Reply, Request, Sealed
from hookline.model.hook import Hook, Layer, OnError
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.record import Record, Step
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Outcome, Verdict
from hookline.ports import Immediate, Kind

logger = logging.getLogger(__name__)


class Held(Struct, frozen=True):
    """A hook that may not run just now.

    What `failed` could not run though it should: then its failure policy decides, as if it had fallen over. What did
    not was left out because the person wanted it so.
    """

    gate: Gate
    reason: str
    failed: bool = False


class Doorkeeper(Protocol):
    """Who is asked right before a hook runs, and told right after: limits, needs, and answers given before."""

    def concerns(self, hook: Hook) -> bool:
        """Say whether there is anything to ask about a hook."""

    async def ask(self, hook: Hook, event: Event, sealed: Sealed | None) -> Held | Verdict | None:
        """Hold a hook back, or give the answer it gave before; None lets it run."""

    async def ask_later(self, hook: Hook, event: Event) -> Held | None:
        """Ask what `ask` leaves out of a background hook, now that its turn has come."""

    async def learn(self, hook: Hook, event: Event, sealed: Sealed | None, verdict: Verdict) -> None:
        """Take note of what a hook that ran said."""


# puts a background hook into the queue and gives the job's id
Enqueue = Callable[[Hook, Event], Awaitable[str]]

# told what went to a hook and what came back, for whoever looks for a mistake
Tap = Callable[[Hook, Request, Reply], None]


class _Approach(Struct, frozen=True):
    """How a hook is asked, worked out once and not for each event."""

    hook: Hook
    encode: Callable[[Event, Hook], Request]
    kind: Kind
    seconds: float


class Execution(Struct, frozen=True, kw_only=True):
    """One hook's run: what it said, and the raw exchange behind it."""

    hook: Hook
    verdict: Verdict
    reply: Reply
    duration: float


class Run(Struct, frozen=True, kw_only=True):
    """All runs for one event, the event as the last hook left it, and the hooks that had no turn."""

    executions: tuple[Execution, ...]
    event: Event
    skipped: tuple[Skip, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the hooks said, in plan order."""
        return tuple([execution.verdict for execution in self.executions])


class HookRunner:
    """Ask hooks, one after another or side by side, and turn whatever comes back into verdicts."""

    def __init__(
        self,
        timeout: float | None = None,
        trusted_hooks: TrustedHooks | None = None,
        config: Settings | None = None,
        *,
        parts: Parts | None = None,
        bus: MessageBus | None = None,
    ) -> None:
        parts = parts or default_parts()
        self._settings = config or Settings()
        self._timeout = timeout if timeout is not None else self._settings.timeout
        self._trust = trusted_hooks or TrustedHooks()
        self._kinds = parts.kinds
        self._translator = HookTranslator(parts.dialects)
        self._bus = bus or MessageBus()
        self._refusals: dict[str, tuple[Hook, str]] = {}
        self._approaches: dict[str, _Approach] = {}
        self.tap: Tap | None = None
        self.doorkeeper: Doorkeeper | None = None
        self.enqueue: Enqueue | None = None
        self.raise_event: Raise | None = None

    def set_timeout(self, seconds: float) -> None:
        """Set how long hooks without a time of their own may take."""
        self._timeout = seconds
        self._approaches.clear()

    async def execute_hook(self, hook: Hook, event: Event | Mapping[str, object]) -> Verdict:
        """Run one hook and return what it said."""
        return (await self.execute_hook_with_metadata(hook, event)).verdict

    async def execute_hook_with_metadata(self, hook: Hook, event: Event | Mapping[str, object]) -> Execution:
        """Run one hook if it is trusted; an untrusted one is refused, which counts as its failure."""
        moment = self._event(event)
        vetted = await self._trust.vet(Plan(((hook,),)), moment)
        for skip in vetted.skipped:
            return self._unable(hook, moment, FailureKind.REFUSED, f"not run: {skip.reason}")
        return await self._execute(hook, moment, vetted.sealed.get(hook.id))

    async def execute_vetted(self, hook: Hook, event: Event, sealed: Sealed | None) -> Execution:
        """Run one hook that somebody else has vetted and asked the gates about."""
        return await self._execute(hook, event, sealed)

    async def execute_hooks(self, hooks: Sequence[Hook], event: Event | Mapping[str, object]) -> list[Verdict]:
        """Run hooks in this order; untrusted ones are left out."""
        return list((await self._run_these(hooks, self._event(event))).verdicts)

    async def execute_hooks_with_summary(self, hooks: Sequence[Hook], event: Event | Mapping[str, object]) -> Outcome:
        """Run hooks in this order and sum up what they said."""
        moment = self._event(event)
        started = perf_counter()
        run = await self._run_these(hooks, moment)
        outcome = merge.merge(moment, run.event, run.verdicts)
        return replace(outcome, skipped=run.skipped, duration=perf_counter() - started)

    def budget(self, patience: float | None = None) -> Budget | None:
        """Give the time that all hooks of one event have together, counted from now; None when nobody limits it.

        `patience` is how long the host waits for an answer.
        """
        chosen = self._settings.budget
        if patience is not None and (chosen is None or patience < chosen):
            return Budget(patience, "the patience of the agent")
        return Budget(chosen) if chosen is not None else None

    async def run(
        self, plan: Plan, event: Event, budget: Budget | None = None, *, done: Sequence[Execution] = ()
    ) -> Run:
        """Run a vetted plan, stage by stage, in the time that is left; stages of one hook may be `done` already."""
        executions: list[Execution] = []
        held: list[Skip] = []
        for place, stage in enumerate(plan.stages):
            results: list[Execution | Skip]
            if place < len(done):
                results = [done[place]]
            elif len(stage) == 1:
                # most stages are one hook, which needs nobody to look at what runs beside it
                hook = stage[0]
                run_it = self._execute if self._is_free(hook, event, budget) else self._admit
                results = [await run_it(hook, event, plan.sealed.get(hook.id), budget)]
            else:
                results = await self._stage(stage, event, plan.sealed, budget)
            verdicts: list[Verdict] = []
            last = ""
            for result in results:
                if type(result) is Skip:
                    held.append(result)
                    continue
                executions.append(result)
                verdicts.append(result.verdict)
                if result.verdict.ends and not result.verdict.observed:
                    last = last or result.hook.id
            event = merge.carry(event, verdicts)
            if last:
                left = [hook for later in plan.stages[place + 1 :] for hook in later]
                held += [Skip(hook, Gate.ENDED, f'hook "{last}" ended the run') for hook in left]
                break
        return Run(executions=tuple(executions), event=event, skipped=tuple(held))

    async def _run_these(self, hooks: Sequence[Hook], event: Event) -> Run:
        vetted = await self._trust.vet(Plan(tuple((hook,) for hook in hooks)), event)
        run = await self.run(vetted, event, self.budget())
        return replace(run, skipped=(*vetted.skipped, *run.skipped))

    async def _stage(
        self, stage: tuple[Hook, ...], event: Event, sealed: Mapping[str, Sealed], budget: Budget | None
    ) -> list[Execution | Skip]:
        chains.begin(event)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._admit(hook, event, sealed.get(hook.id), budget)) for hook in stage]
        results = [task.result() for task in tasks]
        done = [result for result in results if isinstance(result, Execution)]
        problems = merge.conflicts(event, [execution.verdict for execution in done])
        if problems:
            # what is only observed changes nothing, so the last of those that count has to carry it
            last = max(
                place
                for place, result in enumerate(results)
                if isinstance(result, Execution) and not result.verdict.observed
            )
            results[last] = _blocked_by_conflict(results[last], problems)
        return results

    def _is_free(self, hook: Hook, event: Event, budget: Budget | None) -> bool:
        """Say whether nothing could hold a hook back: most often, and then nobody has to look."""
        if event.chain or budget is not None or hook.background:
            return False
        return self.doorkeeper is None or not self.doorkeeper.concerns(hook)

    async def _admit(self, hook: Hook, event: Event, sealed: Sealed | None, budget: Budget | None) -> Execution | Skip:
        """Run a hook, unless it is held back, has answered this before, or is for the background."""
        if hook.id in event.chain:
            return Skip(hook, Gate.CHAIN, f"it led to this event itself: {chains.told(event, hook)}")
        if budget is not None and budget.left <= 0 and budget.holds_for(hook):
            return self._unable(hook, event, FailureKind.TIMEOUT, f"not started: {budget}")
        keeper = self.doorkeeper
        # what will be refused does not run, so nothing of its limits is used up
        if keeper is None or not keeper.concerns(hook) or self.refusal(hook):
            run = self._run_or_queue if hook.background else self._execute
            return await run(hook, event, sealed, budget)
        said = await keeper.ask(hook, event, sealed)
        if isinstance(said, Held):
            return self._held(hook, event, said)
        if said is not None:
            return self._recalled(hook, event, said)
        execution = await self._run_or_queue(hook, event, sealed, budget)
        if not execution.verdict.job:
            await keeper.learn(hook, event, sealed, execution.verdict)
        return execution

    async def _run_or_queue(self, hook: Hook, event: Event, sealed: Sealed | None, budget: Budget | None) -> Execution:
        # what could never run is refused now, where somebody sees it
        if not hook.background or self.enqueue is None or self.refusal(hook):
            return await self._execute(hook, event, sealed, budget)
        try:
            job = await self.enqueue(hook, event)
        except StoreError as problem:
            return self._unable(hook, event, FailureKind.REFUSED, f"it cannot be put into the queue: {problem}")
        except Exception as problem:
            logger.exception("hook %s could not be put into the queue", hook.id)
            return self._unable(hook, event, FailureKind.INTERNAL, f"it cannot be put into the queue: {problem!r}")
        self.tell(Step.QUEUED, hook, event, lambda: {"job": job})
        return Execution(hook=hook, verdict=Verdict(hook=hook.id, job=job), reply=Reply(), duration=0.0)

    def _held(self, hook: Hook, event: Event, held: Held) -> Execution | Skip:
        """Leave a hook out, or let its failure policy decide where it should have run and could not."""
        if held.failed and self._failed(hook, FailureKind.UNAVAILABLE, held.reason)[0].blocks:
            return self._unable(hook, event, FailureKind.UNAVAILABLE, held.reason, gate=held.gate)
        return Skip(hook, held.gate, held.reason)

    def _unable(self, hook: Hook, event: Event, kind: FailureKind, message: str, **more: object) -> Execution:
        """Let the failure policy decide about a hook that is not even started."""
        verdict, reply = self._failed(hook, kind, message)
        verdict = replace(verdict, hook=hook.id, observed=self.observes(hook))
        self.tell(Step.FAILED, hook, event, lambda: said(verdict, reply) | more)
        return Execution(hook=hook, verdict=verdict, reply=reply, duration=0.0)

    def _recalled(self, hook: Hook, event: Event, verdict: Verdict) -> Execution:
        verdict = replace(verdict, hook=hook.id, cached=True, duration=0.0, observed=self.observes(hook))
        told = as_it_was(verdict)
        self.tell(Step.COMPLETED, hook, event, lambda: said(told, Reply()))
        return Execution(hook=hook, verdict=verdict, reply=Reply(), duration=0.0)

    async def _execute(
        self, hook: Hook, event: Event, sealed: Sealed | None, budget: Budget | None = None
    ) -> Execution:
        self.tell(Step.STARTED, hook, event, lambda: {"dialect": hook.dialect})
        started = perf_counter()
        try:
            verdict, reply = await self._asked(hook, event, sealed, budget)
        except asyncio.CancelledError:
            self._given_up(hook, event, started)
            raise
        except Exception as problem:  # noqa: BLE001 - whatever it is, the failure policy decides
            verdict, reply = self._our_fault(hook, problem)
        return self._concluded(hook, event, verdict, reply, started=started, budget=budget)

    async def heard(self, hook: Hook, event: Event, reply: Reply, *, started: float) -> Execution:
        """Finish the run of a function that somebody else has called, and told of; what it gave may have to be awaited."""
        try:
            verdict, reply = await self._hear(hook, event, reply)
        except asyncio.CancelledError:
            self._given_up(hook, event, started)
            raise
        return self._concluded(hook, event, verdict, reply, started=started)

    async def _hear(self, hook: Hook, event: Event, reply: Reply) -> tuple[Verdict, Reply]:
        try:
            request = self._translator.encode(event, hook)
            kind = self._kinds[hook.kind]
            if hasattr(reply.value, "__await__") and isinstance(kind, Immediate):
                reply = await kind.finish(reply.value, timeout=self._time_of(hook))
            verdict = self._translator.read(reply, request, hook)
            return (await raised(self, hook, event, verdict) if verdict.effects else verdict), reply
        except Exception as problem:  # noqa: BLE001 - as below
            return self._our_fault(hook, problem)

    def _given_up(self, hook: Hook, event: Event, started: float) -> None:
        detail = {"failure": "cancelled", "message": "the caller gave up", "duration": perf_counter() - started}
        self.tell(Step.FAILED, hook, event, lambda: detail)

    def _concluded(
        self,
        hook: Hook,
        event: Event,
        verdict: Verdict,
        reply: Reply,
        *,
        started: float,
        budget: Budget | None = None,
    ) -> Execution:
        duration = perf_counter() - started
        if budget is not None:
            budget.note(hook, duration)
        verdict = replace(verdict, hook=hook.id, duration=duration, observed=self.observes(hook))
        step = Step.COMPLETED if verdict.failure is None else Step.FAILED
        told = as_it_was(verdict)
        self.tell(step, hook, event, lambda: said(told, reply))
        return Execution(hook=hook, verdict=verdict, reply=reply, duration=duration)

    def _asked(
        self, hook: Hook, event: Event, sealed: Sealed | None, budget: Budget | None
    ) -> Coroutine[object, object, tuple[Verdict, Reply]]:
        """Choose how a hook is asked; what is given has to be awaited."""
        approach = self._approaches.get(hook.id)
        if approach is None or approach.hook is not hook:
            refusal = self.refusal(hook)
            if refusal:
                return _known(self._failed(hook, FailureKind.REFUSED, refusal))
            encode, kind = self._translator.encoder(hook), self._kinds[hook.kind]
            approach = self._approaches[hook.id] = _Approach(hook, encode, kind, self._time_of(hook))
        told = self._translator.told(event, hook)
        if not told:
            return _known((untold(event, hook), Reply()))
        if told[0] is event:
            return self._ask_once(approach, event, sealed, budget)
        return self._ask_each(approach, told, sealed, budget)

    def _our_fault(self, hook: Hook, problem: Exception) -> tuple[Verdict, Reply]:
        """Have the failure policy decide: a guard that was asked to block is no yes because we fell over."""
        logger.error("hook %s could not be asked", hook.id, exc_info=problem)
        return self._failed(hook, FailureKind.INTERNAL, f"error inside Hookline: {problem!r}")

    async def _ask_each(
        self, approach: _Approach, told: Sequence[Event], sealed: Sealed | None, budget: Budget | None
    ) -> tuple[Verdict, Reply]:
        """Ask about each part of a call until one is not to be; the last reply is the one that is shown."""
        verdicts: list[Verdict] = []
        reply = Reply()
        for event in told:
            verdict, reply = await self._ask_once(approach, event, sealed, budget)
            verdicts.append(verdict)
            if verdict.blocks:
                break
        return together(verdicts), reply

    async def _ask_once(
        self, approach: _Approach, event: Event, sealed: Sealed | None, budget: Budget | None
    ) -> tuple[Verdict, Reply]:
        hook, own = approach.hook, approach.seconds
        request = approach.encode(event, hook)
        request.sealed = sealed
        timeout = own if budget is None else limited(own, budget, hook)
        reply = await approach.kind.call(hook, request, timeout=timeout)
        if self.tap is not None:
            self.tap(hook, request, reply)
        if budget is not None and timeout < own and reply.failure is not None:
            reply = replace(reply, failure=_cut_short(reply.failure, budget))
        verdict = self._translator.read(reply, request, hook)
        return (await raised(self, hook, event, verdict, budget) if verdict.effects else verdict), reply

    def _time_of(self, hook: Hook) -> float:
        # the steps of a hook have times of their own
        if hook.steps and hook.timeout is None:
            return inf
        # nobody can take the time from a managed hook
        general = None if hook.layer is Layer.MANAGED else self._timeout
        return self._translator.timeout(hook, general)

    def fallen_over(self, hook: Hook, verdict: Verdict, kind: FailureKind, message: str) -> Verdict:
        """Add a failure to what a hook said; the first one is told, and the failure policy decides."""
        failure = verdict.failure or Failure(kind, message)
        default = self._translator.default_on_error(hook)
        return settle(replace(verdict, failure=failure), hook=hook, default=default)

    def guards(self, hook: Hook) -> bool:
        """Say whether a hook's failures block."""
        return (hook.on_error or self._translator.default_on_error(hook)) is OnError.BLOCK

    def observes(self, hook: Hook) -> bool:
        """Say whether what a hook says is only written down."""
        # nobody can take the teeth out of a managed hook
        return hook.observe or (self._settings.observe and hook.layer is not Layer.MANAGED)

    def tell(self, step: Step, hook: Hook, event: Event, detail: Callable[[], Mapping[str, object]]) -> None:
        """Tell whoever listens what became of a hook; for nobody, nothing is put together."""
        if self._bus.listening:
            # what it says is put together when the answer is on its way
            line = partial(_line, step, hook.id, event, time(), detail)
            (self._bus.put_aside_for_now if step is Step.STARTED else self._bus.put_aside)(line)

    def refusal(self, hook: Hook) -> str:
        """Say why a hook would not be run as it is written; empty when it would."""
        known = self._refusals.get(hook.id)
        if known is None or known[0] is not hook:
            known = self._refusals[hook.id] = (hook, self._find_refusal(hook))
        return known[1]

    def _find_refusal(self, hook: Hook) -> str:
        kind = self._kinds.get(hook.kind)
        if kind is None:
            return f'there is no kind "{hook.kind}"; known are {", ".join(sorted(self._kinds))}'
        if not self._translator.knows(hook):
            return f'there is no dialect "{hook.dialect}"; `hookline dialects` lists them'
        return kind.refusal(hook)

    def _failed(self, hook: Hook, kind: FailureKind, message: str) -> tuple[Verdict, Reply]:
        failure = Failure(kind, message)
        default = self._translator.default_on_error(hook)
        return settle(failed(failure), hook=hook, default=default), Reply(failure=failure)

    def _event(self, event: Event | Mapping[str, object]) -> Event:
        if isinstance(event, Event):
            return event
        data = event.get("data")
        return self._translator.to_hook_input(str(event["event"]), data if isinstance(data, Mapping) else {})


async def _known(said: tuple[Verdict, Reply]) -> tuple[Verdict, Reply]:
    """Give what nobody has to wait for to somebody who does."""
    return said


def _line(
    step: Step, hook: str, event: Event, at: float, detail: Callable[[], Mapping[str, object]]
) -> tuple[Record, ...]:
    return (Record(event.id, step, at, event.name, event.session.id, hook, detail()),)


def _blocked_by_conflict(execution: Execution | Skip, problems: list[str]) -> Execution | Skip:
    if isinstance(execution, Skip):
        return execution
    said = execution.verdict
    reasons = [said.reason] if said.reason else []
    verdict = replace(said, decision=max(said.decision, Decision.DENY), reason="; ".join([*reasons, *problems]))
    return replace(execution, verdict=verdict)


def _cut_short(failure: Failure, budget: Budget) -> Failure:
    """Say that a hook had less time than it was promised."""
    if failure.kind is not FailureKind.TIMEOUT:
        return failure
    return Failure(failure.kind, f"{failure.message}; this was {budget.rest}")
