"""Ollama CLI's lifecycle hooks, document by document."""

import json

import pytest

from hookline.dialects.ollama_cli import SPEC, decode_event, decode_reply, encode_event, encode_outcome
from hookline.errors import DialectError
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import FailureKind, Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

HOOK = Hook(id="h1", command="check")
NOW = 1704067200000
SESSION = Session(id="abc123", model="llama3.2", provider="ollama")
CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, session=SESSION, timestamp=NOW)


def payload(hook: str, data: dict[str, object]) -> dict[str, object]:
    return {
        "hook": hook,
        "timestamp": "2024-01-01T00:00:00.000Z",
        "session_id": "abc123",
        "model": "llama3.2",
        "provider": "ollama",
        "data": data,
        **{key: value for key, value in data.items() if key != "model"},
    }


def moment(name: EventName, **data: object) -> Event:
    return Event(name=name, data=data, session=SESSION, timestamp=NOW)


BASH: dict[str, object] = {"tool": "bash", "tool_name": "bash", "tool_input": {"command": "ls"}, "command": "ls"}

CASES: list[tuple[Event, dict[str, object]]] = [
    (moment(EventName.SETUP, trigger="init"), payload("Setup", {"trigger": "init"})),
    (moment(EventName.SESSION_START, source="startup"), payload("SessionStart", {"source": "startup"})),
    (
        moment(EventName.SESSION_END, summary={"total_tokens": 9}, webhook_url="http://localhost/x"),
        payload("SessionEnd", {"summary": {"total_tokens": 9}, "webhook_url": "http://localhost/x"}),
    ),
    (moment(EventName.BEFORE_AGENT, prompt="hi"), payload("UserPromptSubmit", {"prompt": "hi"})),
    (CALL, payload("PreToolUse", BASH)),
    (
        Event(name=EventName.AFTER_TOOL, tool="shell", args={"command": "ls"}, data={"result": "a"}, session=SESSION, timestamp=NOW),
        payload("PostToolUse", {**BASH, "result": "a"}),
    ),
    (
        Event(
            name=EventName.TOOL_FAILED,
            tool="shell",
            args={"command": "ls"},
            data={"error": "denied", "error_type": "permission", "error_code": "EPERM", "error_stack": "at x", "duration": 0.1},
            session=SESSION,
            timestamp=NOW,
        ),
        payload(
            "PostToolUseFailure",
            {**BASH, "error": "denied", "error_type": "permission", "error_code": "EPERM", "error_stack": "at x", "duration": 0.1},
        ),
    ),
    (
        Event(
            name=EventName.PERMISSION_REQUEST, tool="read_file", args={"path": "a"}, session=SESSION, timestamp=NOW, data={"requester": "agent"}
        ),
        payload("PermissionRequest", {"tool": "Read", "tool_name": "Read", "tool_input": {"path": "a"}, "path": "a", "requester": "agent"}),
    ),
    (moment(EventName.SKILL_TRIGGER, skill="deploy", parameters={"to": "prod"}), payload("SkillTrigger", {"skill": "deploy", "parameters": {"to": "prod"}})),
    (moment(EventName.PRE_COMPRESS, messages=[{"role": "user"}], context={}), payload("PreCompact", {"messages": [{"role": "user"}], "context": {}})),
    (moment(EventName.AFTER_AGENT, response="done"), payload("Stop", {"response": "done"})),
    (moment(EventName.SUBAGENT_START, agent_id="1", agent_type="reviewer"), payload("SubagentStart", {"agent_id": "1", "agent_type": "reviewer"})),
    (moment(EventName.SUBAGENT_STOP, agent_id="1", response="ok"), payload("SubagentStop", {"agent_id": "1", "response": "ok"})),
    (moment(EventName.NOTIFICATION, message="m"), payload("Notification", {"message": "m"})),
]  # fmt: skip


@pytest.mark.spec("C-01", "C-06", "C-11")
@pytest.mark.parametrize(("event", "document"), CASES, ids=[str(event.name) for event, _ in CASES])
def test_event_is_said_and_understood_as_the_document_prints_it(event: Event, document: dict[str, object]) -> None:
    assert encode_event(event, HOOK).document == document
    assert decode_event(json.dumps(document).encode()) == event


@pytest.mark.spec("C-01")
def test_the_fourteen_events_are_there() -> None:
    assert sorted(SPEC.events.values()) == [
        "Notification", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "PreCompact", "PreToolUse",
        "SessionEnd", "SessionStart", "Setup", "SkillTrigger", "Stop", "SubagentStart", "SubagentStop",
        "UserPromptSubmit",
    ]  # fmt: skip


