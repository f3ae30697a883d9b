"""Answers: find the document that a hook printed, apply the exit code, and convert effects both ways."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.dialects import _foreign, _json_reader
from hookline.dialects._json_reader import JsonReader
from hookline.dialects._tool_map import ToolMap, UnsupportedRewriteError, final_output, tool_map
from hookline.errors import DialectError
from hookline.model.event import Event
from hookline.model.exchange import Answer, Failure, FailureKind, Reply, Request
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

NO_REASON: Final = "blocked without a reason"
# what the model reads in place of a result that a hook emptied, where an empty answer would keep the result
NOTHING: Final = "(nothing)"

# how much of a failed hook's output an error message and a note keep
_TAIL: Final = 300
_NOTE: Final = 4000

Document = dict[str, object]
AnswerReader = Callable[[Document, Request], Verdict]


class OutcomeParts(Struct, frozen=True, kw_only=True):
    """The parts of an outcome, with arguments under the calling agent's names; missing parts are UNSET.

    `context`, `messages` and `prompts` are one text, or a list of several.
    """

    reason: object
    args: object
    output: object
    context: object
    messages: object
    prompts: object
    data: object


class ReplyRules(Struct, frozen=True, kw_only=True):
    """How hooks of one dialect answer.

    `reads` are the keys that the dialect reads itself, with dots between those of nested objects; other keys are read as
    other dialects spell them. `allow_empty` and `allow_text` say whether printing nothing, or only text, is an answer (no
    opinion). `deny_exit` is the exit code that denies by itself. With `strict_json`, JSON between other text can only block;
    with `ignore_exit_code`, an answer counts whatever the exit code is.
    """

    dialect: str
    reads: frozenset[str]
    tools: ToolMap = tool_map()
    allow_empty: bool = False
    allow_text: bool = False
    deny_exit: int = 0
    strict_json: bool = False
    ignore_exit_code: bool = False

    def read_reply(self, reply: Reply, request: Request, read: AnswerReader) -> Verdict:
        """Return the verdict of a hook's reply; `read` reads the dialect's own answers.

        A blocking answer counts whatever the exit code is. Any other answer of a hook that failed does not.

        Raises:
            DialectError: The hook succeeded, and its output is not an answer.
        """
        document, noise = self._find_document(reply)
        try:
            verdict = self._read_document(document, noise, reply, request, read)
        except UnsupportedRewriteError as problem:
            # letting the unchanged call through would allow what the hook did not
            message = f"the hook's change cannot be applied: {problem}"
            failure = Failure(FailureKind.INVALID_REPLY, message)
            verdict = Verdict(decision=Decision.DENY, reason=message, failure=failure)
        except DialectError as problem:
            verdict = self._salvage_denial(document, problem)
            if not reply.exit_code and verdict.decision is Decision.PASS:
                problem.is_answer = document is not None and _foreign.is_decision(document)
                raise
            reason = verdict.reason or (_foreign.find_reason(document) if document else "")
            verdict = replace(verdict, reason=reason, notes=(*verdict.notes, *reply.notes, *_note_noise(noise)))
        if not reply.exit_code:
            return verdict
        if reply.exit_code == self.deny_exit:
            reason = verdict.reason or reply.stderr.decode("utf-8", "replace").strip() or noise or NO_REASON
            return replace(verdict, decision=max(verdict.decision, Decision.DENY), reason=reason)
        if verdict.decision >= Decision.ASK or (self.ignore_exit_code and document is not None):
            return verdict
        printed = (reply.stderr or reply.stdout).decode("utf-8", "replace").strip()
        message = f"ended with exit code {reply.exit_code}" + (f": {printed[-_TAIL:]}" if printed else "")
        failure = verdict.failure or Failure(FailureKind.EXIT_CODE, message)
        return Verdict(failure=failure, notes=verdict.notes, metadata=verdict.metadata)

    def _find_document(self, reply: Reply) -> tuple[Document | None, str]:
        """Return the document among the printed bytes, or the value that a function returned, and other text."""
        value = reply.value
        if value is UNSET:
            return find_object(reply.stdout)
        if value is None or isinstance(value, dict):
            return value, ""
        message = (
            f"expected a dict or None from the function, got {type(value).__name__}: {_json_reader.preview(value)}"
        )
        raise DialectError(message, dialect=self.dialect)

    def _read_document(
        self, document: Document | None, noise: str, reply: Reply, request: Request, read: AnswerReader
    ) -> Verdict:
        notes = (*reply.notes, *_note_noise(noise))
        if document is None:
            if self.allow_text if noise else self.allow_empty:
                return Verdict(notes=notes)
            message = f"expected one JSON object on stdout, got {_json_reader.preview(noise) or 'nothing'}"
            raise DialectError(message, dialect=self.dialect)
        if not noise or not self.strict_json:
            verdict = self._read_answer(document, request, read)
            return replace(verdict, notes=(*verdict.notes, *notes)) if notes else verdict
        # the JSON may be something that the hook only quotes
        try:
            verdict = self._read_answer(document, request, read)
        except DialectError as problem:
            verdict = self._salvage_denial(document, problem)
        if verdict.decision >= Decision.ASK:
            return replace(verdict, notes=(*verdict.notes, *notes))
        return Verdict(notes=(*notes, "the JSON between other text was not taken as an answer"))

    def _read_answer(self, document: Document, request: Request, read: AnswerReader) -> Verdict:
        """Read a document in the hook's dialect, and its other keys as other dialects spell them; the stricter counts.

        Raises:
            DialectError: It looks like an answer, and no dialect has its words.
        """
        verdict = read(document, request)
        if verdict.decision >= Decision.DENY:
            if verdict.reason:
                return verdict
            # a message that the dialect reads is shown as one, and is not a reason
            others = {key: value for key, value in document.items() if key not in self.reads or key == "reason"}
            return replace(verdict, reason=_foreign.find_reason(others))
        foreign = _foreign.read(document, own=self.reads)
        if foreign is _foreign.NOTHING:
            return verdict
        if foreign.problem:
            raise DialectError(foreign.problem, dialect=self.dialect)
        if foreign.decision > verdict.decision:
            verdict = replace(verdict, decision=foreign.decision, reason=foreign.reason, ends=foreign.ends)
        effects = _foreign.read_effects(document, request.event, own=self.reads, tools=self.tools)
        return replace(verdict, effects=(*verdict.effects, *effects), notes=(*verdict.notes, *foreign.notes))

    def _salvage_denial(self, document: Document | None, problem: DialectError) -> Verdict:
        """Return the denial in an answer that its dialect cannot read.

        A denial in another dialect's words is an answer like any other. Beside a mistake in the dialect's own words it still
        denies, and the mistake is a failure of the hook.
        """
        if document is None:
            return Verdict()
        foreign = _foreign.read(document, own=self.reads)
        if foreign.decision is Decision.PASS:
            foreign = _foreign.read(document, own=frozenset())
            if foreign.decision is Decision.PASS:
                return Verdict()
        elif not self.reads.intersection(document) - _foreign.SHARED:
            return Verdict(decision=foreign.decision, reason=foreign.reason, notes=foreign.notes, ends=foreign.ends)
        failure = Failure(FailureKind.INVALID_REPLY, str(problem))
        reason = f"said no, and more that cannot be read: {problem}"
        return Verdict(
            decision=foreign.decision, reason=reason, failure=failure, notes=foreign.notes, ends=foreign.ends
        )

    # from a document's values to effects

    def read_effects(
        self,
        document: Mapping[str, object],
        event: Event,
        *,
        args: str = "",
        output: str = "",
        texts: Mapping[str, EffectKind],
        data: str = "",
        within: str = "",
    ) -> tuple[Effect, ...]:
        """Return the effects under these keys of a document; `within` is its own path and a dot, for errors."""
        rewrites = self.args_effects(document.get(args), event, where=within + args) if args else ()
        outputs = output_effects(document, output) if output else ()
        said = [self.text_effects(document.get(key), kind, where=within + key) for key, kind in texts.items()]
        handed_on = self.data_effects(document.get(data), where=within + data) if data else ()
        return (*rewrites, *outputs, *(effect for effects in said for effect in effects), *handed_on)

    def args_effects(self, value: object, event: Event, *, where: str) -> tuple[Effect, ...]:
        """Return the effects of arguments that the hook changed, under its dialect's names.

        Raises:
            UnsupportedRewriteError: It is not an object, or the event's tool has no arguments for this.
        """
        if value is not None and not isinstance(value, dict):
            raise UnsupportedRewriteError(f"{where} is {_json_reader.preview(value)}, wanted an object")
        return self.tools.rewrite_effects(event, value) if value else ()

    def text_effects(self, value: object, kind: EffectKind, *, where: str) -> tuple[Effect, ...]:
        """Return the effects of a text, a list of texts, or null."""
        effects = loose_text_effects(value, kind)
        if effects is None:
            raise JsonReader(self.dialect).error(value, where, wanted="a text or a list of texts")
        return effects

    def data_effects(self, value: object, *, where: str) -> tuple[Effect, ...]:
        """Return the effects of data for the next hook."""
        items = JsonReader(self.dialect).read_object(value, where).items()
        return tuple(Effect(EffectKind.DATA, item, (str(key),)) for key, item in items)

    def extra_keys(self, document: Mapping[str, object]) -> dict[str, object]:
        """Return what the document has under keys that the dialect does not read."""
        return {key: value for key, value in document.items() if key not in self.reads}

    # from an outcome to a document's values

    def split_outcome(self, outcome: Outcome, event: Event) -> OutcomeParts:
        """Return the parts of an outcome for a document."""
        data = {e.path[0]: e.value for e in outcome.effects if e.kind is EffectKind.DATA and e.path}
        return OutcomeParts(
            reason=outcome.reason or UNSET,
            args=self.tools.changed_args(outcome, event) or UNSET,
            output=final_output(outcome),
            context=_one_or_list(outcome.context),
            messages=_one_or_list(outcome.messages),
            prompts=_one_or_list(outcome.follow_ups),
            data=data or UNSET,
        )


def find_object(stdout: bytes) -> tuple[Document | None, str]:
    """Return the last JSON object among the bytes, and the text around it."""
    document, noise = json_codec.find_last_object(stdout)
    if document is None and b"\\u" in stdout:
        return json_codec.find_last_object(_json_reader.repair_utf8(stdout))
    return document, noise


def _note_noise(noise: str) -> tuple[str, ...]:
    if not noise:
        return ()
    return (f"stdout: {noise}" if len(noise) <= _NOTE else f"stdout: {noise[:_NOTE]}…",)


def loose_text_effects(value: object, kind: EffectKind) -> tuple[Effect, ...] | None:
    """Return the effects of a text, a list of texts, or null; None for any other value."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(item, str) for item in items):
        return None
    return tuple(Effect(kind, item) for item in items if item)


