"""A no is a no: in whatever words a hook says it, it blocks or is a recorded failure, under every dialect."""

import json
import sys
from pathlib import Path

import pytest

from hookline import Decision, Engine, Event, EventName, Hook, Outcome, Source
from hookline.dialects import DIALECTS, _reply_codec
from hookline.errors import DialectError
from hookline.model.exchange import Reply
from hookline.model.hook import OnError
from hookline.model.verdict import EffectKind, Verdict
from tests.helpers.each import each

CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})

# every system's own spelling of a no, those of agents that have no dialect here, and the obvious ones that no system has
SPELLINGS: dict[str, object] = {
    "hookline": {"decision": "deny", "reason": "R"},
    "hookline, stop": {"decision": "stop", "reason": "R"},
    "ollm-protocol": {"allow": False, "message": "R"},
    "ollm": {"continue": False, "systemMessage": "R"},
    "ollm-rpc": {"jsonrpc": "2.0", "id": 1, "result": {"action": "block", "reason": "R"}},
    "ollm-rpc, bare": {"action": "block", "reason": "R"},
    "ollama-cli": {"permissionDecision": "deny", "reason": "R"},
    "ollama-cli, stop": {"continue": False, "stopReason": "R"},
    "cli-agent": {"decision": "block", "reason": "R"},
    "claude-code": {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "R",
        }
    },
    "claude-code, permission": {"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "R"}}},
    "copilot-cli": {"permissionDecision": "deny", "permissionDecisionReason": "R"},
    "copilot-cli, permission": {"behavior": "deny", "message": "R"},
    "cursor": {"permission": "deny", "user_message": "R"},
    "cline": {"cancel": True, "errorMessage": "R"},
    "opencode": {"block": "R"},
    "augment": {"hookSpecificOutput": {"decision": "block", "reason": "R"}},
    "flag ok": {"ok": False, "reason": "R"},
    "flag allowed": {"allowed": False, "reason": "R"},
    "flag approved": {"approved": False, "reason": "R"},
    "flag blocked": {"blocked": True, "reason": "R"},
    "flag denied": {"denied": True, "reason": "R"},
    "other letters": {"Permission_Decision": "Deny", "reason": "R"},
    "two answers": {"allow": True, "decision": "block", "reason": "R"},
    "two answers, other order": {"continue": False, "permissionDecision": "allow", "reason": "R"},
}
# what looks like an answer and is none
UNCLEAR: dict[str, object] = {
    "misspelt": {"decison": "deny"},
    "misspelt, swapped": {"allwo": False},
    "misspelt inside": {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecison": "deny"}},
    "misspelt beside a reason": {"desicion": "deny", "reason": "R"},
    "unusable word": {"decision": "denied"},
    "unusable flag": {"allow": "no"},
    "unusable inside": {"hookSpecificOutput": {"permissionDecision": "blocked"}},
    "unusable number": {"continue": 0},
    "unknown key": {"verdict": "deny"},
    "error": {"error": "policy server is down"},
    "rpc error": {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "down"}},
}


def emit(document: object, dialect: str, folder: Path, **changes: object) -> Outcome:
    """Let a real program print a document."""
    program = folder / "guard.py"
    program.write_text(f"print({json.dumps(document)!r})")
    fields: dict[str, object] = {
        "id": "g",
        "dialect": dialect,
        "source": Source.USER,
        "on": ("before_tool",),
        **changes,
    }
    engine = Engine()
    engine.add(Hook(command=sys.executable, args=("-S", str(program)), **fields))  # type: ignore[arg-type]
    try:
        return engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})
    finally:
        engine.close_sync()


def read(document: object, dialect: str) -> Verdict:
    codec = DIALECTS[dialect]
    request = codec.encode_event(CALL, Hook(id="g", command="x", dialect=dialect))
    return codec.decode_reply(Reply(stdout=json.dumps(document).encode()), request)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@each("spelling", SPELLINGS)
def test_no_in_any_words_blocks_under_every_dialect(spelling: str, dialect: str) -> None:
    assert read(SPELLINGS[spelling], dialect).decision >= Decision.DENY


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@each("spelling", SPELLINGS)
def test_reason_of_a_foreign_no_is_the_hooks_own(spelling: str, dialect: str) -> None:
    verdict = read(SPELLINGS[spelling], dialect)

    said = [verdict.reason, *(str(effect.value) for effect in verdict.effects)]
    # no decision is a no to Antigravity, which has a reason of its own for it
    assert "R" in said or verdict.failure is not None or dialect == "antigravity"


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_real_program_that_says_no_in_any_words_blocks_the_call(dialect: str, tmp_path: Path) -> None:
    for spelling in ("ollama-cli", "ollm-protocol", "ollm", "claude-code"):
        assert emit(SPELLINGS[spelling], dialect, tmp_path).blocked, spelling


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_unclear_answer_is_a_failure_that_the_hooks_policy_decides(dialect: str, tmp_path: Path) -> None:
    for what in ("misspelt", "unusable flag"):
        closed = emit(UNCLEAR[what], dialect, tmp_path, on_error=OnError.BLOCK)
        assert closed.blocked, what
        opened = emit(UNCLEAR[what], dialect, tmp_path, on_error=OnError.CONTINUE)
        assert opened.blocked or opened.failures, what


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@each("what", UNCLEAR)
def test_unclear_answer_is_never_a_silent_pass(what: str, dialect: str) -> None:
    try:
        verdict = read(UNCLEAR[what], dialect)
    except DialectError:
        return
    assert verdict.blocks or verdict.failure is not None


