"""Claude Code and the agents that speak its dialect: flat documents in, `hookSpecificOutput` out.

Each agent is a `ClaudeFamily` of tables; its own module says where it is stricter or laxer. An answer contains only what the
agent supports at that event: the strict agents drop a whole answer for one field too many.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.dialects import _codec, _json_reader, _reply_codec, _tools
from hookline.dialects._codec import TOOL_EVENTS, TURN_ENDS, AgentCodec, Field, FieldMaps, field_maps, join_blocks
from hookline.dialects._json_reader import key_set
from hookline.dialects._reply_codec import ReplyRules, drop_unset
from hookline.dialects._tools import NO_CALL, UnsupportedRewriteError, final_output
from hookline.errors import DialectError
from hookline.model.event import EVENTS, Ability, Event, EventName, Session
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict
from hookline.text import fence

_DENY_EXIT: Final = 2

_CALL: Final = Field("call_id", "tool_use_id")
_DURATION: Final = Field("duration", "duration_ms", in_ms=True)
_LAST_MESSAGE: Final = (Field("response", "last_assistant_message"),)

FIELDS: Final[Mapping[str, tuple[Field, ...]]] = {
    EventName.BEFORE_TOOL: (_CALL,),
    EventName.AFTER_TOOL: (_CALL, Field("result", "tool_response"), _DURATION),
    EventName.TOOL_FAILED: (_CALL, _DURATION),
    EventName.AFTER_AGENT: _LAST_MESSAGE,
    EventName.SUBAGENT_STOP: _LAST_MESSAGE,
    EventName.NOTIFICATION: (Field("type", "notification_type"),),
    EventName.ERROR: (Field("error_type", "error"), Field("error", "error_details")),
    **dict.fromkeys(_codec.FILE_EVENTS, (Field("path", "file_path"),)),
}


def family_field_maps(
    fields: Mapping[str, tuple[Field, ...]] = FIELDS, marks: Mapping[str, tuple[str, object]] | None = None
) -> FieldMaps:
    """Build the field maps of an agent of the family; `marks` distinguish events with the same native name."""
    taken = ("session_id", "cwd", "hook_event_name", "tool_name", "tool_input", "model")
    return field_maps(fields, taken=taken, marks={name: (mark,) for name, mark in (marks or {}).items()})


class ClaudeFamily(AgentCodec, frozen=True, kw_only=True):
    """One agent of the family.

    Documents: `defaults` are fields that hooks of this agent rely on and other agents do not send, and `renamed` are other
    spellings of fields, which are read and never written. `variables` name the project's directory in the environment, and
    `exported` are fields that are variables as well. `convert_call` and `convert_result` turn a call and a result of another
    agent into what this agent's hooks expect.

    Answers of its hooks: with `ignore_exit_code`, they count whatever the exit code is. `texts` are the native events at which plain text on stdout is context; at others it is
    `other_texts`. Text that begins like `broken` and is not JSON is an error. `stop_exit` is the exit code that ends the run.
    With `top_allows`, the old `decision` at the top can skip the permission prompt as well.

    Answers to the agent: `beside` is the decision that has to stand beside changed arguments, and `exits` are the native
    events at which a denial needs exit code 2 and a reason on stderr besides the document. `replaces` are those at which the
    reason of a stop replaces the tool's result, and `hides` those at which the reason of every denial does. With `rests`, an
    empty answer ends a turn for good.
    """

    defaults: Mapping[str, object] = {}
    renamed: Mapping[str, str] = {}
    variables: tuple[str, ...] = ()
    exported: frozenset[str] = frozenset()
    convert_call: Callable[[Event], Event] | None = None
    convert_result: Callable[[object, str], object] = lambda result, _tool: result
    ignore_exit_code: bool = False
    texts: frozenset[str] = frozenset()
    other_texts: EffectKind | None = None
    broken: tuple[str, ...] = ()
    stop_exit: int = 0
    top_allows: bool = True
    beside: str = ""
    exits: frozenset[str] = frozenset()
    replaces: frozenset[str] = frozenset()
    hides: frozenset[str] = frozenset()
    rests: bool = False

    @property
    def rules(self) -> ReplyRules:
        """How this agent's hooks answer."""
        return ReplyRules(
            dialect=self.spec.name,
            read=self.read_answer,
            reads=_READS,
            tools=self.tools,
            allow_empty=True,
            allow_text=True,
            deny_exit=_DENY_EXIT,
            ignore_exit_code=self.ignore_exit_code,
        )

    # events

    def encode_event(self, event: Event, hook: Hook) -> Request:
        """Return the request for a hook of this dialect."""
        values = dict.fromkeys(self.variables, hook.project(event.cwd)) if event.cwd else {}
        document: object = UNSET
        if self.exported:
            document = self.write_event(event)
            plain = {key: value for key, value in document.items() if key in self.exported}
            texts = {key: _tools.to_text(plain[key]) for key in plain if isinstance(plain[key], str | int | float)}
            values = {**texts, **values}
        # an environment cannot hold a lone surrogate either
        whole = {key: value.encode("utf-8", "replace").decode() for key, value in values.items()}
        env = _codec.fit_environment(whole)
        return Request(event=event, document=document, later=partial(self.write_event, event), env=env)

    def write_event(self, event: Event) -> dict[str, object]:
        """Return the document of an event: for an event of this agent exactly as the agent sent it."""
        native = self.native_name(event)
        document: dict[str, object] = {"session_id": event.session.id, "cwd": event.cwd, "hook_event_name": native}
        if event.session.model:
            document["model"] = event.session.model
        if event.tool or event.name in TOOL_EVENTS:
            document["tool_name"], document["tool_input"] = self.encode_call(self._convert_call(event))
        data = _codec.fit_result(event, self.spec.name, self.convert_result)
        if event.session.model and data.get("model") == event.session.model and "model" in EVENTS[event.name].fields:
            del data["model"]
        self.write_data(event, document, data)
        return document if event.host == self.spec.name else {**self.defaults, **document}

    def _convert_call(self, event: Event) -> Event:
        """Return another agent's call with absolute paths, and as a tool that this agent has."""
        if event.host == self.spec.name or not event.tool:
            return event
        args = _tools.make_paths_absolute(dict(event.args), event.cwd)
        whole = event if args == event.args else replace(event, args=args)
        return whole if self.convert_call is None else self.convert_call(whole)

    def decode_event(self, raw: bytes, name: str = "") -> Event:
        """Return the event of a document of this agent.

        Raises:
            DialectError: Something is missing or has another type than the agent's.
        """
        reader = self.reader
        document = reader.load_object(raw)
        for other, usual in self.renamed.items():
            if other in document:
                document.setdefault(usual, document.pop(other))
        native = self.read_name(document.pop("hook_event_name", None), name, where="hook_event_name")
        canonical = self.names.decode(native, document)
        session = Session(id=reader.pop_text(document, "session_id"), model=reader.pop_text(document, "model"))
        cwd = reader.pop_text(document, "cwd")
        timestamp = reader.take_time(document, "timestamp") if self.has_iso_time else 0
        call = NO_CALL
        if "tool_name" in document or canonical in TOOL_EVENTS:
            tool = reader.require_text(document.pop("tool_name", None), "tool_name")
            call = self.decode_call(tool, document.pop("tool_input", None), cwd=cwd)
        data = self.field_maps(canonical).read(document, "", reader)
        if session.model and "model" in EVENTS[canonical].fields:
            data.setdefault("model", session.model)
        return self.build_event(canonical, native, data, call=call, session=session, cwd=cwd, timestamp=timestamp)

    # answers of hooks

    def decode_reply(self, reply: Reply, request: Request) -> Verdict:
        """Return the verdict of a reply of one of this agent's hooks.

        Raises:
            DialectError: It is not an answer.
        """
        if self.stop_exit and reply.exit_code == self.stop_exit:
            verdict = self.rules.read_reply(replace(reply, exit_code=_DENY_EXIT), request)
            return replace(verdict, decision=Decision.STOP, ends=True)
        native = self.native_name(request.event)
        verdict = self.read_reply(self.rules, reply, request)
        if native in self.hides:
            verdict = _reply_codec.hide_result(verdict)
        text = reply.stdout.decode("utf-8", "replace").strip()
        if not text or reply.exit_code or reply.value is not UNSET or verdict.decision or verdict.effects:
            return verdict
        # plain text, whose meaning depends on the event
        if not text.startswith(("{", "[")):
            kind = EffectKind.CONTEXT if native in self.texts else self.other_texts
            return verdict if kind is None else replace(verdict, effects=(Effect(kind, text),))
        if text.startswith(self.broken):
            try:
                json_codec.load(text.encode("utf-8", "replace"))
            except ValueError:
                message = f"expected one JSON object, got {_json_reader.preview(text)}"
                raise DialectError(message, dialect=self.spec.name) from None
        return verdict

    def read_answer(self, document: dict[str, object], request: Request) -> Verdict:
        """Return the verdict of an answer: its common fields, and those of the event."""
        event = request.event
        own = self.reader.get_object(document, "hookSpecificOutput")
        permission = own.get("decision")
        decision, reason = self._read_decision(document, own, permission)
        changed = own.get("updatedInput")
        if isinstance(permission, dict) and changed is None:
            changed = permission.get("updatedInput")
        sent = self._convert_call(event)
        if sent.tool == event.tool:
            rewrites = self.rules.args_effects(changed, sent, where="updatedInput")
        elif changed is None or _json_reader.is_equal(changed, self.tools.encode(sent)[1]):
            rewrites = ()
        else:
            raise UnsupportedRewriteError(
                f"{event.tool} was sent as {sent.tool}, and cannot be changed under that name"
            )
        output = "updatedToolOutput" if "updatedToolOutput" in own else "updatedMCPToolOutput"
        # at the end of a turn, context is what the agent goes on with
        context = EffectKind.ASK_AGENT if event.name in TURN_ENDS else EffectKind.CONTEXT
        texts = self.rules.text_effects
        verdict = Verdict(
            decision=decision,
            reason=reason,
            effects=(
                *rewrites,
                *_reply_codec.output_effects(own, output),
                *texts(own.get("additionalContext"), context, where="hookSpecificOutput.additionalContext"),
                *texts(document.get("additionalContext"), context, where="additionalContext"),
                *texts(
                    own.get("initialUserMessage"), EffectKind.ASK_AGENT, where="hookSpecificOutput.initialUserMessage"
                ),
                *texts(document.get("systemMessage"), EffectKind.MESSAGE, where="systemMessage"),
            ),
            metadata={key: value for key, value in document.items() if key not in _ANSWER_FIELDS},
        )
        if decision is Decision.STOP and self.native_name(event) in self.replaces:
            # as in this agent: the model reads the reason in place of the result, and goes on
            return _reply_codec.hide_result(replace(verdict, decision=Decision.DENY))
        return verdict

    def _read_decision(
        self, document: Mapping[str, object], own: Mapping[str, object], behavior: object
    ) -> tuple[Decision, str]:
        """Return the strongest decision and its reasons."""
        get_text = self.reader.get_text
        permission = behavior if isinstance(behavior, dict) else {}
        top = self._read_word(document, "decision", _TOP)
        if top is Decision.ALLOW and not self.top_allows:
            top = Decision.PASS
        found = [
            (top, get_text(document, "reason")),
            (self._read_word(own, "permissionDecision", _PERMISSION), get_text(own, "permissionDecisionReason")),
            (self._read_word(permission, "behavior", _BEHAVIOR), get_text(permission, "message")),
        ]
        if isinstance(behavior, str):
            # one agent has `decision` and `reason` here that others have at the top
            found.append((self._read_word(own, "decision", _TOP), get_text(own, "reason")))
        if permission.get("interrupt") is True:
            found.append((Decision.STOP, get_text(permission, "message")))
        if self.reader.get_flag(document, "continue") is False:
            found.append((Decision.STOP, get_text(document, "stopReason") or found[0][1]))
        strongest = max(decision for decision, _ in found)
        reasons = dict.fromkeys(reason for decision, reason in found if decision is strongest and reason)
        return strongest, "\n".join(reasons) if strongest else ""

    def _read_word(self, part: Mapping[str, object], key: str, words: Mapping[str, Decision]) -> Decision:
        word = part.get(key)
        if isinstance(word, dict):
            return Decision.PASS
        return self.reader.read_decision(word, key, {**_TOP, "ask": Decision.ASK, **words}, wanted=", ".join(words))

    # answers to the agent

    def encode_outcome(self, outcome: Outcome, event: Event) -> Answer:
        """Return the answer for this agent; an empty one is no opinion."""
        if outcome.is_silent:
            return Answer()
        parts = self.split_outcome(outcome, event)
        stdout = _reply_codec.encode_opinion(self.build_answer(parts, event)).stdout
        if parts.blocks and self.native_name(event) in self.exits:
            return Answer(stdout=stdout, stderr=parts.reason.encode() + b"\n", exit_code=_DENY_EXIT)
        return Answer(stdout=stdout)

    def split_outcome(self, outcome: Outcome, event: Event) -> "AnswerParts":
        """Return the parts of an outcome that the agent supports at an event."""
        able = self.abilities_at(event) or frozenset()
        stops = outcome.decision is Decision.STOP and Ability.STOP in able
        goes_on = event.name in TURN_ENDS and Ability.FOLLOW_UP in able
        asks = event.name is EventName.PERMISSION_REQUEST and outcome.decision is Decision.ASK
        # the agent asks the user anyway, or stops without a word: the message gives the reason
        why = outcome.reason if asks or (stops and self._ends_by_silence(event)) else ""
        return AnswerParts(
            decision=outcome.decision,
            able=able,
            stops=stops,
            blocks=outcome.blocked and not stops and Ability.BLOCK in able,
            reason=_reply_codec.find_reason(outcome),
            changed=_tools.apply_rewrite(self.tools, outcome, event) if Ability.ARGS in able else UNSET,
            output=final_output(outcome) if Ability.OUTPUT in able else UNSET,
            output_origin=outcome.output_origin,
            context=join_blocks(outcome.context) if Ability.CONTEXT in able else "",
            message=join_blocks((*outcome.messages, why)) if Ability.MESSAGE in able else "",
            prompts=join_blocks(outcome.follow_ups) if goes_on else "",
        )

    def build_answer(self, parts: "AnswerParts", event: Event) -> dict[str, object]:
        """Return the document of an answer, empty for no opinion."""
        message = parts.message or UNSET
        native = self.native_name(event)
        if native in self.replaces and (replacement := _replace_result(parts)):
            return drop_unset({"continue": False, "stopReason": replacement, "systemMessage": message})
        match event.name:
            case EventName.BEFORE_TOOL:
                own = _answer_before_tool(parts, self.beside)
            case EventName.PERMISSION_REQUEST:
                own = _answer_permission(parts)
            case EventName.AFTER_TOOL:
                own = _answer_after_tool(parts, event.data.get("result"))
            case name if name in TURN_ENDS:
                # context would send the agent back to work
                own = {}
            case _:
                own = {"additionalContext": parts.context or UNSET}
        top: dict[str, object] = {}
        if parts.stops and not self._ends_by_silence(event):
            top = {"continue": False, "stopReason": parts.reason}
        elif event.name not in _CALLS and not parts.stops and (parts.blocks or parts.prompts):
            top = {"decision": "block", "reason": join_blocks((parts.reason if parts.blocks else "", parts.prompts))}
        own = drop_unset(own)
        specific = {"hookEventName": native, **own} if own else UNSET
        return drop_unset({**top, "systemMessage": message, "hookSpecificOutput": specific})

    def _ends_by_silence(self, event: Event) -> bool:
        return self.rests and event.name in TURN_ENDS


