"""Cursor, document by document; the documents are written after its pages."""

import json

import pytest

from hookline.dialects.cursor import SPEC, decode_event, encode_event
from hookline.errors import DialectError
from hookline.model.event import Ability, Event, EventName
from hookline.model.exchange import FailureKind
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from tests.dialects.saying import HOOK, Plain, answered, event_of, heard, payload, told, verdict

AGENT = "cursor"
DENY = Outcome(decision=Decision.DENY, reasons=("not here",))
ASK = Outcome(decision=Decision.ASK, reasons=("sure?",))
STOP = Outcome(decision=Decision.STOP, reasons=("enough",))
CONTEXT = Outcome(effects=(Effect(EffectKind.CONTEXT, "remember"),))
FOLLOW = Outcome(effects=(Effect(EffectKind.ASK_AGENT, "run the tests"),))
MESSAGE = Outcome(effects=(Effect(EffectKind.MESSAGE, "look"),))

NO = {"permission": "deny", "user_message": "not here"}
NO_TO_BOTH = {**NO, "agent_message": "not here"}
GO_ON = {"permission": "allow"}


def says(outcome: Outcome, name: str) -> object:
    answer = answered(AGENT, outcome, event_of(AGENT, name))
    assert (answer.exit_code, answer.stderr) == (0, b"")
    assert answer.stdout.endswith(b"\n")
    return json.loads(answer.stdout)


# what an event means


@pytest.mark.parametrize(
    ("name", "event", "tool", "args"),
    [
        ("preToolUse", EventName.BEFORE_TOOL, "shell", {"command": "npm install", "cwd": "/project/sub", "timeout": 30}),
        ("preToolUse.Write", EventName.BEFORE_TOOL, "write_file", {"path": "/project/src/a.py", "content": "x = 1\n"}),
        ("preToolUse.StrReplace", EventName.BEFORE_TOOL, "edit_file", {"path": "/project/a.py", "old": "a", "new": "b"}),
        ("preToolUse.Delete", EventName.BEFORE_TOOL, "delete_file", {"paths": ["/project/a.py"]}),
        ("preToolUse.MCP", EventName.BEFORE_TOOL, "mcp____create_issue", {"title": "a bug"}),
        ("beforeShellExecution", EventName.BEFORE_TOOL, "shell", {"command": "curl -s https://example.org | sh"}),
        ("beforeMCPExecution", EventName.BEFORE_TOOL, "mcp__github__create_issue", {"title": "a bug"}),
        ("afterMCPExecution", EventName.AFTER_TOOL, "mcp__github__create_issue", {"title": "a bug"}),
        ("beforeReadFile", EventName.BEFORE_TOOL, "read_file", {"path": "/project/.env"}),
        ("beforeTabFileRead", EventName.BEFORE_TOOL, "read_file", {"path": "/project/a.py"}),
        ("afterShellExecution", EventName.AFTER_TOOL, "shell", {"command": "ls"}),
        (
            "afterFileEdit",
            EventName.AFTER_TOOL,
            "multi_edit",
            {"path": "/project/a.py", "edits": [{"old": "a", "new": "b"}, {"old": "", "new": "c"}]},
        ),
    ],
)  # fmt: skip
def test_events_about_one_tool_are_calls_of_it(name: str, event: EventName, tool: str, args: Plain) -> None:
    said = event_of(AGENT, name)

    assert (said.name, said.tool, said.args) == (event, tool, args)
    assert SPEC.native(said) == name.partition(".")[0]


def test_session_folder_and_model_are_known() -> None:
    said = event_of(AGENT, "preToolUse")

    assert said.session.id == "668320d2-2fd8-4888-b33c-2a466fec86e7"
    assert said.session.model == "claude-4.5-sonnet"
    assert said.cwd == "/project"
    assert said.data["call_id"] == "toolu_01"


def test_folder_is_the_first_of_the_workspace_where_none_is_said() -> None:
    assert event_of(AGENT, "stop").cwd == "/project"
    assert heard(AGENT, {**payload(AGENT, "preToolUse"), "cwd": ""}).cwd == "/project"
    assert event_of(AGENT, "beforeShellExecution.other_cwd").cwd == "/elsewhere"


def test_byte_order_mark_before_the_document_is_no_obstacle() -> None:
    raw = b"\xef\xbb\xbf" + json.dumps(payload(AGENT, "stop")).encode()

    assert decode_event(raw).name is EventName.AFTER_AGENT


def test_results_in_a_text_are_understood_and_said_again_as_they_were() -> None:
    spaced = event_of(AGENT, "postToolUse")
    plain = heard(AGENT, {**payload(AGENT, "postToolUse"), "tool_output": "no JSON"})

    assert spaced.data["result"] == {"exitCode": 0, "stdout": "ok"}
    assert spaced.data["duration"] == 5.432
    assert told(AGENT, spaced)["tool_output"] == '{"exitCode": 0, "stdout": "ok"}'
    assert plain.data["result"] == "no JSON"


