"""Hookline's own dialect: nothing lost, nothing renamed."""

import json

import pytest

from hookline.dialects.hookline import decode_event, decode_reply, encode_event, encode_outcome
from hookline.errors import DialectError
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import FailureKind, Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

HOOK = Hook(id="h1", command="check")
CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})


def test_event_is_our_words_as_json() -> None:
    event = Event(
        name=EventName.BEFORE_TOOL,
        data={"note": 1},
        tool="shell",
        args={"command": "ls"},
        session=Session(id="s", user="ann", started=5, config={"a": 1}),
        cwd="/work",
        timestamp=7,
        native_tool="Bash",
        id="e1",
    )
    document = {
        "event": "before_tool",
        "id": "e1",
        "cwd": "/work",
        "tool": "shell",
        "native_tool": "Bash",
        "args": {"command": "ls"},
        "timestamp": 7,
        "session": {"id": "s", "user": "ann", "started": 5, "config": {"a": 1}},
        "data": {"note": 1},
    }

    assert encode_event(event, HOOK).document == document
    assert decode_event(json.dumps(document).encode()) == event


def test_times_may_come_as_iso() -> None:
    assert decode_event(b'{"event": "notification", "timestamp": "1970-01-01T00:00:01Z"}').timestamp == 1000


def test_unknown_event_is_custom_and_keeps_its_name() -> None:
    event = decode_event(b'{"event": "deploy", "data": {"to": "prod"}}')

    assert event == Event(name=EventName.CUSTOM, native_name="deploy", data={"event_name": "deploy", "to": "prod"})
    assert decode_event(encode_event(event, HOOK).body) == event


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (b"x", ""),
        (b"{}", "event"),
        (b'{"event": "setup", "data": 1}', "data"),
        (b'{"event": "setup", "args": 1}', "args"),
        (b'{"event": "setup", "tool": 1}', "tool"),
        (b'{"event": "setup", "session": {"config": 1}}', "session.config"),
        (b'{"event": "setup", "session": {"started": "x"}}', "session.started"),
    ],
)
def test_broken_event_is_refused_with_its_place(raw: bytes, where: str) -> None:
    with pytest.raises(DialectError) as caught:
        decode_event(raw)

    assert caught.value.where == where


def read(document: object, *, exit_code: int = 0, stderr: bytes = b"") -> Verdict:
    stdout = document if isinstance(document, bytes) else json.dumps(document).encode()
    return decode_reply(Reply(stdout=stdout, stderr=stderr, exit_code=exit_code), encode_event(CALL, HOOK))


@pytest.mark.parametrize("decision", Decision)
def test_decision_by_its_name(decision: Decision) -> None:
    assert read({"decision": decision.name.lower(), "reason": "r"}) == Verdict(
        decision=decision, reason="r", ends=decision is Decision.STOP
    )


def test_every_effect_has_a_field() -> None:
    document = {
        "args": {"command": "true"},
        "output": 1,
        "context": "c",
        "message": "m",
        "ask_agent": ["a", "b"],
        "data": {"k": 1},
        "other": 2,
        "metadata": {"x": 3},
    }

    assert read(document) == Verdict(
        effects=(
            Effect(EffectKind.REWRITE, "true", ("args", "command")),
            Effect(EffectKind.REWRITE, 1, ("output",)),
            Effect(EffectKind.CONTEXT, "c"),
            Effect(EffectKind.MESSAGE, "m"),
            Effect(EffectKind.ASK_AGENT, "a"),
            Effect(EffectKind.ASK_AGENT, "b"),
            Effect(EffectKind.DATA, 1, ("k",)),
        ),
        metadata={"other": 2, "x": 3},
    )


def test_exit_code_2_denies_and_stderr_says_why() -> None:
    assert read(b"", exit_code=2, stderr=b"not on my watch\n") == Verdict.deny("not on my watch")
    assert read(b"", exit_code=2).reason == "blocked without a reason"


def test_other_exit_codes_are_failures() -> None:
    verdict = read({"decision": "allow"}, exit_code=1)

    assert verdict.decision is Decision.PASS
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.EXIT_CODE


def test_bytes_that_are_no_utf_8_do_not_hide_a_denial() -> None:
    assert read(b'{"decision": "deny", "\xff": "\xfe", "reason": "\\ud800 \xff"}').decision is Decision.DENY


def test_silence_goes_on() -> None:
    assert read(b"") == Verdict()


def test_function_may_answer_with_a_verdict_a_dict_or_nothing() -> None:
    request = encode_event(CALL, HOOK)
    verdict = Verdict.deny("no")

    assert decode_reply(Reply(value=verdict), request) is verdict
    assert decode_reply(Reply(value=None), request) == Verdict()
    assert decode_reply(Reply(value={"decision": "ask"}), request) == Verdict.ask("")
    with pytest.raises(DialectError, match="expected a dict or None from the function, got str: deny"):
        decode_reply(Reply(value="deny"), request)


@pytest.mark.parametrize(
    "document",
    [b"deny", b"true", {"decision": "no"}, {"decision": None}, {"decision": 3}, {"reason": 1},
     {"context": 1}, {"message": {}}, {"data": []}, {"metadata": 1}],
)  # fmt: skip
def test_answer_that_breaks_the_protocol_is_refused(document: object) -> None:
    with pytest.raises(DialectError, match="hookline"):
        read(document)


def test_outcome_says_everything() -> None:
    outcome = Outcome(
        decision=Decision.STOP,
        reasons=("a", "b"),
        effects=(Effect(EffectKind.CONTEXT, "c"), Effect(EffectKind.DATA, 1, ("k",))),
        args={"command": "true"},
        output=None,
    )

    assert json.loads(encode_outcome(outcome, CALL).stdout) == {
        "decision": "stop",
        "reason": "a\nb",
        "args": {"command": "true"},
        "output": None,
        "context": "c",
        "data": {"k": 1},
    }