_TOP: Final = {"approve": Decision.ALLOW, "allow": Decision.ALLOW, "block": Decision.DENY, "deny": Decision.DENY}
_PERMISSION: Final = {
    "allow": Decision.ALLOW,
    "deny": Decision.DENY,
    "ask": Decision.ASK,
    # pauses the agent until a decision from outside: the nearest is a question
    "defer": Decision.ASK,
}
_BEHAVIOR: Final = {"allow": Decision.ALLOW, "deny": Decision.DENY}
_ANSWER_FIELDS: Final = key_set(
    "continue stopReason decision reason hookSpecificOutput additionalContext systemMessage suppressOutput"
)
_OWN_FIELDS: Final = key_set(
    "hookEventName permissionDecision permissionDecisionReason updatedInput additionalContext decision reason "
    "updatedToolOutput updatedMCPToolOutput initialUserMessage "
    "decision.behavior decision.message decision.interrupt decision.updatedInput"
)
_READS: Final = _ANSWER_FIELDS | {f"hookSpecificOutput.{key}" for key in _OWN_FIELDS}

# documents of answers

# a denial of these is not written as a `decision` at the top
_CALLS: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST})
_UNCHANGED: Final = "a hook changed this call, and it can only be changed together with a yes"


class AnswerParts(Struct, frozen=True, kw_only=True):
    """The parts of an outcome, as far as the agent supports them at the event; missing ones are empty or UNSET.

    `blocks` is a denial that does not end the run. `changed` is the whole call after rewrites, and `output` replaces the
    tool's. `context` and `prompts` are for the model, `message` is for the user.
    """

    decision: Decision
    able: frozenset[Ability]
    stops: bool
    blocks: bool
    reason: str
    changed: object
    output: object
    output_origin: str
    context: str
    message: str
    prompts: str


