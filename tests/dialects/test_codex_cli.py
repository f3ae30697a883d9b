"""Codex CLI's hooks: what its strict reader accepts, and nothing more."""

import json

import pytest

from hookline.dialects.codex_cli import SPEC, decode_event, decode_reply, encode_event, encode_outcome
from hookline.errors import DialectError
from hookline.model.event import Ability, Event, EventName
from hookline.model.exchange import Answer, FailureKind, Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from tests.helpers.each import each

HOOK = Hook(id="h1", command="check", dialect="codex-cli")
DENY = Outcome(decision=Decision.DENY, reasons=("not here",))
EVERYTHING = tuple(Effect(kind, "said") for kind in (EffectKind.CONTEXT, EffectKind.MESSAGE, EffectKind.ASK_AGENT))
PATCH = "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n"

# per event: the fields its reader knows, besides the universal ones; one more makes an answer void
UNIVERSAL = {"continue", "stopReason", "systemMessage"}
BLOCK = {"decision", "reason"}
ACCEPTED: dict[str, tuple[set[str], set[str]]] = {
    "PreToolUse": (
        {"systemMessage"},
        {"permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"},
    ),
    "PermissionRequest": ({"systemMessage"}, {"decision"}),
    "PostToolUse": (UNIVERSAL | BLOCK, {"additionalContext"}),
    "UserPromptSubmit": (UNIVERSAL | BLOCK, {"additionalContext"}),
    "SessionStart": (UNIVERSAL, {"additionalContext"}),
    "SubagentStart": (UNIVERSAL, {"additionalContext"}),
    "PreCompact": (UNIVERSAL, set()),
    "PostCompact": (UNIVERSAL, set()),
    "Stop": (UNIVERSAL | BLOCK, set()),
    "SubagentStop": (UNIVERSAL | BLOCK, set()),
    "Interrupt": ({"systemMessage"}, set()),
    "SessionEnd": (set(), set()),
    "PreModelRequest": (set(), set()),
}


def said(native: str, **fields: object) -> Event:
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}} if "Tool" in native or "Perm" in native else {}
    document = {"session_id": "s1", "turn_id": "t1", "transcript_path": None, "cwd": "/project", "model": "gpt-5.5"}
    return decode_event(json.dumps({**document, "hook_event_name": native, **call, **fields}).encode())


def document(answer: Answer) -> dict[str, object]:
    parsed = json.loads(answer.stdout) if answer.stdout else {}
    assert isinstance(parsed, dict)
    return parsed


def own(answer: Answer) -> dict[str, object]:
    part = document(answer).get("hookSpecificOutput", {})
    assert isinstance(part, dict)
    return part


@pytest.mark.parametrize("decision", Decision)
@each("native", SPEC.abilities)
def test_no_answer_has_a_field_that_its_event_does_not_accept(native: str, decision: Decision) -> None:
    event = said(native)
    top, inner = ACCEPTED[native]
    for outcome in (
        Outcome(decision=decision),
        Outcome(decision=decision, reasons=("r",), effects=EVERYTHING, output="o"),
        Outcome(decision=decision, args={"command": "id"}),
    ):
        answer = encode_outcome(outcome, event)
        fields = own(answer)

        assert set(document(answer)) <= top | {"hookSpecificOutput"}
        assert set(fields) <= inner | {"hookEventName"}
        assert not fields or fields["hookEventName"] == native
        assert answer.exit_code == 0


@pytest.mark.parametrize("native", ["PreToolUse", "PermissionRequest"])
def test_a_call_cannot_stop_everything_and_so_is_denied(native: str) -> None:
    answer = encode_outcome(Outcome(decision=Decision.STOP, reasons=("enough",)), said(native))

    assert "continue" not in document(answer)
    assert own(answer).get("permissionDecision", own(answer).get("decision")) in (
        "deny",
        {"behavior": "deny", "message": "enough"},
    )


def test_a_no_always_has_a_reason() -> None:
    assert own(encode_outcome(DENY, said("PreToolUse")))["permissionDecisionReason"] == "not here"
    assert own(encode_outcome(Outcome(decision=Decision.DENY), said("PreToolUse")))["permissionDecisionReason"]
    assert document(encode_outcome(Outcome(decision=Decision.DENY), said("Stop")))["reason"]


def test_a_bare_yes_is_having_no_opinion() -> None:
    assert encode_outcome(Outcome(decision=Decision.ALLOW, reasons=("fine",)), said("PreToolUse")) == Answer()


@pytest.mark.parametrize("decision", [Decision.PASS, Decision.ALLOW])
def test_changed_arguments_have_the_word_beside_them_and_no_reason(decision: Decision) -> None:
    answer = encode_outcome(Outcome(decision=decision, reasons=("r",), args={"command": "id"}), said("PreToolUse"))

    assert own(answer) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"command": "id"},
    }


