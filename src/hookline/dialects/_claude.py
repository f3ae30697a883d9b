"""What Claude Code and the agents that speak its language share: flat documents in, `hookSpecificOutput` out.

Each agent is a `Family` of tables; where one of them is stricter or laxer, its own module says so.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hookline import wire
from hookline.dialects import _calls, _read, _reply
from hookline.dialects._claude_answers import ENDS, Told, answer
from hookline.dialects._fields import Field, Names, Shape, Shapes, shape
from hookline.dialects._tools import Toolbox, UnfitError
from hookline.errors import DialectError
from hookline.model.ability import Ability
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_TOOL_EVENTS: Final = frozenset({EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED})
# an environment holds no longer text, and a program that is given one does not start at all
_LONGEST_VARIABLE: Final = 65_536

_TAKEN: Final = ("session_id", "cwd", "hook_event_name", "tool_name", "tool_input", "model")
_CALL: Final = Field("call_id", "tool_use_id")
_DURATION: Final = Field("duration", "duration_ms", in_ms=True)
_PATH: Final = Field("path", "file_path")
_SAID_LAST: Final = Field("response", "last_assistant_message")

FIELDS: Final[Mapping[EventName, tuple[Field, ...]]] = {
    EventName.BEFORE_TOOL: (_CALL,),
    EventName.AFTER_TOOL: (_CALL, Field("result", "tool_response"), _DURATION),
    EventName.TOOL_FAILED: (_CALL, _DURATION),
    EventName.AFTER_AGENT: (_SAID_LAST,),
    EventName.SUBAGENT_STOP: (_SAID_LAST,),
    EventName.NOTIFICATION: (Field("type", "notification_type"),),
    EventName.ERROR: (Field("error_type", "error"), Field("error", "error_details")),
    EventName.FILE_CREATED: (_PATH,),
    EventName.FILE_EDITED: (_PATH,),
    EventName.FILE_DELETED: (_PATH,),
}


# what stands in a document for each of our events that share one name there
FILE_MARKS: Final[Mapping[EventName, tuple[str, str]]] = {
    EventName.FILE_CREATED: ("event", "add"),
    EventName.FILE_EDITED: ("event", "change"),
    EventName.FILE_DELETED: ("event", "unlink"),
}
_BY_MARK: Final = {mark: name for name, (_, mark) in FILE_MARKS.items()}


def file_event(document: Mapping[str, object]) -> EventName:
    """Tell the events of files apart; what nobody knows yet is a change."""
    return _BY_MARK.get(str(document.get("event")), EventName.FILE_EDITED)


def shapes(
    fields: Mapping[EventName, tuple[Field, ...]] = FIELDS,
    *,
    taken: Iterable[str] = (),
    marks: Mapping[EventName, tuple[str, str]] = MappingProxyType({}),
) -> Shapes:
    """Say how every event looks, by its table."""
    names = (*_TAKEN, *taken)
    return Shapes(lambda name: shape(fields.get(name, ()), taken=(*names, marks[name][0]) if name in marks else names))


class Family(Struct, frozen=True, kw_only=True):
    """One agent of the family.

    About its documents: `filled` are fields a hook of this agent counts on: under another agent, which has none of them, it
    finds these. `marks` tell our events apart that share one name there, `time` is the field that has the time, and
    `renamed` are other spellings of fields, which are understood and never written. `variables` are those of the
    environment that name the project's folder, and `exported` the fields that stand there as well. `retold` gives a call of
    another agent as one that this agent's hooks know, and `results` a result.

    About answers of its hooks: `texts` are the native events at which plain text on stdout is context; at all others it
    is `elsewhere`. Text that begins like `broken` and is no JSON is a mistake. `stop_exit` is the exit code that ends
    everything. With `top_allows` the old `decision` at the top can skip the person's permission, too.

    About answers to it: `beside` is the decision that has to stand beside changed arguments, and `exits` are the native
    events at which a no needs exit code 2 and a reason on stderr, besides the document. `replaces` are those at which the
    reason of a stop stands in place of a tool's result, and `hides` those at which the reason of every no does; with
    `rests`, a turn ends for good when nothing is said.
    """

    dialect: str
    names: Names
    tools: Toolbox
    shapes: Mapping[EventName, Shape]
    abilities: Mapping[str, frozenset[Ability]]
    manners: _reply.Manners
    filled: Mapping[str, object] = {}
    marks: Mapping[EventName, tuple[str, str]] = {}
    time: str = ""
    renamed: Mapping[str, str] = {}
    variables: tuple[str, ...] = ()
    exported: frozenset[str] = frozenset()
    retold: Callable[[Event], Event] | None = None
    results: Callable[[Event], Event] | None = None
    texts: frozenset[str] = frozenset()
    elsewhere: EffectKind | None = None
    broken: tuple[str, ...] = ()
    stop_exit: int = 0
    top_allows: bool = True
    beside: str = ""
    exits: frozenset[str] = frozenset()
    replaces: frozenset[str] = frozenset()
    hides: frozenset[str] = frozenset()
    rests: bool = False

    # events

    def encode_event(self, event: Event, hook: Hook) -> Request:
        """Say an event to a hook of this dialect."""
        folder = dict.fromkeys(self.variables, hook.project(event.cwd)) if event.cwd else {}
        if not self.exported:
            return Request(event=event, later=partial(self.write, event), env=_environment(folder))
        document = self.write(event)
        shown = {key: _shown(document[key]) for key in self.exported if key in document}
        return Request(event=event, document=document, env=_environment({**shown, **folder}))

    def decode_event(self, raw: bytes, name: str = "") -> Event:
        """Read an event as this agent says it."""
        return self.read(_read.load_object(raw, dialect=self.dialect), name)

    def write(self, event: Event) -> dict[str, object]:
        """Say an event: to this agent's own hooks under itself exactly as it said it."""
        native = self.native(event)
        event = event if self.results is None else self.results(event)
        document: dict[str, object] = {"session_id": event.session.id, "cwd": event.cwd, "hook_event_name": native}
        if event.session.model:
            document["model"] = event.session.model
        if self.time and event.timestamp:
            document[self.time] = _read.to_iso(event.timestamp)
        if event.tool or event.name in _TOOL_EVENTS:
            call = self._retold(event)
            document["tool_name"], document["tool_input"] = _calls.resaid(self.tools, call, dialect=self.dialect)
        self.shapes[event.name].write(_own_data(event, native), document, session=event.session)
        if event.name in self.marks:
            key, mark = self.marks[event.name]
            document[key] = mark
        if event.host != self.dialect:
            for key, value in self.filled.items():
                document.setdefault(key, value)
        return document

    def _retold(self, event: Event) -> Event:
        """Give another agent's call as hooks of this one know such calls: with whole paths, and by a tool they have."""
        if event.host == self.dialect or not event.tool:
            return event
        args = _calls.absolute(dict(event.args), event.cwd)
        whole = event if args == event.args else replace(event, args=args)
        return whole if self.retold is None else self.retold(whole)

    def native(self, event: Event) -> str:
        """Give this agent's own name of an event; what another agent calls it does not matter here."""
        said = event.native_name if event.host == self.dialect else ""
        return said or self.names.say(event)

    def read(self, document: dict[str, object], name: str = "") -> Event:
        """Read an event; the document is used up.

        Raises:
            DialectError: Something is missing, or not what the agent sends.
        """
        text = partial(_read.text, dialect=self.dialect)
        for other, usual in self.renamed.items():
            if other in document:
                document.setdefault(usual, document.pop(other))
        native = text(document.pop("hook_event_name", None), "hook_event_name") or name
        if not native:
            raise _read.wrong(None, "hook_event_name", dialect=self.dialect, wanted="the event's name")
        canonical, foreign = self.names.understand(native, document)
        if canonical is EventName.CUSTOM:
            foreign = native
        session = Session(
            id=text(document.pop("session_id", None), "session_id"), model=text(document.pop("model", None), "model")
        )
        cwd = text(document.pop("cwd", None), "cwd")
        timestamp = _read.take_time(document, self.time, dialect=self.dialect) if self.time else 0
        call, said = self._call(canonical, document, cwd=cwd)
        if canonical in self.marks and document.get(self.marks[canonical][0]) == self.marks[canonical][1]:
            del document[self.marks[canonical][0]]
        data = self.shapes[canonical].read(document, "", dialect=self.dialect)
        if foreign:
            data.setdefault("event_name", foreign)
        if session.model and "model" in EVENTS[canonical].fields:
            data.setdefault("model", session.model)
        return Event(
            name=canonical,
            data=data,
            tool=call.tool,
            args=call.args,
            session=session,
            cwd=cwd,
            timestamp=timestamp,
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
        """Read what a hook of this agent answered.

        Raises:
            DialectError: It is no answer.
        """
        manners = self.manners
        native = self.native(request.event)
        if Ability.BLOCK not in self.abilities.get(native, frozenset({Ability.BLOCK})):
            # the exit code that says no says so where this agent can be told no, and is a failure elsewhere
            manners = replace(manners, deny_exit=0)
        if self.stop_exit and reply.exit_code == self.stop_exit:
            reply = replace(reply, exit_code=self.manners.deny_exit)
            verdict = _reply.read_reply(reply, request, read=self.read_answer, manners=self.manners)
            return replace(verdict, decision=Decision.STOP, ends=True)
        verdict = _reply.read_reply(reply, request, read=self.read_answer, manners=manners)
        if native in self.hides:
            verdict = _reply.hiding(verdict)
        if reply.exit_code or reply.value is not UNSET or verdict.decision or verdict.effects:
            return verdict
        return self._with_text(verdict, reply.stdout.decode("utf-8", "replace").strip(), native)

    def _with_text(self, verdict: Verdict, text: str, native: str) -> Verdict:
        """Add what a hook said in plain text, which is something else at each event."""
        if not text:
            return verdict
        if text.startswith(("{", "[")):
            if text.startswith(self.broken) and _is_broken(text):
                raise DialectError(f"expected one JSON object, got {_read.shown(text)}", dialect=self.dialect)
            return verdict
        kind = EffectKind.CONTEXT if native in self.texts else self.elsewhere
        return verdict if kind is None else replace(verdict, effects=(Effect(kind, text),))

    def read_answer(self, document: dict[str, object], request: Request) -> Verdict:
        """Read an answer: the common fields, and those of the event."""
        event = request.event
        own = _read.obj(document.get("hookSpecificOutput"), "hookSpecificOutput", dialect=self.dialect)
        decision, reason = self._decided(document, own)
        if decision is Decision.ALLOW and Ability.ALLOW not in self.abilities.get(self.native(event), frozenset()):
            # a yes that this agent itself takes for nothing skips nobody's permission elsewhere
            decision, reason = Decision.PASS, ""
        effects = self._effects(document, own, event)
        if decision is Decision.STOP and self.native(event) in self.replaces:
            # as this agent does it: the model reads the reason in place of the result, and goes on
            verdict = _reply.hiding(Verdict(decision=Decision.DENY, reason=reason, effects=effects))
            decision, effects = verdict.decision, verdict.effects
        return Verdict(
            decision=decision,
            reason=reason,
            effects=effects,
            ends=decision is Decision.STOP,
            metadata={key: value for key, value in document.items() if key not in _ANSWER_FIELDS},
        )

    def _decided(self, document: Mapping[str, object], own: Mapping[str, object]) -> tuple[Decision, str]:
        text = partial(_read.text, dialect=self.dialect)
        behavior = own.get("decision")
        permission = behavior if isinstance(behavior, dict) else {}
        top = _word(document, "decision", _TOP, dialect=self.dialect)
        if top is Decision.ALLOW and not self.top_allows:
            top = Decision.PASS
        said = [
            (top, text(document.get("reason"), "reason")),
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
            *self._rewrites(changed, event),
            *(_reply.output_effects(own, outputs[0]) if outputs else ()),
            *said(own.get("additionalContext"), context, "hookSpecificOutput.additionalContext"),
            *said(document.get("additionalContext"), context, "additionalContext"),
            *said(own.get("initialUserMessage"), EffectKind.ASK_AGENT, "hookSpecificOutput.initialUserMessage"),
            *said(document.get("systemMessage"), EffectKind.MESSAGE, "systemMessage"),
        )

    def _rewrites(self, changed: object, event: Event) -> tuple[Effect, ...]:
        told = self._retold(event)
        if told.tool == event.tool:
            return _reply.args_effects(changed, told, tools=self.tools, where="updatedInput", dialect=self.dialect)
        if changed is None:
            return ()
        if _read.same(changed, self.tools.call(told)[1]):
            return ()
        raise UnfitError(f"{event.tool} was told as {told.tool}, and cannot be changed in its words")

    # answers to the agent

    def encode_outcome(self, outcome: Outcome, event: Event) -> Answer:
        """Say an outcome to this agent; saying nothing is having no opinion."""
        if outcome.is_silent:
            # so are most, and the agent waits for each of them
            return Answer()
        native = self.native(event)
        told = Told(
            outcome=outcome,
            event=event,
            native=native,
            able=self.abilities.get(native, frozenset()),
            tools=self.tools,
            beside=self.beside,
            replaces=native in self.replaces,
            rests=self.rests,
        )
        document = answer(told)
        stdout = _reply.answer(document).stdout if document else b""
        if told.blocks and native in self.exits:
            return Answer(stdout=stdout, stderr=told.reason.encode() + b"\n", exit_code=self.manners.deny_exit)
        return Answer(stdout=stdout)


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


def _own_data(event: Event, native: str) -> dict[str, object]:
    """Leave out of an event's data what the document says in its own fields."""
    data = dict(event.data)
    if event.name is EventName.CUSTOM and data.get("event_name") == native:
        del data["event_name"]
    if event.session.model and data.get("model") == event.session.model and "model" in EVENTS[event.name].fields:
        del data["model"]
    return data


def _is_broken(text: str) -> bool:
    try:
        wire.load(text.encode("utf-8", "replace"))
    except ValueError:
        return True
    return False


def _shown(value: object) -> str:
    """Give a plain value as a variable has it, and nothing for one that is no plain value."""
    if isinstance(value, str):
        return value
    return wire.dump(value).decode() if isinstance(value, bool | int | float) else ""


def _environment(values: Mapping[str, str]) -> dict[str, str]:
    # no environment can hold a NUL, and a guard must start whatever the prompt says
    cleaned = {key: value.replace("\0", "") for key, value in values.items()}
    return {key: value for key, value in cleaned.items() if value and len(value.encode()) <= _LONGEST_VARIABLE}
