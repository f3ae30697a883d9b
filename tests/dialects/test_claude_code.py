"""Claude Code's hooks, document by document; what the real program does is told in docs/dialects/claude-code.md."""

import json

import pytest
from msgspec import UNSET

from hookline.dialects.claude_code import SPEC, decode_event, decode_reply, encode_event, encode_outcome
from hookline.errors import DialectError
from hookline.model.event import Ability, Event, EventName, Session
from hookline.model.exchange import Answer, FailureKind, Reply
from hookline.model.hook import Hook, Layer
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome

HOOK = Hook(id="h1", command="check", dialect="claude-code")
DENY = Outcome(decision=Decision.DENY, reasons=("not here",))
STOP = Outcome(decision=Decision.STOP, reasons=("enough",))


def said(native: str, **fields: object) -> Event:
    document = {"session_id": "s1", "cwd": "/project", "hook_event_name": native, **fields}
    return decode_event(json.dumps(document).encode())


def bash(command: str = "ls", **more: object) -> Event:
    return said("PreToolUse", tool_name="Bash", tool_input={"command": command, **more}, tool_use_id="t1")


def document(answer: Answer) -> dict[str, object]:
    parsed = json.loads(answer.stdout) if answer.stdout else {}
    assert isinstance(parsed, dict)
    return parsed


def own(answer: Answer) -> dict[str, object]:
    part = document(answer)["hookSpecificOutput"]
    assert isinstance(part, dict)
    return part


def test_all_events_of_the_program_have_a_row() -> None:
    assert len(SPEC.abilities) == 33
    assert set(SPEC.events.values()) <= set(SPEC.abilities)


# events


def test_a_call_is_understood_in_our_words_and_kept_in_its_own() -> None:
    event = bash("make", timeout=5000, run_in_background=True, dangerouslyDisableSandbox=True)

    assert (event.name, event.tool, event.host) == (EventName.BEFORE_TOOL, "shell", "claude-code")
    assert event.args == {"command": "make", "timeout": 5, "background": True, "dangerouslyDisableSandbox": True}
    assert event.native_args == {
        "command": "make",
        "timeout": 5000,
        "run_in_background": True,
        "dangerouslyDisableSandbox": True,
    }
    assert event.data == {"call_id": "t1"}
    assert event.session == Session(id="s1")


@pytest.mark.parametrize(
    ("tool", "given", "canonical", "args"),
    [
        ("Read", {"file_path": "a.txt"}, "read_file", {"path": "/project/a.txt"}),
        ("Write", {"file_path": "/x/../a", "content": "c"}, "write_file", {"path": "/a", "content": "c"}),
        ("Edit", {"file_path": "/a", "old_string": "o", "new_string": "n"}, "edit_file", {"path": "/a", "old": "o", "new": "n"}),
        ("Monitor", {"command": "tail -f x", "timeout_ms": 3000}, "shell", {"command": "tail -f x", "timeout": 3}),
        ("Task", {"prompt": "p", "subagent_type": "t"}, "subagent", {"prompt": "p", "type": "t"}),
        ("WebFetch", {"url": "http://x", "prompt": "p"}, "web_fetch", {"urls": ["http://x"], "prompt": "p"}),
        ("mcp__files__put", {"path": "p"}, "mcp__files__put", {"path": "/project/p"}),
        ("Unheard", {"x": 1}, "Unheard", {"x": 1}),
    ],
)  # fmt: skip
def test_tools_have_one_name_and_one_set_of_arguments(
    tool: str, given: dict[str, object], canonical: str, args: dict[str, object]
) -> None:
    event = said("PreToolUse", tool_name=tool, tool_input=given)

    assert (event.tool, dict(event.args)) == (canonical, args)
    assert json.loads(encode_event(event, HOOK).body)["tool_input"] == given


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("add", EventName.FILE_CREATED),
        ("change", EventName.FILE_EDITED),
        ("unlink", EventName.FILE_DELETED),
        ("renamed", EventName.FILE_EDITED),
    ],
)
def test_a_changed_file_is_one_of_three_events_and_written_back_as_it_was(word: str, name: EventName) -> None:
    event = said("FileChanged", file_path="/project/.envrc", event=word)

    assert (event.name, event.data["path"]) == (name, "/project/.envrc")
    assert decode_event(encode_event(event, HOOK).body) == event


def test_files_changed_under_another_agent_are_told_in_claude_codes_words() -> None:
    event = Event(name=EventName.FILE_DELETED, data={"path": "/a"}, host="cursor", native_name="afterFileEdit")

    told = json.loads(encode_event(event, HOOK).body)

    assert (told["hook_event_name"], told["file_path"], told["event"]) == ("FileChanged", "/a", "unlink")


