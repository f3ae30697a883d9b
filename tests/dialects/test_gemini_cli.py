"""Gemini CLI: its documents, its tools, its answers byte for byte, and how its hooks answer."""

import json

import pytest

from hookline.dialects import gemini_cli
from hookline.errors import DialectError
from hookline.model.event import Ability, Event, EventName, Session
from hookline.model.exchange import FailureKind, Reply
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from tests.dialects.agents import (
    ALLOW,
    ASK,
    CONTEXT,
    DENY,
    FOLLOW_UP,
    HOOK,
    MESSAGE,
    PASS,
    SILENT_DENY,
    STOP,
    Plain,
    answer,
    fitted,
    heard,
    rewrite,
    said,
    told,
    verdict,
)

BASE: Plain = {"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/p", "timestamp": "2026-01-01T00:00:00.000Z"}


def document(event: str, **more: object) -> Plain:
    return {**BASE, "hook_event_name": event, **more}


def call(tool: str, args: object, **more: object) -> Event:
    return heard(gemini_cli, document("BeforeTool", tool_name=tool, tool_input=args, **more))


SHELL = call("run_shell_command", {"command": "rm -rf x", "description": "clean"})
START = heard(gemini_cli, document("SessionStart", source="startup"))
END = heard(gemini_cli, document("SessionEnd", reason="exit"))
PROMPT = heard(gemini_cli, document("BeforeAgent", prompt="hi"))
DONE = heard(gemini_cli, document("AfterAgent", prompt="hi", prompt_response="ok", stop_hook_active=False))
REQUEST: Plain = {"model": "gemini-2.5-flash", "messages": [{"role": "user", "content": "hi"}], "config": {"topK": 64}}
ASKED = heard(gemini_cli, document("BeforeModel", llm_request=REQUEST))
SELECTING = heard(gemini_cli, document("BeforeToolSelection", llm_request=REQUEST))
CHUNK: Plain = {
    "text": "I will",
    "candidates": [{"content": {"role": "model", "parts": ["I ", "will"]}, "index": 0, "finishReason": "STOP"}],
    "usageMetadata": {"totalTokenCount": 3},
}
SPOKEN = heard(gemini_cli, document("AfterModel", llm_request=REQUEST, llm_response=CHUNK))
RESULT: Plain = {"llmContent": "Output: hi", "returnDisplay": "hi"}
RAN = heard(
    gemini_cli, document("AfterTool", tool_name="run_shell_command", tool_input={"command": "ls"}, tool_response=RESULT)
)
NOTE = heard(gemini_cli, document("Notification", notification_type="ToolPermission", message="?", details={}))
COMPRESSING = heard(gemini_cli, document("PreCompress", trigger="auto"))


# events


def test_call_is_understood_and_kept_as_it_was_said() -> None:
    assert (
        Event(
            name=EventName.BEFORE_TOOL,
            data={"transcript_path": "/t.jsonl"},
            tool="shell",
            args={"command": "rm -rf x", "description": "clean"},
            session=Session(id="s1"),
            cwd="/p",
            timestamp=1767225600000,
            host="gemini-cli",
            native_args={"command": "rm -rf x", "description": "clean"},
        )
        == SHELL
    )


def test_model_events_have_the_model_and_the_messages() -> None:
    assert ASKED.data["model"] == "gemini-2.5-flash"
    assert ASKED.data["messages"] == REQUEST["messages"]
    assert ASKED.subject == "gemini-2.5-flash"
    assert SPOKEN.data["response"] == "I will"
    assert told(gemini_cli, SPOKEN)["llm_response"] == CHUNK


def test_result_is_what_the_model_reads() -> None:
    assert RAN.name is EventName.AFTER_TOOL
    assert RAN.data["result"] == "Output: hi"
    assert told(gemini_cli, RAN)["tool_response"] == RESULT


