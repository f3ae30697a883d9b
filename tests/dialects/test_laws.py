"""The laws every dialect keeps, over events and answers of every kind."""

import json
import os
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.dialects import DIALECTS
from hookline.engine.degrade import degrade as degrade_for_agent
from hookline.errors import DialectError
from hookline.model.event import Ability, Event, EventName
from hookline.model.exchange import Reply, Request
from hookline.model.verdict import Decision, Outcome, Verdict
from tests.dialects.strategies import (
    AGENTS,
    ALWAYS,
    HOOK,
    SYSTEMS,
    Plain,
    agent_events,
    agent_outcomes,
    answers,
    calls,
    degrade,
    events,
    junk,
    normalise,
    outcomes,
    spoiled,
    told,
)
from tests.helpers.each import each

every_dialect = pytest.mark.parametrize("name", sorted(DIALECTS))
every_system = pytest.mark.parametrize("name", SYSTEMS)
every_agent = pytest.mark.parametrize("name", AGENTS)
# a night's run: HOOKLINE_LAW_EXAMPLES=20000 pytest tests/dialects
EXAMPLES = int(os.environ.get("HOOKLINE_LAW_EXAMPLES", "16"))
thorough = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
quick = settings(max_examples=max(EXAMPLES // 3, 8), suppress_health_check=[HealthCheck.too_slow])

CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})
DEEP = b'{"a":' * 5000 + b"1" + b"}" * 5000


@pytest.mark.spec("P-01", "O-33")
@every_system
@thorough
@given(event=events())
def test_event_survives_the_round_trip(name: str, event: Event) -> None:
    dialect = DIALECTS[name]

    assert dialect.decode_event(dialect.encode_event(event, HOOK).body) == normalise(event, name)


@every_system
@each("event", EventName)
def test_every_event_keeps_its_canonical_name(name: str, event: EventName) -> None:
    dialect = DIALECTS[name]
    request = dialect.encode_event(Event(name=event, tool="shell"), HOOK)

    assert dialect.decode_event(request.body).name is event


@every_system
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
    for native in ("", "PreToolUse", dialect.SPEC.events.get(EventName.BEFORE_TOOL, "before_tool")):
        assert isinstance(attempt(partial(dialect.decode_event, raw, native)), Event | DialectError)


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
    whole = st.just(json.loads(request.body)) | answers(name)
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


def said_by(theirs: str, event: Event, data: st.DataObject) -> Outcome | None:
    """Let a hook of a dialect say something, and give it as the engine would hand it on."""
    document: Plain = data.draw(answers(theirs))
    exit_code = data.draw(st.sampled_from([0, 0, 1, 2]))
    try:
        said = DIALECTS[theirs].decode_reply(
            Reply(stdout=json.dumps(document).encode(), exit_code=exit_code),
            DIALECTS[theirs].encode_event(event, HOOK),
        )
    except DialectError:
        return None
    return Outcome(decision=said.decision, reasons=(said.reason,) if said.reason else (), effects=said.effects)


def heard_by(ours: str, outcome: Outcome, event: Event) -> Verdict:
    """Say an outcome to a host, and read it as that host's own language says."""
    answer = DIALECTS[ours].encode_outcome(outcome, event)
    return DIALECTS[ours].decode_reply(
        Reply(stdout=answer.stdout, stderr=answer.stderr, exit_code=answer.exit_code),
        DIALECTS[ours].encode_event(event, HOOK),
    )


def any_call(data: st.DataObject) -> Event:
    tool, args = data.draw(calls())
    names = (EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.BEFORE_AGENT)
    name = data.draw(st.sampled_from(names))
    return Event(name=name, tool=tool, args=args, data=ALWAYS.get(name, {}))


@pytest.mark.parametrize("theirs", SYSTEMS)
@pytest.mark.parametrize("ours", SYSTEMS)
@quick
@given(data=st.data())
def test_translation_never_widens_a_verdict(theirs: str, ours: str, data: st.DataObject) -> None:
    event = any_call(data)
    outcome = said_by(theirs, event, data)
    if outcome is None:
        return

    heard = heard_by(ours, outcome, event)

    assert heard.decision >= outcome.decision
    assert (heard.decision is Decision.ALLOW) <= (outcome.decision is Decision.ALLOW)


