"""Run what became due while a plan was run: a changed path may be one that a guard is there for."""

from collections.abc import Collection

from msgspec.structs import replace

from hookline.core.budget import Budget
from hookline.core.composition import Host
from hookline.core.planner import HookPlanner
from hookline.core.runner import Run
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.plan import Gate, Plan


async def ask_again(
    run: Run,
    plan: Plan,
    event: Event,
    *,
    host: Host,
    budget: Budget | None = None,
) -> Run:
    """Ask, after a plan was run, who was left out of it; `skipped` of the result has every hook that did not run.

    A hook may change a tool's arguments, and so the file that is written, or hand on data that a condition asks for.
    Hooks that were left out because of what the event was are asked again then: a guard must not be slipped past by
    somebody else's change.
    """
    skipped = plan.skipped
    asked = {hook.id for hook in plan.hooks} | {skip.hook.id for skip in skipped if skip.gate is not Gate.CONDITION}
    while due := _due(run, event, planner=host.planner, asked=asked):
        ids = {hook.id for hook in due}
        asked |= ids
        vetted = await host.trust.vet(Plan(tuple((hook,) for hook in due)), run.event)
        more = await host.runner.run(vetted, run.event, budget)
        skipped = (*(skip for skip in skipped if skip.hook.id not in ids), *vetted.skipped)
        run = Run(
            executions=(*run.executions, *more.executions), event=more.event, skipped=(*run.skipped, *more.skipped)
        )
    return replace(run, skipped=(*skipped, *run.skipped))


def _due(run: Run, event: Event, *, planner: HookPlanner, asked: Collection[str]) -> list[Hook]:
    # compared by identity: values of others may compare in ways of their own, and `carry` keeps what nobody changed
    if run.event is event or any(verdict.ends for verdict in run.verdicts if not verdict.observed):
        return []
    return [hook for hook in planner.plan(run.event).hooks if hook.id not in asked]
