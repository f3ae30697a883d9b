"""What Claude Code and the agents that speak its language share: flat documents in, `hookSpecificOutput` out.

Each agent is a `Family` of tables; where one of them is stricter or laxer, its own module says so.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hookline.dialects import _calls, _read, _reply
from hookline.dialects._fields import Field, Names, Shape, shape
from hookline.dialects._tools import Toolbox
from hookline.model.ability import Ability
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_TOOL_EVENTS: Final = frozenset({EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED})
# the events at which a no sends the agent back to work
ENDS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})

_TAKEN: Final = ("session_id", "cwd", "hook_event_name", "tool_name", "tool_input", "model")
_CALL: Final = Field("call_id", "tool_use_id")
_DURATION: Final = Field("duration", "duration_ms", in_ms=True)
_SAID_LAST: Final = Field("response", "last_assistant_message")

FIELDS: Final[Mapping[EventName, tuple[Field, ...]]] = {
    EventName.BEFORE_TOOL: (_CALL,),
    EventName.AFTER_TOOL: (_CALL, Field("result", "tool_response"), _DURATION),
    EventName.TOOL_FAILED: (_CALL, _DURATION),
    EventName.AFTER_AGENT: (_SAID_LAST,),
    EventName.SUBAGENT_STOP: (_SAID_LAST,),
    EventName.NOTIFICATION: (Field("type", "notification_type"),),
    EventName.ERROR: (Field("error_type", "error"), Field("error", "error_details")),
}


def shapes(
    fields: Mapping[EventName, tuple[Field, ...]] = FIELDS, *, taken: Iterable[str] = _TAKEN
) -> dict[EventName, Shape]:
    """Work out the shape of every event from its table."""
    return {name: shape(fields.get(name, ()), taken=taken) for name in EventName}


class Family(Struct, frozen=True, kw_only=True):
    """One agent of the family.

    `texts` are the native events at which plain text on stdout is context. `filled` are fields a hook of this agent
    counts on: under another agent, which has none of them, it finds these. `whole_input` names the field for changed
    arguments, `with_input` is the decision that has to stand beside it.
    """

    dialect: str
    names: Names
    tools: Toolbox
    shapes: Mapping[EventName, Shape]
    abilities: Mapping[str, frozenset[Ability]]
    manners: _reply.Manners
    texts: frozenset[str] = frozenset()
    filled: Mapping[str, object] = {}
    with_input: str = ""

    # events

    def write(self, event: Event) -> dict[str, object]:
        """Say an event: to this agent's own hooks under itself exactly as it said it."""
        native = self.native(event)
        document: dict[str, object] = {
            "session_id": event.session.id,
            "cwd": event.cwd,
            "hook_event_name": native,
        }
        if event.session.model:
            document["model"] = event.session.model
        if event.tool or event.name in _TOOL_EVENTS:
            document["tool_name"], document["tool_input"] = _calls.resaid(self.tools, event, dialect=self.dialect)
        data = dict(event.data)
        if event.name is EventName.CUSTOM and data.get("event_name") == native:
            del data["event_name"]
        self.shapes[event.name].write(data, document, session=event.session)
        if event.host != self.dialect:
            for key, value in self.filled.items():
                document.setdefault(key, value)
        return document

    def native(self, event: Event) -> str:
        """Give the agent's own name of an event."""
        return event.native_name or self.names.say(event)

    def read(self, document: dict[str, object], name: str = "") -> Event:
        """Read an event; the document is used up.

        Raises:
            DialectError: Something is missing, or not what the agent sends.
        """
        text = partial(_read.text, dialect=self.dialect)
        native = text(document.pop("hook_event_name", None), "hook_event_name") or name
        if not native:
            raise _read.wrong(None, "hook_event_name", dialect=self.dialect, wanted="the event's name")
        canonical, foreign = self.names.understand(native, document)
        session = Session(
            id=text(document.pop("session_id", None), "session_id"), model=text(document.pop("model", None), "model")
        )
        cwd = text(document.pop("cwd", None), "cwd")
        call, said = self._call(canonical, document, cwd=cwd)
        data = self.shapes[canonical].read(document, "", dialect=self.dialect)
        if foreign:
            data.setdefault("event_name", foreign)
        return Event(
            name=canonical,
            data=data,
            tool=call.tool,
            args=call.args,
            session=session,
            cwd=cwd,
            native_tool=call.native_tool,
            native_name=foreign,
            host=self.dialect,
            native_args=said,
        )

    def _call(self, name: EventName, document: dict[str, object], *, cwd: str) -> tuple[_calls.Call, object]:
        if "tool_name" not in document and name not in _TOOL_EVENTS:
            return _calls.Call("", {}, ""), None
        tool = _read.need_text(document.pop("tool_name", None), "tool_name", dialect=self.dialect)
        said = document.pop("tool_input", None)
        return _calls.understood(self.tools, tool, {} if said is None else said, cwd=cwd), said

    # answers of hooks

    def decode_reply(self, reply: Reply, request: Request) -> Verdict:
        """Read what a hook of this agent answered."""
        verdict = _reply.read_reply(reply, request, read=self.read_answer, manners=self.manners)
        if reply.exit_code or reply.value is not UNSET or verdict.decision or verdict.effects:
            return verdict
        if self.native(request.event) not in self.texts:
            return verdict
        text = reply.stdout.decode("utf-8", "replace").strip()
        if not text or text.startswith("{"):
            return verdict
        return replace(verdict, effects=(Effect(EffectKind.CONTEXT, text),))

    def read_answer(self, document: dict[str, object], request: Request) -> Verdict:
        """Read an answer: the common fields, and those of the event."""
        event = request.event
        own = _read.obj(document.get("hookSpecificOutput"), "hookSpecificOutput", dialect=self.dialect)
        decision, reason = self._decided(document, own)
        return Verdict(
            decision=decision,
            reason=reason,
            effects=self._effects(document, own, event),
            ends=decision is Decision.STOP,
            metadata={key: value for key, value in document.items() if key not in _ANSWER_FIELDS},
        )

    def _decided(self, document: Mapping[str, object], own: Mapping[str, object]) -> tuple[Decision, str]:
        text = partial(_read.text, dialect=self.dialect)
        behavior = own.get("decision")
        permission = behavior if isinstance(behavior, dict) else {}
        said = [
            (_word(document, "decision", _TOP, dialect=self.dialect), text(document.get("reason"), "reason")),
            (
                _word(own, "permissionDecision", _PERMISSION, dialect=self.dialect),
                text(own.get("permissionDecisionReason"), "permissionDecisionReason"),
            ),
            (
                _word(permission, "behavior", _BEHAVIOR, dialect=self.dialect),
                text(permission.get("message"), "message"),
            ),
        ]
        if isinstance(behavior, str):
            # one agent has `decision` and `reason` here that others have at the top
            said.append((_word(own, "decision", _TOP, dialect=self.dialect), text(own.get("reason"), "reason")))
        if permission.get("interrupt") is True:
            said.append((Decision.STOP, text(permission.get("message"), "message")))
        goes_on = document.get("continue")
        if goes_on is not None and not isinstance(goes_on, bool):
            raise _read.wrong(goes_on, "continue", dialect=self.dialect, wanted="true or false")
        if goes_on is False:
            said.append((Decision.STOP, text(document.get("stopReason"), "stopReason") or said[0][1]))
        strongest = max(decision for decision, _ in said)
        reasons = dict.fromkeys(reason for decision, reason in said if decision is strongest and reason)
        return strongest, "\n".join(reasons) if strongest else ""

    def _effects(self, document: Mapping[str, object], own: Mapping[str, object], event: Event) -> tuple[Effect, ...]:
        def said(value: object, kind: EffectKind, where: str) -> tuple[Effect, ...]:
            return _reply.texts(value, kind, where=where, dialect=self.dialect)

        # at the end of a turn, context is what the agent goes on with
        context = EffectKind.ASK_AGENT if event.name in ENDS else EffectKind.CONTEXT
        permission = own.get("decision")
        changed = own.get("updatedInput")
        if isinstance(permission, dict) and changed is None:
            changed = permission.get("updatedInput")
        outputs = [key for key in ("updatedToolOutput", "updatedMCPToolOutput") if key in own]
        return (
            *_reply.args_effects(changed, event, tools=self.tools, where="updatedInput", dialect=self.dialect),
            *(_reply.output_effects(own, outputs[0]) if outputs else ()),
            *said(own.get("additionalContext"), context, "hookSpecificOutput.additionalContext"),
            *said(document.get("additionalContext"), context, "additionalContext"),
            *said(own.get("initialUserMessage"), EffectKind.ASK_AGENT, "hookSpecificOutput.initialUserMessage"),
            *said(document.get("systemMessage"), EffectKind.MESSAGE, "systemMessage"),
        )

    # answers to the agent

    def encode_outcome(self, outcome: Outcome, event: Event) -> Answer:
        """Say an outcome to this agent; saying nothing is having no opinion."""
        document = _reply.present(self.answer(outcome, event))
        return _reply.answer(document) if document else Answer()

    def answer(self, outcome: Outcome, event: Event) -> dict[str, object]:
        """Give an outcome as this agent's document; what it does not have is UNSET."""
        native = self.native(event)
        stops = outcome.decision is Decision.STOP
        reason = outcome.reason or (_reply.NO_REASON if outcome.decision >= Decision.ASK else "")
        own = _reply.present(_OWN.get(event.name, _others)(self, outcome, event, reason))
        document: dict[str, object] = {
            "continue": False if stops else UNSET,
            "stopReason": reason if stops else UNSET,
            **_top(outcome, event, reason),
            "systemMessage": "\n\n".join(filter(None, outcome.messages)) or UNSET,
        }
        if own:
            document["hookSpecificOutput"] = {"hookEventName": native, **own}
        return document