@pytest.mark.parametrize("native", ["TaskCreated", "PostToolBatch", "CwdChanged", "Elicitation", "InventedLater"])
def test_events_we_have_no_word_for_keep_their_own(native: str) -> None:
    event = said(native, task_id="1")

    assert (event.name, event.native_name, event.subject) == (EventName.CUSTOM, native, native)
    assert SPEC.native(event) == native


def test_a_hook_under_another_agent_finds_what_it_counts_on() -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, cwd="/project", host="gemini-cli")

    request = encode_event(event, HOOK)

    told = json.loads(request.body)
    assert (told["hook_event_name"], told["tool_name"], told["tool_input"]) == ("PreToolUse", "Bash", {"command": "ls"})
    assert (told["transcript_path"], told["permission_mode"]) == ("", "default")
    assert request.env == {"CLAUDE_PROJECT_DIR": "/project"}


def test_a_hook_of_a_project_finds_its_scripts_wherever_the_agent_is() -> None:
    hook = Hook(id="h", command="check", layer=Layer.PROJECT, root="/project")
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", cwd="/project/src/deep", host="codex-cli")

    assert encode_event(event, hook).env == {"CLAUDE_PROJECT_DIR": "/project"}


def test_no_nul_reaches_the_environment() -> None:
    assert encode_event(Event(name=EventName.SETUP, cwd="/a\0b"), HOOK).env == {"CLAUDE_PROJECT_DIR": "/ab"}


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b'{"session_id": "s"}', b'{"hook_event_name": "PreToolUse"}', b'{"hook_event_name": 1}']
)
def test_bad_documents_are_refused_with_a_reason(raw: bytes) -> None:
    with pytest.raises(DialectError):
        decode_event(raw)


def test_the_name_on_the_command_line_stands_in_for_a_missing_one() -> None:
    assert decode_event(b"{}", "Stop").name is EventName.AFTER_AGENT


# answers to the program


def test_having_no_opinion_is_saying_nothing() -> None:
    assert encode_outcome(Outcome(), bash()) == Answer()


def test_a_no_to_a_call_is_json_with_a_reason() -> None:
    assert own(encode_outcome(DENY, bash())) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "not here",
    }
    assert own(encode_outcome(Outcome(decision=Decision.DENY), bash()))["permissionDecisionReason"]


@pytest.mark.parametrize(("decision", "word"), [(Decision.ALLOW, "allow"), (Decision.ASK, "ask")])
def test_a_yes_and_a_question_are_said_as_such(decision: Decision, word: str) -> None:
    assert own(encode_outcome(Outcome(decision=decision), bash()))["permissionDecision"] == word


def test_the_end_of_everything_is_also_a_no() -> None:
    answer = encode_outcome(STOP, bash())

    assert (document(answer)["continue"], document(answer)["stopReason"]) == (False, "enough")
    assert own(answer)["permissionDecision"] == "deny"
    assert answer.exit_code == 0


def test_a_changed_call_keeps_unknown_arguments_and_skips_nobodys_permission() -> None:
    event = bash("rm x", description="tidy", dangerouslyDisableSandbox=True)

    changed = own(encode_outcome(Outcome(args={**event.args, "command": "ls"}), event))

    assert changed["updatedInput"] == {"command": "ls", "description": "tidy", "dangerouslyDisableSandbox": True}
    assert "permissionDecision" not in changed


def test_a_denied_call_is_not_changed() -> None:
    event = bash("rm x")

    assert "updatedInput" not in own(encode_outcome(Outcome(decision=Decision.DENY, args={"command": "ls"}), event))


def test_context_and_messages_have_their_places() -> None:
    effects = (Effect(EffectKind.CONTEXT, "a"), Effect(EffectKind.CONTEXT, "b"), Effect(EffectKind.MESSAGE, "m"))

    answer = encode_outcome(Outcome(effects=effects), said("UserPromptSubmit", prompt="hi"))

    assert document(answer) == {
        "systemMessage": "m",
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "a\n\nb"},
    }


@pytest.mark.parametrize(
    "native",
    ["UserPromptSubmit", "UserPromptExpansion", "PostToolBatch", "PreCompact", "ConfigChange", "PreModelSwitch"],
)
def test_a_no_without_a_place_of_its_own_stands_at_the_top(native: str) -> None:
    answer = encode_outcome(DENY, said(native))

    assert (document(answer), answer.exit_code) == ({"decision": "block", "reason": "not here"}, 0)


@pytest.mark.parametrize(
    "native", ["TaskCreated", "TaskCompleted", "TeammateIdle", "WorktreeCreate", "Elicitation", "ElicitationResult"]
)
def test_a_no_that_json_cannot_say_is_exit_code_two(native: str) -> None:
    answer = encode_outcome(DENY, said(native))

    assert (answer.exit_code, answer.stderr) == (2, b"not here\n")


