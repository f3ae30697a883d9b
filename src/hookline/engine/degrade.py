"""Degrade an outcome to what the calling agent supports, and list the losses. No I/O, no clock."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import json_codec
from hookline.model.event import Ability, Degradation, Event, fallback_for
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from hookline.ports import Dialect
from hookline.text import fence

_BY_DECISION: Final = {
    Decision.ALLOW: Ability.ALLOW,
    Decision.ASK: Ability.ASK,
    Decision.DENY: Ability.BLOCK,
    Decision.STOP: Ability.STOP,
}
_DECISIONS: Final = {ability: decision for decision, ability in _BY_DECISION.items()}
_BY_EFFECT: Final = {
    EffectKind.CONTEXT: Ability.CONTEXT,
    EffectKind.MESSAGE: Ability.MESSAGE,
    EffectKind.ASK_AGENT: Ability.FOLLOW_UP,
}
_EFFECTS: Final = {ability: kind for kind, ability in _BY_EFFECT.items()}

# how the model is informed of what the agent does not support
_EXPLANATIONS: Final = {
    Ability.BLOCK: "A hook objects, and this cannot be stopped here: {}",
    Ability.ASK: "A hook wants a person to decide, and no person can be asked here: {}",
    Ability.STOP: "A hook wants this session to end: {}",
    Ability.OUTPUT: "A hook gives this in place of the result above: {}",
}


def capabilities_at(event: Event, dialects: Mapping[str, Dialect]) -> frozenset[Ability] | None:
    """Return what the calling agent supports at an event, or None where the agent is not known."""
    dialect = dialects.get(event.host) if event.host and not event.chain else None
    return dialect.SPEC.able(event) if dialect is not None else None


def degrade(outcome: Outcome, event: Event, able: frozenset[Ability] | None) -> Outcome:
    """Return the outcome as an agent with these capabilities supports it, with the rest in `losses`.

    None means that the agent supports everything. The result is never wider: a question, a denial or a rewrite does not
    become a plain allow.
    """
    if able is None:
        return outcome
    losses: list[Degradation] = []
    outcome = _degrade_rewrites(outcome, event, able, losses)
    outcome = _degrade_effects(outcome, event, able, losses)
    outcome = _degrade_decision(outcome, event, able, losses)
    return replace(outcome, losses=(*outcome.losses, *losses)) if losses else outcome


def _degrade_rewrites(outcome: Outcome, event: Event, able: frozenset[Ability], losses: list[Degradation]) -> Outcome:
    if outcome.args is not None and Ability.ARGS not in able:
        became = _add_loss(Ability.ARGS, event, able, losses)
        outcome = replace(outcome, args=None, effects=_without_rewrites(outcome.effects, "args"))
        if became is not None and outcome.decision < _DECISIONS[became]:
            reason = f"a hook changed this call, and {_agent(event)} cannot change it here, so it does not run"
            outcome = replace(outcome, decision=_DECISIONS[became], reasons=(reason,))
    if outcome.output is not UNSET and Ability.OUTPUT not in able:
        became = _add_loss(Ability.OUTPUT, event, able, losses)
        output, origin = outcome.output, outcome.output_origin
        outcome = replace(outcome, output=UNSET, effects=_without_rewrites(outcome.effects, "output"))
        text = output if isinstance(output, str) else json_codec.dump(output).decode("utf-8", "replace")
        outcome = _add_text(
            outcome, became, _EXPLANATIONS[Ability.OUTPUT].format(fence(text, origin) if origin else text)
        )
    return outcome


def _degrade_effects(outcome: Outcome, event: Event, able: frozenset[Ability], losses: list[Degradation]) -> Outcome:
    effects = outcome.effects
    if all((ability := _BY_EFFECT.get(effect.kind)) is None or ability in able for effect in effects):
        return outcome
    outcome = replace(outcome, effects=())
    for effect in effects:
        wanted = _BY_EFFECT.get(effect.kind)
        if wanted is None or wanted in able:
            outcome = replace(outcome, effects=(*outcome.effects, effect))
        else:
            outcome = _add_text(outcome, _add_loss(wanted, event, able, losses), str(effect.value))
    return outcome


def _degrade_decision(outcome: Outcome, event: Event, able: frozenset[Ability], losses: list[Degradation]) -> Outcome:
    wanted = _BY_DECISION.get(outcome.decision)
    if wanted is None or wanted in able:
        return outcome
    became = _add_loss(wanted, event, able, losses)
    decision = _DECISIONS.get(became, Decision.PASS) if became is not None else Decision.PASS
    unasked = (f"a person has to decide, and {_agent(event)} cannot ask here",) if wanted is Ability.ASK else ()
    degraded = replace(outcome, decision=decision, reasons=(*outcome.reasons, *unasked) if decision else ())
    if decision or wanted not in _EXPLANATIONS:
        return degraded
    # an agent that is sent back reads the reason itself as its next task
    template = "{}" if became is Ability.FOLLOW_UP else _EXPLANATIONS[wanted]
    return _add_text(degraded, became, template.format(outcome.reason))


def _add_text(outcome: Outcome, by: Ability | None, text: str) -> Outcome:
    """Add a text by the capability that is left: as an effect, or as the reason of a denial."""
    if by is None:
        return outcome
    if by in _EFFECTS:
        return replace(outcome, effects=(*outcome.effects, Effect(_EFFECTS[by], text)))
    decision = _DECISIONS[by]
    if outcome.decision > decision:
        return outcome
    reasons = outcome.reasons if outcome.decision is decision else ()
    return replace(outcome, decision=decision, reasons=(*reasons, text))


def _add_loss(wanted: Ability, event: Event, able: frozenset[Ability], losses: list[Degradation]) -> Ability | None:
    became = fallback_for(wanted, able)
    what = f"{_agent(event)} cannot {WORDS[wanted]} at {event.native_name or event.name}"
    losses.append(Degradation(wanted, became, f"{what}; {f'it became {became}' if became else 'it is lost'}"))
    return became


def _without_rewrites(effects: Iterable[Effect], field: str) -> tuple[Effect, ...]:
    return tuple(one for one in effects if one.kind is not EffectKind.REWRITE or one.path[:1] != (field,))


def _agent(event: Event) -> str:
    return event.host or "the agent"


# each capability as a verb phrase
WORDS: Final = {
    Ability.ALLOW: "skip the person's permission",
    Ability.BLOCK: "be blocked",
    Ability.ASK: "ask the person",
    Ability.STOP: "be stopped",
    Ability.ARGS: "change the arguments",
    Ability.OUTPUT: "change the result",
    Ability.CONTEXT: "give the model context",
    Ability.MESSAGE: "show the person a message",
    Ability.FOLLOW_UP: "be sent back to work",
}