# laws of agents: what they can carry arrives, and what they cannot is never wider


@every_agent
@thorough
@given(data=st.data())
def test_what_an_agent_said_is_said_again_and_understood_the_same(name: str, data: st.DataObject) -> None:
    dialect = DIALECTS[name]
    event = data.draw(agent_events(name))
    first = dialect.decode_event(dialect.encode_event(event, HOOK).body, dialect.SPEC.native(event))

    again = dialect.decode_event(dialect.encode_event(first, HOOK).body, dialect.SPEC.native(first))

    assert again == first
    assert first.host == name


@each(("name", "event"), [(name, event) for name in AGENTS for event in DIALECTS[name].SPEC.events])
def test_every_event_of_an_agent_keeps_its_canonical_name(name: str, event: EventName) -> None:
    dialect = DIALECTS[name]
    said = Event(name=event, tool="shell", args={"command": "ls"}, data=ALWAYS.get(event, {}))
    request = dialect.encode_event(said, HOOK)

    assert dialect.decode_event(request.body, dialect.SPEC.native(said)).name is event


@every_agent
@thorough
@given(data=st.data())
def test_what_an_agent_can_carry_arrives(name: str, data: st.DataObject) -> None:
    dialect = DIALECTS[name]
    said = data.draw(agent_events(name))
    event = dialect.decode_event(dialect.encode_event(said, HOOK).body, dialect.SPEC.native(said))
    outcome = degrade_for_agent(data.draw(agent_outcomes(event)), event, dialect.SPEC.able(event))

    heard = heard_by(name, outcome, event)

    assert heard.failure is None
    assert is_at_least(heard, outcome, event)
    told = "\n".join([heard.reason, *(str(effect.value) for effect in heard.effects)])
    quiet = outcome.decision >= Decision.STOP
    for text in (*outcome.context, *outcome.follow_ups):
        assert quiet or text in told
    if event.name is EventName.BEFORE_TOOL and outcome.args is not None and outcome.decision < Decision.DENY:
        changes = {e.path[1]: e.value for e in heard.effects if e.path[:1] == ("args",)}
        assert {**event.args, **changes}["command"] == outcome.args["command"]


def is_at_least(heard: Verdict, outcome: Outcome, event: Event) -> bool:
    """Tell whether nothing was widened; where a person is asked anyway, saying nothing is asking."""
    if event.name is EventName.PERMISSION_REQUEST and outcome.decision is Decision.ASK:
        return heard.decision is not Decision.ALLOW
    if event.name in {EventName.AFTER_AGENT, EventName.SUBAGENT_STOP} and outcome.decision is Decision.STOP:
        # an agent that is not sent back to work rests
        return heard.decision in {Decision.STOP, Decision.PASS}
    return heard.decision >= outcome.decision


@every_agent
@thorough
@given(data=st.data())
def test_an_agent_never_hears_more_than_a_hook_of_any_dialect_said(name: str, data: st.DataObject) -> None:
    theirs = data.draw(st.sampled_from(sorted(DIALECTS)))
    said = any_call(data)
    if said.name not in DIALECTS[name].SPEC.events:
        return
    outcome = said_by(theirs, said, data)
    if outcome is None:
        return
    event = DIALECTS[name].decode_event(DIALECTS[name].encode_event(said, HOOK).body, DIALECTS[name].SPEC.native(said))
    fitted = degrade_for_agent(outcome, event, DIALECTS[name].SPEC.able(event))

    heard = heard_by(name, fitted, event)

    assert is_at_least(heard, fitted, event)
    assert (heard.decision is Decision.ALLOW) <= (outcome.decision is Decision.ALLOW)


