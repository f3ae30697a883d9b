"""Combine many verdicts into one outcome. No I/O, no clock."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import json_codec
from hookline.model.event import Event
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_CHANGES: Final = frozenset({EffectKind.REWRITE, EffectKind.DATA})
# what a raised event passes up to the hook that raised it; its rewrites are about the raised event itself
_PASSED_UP: Final = frozenset({EffectKind.CONTEXT, EffectKind.MESSAGE, EffectKind.ASK_AGENT, EffectKind.DATA})
_UNEXPLAINED: Final = ("blocked without a reason",)


def combine_verdicts(verdicts: Sequence[Verdict], *, separator: str = "\n") -> Verdict:
    """Return one verdict: the strongest decision with its reasons, and every effect and note in order."""
    decision = max((verdict.decision for verdict in verdicts), default=Decision.PASS)
    reasons = dict.fromkeys(one.reason for one in verdicts if one.decision is decision and one.reason)
    return Verdict(
        decision=decision,
        reason=separator.join(reasons),
        effects=tuple(effect for verdict in verdicts for effect in verdict.effects),
        failure=next((verdict.failure for verdict in verdicts if verdict.failure is not None), None),
        ends=any(verdict.ends for verdict in verdicts),
        notes=tuple(dict.fromkeys(note for verdict in verdicts for note in verdict.notes)),
        metadata={key: value for verdict in verdicts for key, value in verdict.metadata.items()},
        raised=tuple(name for verdict in verdicts for name in verdict.raised),
        origin=next((verdict.origin for verdict in verdicts if verdict.origin), ""),
    )


def combine_steps(verdicts: Sequence[Verdict], *, observed: bool = False) -> Verdict:
    """Return the verdict of a list of steps: only observed steps decide nothing, unless the whole list is observed."""
    counted = combine_verdicts([verdict for verdict in verdicts if observed or not verdict.observed])
    notes: list[str] = []
    for verdict in verdicts:
        if verdict.failure is not None:
            notes.append(f'step "{verdict.hook}" failed: {verdict.failure.message}')
        notes += [f'step "{verdict.hook}": {note}' for note in verdict.notes]
    return replace(
        counted,
        failure=None,
        notes=tuple(notes),
        raised=tuple(name for verdict in verdicts for name in verdict.raised),
        metadata={"steps": {verdict.hook: verdict.decision.word for verdict in verdicts}},
    )


def add_raised_outcome(verdict: Verdict, outcome: Outcome) -> Verdict:
    """Add the outcome of a raised event to the verdict of the hook that raised it: the stronger decision holds."""
    passed_up = tuple(effect for effect in outcome.effects if effect.kind in _PASSED_UP)
    both = combine_verdicts(
        [verdict, Verdict(decision=outcome.decision, reason=outcome.reason, effects=passed_up)], separator="; "
    )
    ends = verdict.ends or both.decision is Decision.STOP
    return replace(verdict, decision=both.decision, reason=both.reason, effects=both.effects, ends=ends)


def apply_changes(event: Event, verdicts: Iterable[Verdict]) -> Event:
    """Return the event as the next hook sees it, with the arguments, output and data that earlier hooks changed.

    The event itself is returned where no hook changed anything.
    """
    effects = [
        effect
        for verdict in verdicts
        if verdict.effects and not verdict.observed
        for effect in verdict.effects
        if effect.kind in _CHANGES
    ]
    if not effects:
        return event
    args, data, spec = dict(event.args), dict(event.data), event.spec
    for effect in effects:
        if effect.kind is EffectKind.DATA:
            data[effect.path[0]] = effect.value
        elif effect.path[0] == spec.rewrites:
            if effect.path[0] == "args" and not spec.input:
                args[effect.path[1]] = effect.value
                continue
            field = spec.input or spec.output
            new = effect.value if len(effect.path) == 1 else {effect.path[1]: effect.value}
            data[field] = merge_results(data.get(field), new)
    return replace(event, args=args, data=data)


def merge_results(old: object, new: object) -> object:
    """Put one result over another: objects key by key, so that two hooks do not undo each other's changes."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **new}
    return new


