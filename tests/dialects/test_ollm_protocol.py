"""The OLLM hook protocol 1.0.0, document by document."""

import json

import pytest

from hookline.dialects.ollm_protocol import SPEC, decode_event, decode_reply, encode_event, encode_outcome
from hookline.errors import DialectError
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import FailureKind, Reply
from hookline.model.hook import Hook, OnError
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

HOOK = Hook(id="h1", name="safety-check", version="1.0.0", command="check")
START = 1768557600000  # 2026-01-16T10:00:00Z
NOW = START + 330_000
SESSION = Session(id="abc123", user="developer", started=START)
WIRE_SESSION = {"id": "abc123", "user": "developer", "startTime": "2026-01-16T10:00:00.000Z"}
METADATA = {
    "timestamp": "2026-01-16T10:05:30.000Z",
    "hookName": "safety-check",
    "hookVersion": "1.0.0",
    "sessionId": "abc123",
}

Case = tuple[Event, str, dict[str, object]]


def moment(name: EventName, *, tool: str = "", args: dict[str, object] | None = None, **data: object) -> Event:
    return Event(name=name, data=data, tool=tool, args=args or {}, session=SESSION, timestamp=NOW)


CASES: list[Case] = [
    (
        moment(EventName.BEFORE_MODEL, prompt="Hello", model="llama2", temperature=0.7),
        "pre-execution",
        {"prompt": "Hello", "session": WIRE_SESSION, "config": {"model": "llama2", "temperature": 0.7}},
    ),
    (
        moment(EventName.AFTER_MODEL, prompt="Hello", response="Hi", duration=1.5, tokens=12),
        "post-execution",
        {"prompt": "Hello", "response": "Hi", "session": WIRE_SESSION, "metrics": {"duration": 1.5, "tokens": 12}},
    ),
    (
        moment(EventName.BEFORE_TOOL, tool="read_file", args={"path": "README.md"}),
        "pre-tool-call",
        {"tool": "read-file", "args": {"path": "README.md"}, "session": WIRE_SESSION},
    ),
    (
        moment(EventName.AFTER_TOOL, tool="shell", args={"command": "ls"}, result={"out": "a b"}, duration=0.25),
        "post-tool-call",
        {
            "tool": "shell",
            "args": {"command": "ls"},
            "result": {"out": "a b"},
            "metrics": {"duration": 0.25, "success": True},
            "session": WIRE_SESSION,
        },
    ),
    (
        moment(
            EventName.TOOL_FAILED,
            tool="shell",
            args={"command": "ls"},
            error="no",
            error_type="permission",
            error_code="EPERM",
            error_stack="at x",
            duration=0.5,
        ),
        "post-tool-call",
        {
            "tool": "shell",
            "args": {"command": "ls"},
            "error": {"message": "no", "type": "permission", "code": "EPERM", "stack": "at x"},
            "metrics": {"duration": 0.5, "success": False},
            "session": WIRE_SESSION,
        },
    ),
    (
        moment(EventName.ERROR, error="boom", error_code="E1", error_stack="at y", operation="shell"),
        "on-error",
        {
            "error": {"message": "boom", "code": "E1", "stack": "at y"},
            "operation": "shell",
            "session": WIRE_SESSION,
        },
    ),
    (
        moment(EventName.GIT_COMMIT, files=["a", "b"], message="Fix", branch="main"),
        "on-git-commit",
        {"files": ["a", "b"], "message": "Fix", "branch": "main", "session": WIRE_SESSION},
    ),
    (
        moment(EventName.SESSION_START),
        "on-session-start",
        {"session": {**WIRE_SESSION, "config": {}}},
    ),
    (
        moment(EventName.SESSION_END, ended=NOW, duration=330, message_count=4),
        "on-session-end",
        {
            "session": {
                **WIRE_SESSION,
                "endTime": "2026-01-16T10:05:30.000Z",
                "duration": 330,
                "messageCount": 4,
            }
        },
    ),
    (
        moment(EventName.CONTEXT_OVERFLOW, size=4000, max_size=4096, utilization=0.98),
        "on-context-overflow",
        {"session": WIRE_SESSION, "context": {"size": 4000, "maxSize": 4096, "utilization": 0.98}},
    ),
    (
        moment(EventName.PERMISSION_REQUEST, operation="shell", details={"command": "ls"}, requester="agent"),
        "on-approval-request",
        {"operation": "shell", "details": {"command": "ls"}, "requester": "agent", "session": WIRE_SESSION},
    ),
    (
        moment(EventName.CUSTOM, event_name="deploy", payload={"to": "prod"}, source="deployer"),
        "custom",
        {"eventName": "deploy", "data": {"to": "prod"}, "source": "deployer", "session": WIRE_SESSION},
    ),
]


