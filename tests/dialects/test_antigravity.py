"""Google Antigravity: its documents without a name, its tools, its answers byte for byte, and how its hooks answer."""

import pytest

from hookline.dialects import antigravity
from hookline.errors import DialectError
from hookline.model.event import Event, EventName, Session
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
    fitted,
    heard,
    rewrite,
    said,
    told,
    verdict,
)

BASE: Plain = {
    "conversationId": "c1",
    "workspacePaths": ["/p", "/q"],
    "transcriptPath": "/t.jsonl",
    "artifactDirectoryPath": "/a",
    "modelName": "gemini-3-pro",
}


def event(name: str, **more: object) -> Event:
    return heard(antigravity, {**BASE, **more}, name)


def call(tool: str, args: object) -> Event:
    return event("PreToolUse", toolCall={"name": tool, "args": args}, stepIdx=3)


SHELL = call("run_command", {"CommandLine": "rm -rf x", "Cwd": "/p", "WaitMsBeforeAsync": 500})
RAN = event("PostToolUse", stepIdx=3, error="")
ASKED = event("PreInvocation", invocationNum=1, initialNumSteps=2)
SPOKEN = event("PostInvocation", invocationNum=1, initialNumSteps=2)
DONE = event("Stop", executionNum=1, terminationReason="model_stop", error="", fullyIdle=True)


# events


def test_call_is_understood_and_kept_as_it_was_said() -> None:
    wanted = Event(
        name=EventName.BEFORE_TOOL,
        data={
            "transcript_path": "/t.jsonl",
            "workspacePaths": ["/p", "/q"],
            "artifactDirectoryPath": "/a",
            "stepIdx": 3,
        },
        tool="shell",
        args={"command": "rm -rf x", "cwd": "/p", "WaitMsBeforeAsync": 500},
        session=Session(id="c1", model="gemini-3-pro"),
        cwd="/p",
        host="antigravity",
        native_args={"CommandLine": "rm -rf x", "Cwd": "/p", "WaitMsBeforeAsync": 500},
    )

    assert wanted == SHELL


def test_tool_that_ran_need_not_be_named() -> None:
    assert (RAN.name, RAN.tool) == (EventName.AFTER_TOOL, "")
    named = event("PostToolUse", stepIdx=3, error="", toolCall={"name": "run_command", "args": {"CommandLine": "ls"}})
    assert (named.tool, named.args) == ("shell", {"command": "ls"})


def test_tool_with_an_error_has_failed() -> None:
    failed = event("PostToolUse", stepIdx=3, error="exit status 1")

    assert (failed.name, failed.data["error"]) == (EventName.TOOL_FAILED, "exit status 1")
    assert antigravity.SPEC.native(failed) == "PostToolUse"


def test_end_of_a_turn_says_why() -> None:
    assert (DONE.name, DONE.data["reason"]) == (EventName.AFTER_AGENT, "model_stop")


@pytest.mark.parametrize("name", list(antigravity.SPEC.abilities))
def test_every_event_is_said_again_as_it_was(name: str) -> None:
    document = {**BASE, "toolCall": {"name": "run_command", "args": {"CommandLine": "ls", "odd": 1}}, "stepIdx": 0}

    assert told(antigravity, heard(antigravity, document, name)) == document


def test_event_has_to_be_named_on_the_command_line() -> None:
    with pytest.raises(DialectError, match="expected the event's name"):
        heard(antigravity, BASE)


@pytest.mark.parametrize("paths", ["/p", [1], {"a": 1}])
def test_workspace_that_is_no_list_of_paths_is_refused(paths: object) -> None:
    with pytest.raises(DialectError, match="workspacePaths"):
        heard(antigravity, {**BASE, "workspacePaths": paths}, "Stop")


def test_call_without_a_tool_is_refused() -> None:
    with pytest.raises(DialectError, match=r"toolCall\.name"):
        event("PreToolUse", stepIdx=1)


def test_event_of_another_agent_is_told_in_antigravitys_words() -> None:
    foreign = Event(
        name=EventName.AFTER_TOOL,
        tool="write_file",
        args={"path": "/p/a", "content": "x", "mode": "overwrite"},
        session=Session(id="s", model="m"),
        cwd="/p",
        host="claude-code",
    )

    assert told(antigravity, foreign) == {
        "conversationId": "s",
        "modelName": "m",
        "workspacePaths": ["/p"],
        "toolCall": {
            "name": "write_to_file",
            "args": {"TargetFile": "/p/a", "CodeContent": "x", "Overwrite": True},
        },
        "error": "",
    }
    assert antigravity.encode_event(foreign, HOOK).env == {}


