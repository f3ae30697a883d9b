"""The events that hooks raise themselves: what their hooks say counts as said by the one that raised them."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from msgspec.structs import replace

from hookline.core import chains, merge
from hookline.core.budget import Budget
from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.exchange import FailureKind
from hookline.model.hook import Hook
from hookline.model.plan import Gate
from hookline.model.record import Step
from hookline.model.verdict import EffectKind, Outcome, Verdict

logger = logging.getLogger(__name__)

# raises another event in the name of a hook, and gives what its hooks said
Raise = Callable[[Hook, Event, str, Mapping[str, object], Budget | None], Awaitable[Outcome]]


class Host(Protocol):
    """Who asks the hook."""

    raise_event: Raise | None

    def observes(self, hook: Hook) -> bool:
        """Say whether what a hook says is only written down."""

    def guards(self, hook: Hook) -> bool:
        """Say whether a hook's failures block."""

    def fallen_over(self, hook: Hook, verdict: Verdict, kind: FailureKind, message: str) -> Verdict:
        """Add a failure to what a hook said."""

    def tell(self, step: Step, hook: Hook, event: Event, detail: Callable[[], Mapping[str, object]]) -> None:
        """Tell whoever listens what became of a hook."""


async def raised(host: Host, hook: Hook, event: Event, verdict: Verdict, budget: Budget | None = None) -> Verdict:
    """Raise the events a hook asked for; what their hooks say counts as said by this one."""
    wanted = [effect for effect in verdict.effects if effect.kind is EffectKind.RAISE]
    if not wanted:
        return verdict
    kept = tuple(effect for effect in verdict.effects if effect.kind is not EffectKind.RAISE)
    verdict = replace(verdict, effects=kept, raised=tuple(effect.path[0] for effect in wanted))
    for effect in wanted:
        name = effect.path[0]
        wrong = chains.objection(name)
        if wrong:
            verdict = host.fallen_over(hook, verdict, FailureKind.INVALID_REPLY, wrong)
        else:
            data = effect.value if isinstance(effect.value, Mapping) else {}
            verdict = await _raise(host, hook, event, verdict, name=name, data=data, budget=budget)
    return verdict


async def _raise(
    host: Host,
    hook: Hook,
    event: Event,
    verdict: Verdict,
    *,
    name: str,
    data: Mapping[str, object],
    budget: Budget | None,
) -> Verdict:
    if host.raise_event is None or host.observes(hook):
        # what is only observed does nothing, and an event would do something
        return replace(verdict, notes=(*verdict.notes, f'it wanted to raise the event "{name}"'))
    refusal = chains.refusal(event, hook, name)
    if refusal:
        host.tell(Step.WARNING, hook, event, lambda: {"message": refusal})
        verdict = replace(verdict, notes=(*verdict.notes, refusal))
        # a guard that could not ask those it wanted to ask has not said yes
        return host.fallen_over(hook, verdict, FailureKind.REFUSED, refusal) if host.guards(hook) else verdict
    try:
        outcome = await host.raise_event(hook, event, name, data, budget)
    except ConfigError as problem:
        wrong = f'the event "{name}" could not be raised: {problem}'
        return host.fallen_over(hook, verdict, FailureKind.INVALID_REPLY, wrong)
    except Exception as problem:
        # what the hook said itself was said before: a denial is not lost to what came of an event
        logger.exception("the event %s of hook %s could not be raised", name, hook.id)
        wrong = f'error inside Hookline, raising the event "{name}": {problem!r}'
        return host.fallen_over(hook, verdict, FailureKind.INTERNAL, wrong)
    loops = [
        f'hook "{skip.hook.id}" was not run again for "{name}": {skip.reason}'
        for skip in outcome.skipped
        if skip.gate is Gate.CHAIN
    ]
    return replace(merge.folded(verdict, outcome), notes=(*verdict.notes, *loops))
