"""The short way against the usual one: whatever functions do, both give the same answers and the same traces."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

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
from hookline.core.trust import TrustedHooks
from hookline.model.exchange import Reply, Request
from hookline.model.plan import Plan
from hookline.model.verdict import Effect, EffectKind
from hookline.stores.sqlite import SqliteTraces

Function = Callable[[Event], object]
Seen = tuple[list[object], list[Event], list[tuple[object, ...]]]


def overlook(_hook: Hook, _request: Request, _reply: Reply) -> None:
    """Look at nothing; who looks sees every hook, so this is what makes an engine go the usual way."""


def told(record: Record) -> tuple[object, ...]:
    """Give a record without what is another one each time."""
    detail = {**record.detail, **({"duration": "some"} if "duration" in record.detail else {})}
    detail |= {name: "some" for name in ("parent", "job") if name in detail}
    return record.step, record.event, record.session, record.hook, detail


def same(outcome: Outcome) -> Outcome:
    """Give an outcome without what is another one each time; hooks are known by their ids."""
    verdicts = tuple(
        msgspec.structs.replace(verdict, duration=0.0, job="some" if verdict.job else "")
        for verdict in outcome.verdicts
    )
    skipped = tuple(msgspec.structs.replace(skip, hook=hook(skip.hook.id, print)) for skip in outcome.skipped)
    return msgspec.structs.replace(outcome, verdicts=verdicts, skipped=skipped, trace="", duration=0.0)


async def observed(hooks: list[Hook], emit: Callable[[Engine], Awaitable[Outcome]], *, usual: bool) -> Seen:
    """Give the outcomes of two emits, the events that the hooks saw, and the records."""
    events: list[Event] = []
    records: list[Record] = []
    async with Engine(cwd="/project") as engine:
        if usual:
            engine.runner.tap = overlook
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
            outcomes.append(same(outcome))
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


def both(hooks: list[Hook], emit: Callable[[Engine], Awaitable[Outcome]]) -> Seen:
    """Compare both ways, and give what they have in common."""

    async def main() -> Seen:
        quick = await observed(hooks, emit, usual=False)
        assert quick == await observed(hooks, emit, usual=True)
        return quick

    return asyncio.run(main())


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
    "a broken verdict": giving(Verdict(decision="maybe")),  # type: ignore[arg-type] # what nobody checks before
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


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_the_same_on_both_ways(answer: str, option: str) -> None:
    outcomes, events, records = both([hook("h", ANSWERS[answer], **OPTIONS[option])], EMITS["a tool"])
    assert len(events) == len(outcomes) == 2
    assert records


@pytest.mark.parametrize("emit", EMITS)
@pytest.mark.parametrize("answer", ["nothing", "deny", "rewrite", "an error", "later nothing"])
def test_every_kind_of_event_is_answered_the_same_on_both_ways(answer: str, emit: str) -> None:
    both([hook("h", ANSWERS[answer], on=ALL_EVENTS, on_error=OnError.BLOCK)], EMITS[emit])


@pytest.mark.parametrize("first", ["nothing", "rewrite", "stop"])
@pytest.mark.parametrize("second", ANSWERS)
def test_hooks_one_after_another_are_the_same_on_both_ways(first: str, second: str) -> None:
    hooks = [hook("a", ANSWERS["nothing"]), hook("b", ANSWERS[first]), hook("c", ANSWERS[second])]
    both([*hooks, hook("d", giving(None), observe=True)], EMITS["a tool"])


@pytest.mark.parametrize(
    "fields",
    [
        {"matcher": "shell"},
        {"matcher": "read_file"},
        {"enabled": False},
        {"condition": 'tool == "shell"'},
        {"runs": ("ls",)},
        {"files": ("*.py",)},
        {"once": True},
        {"per_minute": 1},
        {"parallel": True},
        {"background": True},
        {"dialect": "claude-code"},
        {"source": Source.USER},
        {"source": Source.WORKSPACE},
        {"timeout": 0.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("emit", ["a tool", "without a tool"])
def test_what_holds_a_hook_back_does_so_on_both_ways(fields: Mapping[str, object], emit: str) -> None:
    both([hook("free", giving(None)), hook("held", giving(None), **fields)], EMITS[emit])


def test_hooks_that_change_their_event_change_nobody_elses() -> None:
    def change(event: Event) -> None:
        data: object = event.data
        assert isinstance(data, dict)
        data["result"].append("changed")
        data["more"] = 1

    given = {"result": ["as it was"]}
    hooks = [hook("a", change, on="after_tool"), hook("b", change, on="after_tool")]
    _, events, records = both(hooks, lambda engine: engine.emit("after_tool", given, tool="shell"))
    assert given == {"result": ["as it was"]}
    assert [event.data["result"] for event in events] == [["as it was", "changed"]] * 4
    assert records[0][-1] == {"data": {"result": ["as it was"]}, "tool": "shell", "args": {}}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("many", [1, 3])
def test_a_record_that_a_hook_publishes_stands_where_it_was_published(many: int, *, at_once: bool) -> None:
    async def records_of(*, usual: bool) -> list[tuple[object, ...]]:
        records: list[Record] = []
        async with Engine() as engine:
            if usual:
                engine.runner.tap = overlook
            engine.bus.subscribe(records.append)
            publish = engine.bus.publish if at_once else engine.bus.publish_soon
            for number in range(many):
                own = Record("own", Step.WARNING, 0.0, "custom", hook=str(number))
                engine.on("after_tool", id=f"h{number}")(lambda _event, own=own: publish(own))
            await engine.emit("after_tool")
            await engine.emit("after_tool")
        return [told(record) for record in records]

    async def main() -> None:
        quick = await records_of(usual=False)
        assert quick == await records_of(usual=True)
        assert [step for step, *_ in quick[:3]] == [Step.EVENT, Step.STARTED, Step.WARNING]

    asyncio.run(main())


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
        outcomes, _, _ = both(hooks, partial(Engine.emit, name="notification", data=data))
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


def test_the_store_has_the_same_traces_for_both_ways(tmp_path: Path) -> None:
    async def stored(*, usual: bool) -> list[list[tuple[object, ...]]]:
        store = SqliteTraces(tmp_path / f"{usual}.db")
        async with Engine(store=store) as engine:
            if usual:
                engine.runner.tap = overlook
            engine.on("after_tool", id="a")(giving(None))
            engine.on("after_tool", id="b", observe=True)(giving(None))
            engine.on("before_tool", id="c")(giving(Verdict.deny("no")))
            traces: list[str] = []
            for number in range(20):
                name = "before_tool" if number % 3 else "after_tool"
                outcome = await engine.emit(name, {"number": number}, tool="shell", session=Session(id="s"))
                traces.append(outcome.trace)
            await engine.drain()
            assert list(reversed(store.traces())) == traces
            return [[told(record) for record in store.records(trace)] for trace in traces]

    async def main() -> None:
        assert await stored(usual=False) == await stored(usual=True)

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