def test_failed_tool_of_another_agent_has_an_error_whatever_it_said() -> None:
    for data in ({}, {"error": ""}, {"error": "no"}):
        failed = Event(name=EventName.TOOL_FAILED, tool="shell", args={"command": "x"}, data=data, host="claude-code")

        assert heard(antigravity, told(antigravity, failed), "PostToolUse").name is EventName.TOOL_FAILED


# tools

EDIT: Plain = {"TargetContent": "x", "ReplacementContent": "y", "AllowMultiple": False}
TOOLS: list[tuple[str, Plain, str, Plain]] = [
    ("run_command", {"CommandLine": "ls", "Cwd": "sub"}, "shell", {"command": "ls", "cwd": "/p/sub"}),
    ("send_command_input", {"CommandId": "1", "Input": "y\n"}, "shell_input", {"session": "1", "text": "y\n"}),
    ("view_file", {"AbsolutePath": "/a"}, "read_file", {"path": "/a"}),
    (
        "view_file",
        {"AbsolutePath": "/a", "StartLine": 5, "EndLine": 9},
        "read_file",
        {"path": "/a", "offset": 5, "limit": 5},
    ),
    (
        "write_to_file",
        {"TargetFile": "/a", "CodeContent": "x", "Overwrite": False},
        "write_file",
        {"path": "/a", "content": "x", "mode": "create"},
    ),
    (
        "replace_file_content",
        {"TargetFile": "/a", "StartLine": 1, "EndLine": 2, **EDIT},
        "edit_file",
        {"path": "/a", "StartLine": 1, "EndLine": 2, "old": "x", "new": "y", "replace_all": False},
    ),
    (
        "multi_replace_file_content",
        {"TargetFile": "/a", "ReplacementChunks": [EDIT]},
        "multi_edit",
        {"path": "/a", "edits": [{"old": "x", "new": "y", "replace_all": False}]},
    ),
    ("list_dir", {"DirectoryPath": "/a"}, "list_dir", {"path": "/a"}),
    ("read_url_content", {"Url": "https://a.example"}, "web_fetch", {"urls": ["https://a.example"]}),
    ("launch_rocket", {"Where": "moon"}, "launch_rocket", {"Where": "moon"}),
]


@pytest.mark.parametrize(("name", "args", "tool", "ours"), TOOLS, ids=[row[0] for row in TOOLS])
def test_tools_are_understood_and_said_again_as_they_were(name: str, args: Plain, tool: str, ours: Plain) -> None:
    understood = call(name, args)

    assert (understood.tool, understood.args) == (tool, ours)
    assert told(antigravity, understood)["toolCall"] == {"name": name, "args": args}
    # made from our words alone, as for a hook under another agent, it is the same call
    foreign = Event(name=EventName.BEFORE_TOOL, tool=tool, args=ours, host="cline")
    made = told(antigravity, foreign)["toolCall"]
    assert isinstance(made, dict)
    assert made["name"] == name
    assert {key: value for key, value in made["args"].items() if key != "Cwd"} == {
        key: value for key, value in args.items() if key != "Cwd"
    }


# answers to the agent

ANSWERS: list[tuple[str, Outcome, Event, Plain]] = [
    # an empty document would be a no here
    ("tool, no opinion", PASS, SHELL, {"decision": ""}),
    ("tool, allow", ALLOW, SHELL, {"decision": "allow", "reason": "fine"}),
    ("tool, ask", ASK, SHELL, {"decision": "force_ask", "reason": "sure?"}),
    ("tool, deny", DENY, SHELL, {"decision": "deny", "reason": "no"}),
    ("tool, deny without a reason", SILENT_DENY, SHELL, {"decision": "deny", "reason": "blocked without a reason"}),
    ("tool, stop is no more than a no", STOP, SHELL, {"decision": "deny", "reason": "halt"}),
    ("tool, context is lost", CONTEXT, SHELL, {"decision": ""}),
    ("result, no opinion", PASS, RAN, {}),
    ("result, deny is lost", DENY, RAN, {}),
    ("model, no opinion", PASS, ASKED, {}),
    (
        "model, context",
        CONTEXT,
        ASKED,
        {"injectSteps": [{"ephemeralMessage": "mind this"}, {"ephemeralMessage": "and that"}]},
    ),
    (
        "model, deny can only be told",
        DENY,
        ASKED,
        {"injectSteps": [{"ephemeralMessage": "A hook objects, and this cannot be stopped here: no"}]},
    ),
    ("model's answer, no opinion", PASS, SPOKEN, {}),
    ("model's answer, stop", STOP, SPOKEN, {"terminationBehavior": "terminate"}),
    ("model's answer, deny ends it", DENY, SPOKEN, {"terminationBehavior": "terminate"}),
    (
        "model's answer, follow-up",
        FOLLOW_UP,
        SPOKEN,
        {"injectSteps": [{"userMessage": "run the tests"}], "terminationBehavior": "force_continue"},
    ),
    ("end, no opinion", PASS, DONE, {}),
    ("end, deny", DENY, DONE, {"decision": "continue", "reason": "no"}),
    ("end, follow-up", FOLLOW_UP, DONE, {"decision": "continue", "reason": "run the tests"}),
    ("end, stop rests", STOP, DONE, {}),
    ("end, message is lost", MESSAGE, DONE, {}),
]