def test_a_question_nobody_can_ask_is_a_no() -> None:
    assert own(encode_outcome(Outcome(decision=Decision.ASK), said("PreToolUse")))["permissionDecision"] == "deny"
    assert Ability.ASK not in SPEC.abilities["PreToolUse"]


def test_permission_is_given_refused_or_left_to_the_person() -> None:
    event = said("PermissionRequest")

    assert own(encode_outcome(Outcome(decision=Decision.ALLOW), event))["decision"] == {"behavior": "allow"}
    assert own(encode_outcome(DENY, event))["decision"] == {"behavior": "deny", "message": "not here"}
    assert encode_outcome(Outcome(decision=Decision.ASK), event) == Answer()


def test_the_reason_of_a_stop_stands_in_place_of_a_result() -> None:
    event = said("PostToolUse", tool_response="secret")
    context = (Effect(EffectKind.CONTEXT, "c"),)

    assert document(encode_outcome(Outcome(output="***"), event)) == {"continue": False, "stopReason": "***"}
    assert document(encode_outcome(DENY, event)) == {"continue": False, "stopReason": "not here"}
    assert document(encode_outcome(Outcome(output={"a": 1}, effects=context), event)) == {
        "continue": False,
        "stopReason": '{"a":1}\n\nc',
    }
    assert own(encode_outcome(Outcome(effects=context), event))["additionalContext"] == "c"


def test_the_end_of_a_turn_has_no_inner_fields() -> None:
    task = Outcome(effects=(Effect(EffectKind.ASK_AGENT, "test"), Effect(EffectKind.CONTEXT, "c")))

    assert document(encode_outcome(task, said("Stop"))) == {"decision": "block", "reason": "test"}


# events


@pytest.mark.parametrize(
    ("tool", "given", "canonical", "args"),
    [
        ("Bash", {"command": "ls", "description": "d"}, "shell", {"command": "ls", "description": "d"}),
        ("Bash", {"command": f"apply_patch <<'EOF'\n{PATCH}EOF"}, "shell", {"command": f"apply_patch <<'EOF'\n{PATCH}EOF"}),
        ("apply_patch", {"command": PATCH}, "apply_patch", {"patch": PATCH}),
        ("spawn_agent", {"message": "m"}, "subagent", {"prompt": "m"}),
        ("collaborationspawn_agent", {"task_name": "t", "message": "m"}, "subagent", {"task_name": "t", "prompt": "m"}),
        ("collaborationfollowup_task", {"target": "t", "message": "m"}, "agent_message", {"target": "t", "text": "m"}),
        ("multi_agent_v1wait_agent", {"targets": ["x"], "timeout_ms": 2000}, "shell_control", {"targets": ["x"], "timeout": 2}),
        ("view_image", {"path": "a.png"}, "read_file", {"path": "/project/a.png"}),
        ("list_mcp_resources", {}, "mcp_resource", {}),
        ("update_plan", {"plan": []}, "todo", {"items": []}),
        ("clocksleep", {"duration_ms": 1}, "clocksleep", {"duration_ms": 1}),
        ("mcp__files__put_file", {"path": "x"}, "mcp__files__put_file", {"path": "/project/x"}),
    ],
)  # fmt: skip
def test_tools_have_one_name_and_one_set_of_arguments(
    tool: str, given: dict[str, object], canonical: str, args: dict[str, object]
) -> None:
    event = said("PreToolUse", tool_name=tool, tool_input=given)

    assert (event.tool, dict(event.args)) == (canonical, args)
    told = json.loads(encode_event(event, HOOK).body)
    assert (told["tool_name"], told["tool_input"]) == (tool, given)


def test_a_changed_patch_goes_back_under_its_own_name() -> None:
    event = said("PreToolUse", tool_name="apply_patch", tool_input={"command": PATCH, "x": 1})

    answer = encode_outcome(Outcome(args={**event.args, "patch": "other"}), event)

    assert own(answer)["updatedInput"] == {"command": "other", "x": 1}


def test_the_request_to_the_model_names_the_model_and_an_interrupt_keeps_its_name() -> None:
    request = said("PreModelRequest")

    assert (request.name, request.subject, request.session.model) == (EventName.BEFORE_MODEL, "gpt-5.5", "gpt-5.5")
    assert (said("Interrupt").name, said("Interrupt").native_name) == (EventName.CUSTOM, "Interrupt")


def test_a_hook_under_another_agent_finds_what_it_counts_on() -> None:
    event = Event(name=EventName.BEFORE_AGENT, data={"prompt": "hi"}, cwd="/project", host="cursor")

    request = encode_event(event, HOOK)

    told = json.loads(request.body)
    assert (told["transcript_path"], told["turn_id"], told["model"], told["prompt"]) == (None, "", "", "hi")
    assert request.env == {}


