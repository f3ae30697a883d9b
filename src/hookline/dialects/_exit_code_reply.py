"""Answers without a document: exit code 2 denies, with the reason on stderr, and text on stdout is context or ignored."""

from typing import Final

from msgspec import UNSET

from hookline.dialects import _foreign, _json_reader
from hookline.dialects._reply_codec import NO_REASON, find_object
from hookline.errors import DialectError
from hookline.model.exchange import Answer, Failure, FailureKind, Reply
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_DENY: Final = 2
# how much of a hook's output a note and an error message keep
_NOTE: Final = 4000
_TAIL: Final = 300


def read_reply(reply: Reply, *, dialect: str, is_context: bool) -> Verdict:
    """Return the verdict of a hook's reply; with `is_context`, what it printed is context.

    A document that denies in the words of another dialect denies here, too.

    Raises:
        DialectError: A function, which has no exit code, returned something other than a denial. Or the hook printed a
            document that looks like an answer, and no dialect has its words.
    """
    foreign = _read_document(reply, dialect=dialect)
    if foreign.decision and not reply.exit_code:
        return Verdict(
            decision=foreign.decision,
            reason=foreign.reason or NO_REASON,
            notes=(*reply.notes, *foreign.notes),
            ends=foreign.ends,
        )
    if reply.value is not UNSET and reply.value is not None:
        raise DialectError(
            f"hooks answer with their exit code, and this function gave {_json_reader.preview(reply.value)}",
            dialect=dialect,
        )
    printed = reply.stdout.decode("utf-8", "replace").removesuffix("\n")
    complaint = reply.stderr.decode("utf-8", "replace").strip()
    notes = (*reply.notes, f"stdout: {printed[:_NOTE]}") if printed else reply.notes
    if reply.exit_code == _DENY:
        return Verdict(decision=Decision.DENY, reason=complaint or printed.strip() or NO_REASON, notes=notes)
    if reply.exit_code:
        output = complaint or printed.strip()
        message = f"ended with exit code {reply.exit_code}" + (f": {output[-_TAIL:]}" if output else "")
        return Verdict(failure=Failure(FailureKind.EXIT_CODE, message), notes=notes)
    if printed and is_context:
        return Verdict(effects=(Effect(EffectKind.CONTEXT, printed),), notes=reply.notes)
    return Verdict(notes=notes)


def _read_document(reply: Reply, *, dialect: str) -> _foreign.ForeignAnswer:
    """Read the document that a hook printed or returned, in the words of any dialect."""
    document = find_object(reply.stdout)[0] if reply.value is UNSET else reply.value
    if not isinstance(document, dict):
        return _foreign.NOTHING
    foreign = _foreign.read(document, own=frozenset())
    if foreign.problem and foreign.is_meant and reply.value is UNSET and not reply.exit_code:
        raise DialectError(foreign.problem, dialect=dialect)
    return foreign


def encode_outcome(outcome: Outcome, *, is_context: bool) -> Answer:
    """Return a denial with its reason, or the context, or an empty answer."""
    if outcome.blocked:
        reason = outcome.reason or NO_REASON
        return Answer(stderr=reason.encode("utf-8", "replace") + b"\n", exit_code=_DENY)
    context = "\n\n".join(filter(None, outcome.context)) if is_context else ""
    return Answer(stdout=context.encode("utf-8", "replace") + b"\n") if context else Answer()