@pytest.mark.parametrize(("outcome", "moment", "wanted"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_answers_are_what_antigravity_reads(outcome: Outcome, moment: Event, wanted: Plain) -> None:
    assert fitted(antigravity, outcome, moment) == wanted


def test_call_that_cannot_be_changed_does_not_run_unchanged() -> None:
    given = fitted(antigravity, rewrite(SHELL, command="ls"), SHELL)

    assert given == {
        "decision": "deny",
        "reason": "a hook changed this call, and antigravity cannot change it here, so it does not run",
    }


def test_stop_beside_a_follow_up_does_not_go_on() -> None:
    outcome = said(Effect(EffectKind.ASK_AGENT, "more"), decision=Decision.STOP, reason="halt")

    assert fitted(antigravity, outcome, DONE) == {}
    assert fitted(antigravity, outcome, SPOKEN) == {"terminationBehavior": "terminate"}


# answers of hooks

VERDICTS: list[tuple[str, Event, object, Decision, str]] = [
    ("deny", SHELL, {"decision": "deny", "reason": "no"}, Decision.DENY, "no"),
    ("allow", SHELL, {"decision": "allow"}, Decision.ALLOW, ""),
    ("ask", SHELL, {"decision": "ask", "reason": "?"}, Decision.ASK, "?"),
    ("force_ask", SHELL, {"decision": "force_ask"}, Decision.ASK, ""),
    ("no opinion", SHELL, {"decision": ""}, Decision.PASS, ""),
    (
        "empty document before a tool",
        SHELL,
        {},
        Decision.DENY,
        "the hook's answer has no decision, which is a no to Antigravity",
    ),
    ("empty document elsewhere", ASKED, {}, Decision.PASS, ""),
    ("nothing printed", SHELL, "", Decision.PASS, ""),
    ("go on", DONE, {"decision": "continue", "reason": "more"}, Decision.DENY, "more"),
    ("rest", DONE, {"decision": "stop"}, Decision.PASS, ""),
    ("terminate", SPOKEN, {"terminationBehavior": "terminate"}, Decision.STOP, ""),
]


@pytest.mark.parametrize(
    ("moment", "stdout", "decision", "reason"), [row[1:] for row in VERDICTS], ids=[row[0] for row in VERDICTS]
)
def test_decisions_of_hooks(moment: Event, stdout: object, decision: Decision, reason: str) -> None:
    got = verdict(antigravity, moment, stdout)

    assert (got.decision, got.reason, got.failure) == (decision, reason, None)


def test_hook_may_speak_to_the_model() -> None:
    steps = [{"ephemeralMessage": "c"}, {"userMessage": "u"}, {"other": 1}, 5]
    got = verdict(antigravity, SPOKEN, {"injectSteps": steps, "mine": 1})

    assert got.effects == (Effect(EffectKind.CONTEXT, "c"), Effect(EffectKind.ASK_AGENT, "u"))
    assert got.metadata == {"mine": 1}


def test_exit_code_2_denies_where_that_can_be_said() -> None:
    assert verdict(antigravity, SHELL, {"decision": "allow"}, stderr="no", code=2).decision is Decision.DENY
    elsewhere = verdict(antigravity, RAN, "", stderr="no", code=2)
    assert (elsewhere.decision, elsewhere.failure is None) == (Decision.PASS, False)


@pytest.mark.parametrize("document", [{"decision": "maybe"}, {"decision": None, "injectSteps": 5}])
def test_answer_that_cannot_be_read_is_an_error_and_no_yes(document: Plain) -> None:
    with pytest.raises(DialectError):
        verdict(antigravity, SHELL, document)


def test_matchers_catch_other_ways_to_change_a_file_which_hooks_are_told_in_the_agents_own() -> None:
    assert {"apply_patch", "insert_text", "edit_lines"} <= set(antigravity.SPEC.tools)
    assert {"shell", "write_file", "edit_file"} <= antigravity.SPEC.own_tools
    assert not {"apply_patch"} & antigravity.SPEC.own_tools