def _answer_before_tool(parts: AnswerParts, beside: str) -> dict[str, object]:
    decision, able = parts.decision, parts.able
    word: object = UNSET
    if decision >= Decision.DENY or (decision is Decision.ASK and Ability.ASK not in able):
        word = "deny" if Ability.BLOCK in able else UNSET
    elif decision is Decision.ASK:
        word = "ask"
    elif decision is Decision.ALLOW and Ability.ALLOW in able:
        word = "allow"
    changed = parts.changed if word != "deny" else UNSET
    # a decision that only accompanies the arguments has no reason of its own
    reason = parts.reason or UNSET if word is not UNSET else UNSET
    if word is UNSET and changed is not UNSET and beside:
        word = beside
    return {
        "permissionDecision": word,
        "permissionDecisionReason": reason,
        "updatedInput": changed,
        "additionalContext": parts.context or UNSET,
    }


def _answer_permission(parts: AnswerParts) -> dict[str, object]:
    if parts.decision is Decision.ALLOW and Ability.ALLOW in parts.able:
        return {"decision": drop_unset({"behavior": "allow", "updatedInput": parts.changed})}
    if Ability.BLOCK in parts.able and (parts.decision >= Decision.DENY or parts.changed is not UNSET):
        why = parts.reason if parts.decision >= Decision.DENY else _UNCHANGED
        interrupt = True if parts.stops else UNSET
        return {"decision": drop_unset({"behavior": "deny", "message": why, "interrupt": interrupt})}
    # the agent asks the user when the answer is empty
    return {}


