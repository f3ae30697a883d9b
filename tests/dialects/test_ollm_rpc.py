"""OLLM event automation over JSON-RPC, document by document."""

import json

import pytest

from hookline.dialects.ollm_rpc import decode_event, decode_reply, encode_event, encode_outcome
from hookline.errors import DialectError
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import Failure, FailureKind, Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

HOOK = Hook(id="h1", command="check")
NOW = 1768557600000
SESSION = Session(agent={"mode": "developer"}, profile={"preferences": {"theme": "dark"}})
AGENT = {"mode": "developer", "context": {}, "history": []}
USER = {"preferences": {"theme": "dark"}, "settings": {}}
EDITED = Event(
    name=EventName.FILE_EDITED,
    data={"path": "src/index.ts", "diff": "..."},
    session=SESSION,
    timestamp=NOW,
)


def request(kind: str, data: dict[str, object], **context: object) -> dict[str, object]:
    return {
        "jsonrpc": "2.0",
        "method": "execute",
        "params": {
            "event": {"type": kind, "timestamp": NOW, "data": data},
            "context": {"agent": AGENT, "user": USER, **context},
        },
        "id": 1,
    }


def moment(name: EventName, **data: object) -> Event:
    return Event(name=name, data=data, session=SESSION, timestamp=NOW)


CASES: list[tuple[Event, dict[str, object]]] = [
    (
        EDITED,
        request(
            "fileEdited",
            {"path": "src/index.ts", "changes": "..."},
            file={"path": "src/index.ts", "changes": "..."},
        ),
    ),
    (
        moment(EventName.FILE_CREATED, path="a", content="hello", size=5),
        request("fileCreated", {"path": "a", "size": 5}, file={"path": "a", "content": "hello"}),
    ),
    (moment(EventName.FILE_DELETED, path="a"), request("fileDeleted", {"path": "a"}, file={"path": "a"})),
    (moment(EventName.BEFORE_AGENT, prompt="hi"), request("promptSubmit", {"prompt": "hi"})),
    (moment(EventName.AFTER_AGENT, response="done"), request("agentStop", {"response": "done"})),
    (moment(EventName.BEFORE_TOOL_SELECTION, tools=["a"]), request("before_tool_selection", {"tools": ["a"]})),
    (moment(EventName.USER_TRIGGERED, hook="lint", input="all"), request("userTriggered", {"hook": "lint", "input": "all"})),
    (moment(EventName.NOTIFICATION, message="m"), request("notification", {"message": "m"})),
]  # fmt: skip


@pytest.mark.spec("D-13")
@pytest.mark.parametrize(("event", "document"), CASES, ids=[str(event.name) for event, _ in CASES])
def test_event_is_said_and_understood_as_the_document_prints_it(event: Event, document: dict[str, object]) -> None:
    assert encode_event(event, HOOK).document == document
    assert decode_event(json.dumps(document).encode()) == event


@pytest.mark.spec("D-08")
def test_agent_and_user_are_there_even_when_nothing_is_known() -> None:
    assert encode_event(Event(name=EventName.NOTIFICATION), HOOK).document == {
        "jsonrpc": "2.0",
        "method": "execute",
        "params": {
            "event": {"type": "notification", "timestamp": 0, "data": {}},
            "context": {
                "agent": {"mode": "", "context": {}, "history": []},
                "user": {"preferences": {}, "settings": {}},
            },
        },
        "id": 1,
    }


@pytest.mark.spec("D-13")
@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (1234567890, 1234567890_000),
        (1234567890.5, 1234567890_500),
        (NOW, NOW),
        ("2026-01-16T10:00:00Z", NOW),
        (None, 0),
    ],
)
def test_time_may_be_in_seconds_milliseconds_or_iso(timestamp: object, expected: int) -> None:
    document = {
        "jsonrpc": "2.0",
        "method": "execute",
        "params": {"event": {"type": "agentStop", "timestamp": timestamp}},
        "id": 1,
    }

    assert decode_event(json.dumps(document).encode()).timestamp == expected


def test_file_of_the_context_counts_when_the_event_has_none() -> None:
    document = request("fileEdited", {}, file={"path": "a", "content": "c", "changes": "d"})

    assert decode_event(json.dumps(document).encode()).data == {"path": "a", "content": "c", "diff": "d"}


