import json

import pytest

from hookline import Decision, Event, EventName, FailureKind, Hook, HookTranslator, OnError, Reply, Source, Verdict
from hookline.dialects import DIALECTS
from hookline.model.exchange import Failure

TRANSLATOR = HookTranslator(DIALECTS)
CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})
# hooks of these print text for people or for the model, and no JSON can be wrong
ONLY_TEXT = {"kiro", "windsurf"}


def hook(dialect: str, on_error: OnError | None = None) -> Hook:
    return Hook(id="h", command="node", dialect=dialect, source=Source.USER, on_error=on_error)


class Reasoned(Verdict, frozen=True, kw_only=True):
    """A verdict as a program may have them."""

    source: str = ""


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("decision", [Decision.ASK, Decision.DENY, Decision.STOP])
def test_a_no_in_words_of_a_program_that_are_ours_is_a_no(dialect: str, decision: Decision) -> None:
    one = hook(dialect)
    said = Reasoned(decision=decision, reason="no", source="the book")

    verdict = TRANSLATOR.read(Reply(value=said), TRANSLATOR.encode(CALL, one), one)

    assert (verdict.decision, verdict.failure) == (decision, None)


@pytest.mark.spec("O-02")
def test_fields_become_an_event() -> None:
    event = TRANSLATOR.to_hook_input("before_tool", {"tool_name": "shell", "args": {"command": "ls"}, "turn": 3})

    assert event == Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, data={"turn": 3})


def test_arguments_without_a_tool_stay_data() -> None:
    assert TRANSLATOR.to_hook_input("custom", {"args": [1]}).data == {"args": [1]}


@pytest.mark.spec("P-17", "P-16")
@pytest.mark.parametrize("dialect", sorted(DIALECTS.keys() - ONLY_TEXT))
@pytest.mark.parametrize("on_error", [None, OnError.BLOCK, OnError.CONTINUE])
def test_broken_answer_is_a_failure_that_the_policy_judges(dialect: str, on_error: OnError | None) -> None:
    one = hook(dialect, on_error)
    request = TRANSLATOR.encode(CALL, one)

    words = ("allow", "continue", "decision", "jsonrpc", "permissionDecision", "permission", "cancel", "action")
    verdict = TRANSLATOR.read(Reply(stdout=json.dumps(dict.fromkeys(words, 1)).encode()), request, one)

    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.INVALID_REPLY
    blocks = (on_error or DIALECTS[dialect].SPEC.on_error) is OnError.BLOCK
    assert verdict.decision is (Decision.DENY if blocks else Decision.PASS)


def test_notes_of_the_kind_are_kept() -> None:
    one = hook("hookline")
    request = TRANSLATOR.encode(CALL, one)
    failure = Failure(FailureKind.TIMEOUT, "late")

    assert TRANSLATOR.read(Reply(notes=("odd",)), request, one).notes == ("odd",)
    assert TRANSLATOR.read(Reply(failure=failure, notes=("odd",)), request, one).notes == ("odd",)


def test_unknown_dialect_is_treated_like_a_guard() -> None:
    assert not TRANSLATOR.knows(hook("klingon"))
    assert TRANSLATOR.default_on_error(hook("klingon")) is OnError.BLOCK
