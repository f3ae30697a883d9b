"""The lines of a trace: what an event was, who was left out, what each hook said, and what came of it."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from time import time
from typing import Final

from msgspec.structs import replace

from hookline.core.debugger import SLOW
from hookline.model.copying import kept
from hookline.model.event import Event
from hookline.model.exchange import Reply
from hookline.model.plan import Gate
from hookline.model.record import Record, Step
from hookline.model.verdict import Decision, Outcome, Verdict


def record(
    event: Event, step: Step, detail: Mapping[str, object], *, hook: str = "", at: float | None = None
) -> Record:
    """Make one line about an event; `at` is when it happened, if not just now."""
    return Record(event.id, step, time() if at is None else at, event.name, event.session.id, hook, detail)


def beginning(event: Event, *, at: float | None = None) -> Record:
    """Say what the event is, and which hooks led to it."""
    detail: dict[str, object] = {"data": event.data}
    if event.tool:
        detail["tool"] = event.tool
        detail["args"] = event.args
    if event.chain:
        detail["chain"] = event.chain
        detail["parent"] = event.parent
    return record(event, Step.EVENT, detail, at=at)


def begun(event: Event, data: Mapping[str, object], args: Mapping[str, object], at: float) -> tuple[Record]:
    """Say the same with the fields as they were at the beginning: later somebody may have changed them."""
    return (beginning(replace(event, data=data, args=args), at=at),)


_SAID_IF_SET: Final = ("reason", "effects", "observed", "cached", "raised", "notes", "metadata")
_SAID: Final = attrgetter(*_SAID_IF_SET)


def as_it_was(verdict: Verdict) -> Verdict:
    """Give a verdict to be told of later: what it changes goes to the caller, who may go on to change it."""
    if not verdict.effects and not verdict.metadata:
        return verdict
    if not verdict.effects:
        return replace(verdict, metadata=kept(verdict.metadata))
    effects = tuple(replace(effect, **kept({"value": effect.value})) for effect in verdict.effects)
    return replace(verdict, effects=effects, metadata=kept(verdict.metadata))


def said(verdict: Verdict, reply: Reply) -> dict[str, object]:
    """Say what a hook answered, and what there is to know of the program that did."""
    detail: dict[str, object] = {"decision": verdict.decision.word, "duration": verdict.duration}
    if verdict.failure is not None:
        detail["failure"] = verdict.failure.kind
        detail["message"] = verdict.failure.message
        # a hook that could not answer and one that said no both block, for different people to mend
        detail["blocked_by_failure"] = verdict.blocks
    told = _SAID(verdict)
    if any(told):
        detail |= {name: value for name, value in zip(_SAID_IF_SET, told, strict=True) if value}
    if verdict.duration > SLOW:
        detail["slow"] = True
    if reply.stderr:
        detail["stderr"] = reply.stderr[-2000:].decode("utf-8", "replace")
    if reply.exit_code:
        detail["exit_code"] = reply.exit_code
    return detail


def ending(event: Event, outcome: Outcome, *, at: float | None = None) -> Iterator[Record]:
    """Say who was left out, what could not be, and what the answer is."""
    for skip in outcome.skipped:
        yield record(event, Step.SKIPPED, {"gate": skip.gate, "reason": skip.reason}, hook=skip.hook.id, at=at)
        if skip.gate is Gate.CHAIN:
            yield record(event, Step.WARNING, {"message": f"not run again: {skip.reason}"}, hook=skip.hook.id, at=at)
    for loss in outcome.losses:
        detail = {"wanted": loss.wanted, "became": loss.became, "message": loss.message, "host": event.host}
        yield record(event, Step.DEGRADED, detail, at=at)
    for warning in _warnings(event, outcome.verdicts):
        yield record(event, Step.WARNING, {"message": warning}, at=at)
    yield record(event, Step.OUTCOME, _summary(outcome), at=at)


def _warnings(event: Event, verdicts: Sequence[Verdict]) -> list[str]:
    if event.spec.can_block:
        return []
    return [
        f'hook "{verdict.hook}" wanted to {verdict.decision.word}, but {event.name} cannot be blocked'
        for verdict in verdicts
        if verdict.decision >= Decision.ASK and not verdict.observed
    ]


def _summary(outcome: Outcome) -> dict[str, object]:
    return {
        "decision": outcome.decision.word,
        "reasons": outcome.reasons,
        "duration": outcome.duration,
        "ran": len(outcome.verdicts),
        "skipped": len(outcome.skipped),
        "rewrote": outcome.args is not None,
    }
