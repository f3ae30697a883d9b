"""The lines of a trace about an event as a whole: what it was, who was left out, and what came of it."""

from collections.abc import Iterator, Mapping, Sequence
from time import time

from hookline.model.event import Event
from hookline.model.plan import Gate
from hookline.model.record import Record, Step
from hookline.model.verdict import Decision, Outcome, Verdict


def record(event: Event, step: Step, detail: Mapping[str, object], *, hook: str = "") -> Record:
    """Make one line about an event."""
    return Record(event.id, step, time(), event.name, event.session.id, hook, detail)


def beginning(event: Event) -> Record:
    """Say what the event is, and which hooks led to it."""
    detail: dict[str, object] = {"data": event.data}
    if event.tool:
        detail["tool"] = event.tool
        detail["args"] = event.args
    if event.chain:
        detail["chain"] = event.chain
        detail["parent"] = event.parent
    return record(event, Step.EVENT, detail)


def ending(event: Event, outcome: Outcome) -> Iterator[Record]:
    """Say who was left out, what could not be, and what the answer is."""
    for skip in outcome.skipped:
        yield record(event, Step.SKIPPED, {"gate": skip.gate, "reason": skip.reason}, hook=skip.hook.id)
        if skip.gate is Gate.CHAIN:
            yield record(event, Step.WARNING, {"message": f"not run again: {skip.reason}"}, hook=skip.hook.id)
    for loss in outcome.losses:
        detail = {"wanted": loss.wanted, "became": loss.became, "message": loss.message, "host": event.host}
        yield record(event, Step.DEGRADED, detail)
    for warning in _warnings(event, outcome.verdicts):
        yield record(event, Step.WARNING, {"message": warning})
    yield record(event, Step.OUTCOME, _summary(outcome))


def _warnings(event: Event, verdicts: Sequence[Verdict]) -> list[str]:
    if event.spec.can_block:
        return []
    return [
        f'hook "{verdict.hook}" wanted to {verdict.decision.name.lower()}, but {event.name} cannot be blocked'
        for verdict in verdicts
        if verdict.decision >= Decision.ASK and not verdict.observed
    ]


def _summary(outcome: Outcome) -> dict[str, object]:
    return {
        "decision": outcome.decision.name.lower(),
        "reasons": outcome.reasons,
        "duration": outcome.duration,
        "ran": len(outcome.verdicts),
        "skipped": len(outcome.skipped),
        "rewrote": outcome.args is not None,
    }