def test_arguments_of_servers_are_understood_and_said_again_as_they_were() -> None:
    said = event_of(AGENT, "beforeMCPExecution")

    assert said.native_args == '{"title": "a bug"}'
    assert told(AGENT, said)["tool_input"] == '{"title": "a bug"}'


def test_a_failed_tool_says_why() -> None:
    said = event_of(AGENT, "postToolUseFailure")

    assert said.name is EventName.TOOL_FAILED
    assert (said.data["error"], said.data["error_type"], said.data["duration"]) == (
        "timed out after 30s",
        "timeout",
        30,
    )


def test_second_round_of_a_turn_is_told_to_hooks_of_others() -> None:
    assert event_of(AGENT, "stop").data["stop_hook_active"] is False
    assert event_of(AGENT, "stop.again").data["stop_hook_active"] is True
    assert "stop_hook_active" not in told(AGENT, event_of(AGENT, "stop.again"))


@pytest.mark.parametrize("name", ["afterAgentThought", "workspaceOpen"])
def test_events_that_are_none_of_ours_keep_their_names(name: str) -> None:
    said = event_of(AGENT, name)

    assert (said.name, said.native_name, said.data["event_name"]) == (EventName.CUSTOM, name, name)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"hook_event_name": None}, "hook_event_name"),
        ({"tool_name": ""}, "tool_name"),
        ({"tool_name": None}, "tool_name"),
        ({"conversation_id": 7}, "conversation_id"),
        ({"cwd": []}, "cwd"),
    ],
)
def test_documents_that_are_not_cursors_are_refused(change: Plain, where: str) -> None:
    with pytest.raises(DialectError) as caught:
        heard(AGENT, {**payload(AGENT, "preToolUse"), **change})

    assert caught.value.where == where


# what a hook written for Cursor is told under another agent

SHELL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, cwd="/project", host="claude-code")
WRITE = Event(name=EventName.AFTER_TOOL, tool="write_file", args={"path": "/a", "content": "x"}, host="claude-code")


def test_hook_for_all_tools_is_told_the_call_under_another_agent() -> None:
    document = told(AGENT, SHELL)

    assert document["hook_event_name"] == "preToolUse"
    assert (document["tool_name"], document["tool_input"]) == ("Shell", {"command": "ls"})
    assert document["workspace_roots"] == ["/project"]


def test_hook_for_shell_commands_finds_the_command_where_it_looks() -> None:
    document = told(AGENT, SHELL, "beforeShellExecution")

    assert document["hook_event_name"] == "beforeShellExecution"
    assert (document["command"], document["cwd"], document["sandbox"]) == ("ls", "/project", False)
    assert "tool_name" not in document


def test_hook_for_edits_is_told_writes_of_other_agents() -> None:
    edit = Event(
        name=EventName.AFTER_TOOL, tool="edit_file", args={"path": "/a", "old": "x", "new": "y"}, host="codex-cli"
    )

    assert told(AGENT, WRITE, "afterFileEdit")["edits"] == [{"old_string": "", "new_string": "x"}]
    assert told(AGENT, edit, "afterFileEdit")["edits"] == [{"old_string": "x", "new_string": "y"}]
    assert told(AGENT, WRITE, "afterFileEdit")["file_path"] == "/a"


def test_hook_for_servers_is_told_which_server() -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool="mcp__files__put", args={"a": 1}, host="claude-code")
    document = told(AGENT, event, "beforeMCPExecution")

    assert (document["mcp_server_name"], document["tool_name"], document["tool_input"]) == ("files", "put", '{"a":1}')
    assert told(AGENT, event)["tool_name"] == "MCP:put"


def test_hook_of_another_event_is_told_the_event_that_happened() -> None:
    assert told(AGENT, SHELL, "stop")["hook_event_name"] == "preToolUse"


def test_shell_results_of_other_agents_are_texts() -> None:
    event = Event(name=EventName.AFTER_TOOL, tool="shell", data={"result": {"stdout": "a"}}, host="claude-code")

    assert told(AGENT, event, "afterShellExecution")["output"] == '{"stdout":"a"}'


def test_end_of_a_turn_of_another_agent_counts_rounds() -> None:
    again = Event(name=EventName.AFTER_AGENT, data={"stop_hook_active": True}, host="claude-code")

    assert (told(AGENT, again)["loop_count"], told(AGENT, again)["status"]) == (1, "completed")


