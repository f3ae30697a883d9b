"""Answers: find the document that a hook printed, apply the exit code, and convert effects both ways."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
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
from hookline.model.hook import OWN_DIALECT
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

NO_REASON: Final = "blocked without a reason"
# what the model reads in place of a result that a hook emptied, where an empty answer would keep the result
NOTHING: Final = "(nothing)"

# how much of a failed hook's output an error message and a note keep
_TAIL: Final = 300
_NOTE: Final = 4000

Document = dict[str, object]


class EffectKeys(Struct, frozen=True):
    """The keys under which answers of one dialect have their effects, empty for those that it does not have."""

    args: str
    output: str
    context: str
    message: str
    prompt: str
    data: str = ""


class ReplyRules(Struct, frozen=True, kw_only=True):
    """How hooks of one dialect answer.

    `read` reads the dialect's own answers, and `effects` are its keys for all that is not a decision. `reads` are the keys
    that the dialect reads itself, with dots between those of nested objects; other keys are read as other dialects spell
    them. `allow_empty` and `allow_text` say whether printing nothing, or only text, is an answer (no opinion). `deny_exit` is
    the exit code that denies by itself. With `strict_json`, JSON between other text can only block; with
    `ignore_exit_code`, an answer counts whatever the exit code is.
    """

    dialect: str
    read: Callable[[Document, Request], Verdict]
    reads: frozenset[str]
    effects: EffectKeys = EffectKeys("", "", "", "", "")
    tools: ToolMap = tool_map()
    allow_empty: bool = False
    allow_text: bool = False
    deny_exit: int = 0
    strict_json: bool = False
    ignore_exit_code: bool = False

    def read_reply(self, reply: Reply, request: Request) -> Verdict:
        """Return the verdict of a hook's reply.

        A blocking answer counts whatever the exit code is. Any other answer of a hook that failed does not.

        Raises:
            DialectError: The hook succeeded, and its output is not an answer.
        """
        document, noise = self._find_document(reply)
        notes = reply.notes
        if noise:
            notes = (*notes, f"stdout: {noise}" if len(noise) <= _NOTE else f"stdout: {noise[:_NOTE]}…")
        try:
            if document is not None and reply.value is UNSET:
                document = self._join_documents(document, noise, reply.stdout)
            verdict = self._read_document(document, noise, request)
            verdict = replace(verdict, notes=(*verdict.notes, *notes)) if notes else verdict
        except UnsupportedRewriteError as problem:
            # letting the unchanged call through would allow what the hook did not
            message = f"the hook's change cannot be applied: {problem}"
            failure = Failure(FailureKind.INVALID_REPLY, message)
            verdict = Verdict(decision=Decision.DENY, reason=message, failure=failure)
        except DialectError as problem:
            verdict = self._salvage_denial(document, problem)
            is_pass = document is not None and verdict.decision is Decision.PASS
            if document and is_pass and self.dialect == OWN_DIALECT and _foreign.is_yes(document, problem.where):
                # a yes in another system's word only lets the call go on; the protocols of others are kept to the letter
                rest = {key: value for key, value in document.items() if key != problem.where}
                verdict = self._read_document(rest, noise, request)
                notes = (*notes, f"{problem.where} is a word of another system, and was read as pass")
            elif not reply.exit_code and verdict.decision is Decision.PASS:
                problem.is_answer = document is not None and _foreign.is_decision(document)
                raise
            reason = verdict.reason or (_foreign.find_reason(document) if document else "")
            verdict = replace(verdict, reason=reason, notes=(*verdict.notes, *notes))
        if not reply.exit_code:
            return verdict
        if reply.exit_code == self.deny_exit:
            reason = verdict.reason or reply.stderr.decode("utf-8", "replace").strip() or noise or NO_REASON
            return replace(verdict, decision=max(verdict.decision, Decision.DENY), reason=reason)
        if verdict.decision >= Decision.ASK or (self.ignore_exit_code and document is not None):
            return verdict
        printed = (reply.stderr or reply.stdout).decode("utf-8", "replace").strip()
        failure = verdict.failure or _exit_code_failure(reply, printed)
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

    def _join_documents(self, document: Document, noise: str, stdout: bytes) -> Document:
        """Return the document that counts: a denial printed before it, or under a key that it has twice, is a no.

        Raises:
            DialectError: It has a decision twice, and they differ.
        """
        for line in noise.splitlines() if "{" in noise else ():
            earlier, _ = find_object(line.encode())
            if earlier is not None and _foreign.read(earlier, own=frozenset()).decision >= Decision.DENY:
                return earlier
        for key in document:
            if _foreign.is_decision_key(key) and stdout.count(f'"{key}"'.encode()) > 1:
                values = _list_values(stdout, key)
                if any(value != values[0] for value in values):
                    message = f"{key} stands there twice, with {_json_reader.preview(values)}"
                    raise DialectError(message, dialect=self.dialect)
        return document

    def _read_document(self, document: Document | None, noise: str, request: Request) -> Verdict:
        if document is None:
            if self.allow_text if noise else self.allow_empty:
                return Verdict()
            message = f"expected one JSON object on stdout, got {_json_reader.preview(noise) or 'nothing'}"
            raise DialectError(message, dialect=self.dialect)
        if not noise or not self.strict_json:
            return self._read_answer(document, request)
        # the JSON may be something that the hook only quotes
        try:
            verdict = self._read_answer(document, request)
        except DialectError as problem:
            verdict = self._salvage_denial(document, problem)
        if verdict.decision >= Decision.ASK:
            return verdict
        return Verdict(notes=("the JSON between other text was not taken as an answer",))

    def _read_answer(self, document: Document, request: Request) -> Verdict:
        """Read a document in the hook's dialect, and its other keys as other dialects spell them; the stricter counts.

        Raises:
            DialectError: It looks like an answer, and no dialect has its words.
        """
        verdict = self.read(document, request)
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
        if foreign.decision and not self.reads.intersection(document) - _foreign.SHARED:
            return Verdict(decision=foreign.decision, reason=foreign.reason, notes=foreign.notes, ends=foreign.ends)
        foreign = foreign if foreign.decision else _foreign.read(document, own=frozenset())
        if not foreign.decision:
            return Verdict()
        return Verdict(
            decision=foreign.decision,
            reason=f"said no, and more that cannot be read: {problem}",
            failure=Failure(FailureKind.INVALID_REPLY, str(problem)),
            notes=foreign.notes,
            ends=foreign.ends,
        )

    # from a document's values to effects

    def read_effects(self, document: Mapping[str, object], event: Event, *, within: str = "") -> tuple[Effect, ...]:
        """Return the effects that a document has under the dialect's keys; `within` is its own path and a dot, for errors."""
        keys = self.effects
        texts = (
            (keys.context, EffectKind.CONTEXT),
            (keys.message, EffectKind.MESSAGE),
            (keys.prompt, EffectKind.ASK_AGENT),
        )
        return (
            *self.args_effects(document.get(keys.args), event, where=within + keys.args),
            *output_effects(document, keys.output),
            *(
                effect
                for key, kind in texts
                if document.get(key) is not None
                for effect in self.text_effects(document[key], kind, where=within + key)
            ),
            *(self.data_effects(document.get(keys.data), where=within + keys.data) if keys.data else ()),
        )

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

    def write_effects(self, outcome: Outcome, event: Event) -> Document:
        """Return all of an outcome but its decision, with arguments under the calling agent's names.

        Texts are one text, or a list of several.
        """
        keys = self.effects
        data = {
            effect.path[0]: effect.value for effect in outcome.effects if effect.kind is EffectKind.DATA and effect.path
        }
        values = {
            keys.args: self.tools.changed_args(outcome, event) or UNSET,
            keys.output: final_output(outcome),
            keys.context: _one_or_list(outcome.context),
            keys.message: _one_or_list(outcome.messages),
            keys.prompt: _one_or_list(outcome.follow_ups),
            keys.data: data or UNSET,
        }
        return drop_unset(values)


