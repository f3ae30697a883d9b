"""An outcome is made one that the agent can carry, and is never wider than before."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hookline.engine.degrade import WORDS, degrade
from hookline.model.event import FALLBACKS, Ability, Event, EventName, fallback_for
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome

CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, host="somebody")
DONE = Event(name=EventName.AFTER_TOOL, tool="shell", data={"result": "secret"}, host="somebody")
EVERYTHING = frozenset(Ability)

CONTEXT = Effect(EffectKind.CONTEXT, "it is late")
MESSAGE = Effect(EffectKind.MESSAGE, "hello")
PROMPT = Effect(EffectKind.ASK_AGENT, "run the tests")
CHANGE = Effect(EffectKind.REWRITE, "ls -l", ("args", "command"))

ABLE = st.frozensets(st.sampled_from(list(Ability)))
EFFECTS = st.lists(st.sampled_from([CONTEXT, MESSAGE, PROMPT]), max_size=4).map(tuple)
OUTCOMES = st.builds(
    Outcome,
    decision=st.sampled_from(list(Decision)),
    reasons=st.sampled_from([(), ("because",), ("one", "two")]),
    effects=EFFECTS,
    args=st.sampled_from([None, {"command": "ls -l"}]),
    output=st.sampled_from([UNSET, "clean", {"stdout": "clean"}]),
)


@given(OUTCOMES)
def test_an_agent_that_can_do_everything_gets_the_outcome_as_it_is(outcome: Outcome) -> None:
    assert degrade(outcome, CALL, EVERYTHING) == outcome
    assert degrade(outcome, CALL, None) is outcome


@given(OUTCOMES, ABLE)
def test_an_outcome_is_never_wider_than_before(outcome: Outcome, able: frozenset[Ability]) -> None:
    fitted = degrade(outcome, CALL, able)
    strong = {Ability.BLOCK, Ability.STOP} & able
    if outcome.decision >= Decision.ASK and strong:
        assert fitted.decision >= Decision.ASK
    if outcome.decision is not Decision.ALLOW:
        assert fitted.decision is not Decision.ALLOW
    # what a hook changed does not run unchanged where it can be kept from running
    if outcome.args is not None and fitted.args is None and strong:
        assert fitted.decision >= Decision.DENY


@given(OUTCOMES, ABLE)
def test_what_is_left_is_what_the_agent_can_carry(outcome: Outcome, able: frozenset[Ability]) -> None:
    fitted = degrade(outcome, CALL, able)
    needed = {
        Decision.ALLOW: Ability.ALLOW,
        Decision.ASK: Ability.ASK,
        Decision.DENY: Ability.BLOCK,
        Decision.STOP: Ability.STOP,
    }
    assert fitted.decision is Decision.PASS or needed[fitted.decision] in able
    assert not fitted.context or Ability.CONTEXT in able
    assert not fitted.messages or Ability.MESSAGE in able
    assert not fitted.follow_ups or Ability.FOLLOW_UP in able
    assert fitted.args is None or Ability.ARGS in able
    assert fitted.output is UNSET or Ability.OUTPUT in able


@given(OUTCOMES, ABLE)
def test_nothing_is_lost_in_silence(outcome: Outcome, able: frozenset[Ability]) -> None:
    fitted = degrade(outcome, CALL, able)
    same = (fitted.decision, fitted.effects, fitted.args, fitted.output) == (
        outcome.decision,
        outcome.effects,
        outcome.args,
        outcome.output,
    )
    assert same == (not fitted.losses)
    for loss in fitted.losses:
        assert loss.wanted not in able
        assert loss.became is fallback_for(loss.wanted, able)
        assert loss.message.startswith("somebody cannot ")


@given(OUTCOMES, ABLE)
def test_fitting_twice_changes_nothing_more(outcome: Outcome, able: frozenset[Ability]) -> None:
    once = degrade(outcome, CALL, able)
    assert degrade(once, CALL, able) == once


def test_a_question_nobody_can_ask_is_a_no_that_says_so() -> None:
    fitted = degrade(Outcome(decision=Decision.ASK, reasons=("sure?",)), CALL, frozenset({Ability.BLOCK}))
    assert fitted.decision is Decision.DENY
    assert fitted.reasons == ("sure?", "a person has to decide, and somebody cannot ask here")


def test_a_call_that_cannot_be_changed_does_not_run_unchanged() -> None:
    outcome = Outcome(args={"command": "ls -l"}, effects=(CHANGE,))
    fitted = degrade(outcome, CALL, frozenset({Ability.BLOCK, Ability.CONTEXT}))
    assert fitted.decision is Decision.DENY
    assert fitted.args is None
    assert fitted.effects == ()
    assert "cannot change it here, so it does not run" in fitted.reason


def test_a_change_does_not_weaken_a_stronger_no() -> None:
    outcome = Outcome(decision=Decision.STOP, reasons=("enough",), args={"command": "ls -l"}, effects=(CHANGE,))
    fitted = degrade(outcome, CALL, frozenset({Ability.BLOCK, Ability.STOP}))
    assert (fitted.decision, fitted.reasons) == (Decision.STOP, ("enough",))


def test_another_result_becomes_context_with_the_result_in_it() -> None:
    fitted = degrade(Outcome(output={"stdout": "clean"}), DONE, frozenset({Ability.CONTEXT}))
    assert fitted.output is UNSET
    assert fitted.context == ('A hook gives this in place of the result above: {"stdout":"clean"}',)


def test_a_no_where_nothing_can_be_stopped_is_told_to_the_model() -> None:
    outcome = Outcome(decision=Decision.DENY, reasons=("not on Fridays",))
    fitted = degrade(outcome, DONE, frozenset({Ability.CONTEXT}))
    assert fitted.decision is Decision.PASS
    assert fitted.reasons == ()
    assert fitted.context == ("A hook objects, and this cannot be stopped here: not on Fridays",)


def test_context_becomes_a_message_and_then_nothing() -> None:
    outcome = Outcome(effects=(CONTEXT,))
    assert degrade(outcome, CALL, frozenset({Ability.MESSAGE})).messages == ("it is late",)
    gone = degrade(outcome, CALL, frozenset())
    assert gone.effects == ()
    assert [(loss.wanted, loss.became) for loss in gone.losses] == [(Ability.CONTEXT, None)]
    assert gone.losses[0].message == "somebody cannot give the model context at before_tool; it is lost"


def test_a_wish_for_later_never_stops_what_happens_now() -> None:
    fitted = degrade(Outcome(effects=(PROMPT,)), CALL, frozenset({Ability.BLOCK, Ability.STOP}))
    assert (fitted.decision, fitted.effects) == (Decision.PASS, ())
    assert [loss.became for loss in fitted.losses] == [None]


def test_a_no_at_the_end_of_a_turn_sends_an_agent_back_that_only_takes_prompts() -> None:
    turn = Event(name=EventName.AFTER_AGENT, host="somebody")
    outcome = Outcome(decision=Decision.DENY, reasons=("the tests fail",))
    fitted = degrade(outcome, turn, frozenset({Ability.FOLLOW_UP}))
    assert fitted.decision is Decision.PASS
    assert fitted.follow_ups == ("the tests fail",)


def test_data_for_the_next_hook_is_nobody_elses_business() -> None:
    handed = Effect(EffectKind.DATA, 1, ("count",))
    fitted = degrade(Outcome(effects=(handed,)), CALL, frozenset())
    assert fitted.effects == (handed,)
    assert fitted.losses == ()


@pytest.mark.parametrize("wanted", Ability)
def test_what_stands_in_is_never_weaker_where_something_is_at_stake(wanted: Ability) -> None:
    assert wanted not in FALLBACKS[wanted]
    assert Ability.ALLOW not in FALLBACKS[wanted]
    for size in range(3):
        for able in combinations(Ability, size):
            found = fallback_for(wanted, frozenset(able))
            assert found is None or found in able
    assert WORDS[wanted]