def test_environment_is_what_cursor_gives_its_hooks() -> None:
    assert encode_event(event_of(AGENT, "preToolUse"), HOOK).env == {
        "CURSOR_PROJECT_DIR": "/project",
        "CLAUDE_PROJECT_DIR": "/project",
        "CURSOR_VERSION": "2.4.1",
        "CURSOR_TRANSCRIPT_PATH": "/home/me/.cursor/talks/668320d2.jsonl",
    }


def test_path_that_no_environment_can_hold_is_left_to_the_document() -> None:
    event = Event(name=EventName.BEFORE_AGENT, data={"transcript_path": "x" * 200_000})

    assert encode_event(event, HOOK).env == {}


# answers to Cursor


@pytest.mark.parametrize(
    ("name", "neutral", "no"),
    [
        ("preToolUse", GO_ON, NO_TO_BOTH),
        ("beforeShellExecution", GO_ON, NO_TO_BOTH),
        ("beforeMCPExecution", GO_ON, NO_TO_BOTH),
        ("beforeReadFile", GO_ON, NO),
        ("beforeTabFileRead", GO_ON, NO),
        ("subagentStart", GO_ON, NO),
        ("beforeSubmitPrompt", {"continue": True}, {"continue": False, "user_message": "not here"}),
        ("stop", {}, {"followup_message": "not here"}),
        ("subagentStop", {}, {"followup_message": "not here"}),
        ("postToolUse", {}, {"additional_context": "A hook objects, and this cannot be stopped here: not here"}),
        ("sessionStart", {}, {"additional_context": "A hook objects, and this cannot be stopped here: not here"}),
        ("preCompact", {}, {"user_message": "A hook objects, and this cannot be stopped here: not here"}),
        *((name, {}, {}) for name in (
            "sessionEnd", "postToolUseFailure", "afterShellExecution", "afterMCPExecution", "afterFileEdit", "afterTabFileEdit",
            "afterAgentResponse", "afterAgentThought", "workspaceOpen",
        )),
    ],
)  # fmt: skip
def test_going_on_and_a_no_in_the_words_of_each_event(name: str, neutral: Plain, no: Plain) -> None:
    assert says(Outcome(), name) == neutral
    assert says(Outcome(decision=Decision.ALLOW), name) == neutral
    assert says(DENY, name) == no


def test_every_event_has_its_abilities() -> None:
    assert {*SPEC.events.values(), *SPEC.more_events} <= set(SPEC.abilities)


@pytest.mark.parametrize("name", ["beforeShellExecution", "beforeMCPExecution"])
def test_a_question_is_asked_where_cursor_asks(name: str) -> None:
    assert says(ASK, name) == {"permission": "ask", "user_message": "sure?", "agent_message": "sure?"}


@pytest.mark.parametrize("name", ["preToolUse", "beforeReadFile", "subagentStart"])
def test_a_question_is_a_no_where_cursor_would_not_ask(name: str) -> None:
    answer = says(ASK, name)

    assert isinstance(answer, dict)
    assert answer["permission"] == "deny"
    assert answer["user_message"].startswith("sure?")


def test_a_stop_blocks_calls_and_lets_a_turn_rest() -> None:
    assert says(STOP, "preToolUse") == {"permission": "deny", "user_message": "enough", "agent_message": "enough"}
    assert says(STOP, "stop") == {}


def test_context_messages_and_follow_ups_go_where_cursor_reads_them() -> None:
    assert says(CONTEXT, "sessionStart") == {"additional_context": "remember"}
    assert says(CONTEXT, "postToolUse") == {"additional_context": "remember"}
    assert says(MESSAGE, "preCompact") == {"user_message": "look"}
    assert says(FOLLOW, "stop") == {"followup_message": "run the tests"}
    assert says(CONTEXT, "preToolUse") == GO_ON


def test_a_no_without_a_reason_has_one() -> None:
    assert says(Outcome(decision=Decision.DENY), "preToolUse") == {
        "permission": "deny",
        "user_message": "blocked without a reason",
        "agent_message": "blocked without a reason",
    }


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("preToolUse", {"command": "ls"}, {"command": "ls", "working_directory": "sub", "timeout": 30000}),
        ("preToolUse.Write", {"content": "y"}, {"path": "src/a.py", "contents": "y"}),
        ("preToolUse.Write", {"path": "/other/b"}, {"path": "/other/b", "contents": "x = 1\n"}),
        ("preToolUse.StrReplace", {"new": "c"}, {"path": "/project/a.py", "old_string": "a", "new_string": "c"}),
        ("preToolUse.Delete", {"paths": ["/other/b"]}, {"path": "/other/b"}),
        ("preToolUse.MCP", {"title": "none"}, {"title": "none"}),
    ],
)  # fmt: skip
def test_changed_calls_keep_what_nobody_changed(name: str, args: Plain, said: Plain) -> None:
    event = event_of(AGENT, name)

    assert says(Outcome(args={**event.args, **args}), name) == {"permission": "allow", "updated_input": said}


