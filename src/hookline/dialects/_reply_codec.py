"""Answers: find the document that a hook printed, apply the exit code, and convert effects both ways.

A guard that denies in the words of another system has denied. One table lists how every known system spells a decision and a
change; `read_foreign` applies it to the keys that the hook's own dialect does not read. A foreign denial counts; a foreign allow
is only noted, so that it never widens a permission. A document that looks like an answer in no system's words (a misspelt key, an
unknown value) is reported as a problem, and the hook's failure policy decides.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.dialects import _json_reader
from hookline.dialects._json_reader import JsonReader, key_set
from hookline.dialects._tools import ToolMap, UnsupportedRewriteError, final_output, tool_map
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
            if document and is_pass and self.dialect == OWN_DIALECT and is_yes(document, problem.where):
                # a yes in another system's word only lets the call go on; the protocols of others are kept to the letter
                rest = {key: value for key, value in document.items() if key != problem.where}
                verdict = self._read_document(rest, noise, request)
                notes = (*notes, f"{problem.where} is a word of another system, and was read as pass")
            elif not reply.exit_code and verdict.decision is Decision.PASS:
                foreign = read_foreign(document or {}, own=frozenset())
                problem.is_answer = bool(foreign.notes) or foreign.is_meant
                raise
            reason = verdict.reason or (find_foreign_reason(document) if document else "")
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
            if earlier is not None and read_foreign(earlier, own=frozenset()).decision >= Decision.DENY:
                return earlier
        for key in document:
            if is_decision_key(key) and stdout.count(f'"{key}"'.encode()) > 1:
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
        if verdict.decision is Decision.STOP:
            # it keeps later hooks from running as well
            verdict = replace(verdict, ends=True)
        if verdict.decision >= Decision.DENY:
            if verdict.reason:
                return verdict
            # a message that the dialect reads is shown as one, and is not a reason
            others = {key: value for key, value in document.items() if key not in self.reads or key == "reason"}
            return replace(verdict, reason=find_foreign_reason(others))
        foreign = read_foreign(document, own=self.reads)
        if foreign is _NO_ANSWER:
            return verdict
        if foreign.problem:
            raise DialectError(foreign.problem, dialect=self.dialect)
        if foreign.decision > verdict.decision:
            verdict = replace(verdict, decision=foreign.decision, reason=foreign.reason, ends=foreign.ends)
        effects = read_foreign_effects(document, request.event, own=self.reads, tools=self.tools)
        return replace(verdict, effects=(*verdict.effects, *effects), notes=(*verdict.notes, *foreign.notes))

    def _salvage_denial(self, document: Document | None, problem: DialectError) -> Verdict:
        """Return the denial in an answer that its dialect cannot read.

        A denial in another dialect's words is an answer like any other. Beside a mistake in the dialect's own words it still
        denies, and the mistake is a failure of the hook.
        """
        if document is None:
            return Verdict()
        foreign = read_foreign(document, own=self.reads)
        if foreign.decision and not self.reads.intersection(document) - _SHARED_KEYS:
            return Verdict(decision=foreign.decision, reason=foreign.reason, notes=foreign.notes, ends=foreign.ends)
        foreign = foreign if foreign.decision else read_foreign(document, own=frozenset())
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
    foreign = read_foreign(document, own=frozenset()) if isinstance(document, dict) else _NO_ANSWER
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


# answers in the words of other dialects than the hook's own

_PASS, _ASK, _DENY, _STOP = Decision.PASS, Decision.ASK, Decision.DENY, Decision.STOP

WORDS: Final[Mapping[str, Decision]] = {
    **dict.fromkeys(("deny", "block", "reject"), _DENY),
    **dict.fromkeys(("ask", "defer", "force_ask"), _ASK),
    **dict.fromkeys(("stop", "terminate"), _STOP),
    # a foreign allow only lets the call go on to the user's own permissions
    **dict.fromkeys(("allow", "approve", "pass", "continue", "none", "modify", "askagent", ""), _PASS),
}


class DecisionKey(Struct, frozen=True):
    """How one key spells a decision, and the system that does so.

    With `flag`, the key is a boolean and this value of it means `decision`; with `texts`, it may be a reason instead.
    """

    system: str
    flag: bool | None = None
    decision: Decision = _DENY
    texts: bool = False

    def decide(self, value: object) -> Decision | None:
        """Return the decision, None for a value that no system accepts."""
        if self.flag is None:
            return WORDS.get(value.strip().lower()) if isinstance(value, str) else None
        if isinstance(value, bool):
            return self.decision if value is self.flag else _PASS
        return self.decision if self.texts else None


# by key without case, dashes and underscores
DECISIONS: Final[Mapping[str, DecisionKey]] = {
    "decision": DecisionKey("claude-code"),
    "permissiondecision": DecisionKey("ollama-cli"),
    "permission": DecisionKey("cursor"),
    "behavior": DecisionKey("claude-code"),
    "action": DecisionKey("ollm-rpc"),
    "allow": DecisionKey("ollm-protocol", flag=False),
    "continue": DecisionKey("ollm", flag=False),
    "cancel": DecisionKey("cline", flag=True),
    "review": DecisionKey("cline", flag=True, decision=_ASK),
    "block": DecisionKey("opencode", flag=True, texts=True),
    "ask": DecisionKey("opencode", flag=True, decision=_ASK, texts=True),
    "stop": DecisionKey("opencode", flag=True, decision=_STOP, texts=True),
    "interrupt": DecisionKey("claude-code", flag=True, decision=_STOP),
    "deny": DecisionKey("no system", flag=True, texts=True),
    **dict.fromkeys(("ok", "allowed", "approved", "permitted", "proceed"), DecisionKey("no system", flag=False)),
    **dict.fromkeys(("blocked", "denied", "rejected", "forbidden"), DecisionKey("no system", flag=True)),
}
# objects that systems wrap around their answers
_CONTAINERS: Final = ("result", "hookSpecificOutput", "decision")

_REASONS: Final = (
    *("reason", "permissionDecisionReason", "stopReason", "message", "errorMessage", "user_message", "agent_message"),
    *("systemMessage", "error"),
)
# keys that hold something else than a text, or none that says no
_NEVER_TEXT: Final = frozenset({"result", "type"})
# reasons that no agent shows without a decision
_ONLY_REASONS: Final = frozenset({"reason", "permissionDecisionReason", "stopReason"})
# keys that change a call or its result in every system that has them
_ARGS_KEYS: Final = key_set("updatedInput updated_input modifiedArgs modified_args overrideInput")
_OUTPUT_KEYS: Final = key_set(
    "updatedOutput updatedToolOutput updatedMCPToolOutput updated_mcp_tool_output modifiedResult modified_result"
)
_TEXT_KEYS: Final[Mapping[str, EffectKind]] = {
    **dict.fromkeys(("additionalContext", "additional_context", "contextModification"), EffectKind.CONTEXT),
    **dict.fromkeys(("systemMessage", "user_message"), EffectKind.MESSAGE),
    **dict.fromkeys(("askAgent", "ask_agent", "followup_message"), EffectKind.ASK_AGENT),
}
# keys of answers without a decision: they are not misspelt decisions
_KNOWN: Final = frozenset(_CONTAINERS).union(_ARGS_KEYS, _OUTPUT_KEYS, _TEXT_KEYS) | key_set(
    "args context data message metadata output prompt raise tool_input version hookEventName suppressOutput "
    "terminationBehavior injectSteps toolConfig llm_response jsonrpc id type suppressOriginalPrompt initialUserMessage "
    "updatedPermissions watchPaths"
)
# keys and values of reports of success, as `{"status": "ok"}` and `{"logged": true}`
_REPORTS: Final = key_set("status success logged saved sent notified recorded done handled")
_FINE: Final = key_set("ok success passed pass done allow allowed approved true yes")
_NO_LIKE: Final = key_set(
    "no deny denied block blocked reject rejected forbid forbidden refuse refused disallow disallowed stop abort cancel "
    "veto fail failed unsafe"
)
# shorter names are similar to too many words
_SHORTEST_MISSPELT: Final = 5
_LONG: Final = 8


class ForeignAnswer(Struct, frozen=True, kw_only=True):
    """What a reply says in the words of other dialects.

    `problem` says why the document is not an answer; it is empty for an answer and for a document that says nothing. With
    `is_meant`, the document is meant as a decision, and is not just JSON of some other kind.
    """

    decision: Decision = _PASS
    reason: str = ""
    notes: tuple[str, ...] = ()
    problem: str = ""
    is_meant: bool = False

    @property
    def ends(self) -> bool:
        """Whether the agent's run is to end."""
        return self.decision is _STOP