@pytest.mark.parametrize("request_id", [7, "req-1", 0])
def test_response_carries_the_request_s_id(request_id: object) -> None:
    document = {**request("agentStop", {}), "id": request_id}
    event = decode_event(json.dumps(document).encode())

    assert json.loads(encode_outcome(Outcome(), event).stdout)["id"] == request_id
    assert encode_event(event, HOOK).document == document


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"jsonrpc": "1.0"}, "jsonrpc"),
        ({"jsonrpc": None}, "jsonrpc"),
        ({"method": "run"}, "method"),
        ({"params": []}, "params"),
        ({"params": {}}, "params.event.type"),
        ({"params": {"event": {"type": 1}}}, "params.event.type"),
        ({"params": {"event": {"type": "x", "data": 1}}}, "params.event.data"),
        ({"params": {"event": {"type": "x", "timestamp": []}}}, "params.event.timestamp"),
        ({"params": {"event": {"type": "x"}, "context": {"agent": 1}}}, "params.context.agent"),
        ({"params": {"event": {"type": "x"}, "context": {"user": "u"}}}, "params.context.user"),
        ({"params": {"event": {"type": "x"}, "context": {"file": "a"}}}, "params.context.file"),
        ({"params": {"event": {"type": "before_tool"}}}, "params.event.data.tool_name"),
        ({"id": 1.5}, "id"),
        ({"id": True}, "id"),
    ],
)
def test_broken_event_is_refused_with_its_place(change: dict[str, object], where: str) -> None:
    with pytest.raises(DialectError) as caught:
        decode_event(json.dumps({**request("agentStop", {}), **change}).encode())

    assert caught.value.where == where


@pytest.mark.spec("D-08")
def test_context_has_all_that_is_known() -> None:
    history = [{"role": "user", "content": "hi"}]
    agent = {"mode": "planning", "context": {"tokens": 7}, "history": history, "extra": 1}
    profile = {"preferences": {"style": "short"}, "settings": {"lint": True}}
    event = Event(
        name=EventName.FILE_EDITED,
        timestamp=NOW,
        session=Session(agent=agent, profile=profile),
        data={"path": "a.py", "content": "new", "diff": "-old\n+new"},
    )

    said = encode_event(event, HOOK)

    assert isinstance(said.document, dict)
    assert said.document["params"] == {
        "event": {"type": "fileEdited", "timestamp": NOW, "data": {"path": "a.py", "changes": "-old\n+new"}},
        "context": {
            "file": {"path": "a.py", "content": "new", "changes": "-old\n+new"},
            "agent": agent,
            "user": profile,
        },
    }
    assert decode_event(said.body) == event


# answers


def read(document: object, *, event: Event = EDITED, exit_code: int = 0) -> Verdict:
    stdout = document if isinstance(document, bytes) else json.dumps(document).encode()
    return decode_reply(Reply(stdout=stdout, exit_code=exit_code), encode_event(event, HOOK))


def result(**fields: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "result": fields, "id": 1}


@pytest.mark.spec("D-13")
def test_ask_agent_sends_the_prompt_to_the_agent() -> None:
    metadata = {"executionTime": 123, "success": True}

    assert read(result(action="askAgent", prompt="Run linting on the edited file", metadata=metadata)) == Verdict(
        effects=(Effect(EffectKind.ASK_AGENT, "Run linting on the edited file"),), metadata=metadata
    )


@pytest.mark.spec("D-13")
def test_error_object_is_a_failure_with_its_reason() -> None:
    error = {
        "code": -32603,
        "message": "Hook execution failed",
        "data": {"reason": "Command not found", "details": "..."},
    }

    assert read({"jsonrpc": "2.0", "error": error, "id": 1}) == Verdict(
        failure=Failure(FailureKind.HOOK_ERROR, "Hook execution failed (code -32603): Command not found"),
        metadata={"error": error},
    )


@pytest.mark.spec("D-13")
@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({}, "no message"),
        ({"message": "m", "data": "why"}, "m: why"),
        ({"code": 1, "message": "m", "data": [1]}, "m (code 1): [1]"),
    ],
)
def test_error_object_may_leave_things_out(error: dict[str, object], message: str) -> None:
    assert read({"jsonrpc": "2.0", "error": error, "id": None}).failure == Failure(FailureKind.HOOK_ERROR, message)


@pytest.mark.parametrize(
    ("action", "decision"),
    [
        ("continue", Decision.PASS),
        ("none", Decision.PASS),
        ("allow", Decision.ALLOW),
        ("ask", Decision.ASK),
        ("block", Decision.DENY),
        ("stop", Decision.STOP),
    ],
)
def test_action_decides(action: str, decision: Decision) -> None:
    verdict = read(result(action=action, reason="because"))

    assert (verdict.decision, verdict.reason) == (decision, "because")
    assert verdict.ends is (decision is Decision.STOP)