def find_conflicts(event: Event, stage: Sequence[Verdict]) -> list[str]:
    """Describe the fields that hooks running in parallel changed to different values."""
    seen: list[tuple[str, Effect]] = []
    conflicts: list[str] = []
    for verdict in stage:
        for effect in () if verdict.observed else _applicable_effects([verdict], event):
            if effect.kind is not EffectKind.REWRITE:
                continue
            for other, earlier in seen:
                if other != verdict.hook and _disagree(earlier, effect):
                    field = ".".join(effect.path)
                    conflicts.append(f'hooks "{other}" and "{verdict.hook}" run side by side and both change {field}')
            seen.append((verdict.hook, effect))
    return conflicts


def _disagree(one: Effect, two: Effect) -> bool:
    """Return whether the order of two rewrites matters: the same field, or a part of it, and different values."""
    shorter = min(len(one.path), len(two.path))
    if one.path[:shorter] != two.path[:shorter]:
        return False
    # compared as JSON: values that functions return may define their own equality
    return one.path != two.path or json_codec.dump(one.value) != json_codec.dump(two.value)


def find_disagreement(event: Event, verdicts: Sequence[Verdict]) -> str:
    """Return how hooks disagree under `composition = "unanimous"`, or "" where each opinion is a plain allow."""
    described: list[str] = []
    for verdict in verdicts:
        rewrites = any(effect.kind is EffectKind.REWRITE for effect in _applicable_effects([verdict], event))
        if verdict.observed or not (verdict.decision or rewrites):
            continue
        if rewrites or verdict.decision is not Decision.ALLOW:
            described.append(f'"{verdict.hook}" {"changes it" if rewrites else f"says {verdict.decision}"}')
    return f"not all hooks allow this: {', '.join(described)}" if described else ""


def without_rewrites(verdict: Verdict) -> Verdict:
    """Return a verdict that changes nothing."""
    return replace(verdict, effects=tuple(one for one in verdict.effects if one.kind is not EffectKind.REWRITE))


def merge(before: Event, after: Event, verdicts: Sequence[Verdict]) -> Outcome:
    """Return the outcome: the strongest decision with all its reasons, and every effect in order.

    `after` is the event as the last hook left it (see `apply_changes`). Observed verdicts decide nothing. A decision
    that the event does not support is dropped: what already happened cannot be blocked.
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
    effects = tuple(_applicable_effects(counted, before))
    rewrote = {effect.path[0] for effect in effects if effect.kind is EffectKind.REWRITE}
    return Outcome(
        decision=decision,
        reasons=tuple(reasons) or (_UNEXPLAINED if decision >= Decision.ASK else ()),
        code=next((verdict.code for verdict in strongest if verdict.code), ""),
        effects=effects,
        args=_final_args(after, counted) if "args" in rewrote or before.spec.input else None,
        output=after.data[before.spec.output] if "output" in rewrote else UNSET,
        verdicts=tuple(verdicts),
    )


def _final_args(after: Event, verdicts: Iterable[Verdict]) -> Mapping[str, object] | None:
    """Return the arguments as the last hook left them; a hook may also have handed on their field as data."""
    field = after.spec.input
    if not field:
        return after.args
    touched = any(
        effect.path[0] == ("args" if effect.kind is EffectKind.REWRITE else field)
        for verdict in verdicts
        for effect in verdict.effects
        if effect.kind in _CHANGES
    )
    final = after.data.get(field)
    return final if touched and isinstance(final, Mapping) else None


def _applicable_effects(verdicts: Iterable[Verdict], event: Event) -> Iterator[Effect]:
    """Yield the effects without rewrites of something that the event does not have."""
    for verdict in verdicts:
        for effect in verdict.effects:
            if effect.kind is not EffectKind.REWRITE or effect.path[0] == event.spec.rewrites:
                yield effect
