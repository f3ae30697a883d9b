"""Factory Droid's hooks: exit codes that count, and an environment full of fields."""

import json

import pytest

from hookline.dialects.factory_droid import SPEC, decode_event, decode_reply, encode_event, encode_outcome
from hookline.engine.degrade import degrade
from hookline.model.event import Ability, Event, EventName
from hookline.model.exchange import Answer, Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome

HOOK = Hook(id="h1", command="check", dialect="factory-droid")
DENY = Outcome(decision=Decision.DENY, reasons=("not here",))
STOP = Outcome(decision=Decision.STOP, reasons=("enough",))


def said(native: str, **fields: object) -> Event:
    call = {"tool_name": "Execute", "tool_input": {"command": "ls", "riskLevel": "low"}} if "Tool" in native else {}
    base = {"session_id": "s1", "cwd": "/project", "hook_event_name": native, "permission_mode": "auto-low"}
    return decode_event(json.dumps({**base, **call, **fields}).encode())


def document(answer: Answer) -> dict[str, object]:
    parsed = json.loads(answer.stdout) if answer.stdout else {}
    assert isinstance(parsed, dict)
    return parsed


def test_all_nine_events_have_a_row() -> None:
    assert set(SPEC.events.values()) == set(SPEC.abilities)
    assert len(SPEC.abilities) == 9


# events


@pytest.mark.parametrize(
    ("tool", "given", "canonical", "args"),
    [
        ("Execute", {"command": "ls"}, "shell", {"command": "ls"}),
        ("Create", {"file_path": "a", "content": "c"}, "write_file", {"path": "/project/a", "content": "c"}),
        ("Edit", {"file_path": "/a", "old_str": "o", "new_str": "n"}, "edit_file", {"path": "/a", "old": "o", "new": "n"}),
        ("Edit", {"file_path": "/a", "old_string": "o", "new_string": "n"}, "edit_file", {"path": "/a", "old": "o", "new": "n"}),
        ("ApplyPatch", {"input": "*** Begin Patch"}, "apply_patch", {"patch": "*** Begin Patch"}),
        ("LS", {"directory_path": "/d"}, "list_dir", {"path": "/d"}),
        ("FetchUrl", {"url": "http://x"}, "web_fetch", {"urls": ["http://x"]}),
        ("Task", {"subagent_type": "t", "prompt": "p"}, "subagent", {"type": "t", "prompt": "p"}),
    ],
)  # fmt: skip
def test_tools_have_one_name_and_one_set_of_arguments(
    tool: str, given: dict[str, object], canonical: str, args: dict[str, object]
) -> None:
    event = said("PreToolUse", tool_name=tool, tool_input=given)

    assert (event.tool, dict(event.args)) == (canonical, args)
    assert json.loads(encode_event(event, HOOK).body)["tool_input"] == given


def test_older_versions_and_a_byte_order_mark_are_understood() -> None:
    old = {"sessionId": "s1", "hookEventName": "PreToolUse", "toolName": "Execute", "toolInput": {"command": "ls"}}

    event = decode_event(b"\xef\xbb\xbf" + json.dumps(old).encode())

    assert (event.name, event.tool, event.session.id) == (EventName.BEFORE_TOOL, "shell", "s1")


def test_a_subagents_result_and_the_size_of_a_context_have_our_names() -> None:
    ended = said("SubagentStop", task_name="review", task_result="fine", stop_hook_active=False)
    full = said("PreCompact", trigger="auto", message_count=40, estimated_tokens=9000)

    assert (ended.data["response"], ended.subject) == ("fine", "review")
    assert (full.data["messages"], full.data["size"]) == (40, 9000)
    assert decode_event(encode_event(ended, HOOK).body) == ended


def test_every_plain_field_is_a_variable() -> None:
    env = encode_event(said("Stop", stop_hook_active=True, elapsed_time=1200, message_id="m"), HOOK).env

    assert env == {
        "session_id": "s1",
        "cwd": "/project",
        "hook_event_name": "Stop",
        "permission_mode": "auto-low",
        "stop_hook_active": "true",
        "elapsed_time": "1200",
        "message_id": "m",
        "FACTORY_PROJECT_DIR": "/project",
        "DROID_PROJECT_DIR": "/project",
        "CLAUDE_PROJECT_DIR": "/project",
    }


def test_no_field_chooses_the_programs_a_hook_starts() -> None:
    event = said("Notification", PATH="/evil", LD_PRELOAD="/evil.so", http_proxy="http://evil", BASH_ENV="/evil")

    assert not {"PATH", "LD_PRELOAD", "http_proxy", "BASH_ENV"} & set(encode_event(event, HOOK).env)