def output_effects(document: Mapping[str, object], key: str) -> tuple[Effect, ...]:
    """Return the effect of an output that replaces the tool's, which may be null."""
    return (Effect(EffectKind.REWRITE, document[key], ("output",)),) if key in document else ()


def hide_result(verdict: Verdict) -> Verdict:
    """Let a denial replace the tool's result, as the agents do that show its reason in place of the result.

    In other agents a denial after a tool stands beside the result, and the model would read what the hook took away.
    """
    if verdict.decision < Decision.DENY or any(effect.path[:1] == ("output",) for effect in verdict.effects):
        return verdict
    hidden = Effect(EffectKind.REWRITE, verdict.reason or NO_REASON, ("output",))
    return replace(verdict, effects=(hidden, *verdict.effects))


def _one_or_list(items: tuple[str, ...]) -> object:
    texts = [item for item in items if item]
    return UNSET if not texts else texts[0] if len(texts) == 1 else texts


def join_texts(texts: object) -> object:
    """Join a list of texts with a blank line between them, for a field that has one text."""
    return "\n\n".join(texts) if isinstance(texts, list) else texts


def drop_unset(document: Mapping[str, object]) -> Document:
    """Return a document without its UNSET values."""
    return {key: value for key, value in document.items() if value is not UNSET}


def encode_answer(document: Mapping[str, object]) -> Answer:
    """Return an answer of one line of JSON, without UNSET values."""
    return Answer(stdout=json_codec.dump(drop_unset(document)) + b"\n")
