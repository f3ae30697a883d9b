"""A change that an event or an agent cannot carry is never dropped without a word."""

import asyncio
from collections.abc import Callable

import pytest

from hookline import Decision, Engine, Event, EventName, Hook, Outcome, Source
from hookline.dialects import DIALECTS
from hookline.model.event import FALLBACKS, Ability
from hookline.model.hook import OnError
from tests.helpers.each import each

AGENTS = sorted(name for name in DIALECTS if DIALECTS[name].SPEC.is_agent)
ANSWERS: dict[Ability, dict[str, object]] = {
    Ability.ARGS: {"args": {"command": "changed"}},
    Ability.OUTPUT: {"output": "changed"},
    Ability.CONTEXT: {"context": "mind this"},
    Ability.MESSAGE: {"message": "hello"},
    Ability.FOLLOW_UP: {"ask_agent": "go on"},
    Ability.ASK: {"decision": "ask", "reason": "sure?"},
    Ability.BLOCK: {"decision": "deny", "reason": "no"},
    Ability.STOP: {"decision": "stop", "reason": "halt"},
}
TOOL_EVENTS = {EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED, EventName.PERMISSION_REQUEST}


def ask(event: Event, answer: dict[str, object], **options: object) -> Outcome:
    hook = Hook(id="h", on=(event.name,), call=lambda _: answer, source=Source.BUILTIN, **options)  # type: ignore[arg-type]

    async def scenario() -> Outcome:
        async with Engine() as engine:
            engine.add(hook)
            return await engine.handle(event)

    return asyncio.run(scenario())


def event_of(name: EventName, agent: str = "") -> Event:
    if name in TOOL_EVENTS:
        return Event(name=name, tool="shell", args={"command": "ls"}, data={"result": "r"}, host=agent)
    return Event(name=name, data={"prompt": "p", "response": "r"}, host=agent)


CARRIED: dict[Ability, Callable[[Outcome], bool]] = {
    Ability.ARGS: lambda outcome: outcome.args is not None,
    Ability.OUTPUT: lambda outcome: outcome.output == "changed",
    Ability.CONTEXT: lambda outcome: bool(outcome.context),
    Ability.MESSAGE: lambda outcome: bool(outcome.messages),
    Ability.FOLLOW_UP: lambda outcome: bool(outcome.follow_ups),
    Ability.ASK: lambda outcome: outcome.decision is Decision.ASK,
    Ability.BLOCK: lambda outcome: outcome.decision is Decision.DENY,
    Ability.STOP: lambda outcome: outcome.decision is Decision.STOP,
}


@pytest.mark.parametrize("agent", AGENTS)
@each("wanted", ANSWERS)
def test_what_an_agent_cannot_carry_becomes_what_its_table_declares(agent: str, wanted: Ability) -> None:
    spec = DIALECTS[agent].SPEC
    for name in spec.events:
        event = event_of(name, agent)
        outcome = ask(event, ANSWERS[wanted])
        able = spec.able(event) or frozenset()
        told = outcome.blocked or outcome.losses or outcome.failures
        assert CARRIED[wanted](outcome) or told or not event.spec.can_block, name
        if outcome.failures or not event.spec.can_block:
            # the moment itself has no room for it, whatever the agent can do
            continue
        if wanted in able:
            assert CARRIED[wanted](outcome), name
        elif wanted is Ability.ARGS and {Ability.BLOCK, Ability.STOP} & able:
            assert outcome.blocked, name
        elif not set(FALLBACKS[wanted]) & able:
            assert outcome.losses, name


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("on_error", [None, OnError.BLOCK])
def test_prompt_that_a_hook_wanted_changed_does_not_go_on_unchanged(agent: str, on_error: OnError | None) -> None:
    outcome = ask(event_of(EventName.BEFORE_AGENT, agent), {"args": {"prompt": "redacted"}}, on_error=on_error)
    able = DIALECTS[agent].SPEC.able(event_of(EventName.BEFORE_AGENT, agent)) or frozenset()

    assert outcome.blocked or not {Ability.BLOCK, Ability.STOP} & able
    assert outcome.failures


def test_hook_whose_failures_do_not_matter_lets_it_go_on_and_that_is_noted() -> None:
    outcome = ask(event_of(EventName.BEFORE_AGENT, "claude-code"), {"args": {"prompt": "x"}}, on_error=OnError.CONTINUE)

    assert not outcome.blocked
    assert "changes the arguments" in str(outcome.failures[0].failure)
