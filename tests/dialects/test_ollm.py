"""The OLLM hook system, document by document."""

import json

import pytest

from hookline.dialects.ollm import decode_event, decode_reply, encode_event, encode_outcome
from hookline.errors import DialectError
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import Failure, FailureKind, Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

HOOK = Hook(id="h1", command="check")
CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})

CASES: list[tuple[Event, str, dict[str, object]]] = [
    (
        Event(name=EventName.SESSION_START, session=Session(id="abc123")),
        "session_start",
        {"session_id": "abc123", "sessionId": "abc123"},
    ),
    (Event(name=EventName.SESSION_END, data={"reason": "exit"}), "session_end", {"reason": "exit"}),
    (Event(name=EventName.BEFORE_AGENT, data={"prompt": "hi"}), "before_agent", {"prompt": "hi"}),
    (Event(name=EventName.AFTER_AGENT, data={"response": "hello"}), "after_agent", {"response": "hello"}),
    (
        Event(
            name=EventName.BEFORE_MODEL, data={"messages": [{"role": "user", "content": "Hello"}], "model": "llama2"}
        ),
        "before_model",
        {"messages": [{"role": "user", "content": "Hello"}], "model": "llama2"},
    ),
    (Event(name=EventName.AFTER_MODEL, data={"response": "x"}), "after_model", {"response": "x"}),
    (Event(name=EventName.BEFORE_TOOL_SELECTION, data={"tools": ["a"]}), "before_tool_selection", {"tools": ["a"]}),
    (
        Event(name=EventName.BEFORE_TOOL, tool="read_file", args={"path": "file.txt"}),
        "before_tool",
        {"tool_name": "read_file", "args": {"path": "file.txt"}},
    ),
    (
        Event(name=EventName.AFTER_TOOL, tool="shell", args={"command": "ls"}, data={"result": "a"}),
        "after_tool",
        {"tool_name": "shell", "args": {"command": "ls"}, "result": "a"},
    ),
    (
        Event(name=EventName.TOOL_FAILED, tool="shell", data={"error": "no", "error_type": "permission"}),
        "after_tool",
        {"tool_name": "shell", "args": {}, "error": "no", "error_type": "permission"},
    ),
    (Event(name=EventName.PRE_COMPRESS, data={"size": 9}), "pre_compress", {"size": 9}),
    (Event(name=EventName.POST_COMPRESS, data={"size": 3}), "post_compress", {"size": 3}),
    (Event(name=EventName.NOTIFICATION, data={"message": "done"}), "notification", {"message": "done"}),
]


@pytest.mark.spec("O-05", "O-09")
@pytest.mark.parametrize(("event", "native", "data"), CASES, ids=[str(event.name) for event, _, _ in CASES])
def test_event_is_said_and_understood_as_the_document_prints_it(
    event: Event, native: str, data: dict[str, object]
) -> None:
    document = {"event": native, "data": data}

    assert encode_event(event, HOOK).document == document
    assert decode_event(json.dumps(document).encode()) == event


@pytest.mark.spec("O-05")
def test_either_spelling_of_the_session_s_id_is_understood() -> None:
    for key in ("session_id", "sessionId"):
        event = decode_event(json.dumps({"event": "session_start", "data": {key: "s"}}).encode())
        assert event == Event(name=EventName.SESSION_START, session=Session(id="s"))


def test_session_folder_and_time_travel_along() -> None:
    session = Session(id="s", user="ann", started=1768557600000, model="llama2", config={"a": 1})
    event = Event(name=EventName.NOTIFICATION, session=session, cwd="/work", timestamp=1768557600001)
    request = encode_event(event, HOOK)

    assert request.document == {
        "event": "notification",
        "data": {
            "session_id": "s",
            "sessionId": "s",
            "timestamp": "2026-01-16T10:00:00.001Z",
            "session": {
                "user": "ann",
                "model": "llama2",
                "startTime": "2026-01-16T10:00:00.000Z",
                "config": {"a": 1},
            },
            "cwd": "/work",
        },
    }
    assert decode_event(request.body) == event


@pytest.mark.spec("O-09")
def test_model_of_the_session_stands_in_for_the_call_s() -> None:
    event = Event(name=EventName.BEFORE_MODEL, session=Session(model="llama2"))

    assert decode_event(encode_event(event, HOOK).body).data == {"model": "llama2"}


def test_failure_without_a_message_still_looks_like_one() -> None:
    event = decode_event(encode_event(Event(name=EventName.TOOL_FAILED, tool="shell"), HOOK).body)

    assert event.name is EventName.TOOL_FAILED
    assert event.data == {"error": "the tool failed without a message"}