@pytest.mark.parametrize("theirs", AGENTS)
@thorough
@given(data=st.data())
def test_a_hook_of_an_agent_is_never_widened_by_another_system(theirs: str, data: st.DataObject) -> None:
    ours = data.draw(st.sampled_from(SYSTEMS))
    event = any_call(data)
    outcome = said_by(theirs, event, data)
    if outcome is None:
        return

    heard = heard_by(ours, outcome, event)

    assert heard.decision >= outcome.decision
    assert (heard.decision is Decision.ALLOW) <= (outcome.decision is Decision.ALLOW)


YES = (
    {"decision": "allow"},
    {"decision": "approve"},
    {"permission": "allow"},
    {"permissionDecision": "allow"},
    {"behavior": "allow"},
    {"action": "allow"},
    {"allow": True},
    {"continue": True},
    {"cancel": False},
    {"hookSpecificOutput": {"permissionDecision": "allow"}},
    {"hookSpecificOutput": {"decision": {"behavior": "allow"}}},
    {"hookSpecificOutput": {"decision": "allow"}},
)


@every_agent
@each("event", EventName)
def test_a_yes_that_skips_no_permission_in_its_own_agent_skips_none_elsewhere(name: str, event: EventName) -> None:
    dialect = DIALECTS[name]
    said = Event(name=event, tool="shell", args={"command": "ls"}, data=ALWAYS.get(event, {}))
    request = dialect.encode_event(said, HOOK)
    can = Ability.ALLOW in dialect.SPEC.abilities.get(dialect.SPEC.native(said), frozenset())

    for yes in YES:
        for exit_code in (0, 1, 2):
            reply = Reply(stdout=json.dumps(yes).encode(), exit_code=exit_code)
            verdict = attempt(partial(dialect.decode_reply, reply, request))
            assert can or not isinstance(verdict, Verdict) or verdict.decision is not Decision.ALLOW, yes


@every_agent
@each("event", [EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.BEFORE_AGENT])
@each("wrong", [5, [], ["x"], {"a": 1}, True])
def test_a_mistake_beside_a_no_does_not_take_it_back(name: str, event: EventName, wrong: object) -> None:
    dialect = DIALECTS[name]
    said = Event(name=event, tool="shell", args={"command": "ls"}, data=ALWAYS.get(event, {}))
    if event not in dialect.SPEC.events or Ability.BLOCK not in (dialect.SPEC.able(said) or ()):
        return
    answer = dialect.encode_outcome(Outcome(decision=Decision.DENY, reasons=("no",)), said)
    if not answer.stdout:
        return
    spoiled_answer = answer.stdout.replace(b'"no"', json.dumps(wrong).encode())
    assert spoiled_answer != answer.stdout

    verdict = dialect.decode_reply(
        Reply(stdout=spoiled_answer, exit_code=answer.exit_code), dialect.encode_event(said, HOOK)
    )

    assert verdict.decision >= Decision.DENY


@every_agent
@each("host", AGENTS)
def test_what_an_agent_calls_an_event_changes_nothing_for_hooks_of_others(name: str, host: str) -> None:
    spec, dialect = DIALECTS[host].SPEC, DIALECTS[name]
    natives = [native for native, event in spec.more_events.items() if event is EventName.BEFORE_TOOL]
    for native in [spec.events[EventName.BEFORE_TOOL], *natives]:
        usual = spec.events[EventName.BEFORE_TOOL] == native
        event = Event(
            name=EventName.BEFORE_TOOL,
            tool="shell",
            args={"command": "ls"},
            host=host,
            native_name="" if usual else native,
        )
        request = dialect.encode_event(event, HOOK)
        no = dialect.encode_outcome(
            Outcome(decision=Decision.DENY, reasons=("no",)), replace(event, host=name, native_name="")
        )

        if host != name:
            assert request.body == dialect.encode_event(replace(event, native_name=""), HOOK).body
        reply = Reply(stdout=no.stdout, stderr=no.stderr, exit_code=no.exit_code)
        assert dialect.decode_reply(reply, request).decision is Decision.DENY
        if name != "cline":
            # its program does not look at exit codes
            assert dialect.decode_reply(Reply(stderr=b"no", exit_code=2), request).decision is Decision.DENY
