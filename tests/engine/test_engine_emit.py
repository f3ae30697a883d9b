"""What an event comes to whose hooks are functions of the program, whatever they do."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import msgspec
import pytest

from hookline import (
    ConfigError,
    Decision,
    Engine,
    Event,
    Hook,
    OnError,
    Outcome,
    Record,
    Session,
    Settings,
    Source,
    Step,
    Verdict,
)
from hookline.model.exchange import Reply
from hookline.model.plan import Plan
from hookline.model.verdict import Effect, EffectKind
from hookline.trust.policy import TrustedHooks

Function = Callable[[Event], object]
Seen = tuple[list[object], list[Event], list[tuple[object, ...]]]


def told(record: Record) -> tuple[object, ...]:
    """Give a record without what is another one each time."""
    detail = {**record.detail, **({"duration": "some"} if "duration" in record.detail else {})}
    detail |= {name: "some" for name in ("parent", "job") if name in detail}
    return record.step, record.event, record.session, record.hook, detail


async def observed(hooks: list[Hook], emit: Callable[[Engine], Awaitable[Outcome]]) -> Seen:
    """Return the outcomes of two emits, the events that the hooks saw, and the records."""
    events: list[Event] = []
    records: list[Record] = []
    async with Engine(cwd="/project") as engine:
        engine.bus.subscribe(records.append)
        for hook in hooks:
            engine.add(msgspec.structs.replace(hook, call=watched(hook.call, events)))
        outcomes: list[object] = []
        for _ in range(2):
            try:
                outcome = await emit(engine)
            except ConfigError as problem:
                outcomes.append(str(problem))
                continue
            outcomes.append(outcome)
            await engine.drain()
            mine = [record for record in records if record.trace == outcome.trace]
            assert not outcome.trace or mine[0].step is Step.EVENT
            assert [record.at for record in mine] == sorted(record.at for record in mine)
            assert all(outcome.duration >= verdict.duration >= 0 for verdict in outcome.verdicts)
    plain = [msgspec.structs.replace(event, id="", timestamp=0, parent="") for event in events]
    assert all(event.id and event.timestamp > 1_700_000_000_000 for event in events)
    return outcomes, plain, [told(record) for record in records]


def watched(call: Callable[..., object] | None, events: list[Event]) -> Function:
    def watch(event: Event) -> object:
        events.append(event)
        assert call is not None
        return call(event)

    return watch


def observe(hooks: list[Hook], emit: Callable[[Engine], Awaitable[Outcome]]) -> Seen:
    """Emit twice, and return what came of it."""
    return asyncio.run(observed(hooks, emit))


def hook(name: str, call: Function, **fields: object) -> Hook:
    made: dict[str, object] = {"on": ("before_tool",), "source": Source.BUILTIN, **fields}
    return Hook(id=name, call=call, **made)  # type: ignore[arg-type] # field by field


def raising(problem: BaseException) -> Function:
    def raise_it(_event: Event) -> None:
        raise problem

    return raise_it


def giving(value: object) -> Function:
    return lambda _event: value


def later(value: object) -> Function:
    async def answer(_event: Event) -> object:
        await asyncio.sleep(0)
        if isinstance(value, BaseException):
            raise value
        return value

    return answer


def too_deep(_event: Event) -> None:
    too_deep(_event)


ANSWERS: Mapping[str, Function] = {
    "nothing": giving(None),
    "pass": giving(Verdict()),
    "allow": giving(Verdict.allow()),
    "allow with a reason": giving(Verdict.allow("fine")),
    "deny": giving(Verdict.deny("no")),
    "deny without a reason": giving(Verdict.deny("")),
    "ask": giving(Verdict.ask("sure?")),
    "stop": giving(Verdict.stop("enough")),
    "rewrite": giving(Verdict.rewrite({"command": "ls -l"})),
    "output": giving(Verdict.replace_output("another")),
    "context": giving(Verdict.add_context("by the way")),
    "message": giving(Verdict.tell("hello")),
    "prompt": giving(Verdict(effects=(Effect(EffectKind.ASK_AGENT, "do more"),))),
    "data": giving(Verdict(effects=(Effect(EffectKind.DATA, 7, ("number",)),))),
    "raise an event": giving(Verdict.raise_event("custom:more", {"payload": 1})),
    "raise what is not its own": giving(Verdict.raise_event("before_tool")),
    "notes and metadata": giving(Verdict(notes=("odd",), metadata={"score": 3})),
    "a broken verdict": giving(Verdict(effects=("maybe",))),  # type: ignore[arg-type] # not checked before
    "an object": giving({"decision": "deny", "reason": "in words"}),
    "an empty object": giving({}),
    "a wrong object": giving({"decision": "perhaps"}),
    "a text": giving("what?"),
    "false": giving(value=False),
    "zero": giving(0),
    "a reply": giving(Reply(value=Verdict.deny("no"))),
    "an error": raising(ValueError("broken")),
    "the end": raising(SystemExit(3)),
    "a cancellation": raising(asyncio.CancelledError()),
    "too deep": too_deep,
    "later nothing": later(None),
    "later deny": later(Verdict.deny("no")),
    "later an error": later(KeyError("x")),
    "a change of its event": lambda event: event.args.update(command="rm", more=[1]),  # type: ignore[attr-defined]
}
OPTIONS: Mapping[str, Mapping[str, object]] = {
    "plain": {},
    "guard": {"on_error": OnError.BLOCK},
    "observed": {"observe": True},
}
EMITS: Mapping[str, Callable[[Engine], Awaitable[Outcome]]] = {
    "a tool": lambda engine: engine.emit("before_tool", tool="shell", args={"command": "ls"}, session=Session(id="s")),
    "by another name": lambda engine: engine.emit(
        "PreToolUse", tool="Bash", args={"command": "ls", "deep": {"a": [1]}}
    ),
    "without a tool": lambda engine: engine.emit("before_tool", {"operation": "shell", "more": [{}]}, cwd="/else"),
    "inside the data": lambda engine: engine.emit("before_tool", {"tool_name": "shell", "args": {"command": "ls"}}),
    "arguments inside": lambda engine: engine.emit("before_tool", {"args": '{"command": "ls"}'}, tool="shell"),
    "wrong arguments": lambda engine: engine.emit("before_tool", {"args": 5}, tool="shell"),
    "a result": lambda engine: engine.emit("after_tool", {"result": {"a": 1}, "duration": 0.5}, tool="shell", args={}),
    "a notification": lambda engine: engine.emit("notification", {"message": "hi", "type": "status"}),
    "the end of a turn": lambda engine: engine.emit("after_agent", {"response": "done"}),
    "a prompt": lambda engine: engine.emit("before_agent", {"prompt": "work"}),
    "of its own": lambda engine: engine.emit("custom:deploy", {"payload": 7, "event_name": "another"}),
    "of its own, plainly": lambda engine: engine.emit("custom", {"payload": 7, "event_name": "deploy"}),
    "unknown": lambda engine: engine.emit("before_tol", tool="shell"),
}
ALL_EVENTS = ("before_tool", "after_tool", "notification", "after_agent", "before_agent", "custom:deploy")


@pytest.mark.parametrize("answer", ANSWERS)
def test_whatever_a_function_answers_the_event_has_an_outcome_and_a_whole_trace(answer: str) -> None:
    for option in OPTIONS.values():
        outcomes, events, records = observe([hook("h", ANSWERS[answer], **option)], EMITS["a tool"])
        assert len(events) == len(outcomes) == 2
        assert [step for step, *_ in records[:2]] == [Step.EVENT, Step.STARTED]
        assert records[-1][0] is Step.OUTCOME


@pytest.mark.parametrize("emit", EMITS)
def test_every_kind_of_event_is_answered_twice_in_the_same_way(emit: str) -> None:
    for answer in ("nothing", "deny", "rewrite", "an error", "later nothing"):
        hooks = [hook("h", ANSWERS[answer], on=ALL_EVENTS, on_error=OnError.BLOCK)]
        first, second = observe(hooks, EMITS[emit])[0]
        assert type(first) is type(second)
        if isinstance(first, Outcome) and isinstance(second, Outcome):
            assert (first.decision, first.reasons, first.args) == (second.decision, second.reasons, second.args)


@pytest.mark.parametrize("first", ["nothing", "rewrite", "stop"])
def test_hooks_after_one_that_stops_are_not_asked_whatever_they_would_answer(first: str) -> None:
    for second in ANSWERS:
        hooks = [hook("a", ANSWERS["nothing"]), hook("b", ANSWERS[first]), hook("c", ANSWERS[second])]
        outcome = observe([*hooks, hook("d", giving(None), observe=True)], EMITS["a tool"])[0][0]
        assert isinstance(outcome, Outcome)
        asked = [verdict.hook for verdict in outcome.verdicts]
        assert asked[:2] == ["a", "b"]
        assert ("c" in asked) is (first != "stop")


def test_hooks_that_change_their_event_change_nobody_elses() -> None:
    def change(event: Event) -> None:
        data: object = event.data
        assert isinstance(data, dict)
        data["result"].append("changed")
        data["more"] = 1

    given = {"result": ["as it was"]}
    hooks = [hook("a", change, on="after_tool"), hook("b", change, on="after_tool")]
    _, events, records = observe(hooks, lambda engine: engine.emit("after_tool", given, tool="shell"))
    assert given == {"result": ["as it was"]}
    assert [event.data["result"] for event in events] == [["as it was", "changed"]] * 4
    assert records[0][-1] == {"data": {"result": ["as it was"]}, "tool": "shell", "args": {}}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("many", [1, 3])
def test_a_record_that_a_hook_publishes_stands_where_it_was_published(many: int, *, at_once: bool) -> None:
    async def main() -> list[Step]:
        records: list[Record] = []
        async with Engine() as engine:
            engine.bus.subscribe(records.append)
            publish = engine.bus.publish if at_once else engine.bus.enqueue
            for number in range(many):
                own = Record("own", Step.WARNING, 0.0, "custom", hook=str(number))
                engine.on("after_tool", id=f"h{number}")(lambda _event, own=own: publish(own))
            await engine.emit("after_tool")
            await engine.emit("after_tool")
        return [record.step for record in records]

    steps = asyncio.run(main())
    assert steps == [Step.EVENT, *[Step.STARTED, Step.WARNING, Step.COMPLETED] * many, Step.OUTCOME] * 2


def test_a_hook_that_comes_or_goes_is_noticed_at_once() -> None:
    async def main() -> None:
        async with Engine() as engine:
            engine.on("before_tool", id="a", matcher="shell")(giving(None))
            assert [verdict.hook for verdict in (await engine.emit("before_tool", tool="shell")).verdicts] == ["a"]
            assert (await engine.emit("before_tool", tool="other")).verdicts == ()
            engine.on("before_tool", id="b")(giving(None))
            assert [verdict.hook for verdict in (await engine.emit("before_tool", tool="shell")).verdicts] == ["a", "b"]
            assert [verdict.hook for verdict in (await engine.emit("before_tool", tool="other")).verdicts] == ["b"]
            engine.registry.unregister_hook("a")
            assert [verdict.hook for verdict in (await engine.emit("before_tool", tool="shell")).verdicts] == ["b"]
            engine.registry.clear()
            assert await engine.emit("before_tool", tool="shell") == Outcome()

    asyncio.run(main())


def test_a_hook_that_registers_another_one_has_it_run_from_the_next_event_on() -> None:
    async def main() -> None:
        async with Engine() as engine:

            @engine.on("notification", id="first")
            def first(_event: Event) -> None:
                if not engine.registry.has_hook("second"):
                    engine.on("notification", id="second")(giving(None))

            assert len((await engine.emit("notification", {"type": "x"})).verdicts) == 1
            assert len((await engine.emit("notification", {"type": "x"})).verdicts) == 2

    asyncio.run(main())


@pytest.mark.parametrize("name", ["before_tool", "PreToolUse", "custom:deploy"])
def test_an_engine_that_is_switched_off_calls_nobody(name: str) -> None:
    async def main() -> None:
        async with Engine(settings=Settings(enabled=False)) as engine:
            engine.on(name)(raising(AssertionError()))
            assert await engine.emit(name, tool="shell", args={}) == Outcome()

    asyncio.run(main())


def test_who_decides_on_trust_in_another_way_is_asked_about_every_hook() -> None:
    class Suspicious(TrustedHooks):
        async def vet(self, plan: Plan, event: Event) -> Plan:
            return Plan((), plan.skipped) if event.tool else plan

    async def main() -> None:
        async with Engine(trust=Suspicious()) as engine:
            engine.on("before_tool")(giving(Verdict.deny("no")))
            assert not (await engine.emit("before_tool", tool="shell")).blocked
            assert (await engine.emit("before_tool")).blocked

    asyncio.run(main())


def test_hooks_with_a_budget_share_it() -> None:
    async def main() -> None:
        async with Engine(settings=Settings(budget=1e-9)) as engine:
            engine.on("before_tool", on_error=OnError.BLOCK)(giving(None))
            assert (await engine.emit("before_tool", tool="shell")).decision is Decision.DENY

    asyncio.run(main())


def test_an_event_whose_caller_gives_up_says_so_in_its_trace() -> None:
    records: list[Record] = []

    async def main() -> None:
        async with Engine() as engine:
            engine.bus.subscribe(records.append)

            @engine.on("after_tool", id="slow")
            async def slow(_event: Event) -> None:
                await asyncio.Event().wait()

            task = asyncio.create_task(engine.emit("after_tool"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert [record.step for record in records] == [Step.EVENT, Step.STARTED, Step.FAILED]
    assert records[-1].detail["failure"] == "cancelled"


def test_an_async_function_is_still_given_its_time_and_no_more() -> None:
    async def main() -> None:
        async with Engine() as engine:

            @engine.on("before_tool", timeout=0.01, on_error=OnError.BLOCK)
            async def slow(_event: Event) -> None:
                await asyncio.Event().wait()

            outcome = await engine.emit("before_tool", tool="shell")
            assert "gave no answer within 0.01 s" in outcome.reason

    asyncio.run(main())


def test_a_subject_that_is_no_text_is_matched_as_it_is_written() -> None:
    hooks = [hook("h", giving(None), on=("notification",), matcher="7|None")]
    for data in ({"type": 7}, {"type": None}, {"type": "7"}, {"type": ["7"]}):
        outcomes, _, _ = observe(hooks, partial(Engine.emit, name="notification", data=data))
        is_meant = data["type"] != ["7"]
        assert all(isinstance(one, Outcome) and len(one.verdicts) == is_meant for one in outcomes)


def test_more_subjects_than_can_be_remembered_are_answered_all_the_same() -> None:
    async def main() -> None:
        async with Engine() as engine:
            engine.on("notification", matcher="kind7.*", id="h")(giving(None))
            for number in range(5_000):
                outcome = await engine.emit("notification", {"type": f"kind{number}"})
                assert bool(outcome.verdicts) == str(number).startswith("7")
                assert await engine.emit("before_tool", tool=f"tool{number}") == Outcome()

    asyncio.run(main())


def test_an_interrupt_in_a_hook_reaches_the_program() -> None:
    async def main() -> None:
        async with Engine() as engine:
            engine.on("after_tool")(raising(KeyboardInterrupt()))
            try:
                await engine.emit("after_tool")
            except KeyboardInterrupt:
                await engine.drain()
                steps = [record.step for record in reversed(engine.debugger.executions())]
                assert steps == [Step.EVENT, Step.STARTED]
                return
            raise AssertionError

    asyncio.run(main())


def test_functions_are_called_once_even_where_the_recursion_ends_in_between() -> None:
    calls: list[int] = []

    async def main() -> None:
        async with Engine() as engine:
            nested: list[object] = []
            for _ in range(sys.getrecursionlimit() * 2):
                nested = [nested]
            engine.on("after_tool", on_error=OnError.BLOCK)(lambda _event: calls.append(1))
            outcome = await engine.emit("after_tool", {"deep": nested})
            assert outcome.decision is Decision.DENY
            assert "RecursionError" in outcome.reason

    asyncio.run(main())
    assert calls == []
