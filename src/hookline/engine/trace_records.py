"""Build the records of a trace: the event, each hook that was skipped or answered, and the outcome."""

import itertools
import os
from collections.abc import Iterator, Mapping
from time import time
from typing import Final

from msgspec.structs import replace

from hookline.engine.metrics import SLOW
from hookline.model.event import Event, snapshot
from hookline.model.exchange import Reply
from hookline.model.hook import Hook
from hookline.model.plan import Gate
from hookline.model.record import Record, Step
from hookline.model.verdict import Decision, Outcome, Verdict

# shared by all engines of this process, whose traces may be stored in one database
_COUNT: Final = itertools.count(1)


def new_id(milliseconds: int) -> str:
    """Return an id that sorts by time and is unique across processes and forks."""
    return f"{milliseconds:x}-{os.getpid():x}-{next(_COUNT)}"


def record(
    event: Event, step: Step, detail: Mapping[str, object], *, hook: str = "", at: float | None = None
) -> Record:
    """Build one record about an event; `at` is when it happened, by default now."""
    return Record(event.id, step, time() if at is None else at, event.name, event.session.id, hook, detail)


def event_record(event: Event) -> Record:
    """Build the first record of a trace now."""
    return next(event_records(event, event.data, event.args, time()))


def event_records(event: Event, data: Mapping[str, object], args: Mapping[str, object], at: float) -> Iterator[Record]:
    """Build the first record of a trace: the event, and the hooks that led to it.

    `data` and `args` are snapshots of the event's fields: callers and hooks may change theirs before the record is built.
    """
    detail: dict[str, object] = {"data": data}
    if event.tool:
        detail |= {"tool": event.tool, "args": args}
    if event.chain:
        detail |= {"chain": event.chain, "parent": event.parent}
    yield record(event, Step.EVENT, detail, at=at)


def hook_records(event: Event, step: Step, hook: Hook, at: float, detail: Mapping[str, object]) -> Iterator[Record]:
    """Build the record of one step of a hook."""
    yield record(event, step, detail, hook=hook.id, at=at)


def started_records(event: Event, hook: Hook, at: float, unknown: str) -> Iterator[Record]:
    """Build the record of a hook that is called; `unknown` is what could not be known about the event."""
    detail = {"dialect": hook.dialect, "unknown": unknown} if unknown else {"dialect": hook.dialect}
    yield record(event, Step.STARTED, detail, hook=hook.id, at=at)


def verdict_records(event: Event, hook: Hook, at: float, verdict: Verdict, reply: Reply) -> Iterator[Record]:
    """Build the record of a hook's answer; `verdict` is a snapshot."""
    step = Step.COMPLETED if verdict.failure is None else Step.FAILED
    yield record(event, step, verdict_detail(verdict, reply), hook=hook.id, at=at)


def snapshot_verdict(verdict: Verdict) -> Verdict:
    """Copy the values of a verdict for a record that is built later: the caller gets and may change them."""
    if not verdict.effects and not verdict.metadata:
        return verdict
    effects = tuple(replace(effect, **snapshot({"value": effect.value})) for effect in verdict.effects)
    return replace(verdict, effects=effects, metadata=snapshot(verdict.metadata))


def verdict_detail(verdict: Verdict, reply: Reply) -> dict[str, object]:
    """Return what a record says about a hook's answer and about the process that gave it."""
    detail: dict[str, object] = {"decision": verdict.decision.word, "duration": verdict.duration}
    if verdict.failure is not None:
        detail["failure"] = verdict.failure.kind
        detail["message"] = verdict.failure.message
        # a failed hook and a denying one both block, but different people have to act
        detail["blocked_by_failure"] = verdict.blocks
    for name in ("reason", "effects", "observed", "cached", "raised", "notes", "metadata"):
        if value := getattr(verdict, name):
            detail[name] = value
    if verdict.duration > SLOW:
        detail["slow"] = True
    if reply.stderr:
        detail["stderr"] = reply.stderr[-2000:].decode("utf-8", "replace")
    if reply.exit_code:
        detail["exit_code"] = reply.exit_code
    return detail


def outcome_records(event: Event, outcome: Outcome, at: float) -> Iterator[Record]:
    """Build the last records of a trace: skipped hooks, degradations, warnings, and the outcome."""
    for skip in outcome.skipped:
        yield record(event, Step.SKIPPED, {"gate": skip.gate, "reason": skip.reason}, hook=skip.hook.id, at=at)
        if skip.gate is Gate.CHAIN:
            yield record(event, Step.WARNING, {"message": f"not run again: {skip.reason}"}, hook=skip.hook.id, at=at)
    for loss in outcome.losses:
        detail = {"wanted": loss.wanted, "became": loss.became, "message": loss.message, "host": event.host}
        yield record(event, Step.DEGRADED, detail, at=at)
    for verdict in () if event.spec.can_block else outcome.verdicts:
        if verdict.decision >= Decision.ASK and not verdict.observed:
            message = f'hook "{verdict.hook}" wanted to {verdict.decision.word}, but {event.name} cannot be blocked'
            yield record(event, Step.WARNING, {"message": message}, at=at)
    summary = {
        "decision": outcome.decision.word,
        "reasons": outcome.reasons,
        "duration": outcome.duration,
        "ran": len(outcome.verdicts),
        "skipped": len(outcome.skipped),
        "rewrote": outcome.args is not None,
    }
    yield record(event, Step.OUTCOME, summary, at=at)
