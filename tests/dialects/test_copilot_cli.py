"""GitHub Copilot CLI: both forms of its documents, its tools, its answers byte for byte, and how its hooks answer."""

import json

import pytest

from hookline import json_codec
from hookline.dialects import copilot_cli
from hookline.errors import DialectError
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import FailureKind, Reply
from hookline.model.hook import Hook
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

BASE: Plain = {"sessionId": "s1", "timestamp": 1767225600000, "cwd": "/p"}
SNAKE: Plain = {"session_id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}
PATCH = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n"


def event(name: str, **more: object) -> Event:
    return heard(copilot_cli, {**BASE, **more}, name)


def call(tool: str, args: object) -> Event:
    return event("preToolUse", toolName=tool, toolArgs=args)


def pascal(name: str, **more: object) -> Event:
    return heard(copilot_cli, {"hook_event_name": name, **SNAKE, **more})


SHELL = call("bash", {"command": "rm -rf x", "description": "clean"})
RAN = event(
    "postToolUse",
    toolName="bash",
    toolArgs={"command": "ls"},
    toolResult={"resultType": "success", "textResultForLlm": "hi"},
)
FAILED = event("postToolUseFailure", toolName="view", toolArgs={"path": "x"}, error="no such file")
PERMISSION = event(
    "permissionRequest",
    hookName="permissionRequest",
    toolName="bash",
    toolInput={"command": "ls"},
    permissionSuggestions=[],
)
PROMPT = event("userPromptSubmitted", prompt="hi")
START = event("sessionStart", source="new", initialPrompt="hi")
END = event("sessionEnd", reason="complete")
DONE = event("agentStop", transcriptPath="/t", stopReason="end_turn", stop_hook_active=False)
SUB = event("subagentStop", transcriptPath="/t", agentId="a1", agentType="task", agentName="task", response="ok")
SUB_START = event("subagentStart", transcriptPath="/t", agentName="explore")
NOTE = event("notification", hook_event_name="Notification", message="m", notification_type="agent_idle")
COMPACT = event("preCompact", transcriptPath="/t", trigger="auto", customInstructions="")
ERROR = event(
    "errorOccurred", error={"message": "m", "name": "N", "stack": "s"}, errorContext="system", recoverable=True
)


# events


def test_call_is_understood_and_kept_as_it_was_said() -> None:
    assert (
        Event(
            name=EventName.BEFORE_TOOL,
            tool="shell",
            args={"command": "rm -rf x", "description": "clean"},
            session=Session(id="s1"),
            cwd="/p",
            timestamp=1767225600000,
            host="copilot-cli",
            native_args={"command": "rm -rf x", "description": "clean"},
        )
        == SHELL
    )


def test_data_have_the_names_that_all_agents_share() -> None:
    assert RAN.data["result"] == "hi"
    assert FAILED.data["error"] == "no such file"
    assert DONE.data == {"transcript_path": "/t", "stop_reason": "end_turn", "stop_hook_active": False}
    assert (SUB.data["agent_id"], SUB.data["agent_type"], SUB.data["response"]) == ("a1", "task", "ok")
    assert SUB_START.data["agent_type"] == "explore"
    assert (NOTE.data["type"], NOTE.subject) == ("agent_idle", "agent_idle")
    assert {key: ERROR.data[key] for key in ("error", "error_type", "error_stack", "operation")} == {
        "error": "m",
        "error_type": "N",
        "error_stack": "s",
        "operation": "system",
    }


def test_calls_of_a_subagent_say_whose_they_are() -> None:
    inside = event(
        "preToolUse", toolName="bash", toolArgs={"command": "ls"}, agentId="a1", agentType="task", parentAgentId="a0"
    )

    assert (inside.data["agent_id"], inside.data["agent_type"]) == ("a1", "task")
    assert told(copilot_cli, inside)["agentId"] == "a1"


@pytest.mark.parametrize("name", ["userPromptSubmitted", "agentStop"])
def test_what_the_program_raises_once_more_inside_a_subagent_is_not_the_main_agents(name: str) -> None:
    document = {**BASE, "agentId": "a1", "agentType": "task", "parentAgentId": "s1", "transcriptPath": "/t"}
    inside = heard(copilot_cli, document, name)

    assert (inside.name, inside.native_name) == (EventName.CUSTOM, name)
    assert told(copilot_cli, inside) == document


def test_event_without_a_name_anywhere_is_refused() -> None:
    with pytest.raises(DialectError, match="expected the event's name"):
        heard(copilot_cli, {**BASE, "toolName": "bash", "toolArgs": {}})


def test_permission_request_names_itself() -> None:
    assert (
        heard(copilot_cli, {**BASE, "hookName": "permissionRequest", "toolName": "bash"}).name
        is EventName.PERMISSION_REQUEST
    )


def test_both_forms_of_an_event_are_the_same_event() -> None:
    other = pascal("PreToolUse", tool_name="Bash", tool_input={"command": "rm -rf x", "description": "clean"})

    assert (other.name, other.tool, other.args, other.timestamp) == (
        SHELL.name,
        SHELL.tool,
        SHELL.args,
        SHELL.timestamp,
    )
    assert copilot_cli.SPEC.able(other) == copilot_cli.SPEC.able(SHELL)
    assert pascal("Stop", transcript_path="/t", stop_reason="end_turn").data["transcript_path"] == "/t"
    assert pascal("SubagentStop", last_assistant_message="ok").data["response"] == "ok"


def test_hooks_set_up_under_the_other_names_are_known_by_them() -> None:
    assert copilot_cli.SPEC.more_events["PreToolUse"] is EventName.BEFORE_TOOL
    assert copilot_cli.SPEC.more_events["Stop"] is EventName.AFTER_AGENT
    assert not set(copilot_cli.SPEC.more_events) & set(copilot_cli.SPEC.abilities)


def test_event_of_another_agent_is_told_in_camel_case_without_a_name() -> None:
    foreign = Event(
        name=EventName.BEFORE_TOOL,
        tool="read_file",
        args={"path": "/p/a", "offset": 5, "limit": 3},
        session=Session(id="s2"),
        cwd="/p",
        timestamp=7,
        host="claude-code",
        native_args={"file_path": "a", "offset": 5, "limit": 3},
    )

    assert told(copilot_cli, foreign) == {
        "sessionId": "s2",
        "cwd": "/p",
        "timestamp": 7,
        "toolName": "view",
        "toolArgs": {"path": "/p/a", "view_range": [5, 7]},
    }


def test_permission_request_is_told_with_its_own_keys() -> None:
    document = told(copilot_cli, PERMISSION)

    assert document == {
        **BASE,
        "hookName": "permissionRequest",
        "toolName": "bash",
        "toolInput": {"command": "ls"},
        "permissionSuggestions": [],
    }


def test_hooks_get_copilots_variables() -> None:
    assert copilot_cli.encode_event(SHELL, HOOK).env == {"COPILOT_PROJECT_DIR": "/p", "CLAUDE_PROJECT_DIR": "/p"}


def test_copilot_runs_what_claude_codes_settings_hold() -> None:
    assert copilot_cli.SPEC.runs_itself(("claude-code",))
    assert not copilot_cli.SPEC.runs_itself(("gemini-cli",))


# tools

TOOLS: list[tuple[str, object, str, Plain]] = [
    (
        "bash",
        {"command": "cat", "mode": "async", "shellId": "s"},
        "shell",
        {"command": "cat", "background": True, "session": "s"},
    ),
    ("bash", {"command": "cat", "mode": "sync"}, "shell", {"command": "cat", "background": False}),
    ("powershell", {"command": "ls"}, "shell", {"command": "ls"}),
    ("write_bash", {"shellId": "s", "input": "rm x\n"}, "shell_input", {"session": "s", "text": "rm x\n"}),
    ("stop_bash", {"shellId": "s"}, "shell_control", {"session": "s"}),
    ("view", {"path": "a.txt"}, "read_file", {"path": "/p/a.txt"}),
    ("view", {"path": "/a", "view_range": [5, 9]}, "read_file", {"path": "/a", "offset": 5, "limit": 5}),
    ("view", {"path": "/a", "view_range": [5, -1]}, "read_file", {"path": "/a", "offset": 5}),
    ("view", {"path": "/a", "view_range": ["5"]}, "read_file", {"path": "/a", "view_range": ["5"]}),
    ("create", {"path": "~/x", "file_text": "t"}, "write_file", {"path": "~/x", "content": "t"}),
    ("edit", {"path": "a", "old_str": "x", "new_str": "y"}, "edit_file", {"path": "/p/a", "old": "x", "new": "y"}),
    # here `command` is a verb, and no command
    (
        "str_replace_editor",
        {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"},
        "edit_file",
        {"command": "str_replace", "path": "/p/a", "old": "x", "new": "y"},
    ),
    ("apply_patch", PATCH, "apply_patch", {"patch": PATCH}),
    (
        "grep",
        {"pattern": "x", "paths": "src", "glob": "*.py"},
        "grep",
        {"pattern": "x", "path": "/p/src", "include": "*.py"},
    ),
    ("rg", {"pattern": "x", "paths": ["a", "b"]}, "grep", {"pattern": "x", "paths": ["/p/a", "/p/b"]}),
    ("glob", {"pattern": "*", "paths": "src"}, "glob", {"pattern": "*", "path": "/p/src"}),
    ("web_fetch", {"url": "https://a.example"}, "web_fetch", {"urls": ["https://a.example"]}),
    (
        "task",
        {"prompt": "p", "agent_type": "task", "mode": "background", "name": "n"},
        "subagent",
        {"prompt": "p", "type": "task", "background": True, "name": "n"},
    ),
    ("write_agent", {"agent_id": "x", "message": "m"}, "agent_message", {"target": "x", "text": "m"}),
    ("skill", {"skill": "s"}, "skill", {"name": "s"}),
    ("update_todo", {"todos": "- [ ] a"}, "todo", {"items": "- [ ] a"}),
    ("report_intent", {"intent": "i"}, "report_intent", {"intent": "i"}),
]


@pytest.mark.parametrize(("name", "args", "tool", "ours"), TOOLS, ids=[row[0] for row in TOOLS])
def test_tools_are_understood_and_said_again_as_they_were(name: str, args: object, tool: str, ours: Plain) -> None:
    understood = call(name, args)

    assert (understood.tool, understood.args) == (tool, ours)
    assert told(copilot_cli, understood) == {**BASE, "toolName": name, "toolArgs": args}


@pytest.mark.parametrize(
    ("name", "args", "tool", "ours"),
    [
        ("Read", {"path": "/a", "view_range": [1, 2]}, "read_file", {"path": "/a", "offset": 1, "limit": 2}),
        ("Write", {"path": "/a", "file_text": "t"}, "write_file", {"path": "/a", "content": "t"}),
        ("Edit", {"path": "/a", "old_str": "x", "new_str": "y"}, "edit_file", {"path": "/a", "old": "x", "new": "y"}),
        ("Edit", PATCH, "apply_patch", {"patch": PATCH}),
        ("Agent", {"prompt": "p"}, "subagent", {"prompt": "p"}),
    ],
)
def test_claude_codes_names_come_with_copilots_own_arguments(name: str, args: object, tool: str, ours: Plain) -> None:
    understood = pascal("PreToolUse", tool_name=name, tool_input=args)

    assert (understood.tool, understood.args) == (tool, ours)
    assert told(copilot_cli, understood) == {
        "hook_event_name": "PreToolUse",
        **SNAKE,
        "tool_name": name,
        "tool_input": args,
    }


def test_tool_in_another_case_is_judged_as_what_it_means() -> None:
    # the program raises its event before it finds that there is no such tool
    assert call("Bash", {"command": "rm x"}).tool == "shell"
    assert told(copilot_cli, call("Bash", {"command": "rm x"}))["toolName"] == "Bash"


def test_permission_to_change_a_file_names_the_file_otherwise() -> None:
    understood = event(
        "permissionRequest", hookName="permissionRequest", toolName="edit", toolInput={"file_path": "a", "diff": "d"}
    )

    assert (understood.tool, understood.args) == ("edit_file", {"path": "/p/a", "diff": "d"})
    assert told(copilot_cli, understood)["toolInput"] == {"file_path": "a", "diff": "d"}


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("files-put_file", "mcp__files__put_file"),
        ("files-put-file", "mcp__files__put-file"),
        ("my-files/put-file", "mcp__my-files__put-file"),
        ("github-mcp-server-list_issues", "mcp__github-mcp-server__list_issues"),
        # a server called `list` with a tool `bash` is not the tool `list_bash`
        ("list-bash", "mcp__list__bash"),
        ("fetch_copilot_cli_documentation", "fetch_copilot_cli_documentation"),
        ("-x", "-x"),
    ],
)
def test_tools_of_servers_are_told_from_the_programs_own(name: str, tool: str) -> None:
    understood = call(name, {"query": "x"})

    assert (understood.tool, understood.args) == (tool, {"query": "x"})
    assert told(copilot_cli, understood)["toolName"] == name