def find_object(stdout: bytes) -> tuple[Document | None, str]:
    """Return the last JSON object among the bytes, and the text around it."""
    document, noise = json_codec.find_last_object(stdout)
    if document is None and b"\\u" in stdout:
        return json_codec.find_last_object(_json_reader.repair_utf8(stdout))
    return document, noise


def _list_values(stdout: bytes, key: str) -> list[object]:
    """Return the values that a key has at the top of the documents, as often as it stands there."""
    found: list[object] = []

    def note(pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = [value for name, value in pairs if name == key]
        if len(values) > 1:
            found.extend(values)
        return dict(pairs)

    text = stdout.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        json.loads(text[text.index("{") : text.rindex("}") + 1], object_pairs_hook=note)
    return found


def _exit_code_failure(reply: Reply, output: str) -> Failure:
    message = f"ended with exit code {reply.exit_code}" + (f": {output[-_TAIL:]}" if output else "")
    return Failure(FailureKind.EXIT_CODE, message)


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


def find_reason(outcome: Outcome) -> str:
    """Return the reason of an outcome; a denial and a question always have one, because some agents ignore one without."""
    return outcome.reason or (NO_REASON if outcome.decision >= Decision.ASK else "")


def drop_unset(document: Mapping[str, object]) -> Document:
    """Return a document without its UNSET values."""
    return {key: value for key, value in document.items() if value is not UNSET}


def encode_answer(document: Mapping[str, object]) -> Answer:
    """Return an answer of one line of JSON, without UNSET values."""
    return Answer(stdout=json_codec.dump(drop_unset(document)) + b"\n")


def encode_opinion(document: Mapping[str, object]) -> Answer:
    """Return an answer of one line of JSON, without UNSET values; an empty document is no opinion and an empty answer."""
    return encode_answer(document) if drop_unset(document) else Answer()


# answers without a document: exit code 2 denies, with the reason on stderr, and text on stdout is context or ignored

_DENY_EXIT: Final = 2


def read_exit_code(reply: Reply, *, dialect: str, is_context: bool) -> Verdict:
    """Return the verdict of a hook's reply; with `is_context`, what it printed is context.

    A document that denies in the words of another dialect denies here, too.

    Raises:
        DialectError: A function, which has no exit code, returned something other than a denial. Or the hook printed a
            document that looks like an answer, and no dialect has its words.
    """
    document = find_object(reply.stdout)[0] if reply.value is UNSET else reply.value
    foreign = _foreign.read(document, own=frozenset()) if isinstance(document, dict) else _foreign.NOTHING
    if foreign.problem and foreign.is_meant and reply.value is UNSET and not reply.exit_code:
        raise DialectError(foreign.problem, dialect=dialect)
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
    output = reply.stderr.decode("utf-8", "replace").strip() or printed.strip()
    notes = (*reply.notes, f"stdout: {printed[:_NOTE]}") if printed else reply.notes
    if reply.exit_code == _DENY_EXIT:
        return Verdict(decision=Decision.DENY, reason=output or NO_REASON, notes=notes)
    if reply.exit_code:
        return Verdict(failure=_exit_code_failure(reply, output), notes=notes)
    if printed and is_context:
        return Verdict(effects=(Effect(EffectKind.CONTEXT, printed),), notes=reply.notes)
    return Verdict(notes=notes)


def encode_exit_code(outcome: Outcome, *, is_context: bool) -> Answer:
    """Return a denial with its reason, or the context, or an empty answer."""
    if outcome.blocked:
        reason = outcome.reason or NO_REASON
        return Answer(stderr=reason.encode("utf-8", "replace") + b"\n", exit_code=_DENY_EXIT)
    context = "\n\n".join(filter(None, outcome.context)) if is_context else ""
    return Answer(stdout=context.encode("utf-8", "replace") + b"\n") if context else Answer()