def _answer_after_tool(parts: AnswerParts, result: object) -> dict[str, object]:
    output = parts.output if parts.output is UNSET else _fit_result(parts.output, result)
    if output is not UNSET or parts.output is UNSET:
        return {"updatedToolOutput": output, "additionalContext": parts.context or UNSET}
    # the agent drops a result of another type than the tool's and shows the old one without notice
    text = _tools.result_text(parts.output)
    text = fence(text, parts.output_origin) if parts.output_origin else text
    instead = f"A hook gives this in place of the result above: {text}"
    return {"additionalContext": join_blocks((parts.context, instead))}


# where tools' results have their text; the first that exists is used
_TEXTS: Final = ("stdout", "file", "content", "output", "result", "text")


def _fit_result(output: object, result: object) -> object:
    """Return another result in the type of the tool's own, UNSET where it does not fit."""
    if not isinstance(output, str) or result is None or isinstance(result, str):
        return output
    if isinstance(result, list):
        return [{"type": "text", "text": output}]
    whole: dict[str, object] = dict(result) if isinstance(result, Mapping) else {}
    for key in _TEXTS:
        match whole.get(key):
            case str() if key != "file":
                return {**whole, key: output}
            case {"content": str(), **more} if key == "file":
                return {**whole, key: {**more, "content": output}}
    return UNSET


def _replace_result(parts: AnswerParts) -> str:
    """Return what the model reads in place of a tool's result, empty where the result stays."""
    texts = [parts.reason] if parts.decision >= Decision.ASK else []
    if parts.output is not UNSET:
        texts.append(_tools.result_text(parts.output))
    # a denial that hides the result is both reason and result; an emptied result has to be visible
    return join_blocks(dict.fromkeys((*texts, parts.context))) or _reply_codec.NOTHING if texts else ""