@pytest.mark.parametrize("native", sorted(name for name, able in SPEC.abilities.items() if not able))
def test_nothing_is_said_where_nobody_listens(native: str) -> None:
    effects = (Effect(EffectKind.CONTEXT, "c"), Effect(EffectKind.MESSAGE, "m"))
    fields = {"tool_name": "Bash", "tool_input": {}} if native == "PermissionDenied" else {}

    assert encode_outcome(Outcome(decision=Decision.DENY, effects=effects), said(native, **fields)) == Answer()


@pytest.mark.parametrize("native", ["Stop", "SubagentStop"])
def test_at_the_end_of_a_turn_a_no_and_a_task_send_the_agent_back(native: str) -> None:
    event = said(native, stop_hook_active=False)
    task = Outcome(effects=(Effect(EffectKind.ASK_AGENT, "run the tests"),))

    assert document(encode_outcome(DENY, event)) == {"decision": "block", "reason": "not here"}
    assert document(encode_outcome(task, event)) == {"decision": "block", "reason": "run the tests"}
    assert document(encode_outcome(STOP, event)) == {"continue": False, "stopReason": "enough"}


def permission(**more: object) -> Event:
    return said("PermissionRequest", tool_name="Bash", tool_input={"command": "ls", **more})


def test_permission_is_given_refused_or_left_to_the_person() -> None:
    event = permission()
    ask = Outcome(decision=Decision.ASK, reasons=("look twice",))

    assert own(encode_outcome(Outcome(decision=Decision.ALLOW), event))["decision"] == {"behavior": "allow"}
    assert own(encode_outcome(DENY, event))["decision"] == {"behavior": "deny", "message": "not here"}
    assert own(encode_outcome(STOP, event))["decision"] == {"behavior": "deny", "message": "enough", "interrupt": True}
    assert document(encode_outcome(ask, event)) == {"systemMessage": "look twice"}


def test_a_call_changed_without_a_yes_is_not_run_unchanged() -> None:
    event = permission(description="d")
    allowed = Outcome(decision=Decision.ALLOW, args={"command": "id", "description": "d"})

    assert own(encode_outcome(Outcome(args={"command": "id", "description": "d"}), event))["decision"] == {
        "behavior": "deny",
        "message": "a hook changed this call, and it can only be changed together with a yes",
    }
    assert own(encode_outcome(allowed, event))["decision"] == {
        "behavior": "allow",
        "updatedInput": {"command": "id", "description": "d"},
    }


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"stdout": "secret", "stderr": "", "isImage": False}, {"stdout": "***", "stderr": "", "isImage": False}),
        ({"type": "text", "file": {"content": "secret"}}, {"type": "text", "file": {"content": "***"}}),
        ([{"type": "text", "text": "secret"}], [{"type": "text", "text": "***"}]),
        ("secret", "***"),
        (None, "***"),
    ],
)
def test_another_result_has_the_shape_of_the_tools_own(result: object, told: object) -> None:
    event = said("PostToolUse", tool_name="Bash", tool_input={}, tool_response=result)

    assert own(encode_outcome(Outcome(output="***"), event))["updatedToolOutput"] == told


def test_a_result_that_cannot_be_replaced_is_corrected_in_words() -> None:
    event = said("PostToolUse", tool_name="Edit", tool_input={}, tool_response={"structuredPatch": []})

    answer = own(encode_outcome(Outcome(output="***", effects=(Effect(EffectKind.CONTEXT, "c"),)), event))

    assert answer["additionalContext"] == "c\n\nA hook gives this in place of the result above: ***"
    assert "updatedToolOutput" not in answer


# answers of hooks


def verdict(
    stdout: object = "", event: Event | None = None, *, exit_code: int = 0, stderr: bytes = b""
) -> tuple[Decision, str]:
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)
    found = decode_reply(
        Reply(stdout=text.encode(), exit_code=exit_code, stderr=stderr), encode_event(event or bash(), HOOK)
    )
    return found.decision, found.reason


def hso(**fields: object) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("", Decision.PASS),
        ("just talking", Decision.PASS),
        ({}, Decision.PASS),
        (hso(permissionDecision="allow"), Decision.ALLOW),
        (hso(permissionDecision="deny"), Decision.DENY),
        (hso(permissionDecision="ask"), Decision.ASK),
        (hso(permissionDecision="defer"), Decision.ASK),
        ({"decision": "approve"}, Decision.ALLOW),
        ({"decision": "block", "reason": "r"}, Decision.DENY),
        ({"continue": False}, Decision.STOP),
        ({"decision": "approve", **hso(permissionDecision="deny")}, Decision.DENY),
        ({"continue": False, **hso(permissionDecision="allow")}, Decision.STOP),
    ],
)
def test_the_strictest_word_of_an_answer_counts(answer: object, decision: Decision) -> None:
    assert verdict(answer)[0] is decision