# keys that explain an answer in most dialects and are not answers by themselves
_SHARED_KEYS: Final = frozenset({*_REASONS, "metadata", "data", "context"})
_NO_ANSWER: Final = ForeignAnswer()


def read_foreign(document: Mapping[str, object], *, own: frozenset[str]) -> ForeignAnswer:
    """Read the decision that a document has under keys other than `own`, the dotted keys that its dialect reads."""
    if own.issuperset(document) and not any(isinstance(document.get(key), dict) for key in _CONTAINERS):
        return _only_reason(document)
    found: list[tuple[Decision, str, str]] = []
    problems: list[str] = []
    unknown: list[tuple[str, object]] = []
    is_answer = decides = False
    for prefix, part in _parts(document):
        for key, value in part.items():
            name = f"{prefix}{key}"
            is_own = name in own
            spelling = DECISIONS.get(_bare(key))
            if value is None or (key in _CONTAINERS and isinstance(value, dict)):
                is_answer = is_answer or is_own or key in _CONTAINERS
            elif is_own:
                decides = decides or spelling is not None
                is_answer = is_answer or key not in _ONLY_REASONS
            elif spelling is None:
                says_no = isinstance(value, str) and value.strip().lower() in _NO_LIKE
                if key == "hookSpecificOutput" or (key in _NEVER_TEXT and says_no):
                    problems.append(f"{name} is {_json_reader.preview(value)}, where no decision stands")
                is_answer = is_answer or key in _KNOWN
                if key not in _KNOWN and key not in _REASONS:
                    unknown.append((name, value))
            elif (decision := spelling.decide(value)) is None:
                problems.append(f"{name} is {_json_reader.preview(value)}, which is neither a yes nor a no")
            else:
                why = value if isinstance(value, str) and spelling.texts else find_foreign_reason(part, document)
                if key == "continue" and decision and part.get("stopReason"):
                    decision = _STOP
                found.append((decision, why, f"read as {spelling.system}: {name}"))
    decides = decides or bool(found)
    strongest = max((decision for decision, _, _ in found), default=_PASS)
    problem = _find_problem(document, unknown, problems, decides=decides)
    return ForeignAnswer(
        decision=strongest,
        reason="\n".join(dict.fromkeys(why for decision, why, _ in found if decision is strongest and why)),
        notes=tuple(note for _, _, note in found),
        problem=problem or ("" if is_answer or decides else _find_unknown_key(document, unknown)),
        is_meant=bool(problem),
    )