CASES += [
    (
        moment(name, path="src/a.py", size=10, changed=NOW),
        "on-file-change",
        {
            "file": "src/a.py",
            "changes": {"type": kind, "size": 10, "timestamp": "2026-01-16T10:05:30.000Z"},
            "session": WIRE_SESSION,
        },
    )
    for name, kind in (
        (EventName.FILE_CREATED, "created"),
        (EventName.FILE_EDITED, "modified"),
        (EventName.FILE_DELETED, "deleted"),
    )
]


@pytest.mark.spec("P-04", "P-07", "P-08", "P-09", "P-12", "P-13", "P-14", "P-15")
@pytest.mark.parametrize(("event", "native", "context"), CASES, ids=[str(event.name) for event, _, _ in CASES])
def test_event_is_said_and_understood_as_the_document_prints_it(
    event: Event, native: str, context: dict[str, object]
) -> None:
    document = {"event": native, "context": context, "metadata": METADATA}

    assert encode_event(event, HOOK).document == document
    assert decode_event(json.dumps(document).encode()) == event


@pytest.mark.spec("P-01")
def test_event_is_one_line_of_utf_8() -> None:
    body = encode_event(moment(EventName.BEFORE_MODEL, prompt="grüße\n"), HOOK).body

    assert body.count(b"\n") == 1
    assert body.endswith(b"\n")
    assert "grüße\\n".encode() in body


def test_session_start_carries_the_configuration() -> None:
    event = Event(name=EventName.SESSION_START, session=Session(id="s", config={"model": "llama2"}))

    assert encode_event(event, HOOK).document == {
        "event": "on-session-start",
        "context": {"session": {"id": "s", "user": "", "config": {"model": "llama2"}}},
        "metadata": {"hookName": "safety-check", "hookVersion": "1.0.0", "sessionId": "s"},
    }


def test_hook_without_a_name_goes_by_its_id() -> None:
    document = encode_event(moment(EventName.NOTIFICATION), Hook(id="h2", command="x")).document

    assert isinstance(document, dict)
    assert document["metadata"] == {"timestamp": METADATA["timestamp"], "hookName": "h2", "sessionId": "abc123"}


def test_model_of_the_session_stands_in_for_the_call_s() -> None:
    event = Event(name=EventName.BEFORE_MODEL, session=Session(model="llama2"))

    context = decode_event(encode_event(event, HOOK).body)

    assert context.data == {"model": "llama2"}


@pytest.mark.spec("P-04")
def test_metadata_is_optional() -> None:
    event = decode_event(b'{"event": "pre-tool-call", "context": {"tool": "shell"}}')

    assert event == Event(name=EventName.BEFORE_TOOL, tool="shell")


def test_session_id_of_the_metadata_counts_when_there_is_no_session() -> None:
    assert decode_event(b'{"event":"on-error","context":{},"metadata":{"sessionId":"s"}}').session == Session(id="s")


@pytest.mark.parametrize(
    ("context", "name", "data"),
    [
        ({"metrics": {"success": True}}, EventName.AFTER_TOOL, {}),
        ({}, EventName.AFTER_TOOL, {}),
        ({"metrics": {"success": False, "cost": 1}}, EventName.TOOL_FAILED, {"metrics": {"cost": 1}}),
        ({"error": "broke"}, EventName.TOOL_FAILED, {"error": "broke"}),
        ({"error": {"message": "m", "errno": 2}}, EventName.TOOL_FAILED, {"error": "m", "error_details": {"errno": 2}}),
    ],
)
def test_post_tool_call_tells_success_from_failure(
    context: dict[str, object], name: EventName, data: dict[str, object]
) -> None:
    document = {"event": "post-tool-call", "context": {"tool": "shell", **context}}

    event = decode_event(json.dumps(document).encode())

    assert (event.name, event.data) == (name, data)


def test_file_change_of_an_unknown_type_is_an_edit_that_keeps_the_type() -> None:
    event = decode_event(b'{"event":"on-file-change","context":{"file":"a","changes":{"type":"renamed"}}}')

    assert (event.name, event.data) == (EventName.FILE_EDITED, {"path": "a", "changes": {"type": "renamed"}})


