"""Cline, document by document; the documents are written after its published types."""

import json

import pytest

from hookline.dialects.cline import SPEC
from hookline.errors import DialectError
from hookline.model.event import Event, EventName
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from tests.dialects.saying import Plain, answered, event_of, heard, payload, told, verdict

AGENT = "cline"
DENY = Outcome(decision=Decision.DENY, reasons=("not here",))
ASK = Outcome(decision=Decision.ASK, reasons=("sure?",))
CONTEXT = Outcome(effects=(Effect(EffectKind.CONTEXT, "remember"),))


def called(tool: str, parameters: object) -> Event:
    return heard(
        AGENT, {**payload(AGENT, "PreToolUse.editor"), "preToolUse": {"toolName": tool, "parameters": parameters}}
    )


def says(outcome: Outcome, event: Event) -> object:
    answer = answered(AGENT, outcome, event)
    assert (answer.exit_code, answer.stderr) == (0, b"")
    return json.loads(answer.stdout)


# events


@pytest.mark.parametrize(
    ("tool", "parameters", "canonical", "args"),
    [
        ("run_commands", {"commands": '["ls", "rm -rf build"]'}, "shell", {"command": "ls\nrm -rf build"}),
        ("run_commands", {"commands": "ls"}, "shell", {"command": "ls"}),
        ("run_commands", {"commands": '[{"command": "rm", "args": ["-rf", "build"]}]'}, "shell", {"command": "rm -rf build"}),
        ("run_commands", ["ls", "pwd"], "shell", {"command": "ls\npwd"}),
        ("run_commands", "ls", "shell", {"command": "ls"}),
        ("execute_command", {"command": "ls", "requires_approval": "true"}, "shell",
         {"command": "ls", "requires_approval": "true"}),
        ("read_files", {"files": '[{"path": "a.py", "start_line": 1}, {"path": "/b.py"}]'}, "read_files",
         {"files": '[{"path": "a.py", "start_line": 1}, {"path": "/b.py"}]', "paths": ["/project/a.py", "/b.py"]}),
        ("editor", {"path": "a.py", "old_text": "x", "new_text": "y"}, "edit_file", {"path": "/project/a.py", "old": "x", "new": "y"}),
        ("editor", {"path": "a.py", "new_text": "y"}, "write_file", {"path": "/project/a.py", "content": "y"}),
        ("editor", {"path": "a.py", "old_text": "", "new_text": "y"}, "write_file",
         {"path": "/project/a.py", "old_text": "", "content": "y"}),
        ("editor", {"path": "a.py", "new_text": "y", "insert_line": "3"}, "insert_text",
         {"path": "/project/a.py", "text": "y", "line": "3"}),
        ("apply_patch", {"input": "*** Begin Patch"}, "apply_patch", {"patch": "*** Begin Patch"}),
        ("apply_patch", "*** Begin Patch", "apply_patch", {"patch": "*** Begin Patch"}),
        ("write_to_file", {"path": "a.py", "content": "x"}, "write_file", {"path": "/project/a.py", "content": "x"}),
        ("search_files", {"path": "src", "regex": "x+", "file_pattern": "*.py"}, "grep",
         {"path": "/project/src", "pattern": "x+", "include": "*.py"}),
        ("fetch_web_content", {"requests": '[{"url": "https://example.org", "prompt": "p"}]'}, "web_fetch",
         {"requests": '[{"url": "https://example.org", "prompt": "p"}]', "urls": ["https://example.org"]}),
        ("use_mcp_tool", {"server_name": "files", "tool_name": "put", "arguments": '{"path": "a"}'}, "mcp__files__put",
         {"path": "a"}),
        ("use_mcp_tool", {"server_name": "files", "tool_name": "put", "arguments": ""}, "mcp__files__put", {}),
        ("browser_action", {"action": "launch"}, "browser_action", {"action": "launch"}),
    ],
)  # fmt: skip
def test_calls_are_understood_and_said_again_as_they_were(
    tool: str, parameters: object, canonical: str, args: Plain
) -> None:
    event = called(tool, parameters)

    assert (event.tool, event.args) == (canonical, args)
    assert told(AGENT, event)["preToolUse"] == {"toolName": tool, "parameters": parameters}


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("TaskStart", EventName.SESSION_START),
        ("TaskResume", EventName.SESSION_START),
        ("TaskCancel", EventName.CUSTOM),
        ("TaskComplete", EventName.AFTER_AGENT),
        ("TaskError", EventName.ERROR),
        ("UserPromptSubmit", EventName.BEFORE_AGENT),
        ("PostToolUse", EventName.AFTER_TOOL),
        ("PreCompact", EventName.PRE_COMPRESS),
        ("SessionShutdown", EventName.SESSION_END),
    ],
)
def test_events_are_found_by_the_name_on_the_wire_and_keep_the_file_s(name: str, event: EventName) -> None:
    said = event_of(AGENT, name)

    assert (said.name, SPEC.native(said)) == (event, name)
    assert heard(AGENT, {**payload(AGENT, name), "hookName": name}).name is event