def is_decision_key(key: object) -> bool:
    """Return whether a key spells a decision in any dialect."""
    return _bare(key) in DECISIONS


def is_yes(document: Mapping[str, object], key: str) -> bool:
    """Return whether the value of a key that spells a decision is a word with which a known system lets a call go on."""
    word = document.get(key)
    return is_decision_key(key) and isinstance(word, str) and bool(word) and WORDS.get(word.strip().lower()) is _PASS


def read_foreign_effects(
    document: Mapping[str, object], event: Event, *, own: frozenset[str], tools: ToolMap
) -> list[Effect]:
    """Read the changes, the context and the messages that a document has under keys other than `own`.

    Arguments are under the names of the hook's own dialect, which the hook was given.

    Raises:
        UnsupportedRewriteError: The arguments cannot be changed like this.
    """
    effects: list[Effect] = []
    for prefix, part in _parts(document):
        for key in part:
            value = part[key]
            if f"{prefix}{key}" in own or value is None:
                continue
            if key in _ARGS_KEYS and isinstance(value, dict):
                effects += tools.rewrite_effects(event, value)
            elif key in _OUTPUT_KEYS:
                effects.append(Effect(EffectKind.REWRITE, value, ("output",)))
            elif (kind := _TEXT_KEYS.get(key)) is not None and isinstance(value, str) and value:
                effects.append(Effect(kind, value))
    return effects