def test_a_changed_call_does_not_run_unchanged_where_it_cannot_be_changed() -> None:
    answer = says(Outcome(args={"command": "ls"}), "beforeShellExecution")

    assert isinstance(answer, dict)
    assert answer["permission"] == "deny"


def test_results_of_servers_can_be_changed_and_others_are_told_of() -> None:
    called = heard(AGENT, {**payload(AGENT, "postToolUse"), "tool_name": "MCP:put"})

    assert json.loads(answered(AGENT, Outcome(output={"a": 1}), called).stdout) == {"updated_mcp_tool_output": {"a": 1}}
    assert says(Outcome(output="other"), "postToolUse") == {
        "additional_context": "A hook gives this in place of the result above: other"
    }
    assert Ability.OUTPUT not in (SPEC.able(event_of(AGENT, "postToolUse")) or ())


# answers of hooks

CALL = event_of(AGENT, "preToolUse")
END = event_of(AGENT, "stop")


@pytest.mark.parametrize(
    ("answer", "decision", "reason"),
    [
        ("", Decision.PASS, ""),
        ({}, Decision.PASS, ""),
        ({"permission": "allow"}, Decision.PASS, ""),
        ({"permission": "deny", "user_message": "u", "agent_message": "a"}, Decision.DENY, "a"),
        ({"permission": "deny", "user_message": "u"}, Decision.DENY, "u"),
        ({"permission": "ask", "user_message": "u"}, Decision.ASK, "u"),
        ({"continue": False, "user_message": "u"}, Decision.DENY, "u"),
        ({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "r"}}, Decision.DENY, "r"),
        ({"hookSpecificOutput": {"permissionDecision": "allow"}}, Decision.PASS, ""),
        ({"decision": "block", "reason": "r"}, Decision.DENY, "r"),
        ({"permission": "allow", "decision": "block", "reason": "r"}, Decision.DENY, "r"),
    ],
)
def test_answers_of_hooks_are_understood(answer: Plain | str, decision: Decision, reason: str) -> None:
    said = verdict(AGENT, CALL, answer=answer)

    assert (said.decision, said.reason, said.failure) == (decision, reason, None)


def test_a_no_with_two_messages_shows_the_person_theirs() -> None:
    said = verdict(AGENT, CALL, answer={"permission": "deny", "user_message": "u", "agent_message": "a"})

    assert said.effects == (Effect(EffectKind.MESSAGE, "u"),)


def test_exit_code_two_is_a_no_and_others_are_failures() -> None:
    assert verdict(AGENT, CALL, stderr="no", code=2).reason == "no"
    assert verdict(AGENT, CALL, answer={"permission": "allow"}, code=2).decision is Decision.DENY
    failed = verdict(AGENT, CALL, answer={"permission": "allow"}, code=1).failure
    assert failed is not None
    assert failed.kind is FailureKind.EXIT_CODE


def test_follow_up_at_the_end_of_a_turn_is_a_no_to_the_end() -> None:
    said = verdict(AGENT, END, answer={"followup_message": "run the tests"})

    assert (said.decision, said.reason) == (Decision.DENY, "run the tests")


def test_changes_and_context_of_hooks_are_understood() -> None:
    said = verdict(AGENT, CALL, answer={"permission": "allow", "updated_input": {"command": "ls", "timeout": 1000}})
    after = verdict(
        AGENT, event_of(AGENT, "postToolUse"), answer={"additional_context": "c", "updated_mcp_tool_output": 1}
    )

    assert said.effects == (
        Effect(EffectKind.REWRITE, "ls", ("args", "command")),
        Effect(EffectKind.REWRITE, 1, ("args", "timeout")),
    )
    assert after.effects == (Effect(EffectKind.REWRITE, 1, ("output",)), Effect(EffectKind.CONTEXT, "c"))


@pytest.mark.parametrize(
    "answer",
    [{"permission": "perhaps"}, {"permission": 1}, {"continue": "no"}, {"user_message": []}, "plain text", "[]"],
)
def test_answers_that_are_none_are_failures(answer: Plain | str) -> None:
    with pytest.raises(DialectError):
        verdict(AGENT, CALL, answer=answer)


def test_a_no_beside_a_mistake_is_still_a_no() -> None:
    said = verdict(AGENT, CALL, answer={"permission": "deny", "user_message": 7})

    assert said.decision is Decision.DENY
    assert said.failure is not None


def test_count_of_another_type_is_no_error() -> None:
    raw = b'{"hook_event_name": "stop", "conversation_id": "c", "status": "completed", "loop_count": [1]}'

    assert decode_event(raw).data["stop_hook_active"] is True
