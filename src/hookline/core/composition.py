"""Hooks that are lists of other hooks: the steps run one after another, and say one thing together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from hookline.core import merge
from hookline.core.budget import Budget
from hookline.core.order import Names
from hookline.core.planner import HookPlanner
from hookline.core.runner import HookRunner, Run
from hookline.core.trust import TrustedHooks
from hookline.model.event import Event
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook, OnError
from hookline.model.plan import Gate, Plan, Skip
from hookline.model.record import Step
from hookline.model.verdict import Decision, Verdict

# how many lists may stand inside each other, and how many hooks all of them may come to
DEPTH: Final = 8
MOST: Final = 256


class Objection(NamedTuple):
    """What is wrong with what a hook says of others."""

    hook: Hook
    message: str


def objections(hooks: Iterable[Hook], names: Names) -> Iterator[Objection]:
    """Find lists that name nobody, that contain themselves, or that are too deep or too long."""
    for hook in hooks:
        missing = _missing(hook, names)
        if missing:
            yield Objection(hook, f"cannot run all of its steps: {missing}")
        wrong = tangle(hook, names)
        if wrong:
            yield Objection(hook, wrong)


def _missing(hook: Hook, names: Names) -> str:
    unknown = (step for step in dict.fromkeys(hook.steps) if names.find(step, by=hook) is None)
    return "; ".join(names.missing(step, by=hook) for step in unknown)


def tangle(hook: Hook, names: Names) -> str:
    """Say why a list would never come to an end, or not soon; empty when it does."""
    sizes: dict[str, int] = {}

    def size(inner: Hook, path: tuple[str, ...]) -> int:
        if inner.id in path:
            way = (*path[path.index(inner.id) :], inner.id)
            raise _TangledError("contains itself: " + " → ".join(f'"{name}"' for name in way))
        if len(path) > DEPTH:
            raise _TangledError(f"has more than {DEPTH} lists inside each other: " + " → ".join(path))
        if inner.id not in sizes:
            members = filter(None, map(partial(names.find, by=inner), inner.steps))
            sizes[inner.id] = sum(size(member, (*path, inner.id)) for member in members) if inner.steps else 1
        return sizes[inner.id]

    try:
        steps = size(hook, ())
    except _TangledError as problem:
        return str(problem)
    return f"comes to {steps} steps, and {MOST} are the most" if steps > MOST else ""


class _TangledError(Exception):
    """Ends the walk through a list at the first thing that is wrong."""


class Host(Protocol):
    """What hooks are run with, the steps of another one among them."""

    planner: HookPlanner
    trust: TrustedHooks
    runner: HookRunner


class Steps:
    """Run the hooks that a hook lists."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def refusal(self, hook: Hook) -> str:
        """Say why there is nothing to run."""
        return "" if hook.steps else f'hook "{hook.id}" has no steps'

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Run the steps, each with its own gates; each sees what those before it changed."""
        names = self._host.planner.names()
        wrong = tangle(hook, names)
        if wrong:
            return Reply(failure=Failure(FailureKind.REFUSED, f'hook "{hook.id}" {wrong}'))
        budget = Budget(timeout, f'the time of "{hook.id}"') if isfinite(timeout) else None
        # the others run all the same: a slip in one word must not switch the guards beside it off
        members = filter(None, map(partial(names.find, by=hook), hook.steps))
        event, said, left_out = await self._run_all(hook, list(members), request.event, budget)
        for skip in left_out:
            self._host.runner.tell(Step.SKIPPED, skip.hook, event, partial(dict, gate=skip.gate, reason=skip.reason))
        notes = [f'step "{skip.hook.id}" was left out: {skip.reason}' for skip in left_out]
        verdict = together(said, observed=self._host.runner.observes(hook))
        failure = _failure(_missing(hook, names), left_out)
        return Reply(value=replace(verdict, failure=failure, notes=(*notes, *verdict.notes)))

    async def close(self) -> None:
        """Give back nothing: nothing is kept."""

    async def _run_all(
        self, hook: Hook, members: Sequence[Hook], event: Event, budget: Budget | None
    ) -> tuple[Event, list[Verdict], list[Skip]]:
        """Run steps in order; one that was left out because of what the event was is asked again once it is another."""
        said: list[Verdict] = []
        left_out: dict[int, Sequence[Skip]] = {}
        waiting: Iterable[int] = range(len(members))
        before: Event | None = None
        while event is not before:
            before = event
            for place in waiting:
                run = await self._run(hook, members[place], event, budget)
                event, left_out[place] = run.event, run.skipped
                said += run.verdicts
                if any(verdict.ends and not verdict.observed for verdict in run.verdicts):
                    return event, said, _in_order(left_out)
            waiting = [place for place, skips in left_out.items() if any(skip.gate in _NARROW for skip in skips)]
        return event, said, _in_order(left_out)

    async def _run(self, hook: Hook, member: Hook, event: Event, budget: Budget | None) -> Run:
        host = self._host
        bound = self._bound(hook, member)
        plan = host.planner.only(bound, event)
        if plan.stages:
            # what was approved is the step as it is written
            vetted = await host.trust.vet(Plan(((member,),)), event)
            plan = replace(vetted, stages=tuple((bound,) for _ in vetted.stages))
        run = await host.runner.run(plan, event, budget)
        if bound.observe and not member.observe:
            # whoever comes next sees what would have been, though in the end nothing of it counts
            run = replace(run, event=merge.carry(event, [replace(said, observed=False) for said in run.verdicts]))
        return replace(run, skipped=(*plan.skipped, *run.skipped))

    def _bound(self, hook: Hook, member: Hook) -> Hook:
        """Give a step as it runs in a list: observed with it, and a guard with it unless it says something else."""
        runner = self._host.runner
        if member.on_error is None and runner.guards(hook):
            member = replace(member, on_error=OnError.BLOCK)
        # what is only observed must not raise an event either
        return replace(member, observe=True) if runner.observes(hook) else member


# the gates that look at what a step before may have changed
_NARROW: Final = frozenset({Gate.FILES, Gate.WRITES, Gate.DELETES, Gate.READS, Gate.RUNS, Gate.URLS, Gate.CONDITION})


def _in_order(left_out: Mapping[int, Sequence[Skip]]) -> list[Skip]:
    return [skip for _, skips in sorted(left_out.items()) for skip in skips]


def _failure(missing: str, left_out: Iterable[Skip]) -> Failure | None:
    """Say why a list could not be done as it is written; what a person wanted left out is no failure."""
    if missing:
        return Failure(FailureKind.NOT_FOUND, missing)
    refused = [f'step "{skip.hook.id}": {skip.reason}' for skip in left_out if skip.gate is Gate.TRUST]
    return Failure(FailureKind.REFUSED, "; ".join(refused)) if refused else None


def together(verdicts: Sequence[Verdict], *, observed: bool = False) -> Verdict:
    """Make one verdict of several: the strongest decision with its reasons, and every effect in order."""
    counted = [verdict for verdict in verdicts if observed or not verdict.observed]
    decision = max((verdict.decision for verdict in counted), default=Decision.PASS)
    strongest = [verdict.reason for verdict in counted if verdict.decision is decision and verdict.reason]
    return Verdict(
        decision=decision,
        reason="\n".join(dict.fromkeys(strongest)),
        effects=tuple(effect for verdict in counted for effect in verdict.effects),
        ends=any(verdict.ends for verdict in counted),
        notes=tuple(_notes(verdicts)),
        raised=tuple(name for verdict in verdicts for name in verdict.raised),
        metadata={"steps": {verdict.hook: verdict.decision.word for verdict in verdicts}},
    )


def _notes(verdicts: Iterable[Verdict]) -> Iterator[str]:
    for verdict in verdicts:
        if verdict.failure is not None:
            yield f'step "{verdict.hook}" failed: {verdict.failure.message}'
        yield from (f'step "{verdict.hook}": {note}' for note in verdict.notes)