def test_tool_with_an_error_in_its_result_has_failed() -> None:
    response = {"llmContent": "no", "returnDisplay": "no", "error": {"message": "no such file", "type": "not_found"}}
    said_ = document("AfterTool", tool_name="read_file", tool_input={"file_path": "x"}, tool_response=response)
    event = heard(gemini_cli, said_)

    assert (event.name, event.data["error"], event.data["error_type"]) == (
        EventName.TOOL_FAILED,
        "no such file",
        "not_found",
    )
    assert gemini_cli.SPEC.native(event) == "AfterTool"
    assert told(gemini_cli, event) == said_


def test_event_of_another_agent_is_told_in_gemini_clis_words() -> None:
    event = Event(
        name=EventName.BEFORE_TOOL,
        tool="edit_file",
        args={"path": "/p/a.py", "old": "a", "new": "b", "replace_all": True},
        session=Session(id="s2"),
        cwd="/p",
        timestamp=1767225600000,
        host="claude-code",
        native_args={"file_path": "/p/a.py", "old_string": "a", "new_string": "b", "replace_all": True},
    )

    assert told(gemini_cli, event) == {
        "session_id": "s2",
        "cwd": "/p",
        "hook_event_name": "BeforeTool",
        "transcript_path": "",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "tool_name": "replace",
        "tool_input": {"file_path": "/p/a.py", "old_string": "a", "new_string": "b", "allow_multiple": True},
    }


def test_hooks_get_gemini_clis_variables() -> None:
    assert gemini_cli.encode_event(SHELL, HOOK).env == {
        "GEMINI_PROJECT_DIR": "/p",
        "GEMINI_CWD": "/p",
        "CLAUDE_PROJECT_DIR": "/p",
        "GEMINI_SESSION_ID": "s1",
    }
    assert gemini_cli.encode_event(Event(name=EventName.SESSION_END), HOOK).env == {}


def test_time_that_would_be_written_otherwise_is_kept_as_it_was() -> None:
    for time in ("2026-01-01T00:00:00Z", "soon", 12, None):
        said_ = {**document("SessionEnd", reason="exit"), "timestamp": time}

        assert told(gemini_cli, heard(gemini_cli, said_))["timestamp"] == time


def test_name_on_the_command_line_is_needed_only_where_the_document_has_none() -> None:
    nameless = {key: value for key, value in BASE.items() if key != "hook_event_name"}

    assert heard(gemini_cli, nameless, "PreCompress").name is EventName.PRE_COMPRESS
    assert heard(gemini_cli, document("SessionEnd"), "PreCompress").name is EventName.SESSION_END
    with pytest.raises(DialectError, match="expected the event's name"):
        heard(gemini_cli, nameless)


def test_event_nobody_knows_is_a_custom_one_under_its_own_name() -> None:
    event = heard(gemini_cli, document("BeforeLunch", menu="soup"))

    assert (event.name, event.native_name, event.data["event_name"]) == (
        EventName.CUSTOM,
        "BeforeLunch",
        "BeforeLunch",
    )
    assert told(gemini_cli, event) == document("BeforeLunch", menu="soup")


def test_call_without_a_tool_is_refused() -> None:
    with pytest.raises(DialectError, match="gemini-cli at tool_name"):
        heard(gemini_cli, document("BeforeTool", tool_input={}))


def test_failed_tool_of_another_agent_has_an_error_whatever_it_said() -> None:
    for data in ({}, {"error": ""}, {"error": "no"}, {"error": "no", "error_type": "io"}):
        failed = Event(name=EventName.TOOL_FAILED, tool="shell", args={"command": "x"}, data=data, host="claude-code")

        assert heard(gemini_cli, told(gemini_cli, failed)).name is EventName.TOOL_FAILED


# tools