def test_exit_code_two_says_no_whatever_the_json_says() -> None:
    assert verdict(exit_code=2, stderr=b"no\n") == (Decision.DENY, "no")
    assert verdict(hso(permissionDecision="allow"), exit_code=2)[0] is Decision.DENY
    assert verdict(exit_code=2)[0] is Decision.DENY


def test_json_counts_whatever_the_exit_code_is() -> None:
    assert verdict(hso(permissionDecision="allow"), exit_code=1)[0] is Decision.ALLOW
    assert verdict(hso(permissionDecision="deny"), exit_code=7)[0] is Decision.DENY


def test_exit_code_two_is_a_failure_where_the_program_cannot_be_told_no() -> None:
    start = said("SessionStart", source="startup")
    found = decode_reply(Reply(exit_code=2, stderr=b"no"), encode_event(start, HOOK))

    assert found.decision is Decision.PASS
    assert found.failure is not None
    assert found.failure.kind is FailureKind.EXIT_CODE


def test_exit_code_two_refuses_a_permission_although_the_program_forgets_it() -> None:
    assert verdict(event=permission(), exit_code=2, stderr=b"no") == (Decision.DENY, "no")


def test_a_yes_that_the_program_takes_for_nothing_is_nothing() -> None:
    assert verdict({"decision": "approve"}, said("Stop")) == (Decision.PASS, "")


@pytest.mark.parametrize(
    ("native", "kind"),
    [
        ("SessionStart", EffectKind.CONTEXT),
        ("UserPromptSubmit", EffectKind.CONTEXT),
        ("UserPromptExpansion", EffectKind.CONTEXT),
        ("Stop", None),
        ("Notification", None),
    ],
)
def test_plain_text_is_context_at_three_events_only(native: str, kind: EffectKind | None) -> None:
    found = decode_reply(Reply(stdout=b"remember this\n"), encode_event(said(native), HOOK))

    assert found.effects == ((Effect(kind, "remember this"),) if kind else ())


def test_a_changed_call_of_a_hook_is_read_in_its_own_words() -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool="write_file", args={"path": "/a", "content": "x"}, host="gemini-cli")
    answer = hso(updatedInput={"file_path": "/b", "content": "x"})

    found = decode_reply(Reply(stdout=json.dumps(answer).encode()), encode_event(event, HOOK))

    assert found.effects == (Effect(EffectKind.REWRITE, "/b", ("args", "path")),)


def test_what_a_hook_adds_is_taken() -> None:
    answer = {"systemMessage": "m", "hookSpecificOutput": {"additionalContext": "c", "updatedToolOutput": "o"}}
    after = said("PostToolUse", tool_name="Bash", tool_input={}, tool_response={})
    found = decode_reply(Reply(stdout=json.dumps(answer).encode()), encode_event(after, HOOK))

    assert found.effects == (
        Effect(EffectKind.REWRITE, "o", ("output",)),
        Effect(EffectKind.CONTEXT, "c"),
        Effect(EffectKind.MESSAGE, "m"),
    )


def test_context_at_the_end_of_a_turn_is_work_to_do() -> None:
    answer = {"hookSpecificOutput": {"additionalContext": "run the tests"}}
    found = decode_reply(Reply(stdout=json.dumps(answer).encode()), encode_event(said("Stop"), HOOK))

    assert found.effects == (Effect(EffectKind.ASK_AGENT, "run the tests"),)


def test_abilities_say_what_the_real_program_does() -> None:
    assert Ability.STOP not in SPEC.abilities["SessionStart"]
    assert SPEC.abilities["PreToolUse"] == frozenset(Ability) - {Ability.OUTPUT, Ability.FOLLOW_UP}
    assert encode_outcome(Outcome(output=UNSET), bash()) == Answer()


def test_a_hook_is_told_whole_paths_and_may_say_them_again() -> None:
    args = {"path": "src/../.env", "content": "x"}
    event = Event(name=EventName.BEFORE_TOOL, tool="write_file", args=args, cwd="/project", host="codex-cli")
    request = encode_event(event, HOOK)
    told = json.loads(request.body)["tool_input"]

    found = decode_reply(Reply(stdout=json.dumps(hso(updatedInput=told)).encode()), request)

    assert told == {"file_path": "/project/.env", "content": "x"}
    assert (found.decision, found.effects) == (Decision.PASS, ())
