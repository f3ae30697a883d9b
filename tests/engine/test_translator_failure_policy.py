import pytest

from hookline.engine.translator import apply_failure_policy, failed_verdict
from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import Hook, OnError
from hookline.model.verdict import Decision, Verdict

BROKEN = Failure(FailureKind.TIMEOUT, "gave no answer within 5 s; ended")
HOOK = Hook(id="guard", command="sh")
OPEN = Hook(id="guard", command="sh", on_error=OnError.CONTINUE)
CLOSED = Hook(id="guard", command="sh", on_error=OnError.BLOCK)


@pytest.mark.spec("P-16", "A-06")
@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind is not FailureKind.TOO_LONG])
@pytest.mark.parametrize(
    ("hook", "default", "wanted"),
    [
        (HOOK, OnError.CONTINUE, Decision.PASS),
        (HOOK, OnError.BLOCK, Decision.DENY),
        (OPEN, OnError.BLOCK, Decision.PASS),
        (CLOSED, OnError.CONTINUE, Decision.DENY),
    ],
)
def test_own_policy_wins_over_the_dialects(kind: FailureKind, hook: Hook, default: OnError, wanted: Decision) -> None:
    verdict = apply_failure_policy(failed_verdict(Failure(kind, "broke")), hook=hook, default=default)

    assert verdict.decision is wanted
    assert verdict.failure == Failure(kind, "broke")


@pytest.mark.spec("A-05")
@pytest.mark.parametrize(("hook", "wanted"), [(HOOK, Decision.DENY), (OPEN, Decision.PASS), (CLOSED, Decision.DENY)])
def test_value_too_long_to_judge_blocks_unless_the_hook_says_otherwise(hook: Hook, wanted: Decision) -> None:
    verdict = apply_failure_policy(
        failed_verdict(Failure(FailureKind.TOO_LONG, "broke")), hook=hook, default=OnError.CONTINUE
    )

    assert verdict.decision is wanted


def test_blocking_failure_says_which_hook_and_what() -> None:
    verdict = apply_failure_policy(failed_verdict(BROKEN), hook=CLOSED, default=OnError.CONTINUE)

    assert verdict.reason == (
        'hook "guard" failed: gave no answer within 5 s; ended; `hookline test guard` runs it and shows what it says'
    )


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("kind", list(FailureKind))
def test_blocking_failure_of_every_kind_names_a_command_once(kind: FailureKind) -> None:
    verdict = apply_failure_policy(failed_verdict(Failure(kind, "broke")), hook=CLOSED, default=OnError.CONTINUE)
    told = apply_failure_policy(
        failed_verdict(Failure(kind, "broke; `hookline trust approve guard`")), hook=CLOSED, default=OnError.CONTINUE
    )

    assert "; `hookline " in verdict.reason
    assert told.reason == 'hook "guard" failed: broke; `hookline trust approve guard`'


def test_denial_with_an_error_stays_a_denial_when_failures_pass() -> None:
    said = Verdict(decision=Decision.DENY, reason="no", failure=BROKEN)

    assert apply_failure_policy(said, hook=OPEN, default=OnError.CONTINUE) == said


def test_answer_without_a_failure_is_left_alone() -> None:
    assert apply_failure_policy(Verdict(), hook=CLOSED, default=OnError.BLOCK) == Verdict()


@pytest.mark.parametrize(
    "said", [Verdict.allow("fine"), Verdict.ask("is it?"), Verdict()], ids=["allow", "ask", "pass"]
)
def test_yes_or_question_of_a_hook_that_fell_over_does_not_stand_where_its_failures_block(said: Verdict) -> None:
    fell = Verdict(decision=said.decision, reason=said.reason, failure=BROKEN)

    assert apply_failure_policy(fell, hook=CLOSED, default=OnError.CONTINUE).decision is Decision.DENY
    assert apply_failure_policy(fell, hook=OPEN, default=OnError.BLOCK) == fell