@pytest.mark.parametrize(
    "document",
    [
        {"decision": "allow"},
        {"allow": True},
        {"continue": True},
        {"permissionDecision": "allow"},
        {"permission": "allow"},
        {"hookSpecificOutput": {"permissionDecision": "allow"}},
        {"hookSpecificOutput": {"decision": {"behavior": "allow"}}},
        {"cancel": False},
        {"ok": True},
        {"jsonrpc": "2.0", "id": 1, "result": {"action": "allow"}},
    ],
)
def test_yes_in_foreign_words_skips_no_permission(document: dict[str, object]) -> None:
    foreign = _reply_codec.read_foreign(document, own=frozenset())

    assert foreign.decision is Decision.PASS
    assert not foreign.problem


def test_dialect_that_was_understood_is_noted_in_the_trace() -> None:
    assert "read as ollama-cli: permissionDecision" in read({"permissionDecision": "deny"}, "hookline").notes
    assert "read as ollm: continue" in read({"continue": False}, "hookline").notes


@pytest.mark.spec("P-23")
@pytest.mark.parametrize(
    "document",
    [
        {"allow": True, "score": 7, "checked": ["a"], "status": "blocked earlier"},
        {"allow": True, "action": "formatted"},
        {"allow": True, "actions": "none"},
        {"allow": True, "metadata": {"decison": "deny", "verdict": "deny"}},
    ],
)
def test_fields_beside_a_valid_answer_are_extras(document: object) -> None:
    assert read(document, "ollm-protocol").decision is Decision.PASS


@pytest.mark.parametrize(
    "document", [{}, {"metadata": {"a": 1}}, {"context": "mind this", "count": 3}, {"logged": True}, {"status": "ok"}]
)
def test_document_without_a_decision_stays_no_opinion(document: object) -> None:
    assert read(document, "hookline").decision is Decision.PASS


def test_change_in_foreign_words_is_made() -> None:
    verdict = read({"hookSpecificOutput": {"updatedInput": {"command": "ls -l"}}}, "hookline")

    assert [(effect.kind, effect.path, effect.value) for effect in verdict.effects] == [
        (EffectKind.REWRITE, ("args", "command"), "ls -l")
    ]


def test_program_whose_text_is_context_can_still_say_no(tmp_path: Path) -> None:
    assert emit({"decison": "deny"}, "hookline", tmp_path, plain=True, on_error=OnError.BLOCK).blocked
    assert emit({"permissionDecision": "deny"}, "hookline", tmp_path, plain=True).blocked
    assert not emit({"warnings": 3}, "hookline", tmp_path, plain=True, on_error=OnError.BLOCK).blocked


@pytest.mark.spec("U-10")
@pytest.mark.parametrize(
    "printed",
    [
        '{"hookSpecificOutput": "deny"}',
        '{"hookSpecificOutput": []}',
        '{"result": "deny"}',
        '{"type": "block"}',
        '{"decision": "deny"}\n{"decision": "allow"}',
        '{"permissionDecision": "deny"}\nlog\n{}',
        '{"decision": "deny", "decision": "allow"}',
        '{"allow": false, "allow": true}',
    ],
)
def test_a_no_beside_a_yes_or_in_a_wrong_place_is_never_a_yes(printed: str) -> None:
    dialect = DIALECTS["hookline"]
    request = dialect.encode_event(CALL, Hook(id="g", command="x", dialect="hookline"))
    try:
        verdict = dialect.decode_reply(Reply(stdout=printed.encode()), request)
    except DialectError:
        return
    assert verdict.decision >= Decision.DENY


@pytest.mark.parametrize(
    "printed",
    [
        '{"decision": "approve"}',
        '{"decision": "allow"}\n{"decision": "allow"}',
        '{"decision": "allow", "message": "quotes \\"decision\\": \\"deny\\""}',
        '{"step": 1}\n{"decision": "allow"}',
        '{"result": "ok"}',
    ],
)
def test_a_yes_beside_other_text_stays_a_yes(printed: str) -> None:
    dialect = DIALECTS["hookline"]
    request = dialect.encode_event(CALL, Hook(id="g", command="x", dialect="hookline"))
    assert dialect.decode_reply(Reply(stdout=printed.encode()), request).decision <= Decision.ALLOW


def test_a_decision_of_ours_in_the_dict_of_a_function_counts() -> None:
    dialect = DIALECTS["hookline"]
    request = dialect.encode_event(CALL, Hook(id="g", command="x", dialect="hookline"))
    reply = Reply(value={"decision": Decision.DENY, "reason": "R"})
    assert dialect.decode_reply(reply, request).decision is Decision.DENY
