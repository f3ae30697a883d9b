"""The laws every dialect keeps, over events and answers of every kind."""

import json
import os
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hookline.dialects import DIALECTS
from hookline.errors import DialectError
from hookline.model.event import Event, EventName
from hookline.model.exchange import Reply, Request
from hookline.model.verdict import Decision, Outcome, Verdict
from tests.dialects.strategies import (
    ANSWERS,
    HOOK,
    Plain,
    calls,
    degrade,
    events,
    junk,
    normalise,
    outcomes,
    spoiled,
    told,
)

every_dialect = pytest.mark.parametrize("name", sorted(DIALECTS))
# a night's run: HOOKLINE_LAW_EXAMPLES=20000 pytest tests/dialects
EXAMPLES = int(os.environ.get("HOOKLINE_LAW_EXAMPLES", "16"))
thorough = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
quick = settings(max_examples=max(EXAMPLES // 3, 8), suppress_health_check=[HealthCheck.too_slow])

CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})
DEEP = b'{"a":' * 5000 + b"1" + b"}" * 5000


@pytest.mark.spec("P-01", "O-33")
@every_dialect
@thorough
@given(event=events())
def test_event_survives_the_round_trip(name: str, event: Event) -> None:
    dialect = DIALECTS[name]

    assert dialect.decode_event(dialect.encode_event(event, HOOK).body) == normalise(event, name)


@every_dialect
@pytest.mark.parametrize("event", EventName)
def test_every_event_keeps_its_canonical_name(name: str, event: EventName) -> None:
    dialect = DIALECTS[name]
    request = dialect.encode_event(Event(name=event, tool="shell"), HOOK)

    assert dialect.decode_event(request.body).name is event


@every_dialect
@thorough
@given(data=st.data())
def test_outcome_survives_the_round_trip(name: str, data: st.DataObject) -> None:
    dialect = DIALECTS[name]
    event = data.draw(events((EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.NOTIFICATION)))
    outcome = data.draw(outcomes(event))
    answer = dialect.encode_outcome(outcome, event)

    verdict = dialect.decode_reply(
        Reply(stdout=answer.stdout, stderr=answer.stderr, exit_code=answer.exit_code),
        dialect.encode_event(event, HOOK),
    )

    assert verdict.failure is None
    got = told(verdict.decision, verdict.reason, effects=verdict.effects, event=event)
    assert got == degrade(outcome, event, name)


def attempt(decode: Callable[[], object]) -> object:
    try:
        return decode()
    except DialectError as problem:
        return problem


def decode_anything(name: str, raw: bytes, request: Request) -> None:
    dialect = DIALECTS[name]
    for exit_code in (0, 1, 2):
        reply = Reply(stdout=raw, exit_code=exit_code)
        assert isinstance(attempt(partial(dialect.decode_reply, reply, request)), Verdict | DialectError)
    assert isinstance(attempt(lambda: dialect.decode_event(raw)), Event | DialectError)


@pytest.mark.spec("O-33", "P-17")
@every_dialect
@thorough
@example(raw=b"")
@example(raw=DEEP)
@example(raw=b'{"continue": false, "reason": "\\ud800"}')
@example(raw=b'{"allow": 1e999}')
@example(raw=b'{"allow": ' + b"9" * 5000 + b"}")
@example(raw=b"\xff\xfe{}")
@given(raw=st.binary(max_size=60) | junk.map(lambda value: json.dumps(value).encode()))
def test_no_bytes_break_a_decoder(name: str, raw: bytes) -> None:
    decode_anything(name, raw, DIALECTS[name].encode_event(CALL, HOOK))


@pytest.mark.spec("O-33")
@every_dialect
@thorough
@given(data=st.data())
def test_no_spoiled_document_breaks_a_decoder(name: str, data: st.DataObject) -> None:
    dialect = DIALECTS[name]
    request = dialect.encode_event(data.draw(events()), HOOK)
    whole = st.just(json.loads(request.body)) | ANSWERS[name]
    raw = data.draw(whole.flatmap(spoiled))

    decode_anything(name, raw, request)


@every_dialect
def test_document_nested_to_the_limit_breaks_no_decoder(name: str) -> None:
    request = DIALECTS[name].encode_event(CALL, HOOK)
    for depth in (60, 120, 180, 240, 300, 500, 900, 2000):
        nest = "[" * depth + "]" * depth
        for field in ("args", "tool_input", "metadata", "data", "modified_args", "context", "result", "error"):
            decode_anything(name, f'{{"{field}": {{"command": {nest}}}, "hook": "PreToolUse"}}'.encode(), request)


@every_dialect
@quick
@given(value=junk | st.binary() | st.sets(st.integers()) | st.dictionaries(st.integers(), junk))
def test_no_value_of_a_function_breaks_a_decoder(name: str, value: object) -> None:
    dialect = DIALECTS[name]
    request = dialect.encode_event(CALL, HOOK)

    assert isinstance(attempt(lambda: dialect.decode_reply(Reply(value=value), request)), Verdict | DialectError)


@pytest.mark.parametrize("theirs", sorted(DIALECTS))
@pytest.mark.parametrize("ours", sorted(DIALECTS))
@quick
@given(data=st.data())
def test_translation_never_widens_a_verdict(theirs: str, ours: str, data: st.DataObject) -> None:
    tool, args = data.draw(calls())
    names = (EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.BEFORE_AGENT)
    event = Event(name=data.draw(st.sampled_from(names)), tool=tool, args=args)
    document: Plain = data.draw(ANSWERS[theirs])
    exit_code = data.draw(st.sampled_from([0, 0, 1, 2]))
    try:
        said = DIALECTS[theirs].decode_reply(
            Reply(stdout=json.dumps(document).encode(), exit_code=exit_code),
            DIALECTS[theirs].encode_event(event, HOOK),
        )
    except DialectError:
        return
    outcome = Outcome(decision=said.decision, reasons=(said.reason,) if said.reason else (), effects=said.effects)
    answer = DIALECTS[ours].encode_outcome(outcome, event)

    heard = DIALECTS[ours].decode_reply(
        Reply(stdout=answer.stdout, exit_code=answer.exit_code), DIALECTS[ours].encode_event(event, HOOK)
    )

    assert heard.decision >= said.decision
    assert (heard.decision is Decision.ALLOW) <= (said.decision is Decision.ALLOW)
