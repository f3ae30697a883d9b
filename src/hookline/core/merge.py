"""Many verdicts, one outcome. No I/O, no clock."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import wire
from hookline.model.event import Event, EventSpec
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_CHANGES: Final = frozenset({EffectKind.REWRITE, EffectKind.DATA})


def carry(event: Event, verdicts: Iterable[Verdict]) -> Event:
    """Show the next hook what earlier ones changed: arguments, output, and data they hand on.

    The event itself is given back where nothing was changed.
    """
    effects: list[Effect] = []
    for verdict in verdicts:
        # most have none
        if verdict.effects and not verdict.observed:
            effects += [effect for effect in verdict.effects if effect.kind in _CHANGES]
    if not effects:
        return event
    args = dict(event.args)
    data = dict(event.data)
    for effect in effects:
        if effect.kind is EffectKind.DATA:
            data[effect.path[0]] = effect.value
        elif effect.kind is EffectKind.REWRITE and effect.path[0] == event.spec.rewrites:
            _rewrite(effect, args=args, data=data, spec=event.spec)
    return replace(event, args=args, data=data)


def _rewrite(effect: Effect, *, args: dict[str, object], data: dict[str, object], spec: EventSpec) -> None:
    if effect.path[0] == "args" and not spec.input:
        args[effect.path[1]] = effect.value
        return
    field = spec.input or spec.output
    new = effect.value if len(effect.path) == 1 else {effect.path[1]: effect.value}
    data[field] = merged(data.get(field), new)


def merged(old: object, new: object) -> object:
    """Put one result over another: objects key by key, so that two hooks do not undo each other."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **new}
    return new


def conflicts(event: Event, stage: Sequence[Verdict]) -> list[str]:
    """Name the fields that hooks running side by side changed to different values."""
    seen: list[tuple[str, Effect]] = []
    found: list[str] = []
    for verdict in stage:
        mine = [effect for effect in _effects([verdict], event) if effect.kind is EffectKind.REWRITE]
        for effect in [] if verdict.observed else mine:
            for other, earlier in seen:
                if other != verdict.hook and _disagree(earlier, effect):
                    field = ".".join(effect.path)
                    found.append(f'hooks "{other}" and "{verdict.hook}" run side by side and both change {field}')
            seen.append((verdict.hook, effect))
    return found


def _disagree(one: Effect, two: Effect) -> bool:
    """Tell whether the order of two changes would matter: the same field, or a part of it, and other values."""
    shorter = min(len(one.path), len(two.path))
    if one.path[:shorter] != two.path[:shorter]:
        return False
    # compared as JSON: values of others may compare in ways of their own
    return one.path != two.path or wire.dump(one.value) != wire.dump(two.value)


def merge(before: Event, after: Event, verdicts: Sequence[Verdict]) -> Outcome:
    """Make the outcome: the strongest decision with all its reasons, and every effect in order.

    `after` is the event as the last hook left it (see `carry`). Verdicts that were only observed decide
    nothing. A decision the moment has no room for is not kept: nothing can block what already happened.
    """
    for verdict in verdicts:
        if verdict.decision or verdict.effects or verdict.reason:
            break
    else:
        return Outcome(verdicts=tuple(verdicts))
    counted = [verdict for verdict in verdicts if not verdict.observed]
    decision = max((verdict.decision for verdict in counted), default=Decision.PASS)
    if decision >= Decision.ASK and not before.spec.can_block:
        decision = Decision.PASS
    strongest = [verdict for verdict in counted if verdict.decision is decision]
    reasons = dict.fromkeys(verdict.reason for verdict in strongest if verdict.reason)
    effects = tuple(_effects(counted, before))
    rewrote = {effect.path[0] for effect in effects if effect.kind is EffectKind.REWRITE} if effects else ()
    return Outcome(
        decision=decision,
        reasons=tuple(reasons) or (_UNEXPLAINED if decision >= Decision.ASK else ()),
        effects=effects,
        args=_final_args(after, counted) if "args" in rewrote or before.spec.input else None,
        output=after.data[before.spec.output] if "output" in rewrote else UNSET,
        verdicts=tuple(verdicts),
    )


def _final_args(after: Event, verdicts: Iterable[Verdict]) -> Mapping[str, object] | None:
    """Give the arguments as the last hook left them; a hook may also have handed their field on as data."""
    field = after.spec.input
    if not field:
        return after.args
    touched = any(
        effect.path[0] == ("args" if effect.kind is EffectKind.REWRITE else field)
        for verdict in verdicts
        for effect in verdict.effects
        if effect.kind in {EffectKind.REWRITE, EffectKind.DATA}
    )
    final = after.data.get(field)
    return final if touched and isinstance(final, Mapping) else None


# what an event has to say about the one that raised it; its own rewrites are about itself
_CARRIED_UP: Final = frozenset({EffectKind.CONTEXT, EffectKind.MESSAGE, EffectKind.ASK_AGENT, EffectKind.DATA})


def folded(verdict: Verdict, outcome: Outcome) -> Verdict:
    """Add what came of a raised event to what the hook that raised it said: the stronger of both decisions holds."""
    decision = max(verdict.decision, outcome.decision)
    reasons = [
        said
        for said, by in ((verdict.reason, verdict.decision), (outcome.reason, outcome.decision))
        if by is decision and said
    ]
    carried = tuple(effect for effect in outcome.effects if effect.kind in _CARRIED_UP)
    return replace(
        verdict,
        decision=decision,
        reason="; ".join(reasons),
        effects=(*verdict.effects, *carried),
        ends=verdict.ends or decision is Decision.STOP,
    )


_UNEXPLAINED = ("blocked without a reason",)


def _effects(verdicts: Iterable[Verdict], event: Event) -> Iterable[Effect]:
    for verdict in verdicts:
        for effect in verdict.effects:
            if effect.kind is not EffectKind.REWRITE or effect.path[0] == event.spec.rewrites:
                yield effect