def test_unknown_event_is_custom_and_keeps_its_name() -> None:
    raw = b'{"event":"on-deploy","context":{"to":"prod"}}'
    event = decode_event(raw)

    assert event == Event(
        name=EventName.CUSTOM, native_name="on-deploy", data={"event_name": "on-deploy", "to": "prod"}
    )
    assert encode_event(event, HOOK).document == {
        "event": "on-deploy",
        "context": {"session": {"id": "", "user": ""}, "to": "prod"},
        "metadata": {"hookName": "safety-check", "hookVersion": "1.0.0", "sessionId": ""},
    }


@pytest.mark.spec("P-23")
@pytest.mark.parametrize("version", ["1.0.0", "1.9.3", "1"])
def test_version_of_the_same_major_is_accepted_and_new_fields_are_ignored(version: str) -> None:
    document = {"version": version, "event": "pre-tool-call", "context": {"tool": "shell"}, "priority": 3}

    assert decode_event(json.dumps(document).encode()).tool == "shell"
    assert read({"version": version, "allow": True, "confidence": 0.9}) == Verdict()


@pytest.mark.spec("P-23")
@pytest.mark.parametrize("version", ["2.0.0", "0.9", "10.0.0", "", 2])
def test_another_major_version_is_refused_with_a_clear_error(version: object) -> None:
    document = {"version": version, "event": "pre-tool-call", "context": {"tool": "shell"}}

    with pytest.raises(DialectError, match=r"ollm-protocol at version: .*(1\.0\.0|a text)"):
        decode_event(json.dumps(document).encode())
    with pytest.raises(DialectError, match="ollm-protocol at version: "):
        read({"version": version, "allow": True})


@pytest.mark.spec("P-17")
@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (b"", ""),
        (b"[]", ""),
        (b'{"context": {}}', "event"),
        (b'{"event": "", "context": {}}', "event"),
        (b'{"event": 5, "context": {}}', "event"),
        (b'{"event": "pre-tool-call"}', "context"),
        (b'{"event": "pre-tool-call", "context": []}', "context"),
        (b'{"event": "pre-tool-call", "context": {}}', "context.tool"),
        (b'{"event": "pre-tool-call", "context": {"tool": 1}}', "context.tool"),
        (b'{"event": "pre-tool-call", "context": {"tool": "x", "args": []}}', "context.args"),
        (b'{"event": "on-error", "context": {"session": 1}}', "context.session"),
        (b'{"event": "on-error", "context": {"session": {"id": 1}}}', "context.session.id"),
        (b'{"event": "on-error", "context": {"session": {"startTime": "soon"}}}', "context.session.startTime"),
        (b'{"event": "on-error", "context": {}, "metadata": 1}', "metadata"),
        (b'{"event": "on-error", "context": {}, "metadata": {"timestamp": true}}', "metadata.timestamp"),
        (b'{"event": "post-execution", "context": {"metrics": 3}}', "context.metrics"),
    ],
)
def test_broken_event_is_refused_with_its_place(raw: bytes, where: str) -> None:
    with pytest.raises(DialectError) as caught:
        decode_event(raw)

    assert caught.value.where == where


def test_event_with_broken_characters_still_reaches_the_guards() -> None:
    args = b'{"command": "rm \\ud800 \\\\ud800 \\ud83d\\ude00 \xff"}'
    event = decode_event(b'\xef\xbb\xbf{"event":"pre-tool-call","context":{"tool":"shell","args":' + args + b"}}")

    assert event.args == {"command": "rm \ufffd \\ud800 \U0001f600 \ufffd"}


# answers


def read(document: object, *, event: Event | None = None, exit_code: int = 0) -> Verdict:
    stdout = document if isinstance(document, bytes) else json.dumps(document).encode()
    request = encode_event(event or moment(EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}), HOOK)
    return decode_reply(Reply(stdout=stdout, exit_code=exit_code), request)


@pytest.mark.spec("P-05", "P-06")
def test_allow_goes_on_and_its_message_reaches_the_person() -> None:
    metadata = {"checked": True, "duration": 0.05, "timestamp": "2026-01-16T10:05:30Z"}

    assert read({"allow": True, "message": "Operation approved", "metadata": metadata}) == Verdict(
        effects=(Effect(EffectKind.MESSAGE, "Operation approved"),), metadata=metadata
    )


@pytest.mark.spec("P-05", "P-06")
def test_refusal_blocks_and_its_message_is_the_reason() -> None:
    metadata = {"reason": "rm -rf detected", "severity": "critical"}

    assert read({"allow": False, "message": "Dangerous operation detected", "metadata": metadata}) == Verdict(
        decision=Decision.DENY, reason="Dangerous operation detected", metadata=metadata
    )