_TOP: Final = {"approve": Decision.ALLOW, "allow": Decision.ALLOW, "block": Decision.DENY, "deny": Decision.DENY}
_TOP_WORDS: Final = {**_TOP, "ask": Decision.ASK}
_PERMISSION: Final = {
    "allow": Decision.ALLOW,
    "deny": Decision.DENY,
    "ask": Decision.ASK,
    # the agent is to be paused until somebody outside decides: the nearest we have is a question
    "defer": Decision.ASK,
}
_BEHAVIOR: Final = {"allow": Decision.ALLOW, "deny": Decision.DENY}
_ANSWER_FIELDS: Final = frozenset(
    {
        "continue",
        "stopReason",
        "decision",
        "reason",
        "hookSpecificOutput",
        "additionalContext",
        "systemMessage",
        "suppressOutput",
    }
)


def _word(part: Mapping[str, object], key: str, words: Mapping[str, Decision], *, dialect: str) -> Decision:
    word = part.get(key)
    if word is None or isinstance(word, dict):
        return Decision.PASS
    decision = {**_TOP_WORDS, **words}.get(word) if isinstance(word, str) else None
    if decision is None:
        raise _read.wrong(word, key, dialect=dialect, wanted=", ".join(words))
    return decision


# what stands at the top of an answer, and what inside `hookSpecificOutput`, by event