@pytest.mark.parametrize("error", [None, "", False])
def test_empty_error_beside_a_result_is_a_success(error: object) -> None:
    document = {"event": "after_tool", "data": {"tool_name": "shell", "error": error}}

    assert decode_event(json.dumps(document).encode()).name is EventName.AFTER_TOOL


def test_error_that_comes_as_an_object_is_taken_apart() -> None:
    error = {"message": "no", "type": "permission", "code": 13, "stack": "at x", "path": "/etc"}
    document = {"event": "after_tool", "data": {"tool_name": "shell", "error": error}}

    assert decode_event(json.dumps(document).encode()).data == {
        "error": "no",
        "error_type": "permission",
        "error_code": 13,
        "error_stack": "at x",
        "error_path": "/etc",
    }


def test_unknown_event_is_custom_and_keeps_its_name() -> None:
    event = decode_event(b'{"event":"model_swap","data":{"to":"x"}}')

    assert (event.name, event.native_name) == (EventName.CUSTOM, "model_swap")
    assert event.data == {"event_name": "model_swap", "to": "x"}
    assert encode_event(event, HOOK).document == {"event": "model_swap", "data": {"to": "x"}}


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (b"nonsense", ""),
        (b"{}", "event"),
        (b'{"event":"before_tool","data":[]}', "data"),
        (b'{"event":"before_tool","data":{}}', "data.tool_name"),
        (b'{"event":"before_tool","data":{"tool_name":"x","args":"y"}}', "data.args"),
        (b'{"event":"session_start","data":{"session_id":7}}', "data.session_id"),
        (b'{"event":"session_start","data":{"timestamp":"soon"}}', "data.timestamp"),
        (b'{"event":"session_start","data":{"cwd":1}}', "data.cwd"),
    ],
)
def test_broken_event_is_refused_with_its_place(raw: bytes, where: str) -> None:
    with pytest.raises(DialectError) as caught:
        decode_event(raw)

    assert caught.value.where == where


# tools


@pytest.mark.parametrize(
    ("tool", "args", "native", "theirs"),
    [
        ("shell", {"command": "ls", "timeout": 1.5}, "shell", {"command": "ls", "timeout": 1500}),
        ("read_file", {"path": "a", "offset": 3, "limit": 2}, "read_file", {"path": "a", "startLine": 3, "endLine": 4}),
        ("read_file", {"path": "a", "limit": 5}, "read_file", {"path": "a", "endLine": 5}),
        ("read_files", {"paths": ["a"], "offset": 2}, "read_many_files", {"paths": ["a"], "startLine": 2}),
        ("write_file", {"path": "a", "mode": "create"}, "write_file", {"path": "a", "overwrite": False}),
        ("write_file", {"path": "a", "mode": "append"}, "write_file", {"path": "a", "mode": "append"}),
        (
            "multi_edit",
            {"path": "a", "edits": [{"old": "x", "new": "y", "lineHint": 4}]},
            "edit_file",
            {"path": "a", "edits": [{"target": "x", "replacement": "y", "lineHint": 4}]},
        ),
        ("list_dir", {"path": "."}, "ls", {"path": "."}),
        ("glob", {"pattern": "*", "path": "src"}, "glob", {"pattern": "*", "directory": "src"}),
        (
            "grep",
            {"pattern": "x", "path": "src", "include": "*.py"},
            "grep",
            {"pattern": "x", "directory": "src", "filePattern": "*.py"},
        ),
        ("web_fetch", {"urls": ["http://a"]}, "web_fetch", {"url": "http://a"}),
        ("web_fetch", {"urls": ["http://a", "http://b"]}, "web_fetch", {"urls": ["http://a", "http://b"]}),
        ("mcp__files__put", {"path": "a"}, "mcp__files__put", {"path": "a"}),
        ("remember", {"text": "a"}, "remember", {"text": "a"}),
    ],
)
def test_tool_call_is_said_and_understood_in_the_program_s_words(
    tool: str, args: dict[str, object], native: str, theirs: dict[str, object]
) -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool=tool, args=args)
    request = encode_event(event, HOOK)

    assert request.document == {"event": "before_tool", "data": {"tool_name": native, "args": theirs}}
    assert decode_event(request.body) == event


@pytest.mark.parametrize("spoken", ["read-file", "Read_File", "builtin:read_file", "READ-FILE"])
def test_other_spellings_of_a_tool_are_understood_and_said_as_documented(spoken: str) -> None:
    raw = json.dumps({"event": "before_tool", "data": {"tool_name": spoken, "args": {"startLine": 2}}}).encode()
    event = decode_event(raw)

    assert (event.tool, event.args, event.native_tool) == ("read_file", {"offset": 2}, spoken)
    said = encode_event(event, HOOK).document
    assert said == {"event": "before_tool", "data": {"tool_name": "read_file", "args": {"startLine": 2}}}


