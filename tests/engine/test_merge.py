import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hookline.engine.merge import apply_changes, find_conflicts, merge
from hookline.model.event import Event, EventName
from hookline.model.verdict import Decision, Effect, EffectKind, Verdict

CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls", "cwd": "/"})
DONE = Event(name=EventName.AFTER_TOOL, tool="shell", data={"result": {"text": "a", "code": 0}})
SAID = Event(name=EventName.AFTER_MODEL, data={"response": "hello"})

decisions = st.sampled_from([*Decision])
verdicts = st.builds(
    Verdict,
    hook=st.text("abc", max_size=2),
    decision=decisions,
    reason=st.text("xyz", max_size=3),
    observed=st.booleans(),
)


def rewrite(**args: object) -> Verdict:
    return Verdict.rewrite(args)


@pytest.mark.spec("O-33")
@given(st.lists(verdicts, max_size=6))
def test_strongest_enforced_decision_wins(said: list[Verdict]) -> None:
    outcome = merge(CALL, CALL, said)

    enforced = [verdict.decision for verdict in said if not verdict.observed]
    assert outcome.decision == max(enforced, default=Decision.PASS)
    assert outcome.verdicts == tuple(said)


@given(st.lists(verdicts, max_size=6))
def test_reasons_are_those_of_the_winning_strength_in_order(said: list[Verdict]) -> None:
    outcome = merge(CALL, CALL, said)

    wanted = [v.reason for v in said if not v.observed and v.decision is outcome.decision and v.reason]
    if wanted or outcome.decision < Decision.ASK:
        assert list(outcome.reasons) == list(dict.fromkeys(wanted))
    else:
        assert outcome.reasons == ("blocked without a reason",)


@given(st.lists(verdicts, max_size=6))
def test_moment_that_cannot_be_blocked_never_is(said: list[Verdict]) -> None:
    over = Event(name=EventName.SESSION_END)

    assert not merge(over, over, said).blocked


@pytest.mark.spec("A-08", "C-10")
def test_later_rewrite_sees_the_earlier_one_and_other_arguments_stay() -> None:
    first = rewrite(command="ls -l")
    seen = apply_changes(CALL, [first])
    second = rewrite(command=f"{seen.args['command']} -a", timeout=3)
    after = apply_changes(seen, [second])

    assert merge(CALL, after, [first, second]).args == {"command": "ls -l -a", "cwd": "/", "timeout": 3}


def test_nothing_rewritten_is_said_so() -> None:
    outcome = merge(CALL, CALL, [Verdict()])

    assert outcome.args is None
    assert outcome.output is UNSET


@pytest.mark.spec("C-10")
def test_output_object_is_changed_key_by_key() -> None:
    verdict = Verdict.replace_output({"text": "redacted"})

    assert merge(DONE, apply_changes(DONE, [verdict]), [verdict]).output == {"text": "redacted", "code": 0}


def test_output_of_another_shape_is_replaced() -> None:
    verdict = Verdict.replace_output("gone")

    assert merge(DONE, apply_changes(DONE, [verdict]), [verdict]).output == "gone"


def test_output_of_a_model_is_its_response() -> None:
    verdict = Verdict.replace_output("bye")

    assert apply_changes(SAID, [verdict]).data == {"response": "bye"}
    assert merge(SAID, apply_changes(SAID, [verdict]), [verdict]).output == "bye"


def test_rewrite_where_there_is_nothing_to_rewrite_is_dropped() -> None:
    verdict = Verdict.replace_output("x")
    outcome = merge(CALL, apply_changes(CALL, [verdict]), [verdict])

    assert outcome.output is UNSET
    assert outcome.effects == ()


@pytest.mark.spec("O-08")
def test_data_of_one_hook_is_in_the_input_of_the_next() -> None:
    hands_on = Verdict(effects=(Effect(EffectKind.DATA, 7, ("risk",)),))

    assert apply_changes(CALL, [hands_on]).data == {"risk": 7}


def test_what_was_only_observed_changes_nothing() -> None:
    watched = Verdict(observed=True, decision=Decision.STOP, effects=rewrite(command="x").effects)

    assert apply_changes(CALL, [watched]) == CALL
    assert merge(CALL, CALL, [watched]).decision is Decision.PASS


def test_side_by_side_rewrites_of_one_field_are_a_conflict() -> None:
    one = Verdict(hook="a", effects=rewrite(command="x").effects)
    two = Verdict(hook="b", effects=rewrite(command="y").effects)
    other = Verdict(hook="c", effects=rewrite(cwd="/tmp").effects)  # noqa: S108 - only a value

    assert find_conflicts(CALL, [one, two, other]) == [
        'hooks "a" and "b" run side by side and both change args.command'
    ]
    assert find_conflicts(CALL, [one, other]) == []
    assert find_conflicts(CALL, [one, one]) == []


def test_context_and_messages_keep_their_order() -> None:
    said = [Verdict.add_context("one"), Verdict.tell("hi"), Verdict.add_context("two")]
    outcome = merge(CALL, CALL, said)

    assert outcome.context == ("one", "two")
    assert outcome.messages == ("hi",)
