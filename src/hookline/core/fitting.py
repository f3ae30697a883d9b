"""Make an outcome one that the agent can carry, in the declared way, and say what was lost. No I/O, no clock."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import wire
from hookline.model.ability import Ability, Loss, instead
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome

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

# what an agent cannot take and the model is told of in other words
_TOLD: Final = {
    Ability.BLOCK: "A hook objects, and this cannot be stopped here: {}",
    Ability.ASK: "A hook wants a person to decide, and nobody can be asked here: {}",
    Ability.STOP: "A hook wants this session to end: {}",
    Ability.OUTPUT: "A hook gives this in place of the result above: {}",
}


def able_at(event: Event, specs: Mapping[str, DialectSpec]) -> frozenset[Ability] | None:
    """Say what the agent that is answered can do; None where nobody said which agent it is."""
    spec = specs.get(event.host) if event.host and not event.chain else None
    return spec.able(event) if spec is not None else None


def fit(outcome: Outcome, event: Event, able: frozenset[Ability] | None) -> Outcome:
    """Give the outcome as an agent with these abilities can carry it, and in `losses` what became of the rest.

    None means that it can carry everything.

    It is never wider than before: what was asked, denied or changed does not become a plain yes.
    """
    if able is None:
        return outcome
    losses: list[Loss] = []
    outcome = _rewrites(outcome, event, able, losses)
    outcome = _effects(outcome, event, able, losses)
    outcome = _decision(outcome, event, able, losses)
    return replace(outcome, losses=(*outcome.losses, *losses)) if losses else outcome


def _rewrites(outcome: Outcome, event: Event, able: frozenset[Ability], losses: list[Loss]) -> Outcome:
    if outcome.args is not None and Ability.ARGS not in able:
        became = _lost(Ability.ARGS, event, able, losses)
        kept = _without(outcome.effects, ("args",))
        outcome = replace(outcome, args=None, effects=kept)
        if became is not None and outcome.decision < _DECISIONS[became]:
            reason = f"a hook changed this call, and {_who(event)} cannot change it here, so it does not run"
            outcome = replace(outcome, decision=_DECISIONS[became], reasons=(reason,))
    if outcome.output is not UNSET and Ability.OUTPUT not in able:
        became = _lost(Ability.OUTPUT, event, able, losses)
        given = outcome.output
        outcome = replace(outcome, output=UNSET, effects=_without(outcome.effects, ("output",)))
        said = given if isinstance(given, str) else wire.dump(given).decode("utf-8", "replace")
        outcome = _told(outcome, became, _TOLD[Ability.OUTPUT].format(said))
    return outcome


def _effects(outcome: Outcome, event: Event, able: frozenset[Ability], losses: list[Loss]) -> Outcome:
    effects = outcome.effects
    if all((ability := _BY_EFFECT.get(effect.kind)) is None or ability in able for effect in effects):
        return outcome
    outcome = replace(outcome, effects=())
    for effect in effects:
        wanted = _BY_EFFECT.get(effect.kind)
        if wanted is None or wanted in able:
            outcome = replace(outcome, effects=(*outcome.effects, effect))
        else:
            outcome = _told(outcome, _lost(wanted, event, able, losses), str(effect.value))
    return outcome


def _decision(outcome: Outcome, event: Event, able: frozenset[Ability], losses: list[Loss]) -> Outcome:
    wanted = _BY_DECISION.get(outcome.decision)
    if wanted is None or wanted in able:
        return outcome
    became = _lost(wanted, event, able, losses)
    decision = _DECISIONS.get(became, Decision.PASS) if became is not None else Decision.PASS
    unasked = (f"a person has to decide, and {_who(event)} cannot ask here",) if wanted is Ability.ASK else ()
    fitted = replace(outcome, decision=decision, reasons=(*outcome.reasons, *unasked) if decision else ())
    if decision or wanted not in _TOLD:
        return fitted
    # whoever is sent back reads the reason itself as what to do next
    words = "{}" if became is Ability.FOLLOW_UP else _TOLD[wanted]
    return _told(fitted, became, words.format(outcome.reason))


def _told(outcome: Outcome, by: Ability | None, text: str) -> Outcome:
    """Say something in the way that is left: beside the answer, or as the reason of a no."""
    if by is None:
        return outcome
    if by in _EFFECTS:
        return replace(outcome, effects=(*outcome.effects, Effect(_EFFECTS[by], text)))
    decision = _DECISIONS[by]
    if outcome.decision > decision:
        return outcome
    reasons = outcome.reasons if outcome.decision is decision else ()
    return replace(outcome, decision=decision, reasons=(*reasons, text))


def _lost(wanted: Ability, event: Event, able: frozenset[Ability], losses: list[Loss]) -> Ability | None:
    became = instead(wanted, able)
    what = f"{_who(event)} cannot {WORDS[wanted]} at {event.native_name or event.name}"
    losses.append(Loss(wanted, became, f"{what}; {f'it became {became}' if became else 'it is lost'}"))
    return became


def _without(effects: Iterable[Effect], start: tuple[str]) -> tuple[Effect, ...]:
    return tuple(one for one in effects if one.kind is not EffectKind.REWRITE or one.path[:1] != start)


def _who(event: Event) -> str:
    return event.host or "the agent"


# how each ability is said in a sentence
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
