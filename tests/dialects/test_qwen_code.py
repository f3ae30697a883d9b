"""Qwen Code's hooks: Claude Code's language, and what the real program makes of it."""

import json

import pytest

from hookline.dialects import claude_code
from hookline.dialects.qwen_code import SPEC, decode_event, decode_reply, encode_event, encode_outcome
from hookline.engine.degrade import degrade
from hookline.model.event import Ability, Event, EventName
from hookline.model.exchange import Answer, Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome

HOOK = Hook(id="h1", command="check", dialect="qwen-code")
AT = "2026-01-01T00:00:00.000Z"
DENY = Outcome(decision=Decision.DENY, reasons=("not here",))
STOP = Outcome(decision=Decision.STOP, reasons=("enough",))


def said(native: str, **fields: object) -> Event:
    call = {"tool_name": "run_shell_command", "tool_input": {"command": "ls", "is_background": False}}
    base = {"session_id": "s1", "cwd": "/project", "hook_event_name": native, "timestamp": AT}
    with_call = native in {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"}
    return decode_event(json.dumps({**base, **(call if with_call else {}), **fields}).encode())


def document(answer: Answer) -> dict[str, object]:
    assert answer.exit_code == 0
    parsed = json.loads(answer.stdout) if answer.stdout else {}
    assert isinstance(parsed, dict)
    return parsed


def told(outcome: Outcome, event: Event) -> dict[str, object]:
    """Give what the program is told of an outcome that was made to fit it."""
    return document(encode_outcome(degrade(outcome, event, SPEC.able(event)), event))


def test_all_events_of_the_program_have_a_row() -> None:
    assert len(SPEC.abilities) == 22


# events


def test_the_time_is_ours_and_goes_back_as_it_came() -> None:
    event = said("Stop")

    assert event.timestamp == 1767225600000
    assert "timestamp" not in event.data
    assert json.loads(encode_event(event, HOOK).body)["timestamp"] == AT


@pytest.mark.parametrize("at", ["2026-01-01T01:00:00+01:00", "1960-01-01T00:00:00.000Z", "yesterday", 17, None])
def test_a_time_in_other_words_is_kept_in_these_words(at: object) -> None:
    event = said("Stop", timestamp=at)

    assert json.loads(encode_event(event, HOOK).body)["timestamp"] == at


def test_a_prompt_is_a_prompt_once_and_a_further_request_is_another_moment() -> None:
    first = said("UserPromptSubmit", prompt="say hi", submitted_prompt="say hi")
    image = said("UserPromptSubmit", prompt="", submitted_prompt="")
    further = said("UserPromptSubmit", prompt="")

    assert (first.name, image.name, further.name) == (
        EventName.BEFORE_AGENT,
        EventName.BEFORE_AGENT,
        EventName.CUSTOM,
    )
    assert SPEC.native(further) == further.subject == "UserPromptSubmit"
    assert json.loads(encode_event(further, HOOK).body)["hook_event_name"] == "UserPromptSubmit"


def test_a_further_request_is_no_prompt_to_hooks_of_other_systems() -> None:
    request = claude_code.encode_event(said("UserPromptSubmit", prompt=""), HOOK)

    assert json.loads(request.body)["hook_event_name"] == "custom"


@pytest.mark.parametrize(
    ("tool", "given", "canonical", "args"),
    [
        (
            "run_shell_command",
            {"command": "x", "is_background": True, "timeout": 5000, "directory": "sub"},
            "shell",
            {"command": "x", "background": True, "timeout": 5, "cwd": "/project/sub"},
        ),
        ("monitor", {"command": "tail -f x"}, "shell", {"command": "tail -f x"}),
        ("read_file", {"file_path": "/a", "offset": 0, "limit": 2}, "read_file", {"path": "/a", "offset": 1, "limit": 2}),
        ("edit", {"file_path": "/a", "old_string": "o", "new_string": "n"}, "edit_file", {"path": "/a", "old": "o", "new": "n"}),
        ("write_file", {"file_path": "/s/../a", "content": "c"}, "write_file", {"path": "/a", "content": "c"}),
        ("agent", {"prompt": "p", "subagent_type": "t"}, "subagent", {"prompt": "p", "type": "t"}),
        ("mcp__files__put", {"x": 1}, "mcp__files__put", {"x": 1}),
    ],
)  # fmt: skip
def test_tools_have_one_name_and_one_set_of_arguments(
    tool: str, given: dict[str, object], canonical: str, args: dict[str, object]
) -> None:
    event = said("PreToolUse", tool_name=tool, tool_input=given)

    assert (event.tool, dict(event.args)) == (canonical, args)
    assert json.loads(encode_event(event, HOOK).body)["tool_input"] == given


def test_its_hooks_find_the_project_in_three_variables() -> None:
    assert encode_event(said("Stop"), HOOK).env == dict.fromkeys(
        ("QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"), "/project"
    )


# answers to the program


@pytest.mark.parametrize(
    ("decision", "word"), [(Decision.ALLOW, "allow"), (Decision.ASK, "ask"), (Decision.DENY, "deny")]
)
def test_a_call_is_allowed_asked_about_or_denied(decision: Decision, word: str) -> None:
    own = told(Outcome(decision=decision), said("PreToolUse"))["hookSpecificOutput"]

    assert isinstance(own, dict)
    assert own["permissionDecision"] == word


def test_a_call_that_cannot_be_changed_does_not_run() -> None:
    own = told(Outcome(args={"command": "id"}), said("PreToolUse"))["hookSpecificOutput"]

    assert isinstance(own, dict)
    assert own["permissionDecision"] == "deny"
    assert "updatedInput" not in own


def test_a_call_cannot_end_everything_and_so_is_denied() -> None:
    answer = told(STOP, said("PreToolUse"))

    assert "continue" not in answer
    assert answer["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "enough",
    }


def test_a_prompt_can_be_blocked_and_can_end_everything() -> None:
    event = said("UserPromptSubmit", prompt="hi")

    assert told(DENY, event) == {"decision": "block", "reason": "not here"}
    assert told(STOP, event) == {"continue": False, "stopReason": "enough"}


def test_after_a_tool_a_reason_stands_in_place_of_the_result() -> None:
    event = said("PostToolUse", tool_response={"llmContent": "secret"})
    context = (Effect(EffectKind.CONTEXT, "c"),)

    assert told(DENY, event) == {"continue": False, "stopReason": "not here"}
    assert told(Outcome(output="***"), event) == {"continue": False, "stopReason": "***"}
    assert told(Outcome(effects=context), event) == {
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "c"}
    }


