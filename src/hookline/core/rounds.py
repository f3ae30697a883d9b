"""Run what became due while a plan was run: a changed path may be one that a guard is there for."""

from typing import Final

from msgspec.structs import replace

from hookline.core.planner import HookPlanner
from hookline.core.runner import HookRunner, Run
from hookline.core.trust import TrustedHooks
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.plan import Gate, Plan

# what depends on the arguments of a call, which a hook may change
_BY_ARGUMENTS: Final = frozenset({Gate.FILES, Gate.WRITES, Gate.CONDITION})


async def ask_again(
    run: Run, plan: Plan, event: Event, *, planner: HookPlanner, trust: TrustedHooks, runner: HookRunner
) -> Run:
    """Ask, after a plan was run, who was left out of it; `skipped` of the result has every hook that did not run.

    A hook may change a tool's arguments, and so the file that is written. Hooks that were left out because they are
    about other files are asked again then: a guard must not be slipped past by somebody else's change.
    """
    skipped = plan.skipped
    while due := _due(run, event, planner=planner, left=[skip.hook for skip in skipped if skip.gate in _BY_ARGUMENTS]):
        vetted = await trust.vet(Plan(tuple((hook,) for hook in due)), run.event)
        more = await runner.run(vetted, run.event)
        skipped = (*(skip for skip in skipped if skip.hook not in due), *vetted.skipped)
        run = Run(
            executions=(*run.executions, *more.executions), event=more.event, skipped=(*run.skipped, *more.skipped)
        )
    return replace(run, skipped=(*skipped, *run.skipped))


def _due(run: Run, event: Event, *, planner: HookPlanner, left: list[Hook]) -> list[Hook]:
    if (
        not left
        or run.event.args == event.args
        or any(verdict.ends for verdict in run.verdicts if not verdict.observed)
    ):
        return []
    return [hook for hook in planner.plan(run.event).hooks if hook in left]