TOOLS: list[tuple[str, object, str, Plain]] = [
    ("run_shell_command", {"command": "ls", "dir_path": "sub/../lib"}, "shell", {"command": "ls", "cwd": "/p/lib"}),
    ("run_shell_command", {"command": "x", "is_background": True}, "shell", {"command": "x", "background": True}),
    ("read_file", {"file_path": "a.py"}, "read_file", {"path": "/p/a.py"}),
    (
        "read_file",
        {"file_path": "/a.py", "start_line": 5, "end_line": 9},
        "read_file",
        {"path": "/a.py", "offset": 5, "limit": 5},
    ),
    ("read_many_files", {"include": ["a", "/b"]}, "read_files", {"paths": ["/p/a", "/b"]}),
    # the agent makes a folder of this name, and so is not to be read as a home
    ("write_file", {"file_path": "~/x", "content": "t"}, "write_file", {"path": "~/x", "content": "t"}),
    (
        "replace",
        {"file_path": "a", "old_string": "x", "new_string": "y", "allow_multiple": True, "instruction": "do"},
        "edit_file",
        {"path": "/p/a", "old": "x", "new": "y", "replace_all": True, "instruction": "do"},
    ),
    ("list_directory", {"dir_path": "."}, "list_dir", {"path": "/p"}),
    ("glob", {"pattern": "*.py", "dir_path": "src"}, "glob", {"pattern": "*.py", "path": "/p/src"}),
    (
        "grep_search",
        {"pattern": "x", "dir_path": "src", "include_pattern": "*.py"},
        "grep",
        {"pattern": "x", "path": "/p/src", "include": "*.py"},
    ),
    ("search_file_content", {"pattern": "x"}, "grep", {"pattern": "x"}),
    ("google_web_search", {"query": "q"}, "web_search", {"query": "q"}),
    ("invoke_agent", {"agent_name": "r", "prompt": "p"}, "subagent", {"type": "r", "prompt": "p"}),
    ("activate_skill", {"name": "s"}, "skill", {"name": "s"}),
    ("write_todos", {"todos": []}, "todo", {"items": []}),
    ("exit_plan_mode", {"plan_filename": "p"}, "plan_mode", {"plan_filename": "p"}),
    ("read_background_output", {"pid": 7}, "shell_control", {"session": 7}),
    ("save_memory", {"fact": "f"}, "save_memory", {"fact": "f"}),
    ("discovered_tool_build", {"x": 1}, "discovered_tool_build", {"x": 1}),
]


@pytest.mark.parametrize(("name", "args", "tool", "ours"), TOOLS, ids=[row[0] for row in TOOLS])
def test_tools_are_understood_and_said_again_as_they_were(name: str, args: object, tool: str, ours: Plain) -> None:
    event = call(name, args)

    assert (event.tool, event.args) == (tool, ours)
    assert told(gemini_cli, event) == document("BeforeTool", tool_name=name, tool_input=args)


def test_mcp_tool_is_known_by_the_servers_words_and_not_by_its_name() -> None:
    context = {"server_name": "my_files", "tool_name": "put_file", "command": "node", "args": ["x.js"]}
    event = call("mcp_my_files_put_file", {"path": "x"}, mcp_context=context)

    assert event.tool == "mcp__my_files__put_file"
    assert event.args == {"path": "x"}
    assert told(gemini_cli, event) == document(
        "BeforeTool", tool_name="mcp_my_files_put_file", tool_input={"path": "x"}, mcp_context=context
    )


def test_server_that_is_called_like_a_built_in_tool_begins_does_not_pass_for_one() -> None:
    event = call("read_file", {"path": "x"}, mcp_context={"server_name": "read", "tool_name": "file"})

    assert (event.tool, event.args) == ("mcp__read__file", {"path": "x"})


def test_mcp_tool_of_another_agent_is_spelled_as_gemini_cli_does() -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool="mcp__files__put", args={"path": "x"}, host="claude-code")
    document_ = told(gemini_cli, event)

    assert document_["tool_name"] == "mcp_files_put"
    assert document_["mcp_context"] == {"server_name": "files", "tool_name": "put"}


