import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hookline import Engine, Event, FailureKind, Hook, OnError, Record, Settings, Source, Verdict
from hookline.model.hook import Layer
from hookline.model.record import Step
from hookline.model.verdict import Outcome


async def for_ever(_event: Event) -> None:
    await asyncio.sleep(3600)


def hook(name: str, call: Callable[..., object], **fields: object) -> Hook:
    made = {"id": name, "on": "before_tool", "call": call, "source": Source.BUILTIN, "timeout": 600.0}
    return Hook(**made | fields)  # type: ignore[arg-type] # field by field


def answered(*hooks: Hook, budget: float | None = 0.3) -> tuple[Outcome, list[Record]]:
    records: list[Record] = []

    async def scenario() -> Outcome:
        async with Engine(settings=Settings(budget=budget)) as engine:
            engine.bus.subscribe(records.append)
            engine.add(*hooks)
            outcome = await engine.emit("before_tool", tool="shell")
            await engine.drain()
            return outcome

    return asyncio.run(scenario()), records


def failure(outcome: Outcome, name: str) -> tuple[FailureKind, str]:
    (found,) = (verdict.failure for verdict in outcome.verdicts if verdict.hook == name)
    assert found is not None
    return found.kind, found.message


def test_hook_is_ended_when_the_time_of_all_is_used_up_and_the_next_is_not_started() -> None:
    ran: list[str] = []
    outcome, records = answered(hook("slow", for_ever), hook("next", lambda _event: ran.append("next")))

    kind, message = failure(outcome, "slow")
    assert kind is FailureKind.TIMEOUT
    assert message.endswith("; this was all that was left of the event's budget of 0.3 s")
    kind, message = failure(outcome, "next")
    assert (kind, ran) == (FailureKind.TIMEOUT, [])
    assert message.startswith('not started: the event\'s budget of 0.3 s was used up by "slow" (0.3')
    assert not outcome.blocked
    told = [record.detail["message"] for record in records if record.step is Step.FAILED and record.hook == "next"]
    assert told == [message]


def test_guard_that_gets_no_time_blocks() -> None:
    outcome, _ = answered(hook("slow", for_ever), hook("guard", lambda _event: None, on_error=OnError.BLOCK))

    assert outcome.blocked
    assert outcome.reason.startswith('hook "guard" failed: not started: the event\'s budget')


def test_managed_hook_runs_though_others_used_up_the_time() -> None:
    managed = hook("managed", lambda _event: Verdict.deny("no"), layer=Layer.MANAGED, source=Source.USER)

    outcome, _ = answered(hook("slow", for_ever, priority=0), managed)

    assert outcome.reasons == ("no",)


def test_hooks_side_by_side_share_it() -> None:
    outcome, _ = answered(*(hook(name, for_ever, parallel=True) for name in "abc"))

    assert {failure(outcome, name)[0] for name in "abc"} == {FailureKind.TIMEOUT}
    assert len(outcome.verdicts) == 3


def test_hook_that_is_slower_than_its_own_time_is_not_blamed_on_the_budget() -> None:
    outcome, _ = answered(hook("slow", for_ever, timeout=0.05), budget=600)

    assert failure(outcome, "slow") == (FailureKind.TIMEOUT, "gave no answer within 0.05 s; ended")


def test_without_a_budget_every_hook_has_its_own_time() -> None:
    outcome, _ = answered(hook("a", lambda _event: None), budget=None)

    assert outcome.failures == ()


def test_hooks_that_become_due_later_have_what_is_left() -> None:
    def moves(_event: Event) -> Verdict:
        return Verdict.rewrite({"path": ".env"})

    outcome, _ = answered(
        hook("moves", moves), hook("slow", for_ever), hook("late", for_ever, condition='args.path == ".env"')
    )

    assert failure(outcome, "late")[1].startswith("not started: ")


def test_program_is_ended_with_the_budget(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text("import time\ntime.sleep(3600)\n")
    program = Hook(
        id="slow", on="before_tool", command=sys.executable, args=(str(script),), source=Source.USER, timeout=600
    )

    outcome, _ = answered(program)

    kind, message = failure(outcome, "slow")
    assert kind is FailureKind.TIMEOUT
    assert "this was all that was left of the event's budget of 0.3 s" in message


@pytest.mark.parametrize("budget", [0, -1.0, float("nan")])
def test_budget_in_which_no_hook_could_answer_is_refused(budget: float) -> None:
    with pytest.raises(Exception, match="the setting budget is"):
        Settings(budget=budget)


@pytest.mark.parametrize(
    ("budget", "patience", "named"),
    [
        (None, 0.2, "the patience of the agent of 0.2 s"),
        (600.0, 0.2, "the patience of the agent of 0.2 s"),
        (0.2, 600.0, "the event's budget of 0.2 s"),
    ],
)
def test_a_guard_blocks_before_whoever_asked_waits_no_longer(budget: float | None, patience: float, named: str) -> None:
    async def scenario() -> Outcome:
        async with Engine(settings=Settings(budget=budget)) as engine:
            engine.add(hook("guard", for_ever, on_error=OnError.BLOCK))
            return await engine.handle(engine.event("before_tool", tool="shell"), patience=patience)

    outcome = asyncio.run(scenario())

    assert outcome.blocked
    kind, message = failure(outcome, "guard")
    assert kind is FailureKind.TIMEOUT
    assert named in message