def test_arguments_may_come_as_a_text_of_json_and_go_as_one() -> None:
    text = '{"path": "a",  "old_str": "x", "new_str": "y", "odd": 1}'
    understood = call("edit", text)

    assert (understood.tool, understood.args["old"]) == ("edit_file", "x")
    assert told(copilot_cli, understood)["toolArgs"] == text
    # what the program takes back is an object, whatever it sent
    assert answer(copilot_cli, rewrite(understood, new="z"), understood) == {
        "modifiedArgs": {"path": "a", "old_str": "x", "new_str": "z", "odd": 1}
    }


@pytest.mark.parametrize("text", ["{broken", "", "[", "just words", '"x"'])
def test_text_that_is_no_object_is_kept_as_it_is(text: str) -> None:
    understood = call("bash", text)

    assert understood.native_args == text
    assert told(copilot_cli, understood)["toolArgs"] == text


def test_changed_patch_is_a_plain_text_again() -> None:
    understood = call("apply_patch", PATCH)

    assert answer(copilot_cli, rewrite(understood, patch="*** other"), understood) == {"modifiedArgs": "*** other"}


# answers to the agent

ANSWERS: list[tuple[str, Outcome, Event, object]] = [
    ("tool, no opinion", PASS, SHELL, None),
    ("tool, allow", ALLOW, SHELL, {"permissionDecision": "allow", "permissionDecisionReason": "fine"}),
    ("tool, ask", ASK, SHELL, {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}),
    ("tool, deny", DENY, SHELL, {"permissionDecision": "deny", "permissionDecisionReason": "no"}),
    (
        "tool, deny without a reason",
        SILENT_DENY,
        SHELL,
        {"permissionDecision": "deny", "permissionDecisionReason": "blocked without a reason"},
    ),
    (
        "tool, stop is no more than a no",
        STOP,
        SHELL,
        {"permissionDecision": "deny", "permissionDecisionReason": "halt"},
    ),
    # without a decision: the person is still asked, about the changed call
    ("tool, rewrite", rewrite(SHELL, command="ls"), SHELL, {"modifiedArgs": {"command": "ls", "description": "clean"}}),
    ("tool, context", CONTEXT, SHELL, {"additionalContext": "mind this\n\nand that"}),
    ("permission, no opinion", PASS, PERMISSION, None),
    ("permission, ask", ASK, PERMISSION, None),
    ("permission, allow", ALLOW, PERMISSION, {"behavior": "allow"}),
    ("permission, deny", DENY, PERMISSION, {"behavior": "deny", "message": "no"}),
    ("permission, stop", STOP, PERMISSION, {"behavior": "deny", "message": "halt", "interrupt": True}),
    ("result, deny", DENY, RAN, {"decision": "block", "reason": "no"}),
    ("result, context", CONTEXT, RAN, {"additionalContext": "mind this\n\nand that"}),
    (
        "result, another one",
        Outcome(output="[hidden]"),
        RAN,
        {"modifiedResult": {"resultType": "success", "textResultForLlm": "[hidden]"}},
    ),
    (
        "result, another value",
        Outcome(output=[1]),
        RAN,
        {"modifiedResult": {"resultType": "success", "textResultForLlm": "[1]"}},
    ),
    ("failure, context", CONTEXT, FAILED, {"additionalContext": "mind this\n\nand that"}),
    ("prompt, deny", DENY, PROMPT, {"decision": "block", "reason": "no"}),
    ("prompt, context", CONTEXT, PROMPT, {"additionalContext": "mind this\n\nand that"}),
    ("end, deny", DENY, DONE, {"decision": "block", "reason": "no"}),
    ("end, follow-up", FOLLOW_UP, DONE, {"decision": "block", "reason": "run the tests"}),
    ("end, stop rests", STOP, DONE, None),
    ("subagent's end, deny", DENY, SUB, {"decision": "block", "reason": "no"}),
    ("subagent's start, context", CONTEXT, SUB_START, {"additionalContext": "mind this\n\nand that"}),
    ("start, context", CONTEXT, START, {"additionalContext": "mind this\n\nand that"}),
    ("notification, context", CONTEXT, NOTE, {"additionalContext": "mind this\n\nand that"}),
    ("session's end, anything", DENY, END, None),
    ("compaction, message", MESSAGE, COMPACT, {"type": "progress", "message": "hello"}),
    ("error, message", MESSAGE, ERROR, {"type": "progress", "message": "hello"}),
]


