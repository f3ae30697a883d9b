"""An outcome in plain values, as other programs read it."""

from collections.abc import Mapping

from msgspec import UNSET

from hookline.model.verdict import Outcome, Verdict


def described(outcome: Outcome) -> Mapping[str, object]:
    """Give an outcome as the object that programs read: `emit --json` prints it, and HTTP answers with it."""
    return {
        "decision": outcome.decision.word,
        "blocked": outcome.blocked,
        "reasons": outcome.reasons,
        "context": outcome.context,
        "messages": outcome.messages,
        "follow_ups": outcome.follow_ups,
        "args": outcome.args,
        "output": None if outcome.output is UNSET else outcome.output,
        "hooks": [_verdict(verdict) for verdict in outcome.verdicts],
        "skipped": [{"id": skip.hook.id, "gate": skip.gate, "reason": skip.reason} for skip in outcome.skipped],
        "losses": [{"wanted": one.wanted, "became": one.became, "message": one.message} for one in outcome.losses],
        "trace": outcome.trace or None,
        "duration": outcome.duration,
    }


def _verdict(verdict: Verdict) -> Mapping[str, object]:
    failure = verdict.failure
    return {
        "id": verdict.hook,
        "verdict": verdict.decision.word,
        "reason": verdict.reason or None,
        "duration": verdict.duration,
        "failure": {"kind": failure.kind, "message": failure.message} if failure else None,
        "observed": verdict.observed,
        "cached": verdict.cached,
        "job": verdict.job or None,
        "notes": verdict.notes,
    }
