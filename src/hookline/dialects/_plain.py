"""Answers without a document: exit code 2 and the reason on stderr say no, and text on stdout is context or nothing."""

from typing import Final

from msgspec import UNSET

from hookline.dialects import _read
from hookline.dialects._reply import NO_REASON
from hookline.errors import DialectError
from hookline.model.exchange import Answer, Failure, FailureKind, Reply
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_DENY: Final = 2
# how much of what a hook printed is worth keeping
_NOTE: Final = 4000
_TAIL: Final = 300


def read_reply(reply: Reply, *, dialect: str, is_context: bool) -> Verdict:
    """Turn a hook's answer into a verdict; `is_context` says that the model is told what it printed.

    Raises:
        DialectError: It is a function's answer: these have no exit code, and nothing else counts here.
    """
    if reply.value is not UNSET and reply.value is not None:
        raise DialectError(
            f"hooks answer with their exit code, and this function gave {_read.shown(reply.value)}", dialect=dialect
        )
    printed = reply.stdout.decode("utf-8", "replace").removesuffix("\n")
    wrote = reply.stderr.decode("utf-8", "replace").strip()
    notes = (*reply.notes, f"stdout: {printed[:_NOTE]}") if printed else reply.notes
    if reply.exit_code == _DENY:
        return Verdict(decision=Decision.DENY, reason=wrote or printed.strip() or NO_REASON, notes=notes)
    if reply.exit_code:
        said = wrote or printed.strip()
        message = f"ended with exit code {reply.exit_code}" + (f": {said[-_TAIL:]}" if said else "")
        return Verdict(failure=Failure(FailureKind.EXIT_CODE, message), notes=notes)
    if printed and is_context:
        return Verdict(effects=(Effect(EffectKind.CONTEXT, printed),), notes=reply.notes)
    return Verdict(notes=notes)


def answer(outcome: Outcome, *, is_context: bool) -> Answer:
    """Say an outcome: a no with its reason, or what the model is to be told, or nothing at all."""
    if outcome.blocked:
        reason = outcome.reason or NO_REASON
        return Answer(stderr=reason.encode("utf-8", "replace") + b"\n", exit_code=_DENY)
    context = "\n\n".join(filter(None, outcome.context)) if is_context else ""
    return Answer(stdout=context.encode("utf-8", "replace") + b"\n") if context else Answer()
