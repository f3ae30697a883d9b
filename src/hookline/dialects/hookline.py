"""Hookline's own words as JSON: what an event is in, what is to happen out.

Nothing is lost here and nothing is renamed. A hook may answer with its exit code alone: 2 denies, and stderr
says why. Functions of the embedding program may also return a `Verdict`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from hookline.dialects import _read, _reply
from hookline.dialects._fields import SESSION_OBJECTS, SESSION_TEXTS, session_of
from hookline.dialects._tools import toolbox
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer, Reply, Request
from hookline.model.hook import Hook
from hookline.model.session import Session
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

_NAME: Final = "hookline"
_TOOLS: Final = toolbox(())

SPEC: Final = DialectSpec(
    name=_NAME,
    title="Hookline",
    events=MappingProxyType({name: name.value for name in EventName}),
    matcher=MatcherStyle.PATTERN,
)

_TEXTS: Final = ("id", "cwd", "tool", "native_tool", "native_name")


def encode_event(event: Event, hook: Hook) -> Request:  # noqa: ARG001 - the document does not name the hook
    """Say an event to a hook of this dialect."""
    return Request(event=event, later=partial(_document, event))


def _document(event: Event) -> dict[str, object]:
    document: dict[str, object] = {"event": event.name.value}
    for key in _TEXTS:
        if value := getattr(event, key):
            document[key] = value
    if event.tool or event.args:
        document["args"] = dict(event.args)
    if event.timestamp:
        document["timestamp"] = event.timestamp
    document["session"] = _write_session(event.session)
    document["data"] = dict(event.data)
    return document


def _write_session(session: Session) -> dict[str, object]:
    written: dict[str, object] = {"id": session.id}
    for key in (*SESSION_TEXTS, "started"):
        if value := getattr(session, key):
            written[key] = value
    for key in SESSION_OBJECTS:
        if value := getattr(session, key):
            written[key] = dict(value)
    return written


def decode_event(raw: bytes, name: str = "") -> Event:  # noqa: ARG001 - the document names the event
    """Read an event as a host of this dialect says it."""
    document = _read.load_object(raw, dialect=_NAME)
    spoken = _read.need_text(document.get("event"), "event", dialect=_NAME)
    texts = {key: _read.text(document.get(key), key, dialect=_NAME) for key in _TEXTS}
    data = _read.obj(document.get("data"), "data", dialect=_NAME)
    if spoken not in _EVENTS:
        texts["native_name"] = spoken
        data.setdefault("event_name", spoken)
    build: Callable[..., Event] = Event
    return build(
        name=_EVENTS.get(spoken, EventName.CUSTOM),
        data=data,
        args=_read.obj(document.get("args"), "args", dialect=_NAME),
        session=_read_session(_read.obj(document.get("session"), "session", dialect=_NAME)),
        timestamp=_time(document.get("timestamp"), "timestamp"),
        **texts,
    )


_EVENTS: Final = {name.value: name for name in EventName}


def _read_session(found: Mapping[str, object]) -> Session:
    return session_of(
        {key: _read.text(found.get(key), f"session.{key}", dialect=_NAME) for key in SESSION_TEXTS},
        {key: _read.obj(found.get(key), f"session.{key}", dialect=_NAME) for key in SESSION_OBJECTS},
        started=_time(found.get("started"), "session.started"),
    )


def _time(value: object, where: str) -> int:
    return 0 if value is None else _read.from_iso(value, where, dialect=_NAME)


_MANNERS: Final = _reply.Manners(dialect=_NAME, silence=True, deny_exit=2)
_WORDS: Final = {decision.word: decision for decision in Decision}
_SAYING_MORE: Final = frozenset({"args", "output", "context", "message", "ask_agent", "data", "raise"})
_FIELDS: Final = _SAYING_MORE | {"decision", "reason", "metadata"}


def decode_reply(reply: Reply, request: Request) -> Verdict:
    """Read what a hook of this dialect answered."""
    if isinstance(reply.value, Verdict):
        return reply.value
    if reply.value is None:
        return Verdict(notes=reply.notes)
    return _reply.read_reply(reply, request, read=_read_answer, manners=_MANNERS)


def _read_answer(document: dict[str, object], request: Request) -> Verdict:
    word = document.get("decision", "pass")
    decision = _WORDS.get(word) if isinstance(word, str) else None
    if decision is None:
        raise _read.wrong(word, "decision", dialect=_NAME, wanted=f"one of {', '.join(_WORDS)}")
    metadata = _read.obj(document.get("metadata"), "metadata", dialect=_NAME)
    others = {} if document.keys() <= _FIELDS else {key: document[key] for key in document if key not in _FIELDS}
    return Verdict(
        decision=decision,
        reason=_read.text(document.get("reason"), "reason", dialect=_NAME),
        # most answers are a word and a reason
        effects=() if _SAYING_MORE.isdisjoint(document) else _effects(document, request.event),
        ends=decision is Decision.STOP,
        metadata={**others, **metadata},
    )


def _effects(document: Mapping[str, object], event: Event) -> tuple[Effect, ...]:
    def said(key: str, kind: EffectKind) -> tuple[Effect, ...]:
        return _reply.texts(document.get(key), kind, where=key, dialect=_NAME)

    return (
        *_reply.args_effects(document.get("args"), event, tools=_TOOLS, where="args", dialect=_NAME),
        *_reply.output_effects(document, "output"),
        *said("context", EffectKind.CONTEXT),
        *said("message", EffectKind.MESSAGE),
        *said("ask_agent", EffectKind.ASK_AGENT),
        *_reply.data_effects(document.get("data"), where="data", dialect=_NAME),
        *_raised(document.get("raise")),
    )


def _raised(said: object) -> Iterator[Effect]:
    """Take the events to raise: a name, an object with `event` and `data`, or a list of these."""
    for item in said if isinstance(said, list) else [said] if said is not None else []:
        named = {"event": item} if isinstance(item, str) else _read.obj(item, "raise", dialect=_NAME)
        name = _read.need_text(named.get("event"), "raise.event", dialect=_NAME)
        yield Effect(EffectKind.RAISE, _read.obj(named.get("data"), "raise.data", dialect=_NAME), (name,))


def encode_outcome(outcome: Outcome, event: Event) -> Answer:
    """Say an outcome to a host of this dialect."""
    parts = _reply.parts(outcome, event, tools=_TOOLS)
    return _reply.answer(
        {
            "decision": outcome.decision.word,
            "reason": parts.reason,
            "args": parts.args,
            "output": parts.output,
            "context": parts.context,
            "message": parts.messages,
            "ask_agent": parts.prompts,
            "data": parts.data,
        }
    )