@pytest.mark.parametrize(
    ("prompt", "urls"),
    [
        ("Sum up https://a.example/x?y=1 and (http://b.example/).", ["https://a.example/x?y=1", "http://b.example/"]),
        ("https://a.example https://a.example", ["https://a.example"]),
        ("Is HTTPS://a.example up? And http://b.example.", ["HTTPS://a.example", "http://b.example"]),
    ],
)
def test_addresses_are_found_in_the_prompt_of_a_fetch(prompt: str, urls: list[str]) -> None:
    event = call("web_fetch", {"prompt": prompt})

    assert event.args == {"prompt": prompt, "urls": urls}
    assert told(gemini_cli, event)["tool_input"] == {"prompt": prompt}


def test_hook_that_changes_the_address_of_a_fetch_leaves_nothing_of_the_old_one() -> None:
    event = call("web_fetch", {"prompt": "Read http://bad.example/x and tell me.", "temperature": 1})

    assert answer(gemini_cli, rewrite(event, urls=["https://good.example/"]), event) == {
        "hookSpecificOutput": {
            "hookEventName": "BeforeTool",
            "tool_input": {"prompt": "Read https://good.example/ and tell me.", "temperature": 1},
        }
    }
    assert "example" not in json.dumps(answer(gemini_cli, rewrite(event, urls=[]), event))


def test_address_that_begins_like_another_is_changed_alone() -> None:
    event = call("web_fetch", {"prompt": "http://a.example and http://a.example/keep"})
    changed = rewrite(event, urls=["http://b.example", "http://a.example/keep"])

    assert answer(gemini_cli, changed, event) == own(
        "BeforeTool", tool_input={"prompt": "http://b.example and http://a.example/keep"}
    )


def test_fetch_of_another_agent_names_its_address_in_the_prompt() -> None:
    event = Event(
        name=EventName.BEFORE_TOOL, tool="web_fetch", args={"urls": ["https://a.example"], "prompt": "Sum up"}
    )

    assert told(gemini_cli, event)["tool_input"] == {"prompt": "Sum up https://a.example"}


# answers to the agent


def own(event: str, **fields: object) -> Plain:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


