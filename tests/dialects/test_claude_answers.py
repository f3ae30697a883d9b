"""Answers in Claude Code's language: where nobody has said anything, nothing is said, at whatever event."""

import pytest

from hookline.dialects import DIALECTS
from hookline.dialects._claude import Family
from hookline.dialects._claude_answers import Told, answer
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome

AGENTS = ("claude-code", "codex-cli", "factory-droid", "qwen-code")


def family(agent: str) -> Family:
    found = vars(DIALECTS[agent])["_FAMILY"]
    assert isinstance(found, Family)
    return found


@pytest.mark.parametrize("name", EventName)
@pytest.mark.parametrize("agent", AGENTS)
def test_silence_is_not_worked_out_and_would_be_silence_if_it_were(agent: str, name: EventName) -> None:
    own = family(agent)
    event = Event(name=name, tool="shell", args={"command": "ls"}, host=agent, data={"stop_hook_active": True})
    native = own.native(event)
    told = Told(
        outcome=Outcome(),
        event=event,
        native=native,
        able=own.abilities.get(native, frozenset()),
        tools=own.tools,
        beside=own.beside,
        replaces=native in own.replaces,
        rests=own.rests,
    )

    assert answer(told) == {}
    assert not told.blocks
    assert DIALECTS[agent].encode_outcome(Outcome(), event) == Answer()


@pytest.mark.parametrize(
    "outcome",
    [
        *(Outcome(decision=decision) for decision in Decision if decision is not Decision.PASS),
        Outcome(effects=(Effect(EffectKind.CONTEXT, "look"),)),
        Outcome(args={}),
        Outcome(output=None),
        Outcome(reasons=("because",)),
    ],
)
def test_whatever_somebody_has_said_is_no_silence(outcome: Outcome) -> None:
    assert not outcome.is_silent
