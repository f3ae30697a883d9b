"""What all dialects share about answers: finding the document, exit codes, and effects both ways."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hookline import wire
from hookline.dialects import _read
from hookline.dialects._tools import Toolbox, UnfitError, final_output
from hookline.errors import DialectError
from hookline.model.event import Event
from hookline.model.exchange import Answer, Failure, FailureKind, Reply, Request
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

NO_REASON: Final = "blocked without a reason"
# what the model reads in place of a result that a hook emptied, where saying nothing would leave the result as it was
NOTHING: Final = "(nothing)"

# how much of what a failing hook printed is worth keeping in a message
_TAIL: Final = 300
_NOTE: Final = 4000

Document = dict[str, object]
Reader = Callable[[Document, Request], Verdict]


class Manners(Struct, frozen=True, kw_only=True):
    """How hooks of one dialect answer besides their document.

    `silence` and `chatter` say whether printing nothing, or only text, is an answer ("go on"). `deny_exit` is
    the exit code that blocks by itself. `exact` says that an answer between other text can only block, `json_always`
    that an answer counts whatever the exit code is.
    """

    dialect: str
    silence: bool = False
    chatter: bool = False
    deny_exit: int = 0
    exact: bool = False
    json_always: bool = False


def read_reply(reply: Reply, request: Request, *, read: Reader, manners: Manners) -> Verdict:
    """Turn a hook's answer into a verdict.

    A blocking answer counts whatever the exit code is. Any other answer of a hook that failed does not.

    Raises:
        DialectError: The hook ended well, but this is no answer.
    """
    document, noise = _find(reply, dialect=manners.dialect)
    try:
        verdict = _read_document(document, noise, reply=reply, request=request, read=read, manners=manners)
    except UnfitError as problem:
        verdict = _unfit(problem)
    except DialectError as problem:
        verdict = _despite(document, problem)
        if not reply.exit_code and verdict.decision is Decision.PASS:
            raise
        verdict = replace(verdict, notes=(*reply.notes, *_noted(noise)))
    if not reply.exit_code:
        return verdict
    if reply.exit_code == manners.deny_exit:
        return _denied(verdict, reply, noise=noise)
    if verdict.decision >= Decision.ASK or (manners.json_always and document is not None):
        return verdict
    failure = verdict.failure or Failure(FailureKind.EXIT_CODE, _exit_message(reply))
    return Verdict(failure=failure, notes=verdict.notes, metadata=verdict.metadata)


def _read_document(
    document: Document | None, noise: str, *, reply: Reply, request: Request, read: Reader, manners: Manners
) -> Verdict:
    notes = (*reply.notes, *_noted(noise)) if noise else reply.notes
    if document is None:
        if manners.chatter if noise else manners.silence:
            return Verdict(notes=notes)
        raise DialectError(
            f"expected one JSON object on stdout, got {_read.shown(noise) or 'nothing'}", dialect=manners.dialect
        )
    if noise and manners.exact:
        return _read_quoted(document, request, read=read, notes=notes)
    verdict = read(document, request)
    return replace(verdict, notes=(*verdict.notes, *notes)) if notes else verdict


def _read_quoted(document: Document, request: Request, *, read: Reader, notes: tuple[str, ...]) -> Verdict:
    """Read JSON between other text, which may be something the hook only quotes: it can block, and nothing else."""
    try:
        verdict = read(document, request)
    except DialectError as problem:
        verdict = _despite(document, problem)
    if verdict.decision >= Decision.ASK:
        return replace(verdict, notes=(*verdict.notes, *notes))
    return Verdict(notes=(*notes, "the JSON between other text was not taken as an answer"))


# how systems say no; a hook that says it in any of these words has said it
_NO_FIELDS: Final = ("decision", "permissionDecision", "permission", "action", "behavior")
# the same as fields of their own: with a flag, or with a reason
_NO_FLAGS: Final = {"cancel": Decision.DENY, "review": Decision.ASK}
_NO_REASONS: Final = {"block": Decision.DENY, "stop": Decision.STOP}
_NO_WORDS: Final = {
    "deny": Decision.DENY,
    "block": Decision.DENY,
    "reject": Decision.DENY,
    "ask": Decision.ASK,
    "stop": Decision.STOP,
}


def _despite(document: Document | None, problem: DialectError) -> Verdict:
    """Keep the no of an answer that cannot be read otherwise: a mistake beside it does not take it back."""
    decision = max(map(_no, _parts_of(document)), default=Decision.PASS)
    if decision is Decision.PASS:
        return Verdict()
    failure = Failure(FailureKind.INVALID_REPLY, str(problem))
    return Verdict(decision=decision, reason=f"said no, and more that cannot be read: {problem}", failure=failure)


def _parts_of(document: Document | None) -> Iterator[Mapping[str, object]]:
    if document is not None:
        yield document
        for name in ("result", "hookSpecificOutput", "decision"):
            part = document.get(name)
            if isinstance(part, dict):
                yield from _parts_of(part)


def _no(part: Mapping[str, object]) -> Decision:
    words = [part.get(field) for field in _NO_FIELDS]
    said = [_NO_WORDS.get(word, Decision.PASS) for word in words if isinstance(word, str)]
    said += [decision for key, decision in _NO_FLAGS.items() if part.get(key) is True]
    said += [decision for key, decision in _NO_REASONS.items() if part.get(key) not in (None, False)]
    halted = part.get("allow") is False or part.get("continue") is False
    return max([*said, Decision.DENY if halted else Decision.PASS])


def _unfit(problem: UnfitError) -> Verdict:
    # letting the unchanged call through would allow what the hook did not
    message = f"the hook's change cannot be applied: {problem}"
    return Verdict(decision=Decision.DENY, reason=message, failure=Failure(FailureKind.INVALID_REPLY, message))


def _find(reply: Reply, *, dialect: str) -> tuple[Document | None, str]:
    """Find the document among the bytes, or take the value of a function."""
    value = reply.value
    if value is UNSET:
        return _last_object(reply.stdout)
    if value is None or isinstance(value, dict):
        return value, ""
    raise DialectError(
        f"expected a dict or None from the function, got {type(value).__name__}: {_read.shown(value)}", dialect=dialect
    )


def _last_object(stdout: bytes) -> tuple[Document | None, str]:
    document, noise = wire.last_object(stdout)
    if document is None and b"\\u" in stdout:
        return wire.last_object(_read.repaired(stdout))
    return document, noise


def _noted(noise: str) -> tuple[str, ...]:
    if not noise:
        return ()
    return (f"stdout: {noise}" if len(noise) <= _NOTE else f"stdout: {noise[:_NOTE]}…",)


def _denied(verdict: Verdict, reply: Reply, *, noise: str) -> Verdict:
    reason = verdict.reason or reply.stderr.decode("utf-8", "replace").strip() or noise or NO_REASON
    return replace(verdict, decision=max(verdict.decision, Decision.DENY), reason=reason)


def _exit_message(reply: Reply) -> str:
    said = (reply.stderr or reply.stdout).decode("utf-8", "replace").strip()
    return f"ended with exit code {reply.exit_code}" + (f": {said[-_TAIL:]}" if said else "")


# reading: from a document's values to effects


def texts(value: object, kind: EffectKind, *, where: str, dialect: str) -> tuple[Effect, ...]:
    """Take a text, a list of texts, or nothing."""
    effects = loose_texts(value, kind)
    if effects is None:
        raise _read.wrong(value, where, dialect=dialect, wanted="a text or a list of texts")
    return effects


def loose_texts(value: object, kind: EffectKind) -> tuple[Effect, ...] | None:
    """Take a text, a list of texts, or nothing; say None when it is something else."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(item, str) for item in items):
        return None
    return tuple(Effect(kind, item) for item in items if item)