ANSWERS: list[tuple[str, Outcome, Event, object]] = [
    ("tool, no opinion", PASS, SHELL, None),
    ("tool, deny", DENY, SHELL, {"decision": "deny", "reason": "no"}),
    ("tool, deny without a reason", SILENT_DENY, SHELL, {"decision": "deny", "reason": "blocked without a reason"}),
    # a question would turn a no of the person's own rules into a question, and waits for ever without a terminal
    (
        "tool, ask",
        ASK,
        SHELL,
        {"decision": "deny", "reason": "sure?\na person has to decide, and gemini-cli cannot ask here"},
    ),
    (
        "tool, stop",
        STOP,
        SHELL,
        {"continue": False, "stopReason": "halt", "decision": "deny", "reason": "halt"},
    ),
    # an allow would not keep the program from asking
    ("tool, allow", ALLOW, SHELL, None),
    (
        "tool, rewrite",
        rewrite(SHELL, command="ls"),
        SHELL,
        own("BeforeTool", tool_input={"command": "ls", "description": "clean"}),
    ),
    ("tool, message", MESSAGE, SHELL, {"systemMessage": "hello"}),
    ("tool, context has no way but a message", CONTEXT, SHELL, {"systemMessage": "mind this\n\nand that"}),
    ("result, no opinion", PASS, RAN, None),
    ("result, deny", DENY, RAN, {"decision": "deny", "reason": "no"}),
    (
        "result, ask",
        ASK,
        RAN,
        {"decision": "deny", "reason": "sure?\na person has to decide, and gemini-cli cannot ask here"},
    ),
    ("result, context", CONTEXT, RAN, own("AfterTool", additionalContext="mind this\n\nand that")),
    ("result, another one", Outcome(output="[hidden]"), RAN, {"decision": "deny", "reason": "[hidden]"}),
    ("result, an empty one", Outcome(output=""), RAN, {"decision": "deny", "reason": "(nothing)"}),
    (
        "result, another one beside a no",
        Outcome(decision=Decision.DENY, reasons=("no",), output="[hidden]"),
        RAN,
        {"decision": "deny", "reason": "no\n\n[hidden]"},
    ),
    (
        "result, a no that hides it",
        Outcome(decision=Decision.DENY, reasons=("no",), output="no"),
        RAN,
        {"decision": "deny", "reason": "no"},
    ),
    ("result, another value", Outcome(output={"a": 1}), RAN, {"decision": "deny", "reason": '{"a":1}'}),
    (
        "result, another one with context, which is read beside nothing else",
        Outcome(output="[hidden]", effects=CONTEXT.effects),
        RAN,
        {"decision": "deny", "reason": "[hidden]\n\nmind this\n\nand that"},
    ),
    (
        "result, deny with context",
        Outcome(decision=Decision.DENY, reasons=("no",), effects=CONTEXT.effects),
        RAN,
        {"decision": "deny", "reason": "no\n\nmind this\n\nand that"},
    ),
    ("prompt, deny", DENY, PROMPT, {"decision": "deny", "reason": "no"}),
    ("prompt, context", CONTEXT, PROMPT, own("BeforeAgent", additionalContext="mind this\n\nand that")),
    ("end, deny", DENY, DONE, {"decision": "deny", "reason": "no"}),
    ("end, follow-up", FOLLOW_UP, DONE, {"decision": "deny", "reason": "run the tests"}),
    ("end, stop rests", STOP, DONE, {"continue": False, "stopReason": "halt"}),
    (
        "end, deny and follow-up",
        said(Effect(EffectKind.ASK_AGENT, "run the tests"), decision=Decision.DENY, reason="no"),
        DONE,
        {"decision": "deny", "reason": "no\n\nrun the tests"},
    ),
    ("model, deny", DENY, ASKED, {"decision": "deny", "reason": "no"}),
    ("model, stop", STOP, ASKED, {"continue": False, "stopReason": "halt", "decision": "deny", "reason": "halt"}),
    (
        "chunk, another text",
        Outcome(output="I won't"),
        SPOKEN,
        own(
            "AfterModel",
            llm_response={
                "candidates": [
                    {"content": {"role": "model", "parts": ["I won't"]}, "index": 0, "finishReason": "STOP"}
                ],
                "usageMetadata": {"totalTokenCount": 3},
                "text": "I won't",
            },
        ),
    ),
    (
        "tools, deny",
        DENY,
        SELECTING,
        {"decision": "deny", "reason": "no", **own("BeforeToolSelection", toolConfig={"mode": "NONE"})},
    ),
    ("start, context", CONTEXT, START, own("SessionStart", additionalContext="mind this\n\nand that")),
    (
        "start, deny can only be told",
        DENY,
        START,
        own("SessionStart", additionalContext="A hook objects, and this cannot be stopped here: no"),
    ),
    ("session's end, anything", DENY, END, None),
    ("notification, message", MESSAGE, NOTE, {"systemMessage": "hello"}),
    ("compression, message", MESSAGE, COMPRESSING, {"systemMessage": "hello"}),
]


