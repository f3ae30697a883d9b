"""Run the hooks of a plan. The one module of the core that waits."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import perf_counter, time
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hookline.core import merge
from hookline.core.bus import MessageBus
from hookline.core.debugger import SLOW
from hookline.core.failure import failed, settle
from hookline.core.parts import Parts, default_parts
from hookline.core.translator import HookTranslator
from hookline.core.trust import TrustedHooks
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.exchange import Failure, FailureKind, Reply, Request, Sealed
from hookline.model.hook import Hook, Layer
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.record import Record, Step
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, EffectKind, Outcome, Verdict

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

    async def learn(self, hook: Hook, event: Event, sealed: Sealed | None, verdict: Verdict) -> None:
        """Take note of what a hook that ran said."""


# puts a background hook into the queue and gives the job's id
Enqueue = Callable[[Hook, Event], Awaitable[str]]
# raises another event in the name of a hook, and gives what its hooks said
Raise = Callable[[Hook, Event, str, Mapping[str, object]], Awaitable[Outcome]]

# told what went to a hook and what came back, for whoever looks for a mistake
Tap = Callable[[Hook, Request, Reply], None]


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
        return tuple(execution.verdict for execution in self.executions)


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
        self.tap: Tap | None = None
        self.doorkeeper: Doorkeeper | None = None
        self.enqueue: Enqueue | None = None
        self.raise_event: Raise | None = None

    def set_timeout(self, seconds: float) -> None:
        """Set how long hooks without a time of their own may take."""
        self._timeout = seconds

    async def execute_hook(self, hook: Hook, event: Event | Mapping[str, object]) -> Verdict:
        """Run one hook and return what it said."""
        return (await self.execute_hook_with_metadata(hook, event)).verdict

    async def execute_hook_with_metadata(self, hook: Hook, event: Event | Mapping[str, object]) -> Execution:
        """Run one hook if it is trusted; an untrusted one is refused, which counts as its failure."""
        moment = self._event(event)
        vetted = await self._trust.vet(Plan(((hook,),)), moment)
        for skip in vetted.skipped:
            return self._refused(hook, f"not run: {skip.reason}")
        return await self._execute(hook, moment, vetted.sealed.get(hook.id))

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

    async def run(self, plan: Plan, event: Event) -> Run:
        """Run a vetted plan, stage by stage."""
        executions: list[Execution] = []
        held: list[Skip] = []
        for place, stage in enumerate(plan.stages):
            results = await self._stage(stage, event, plan.sealed)
            held += [result for result in results if isinstance(result, Skip)]
            done = [result for result in results if isinstance(result, Execution)]
            executions += done
            event = merge.carry(event, [execution.verdict for execution in done])
            last = next((item.hook for item in done if item.verdict.ends and not item.verdict.observed), None)
            if last is not None:
                left = [hook for later in plan.stages[place + 1 :] for hook in later]
                held += [Skip(hook, Gate.ENDED, f'hook "{last.id}" ended the run') for hook in left]
                break
        return Run(executions=tuple(executions), event=event, skipped=tuple(held))

    async def _run_these(self, hooks: Sequence[Hook], event: Event) -> Run:
        vetted = await self._trust.vet(Plan(tuple((hook,) for hook in hooks)), event)
        run = await self.run(vetted, event)
        return replace(run, skipped=(*vetted.skipped, *run.skipped))

    async def _stage(
        self, stage: tuple[Hook, ...], event: Event, sealed: Mapping[str, Sealed]
    ) -> list[Execution | Skip]:
        if len(stage) == 1:
            return [await self._admit(stage[0], event, sealed.get(stage[0].id))]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._admit(hook, event, sealed.get(hook.id))) for hook in stage]
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

    async def _admit(self, hook: Hook, event: Event, sealed: Sealed | None) -> Execution | Skip:
        """Run a hook, unless it is held back, has answered this before, or is for the background."""
        keeper = self.doorkeeper
        if keeper is None or not keeper.concerns(hook):
            return await self._run_or_queue(hook, event, sealed)
        said = await keeper.ask(hook, event, sealed)
        if isinstance(said, Held):
            return self._held(hook, event, said)
        if said is not None:
            return self._recalled(hook, event, said)
        execution = await self._run_or_queue(hook, event, sealed)
        if not execution.verdict.job:
            await keeper.learn(hook, event, sealed, execution.verdict)
        return execution

    async def _run_or_queue(self, hook: Hook, event: Event, sealed: Sealed | None) -> Execution:
        if not hook.background or self.enqueue is None:
            return await self._execute(hook, event, sealed)
        try:
            job = await self.enqueue(hook, event)
        except StoreError as problem:
            return self._refused(hook, f"it cannot be put into the queue: {problem}")
        if self._bus.listening:
            self._bus.publish_soon(self._record(Step.QUEUED, hook, event, {"job": job}))
        return Execution(hook=hook, verdict=Verdict(hook=hook.id, job=job), reply=Reply(), duration=0.0)

    def _held(self, hook: Hook, event: Event, held: Held) -> Execution | Skip:
        """Leave a hook out, or let its failure policy decide where it should have run and could not."""
        if not held.failed:
            return Skip(hook, held.gate, held.reason)
        verdict, reply = self._failed(hook, FailureKind.UNAVAILABLE, held.reason)
        if not verdict.blocks:
            return Skip(hook, held.gate, held.reason)
        verdict = replace(verdict, hook=hook.id, observed=self._observes(hook))
        if self._bus.listening:
            detail = {**_detail(verdict, reply), "gate": held.gate}
            self._bus.publish_soon(self._record(Step.FAILED, hook, event, detail))
        return Execution(hook=hook, verdict=verdict, reply=reply, duration=0.0)

    def _recalled(self, hook: Hook, event: Event, verdict: Verdict) -> Execution:
        verdict = replace(verdict, hook=hook.id, cached=True, duration=0.0, observed=self._observes(hook))
        if self._bus.listening:
            self._bus.publish_soon(self._record(Step.COMPLETED, hook, event, _detail(verdict, Reply())))
        return Execution(hook=hook, verdict=verdict, reply=Reply(), duration=0.0)

    async def _execute(self, hook: Hook, event: Event, sealed: Sealed | None) -> Execution:
        listening = self._bus.listening
        if listening:
            self._bus.publish_soon(self._record(Step.STARTED, hook, event, {"dialect": hook.dialect}))
        started = perf_counter()
        try:
            verdict, reply = await self._ask(hook, event, sealed)
        except asyncio.CancelledError:
            if listening:
                detail = {"failure": "cancelled", "message": "the caller gave up", "duration": perf_counter() - started}
                self._bus.publish_soon(self._record(Step.FAILED, hook, event, detail))
            raise
        duration = perf_counter() - started
        verdict = replace(verdict, hook=hook.id, duration=duration, observed=self._observes(hook))
        if listening:
            step = Step.COMPLETED if verdict.failure is None else Step.FAILED
            self._bus.publish_soon(self._record(step, hook, event, _detail(verdict, reply)))
        return Execution(hook=hook, verdict=verdict, reply=reply, duration=duration)

    async def _ask(self, hook: Hook, event: Event, sealed: Sealed | None) -> tuple[Verdict, Reply]:
        try:
            refusal = self.refusal(hook)
            if refusal:
                return self._failed(hook, FailureKind.REFUSED, refusal)
            request = self._translator.encode(event, hook)
            request.sealed = sealed
            # nobody can take the time from a managed hook
            general = None if hook.layer is Layer.MANAGED else self._timeout
            timeout = self._translator.timeout(hook, general)
            reply = await self._kinds[hook.kind].call(hook, request, timeout=timeout)
            if self.tap is not None:
                self.tap(hook, request, reply)
            return await self._raised(hook, event, self._translator.read(reply, request, hook)), reply
        except Exception as problem:
            # A bug of ours must follow the failure policy like any other failure: a guard that was
            # asked to block does not turn into a yes because we fell over.
            logger.exception("hook %s could not be asked", hook.id)
            return self._failed(hook, FailureKind.INTERNAL, f"error inside Hookline: {problem!r}")

    async def _raised(self, hook: Hook, event: Event, verdict: Verdict) -> Verdict:
        """Raise the events a hook asked for; what their hooks say counts as said by this one."""
        wanted = [effect for effect in verdict.effects if effect.kind is EffectKind.RAISE]
        if not wanted or self.raise_event is None:
            return verdict
        kept = tuple(effect for effect in verdict.effects if effect.kind is not EffectKind.RAISE)
        verdict = replace(verdict, effects=kept)
        # what is only observed does nothing, and an event would do something
        for effect in [] if self._observes(hook) else wanted:
            data = effect.value if isinstance(effect.value, Mapping) else {}
            outcome = await self.raise_event(hook, event, effect.path[0], data)
            verdict = merge.folded(verdict, outcome)
        return verdict

    def _observes(self, hook: Hook) -> bool:
        # nobody can take the teeth out of a managed hook
        return hook.observe or (self._settings.observe and hook.layer is not Layer.MANAGED)

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

    def _refused(self, hook: Hook, message: str) -> Execution:
        verdict, reply = self._failed(hook, FailureKind.REFUSED, message)
        return Execution(hook=hook, verdict=replace(verdict, hook=hook.id), reply=reply, duration=0.0)

    def _event(self, event: Event | Mapping[str, object]) -> Event:
        if isinstance(event, Event):
            return event
        data = event.get("data")
        return self._translator.to_hook_input(str(event["event"]), data if isinstance(data, Mapping) else {})

    def _record(self, step: Step, hook: Hook, event: Event, detail: Mapping[str, object]) -> Record:
        return Record(event.id, step, time(), event.name, event.session.id, hook.id, detail)


def _blocked_by_conflict(execution: Execution | Skip, problems: list[str]) -> Execution | Skip:
    if isinstance(execution, Skip):
        return execution
    said = execution.verdict
    reasons = [said.reason] if said.reason else []
    verdict = replace(said, decision=max(said.decision, Decision.DENY), reason="; ".join([*reasons, *problems]))
    return replace(execution, verdict=verdict)


_SAID_IF_SET: Final = ("reason", "effects", "observed", "cached", "notes", "metadata")


def _detail(verdict: Verdict, reply: Reply) -> dict[str, object]:
    detail: dict[str, object] = {"decision": verdict.decision.name.lower(), "duration": verdict.duration}
    if verdict.failure is not None:
        detail["failure"] = verdict.failure.kind
        detail["message"] = verdict.failure.message
        # a hook that could not answer and one that said no both block, for different people to mend
        detail["blocked_by_failure"] = verdict.blocks
    detail |= {name: value for name in _SAID_IF_SET if (value := getattr(verdict, name))}
    if verdict.duration > SLOW:
        detail["slow"] = True
    if reply.stderr:
        detail["stderr"] = reply.stderr[-2000:].decode("utf-8", "replace")
    if reply.exit_code:
        detail["exit_code"] = reply.exit_code
    return detail