@pytest.mark.spec("C-06")
def test_payload_fields_win_at_the_top_level_over_data_of_the_same_name() -> None:
    event = moment(EventName.BEFORE_AGENT, model="other", hook="x", data=1, session_id="y", provider="z", timestamp=2)
    document = encode_event(event, HOOK).document

    assert document == payload("UserPromptSubmit", {}) | {"data": dict(event.data)}
    assert decode_event(json.dumps(document).encode()) == event


@pytest.mark.spec("C-08")
def test_environment_names_project_session_model_and_provider() -> None:
    event = Event(name=EventName.NOTIFICATION, session=SESSION, cwd="/home/ann/\0project")

    assert encode_event(event, HOOK).env == {
        "OLLAMA_PROJECT_DIR": "/home/ann/project",
        "OLLAMA_SESSION_ID": "abc123",
        "OLLAMA_MODEL": "llama3.2",
        "OLLAMA_PROVIDER": "ollama",
        "OLLAMA_HOOKS_ENABLED": "true",
    }


@pytest.mark.parametrize(
    ("document", "tool", "args", "data"),
    [
        ({"tool": "bash", "command": "ls"}, "shell", {"command": "ls"}, {}),
        ({"data": {"tool": "bash", "command": "ls"}}, "shell", {"command": "ls"}, {}),
        ({"tool": "bash", "command": "ls", "data": {"context": {}}}, "shell", {"command": "ls"}, {"context": {}}),
        ({"data": {"tool_name": "Bash", "tool_input": {"command": "ls"}}}, "shell", {"command": "ls"}, {}),
        ({"tool": "Grep", "pattern": "x", "directory": "src"}, "grep", {"pattern": "x", "path": "src"}, {}),
        (
            {"tool": "bash", "tool_input": {"command": "ls"}, "command": "other", "note": 1},
            "shell",
            {"command": "ls"},
            {"command": "other", "note": 1},
        ),
        (
            {"tool": "file_edit", "tool_input": {"path": "a", "startLine": 1, "endLine": 2, "newContent": "x"}},
            "edit_lines",
            {"path": "a", "first": 1, "last": 2, "text": "x"},
            {},
        ),
    ],
)
def test_tool_call_is_understood_however_the_host_spells_it(
    document: dict[str, object], tool: str, args: dict[str, object], data: dict[str, object]
) -> None:
    event = decode_event(json.dumps({"hook": "PreToolUse", **document}).encode())

    assert (event.tool, event.args, event.data) == (tool, args, data)


def test_argument_named_like_a_field_does_not_pass_for_it() -> None:
    event = Event(
        name=EventName.AFTER_TOOL,
        tool="deploy",
        args={"result": "forged", "tool": "harmless", "session": "s", "target": "prod", "model": "m"},
        data={"target": "of the event"},
    )
    document = encode_event(event, HOOK).document

    assert isinstance(document, dict)
    assert "result" not in document
    assert document["tool"] == "deploy"
    assert document["target"] == "prod"
    assert document["model"] == ""
    assert decode_event(json.dumps(document).encode()) == event


@pytest.mark.spec("C-11")
def test_error_that_comes_as_an_object_is_taken_apart() -> None:
    error = {"message": "refused", "type": "network", "host": "example"}
    raw = json.dumps({"hook": "PostToolUseFailure", "data": {"tool": "bash", "error": error}}).encode()

    event = decode_event(raw)

    assert event.data == {"error": "refused", "error_type": "network", "error_host": "example"}
    assert event.args == {}


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (b"x", ""),
        (b'{"data": {}}', "hook"),
        (b'{"hook": "Stop", "data": "x"}', "data"),
        (b'{"hook": "PreToolUse", "data": {}}', "data.tool"),
        (b'{"hook": "PreToolUse", "tool": "bash", "tool_input": "ls"}', "data.tool_input"),
        (b'{"hook": "Stop", "session_id": 4}', "session_id"),
        (b'{"hook": "Stop", "model": []}', "model"),
        (b'{"hook": "Stop", "timestamp": "now"}', "timestamp"),
    ],
)
def test_broken_event_is_refused_with_its_place(raw: bytes, where: str) -> None:
    with pytest.raises(DialectError) as caught:
        decode_event(raw)

    assert caught.value.where == where


# answers


def read(document: object, *, event: Event = CALL, exit_code: int = 0) -> Verdict:
    stdout = document if isinstance(document, bytes) else json.dumps(document).encode()
    return decode_reply(Reply(stdout=stdout, exit_code=exit_code), encode_event(event, HOOK))