def _top(outcome: Outcome, event: Event, reason: str) -> dict[str, object]:
    if event.name in {EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST} or outcome.decision is Decision.STOP:
        return {}
    asked = "\n\n".join(filter(None, outcome.follow_ups)) if event.name in ENDS else ""
    blocks = outcome.decision >= Decision.ASK
    if not blocks and not asked:
        return {}
    return {"decision": "block", "reason": "\n\n".join(filter(None, (reason if blocks else "", asked)))}


_DECISION_WORDS: Final = {
    Decision.ALLOW: "allow",
    Decision.ASK: "ask",
    Decision.DENY: "deny",
    Decision.STOP: "deny",
}


def _before_tool(family: Family, outcome: Outcome, event: Event, reason: str) -> dict[str, object]:
    changed = _calls.rewritten(family.tools, outcome, event) if not outcome.decision >= Decision.DENY else UNSET
    word: object = _DECISION_WORDS.get(outcome.decision, UNSET)
    if word is UNSET and changed is not UNSET and family.with_input:
        word = family.with_input
    return {
        "permissionDecision": word,
        "permissionDecisionReason": reason or UNSET if word is not UNSET else UNSET,
        "updatedInput": changed,
        "additionalContext": _context(outcome),
    }


def _permission(family: Family, outcome: Outcome, event: Event, reason: str) -> dict[str, object]:
    able = family.abilities.get(family.native(event), frozenset())
    if outcome.decision is Decision.ALLOW:
        changed = _calls.rewritten(family.tools, outcome, event) if Ability.ARGS in able else UNSET
        return {"decision": _reply.present({"behavior": "allow", "updatedInput": changed})}
    if outcome.decision >= Decision.DENY:
        interrupt = True if outcome.decision is Decision.STOP and Ability.STOP in able else UNSET
        return {"decision": _reply.present({"behavior": "deny", "message": reason, "interrupt": interrupt})}
    return {}


def _after_tool(_family: Family, outcome: Outcome, _event: Event, _reason: str) -> dict[str, object]:
    return {"updatedToolOutput": outcome.output, "additionalContext": _context(outcome)}


def _nothing(_family: Family, _outcome: Outcome, _event: Event, _reason: str) -> dict[str, object]:
    return {}


def _others(family: Family, outcome: Outcome, event: Event, _reason: str) -> dict[str, object]:
    able = family.abilities.get(family.native(event), frozenset())
    return {"additionalContext": _context(outcome)} if Ability.CONTEXT in able else {}


_OWN: Final = {
    EventName.BEFORE_TOOL: _before_tool,
    EventName.PERMISSION_REQUEST: _permission,
    EventName.AFTER_TOOL: _after_tool,
    EventName.AFTER_AGENT: _nothing,
    EventName.SUBAGENT_STOP: _nothing,
}


def _context(outcome: Outcome) -> object:
    return "\n\n".join(filter(None, outcome.context)) or UNSET