@pytest.mark.parametrize(("outcome", "moment", "wanted"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_answers_are_what_copilot_cli_reads(outcome: Outcome, moment: Event, wanted: object) -> None:
    assert fitted(copilot_cli, outcome, moment) == wanted


def test_message_is_a_line_of_its_own_before_the_answer() -> None:
    outcome = said(Effect(EffectKind.MESSAGE, "hello"), decision=Decision.DENY, reason="no")

    assert copilot_cli.encode_outcome(outcome, SHELL).stdout == (
        b'{"type":"progress","message":"hello"}\n{"permissionDecision":"deny","permissionDecisionReason":"no"}\n'
    )


def test_both_forms_are_answered_with_the_same_flat_fields() -> None:
    other = pascal("PreToolUse", tool_name="Bash", tool_input={"command": "rm -rf x"})

    assert answer(copilot_cli, DENY, other) == {"permissionDecision": "deny", "permissionDecisionReason": "no"}
    assert answer(copilot_cli, DENY, pascal("UserPromptSubmit", prompt="x")) == {"decision": "block", "reason": "no"}


def test_every_event_has_its_abilities() -> None:
    assert set(copilot_cli.SPEC.abilities) == set(copilot_cli.SPEC.events.values())


# answers of hooks

VERDICTS: list[tuple[str, Event, object, Decision, str]] = [
    ("deny", SHELL, {"permissionDecision": "deny", "permissionDecisionReason": "no"}, Decision.DENY, "no"),
    ("ask", SHELL, {"permissionDecision": "ask"}, Decision.ASK, ""),
    ("allow", SHELL, {"permissionDecision": "allow"}, Decision.ALLOW, ""),
    (
        "in the other agent's place",
        SHELL,
        {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}},
        Decision.DENY,
        "no",
    ),
    (
        "two places that differ",
        SHELL,
        {"permissionDecision": "allow", "hookSpecificOutput": {"permissionDecision": "deny"}},
        Decision.DENY,
        "",
    ),
    (
        "two places that differ, the other way round",
        SHELL,
        {"permissionDecision": "deny", "hookSpecificOutput": {"permissionDecision": "allow"}},
        Decision.DENY,
        "",
    ),
    # no word of this agent at this event: as a no it counts, as a yes it does not
    ("block before a tool", SHELL, {"decision": "block", "reason": "no"}, Decision.DENY, "no"),
    ("allow in the wrong place", SHELL, {"decision": "allow"}, Decision.PASS, ""),
    ("behavior", PERMISSION, {"behavior": "deny", "message": "no"}, Decision.DENY, "no"),
    ("behavior, allow", PERMISSION, {"behavior": "allow"}, Decision.ALLOW, ""),
    ("interrupt", PERMISSION, {"behavior": "deny", "message": "no", "interrupt": True}, Decision.STOP, "no"),
    ("block at the end", DONE, {"decision": "block", "reason": "go on"}, Decision.DENY, "go on"),
    ("allow at the end", DONE, {"decision": "allow"}, Decision.PASS, ""),
    ("nothing", SHELL, "", Decision.PASS, ""),
    ("text", SHELL, "all good", Decision.PASS, ""),
]


@pytest.mark.parametrize(
    ("moment", "stdout", "decision", "reason"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS]
)
def test_decisions_of_hooks(moment: Event, stdout: object, decision: Decision, reason: str) -> None:
    got = verdict(copilot_cli, moment, stdout)

    assert (got.decision, got.reason, got.effects, got.failure) == (decision, reason, (), None)


def test_hook_may_change_arguments_the_result_and_speak_to_the_model() -> None:
    changed = verdict(copilot_cli, SHELL, {"modifiedArgs": {"command": "ls"}, "additionalContext": "c"})
    assert changed.effects == (Effect(EffectKind.REWRITE, "ls", ("args", "command")), Effect(EffectKind.CONTEXT, "c"))
    result = verdict(copilot_cli, RAN, {"modifiedResult": {"resultType": "success", "textResultForLlm": "x"}})
    assert result.effects == (Effect(EffectKind.REWRITE, "x", ("output",)),)
    patch = verdict(copilot_cli, call("apply_patch", PATCH), {"modifiedArgs": "*** other"})
    assert patch.effects == (Effect(EffectKind.REWRITE, "*** other", ("args", "patch")),)


def test_progress_is_shown_and_is_no_part_of_the_answer() -> None:
    lines = [{"type": "progress", "message": "looking"}, {"type": "progress"}, {"permissionDecision": "deny"}]
    got = verdict(copilot_cli, SHELL, "\n".join(map(json.dumps, lines)))

    assert got.decision is Decision.DENY
    assert got.effects == (Effect(EffectKind.MESSAGE, "looking"),)


@pytest.mark.parametrize("code", [1, 2, 3, 127])
def test_hook_that_fails_before_a_tool_has_said_no(code: int) -> None:
    got = verdict(copilot_cli, SHELL, "", stderr="Traceback", code=code)

    assert (got.decision, got.reason) == (Decision.DENY, "Traceback")
    assert (got.failure is None) == (code == 2)
    assert verdict(copilot_cli, SHELL, "", code=code).reason == f"hook exited with code {code}"


def test_exit_code_2_beats_an_allow() -> None:
    for moment in (SHELL, PERMISSION):
        yes = {"permissionDecision": "allow", "behavior": "allow"}
        assert verdict(copilot_cli, moment, yes, code=2).decision is Decision.DENY


@pytest.mark.parametrize("moment", [PROMPT, DONE, RAN, START], ids=lambda one: one.name)
def test_exit_code_2_is_only_a_failure_elsewhere(moment: Event) -> None:
    got = verdict(copilot_cli, moment, "", stderr="x", code=2)

    assert got.decision is Decision.PASS
    assert got.failure is not None
    assert got.failure.kind is FailureKind.EXIT_CODE


def test_hook_that_asks_permission_and_crashes_is_only_a_failure() -> None:
    got = verdict(copilot_cli, PERMISSION, "", stderr="x", code=1)

    assert (got.decision, got.failure is None) == (Decision.PASS, False)


def test_exit_code_2_after_a_failure_gives_the_model_what_was_printed() -> None:
    got = verdict(copilot_cli, FAILED, "try again", code=2)

    assert (got.effects, got.failure) == ((Effect(EffectKind.CONTEXT, "try again"),), None)


@pytest.mark.parametrize("document", [{"permissionDecision": "maybe"}, {"decision": 1}, {"additionalContext": 5}])
def test_answer_that_cannot_be_read_is_an_error_and_no_yes(document: Plain) -> None:
    with pytest.raises(DialectError):
        verdict(copilot_cli, SHELL, document)


def test_deep_arguments_do_not_break_the_decoder() -> None:
    deep = "[" * 5000 + "]" * 5000
    raw = json_codec.dump({**BASE, "toolName": "bash", "toolArgs": '{"command": ' + deep + "}"})

    assert copilot_cli.decode_event(raw, "preToolUse").tool == "shell"


def test_function_answers_with_a_value() -> None:
    got = copilot_cli.decode_reply(Reply(value={"permissionDecision": "deny"}), copilot_cli.encode_event(SHELL, HOOK))

    assert got.decision is Decision.DENY


def test_matchers_catch_other_ways_to_change_a_file_which_hooks_are_told_in_the_agents_own() -> None:
    assert {"apply_patch", "insert_text", "edit_lines"} <= set(copilot_cli.SPEC.tools)
    assert {"shell", "write_file", "edit_file"} <= copilot_cli.SPEC.own_tools
    assert not {"multi_edit"} & copilot_cli.SPEC.own_tools


@pytest.mark.parametrize(
    ("tool", "args", "name", "said"),
    [
        ("shell", {"command": "ls"}, "Bash", {"command": "ls"}),
        ("write_file", {"path": "/a", "content": "x"}, "Write", {"path": "/a", "file_text": "x"}),
        ("edit_file", {"path": "/a", "old": "x", "new": "y"}, "Edit", {"path": "/a", "old_str": "x", "new_str": "y"}),
    ],
)
def test_a_hook_set_up_in_pascal_case_is_told_the_other_form_under_every_agent(
    tool: str, args: Plain, name: str, said: Plain
) -> None:
    hook = Hook(id="guard", command="guard", native_event="PreToolUse")
    event = Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, host="claude-code", cwd="/project")

    document = json.loads(copilot_cli.encode_event(event, hook).body)

    assert document == {
        "hook_event_name": "PreToolUse",
        "session_id": "",
        "cwd": "/project",
        "tool_name": name,
        "tool_input": said,
    }


def test_a_hook_set_up_in_camel_case_is_told_that_form_whatever_the_program_said() -> None:
    said = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash", "tool_input": {}}
    event = copilot_cli.decode_event(json.dumps(said).encode())
    hook = Hook(id="guard", command="guard", native_event="preToolUse")

    document = json.loads(copilot_cli.encode_event(event, hook).body)

    assert (document["sessionId"], document["toolName"]) == ("s", "bash")
    assert json.loads(copilot_cli.encode_event(event, HOOK).body) == said
