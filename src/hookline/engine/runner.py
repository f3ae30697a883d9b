"""Run the hooks of a plan: call them, apply limits and the failure policy, and raise the events they ask for."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf, isfinite
from time import perf_counter, time
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from hookline.engine import chaining, merge
from hookline.engine.admission import AdmissionControl, Denied
from hookline.engine.background import Background
from hookline.engine.bus import MessageBus
from hookline.engine.call_splitting import COMPOUND_TOOLS, deny_unsplittable, merge_parts
from hookline.engine.components import STEPS, Components, default_components
from hookline.engine.event_factory import make_event
from hookline.engine.filters import EventSubjects, HookFilters
from hookline.engine.limits import TimeBudget
from hookline.engine.matchers import has_filters
from hookline.engine.ordering import check_list
from hookline.engine.planner import HookPlanner
from hookline.engine.trace_records import (
    event_records,
    hook_records,
    outcome_records,
    snapshot_verdict,
    started_records,
    verdict_detail,
    verdict_records,
)
from hookline.engine.translator import (
    HookTranslator,
    apply_failure_policy,
    describe_origin,
    failed_verdict,
    fails_closed,
    fence_verdict,
)
from hookline.engine.turns import CompensationLog
from hookline.errors import ConfigError, StoreError
from hookline.model.event import Event, snapshot
from hookline.model.exchange import Failure, FailureKind, Reply, Request, Sealed
from hookline.model.hook import Hook, Layer, OnError, Unknown
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.record import Step
from hookline.model.requirements import NOTES
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, EffectKind, Outcome, OutcomeCode, Verdict
from hookline.trust.policy import TrustedHooks

logger = logging.getLogger(__name__)

# called with each request and reply, for `--verbose`
Tap = Callable[[Hook, Request, Reply], None]

_RATE_GATES: Final = frozenset({Gate.RATE, Gate.COOLDOWN})
# the gates that depend on what an earlier step may have changed
_CONTENT_GATES: Final = frozenset(
    {Gate.FILES, Gate.WRITES, Gate.DELETES, Gate.READS, Gate.RUNS, Gate.URLS, Gate.CONDITION}
)


class Execution(Struct, frozen=True, kw_only=True, gc=False):
    """One hook's run: its verdict, and the raw reply behind it."""

    hook: Hook
    verdict: Verdict
    reply: Reply
    duration: float