def test_every_effect_has_a_field() -> None:
    call = Event(name=EventName.BEFORE_TOOL, tool="glob", args={"pattern": "*"})
    document = result(
        action="continue",
        modifiedArgs={"directory": "src"},
        modifiedResult=[],
        context="c",
        message=["m", "n"],
        data={"k": 1},
        confidence=0.5,
    )

    assert read(document, event=call) == Verdict(
        effects=(
            Effect(EffectKind.REWRITE, "src", ("args", "path")),
            Effect(EffectKind.REWRITE, [], ("output",)),
            Effect(EffectKind.CONTEXT, "c"),
            Effect(EffectKind.MESSAGE, "m"),
            Effect(EffectKind.MESSAGE, "n"),
            Effect(EffectKind.DATA, 1, ("k",)),
        ),
        metadata={"confidence": 0.5},
    )


def test_hook_may_not_run_commands() -> None:
    with pytest.raises(DialectError, match="only configured hooks may run commands"):
        read(result(action="runCommand", command="rm -rf /"))


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"ok",
        {"result": {"action": "continue"}, "id": 1},
        {"jsonrpc": "2.0", "result": {"action": "continue"}, "id": 2},
        {"jsonrpc": "2.0", "result": {"action": "continue"}, "id": None},
        {"jsonrpc": "2.0", "result": {"action": "continue"}, "id": True},
        {"jsonrpc": "2.0", "result": {"action": "continue"}},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "result": {"action": "continue"}, "error": {}, "id": 1},
        {"jsonrpc": "2.0", "result": "ok", "id": 1},
        {"jsonrpc": "2.0", "error": "no", "id": 1},
        {"jsonrpc": "2.0", "error": {"message": 1}, "id": 1},
        result(),
        result(action="approve-all"),
        result(action=["allow"]),
        result(action="askAgent", prompt=1),
        result(action="continue", metadata=1),
        result(action="continue", data=1),
    ],
)
def test_answer_that_breaks_the_protocol_is_refused(document: object) -> None:
    with pytest.raises(DialectError, match="ollm-rpc"):
        read(document)


def test_exit_code_is_a_failure_unless_the_answer_blocks() -> None:
    failed = read(result(action="continue"), exit_code=1)
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.EXIT_CODE
    assert read(result(action="ask"), exit_code=1).decision is Decision.ASK


def test_error_of_its_own_explains_a_failing_exit_code() -> None:
    error = {"jsonrpc": "2.0", "error": {"message": "no linter"}, "id": 1}

    assert read(error, exit_code=1).failure == Failure(FailureKind.HOOK_ERROR, "no linter")


@pytest.mark.parametrize(
    ("outcome", "fields"),
    [
        (Outcome(), {"action": "continue"}),
        (Outcome(decision=Decision.ALLOW), {"action": "allow"}),
        (Outcome(decision=Decision.ASK, reasons=("?",)), {"action": "ask", "reason": "?"}),
        (Outcome(decision=Decision.DENY, reasons=("no",)), {"action": "block", "reason": "no"}),
        (Outcome(decision=Decision.STOP, reasons=("end",)), {"action": "stop", "reason": "end"}),
        (
            Outcome(effects=(Effect(EffectKind.ASK_AGENT, "a"), Effect(EffectKind.ASK_AGENT, "b"))),
            {"action": "askAgent", "prompt": "a\n\nb"},
        ),
        (
            Outcome(decision=Decision.DENY, effects=(Effect(EffectKind.ASK_AGENT, "a"), Effect(EffectKind.DATA, 1, ("k",)))),
            {"action": "block", "prompt": "a", "data": {"k": 1}},
        ),
        (
            Outcome(output=None, effects=(Effect(EffectKind.CONTEXT, "c"), Effect(EffectKind.CONTEXT, "d"), Effect(EffectKind.MESSAGE, "m"))),
            {"action": "continue", "modifiedResult": None, "context": ["c", "d"], "message": "m"},
        ),
    ],
)  # fmt: skip
def test_outcome_is_said_as_the_document_says(outcome: Outcome, fields: dict[str, object]) -> None:
    assert json.loads(encode_outcome(outcome, EDITED).stdout) == {"jsonrpc": "2.0", "result": fields, "id": 1}
