"""Confirmation: put the question of a hook to the user. No answer is a denial."""

import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.engine import merge
from hookline.model.event import Event
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, OutcomeCode, Verdict

logger = logging.getLogger(__name__)


class Question(Struct, frozen=True):
    """A question to the user; the digest binds the answer to exactly this event."""

    event: Event
    reasons: tuple[str, ...]
    digest: str


class PersonAnswer(Struct, frozen=True, kw_only=True):
    """The user's answer.

    `digest` is that of the question as the user saw it: an answer to another question does not count, None is not
    checked. `args` are arguments to change along with an allow, `reason` is why.
    """

    allowed: bool
    reason: str = ""
    digest: str | None = None
    args: Mapping[str, object] | None = None


Ask = Callable[[Question], bool | PersonAnswer | Awaitable[bool | PersonAnswer]]
# returns a digest of what would happen at an event, to which the answer is bound
Digest = Callable[[Event], str]


def digest(event: Event) -> str:
    """Return a digest of what would happen at an event, without ids and times."""
    return hashlib.sha256(json_codec.dump([event.name, event.tool, event.args, event.data, event.cwd])).hexdigest()


async def confirm(outcome: Outcome, event: Event, ask: Ask | None, *, identify: Digest = digest) -> Outcome:
    """Turn a question into an allow or a denial."""
    if ask is None:
        return _deny(outcome, "a person has to decide, and there was no way to ask one", OutcomeCode.UNANSWERED)
    try:
        question = Question(event, outcome.reasons, identify(event))
        result = ask(question)
        given = result if isinstance(result, bool | PersonAnswer) else await result
        now = identify(event)
    except Exception:
        # the callback belongs to the embedding program and may raise anything: no answer is no consent
        logger.exception("the question could not be asked")
        return _deny(outcome, "a person has to decide, and asking failed", OutcomeCode.ASK_FAILED)
    answer = given if isinstance(given, PersonAnswer) else PersonAnswer(allowed=given is True)
    if answer.digest is not None and answer.digest != question.digest:
        return _deny(outcome, "the answer is to another question", OutcomeCode.OTHER_DIGEST)
    if answer.allowed is not True:
        return _deny(outcome, answer.reason or "the person said no", OutcomeCode.REFUSED)
    if now != question.digest:
        return _deny(outcome, "what was asked about has changed", OutcomeCode.OTHER_DIGEST)
    return _apply_answer(replace(outcome, decision=Decision.ALLOW, code=""), event, answer)


def _apply_answer(outcome: Outcome, event: Event, answer: PersonAnswer) -> Outcome:
    """Apply the arguments that the user changed along with an allow."""
    reasons = (*outcome.reasons, answer.reason) if answer.reason else outcome.reasons
    if answer.args is None:
        return replace(outcome, reasons=reasons)
    if event.spec.rewrites != "args":
        return _deny(outcome, f"the person changed arguments, and {event.name} has none", OutcomeCode.NO_CHANGE)
    effects = tuple(Effect(EffectKind.REWRITE, value, ("args", key)) for key, value in answer.args.items())
    changed = merge.apply_changes(event, [Verdict(effects=effects)])
    final = changed.data.get(event.spec.input) if event.spec.input else changed.args
    return replace(
        outcome,
        reasons=reasons,
        effects=(*outcome.effects, *effects),
        args=final if isinstance(final, Mapping) else None,
    )


def _deny(outcome: Outcome, reason: str, code: OutcomeCode) -> Outcome:
    return replace(outcome, decision=Decision.DENY, reasons=(*outcome.reasons, reason), code=code)
