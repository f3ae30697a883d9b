"""Answers to agents that speak Claude Code's language: what stands at the top, and what in `hookSpecificOutput`.

An answer says what the agent is able to do at that event, and nothing else: the strict ones throw away a whole answer for
one field too many.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import UNSET, Struct

from hookline.dialects import _calls, _reply
from hookline.dialects._results import as_text
from hookline.dialects._tools import Toolbox, final_output
from hookline.model.ability import Ability
from hookline.model.event import Event, EventName
from hookline.model.verdict import Decision, Outcome

# the events at which a no sends the agent back to work
ENDS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})
# a no to these has its own place
_CALLS: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST})
_UNCHANGED: Final = "a hook changed this call, and it can only be changed together with a yes"


class Told(Struct, frozen=True, kw_only=True):
    """What an agent is told: the outcome, the event, and what the agent can do at it.

    `beside` is the decision that has to stand beside changed arguments. With `replaces`, the reason of a stop stands in
    place of a tool's result and nothing is stopped; with `rests`, a turn ends for good when nothing is said.
    """

    outcome: Outcome
    event: Event
    native: str
    able: frozenset[Ability]
    tools: Toolbox
    beside: str = ""
    replaces: bool = False
    rests: bool = False

    @property
    def stops(self) -> bool:
        """Whether everything is to end here."""
        return self.outcome.decision is Decision.STOP and Ability.STOP in self.able

    @property
    def blocks(self) -> bool:
        """Whether this is a no that is not the end of everything."""
        return self.outcome.decision >= Decision.ASK and not self.stops and Ability.BLOCK in self.able

    @property
    def reason(self) -> str:
        """Why; a no always has a reason, because an empty one is no answer to some agents."""
        return self.outcome.reason or (_reply.NO_REASON if self.outcome.decision >= Decision.ASK else "")

    @property
    def changed(self) -> object:
        """The whole call as it is to be made, UNSET where nothing is changed or nothing can be."""
        return _calls.rewritten(self.tools, self.outcome, self.event) if Ability.ARGS in self.able else UNSET

    @property
    def context(self) -> object:
        """What the model is told, UNSET where there is nothing or no way."""
        said = "\n\n".join(filter(None, self.outcome.context)) if Ability.CONTEXT in self.able else ""
        return said or UNSET

    @property
    def is_quiet(self) -> bool:
        """Whether the end of everything is said by saying nothing."""
        return self.rests and self.event.name in ENDS

    @property
    def message(self) -> object:
        """What the person is told, UNSET where there is nothing or no way."""
        if Ability.MESSAGE not in self.able:
            return UNSET
        said = list(filter(None, self.outcome.messages))
        asks = self.event.name is EventName.PERMISSION_REQUEST and self.outcome.decision is Decision.ASK
        if asks or (self.stops and self.is_quiet):
            # the person is asked anyway, or sees the agent rest, and should know why
            said += filter(None, [self.outcome.reason])
        return "\n\n".join(said) or UNSET


def answer(told: Told) -> dict[str, object]:
    """Give the document; it is empty where there is nothing to say."""
    if told.replaces and (replacement := _replacement(told)):
        return _reply.present({"continue": False, "stopReason": replacement, "systemMessage": told.message})
    own = _reply.present(_OWN.get(told.event.name, _others)(told))
    stops = told.stops and not told.is_quiet
    document = {
        "continue": False if stops else UNSET,
        "stopReason": told.reason if stops else UNSET,
        **_top(told),
        "systemMessage": told.message,
        "hookSpecificOutput": {"hookEventName": told.native, **own} if own else UNSET,
    }
    return _reply.present(document)


def _top(told: Told) -> dict[str, object]:
    if told.event.name in _CALLS or told.stops:
        return {}
    goes_on = told.event.name in ENDS and Ability.FOLLOW_UP in told.able
    asked = "\n\n".join(filter(None, told.outcome.follow_ups)) if goes_on else ""
    if not told.blocks and not asked:
        return {}
    return {"decision": "block", "reason": "\n\n".join(filter(None, (told.reason if told.blocks else "", asked)))}


def _word(told: Told) -> object:
    decision = told.outcome.decision
    if decision >= Decision.DENY or (decision is Decision.ASK and Ability.ASK not in told.able):
        return "deny" if Ability.BLOCK in told.able else UNSET
    if decision is Decision.ASK:
        return "ask"
    return "allow" if decision is Decision.ALLOW and Ability.ALLOW in told.able else UNSET


def _before_tool(told: Told) -> dict[str, object]:
    word = _word(told)
    changed = told.changed if word != "deny" else UNSET
    # what only stands beside the arguments has no reason of its own
    reason = told.reason or UNSET if word is not UNSET else UNSET
    if word is UNSET and changed is not UNSET and told.beside:
        word = told.beside
    return {
        "permissionDecision": word,
        "permissionDecisionReason": reason,
        "updatedInput": changed,
        "additionalContext": told.context,
    }


def _permission(told: Told) -> dict[str, object]:
    decision, changed = told.outcome.decision, told.changed
    if decision is Decision.ALLOW and Ability.ALLOW in told.able:
        return {"decision": _reply.present({"behavior": "allow", "updatedInput": changed})}
    if Ability.BLOCK in told.able and (decision >= Decision.DENY or changed is not UNSET):
        why = told.reason if decision >= Decision.DENY else _UNCHANGED
        interrupt = True if told.stops else UNSET
        return {"decision": _reply.present({"behavior": "deny", "message": why, "interrupt": interrupt})}
    # a question is what happens when nothing is said
    return {}


def _after_tool(told: Told) -> dict[str, object]:
    output = final_output(told.outcome) if Ability.OUTPUT in told.able else UNSET
    if output is UNSET:
        return {"additionalContext": told.context}
    shaped = _shaped(output, told.event.data.get("result"))
    if shaped is not UNSET:
        return {"updatedToolOutput": shaped, "additionalContext": told.context}
    # the agent throws away a result of another shape than the tool's, and would show the old one without a word
    said = _INSTEAD.format(as_text(output))
    return {"additionalContext": f"{told.context}\n\n{said}" if told.context is not UNSET else said}


_INSTEAD: Final = "A hook gives this in place of the result above: {}"
# where tools' results have their text, the first that is there
_TEXTS: Final = (("stdout",), ("file", "content"), ("content",), ("output",), ("result",), ("text",))


def _shaped(output: object, result: object) -> object:
    """Give another result in the shape of the tool's own, or UNSET where it does not fit."""
    if not isinstance(output, str) or result is None or isinstance(result, str):
        return output
    if isinstance(result, list):
        return [{"type": "text", "text": output}]
    if isinstance(result, Mapping):
        for path in _TEXTS:
            whole = _put(result, path, output)
            if whole is not None:
                return whole
    return UNSET