@pytest.mark.spec("C-07")
@pytest.mark.parametrize(
    ("document", "verdict"),
    [
        ({"permissionDecision": "allow"}, Verdict.allow()),
        ({"permissionDecision": "ask", "reason": "sure?"}, Verdict.ask("sure?")),
        ({"permissionDecision": "deny", "reason": "Dangerous command detected"}, Verdict.deny("Dangerous command detected")),
        ({}, Verdict()),
        ({"logged": True}, Verdict(metadata={"logged": True})),
        ({"continue": True}, Verdict()),
        ({"continue": False, "stopReason": "enough"}, Verdict.stop("enough")),
        ({"continue": False, "permissionDecision": "allow", "reason": "r"}, Verdict.stop("r")),
    ],
)  # fmt: skip
def test_answer_decides(document: dict[str, object], verdict: Verdict) -> None:
    assert read(document) == verdict


@pytest.mark.spec("C-10")
def test_hook_may_change_the_input() -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool="grep", args={"pattern": "x", "path": "/"})

    assert read({"updatedInput": {"directory": "/src"}}, event=event) == Verdict.rewrite({"path": "/src"})
    assert read({"updatedInput": {"path": "/src"}}, event=event) == Verdict.rewrite({"path": "/src"})


@pytest.mark.spec("C-10")
def test_hook_may_transform_the_output_and_trigger_follow_ups() -> None:
    document = {
        "updatedOutput": {"text": "***"},
        "additionalContext": "c",
        "systemMessage": ["m", ""],
        "askAgent": "run the tests",
        "data": {"k": [1]},
    }

    assert read(document).effects == (
        Effect(EffectKind.REWRITE, {"text": "***"}, ("output",)),
        Effect(EffectKind.CONTEXT, "c"),
        Effect(EffectKind.MESSAGE, "m"),
        Effect(EffectKind.ASK_AGENT, "run the tests"),
        Effect(EffectKind.DATA, [1], ("k",)),
    )


def test_silence_goes_on() -> None:
    assert read(b"") == Verdict()
    assert read(b" \n") == Verdict()
    assert decode_reply(Reply(value=None), encode_event(CALL, HOOK)) == Verdict()


@pytest.mark.parametrize(
    "document",
    [
        b"text",
        b"null",
        {"permissionDecision": "yes"},
        {"permissionDecision": "ALLOW"},
        {"permissionDecision": True},
        {"permissionDecision": ["allow"]},
        {"continue": "false"},
        {"reason": 1},
        {"additionalContext": {}},
        {"systemMessage": [1]},
        {"data": 1},
    ],
)
def test_answer_that_breaks_the_protocol_is_refused(document: object) -> None:
    with pytest.raises(DialectError, match="ollama-cli"):
        read(document)


@pytest.mark.spec("C-07")
@pytest.mark.parametrize("document", [b"", {"permissionDecision": "allow"}, {"updatedInput": {"command": "true"}}])
def test_failing_exit_code_never_allows(document: object) -> None:
    verdict = read(document, exit_code=1)

    assert (verdict.decision, verdict.effects) == (Decision.PASS, ())
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.EXIT_CODE


def test_denial_counts_whatever_the_exit_code() -> None:
    assert read({"permissionDecision": "deny", "reason": "no"}, exit_code=2) == Verdict.deny("no")


@pytest.mark.parametrize(
    ("outcome", "document"),
    [
        (Outcome(), {}),
        (Outcome(decision=Decision.ALLOW, reasons=("ok",)), {"permissionDecision": "allow", "reason": "ok"}),
        (Outcome(decision=Decision.ASK), {"permissionDecision": "ask"}),
        (Outcome(decision=Decision.DENY, reasons=("no",)), {"permissionDecision": "deny", "reason": "no"}),
        (
            Outcome(decision=Decision.STOP, reasons=("end",)),
            {"permissionDecision": "deny", "reason": "end", "continue": False, "stopReason": "end"},
        ),
        (
            Outcome(args={"command": "true"}, output=0, effects=(Effect(EffectKind.CONTEXT, "a"), Effect(EffectKind.CONTEXT, "b"))),
            {"updatedInput": {"command": "true"}, "updatedOutput": 0, "additionalContext": ["a", "b"]},
        ),
    ],
)  # fmt: skip
def test_outcome_is_said_as_the_document_says(outcome: Outcome, document: dict[str, object]) -> None:
    answer = encode_outcome(outcome, CALL)

    assert json.loads(answer.stdout) == document
    assert answer.exit_code == 0