def data_effects(value: object, *, where: str, dialect: str) -> tuple[Effect, ...]:
    """Take what is handed to the next hook."""
    return tuple(
        Effect(EffectKind.DATA, item, (str(key),)) for key, item in _read.obj(value, where, dialect=dialect).items()
    )


def output_effects(document: Mapping[str, object], key: str) -> tuple[Effect, ...]:
    """Take another output than the tool's, which may be null."""
    return (Effect(EffectKind.REWRITE, document[key], ("output",)),) if key in document else ()


def args_effects(value: object, event: Event, *, tools: Toolbox, where: str, dialect: str) -> tuple[Effect, ...]:
    """Take arguments the hook changed, under its own names.

    Raises:
        DialectError: It is no object.
        UnfitError: The event's tool has no arguments for this.
    """
    if value is not None and not isinstance(value, dict):
        raise UnfitError(f"{where} is {_read.shown(value)}, wanted an object")
    changed = _read.obj(value, where, dialect=dialect)
    return tools.rewrites(event, changed) if changed else ()


def hiding(verdict: Verdict) -> Verdict:
    """Add to a no what it does in the agents that put its reason in place of a tool's result: the result is not told.

    Elsewhere a no after a tool stands beside the result, and the model would read what the hook took away.
    """
    if verdict.decision < Decision.DENY or any(effect.path[:1] == ("output",) for effect in verdict.effects):
        return verdict
    return replace(
        verdict, effects=(Effect(EffectKind.REWRITE, verdict.reason or NO_REASON, ("output",)), *verdict.effects)
    )


# writing: from an outcome to a document's values


class Parts(Struct, frozen=True, kw_only=True):
    """An outcome taken apart, arguments under the host's names; what it does not have is UNSET.

    `context`, `messages` and `prompts` are as a field of ours has them: one text, or a list.
    """

    reason: object
    args: object
    output: object
    context: object
    messages: object
    prompts: object
    data: object


def parts(outcome: Outcome, event: Event, *, tools: Toolbox) -> Parts:
    """Take an outcome apart."""
    data = {e.path[0]: e.value for e in outcome.effects if e.kind is EffectKind.DATA and e.path}
    return Parts(
        reason=outcome.reason or UNSET,
        args=tools.changed(outcome, event) or UNSET,
        output=final_output(outcome),
        context=_one_or_all(outcome.context),
        messages=_one_or_all(outcome.messages),
        prompts=_one_or_all(outcome.follow_ups),
        data=data or UNSET,
    )


def _one_or_all(items: tuple[str, ...]) -> object:
    said = [item for item in items if item]
    return UNSET if not said else said[0] if len(said) == 1 else said


def joined(said: object) -> object:
    """Make one text of several, with a blank line between them, where the document has one text."""
    return "\n\n".join(said) if isinstance(said, list) else said


def present(document: Mapping[str, object]) -> Document:
    """Leave out what is not there."""
    return {key: value for key, value in document.items() if value is not UNSET}


def answer(document: Mapping[str, object]) -> Answer:
    """Write an answer as one line, without what is not there."""
    return Answer(stdout=wire.dump(present(document)) + b"\n")