def test_reason_in_the_metadata_counts_when_there_is_no_message() -> None:
    assert read({"allow": False, "metadata": {"reason": "because"}}).reason == "because"


@pytest.mark.spec("P-18")
@pytest.mark.parametrize("exit_code", [0, 1])
def test_refusal_with_an_error_is_understood_as_that_error(exit_code: int) -> None:
    metadata = {"error": "ValidationError", "field": "event"}
    verdict = read(
        {"allow": False, "message": "Invalid input: missing required field 'event'", "metadata": metadata},
        exit_code=exit_code,
    )

    assert verdict.decision is Decision.DENY
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.HOOK_ERROR
    assert verdict.failure.message == "ValidationError: Invalid input: missing required field 'event'"


@pytest.mark.spec("P-14")
def test_allow_is_the_approval_where_approval_was_asked_for() -> None:
    asked = moment(EventName.PERMISSION_REQUEST, operation="shell")

    assert read({"allow": True}, event=asked).decision is Decision.ALLOW
    assert read({"allow": True, "metadata": {"seen": 1}}, event=asked).decision is Decision.ALLOW
    assert read({"allow": True}).decision is Decision.PASS


@pytest.mark.spec("P-14")
def test_request_about_a_tool_is_said_as_operation_and_details() -> None:
    event = moment(EventName.PERMISSION_REQUEST, tool="glob", args={"pattern": "*", "path": "/"})
    request = encode_event(event, HOOK)

    assert isinstance(request.document, dict)
    assert request.document["context"] == {
        "session": WIRE_SESSION,
        "tool": "glob",
        "args": {"pattern": "*", "directory": "/"},
        "operation": "glob",
        "details": {"pattern": "*", "directory": "/"},
    }
    assert decode_event(request.body) == event


@pytest.mark.spec("P-14")
def test_no_opinion_is_no_approval() -> None:
    asked = moment(EventName.PERMISSION_REQUEST, operation="shell")

    answer = encode_outcome(Outcome(), asked)

    assert json.loads(answer.stdout) == {"allow": False, "metadata": {"decision": "ask"}}


@pytest.mark.parametrize(
    ("metadata", "allow", "decision"),
    [
        ({"decision": "ask"}, False, Decision.ASK),
        ({"stop": True}, False, Decision.STOP),
        ({"stop": "yes"}, False, Decision.DENY),
        ({"decision": "allow"}, False, Decision.DENY),
        ({"decision": "fine"}, False, Decision.DENY),
        ({"decision": "allow"}, True, Decision.ALLOW),
        ({"decision": "ask"}, True, Decision.ASK),
        ({"decision": "deny"}, True, Decision.DENY),
        ({"decision": "fine"}, True, Decision.PASS),
        ({"decision": ["allow"]}, True, Decision.PASS),
    ],
)
def test_decision_is_never_wider_than_allow_says(metadata: dict[str, object], allow: bool, decision: Decision) -> None:  # noqa: FBT001 - pytest passes it by name
    assert read({"allow": allow, "metadata": metadata}).decision is decision


@pytest.mark.spec("P-05")
def test_metadata_carries_every_effect() -> None:
    metadata = {
        "modifiedArgs": {"command": "ls -l", "timeout": 2000},
        "modifiedResult": None,
        "context": ["one", "two"],
        "askAgent": "go on",
        "data": {"seen": 1},
    }

    assert read({"allow": True, "metadata": metadata}).effects == (
        Effect(EffectKind.REWRITE, "ls -l", ("args", "command")),
        Effect(EffectKind.REWRITE, 2, ("args", "timeout")),
        Effect(EffectKind.REWRITE, None, ("output",)),
        Effect(EffectKind.CONTEXT, "one"),
        Effect(EffectKind.CONTEXT, "two"),
        Effect(EffectKind.ASK_AGENT, "go on"),
        Effect(EffectKind.DATA, 1, ("seen",)),
    )


def test_metadata_that_is_the_hook_s_own_business_is_only_kept() -> None:
    metadata = {"context": {"file": "a"}, "messages": 3, "askAgent": [1], "data": "raw", "reason": 5}

    assert read({"allow": True, "metadata": metadata}) == Verdict(metadata=metadata)


@pytest.mark.spec("P-17")
@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"OK",
        b"[]",
        b"{",
        {},
        {"allow": "true"},
        {"allow": 1},
        {"allow": None},
        {"allow": True, "message": 5},
        {"allow": True, "metadata": "x"},
    ],
)
def test_answer_that_breaks_the_protocol_is_refused(document: object) -> None:
    with pytest.raises(DialectError, match="ollm-protocol"):
        read(document)


