"""Read answers in the words of other dialects than the hook's own.

A guard that denies in the words of another system has denied. One table lists how every known system spells a decision and a
change; `read` applies it to the keys that the hook's own dialect does not read. A foreign denial counts; a foreign allow is
only noted, so that it never widens a permission. A document that looks like an answer in no system's words (a misspelt key, an
unknown value) is reported as a problem, and the hook's failure policy decides.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from hookline.dialects import _json_reader
from hookline.dialects._json_reader import key_set
from hookline.dialects._tool_map import ToolMap
from hookline.model.event import Event
from hookline.model.verdict import Decision, Effect, EffectKind

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
_ARGS: Final = key_set("updatedInput updated_input modifiedArgs modified_args overrideInput")
_OUTPUTS: Final = key_set(
    "updatedOutput updatedToolOutput updatedMCPToolOutput updated_mcp_tool_output modifiedResult modified_result"
)
_TEXTS: Final[Mapping[str, EffectKind]] = {
    **dict.fromkeys(("additionalContext", "additional_context", "contextModification"), EffectKind.CONTEXT),
    **dict.fromkeys(("systemMessage", "user_message"), EffectKind.MESSAGE),
    **dict.fromkeys(("askAgent", "ask_agent", "followup_message"), EffectKind.ASK_AGENT),
}
# keys of answers without a decision: they are not misspelt decisions
_KNOWN: Final = frozenset(_CONTAINERS).union(_ARGS, _OUTPUTS, _TEXTS) | key_set(
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
SHARED: Final = frozenset({*_REASONS, "metadata", "data", "context"})
NOTHING: Final = ForeignAnswer()


def read(document: Mapping[str, object], *, own: frozenset[str]) -> ForeignAnswer:
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
                why = value if isinstance(value, str) and spelling.texts else find_reason(part, document)
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


def is_decision(document: Mapping[str, object]) -> bool:
    """Return whether a document is meant as a decision, in any dialect's words."""
    foreign = read(document, own=frozenset())
    return bool(foreign.notes) or foreign.is_meant


def read_effects(document: Mapping[str, object], event: Event, *, own: frozenset[str], tools: ToolMap) -> list[Effect]:
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
            if key in _ARGS and isinstance(value, dict):
                effects += tools.rewrite_effects(event, value)
            elif key in _OUTPUTS:
                effects.append(Effect(EffectKind.REWRITE, value, ("output",)))
            elif (kind := _TEXTS.get(key)) is not None and isinstance(value, str) and value:
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


def find_reason(*parts: Mapping[str, object]) -> str:
    """Return the first reason in these objects, empty where there is none."""
    reasons = (part.get(key) for part in parts for key in _REASONS)
    return next((text for text in reasons if isinstance(text, str) and text), "")


def _only_reason(document: Mapping[str, object]) -> ForeignAnswer:
    """Report a reason without a decision: the decision was lost."""
    lost = [key for key in document if key in _ONLY_REASONS]
    if lost and len(lost) == len(document) and all(document.values()):
        return ForeignAnswer(problem=f"{lost[0]} comes without a decision", is_meant=True)
    return NOTHING


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