@pytest.mark.parametrize(("outcome", "event", "wanted"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_answers_are_what_gemini_cli_reads(outcome: Outcome, event: Event, wanted: object) -> None:
    assert fitted(gemini_cli, outcome, event) == wanted


@pytest.mark.parametrize(
    "event", [SHELL, RAN, PROMPT, DONE, ASKED, SPOKEN, SELECTING, START, END, NOTE, COMPRESSING], ids=lambda e: e.name
)
def test_having_no_opinion_is_saying_nothing_at_all(event: Event) -> None:
    given = gemini_cli.encode_outcome(PASS, event)

    assert (given.stdout, given.stderr, given.exit_code) == (b"", b"", 0)


def test_rewriting_keeps_what_nobody_knows_and_paths_as_they_were() -> None:
    event = call("write_file", {"file_path": "./a.txt", "content": "x", "odd": [1]})

    assert answer(gemini_cli, rewrite(event, content="y"), event) == own(
        "BeforeTool", tool_input={"file_path": "./a.txt", "content": "y", "odd": [1]}
    )


def test_call_that_is_denied_is_not_rewritten_beside_it() -> None:
    outcome = Outcome(decision=Decision.DENY, reasons=("no",), args={"command": "ls"})

    assert answer(gemini_cli, outcome, SHELL) == {"decision": "deny", "reason": "no"}


def test_every_event_that_can_be_installed_has_its_abilities() -> None:
    assert set(gemini_cli.SPEC.abilities) == set(gemini_cli.SPEC.events.values())
    assert Ability.ALLOW not in frozenset().union(*gemini_cli.SPEC.abilities.values())


# answers of hooks

VERDICTS: list[tuple[str, Event, object, Decision, str]] = [
    ("deny", SHELL, {"decision": "deny", "reason": "no"}, Decision.DENY, "no"),
    ("block", SHELL, {"decision": "block", "reason": "no"}, Decision.DENY, "no"),
    ("ask", SHELL, {"decision": "ask", "reason": "?", "systemMessage": "?"}, Decision.ASK, "?"),
    ("ask with a question", SHELL, {"decision": "ask", "reason": "r", "systemMessage": "?"}, Decision.ASK, "?\n\nr"),
    ("a yes skips nobody's permission", SHELL, {"decision": "approve", "reason": "r"}, Decision.PASS, ""),
    ("allow", SHELL, {"decision": "allow"}, Decision.PASS, ""),
    ("stop", SHELL, {"continue": False, "stopReason": "halt"}, Decision.STOP, "halt"),
    ("stop with a reason only", SHELL, {"continue": False, "reason": "halt"}, Decision.STOP, "halt"),
    ("nothing", SHELL, {}, Decision.PASS, ""),
    ("text of JSON", SHELL, '"{\\"decision\\": \\"deny\\", \\"reason\\": \\"no\\"}"', Decision.DENY, "no"),
    ("no tools", SELECTING, {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}, Decision.DENY, ""),
    ("any tools", SELECTING, {"hookSpecificOutput": {"toolConfig": {"mode": "ANY"}}}, Decision.PASS, ""),
]


@pytest.mark.parametrize(
    ("event", "stdout", "decision", "reason"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS]
)
def test_decisions_of_hooks(event: Event, stdout: object, decision: Decision, reason: str) -> None:
    got = verdict(gemini_cli, event, stdout)

    assert (got.decision, got.reason, got.effects, got.failure) == (decision, reason, (), None)
    assert got.ends == (decision is Decision.STOP)


@pytest.mark.parametrize(
    ("stdout", "stderr", "code"),
    [({"decision": "deny", "reason": "has a key"}, "", 0), ("", "has a key", 2), ("has a key", "", 2)],
)
def test_a_no_after_a_tool_hides_the_result_as_it_does_in_the_program(stdout: object, stderr: str, code: int) -> None:
    got = verdict(gemini_cli, RAN, stdout, stderr=stderr, code=code)

    assert (got.decision, got.reason) == (Decision.DENY, "has a key")
    assert got.effects == (Effect(EffectKind.REWRITE, "has a key", ("output",)),)


def test_hook_may_change_arguments_speak_to_the_model_and_to_the_person() -> None:
    got = verdict(
        gemini_cli,
        SHELL,
        {"systemMessage": "m", "hookSpecificOutput": {"tool_input": {"command": "ls"}, "additionalContext": "c"}},
    )

    assert got.effects == (
        Effect(EffectKind.REWRITE, "ls", ("args", "command")),
        Effect(EffectKind.CONTEXT, "c"),
        Effect(EffectKind.MESSAGE, "m"),
    )


def test_arguments_that_are_no_object_deny_the_call() -> None:
    got = verdict(gemini_cli, SHELL, {"hookSpecificOutput": {"tool_input": ["ls"]}})

    assert got.decision is Decision.DENY
    assert got.failure is not None


@pytest.mark.parametrize("response", [{"text": "x"}, {"candidates": [{"content": {"parts": ["x"]}}], "text": "y"}])
def test_hook_may_give_another_chunk_than_the_models(response: Plain) -> None:
    got = verdict(gemini_cli, SPOKEN, {"hookSpecificOutput": {"llm_response": response}})

    assert got.effects == (Effect(EffectKind.REWRITE, "x", ("output",)),)


def test_words_we_have_none_for_are_kept() -> None:
    got = verdict(
        gemini_cli, RAN, {"hookSpecificOutput": {"tailToolCallRequest": {"name": "x", "args": {}}}, "mine": 1}
    )

    assert got.metadata == {"tailToolCallRequest": {"name": "x", "args": {}}, "mine": 1}


@pytest.mark.parametrize("code", [0, 1, 2, 3, 255])
def test_no_on_stdout_or_else_on_stderr_counts_at_every_exit_code(code: int) -> None:
    no = json.dumps({"decision": "deny", "reason": "no"})

    assert verdict(gemini_cli, SHELL, no, code=code).reason == "no"
    assert verdict(gemini_cli, SHELL, "", stderr=no, code=code).reason == "no"
    assert verdict(gemini_cli, SHELL, no, stderr="noise", code=code).decision is Decision.DENY


def test_text_is_a_message_at_exit_code_0_and_a_reason_to_block_above_1() -> None:
    assert verdict(gemini_cli, SHELL, "all good\n").effects == (Effect(EffectKind.MESSAGE, "all good"),)
    assert verdict(gemini_cli, SHELL, "", stderr="all good").effects == (Effect(EffectKind.MESSAGE, "all good"),)
    for code in (2, 3, 77):
        got = verdict(gemini_cli, SHELL, "", stderr="not here", code=code)
        assert (got.decision, got.reason) == (Decision.DENY, "not here")


def test_exit_code_2_without_a_word_still_denies() -> None:
    got = verdict(gemini_cli, SHELL, "", code=2)

    assert (got.decision, got.reason) == (Decision.DENY, "blocked without a reason")


def test_exit_code_1_is_a_failure_that_does_not_block_by_itself() -> None:
    got = verdict(gemini_cli, SHELL, "", stderr="Traceback", code=1)

    assert got.decision is Decision.PASS
    assert got.failure is not None
    assert got.failure.kind is FailureKind.EXIT_CODE


def test_exit_code_2_is_a_failure_where_nothing_can_be_blocked() -> None:
    got = verdict(gemini_cli, END, "", stderr="x", code=2)

    assert got.decision is Decision.PASS
    assert got.failure is not None


def test_answer_between_other_text_can_only_block() -> None:
    assert verdict(gemini_cli, SHELL, 'note\n{"decision": "deny", "reason": "no"}').decision is Decision.DENY
    quoted = verdict(gemini_cli, SHELL, 'I read:\n{"hookSpecificOutput": {"tool_input": {"command": "evil"}}}')
    assert not any(effect.kind is EffectKind.REWRITE for effect in quoted.effects)


def test_function_answers_with_a_value() -> None:
    request = gemini_cli.encode_event(SHELL, HOOK)

    assert gemini_cli.decode_reply(Reply(value={"decision": "deny", "reason": "no"}), request).decision is Decision.DENY
    assert gemini_cli.decode_reply(Reply(value=None), request).decision is Decision.PASS


@pytest.mark.parametrize(
    "document_", [{"decision": "maybe"}, {"decision": 1}, {"continue": "no"}, {"hookSpecificOutput": []}]
)
def test_answer_that_cannot_be_read_is_an_error_and_no_yes(document_: Plain) -> None:
    with pytest.raises(DialectError):
        verdict(gemini_cli, SHELL, document_)


def test_matchers_catch_other_ways_to_change_a_file_which_hooks_are_told_in_the_agents_own() -> None:
    assert {"apply_patch", "insert_text", "edit_lines"} <= set(gemini_cli.SPEC.tools)
    assert {"shell", "write_file", "edit_file"} <= gemini_cli.SPEC.own_tools
    assert not {"apply_patch", "multi_edit"} & gemini_cli.SPEC.own_tools