def test_edit_of_ours_is_a_list_of_one_edit_there() -> None:
    event = Event(
        name=EventName.BEFORE_TOOL, tool="edit_file", args={"path": "a", "old": "x", "new": "y", "replace_all": True}
    )
    edits = [{"target": "x", "replacement": "y", "replace_all": True}]

    request = encode_event(event, HOOK)
    assert request.document == {
        "event": "before_tool",
        "data": {"tool_name": "edit_file", "args": {"path": "a", "edits": edits}},
    }
    assert decode_event(request.body).tool == "multi_edit"
    changed = {"edits": [{"target": "x", "replacement": "z", "replace_all": True}]}
    verdict = decode_reply(Reply(value={"continue": True, "data": {"args": changed}}), request)
    assert verdict.effects == (Effect(EffectKind.REWRITE, "z", ("args", "new")),)


def test_change_that_the_tool_cannot_make_is_a_denial_not_a_free_pass() -> None:
    request = encode_event(Event(name=EventName.BEFORE_TOOL, tool="edit_file", args={"old": "a", "new": "b"}), HOOK)

    verdict = decode_reply(Reply(value={"continue": True, "data": {"args": {"edits": []}}}), request)

    assert verdict.decision is Decision.DENY
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.INVALID_REPLY
    assert "one edit" in verdict.reason


def test_argument_under_both_names_shows_the_hook_the_real_one() -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool="glob", args={"path": "/etc", "directory": "/harmless"})
    request = encode_event(event, HOOK)

    assert request.document == {
        "event": "before_tool",
        "data": {"tool_name": "glob", "args": {"directory": "/etc", "path": "/harmless"}},
    }
    assert decode_event(request.body) == event


@pytest.mark.parametrize(
    ("args", "changed", "ours"),
    [
        ({"offset": 3, "limit": 2}, {"endLine": 10}, {"limit": 8}),
        ({"offset": 3, "limit": 2}, {"startLine": 1}, {"offset": 1, "limit": 4}),
        ({"path": "a"}, {"path": "b", "other": 1}, {"path": "b", "other": 1}),
        ({"path": "a"}, {"path": "a"}, {}),
    ],
)
def test_changed_arguments_come_back_under_our_names(
    args: dict[str, object], changed: dict[str, object], ours: dict[str, object]
) -> None:
    request = encode_event(Event(name=EventName.BEFORE_TOOL, tool="read_file", args=args), HOOK)

    verdict = decode_reply(Reply(value={"continue": True, "data": {"args": changed}}), request)

    assert verdict.effects == tuple(Effect(EffectKind.REWRITE, value, ("args", key)) for key, value in ours.items())


# answers


def read(document: object, *, event: Event = CALL, exit_code: int = 0) -> Verdict:
    stdout = document if isinstance(document, bytes) else json.dumps(document).encode()
    return decode_reply(Reply(stdout=stdout, exit_code=exit_code), encode_event(event, HOOK))


@pytest.mark.spec("O-05", "O-07")
def test_system_message_joins_the_conversation() -> None:
    assert read({"continue": True, "systemMessage": "Optional context", "data": {"customField": "value"}}) == Verdict(
        effects=(
            Effect(EffectKind.CONTEXT, "Optional context"),
            Effect(EffectKind.DATA, "value", ("customField",)),
        )
    )


@pytest.mark.spec("O-05")
def test_continue_false_blocks_ends_the_run_and_says_why() -> None:
    assert read({"continue": False, "systemMessage": "Blocked dangerous command"}) == Verdict(
        decision=Decision.DENY, reason="Blocked dangerous command", ends=True
    )


@pytest.mark.spec("O-05")
@pytest.mark.parametrize(("goes_on", "decision"), [(True, Decision.PASS), (False, Decision.DENY)])
def test_error_is_a_failure_and_continue_still_decides(goes_on: bool, decision: Decision) -> None:  # noqa: FBT001 - pytest passes it by name
    verdict = read({"continue": goes_on, "error": "no such file"})

    assert verdict.decision is decision
    assert verdict.failure == Failure(FailureKind.HOOK_ERROR, "no such file")