def test_what_no_environment_can_hold_is_left_to_the_document() -> None:
    long = said("UserPromptSubmit", prompt="x" * 200_000)
    broken = said("UserPromptSubmit", prompt="a\0b")

    assert "prompt" not in encode_event(long, HOOK).env
    assert encode_event(broken, HOOK).env["prompt"] == "ab"


# answers to the program


@pytest.mark.parametrize("native", sorted(name for name, able in SPEC.abilities.items() if Ability.BLOCK in able))
def test_a_no_is_exit_code_two_and_a_document(native: str) -> None:
    answer = encode_outcome(DENY, said(native))

    assert (answer.exit_code, answer.stderr) == (2, b"not here\n")
    assert "not here" in answer.stdout.decode()


@pytest.mark.parametrize("native", sorted(name for name, able in SPEC.abilities.items() if Ability.STOP in able))
def test_the_end_of_everything_is_a_document(native: str) -> None:
    answer = encode_outcome(STOP, said(native))

    assert (document(answer)["continue"], document(answer)["stopReason"]) == (False, "enough")
    assert answer.exit_code == 0


def test_a_yes_is_said_and_having_no_opinion_is_silence() -> None:
    assert document(encode_outcome(Outcome(decision=Decision.ALLOW), said("PreToolUse"))) == {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    }
    assert encode_outcome(Outcome(), said("PreToolUse")) == Answer()


def test_a_question_is_a_no_because_nobody_would_be_asked() -> None:
    event = said("PreToolUse")
    outcome = degrade(Outcome(decision=Decision.ASK, reasons=("look",)), event, SPEC.able(event))

    assert outcome.decision is Decision.DENY
    assert encode_outcome(outcome, event).exit_code == 2
    assert encode_outcome(Outcome(decision=Decision.ASK), event).exit_code == 2


def test_changed_arguments_skip_nobodys_permission_and_keep_what_is_unknown() -> None:
    assert document(encode_outcome(Outcome(args={"command": "id", "riskLevel": "low"}), said("PreToolUse"))) == {
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "id", "riskLevel": "low"}}
    }


def test_changed_text_goes_back_in_the_spelling_it_came_in() -> None:
    given = {"file_path": "/a", "old_str": "o", "new_str": "n"}
    event = said("PreToolUse", tool_name="Edit", tool_input=given)

    own = document(encode_outcome(Outcome(args={**event.args, "new": "m"}), event))["hookSpecificOutput"]

    assert isinstance(own, dict)
    assert own["updatedInput"] == {**given, "new_str": "m"}


# answers of hooks


def verdict(text: str = "", native: str = "PreToolUse", *, exit_code: int = 0, stderr: bytes = b"") -> Decision:
    reply = Reply(stdout=text.encode(), exit_code=exit_code, stderr=stderr)
    return decode_reply(reply, encode_event(said(native), HOOK)).decision


def test_exit_codes_say_no_and_enough() -> None:
    assert verdict(exit_code=2) is Decision.DENY
    assert verdict(exit_code=3) is Decision.STOP
    assert verdict('{"hookSpecificOutput": {"permissionDecision": "allow"}}', exit_code=2) is Decision.DENY
    assert verdict('{"hookSpecificOutput": {"permissionDecision": "allow"}}', exit_code=1) is Decision.ALLOW
    assert verdict(exit_code=1) is Decision.PASS


def test_enough_keeps_the_reason_of_the_hook() -> None:
    found = decode_reply(Reply(exit_code=3, stderr=b"budget spent"), encode_event(said("Stop"), HOOK))

    assert (found.decision, found.reason, found.ends) == (Decision.STOP, "budget spent", True)


def test_the_old_word_for_yes_is_not_looked_at() -> None:
    assert verdict('{"decision": "approve"}') is Decision.PASS
    assert verdict('{"decision": "block", "reason": "r"}') is Decision.DENY


@pytest.mark.parametrize("native", ["SessionStart", "UserPromptSubmit"])
def test_plain_text_is_context_at_two_events(native: str) -> None:
    found = decode_reply(Reply(stdout=b"remember"), encode_event(said(native), HOOK))

    assert found.effects == (Effect(EffectKind.CONTEXT, "remember"),)


def test_half_a_character_in_a_prompt_does_not_keep_a_hook_from_being_asked() -> None:
    event = Event(name=EventName.BEFORE_AGENT, data={"prompt": "bad \ud800"})

    assert encode_event(event, Hook(id="h", command="x")).env["prompt"] == "bad ?"
