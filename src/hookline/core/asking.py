"""A hook wants a person to decide; whoever can answer does, and nobody means no."""

import hashlib
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from hookline import wire
from hookline.model.event import Event
from hookline.model.verdict import Decision, Outcome

logger = logging.getLogger(__name__)


class Question(Struct, frozen=True):
    """What a person is asked; the digest binds the answer to exactly this event."""

    event: Event
    reasons: tuple[str, ...]
    digest: str


Ask = Callable[[Question], bool | Awaitable[bool]]


def digest(event: Event) -> str:
    """Identify an event by what would happen, not by when it was asked."""
    return hashlib.sha256(wire.dump([event.name, event.tool, event.args, event.data, event.cwd])).hexdigest()


async def answer(outcome: Outcome, event: Event, ask: Ask | None) -> Outcome:
    """Turn a question into a yes or a no."""
    if ask is None:
        return _denied(outcome, "a person has to decide, and nobody could be asked")
    question = Question(event, outcome.reasons, digest(event))
    try:
        said = ask(question)
        allowed = said if isinstance(said, bool) else await said
    except Exception:
        # The callback is the embedding program's. Whatever it raises, silence is not consent.
        logger.exception("the question could not be asked")
        return _denied(outcome, "a person has to decide, and asking failed")
    if allowed is True and digest(event) == question.digest:
        return replace(outcome, decision=Decision.ALLOW)
    return _denied(outcome, "the person said no")


def _denied(outcome: Outcome, reason: str) -> Outcome:
    return replace(outcome, decision=Decision.DENY, reasons=(*outcome.reasons, reason))