@pytest.mark.parametrize(
    ("document", "verdict"),
    [
        ({"continue": False, "systemMessage": "sure?", "data": {"decision": "ask"}}, Verdict(decision=Decision.ASK, reason="sure?", ends=True)),
        ({"continue": False, "data": {"stop": True}}, Verdict(decision=Decision.STOP, ends=True)),
        ({"continue": True, "data": {"decision": "allow", "reason": "read only"}}, Verdict.allow("read only")),
        ({"continue": True, "systemMessage": "sure?", "data": {"decision": "ask"}}, Verdict.ask("sure?")),
        ({"continue": False, "data": {"decision": "allow"}}, Verdict(decision=Decision.DENY, ends=True)),
        ({"continue": True, "data": {"decision": "later"}}, Verdict(effects=(Effect(EffectKind.DATA, "later", ("decision",)),))),
        ({"continue": True, "data": {"stop": True}}, Verdict(effects=(Effect(EffectKind.DATA, True, ("stop",)),))),  # noqa: FBT003 - a datum
        ({"continue": True, "data": {"result": None}}, Verdict.replace_output(None)),
        ({"continue": True, "data": {"context": "a"}}, Verdict.add_context("a")),
        ({"continue": True, "data": {"message": ["a"]}}, Verdict.tell("a")),
        ({"continue": True, "data": {"askAgent": "lint"}}, Verdict(effects=(Effect(EffectKind.ASK_AGENT, "lint"),))),
        ({"continue": True, "data": {"message": {"id": 1}}}, Verdict(effects=(Effect(EffectKind.DATA, {"id": 1}, ("message",)),))),
        ({"continue": True, "data": {"args": {"command": "true"}}}, Verdict.rewrite({"command": "true"})),
    ],
)  # fmt: skip
def test_words_in_data(document: dict[str, object], verdict: Verdict) -> None:
    assert read(document) == verdict


def test_args_in_data_are_data_where_there_is_no_call() -> None:
    verdict = read({"continue": True, "data": {"args": [1]}}, event=Event(name=EventName.NOTIFICATION))

    assert verdict.effects == (Effect(EffectKind.DATA, [1], ("args",)),)


@pytest.mark.parametrize(
    "document",
    [b"", b"text", {}, {"continue": "no"}, {"continue": 0}, {"continue": True, "systemMessage": 1},
     {"continue": True, "data": []}, {"continue": True, "error": {}}],
)  # fmt: skip
def test_answer_that_breaks_the_protocol_is_refused(document: object) -> None:
    with pytest.raises(DialectError, match="ollm"):
        read(document)


def test_exit_code_is_a_failure_unless_the_answer_blocks() -> None:
    failed = read({"continue": True}, exit_code=1)
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.EXIT_CODE
    assert read({"continue": False, "systemMessage": "no"}, exit_code=1).failure is None


@pytest.mark.spec("O-05")
def test_line_printed_before_the_answer_is_noted() -> None:
    verdict = read(b'Model call intercepted: llama2\n{"continue":true,"systemMessage":"x"}')

    assert verdict.effects == (Effect(EffectKind.CONTEXT, "x"),)
    assert verdict.notes == ("stdout: Model call intercepted: llama2",)


@pytest.mark.parametrize(
    ("outcome", "document"),
    [
        (Outcome(), {"continue": True}),
        (Outcome(decision=Decision.DENY, reasons=("no",)), {"continue": False, "systemMessage": "no"}),
        (Outcome(decision=Decision.ASK, reasons=("?",)), {"continue": False, "systemMessage": "?", "data": {"decision": "ask"}}),
        (Outcome(decision=Decision.STOP), {"continue": False, "data": {"stop": True}}),
        (Outcome(decision=Decision.ALLOW, reasons=("ok",)), {"continue": True, "data": {"decision": "allow", "reason": "ok"}}),
        (
            Outcome(effects=(Effect(EffectKind.CONTEXT, "a"), Effect(EffectKind.CONTEXT, "b"), Effect(EffectKind.MESSAGE, "m"))),
            {"continue": True, "systemMessage": "a\n\nb", "data": {"message": "m"}},
        ),
        (
            Outcome(decision=Decision.DENY, reasons=("no",), effects=(Effect(EffectKind.CONTEXT, "a"),)),
            {"continue": False, "systemMessage": "no", "data": {"context": "a"}},
        ),
        (
            Outcome(args={"command": "true"}, output="x", effects=(Effect(EffectKind.DATA, 1, ("n",)), Effect(EffectKind.DATA, "allow", ("decision",)))),
            {"continue": True, "data": {"args": {"command": "true"}, "result": "x", "n": 1}},
        ),
    ],
)  # fmt: skip
def test_outcome_is_said_as_the_document_says(outcome: Outcome, document: dict[str, object]) -> None:
    answer = encode_outcome(outcome, CALL)

    assert json.loads(answer.stdout) == document
    assert answer.exit_code == 0
