"""Answers in Claude Code's language: where nobody has said anything, nothing is said, at whatever event."""

import pytest

from hookline.dialects import DIALECTS
from hookline.dialects._claude_family import ClaudeFamily
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome
from tests.helpers.each import each

AGENTS = ("claude-code", "codex-cli", "factory-droid", "qwen-code")


def family(agent: str) -> ClaudeFamily:
    found = vars(DIALECTS[agent])["_CODEC"]
    assert isinstance(found, ClaudeFamily)
    return found


@each("name", EventName)
@pytest.mark.parametrize("agent", AGENTS)
def test_silence_is_not_worked_out_and_would_be_silence_if_it_were(agent: str, name: EventName) -> None:
    own = family(agent)
    event = Event(name=name, tool="shell", args={"command": "ls"}, host=agent, data={"stop_hook_active": True})
    parts = own.split_outcome(Outcome(), event)

    assert own.build_answer(parts, event) == {}
    assert not parts.blocks
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