def test_what_events_say() -> None:
    assert event_of(AGENT, "TaskStart").data["source"] == "startup"
    assert event_of(AGENT, "TaskResume").data["source"] == "resume"
    assert event_of(AGENT, "UserPromptSubmit").data["prompt"] == "tidy up"
    error = event_of(AGENT, "TaskError").data
    assert (error["error"], error["error_type"], error["error_stack"]) == ("it broke", "TypeError", "at x")
    after = event_of(AGENT, "PostToolUse").data
    assert (after["result"], after["duration"]) == ("saved", 0.12)


def test_session_folder_and_call_are_known() -> None:
    said = event_of(AGENT, "PreToolUse")

    assert (said.session.id, said.cwd, said.data["call_id"]) == ("task-1", "/project", "call-1")


def test_failed_tool_is_a_failure() -> None:
    document = payload(AGENT, "PostToolUse")
    body = {"toolName": "write_to_file", "parameters": {}, "result": "no such folder", "success": False}
    said = heard(AGENT, {**document, "postToolUse": body})

    assert (said.name, said.data["error"]) == (EventName.TOOL_FAILED, "no such folder")
    assert told(AGENT, said) == {**document, "postToolUse": body}


@pytest.mark.parametrize(
    ("change", "where"),
    [({"hookName": None}, "hookName"), ({"preToolUse": {}}, "toolName"), ({"preToolUse": []}, "preToolUse"), ({"taskId": 1}, "taskId")],
)  # fmt: skip
def test_documents_that_are_not_clines_are_refused(change: Plain, where: str) -> None:
    with pytest.raises(DialectError) as caught:
        heard(AGENT, {**payload(AGENT, "PreToolUse"), **change})

    assert caught.value.where == where


# hooks written for Cline under other agents


def test_arguments_of_other_agents_are_texts() -> None:
    event = Event(
        name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls", "timeout": 3}, cwd="/p", host="codex-cli"
    )
    document = told(AGENT, event)

    assert document["hookName"] == "tool_call"
    assert document["workspaceRoots"] == ["/p"]
    assert document["preToolUse"] == {"toolName": "execute_command", "parameters": {"command": "ls", "timeout": "3"}}


def test_tools_of_servers_are_told_as_cline_has_them() -> None:
    event = Event(
        name=EventName.AFTER_TOOL, tool="mcp__files__put", args={"a": 1}, data={"result": "ok"}, host="codex-cli"
    )

    assert told(AGENT, event)["postToolUse"] == {
        "toolName": "use_mcp_tool",
        "parameters": {"server_name": "files", "tool_name": "put", "arguments": '{"a":1}'},
        "success": True,
        "result": "ok",
    }


# answers to Cline

CALL = event_of(AGENT, "PreToolUse")


@pytest.mark.parametrize(
    "name", ["PreToolUse", "PostToolUse", "TaskStart", "TaskComplete", "UserPromptSubmit", "SessionShutdown"]
)
def test_no_opinion_is_an_empty_object(name: str) -> None:
    assert says(Outcome(), event_of(AGENT, name)) == {}
    assert says(Outcome(decision=Decision.ALLOW), event_of(AGENT, name)) == {}


def test_decisions_about_a_call() -> None:
    assert says(DENY, CALL) == {"cancel": True, "errorMessage": "not here"}
    assert says(Outcome(decision=Decision.STOP, reasons=("enough",)), CALL) == {
        "cancel": True,
        "errorMessage": "enough",
    }
    assert says(Outcome(decision=Decision.DENY), CALL) == {"cancel": True, "errorMessage": "blocked without a reason"}
    assert says(ASK, CALL) == {"review": True, "errorMessage": "sure?"}
    assert says(CONTEXT, CALL) == {"contextModification": "remember"}


def test_context_beside_a_no_is_not_lost() -> None:
    both = Outcome(decision=Decision.DENY, reasons=("not here",), effects=CONTEXT.effects)

    assert says(both, CALL) == {"cancel": True, "errorMessage": "not here\n\nremember"}


def test_an_objection_to_a_result_does_not_end_the_task() -> None:
    assert says(DENY, event_of(AGENT, "PostToolUse")) == {
        "contextModification": "A hook objects, and this cannot be stopped here: not here"
    }


