"""Run the hooks of a plan. The one module of the core that waits."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter, time

from msgspec import Struct
from msgspec.structs import replace

from hookline.core import merge
from hookline.core.bus import MessageBus
from hookline.core.debugger import SLOW
from hookline.core.failure import failed, settle
from hookline.core.parts import Parts, default_parts
from hookline.core.translator import HookTranslator
from hookline.core.trust import TrustedHooks
from hookline.model.event import Event
from hookline.model.exchange import Failure, FailureKind, Reply, Request, Sealed
from hookline.model.hook import Hook, Layer
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.record import Record, Step
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Outcome, Verdict

logger = logging.getLogger(__name__)


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
        stages = plan.stages
        for place, stage in enumerate(stages):
            done = await self._stage(stage, event, plan.sealed)
            executions += done
            event = merge.carry(event, [execution.verdict for execution in done])
            if any(execution.verdict.ends and not execution.verdict.observed for execution in done):
                last = next(item.hook for item in done if item.verdict.ends and not item.verdict.observed)
                left = tuple(
                    Skip(hook, Gate.ENDED, f'hook "{last.id}" ended the run')
                    for later in stages[place + 1 :]
                    for hook in later
                )
                return Run(executions=tuple(executions), event=event, skipped=left)
        return Run(executions=tuple(executions), event=event)

    async def _run_these(self, hooks: Sequence[Hook], event: Event) -> Run:
        vetted = await self._trust.vet(Plan(tuple((hook,) for hook in hooks)), event)
        run = await self.run(vetted, event)
        return replace(run, skipped=(*vetted.skipped, *run.skipped))

    async def _stage(self, stage: tuple[Hook, ...], event: Event, sealed: Mapping[str, Sealed]) -> list[Execution]:
        if len(stage) == 1:
            return [await self._execute(stage[0], event, sealed.get(stage[0].id))]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._execute(hook, event, sealed.get(hook.id))) for hook in stage]
        done = [task.result() for task in tasks]
        problems = merge.conflicts(event, [execution.verdict for execution in done])
        if problems:
            # what is only observed changes nothing, so the last of those that count has to carry it
            last = max(place for place, execution in enumerate(done) if not execution.verdict.observed)
            done[last] = _blocked_by_conflict(done[last], problems)
        return done

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
            return self._translator.read(reply, request, hook), reply
        except Exception as problem:
            # A bug of ours must follow the failure policy like any other failure: a guard that was
            # asked to block does not turn into a yes because we fell over.
            logger.exception("hook %s could not be asked", hook.id)
            return self._failed(hook, FailureKind.INTERNAL, f"error inside Hookline: {problem!r}")

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


def _blocked_by_conflict(execution: Execution, problems: list[str]) -> Execution:
    said = execution.verdict
    reasons = [said.reason] if said.reason else []
    verdict = replace(said, decision=max(said.decision, Decision.DENY), reason="; ".join([*reasons, *problems]))
    return replace(execution, verdict=verdict)


def _detail(verdict: Verdict, reply: Reply) -> dict[str, object]:
    detail: dict[str, object] = {"decision": verdict.decision.name.lower(), "duration": verdict.duration}
    if verdict.reason:
        detail["reason"] = verdict.reason
    if verdict.effects:
        detail["effects"] = verdict.effects
    if verdict.failure is not None:
        detail["failure"] = verdict.failure.kind
        detail["message"] = verdict.failure.message
        # a hook that could not answer and one that said no both block, for different people to mend
        detail["blocked_by_failure"] = verdict.blocks
    if verdict.observed:
        detail["observed"] = True
    if verdict.notes:
        detail["notes"] = verdict.notes
    if verdict.metadata:
        detail["metadata"] = verdict.metadata
    if verdict.duration > SLOW:
        detail["slow"] = True
    if reply.stderr:
        detail["stderr"] = reply.stderr[-2000:].decode("utf-8", "replace")
    if reply.exit_code:
        detail["exit_code"] = reply.exit_code
    return detail