def _parts(
    document: Mapping[str, object], prefix: str = "", depth: int = 3
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the document and the nested objects that hold answers, each with the prefix of its keys."""
    yield prefix, document
    for name in _CONTAINERS if depth else ():
        part = document.get(name)
        if isinstance(part, dict):
            yield from _parts(part, f"{prefix}{name}.", depth - 1)


def find_foreign_reason(*parts: Mapping[str, object]) -> str:
    """Return the first reason in these objects, empty where there is none."""
    reasons = (part.get(key) for part in parts for key in _REASONS)
    return next((text for text in reasons if isinstance(text, str) and text), "")


def _only_reason(document: Mapping[str, object]) -> ForeignAnswer:
    """Report a reason without a decision: the decision was lost."""
    lost = [key for key in document if key in _ONLY_REASONS]
    if lost and len(lost) == len(document) and all(document.values()):
        return ForeignAnswer(problem=f"{lost[0]} comes without a decision", is_meant=True)
    return _NO_ANSWER


def _find_problem(
    document: Mapping[str, object], unknown: list[tuple[str, object]], problems: list[str], *, decides: bool
) -> str:
    """Return the problem with a key that is meant as a decision and cannot be read; beside a readable one it is an extra."""
    for name, value in unknown:
        meant = _misspelt(name.rpartition(".")[2]) if isinstance(value, bool | str) else ""
        decision = DECISIONS[meant].decide(value) if meant else None
        if meant and (not decides or decision is None or decision >= _ASK):
            return f"{_json_reader.preview(name)} is no key of an answer, did you mean {meant!r}?"
        if not decides and isinstance(value, str) and value.strip().lower() in _NO_LIKE:
            return f"{_json_reader.preview(name)} is no key of an answer, and says {_json_reader.preview(value)}"
    if decides:
        return ""
    error = document.get("error")
    if error and not problems:
        message = error.get("message") if isinstance(error, Mapping) else error
        return f"it reports an error: {_json_reader.preview(message)}"
    return problems[0] if problems else ""


def _find_unknown_key(document: Mapping[str, object], unknown: list[tuple[str, object]]) -> str:
    """Return why a document without a known key is not an answer; a report of success is not meant as one."""
    is_report = any(_bare(name) in _REPORTS and str(value).strip().lower() in _FINE for name, value in unknown)
    if not document or is_report:
        return ""
    return (
        f"{_json_reader.preview(unknown[0][0])} is no key of an answer" if unknown else _only_reason(document).problem
    )


def _bare(key: object) -> str:
    # a function may return anything as a key
    return str(key).replace("_", "").replace("-", "").lower()


def _misspelt(key: str) -> str:
    """Return the decision key that a key misspells, empty where there is none."""
    bare = _bare(key)
    for name in DECISIONS:
        if len(name) >= _SHORTEST_MISSPELT and _is_near(bare, name, most=2 if len(name) >= _LONG else 1):
            return name
    return ""


def _is_near(one: str, two: str, *, most: int) -> bool:
    """Return whether at most `most` letters were changed, omitted, added or transposed."""
    if abs(len(one) - len(two)) > most:
        return False
    before: list[int] = []
    row = list(range(len(two) + 1))
    for place, mark in enumerate(one, 1):
        earlier, before, row = before, row, [place]
        for other, letter in enumerate(two, 1):
            cost = min(before[other] + 1, row[-1] + 1, before[other - 1] + (mark != letter))
            if place > 1 and other > 1 and mark == two[other - 2] and one[place - 2] == letter:
                cost = min(cost, earlier[other - 2] + 1)
            row.append(cost)
    return row[-1] <= most