class Run(Struct, frozen=True, kw_only=True, gc=False):
    """All executions for one event, the event as the last hook left it, and the hooks that did not run."""

    executions: tuple[Execution, ...]
    event: Event
    skipped: tuple[Skip, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts in plan order."""
        return tuple([execution.verdict for execution in self.executions])


class _HookProfile(Struct, frozen=True, kw_only=True):
    """What is the same for every call of a hook."""

    hook: Hook
    refusal: str
    timeout: float
    is_dry_run: bool
    # what the fence around its texts calls it; "" where they are passed on as they are
    origin: str
    has_filters: bool
    names_values: bool
    names_file: bool
    is_limited: bool
    # whether `HookRunner._admit` has to look at the hook, whatever the event is
    is_gated: bool


class HookRunner:
    """Call hooks, one after another or in parallel, and turn every reply into a verdict.

    By itself it runs the hooks it is given. With a `planner` it also runs lists of steps and the hooks of raised events,
    with `admission` and `background` it applies limits and queues background hooks, and with `compensations` it records
    what can be taken back.
    """

    def __init__(  # noqa: PLR0913 - each is a collaborator that an engine shares
        self,
        timeout: float | None = None,
        trusted_hooks: TrustedHooks | None = None,
        config: Settings | None = None,
        *,
        components: Components | None = None,
        bus: MessageBus | None = None,
        planner: HookPlanner | None = None,
        subjects: EventSubjects | None = None,
        admission: AdmissionControl | None = None,
        background: Background | None = None,
        compensations: CompensationLog | None = None,
        cwd: str = "",
    ) -> None:
        components = components or default_components()
        self._components = components
        self._settings = config or Settings()
        self._timeout = timeout if timeout is not None else self._settings.timeout
        self._trust = trusted_hooks or TrustedHooks()
        self._kinds = components.kinds
        self._translator = HookTranslator(components.dialects)
        self._bus = bus or MessageBus()
        self._planner = planner
        self._subjects = subjects or EventSubjects(
            HookFilters(components.file_patterns, components.follow_links, components.list_files)
        )
        self._admission = admission
        self._background = background
        self._compensations = compensations
        self._cwd = cwd
        # valid for the very hook it was made of; parsing a command line for each call would cost 5 % of starting its process
        self._profiles: dict[str, _HookProfile] = {}
        self.tap: Tap | None = None

    def for_trial(self) -> "HookRunner":
        """Return a runner for a single try: it uses up no limit and queues no job, not even for steps."""
        trial = HookRunner(
            self._timeout,
            self._trust,
            self._settings,
            components=self._components,
            bus=self._bus,
            planner=self._planner,
            subjects=self._subjects,
            cwd=self._cwd,
        )
        trial.tap = self.tap
        return trial

    def set_timeout(self, seconds: float) -> None:
        """Set the timeout of hooks without one of their own."""
        self._timeout = seconds
        self._profiles.clear()

    async def execute_hook(self, hook: Hook, event: Event | Mapping[str, object]) -> Verdict:
        """Run one hook and return its verdict."""
        return (await self.execute_hook_with_metadata(hook, event)).verdict

    async def execute_hook_with_metadata(self, hook: Hook, event: Event | Mapping[str, object]) -> Execution:
        """Run one hook if it is trusted; an untrusted one is refused, which counts as its failure."""
        event = self._read_event(event)
        if hook.facts or hook.steps:
            event = await self.gather_facts(self._list_facts((hook,)), event)
        vetted = await self._trust.vet(Plan(((hook,),)), event)
        for skip in vetted.skipped:
            return self._fail_unstarted(hook, event, FailureKind.REFUSED, f"not run: {skip.reason}")
        return await self._call_hook(hook, event, vetted.sealed.get(hook.id))

    async def execute_vetted(self, hook: Hook, event: Event, sealed: Sealed | None) -> Execution:
        """Run one hook whose trust and limits the caller has checked."""
        if hook.facts:
            event = await self.gather_facts(hook.facts, event)
        return await self._call_hook(hook, event, sealed)

    async def execute_hooks(self, hooks: Sequence[Hook], event: Event | Mapping[str, object]) -> list[Verdict]:
        """Run hooks in this order; untrusted ones are skipped."""
        return list((await self._execute_in_order(hooks, self._read_event(event))).verdicts)

    async def execute_hooks_with_summary(self, hooks: Sequence[Hook], event: Event | Mapping[str, object]) -> Outcome:
        """Run hooks in this order and merge their verdicts."""
        event = self._read_event(event)
        started = perf_counter()
        run = await self._execute_in_order(hooks, event)
        outcome = merge.merge(event, run.event, run.verdicts)
        return replace(outcome, skipped=run.skipped, duration=perf_counter() - started)

    async def _execute_in_order(self, hooks: Sequence[Hook], event: Event) -> Run:
        vetted = await self._trust.vet(Plan(tuple((hook,) for hook in hooks)), event)
        return await self.run(vetted, event, self.budget())

    async def with_facts(self, event: Event, plan: Plan, make_plan: Callable[[Event], Plan]) -> tuple[Event, Plan]:
        """Return the event with the facts that the hooks of its plan ask for, and the plan that they lead to."""
        wanted = self._list_facts(plan.hooks)
        if wanted <= (event.facts or {}).keys():
            return event, plan
        event = await self.gather_facts(wanted, event)
        return event, make_plan(event)

    def _list_facts(self, hooks: Iterable[Hook]) -> set[str]:
        """Return the facts that hooks ask for, those of their steps included."""
        found: set[str] = set()
        waiting, seen = list(hooks), set[str]()
        while waiting:
            hook = waiting.pop()
            if hook.id not in seen:
                seen.add(hook.id)
                found.update(hook.facts)
                waiting += self._planner.names().steps_of(hook) if hook.steps and self._planner is not None else ()
        return found

    async def gather_facts(self, wanted: Iterable[str], event: Event) -> Event:
        """Return an event with these facts; those that it has already are kept."""
        gather, known = self._components.gather_facts, event.facts or {}
        missing = {*wanted} - known.keys()
        if gather is None or not missing:
            return event
        found = await gather(missing, event)
        notes = [note for facts in (known, found) for note in cast("list[str]", facts.get(NOTES, []))]
        return replace(event, facts={**known, **found, NOTES: notes})

    def _read_event(self, event: Event | Mapping[str, object]) -> Event:
        if isinstance(event, Event):
            return event
        data = event.get("data")
        return self._translator.to_hook_input(str(event["event"]), data if isinstance(data, Mapping) else {})

    def budget(self, patience: float | None = None) -> TimeBudget | None:
        """Return the time budget of one event, starting now, or None without a limit.

        `patience` is how long the agent waits for an answer.
        """
        setting = self._settings.budget
        if patience is not None and (setting is None or patience < setting):
            return TimeBudget(patience, "the patience of the agent")
        return TimeBudget(setting) if setting is not None else None

    async def run(self, plan: Plan, event: Event, budget: TimeBudget | None = None, *, replan: bool = False) -> Run:
        """Run a vetted plan, stage by stage, within the budget.

        With `replan`, the planner is asked again where a hook changed the event: a rewrite must not slip past a guard of
        the new path. `skipped` of the result has every hook that did not run and does not block.
        """
        original, ended_by = event, ""
        executions: list[Execution] = []
        skipped: list[Skip] = []
        plans = [plan]
        while True:
            for skip in plan.skipped:
                result = self._fail_or_skip(skip, event)
                if isinstance(result, Skip):
                    skipped.append(result)
                else:
                    executions.append(result)
            for stage in plan.stages:
                if ended_by:
                    skipped += [Skip(hook, Gate.ENDED, f'hook "{ended_by}" ended the run') for hook in stage]
                    continue
                if len(stage) == 1:
                    # not through _admit_and_call: a task or a coroutine more for each hook
                    hook, sealed = stage[0], plan.sealed.get(stage[0].id)
                    is_gated = self._profile(hook).is_gated or budget is not None or event.chain
                    answer = await self._admit(hook, event, sealed, budget) if is_gated else None
                    results = [answer or await self._call_hook(hook, event, sealed, budget, is_admitted=True)]
                else:
                    results = await self._run_parallel(stage, event, plan.sealed, budget)
                for result in results:
                    if isinstance(result, Skip):
                        skipped.append(result)
                        continue
                    executions.append(result)
                    verdict = result.verdict
                    if verdict.effects:
                        event = merge.apply_changes(event, (verdict,))
                    if verdict.ends and not verdict.observed:
                        ended_by = ended_by or result.hook.id
            # by identity: values of hooks may define their own equality, and `apply_changes` keeps an unchanged event
            if not replan or event is original or ended_by or self._planner is None:
                break
            planned = {hook.id for one in plans for hook in one.hooks}
            planned |= {skip.hook.id for skip in plans[0].skipped if skip.gate is not Gate.CONDITION}
            fresh = self._planner.plan(event)
            if self._planner.registry.has_facts:
                event, fresh = await self.with_facts(event, fresh, self._planner.plan)
            due = [hook for hook in fresh.hooks if hook.id not in planned]
            if not due:
                break
            ids = {hook.id for hook in due}
            skipped = [skip for skip in skipped if skip.hook.id not in ids]
            plan = await self._trust.vet(Plan(tuple((hook,) for hook in due)), event)
            # a hook that trust took out of the plan was planned as well
            plans.append(Plan(tuple((hook,) for hook in due)))
        return Run(executions=tuple(executions), event=event, skipped=tuple(skipped))

    async def _run_parallel(
        self, stage: tuple[Hook, ...], event: Event, sealed: Mapping[str, Sealed], budget: TimeBudget | None
    ) -> list[Execution | Skip]:
        # created here, so that the tasks below count raised events together
        chaining.raise_counter(event)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._admit_and_call(hook, event, sealed.get(hook.id), budget)) for hook in stage
            ]
        results = [task.result() for task in tasks]
        done = [result for result in results if isinstance(result, Execution)]
        problems = merge.find_conflicts(event, [execution.verdict for execution in done])
        if not problems:
            return results
        asks = self._settings.on_conflict == "confirm"
        if asks:
            # the user decides about the event without any of the changes
            done = [replace(one, verdict=merge.without_rewrites(one.verdict)) for one in done]
        # carried by the last verdict that is not only observed
        last = max(place for place, execution in enumerate(done) if not execution.verdict.observed)
        verdict = done[last].verdict
        verdict = replace(
            verdict,
            decision=max(verdict.decision, Decision.ASK if asks else Decision.DENY),
            reason="; ".join([*filter(None, [verdict.reason]), *problems]),
            code=OutcomeCode.CONFLICT,
        )
        done[last] = replace(done[last], verdict=verdict)
        return [*done, *(result for result in results if isinstance(result, Skip))]

    async def _admit_and_call(
        self, hook: Hook, event: Event, sealed: Sealed | None, budget: TimeBudget | None
    ) -> Execution | Skip:
        return await self._admit(hook, event, sealed, budget) or await self._call_hook(
            hook, event, sealed, budget, is_admitted=True
        )

    async def _admit(
        self, hook: Hook, event: Event, sealed: Sealed | None, budget: TimeBudget | None
    ) -> Execution | Skip | None:
        """Return why a hook does not run now, its cached verdict, or its place in the queue; None lets it run."""
        if hook.id in event.chain:
            return Skip(hook, Gate.CHAIN, f"it led to this event itself: {chaining.format_chain(event, hook)}")
        if budget is not None and budget.remaining <= 0 and budget.applies_to(hook):
            return self._fail_unstarted(hook, event, FailureKind.TIMEOUT, f"not started: {budget}")
        if self._admission is not None and (hook.branches or hook.between):
            for scope in self._admission.scope_status(hook, event):
                if not scope.passed:
                    return Skip(hook, scope.gate, scope.reason)
        profile = self._profile(hook)
        if profile.refusal:
            # fails when it is called, without using up a limit
            return None
        if profile.names_values and (lacking := self._subjects.missing_value(hook, event)):
            return self._deny(hook, event, Denied(Gate.NEEDS, lacking, failed=True))
        if self._admission is not None and profile.is_limited:
            answer = await self._admission.admit(hook, event, sealed)
            if isinstance(answer, Denied):
                return self._deny(hook, event, answer)
            if answer is not None:
                verdict = replace(answer, hook=hook.id, cached=True, duration=0.0, observed=profile.is_dry_run)
                return self._finish(profile, event, verdict, Reply())
        if hook.background and self._background is not None:
            return await self._enqueue(hook, event, self._background)
        return None

    async def _enqueue(self, hook: Hook, event: Event, background: Background) -> Execution:
        try:
            job = await background.enqueue(hook, event, self.execute_hook)
        except StoreError as problem:
            return self._fail_unstarted(hook, event, FailureKind.REFUSED, f"it cannot be put into the queue: {problem}")
        except Exception as problem:
            logger.exception("hook %s could not be put into the queue", hook.id)
            return self._fail_unstarted(
                hook, event, FailureKind.INTERNAL, f"it cannot be put into the queue: {problem!r}"
            )
        self._trace(Step.QUEUED, hook, event, {"job": job})
        return Execution(hook=hook, verdict=Verdict(hook=hook.id, job=job), reply=Reply(), duration=0.0)

    def _deny(self, hook: Hook, event: Event, denied: Denied) -> Execution | Skip:
        # a rate limit must not disable a guard: after ten harmless calls, the eleventh would pass unchecked
        is_guard = denied.gate in _RATE_GATES and not hook.background and self.fails_closed(hook)
        return self._fail_or_skip(Skip(hook, denied.gate, denied.reason, denied.failed or is_guard), event)

    def _fail_or_skip(self, skip: Skip, event: Event) -> Execution | Skip:
        """Return a failure for a hook that should have run, could not, and fails closed; else the skip."""
        if not skip.failed or not self.fails_closed(skip.hook):
            return skip
        kind = FailureKind.REFUSED if skip.gate is Gate.TRUST else FailureKind.UNAVAILABLE
        message = f"{skip.reason}; {skip.mend}" if skip.mend else skip.reason
        return self._fail_unstarted(skip.hook, event, kind, message, gate=skip.gate)

    def _fail_unstarted(self, hook: Hook, event: Event, kind: FailureKind, message: str, **detail: object) -> Execution:
        verdict, reply = self._make_failed(hook, kind, message)
        verdict = replace(verdict, hook=hook.id, observed=self.is_dry_run(hook))
        self._trace(Step.FAILED, hook, event, verdict_detail(verdict, reply) | detail)
        return Execution(hook=hook, verdict=verdict, reply=reply, duration=0.0)

    async def _call_hook(
        self,
        hook: Hook,
        event: Event,
        sealed: Sealed | None,
        budget: TimeBudget | None = None,
        *,
        is_admitted: bool = False,
    ) -> Execution:
        """Call a hook for each part of the event until one is denied, and apply the failure policy.

        With `is_admitted`, the verdict is reported to admission control.
        """
        profile = self._profile(hook)
        unknown = self._subjects.unknown_reason(hook, event) if profile.has_filters else ""
        if self._bus.listening:
            self._bus.enqueue_lazily(started_records, event, hook, time(), unknown)
        started = perf_counter()
        reply = Reply()
        verdicts: list[Verdict] = []
        parts: tuple[Event, ...] = ()
        try:
            if unknown and hook.on_unknown is Unknown.CONFIRM:
                reason = f'hook "{hook.name or hook.id}" asks you to confirm this: {unknown}'
                verdicts.append(Verdict(decision=Decision.ASK, reason=reason))
            elif profile.refusal:
                verdict, reply = self._make_failed(hook, FailureKind.REFUSED, profile.refusal)
                verdicts.append(verdict)
            elif event.tool in COMPOUND_TOOLS or profile.names_file:
                parts = self._split_event(hook, event)
                verdicts = [] if parts else [deny_unsplittable(event, hook)]
            else:
                parts = (event,)
            for part in parts:
                request = self._translator.encode(part, hook)
                request.sealed = sealed
                request.find_facts = partial(self._subjects.call_facts, hook, part)
                timeout = profile.timeout if budget is None else budget.limit(profile.timeout, hook)
                if hook.steps:
                    reply = await self._run_steps(hook, part, timeout)
                else:
                    reply = await self._kinds[hook.kind].call(hook, request, timeout=timeout)
                if self.tap is not None:
                    self.tap(hook, request, reply)
                if budget is not None and timeout < profile.timeout:
                    reply = _explain_timeout(reply, budget)
                verdict = self._translator.read(reply, request, hook)
                if verdict.effects:
                    verdict = await self._raise_events(hook, part, verdict, budget)
                verdicts.append(verdict)
                if verdict.blocks:
                    break
        except asyncio.CancelledError:
            detail = {"failure": "cancelled", "message": "the caller gave up", "duration": perf_counter() - started}
            self._trace(Step.FAILED, hook, event, detail)
            raise
        except Exception as problem:
            # a guard that fails because of an error of ours has not allowed anything
            logger.exception("hook %s could not be asked", hook.id)
            verdict, reply = self._make_failed(hook, FailureKind.INTERNAL, f"error inside Hookline: {problem!r}")
            verdicts, parts = [verdict], ()
        # the only part may be the call itself under another name
        is_whole = not parts or (len(parts) == 1 and parts[0].tool == event.tool)
        verdict = verdicts[0] if is_whole else merge_parts(verdicts)
        duration = perf_counter() - started
        if budget is not None:
            budget.spend(hook, duration)
        verdict = replace(verdict, hook=hook.id, duration=duration, observed=profile.is_dry_run)
        if profile.is_limited or hook.has_undo:
            await self._record_run(profile, event, sealed, verdict, is_admitted=is_admitted)
        return self._finish(profile, event, verdict, reply)

    async def _record_run(
        self, profile: _HookProfile, event: Event, sealed: Sealed | None, verdict: Verdict, *, is_admitted: bool
    ) -> None:
        """Count a run towards the limits of its hook, and record that it can be taken back."""
        hook = profile.hook
        if is_admitted and profile.is_limited and not profile.refusal and self._admission is not None:
            await self._admission.record(hook, event, sealed, verdict)
        has_acted = verdict.failure is None and not (verdict.blocks or profile.is_dry_run)
        if hook.has_undo and has_acted and self._compensations is not None:
            await self._compensations.add(hook, event)

    def _finish(self, profile: _HookProfile, event: Event, verdict: Verdict, reply: Reply) -> Execution:
        """Trace what a hook said in its own words, and fence what the model will read of it."""
        if verdict.failure is not None and profile.hook.kind == "function":
            # the program that registered the function sees its error nowhere else
            logger.warning('hook "%s" failed at %s: %s', profile.hook.id, event.name, verdict.failure.message)
        if self._bus.listening:
            said = snapshot_verdict(verdict)
            self._bus.enqueue_lazily(verdict_records, event, profile.hook, time(), said, reply)
        if profile.origin:
            verdict = fence_verdict(verdict, event, profile.origin)
        return Execution(hook=profile.hook, verdict=verdict, reply=reply, duration=verdict.duration)

    def _split_event(self, hook: Hook, event: Event) -> tuple[Event, ...]:
        """Return the events a hook gets in place of one; empty where a guard cannot be given the call."""
        parts = self._translator.split_event(event, hook)
        return self._subjects.split_by_file(hook, event) if parts and parts[0] is event else parts

    def _timeout_of(self, hook: Hook) -> float:
        # the steps of a list have their own timeouts
        if hook.steps and hook.timeout is None:
            return inf
        # settings cannot shorten the time of a managed hook
        return self._translator.timeout(hook, None if hook.layer is Layer.MANAGED else self._timeout)

    async def _run_steps(self, hook: Hook, event: Event, timeout: float) -> Reply:
        """Run the steps of a list in order, each with its own gates; each sees the changes of those before it.

        A step that was skipped because of the event's content is tried again once another step has changed the event.
        """
        planner = self._planner
        if planner is None:
            raise RuntimeError("a runner without a planner has no steps")
        names = planner.names()
        if problem := check_list(hook, names):
            return Reply(failure=Failure(FailureKind.REFUSED, f'hook "{hook.id}" {problem}'))
        budget = TimeBudget(timeout, f'the time of "{hook.id}"') if isfinite(timeout) else None
        # missing steps do not keep the others from running: a typo must not disable the guards beside it
        steps = names.steps_of(hook)
        verdicts: list[Verdict] = []
        skips: dict[int, Sequence[Skip]] = {}
        waiting: Iterable[int] = range(len(steps))
        before: Event | None = None
        has_ended = False
        while event is not before and not has_ended:
            before = event
            for place in waiting:
                run = await self._run_step(hook, steps[place], event, planner, budget)
                event, skips[place] = run.event, run.skipped
                verdicts += run.verdicts
                has_ended = any(verdict.ends and not verdict.observed for verdict in run.verdicts)
                if has_ended:
                    break
            waiting = [place for place, some in skips.items() if any(skip.gate in _CONTENT_GATES for skip in some)]
        skipped = [skip for _, some in sorted(skips.items()) for skip in some]
        for skip in skipped:
            self._trace(Step.SKIPPED, skip.hook, event, {"gate": skip.gate, "reason": skip.reason})
        notes = [f'step "{skip.hook.id}" was left out: {skip.reason}' for skip in skipped]
        untrusted = [f'step "{skip.hook.id}": {skip.reason}' for skip in skipped if skip.gate is Gate.TRUST]
        failure = None
        if missing := names.describe_missing_steps(hook):
            failure = Failure(FailureKind.NOT_FOUND, missing)
        elif untrusted:
            failure = Failure(FailureKind.REFUSED, "; ".join(untrusted))
        verdict = merge.combine_steps(verdicts, observed=self.is_dry_run(hook))
        return Reply(value=replace(verdict, failure=failure, notes=(*notes, *verdict.notes)))

    async def _run_step(
        self, hook: Hook, step: Hook, event: Event, planner: HookPlanner, budget: TimeBudget | None
    ) -> Run:
        # a step inherits from its list: it fails closed unless it says otherwise, and is observed with it
        bound = replace(step, on_error=OnError.BLOCK) if step.on_error is None and self.fails_closed(hook) else step
        bound = replace(bound, observe=True) if self.is_dry_run(hook) else bound
        plan = planner.plan_single(bound, event)
        if plan.stages:
            # the approval is for the step as it is configured
            vetted = await self._trust.vet(Plan(((step,),)), event)
            plan = replace(
                vetted,
                stages=tuple((bound,) for _ in vetted.stages),
                skipped=tuple(replace(skip, hook=bound) for skip in vetted.skipped),
            )
        run = await self.run(plan, event, budget)
        if bound.observe and not step.observe:
            # in a dry run of the list, later steps still see what this one would have changed
            verdicts = [replace(verdict, observed=False) for verdict in run.verdicts]
            run = replace(run, event=merge.apply_changes(event, verdicts))
        return run

    async def _raise_events(self, hook: Hook, event: Event, verdict: Verdict, budget: TimeBudget | None) -> Verdict:
        """Raise the events a hook asks for, and add their outcomes to its verdict."""
        raises = [effect for effect in verdict.effects if effect.kind is EffectKind.RAISE]
        if not raises:
            return verdict
        others = tuple(effect for effect in verdict.effects if effect.kind is not EffectKind.RAISE)
        verdict = replace(verdict, effects=others, raised=tuple(effect.path[0] for effect in raises))
        for effect in raises:
            name = effect.path[0]
            if problem := chaining.check_raisable(name):
                verdict = self._with_failure(hook, verdict, FailureKind.INVALID_REPLY, problem)
                continue
            if self._planner is None or self.is_dry_run(hook):
                # a dry run has no effects, and a raised event would have some
                verdict = replace(verdict, notes=(*verdict.notes, f'it wanted to raise the event "{name}"'))
                continue
            if limit := chaining.count_raise(event, hook, name):
                self._trace(Step.WARNING, hook, event, {"message": limit})
                verdict = replace(verdict, notes=(*verdict.notes, limit))
                if self.fails_closed(hook):
                    # a guard that depends on the raised event has not allowed anything
                    verdict = self._with_failure(hook, verdict, FailureKind.REFUSED, limit)
                continue
            data = effect.value if isinstance(effect.value, Mapping) else {}
            try:
                outcome = await self._raise_event(hook, event, name, data, self._planner, budget)
            except ConfigError as error:
                problem = f'the event "{name}" could not be raised: {error}'
                verdict = self._with_failure(hook, verdict, FailureKind.INVALID_REPLY, problem)
                continue
            except Exception as error:
                # the hook's own denial must not be lost to an error of ours
                logger.exception("the event %s of hook %s could not be raised", name, hook.id)
                problem = f'error inside Hookline, raising the event "{name}": {error!r}'
                verdict = self._with_failure(hook, verdict, FailureKind.INTERNAL, problem)
                continue
            loops = [
                f'hook "{skip.hook.id}" was not run again for "{name}": {skip.reason}'
                for skip in outcome.skipped
                if skip.gate is Gate.CHAIN
            ]
            verdict = replace(merge.add_raised_outcome(verdict, outcome), notes=(*verdict.notes, *loops))
        return verdict

    async def _raise_event(
        self,
        hook: Hook,
        event: Event,
        name: str,
        data: Mapping[str, object],
        planner: HookPlanner,
        budget: TimeBudget | None,
    ) -> Outcome:
        """Run the hooks of a raised event within the same budget; questions and prompts stay in the outcome."""
        raised = make_event(name, data, session=event.session, cwd=event.cwd or self._cwd, project=event.project)
        raised = replace(raised, chain=(*event.chain, hook.id), parent=event.id)
        plan = planner.plan(raised)
        if planner.registry.has_facts:
            raised, plan = await self.with_facts(raised, plan, planner.plan)
        if not plan.stages:
            return Outcome()
        started = perf_counter()
        plan = await self._trust.vet(plan, raised)
        self.trace_event(raised)
        run = await self.run(plan, raised, budget, replan=True)
        outcome = self.merge_run(raised, run)
        outcome = replace(outcome, skipped=run.skipped, trace=raised.id, duration=perf_counter() - started)
        self.trace_outcome(raised, outcome)
        return outcome

    def merge_run(self, event: Event, run: Run) -> Outcome:
        """Merge the verdicts of a run; with `composition = "unanimous"`, any disagreement denies or asks."""
        verdicts = run.verdicts
        problem = merge.find_disagreement(event, verdicts) if self._settings.composition == "unanimous" else ""
        if not problem:
            return merge.merge(event, run.event, verdicts)
        plain = merge.merge(event, event, [merge.without_rewrites(verdict) for verdict in verdicts])
        # the user cannot override a managed denial, a stop, or a failure
        is_final = any(
            one.verdict.blocks
            and (one.hook.layer is Layer.MANAGED or one.verdict.failure or one.verdict.decision is Decision.STOP)
            for one in run.executions
        )
        asks = self._settings.on_conflict == "confirm" and not is_final
        decision = Decision.ASK if asks else max(Decision.DENY, plain.decision)
        return replace(
            plain,
            decision=decision if event.spec.can_block else Decision.PASS,
            reasons=(problem, *plain.reasons),
            code=OutcomeCode.DISAGREEMENT,
        )

    def _profile(self, hook: Hook) -> _HookProfile:
        profile = self._profiles.get(hook.id)
        if profile is not None and profile.hook is hook:
            return profile
        if self._planner is None and hook.kind == STEPS and not hook.invalid:
            refusal = f'there is no kind "{STEPS}"; known are {", ".join(sorted(self._kinds))}'
        else:
            refusal = self._components.refusal(hook)
        names_values = self._subjects.names_values(hook)
        is_limited = self._admission is not None and self._admission.applies_to(hook)
        self._profiles[hook.id] = profile = _HookProfile(
            hook=hook,
            refusal=refusal,
            timeout=self._timeout_of(hook) if self._translator.knows(hook) else inf,
            is_dry_run=self.is_dry_run(hook),
            origin=describe_origin(hook) if self._settings.fence else "",
            has_filters=has_filters(hook),
            names_values=names_values,
            names_file=self._subjects.names_file(hook),
            is_limited=is_limited,
            is_gated=is_limited or names_values or hook.background or bool(hook.branches or hook.between),
        )
        return profile

    def refusal(self, hook: Hook) -> str:
        """Return why a hook cannot run as it is configured, or ""."""
        return self._profile(hook).refusal

    def fails_closed(self, hook: Hook) -> bool:
        """Return whether a failure of the hook blocks."""
        return fails_closed(hook, self._translator.default_on_error(hook))

    def is_dry_run(self, hook: Hook) -> bool:
        """Return whether a hook's verdict is only recorded; a setting cannot disable a managed hook."""
        return hook.observe or (self._settings.observe and hook.layer is not Layer.MANAGED)

    def _make_failed(self, hook: Hook, kind: FailureKind, message: str) -> tuple[Verdict, Reply]:
        failure = Failure(kind, message)
        default = self._translator.default_on_error(hook)
        return apply_failure_policy(failed_verdict(failure), hook=hook, default=default), Reply(failure=failure)

    def _with_failure(self, hook: Hook, verdict: Verdict, kind: FailureKind, message: str) -> Verdict:
        """Add a failure to a verdict, unless it has one, and apply the failure policy."""
        failure = verdict.failure or Failure(kind, message)
        default = self._translator.default_on_error(hook)
        return apply_failure_policy(replace(verdict, failure=failure), hook=hook, default=default)

    def trace_event(self, event: Event) -> None:
        """Write the first record of a trace."""
        if self._bus.listening:
            args = snapshot(event.args) if event.args else event.args
            self._bus.enqueue_lazily(event_records, event, snapshot(event.data), args, time())

    def trace_outcome(self, event: Event, outcome: Outcome) -> None:
        """Write the last records of a trace."""
        if self._bus.listening:
            self._bus.enqueue_lazily(outcome_records, event, outcome, time())

    def _trace(self, step: Step, hook: Hook, event: Event, detail: Mapping[str, object]) -> None:
        if self._bus.listening:
            self._bus.enqueue_lazily(hook_records, event, step, hook, time(), detail)


def _explain_timeout(reply: Reply, budget: TimeBudget) -> Reply:
    """Add to a timeout that the hook had less than its own time."""
    failure = reply.failure
    if failure is None or failure.kind is not FailureKind.TIMEOUT:
        return reply
    return replace(reply, failure=Failure(failure.kind, f"{failure.message}; this was {budget.remainder}"))