def test_a_file_written_by_another_agent_is_told_as_a_patch() -> None:
    args = {"path": "/project/hello.txt", "content": "hello\n"}
    event = Event(name=EventName.BEFORE_TOOL, tool="write_file", args=args, cwd="/project", host="claude-code")
    request = encode_event(event, HOOK)

    told = json.loads(request.body)
    assert (told["tool_name"], told["tool_input"]) == ("apply_patch", {"command": PATCH})
    same = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": PATCH}}}
    other = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "x"}}}
    assert decode_reply(Reply(stdout=json.dumps(same).encode()), request).decision is Decision.PASS
    refused = decode_reply(Reply(stdout=json.dumps(other).encode()), request)
    assert refused.decision is Decision.DENY
    assert "cannot be changed" in refused.reason


def test_guards_of_patches_are_asked_about_every_change_of_a_file() -> None:
    assert all("apply_patch" in SPEC.tools[tool] for tool in ("write_file", "edit_file", "multi_edit", "delete_file"))


# answers of hooks


def verdict(text: str, native: str = "PreToolUse", *, exit_code: int = 0, stderr: bytes = b"") -> Decision:
    reply = Reply(stdout=text.encode(), exit_code=exit_code, stderr=stderr)
    return decode_reply(reply, encode_event(said(native), HOOK)).decision


def test_a_yes_of_a_hook_skips_nobodys_permission() -> None:
    assert verdict('{"hookSpecificOutput": {"permissionDecision": "allow"}}') is Decision.PASS
    assert verdict('{"decision": "approve"}') is Decision.PASS
    granted = '{"hookSpecificOutput": {"decision": {"behavior": "allow"}}}'
    assert verdict(granted, "PermissionRequest") is Decision.ALLOW


def test_a_half_said_no_is_a_no() -> None:
    assert verdict("", exit_code=2, stderr=b"no") is Decision.DENY
    assert verdict("", exit_code=2) is Decision.DENY
    assert verdict('{"hookSpecificOutput": {"permissionDecision": "deny"}}') is Decision.DENY
    assert verdict('{"decision": "block", "unknown": 1}', exit_code=1) is Decision.DENY
    assert verdict('{"continue": false}') is Decision.STOP


def test_exit_code_two_is_a_failure_where_nothing_can_be_blocked() -> None:
    found = decode_reply(Reply(exit_code=2, stderr=b"no"), encode_event(said("SessionStart"), HOOK))

    assert found.failure is not None
    assert (found.decision, found.failure.kind) == (Decision.PASS, FailureKind.EXIT_CODE)


def test_other_json_of_a_failed_hook_is_not_read() -> None:
    text = '{"hookSpecificOutput": {"additionalContext": "c"}}'
    found = decode_reply(Reply(stdout=text.encode(), exit_code=1), encode_event(said("PreToolUse"), HOOK))

    assert found.effects == ()
    assert found.failure is not None


@pytest.mark.parametrize("text", ["{not json", "[1, 2", "{'a': 1}"])
def test_text_that_wants_to_be_json_and_is_not_is_a_mistake(text: str) -> None:
    with pytest.raises(DialectError, match="JSON"):
        verdict(text, "UserPromptSubmit")


@pytest.mark.parametrize("native", ["SessionStart", "SubagentStart", "UserPromptSubmit"])
def test_plain_text_is_context_at_three_events(native: str) -> None:
    found = decode_reply(Reply(stdout=b"remember\n"), encode_event(said(native), HOOK))

    assert found.effects == (Effect(EffectKind.CONTEXT, "remember"),)
    assert decode_reply(Reply(stdout=b"remember"), encode_event(said("Stop"), HOOK)).effects == ()


def test_a_stop_after_a_tool_is_what_the_program_makes_of_it() -> None:
    reply = Reply(stdout=b'{"continue": false, "stopReason": "hidden"}')
    found = decode_reply(reply, encode_event(said("PostToolUse", tool_response="secret"), HOOK))

    assert (found.decision, found.reason, found.ends) == (Decision.DENY, "hidden", False)
    assert found.effects == (Effect(EffectKind.REWRITE, "hidden", ("output",)),)


@pytest.mark.parametrize(
    ("stdout", "stderr", "code"), [(b'{"decision": "block", "reason": "has a key"}', b"", 0), (b"", b"has a key", 2)]
)
def test_a_no_after_a_tool_hides_the_result_as_it_does_in_the_program(stdout: bytes, stderr: bytes, code: int) -> None:
    request = encode_event(said("PostToolUse", tool_response="secret"), HOOK)
    found = decode_reply(Reply(stdout=stdout, stderr=stderr, exit_code=code), request)

    assert (found.decision, found.reason) == (Decision.DENY, "has a key")
    assert found.effects == (Effect(EffectKind.REWRITE, "has a key", ("output",)),)


def test_a_result_that_was_emptied_does_not_stay() -> None:
    answer = encode_outcome(Outcome(output=""), said("PostToolUse", tool_response="secret"))

    assert json.loads(answer.stdout) == {"continue": False, "stopReason": "(nothing)"}
