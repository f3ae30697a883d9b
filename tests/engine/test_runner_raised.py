import asyncio
from collections.abc import Callable

import pytest

from hookline import Engine, Event, Hook, OnError, Outcome, Settings, Source, Verdict
from hookline.engine.runner import HookRunner
from hookline.model.event import EventName
from hookline.model.exchange import FailureKind
from hookline.model.verdict import Decision

EVENT = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})


def raises(name: str, **data: object) -> Callable[[Event], Verdict]:
    return lambda _event: Verdict.raise_event(name, data)


def hook(call: Callable[[Event], Verdict | None], *, on_error: OnError | None = None) -> Hook:
    return Hook(id="raiser", on="before_tool", call=call, source=Source.BUILTIN, on_error=on_error)


def emitted(call: Callable[[Event], Verdict | None], *, observe: bool = False) -> tuple[Outcome, list[object]]:
    """Let a hook raise an event that another one says no to; gives what came of it, and what the other one saw."""
    seen: list[object] = []

    async def scenario() -> Outcome:
        async with Engine(settings=Settings(observe=observe)) as engine:

            @engine.on("custom:checked")
            def deny(event: Event) -> Verdict:
                seen.append((event.data.get("size"), event.chain))
                return Verdict.deny("too large")

            engine.add(hook(call))
            return await engine.emit("before_tool", tool="shell", args={"command": "ls"})

    return asyncio.run(scenario()), seen


def test_no_of_a_raised_event_is_the_no_of_who_raised_it() -> None:
    outcome, seen = emitted(raises("custom:checked", size=3))

    assert outcome.blocked
    assert outcome.reasons == ("too large",)
    assert seen == [(3, ("raiser",))]
    assert outcome.verdicts[0].raised == ("custom:checked",)


def test_what_is_only_observed_raises_nothing_and_says_so() -> None:
    outcome, seen = emitted(raises("custom:checked"), observe=True)

    assert not outcome.blocked
    assert seen == []
    assert outcome.verdicts[0].notes == ('it wanted to raise the event "custom:checked"',)


def test_who_can_raise_nothing_says_so() -> None:
    verdict = asyncio.run(HookRunner().execute_hook(hook(raises("custom:checked")), EVENT))

    assert verdict.decision is Decision.PASS
    assert verdict.notes == ('it wanted to raise the event "custom:checked"',)


@pytest.mark.parametrize("on_error", [OnError.BLOCK, OnError.CONTINUE])
def test_event_that_does_not_exist_is_the_failure_of_who_raised_it(on_error: OnError) -> None:
    async def scenario() -> Outcome:
        async with Engine() as engine:
            engine.add(hook(raises("no_such_event"), on_error=on_error))
            return await engine.emit("before_tool", tool="shell", args={})

    outcome = asyncio.run(scenario())

    failure = outcome.verdicts[0].failure
    assert failure is not None
    assert failure.kind is FailureKind.INVALID_REPLY
    assert outcome.blocked is (on_error is OnError.BLOCK)
