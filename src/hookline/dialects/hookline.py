"""Hookline's own dialect: events and verdicts as JSON, without loss and without renaming.

A hook may answer with its exit code alone: 2 denies, with the reason on stderr. Functions of the embedding program may also
return a `Verdict`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from msgspec import UNSET

from hookline.dialects._codec import SESSION_OBJECTS, SESSION_TEXTS, new_session
from hookline.dialects._json_reader import JsonReader, key_set
from hookline.dialects._reply_codec import EffectKeys, ReplyRules, encode_answer
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.requirements import NOTES
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "hookline"
_READER: Final = JsonReader(_NAME)

SPEC: Final = DialectSpec(
    name=_NAME,
    title="Hookline",
    events={name: name.value for name in EventName},
    templates=True,
    matcher=MatcherStyle.PATTERN,
)

_TEXTS: Final = ("id", "cwd", "tool", "native_tool", "native_name")
_EVENTS: Final = {name.value: name for name in EventName}


def encode_event(event: Event, hook: Hook) -> Request:
    """Return the request for a hook of this dialect."""
    env = {"HOOKLINE_EVENT": str(event.name), "HOOKLINE_TOOL": event.tool}
    return Request(event=event, later=partial(_write_event, event, hook.facts), env=env, carries_facts=True)


def _write_event(event: Event, facts: tuple[str, ...]) -> dict[str, object]:
    document: dict[str, object] = {"event": event.name.value}
    document.update((key, value) for key in _TEXTS if (value := getattr(event, key)))
    if event.tool or event.args:
        document["args"] = dict(event.args)
    if event.timestamp:
        document["timestamp"] = event.timestamp
    session = {key: getattr(event.session, key) for key in (*SESSION_TEXTS, "started")}
    objects = {key: dict(getattr(event.session, key)) for key in SESSION_OBJECTS}
    known = {key: value for key, value in {**session, **objects}.items() if value or key == "id"}
    if facts and event.facts is not None:
        # only what the hook asked for
        document["facts"] = {name: event.facts.get(name) for name in (*facts, NOTES)}
    return {**document, "session": known, "data": dict(event.data)}


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Return the event of a document."""
    document = _READER.load_object(raw)
    native = _READER.require_text(document.get("event"), "event")
    texts = {key: _READER.get_text(document, key) for key in _TEXTS}
    data = _READER.get_object(document, "data")
    if native not in _EVENTS:
        texts["native_name"] = native
        data.setdefault("event_name", native)
    args = _READER.get_object(document, "args")
    found = _READER.get_object(document, "session")
    build: Callable[..., Event] = Event
    return build(
        name=_EVENTS.get(native, EventName.CUSTOM),
        data=data,
        args=args,
        session=new_session(
            **{key: _READER.get_text(found, key, within="session.") for key in SESSION_TEXTS},
            **{key: _READER.get_object(found, key, within="session.") for key in SESSION_OBJECTS},
            started=_READER.read_time(found.get("started"), "session.started"),
        ),
        timestamp=_READER.read_time(document.get("timestamp"), "timestamp"),
        **texts,
    )


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Return the verdict of a hook's reply."""
    if isinstance(reply.value, Verdict):
        return reply.value
    return Verdict(notes=reply.notes) if reply.value is None else _RULES.read_reply(reply, request)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    word = document.get("decision", "pass")
    # a function may return a decision of ours
    decision = word if isinstance(word, Decision) else _WORDS.get(word) if isinstance(word, str) else None
    if decision is None:
        raise _READER.error(word, "decision", wanted=f"one of {', '.join(_WORDS)}")
    metadata = _READER.get_object(document, "metadata")
    return Verdict(
        decision=decision,
        reason=_READER.get_text(document, "reason"),
        effects=(*_RULES.read_effects(document, request.event), *_read_raised(document.get("raise"))),
        metadata={**_RULES.extra_keys(document), **metadata},
    )


def _read_raised(events: object) -> Iterator[Effect]:
    """Yield the events to raise: a name, an object with `event` and `data`, or a list of these."""
    for item in events if isinstance(events, list) else [events] if events is not None else []:
        event = {"event": item} if isinstance(item, str) else _READER.read_object(item, "raise")
        name = _READER.require_text(event.get("event"), "raise.event")
        yield Effect(EffectKind.RAISE, _READER.get_object(event, "data", within="raise."), (name,))


_WORDS: Final = {decision.word: decision for decision in Decision}
_RULES: Final = ReplyRules(
    dialect=_NAME,
    read=_read_answer,
    reads=key_set("decision reason metadata args output data raise context message ask_agent"),
    effects=EffectKeys("args", "output", "context", "message", "ask_agent", "data"),
    allow_empty=True,
    deny_exit=2,
)


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Return the answer for a host of this dialect."""
    effects = _RULES.write_effects(outcome, event)
    return encode_answer({"decision": outcome.decision.word, "reason": outcome.reason or UNSET, **effects})