def _put(whole: Mapping[str, object], path: tuple[str, ...], text: str) -> dict[str, object] | None:
    """Put a text where another one stands; None where there is none."""
    key, *rest = path
    inner = whole.get(key)
    if not rest:
        return {**whole, key: text} if isinstance(inner, str) else None
    changed = _put(inner, tuple(rest), text) if isinstance(inner, Mapping) else None
    return None if changed is None else {**whole, key: changed}


def _replacement(told: Told) -> str:
    """Give all that the model is to read in place of a tool's result; empty where the result stays."""
    output = final_output(told.outcome) if Ability.OUTPUT in told.able else UNSET
    said = [told.reason] if told.outcome.decision >= Decision.ASK else []
    if output is not UNSET:
        said.append(as_text(output))
    if said and isinstance(told.context, str):
        said.append(told.context)
    # a no that took the result's place is both the reason and the new result; one that is empty has to be said, too
    return "\n\n".join(filter(None, dict.fromkeys(said))) or (_reply.NOTHING if said else "")


def _nothing(_told: Told) -> dict[str, object]:
    return {}


def _others(told: Told) -> dict[str, object]:
    return {"additionalContext": told.context}


_OWN: Final[Mapping[EventName, Callable[[Told], dict[str, object]]]] = {
    EventName.BEFORE_TOOL: _before_tool,
    EventName.PERMISSION_REQUEST: _permission,
    EventName.AFTER_TOOL: _after_tool,
    # context at the end of a turn would send the agent back to work
    EventName.AFTER_AGENT: _nothing,
    EventName.SUBAGENT_STOP: _nothing,
}