@pytest.mark.spec("P-17")
def test_refusal_of_an_answer_says_what_came_and_what_was_expected() -> None:
    with pytest.raises(DialectError) as caught:
        read({"allow": "yes " * 50})

    assert caught.value.where == "allow"
    assert caught.value.message.startswith("expected true or false, got a text: yes yes")
    assert len(caught.value.message) < 130


def test_failing_exit_code_is_a_failure_and_drops_what_was_said() -> None:
    verdict = read({"allow": True, "metadata": {"context": "x"}}, exit_code=3)

    assert (verdict.decision, verdict.effects) == (Decision.PASS, ())
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.EXIT_CODE
    assert "exit code 3" in verdict.failure.message


@pytest.mark.parametrize("stdout", [b"", b"Traceback", b'{"allow": "x"}'])
def test_failing_exit_code_explains_a_missing_answer(stdout: bytes) -> None:
    request = encode_event(moment(EventName.NOTIFICATION), HOOK)
    verdict = decode_reply(Reply(stdout=stdout, stderr=b"no module named x\n", exit_code=1), request)

    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.EXIT_CODE
    assert verdict.failure.message == "ended with exit code 1: no module named x"


@pytest.mark.parametrize("metadata", [{}, {"decision": "ask"}, {"stop": True}])
def test_blocking_answer_counts_whatever_the_exit_code(metadata: dict[str, object]) -> None:
    verdict = read({"allow": False, "message": "no", "metadata": metadata}, exit_code=1)

    assert verdict.decision >= Decision.ASK
    assert (verdict.reason, verdict.failure) == ("no", None)


def test_noise_before_the_answer_is_noted() -> None:
    verdict = read(b'checking...\n{"allow": false, "message": "no"}\n')

    assert verdict == Verdict(decision=Decision.DENY, reason="no", notes=("stdout: checking...",))


def test_guard_that_quotes_half_a_character_is_still_understood() -> None:
    assert read(b'{"allow": false, "message": "not \\udc00"}').reason == "not \ufffd"


def test_function_answers_with_a_dict_and_nothing_else() -> None:
    request = encode_event(moment(EventName.NOTIFICATION), HOOK)

    assert decode_reply(Reply(value={"allow": True}), request) == Verdict()
    for value in (None, "ok", [{"allow": True}], 1):
        with pytest.raises(DialectError):
            decode_reply(Reply(value=value), request)


@pytest.mark.parametrize(
    ("outcome", "document"),
    [
        (Outcome(), {"allow": True}),
        (Outcome(decision=Decision.ALLOW, reasons=("ok",)), {"allow": True, "metadata": {"decision": "allow", "reason": "ok"}}),
        (Outcome(decision=Decision.ASK, reasons=("sure?",)), {"allow": False, "message": "sure?", "metadata": {"decision": "ask"}}),
        (Outcome(decision=Decision.DENY, reasons=("a", "b")), {"allow": False, "message": "a\nb"}),
        (Outcome(decision=Decision.STOP, reasons=("x",)), {"allow": False, "message": "x", "metadata": {"stop": True}}),
        (
            Outcome(effects=(Effect(EffectKind.MESSAGE, "one"), Effect(EffectKind.MESSAGE, "two"))),
            {"allow": True, "message": "one\n\ntwo"},
        ),
        (
            Outcome(decision=Decision.DENY, reasons=("no",), effects=(Effect(EffectKind.MESSAGE, "see log"),)),
            {"allow": False, "message": "no", "metadata": {"messages": "see log"}},
        ),
        (
            Outcome(args={"command": "ls", "timeout": 1.5}, output={"out": ""}),
            {"allow": True, "metadata": {"modifiedArgs": {"timeout": 1500}, "modifiedResult": {"out": ""}}},
        ),
    ],
)  # fmt: skip
def test_outcome_is_said_as_the_document_says(outcome: Outcome, document: dict[str, object]) -> None:
    event = moment(EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})
    answer = encode_outcome(outcome, event)

    assert json.loads(answer.stdout) == document
    assert (answer.stdout[-1:], answer.exit_code) == (b"\n", 0)


def test_spec_fails_closed_after_five_seconds() -> None:
    assert (SPEC.timeout, SPEC.on_error) == (5.0, OnError.BLOCK)
    assert SPEC.tools["read_file"] == ("read-file", "read_file")