@pytest.mark.parametrize(
    "name", ["UserPromptSubmit", "TaskComplete", "TaskError", "TaskCancel", "SessionShutdown", "PreCompact"]
)
def test_nothing_is_promised_where_nobody_waits(name: str) -> None:
    assert says(DENY, event_of(AGENT, name)) == {}
    assert says(CONTEXT, event_of(AGENT, name)) == {}


def test_context_is_as_long_as_cline_takes() -> None:
    answer = says(Outcome(effects=(Effect(EffectKind.CONTEXT, "x" * 60_000),)), CALL)

    assert isinstance(answer, dict)
    assert len(answer["contextModification"]) == 50_000


@pytest.mark.parametrize(
    ("tool", "parameters", "args", "override"),
    [
        ("run_commands", {"commands": '["ls"]', "x": "1"}, {"command": "pwd"}, {"commands": ["pwd"], "x": "1"}),
        ("run_commands", ["ls"], {"command": "pwd"}, {"commands": ["pwd"]}),
        ("execute_command", {"command": "ls", "requires_approval": "true"}, {"command": "pwd"},
         {"command": "pwd", "requires_approval": "true"}),
        ("apply_patch", "*** a", {"patch": "*** b"}, "*** b"),
        ("apply_patch", {"input": "*** a"}, {"patch": "*** b"}, {"input": "*** b"}),
        ("editor", {"path": "a.py", "new_text": "[1]"}, {"path": "/other/a"}, {"path": "/other/a", "new_text": "[1]"}),
        ("read_files", {"files": '[{"path": "a.py"}]'}, {"paths": ["/b"]}, {"files": [{"path": "/b"}]}),
        ("use_mcp_tool", {"server_name": "f", "tool_name": "p", "arguments": '{"a": 1}'}, {"a": 2},
         {"server_name": "f", "tool_name": "p", "arguments": '{"a":2}'}),
    ],
)  # fmt: skip
def test_changed_calls_are_whole_and_as_the_tool_takes_them(
    tool: str, parameters: object, args: Plain, override: object
) -> None:
    event = called(tool, parameters)

    assert says(Outcome(args={**event.args, **args}), event) == {"overrideInput": override}
    assert says(Outcome(args=dict(event.args)), event) == {}


# answers of hooks


@pytest.mark.parametrize(
    ("answer", "decision", "reason"),
    [
        ("", Decision.PASS, ""),
        ({}, Decision.PASS, ""),
        ({"cancel": False}, Decision.PASS, ""),
        ({"cancel": True, "errorMessage": "no"}, Decision.DENY, "no"),
        ({"cancel": True, "contextModification": "why"}, Decision.DENY, "why"),
        ({"cancel": True, "review": True}, Decision.DENY, ""),
        ({"review": True, "errorMessage": "sure?"}, Decision.ASK, "sure?"),
    ],
)
@pytest.mark.parametrize("code", [0, 1, 2])
def test_answers_of_hooks_count_whatever_the_exit_code_is(
    answer: Plain | str, decision: Decision, reason: str, code: int
) -> None:
    if code and not answer:
        return
    said = verdict(AGENT, CALL, answer=answer, code=code)

    assert (said.decision, said.reason, said.failure) == (decision, reason, None)


def test_hook_that_dies_without_an_answer_failed() -> None:
    assert verdict(AGENT, CALL, code=1).failure is not None


def test_context_and_changes_of_hooks_are_understood() -> None:
    event = called("run_commands", {"commands": '["ls"]'})
    said = verdict(AGENT, event, answer={"context": "c", "overrideInput": {"commands": ["pwd"]}})
    served = called("use_mcp_tool", {"server_name": "f", "tool_name": "p", "arguments": '{"a": 1}'})
    changed = verdict(AGENT, served, answer={"overrideInput": {"arguments": '{"a": 2}'}})

    assert said.effects == (Effect(EffectKind.REWRITE, "pwd", ("args", "command")), Effect(EffectKind.CONTEXT, "c"))
    assert changed.effects == (Effect(EffectKind.REWRITE, 2, ("args", "a")),)


@pytest.mark.parametrize(
    "answer", [{"cancel": "yes"}, {"review": 1}, {"errorMessage": []}, {"contextModification": 7}, "text"]
)
def test_answers_that_are_none_are_failures(answer: Plain | str) -> None:
    with pytest.raises(DialectError):
        verdict(AGENT, CALL, answer=answer)


@pytest.mark.parametrize(("key", "decision"), [("cancel", Decision.DENY), ("review", Decision.ASK)])
def test_a_mistake_beside_a_no_does_not_take_it_back(key: str, decision: Decision) -> None:
    found = verdict(AGENT, CALL, answer={key: True, "errorMessage": 5})

    assert found.decision is decision
    assert found.failure is not None