@pytest.mark.parametrize("native", ["Stop", "SubagentStop"])
def test_a_turn_that_is_to_end_for_good_is_never_sent_back_to_work(native: str) -> None:
    assert told(STOP, said(native)) == {"systemMessage": "enough"}
    assert told(DENY, said(native)) == {"decision": "block", "reason": "not here"}


def test_context_the_program_would_drop_is_told_to_the_person() -> None:
    context = Outcome(effects=(Effect(EffectKind.CONTEXT, "c"),))

    assert told(context, said("PreToolUse")) == {"systemMessage": "c"}
    assert told(context, said("SubagentStart", agent_type="t")) == {"systemMessage": "c"}


def test_abilities_say_what_the_real_program_does() -> None:
    assert Ability.ARGS not in SPEC.abilities["PreToolUse"] | SPEC.abilities["PermissionRequest"]
    assert (
        Ability.STOP
        not in SPEC.abilities["PreToolUse"] | SPEC.abilities["PostToolUse"] | SPEC.abilities["SessionStart"]
    )


# answers of hooks


@pytest.mark.parametrize(
    ("native", "kind"),
    [
        ("SessionStart", EffectKind.CONTEXT),
        ("UserPromptSubmit", EffectKind.CONTEXT),
        ("UserPromptExpansion", EffectKind.CONTEXT),
        ("Stop", EffectKind.MESSAGE),
        ("PreToolUse", EffectKind.MESSAGE),
    ],
)
def test_plain_text_is_context_or_a_message(native: str, kind: EffectKind) -> None:
    found = decode_reply(Reply(stdout=b"look\n"), encode_event(said(native, prompt="p"), HOOK))

    assert found.effects == (Effect(kind, "look"),)


def test_exit_codes_and_words() -> None:
    def verdict(text: str = "", **reply: object) -> tuple[Decision, str]:
        whole = Reply(stdout=text.encode(), **reply)  # type: ignore[arg-type]
        found = decode_reply(whole, encode_event(said("PreToolUse"), HOOK))
        return found.decision, found.reason

    assert verdict(exit_code=2, stderr=b"no") == (Decision.DENY, "no")
    assert verdict('{"decision": "allow"}', exit_code=2, stderr=b"no") == (Decision.DENY, "no")
    assert verdict('{"decision": "deny", "reason": "r"}', exit_code=1) == (Decision.DENY, "r")
    assert verdict('{"decision": "allow"}', exit_code=1)[0] is Decision.PASS
    assert verdict('{"decision": "ask", "reason": "r"}') == (Decision.ASK, "r")
    assert verdict('{"decision": "allow"}')[0] is Decision.ALLOW


def test_a_stop_after_a_tool_is_what_the_program_makes_of_it() -> None:
    reply = Reply(stdout=b'{"continue": false, "stopReason": "hidden"}')
    found = decode_reply(reply, encode_event(said("PostToolUse", tool_response="secret"), HOOK))

    assert (found.decision, found.reason, found.ends) == (Decision.DENY, "hidden", False)
    assert found.effects == (Effect(EffectKind.REWRITE, "hidden", ("output",)),)
