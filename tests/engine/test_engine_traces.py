"""What functions and callers do with the data of an event is their own affair: neither others nor the trace see it."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from hookline import Engine, Event, Record, Step, Verdict


def engine_with(*calls: Callable[[Event], object]) -> tuple[Engine, list[Record]]:
    records: list[Record] = []
    engine = Engine(cwd="/project")
    engine.bus.subscribe(records.append)
    for number, call in enumerate(calls):
        engine.on("before_tool", id=f"h{number}")(call)
    return engine, records


def silent(_event: Event) -> None:
    """Say nothing."""


def allow(_event: Event) -> Verdict:
    return Verdict.allow("fine")


@pytest.mark.parametrize("calls", [(silent,), (silent, silent), (allow,), (silent, allow)])
def test_a_trace_shows_what_was_emitted_whatever_the_caller_does_with_it_then(
    calls: tuple[Callable[[Event], object], ...],
) -> None:
    messages: list[object] = [{"role": "user"}]
    args = {"paths": ["a"], "plain": "x"}

    async def main() -> list[Record]:
        engine, records = engine_with(*calls)
        async with engine:
            await engine.emit("before_tool", {"messages": messages}, tool="shell", args=args)
            messages.append("the answer")
            args["paths"] = "another"
            records_before = list(records)
            await engine.drain()
        assert len(records) > len(records_before)
        return records

    first, *_ = asyncio.run(main())
    assert first.detail == {
        "data": {"messages": [{"role": "user"}]},
        "tool": "shell",
        "args": {"paths": ["a"], "plain": "x"},
    }


@pytest.mark.parametrize("calls", [(), (silent,)])
def test_a_trace_shows_what_a_hook_said_whatever_the_caller_does_with_the_answer(
    calls: tuple[Callable[[Event], object], ...],
) -> None:
    score = {"points": [1]}

    def change(_event: Event) -> Verdict:
        return Verdict(effects=Verdict.rewrite({"paths": ["a"]}).effects, metadata=score)

    async def main() -> list[Record]:
        engine, records = engine_with(*calls, change)
        async with engine:
            outcome = await engine.emit("before_tool", tool="shell", args={"paths": [], "kept": ["k"]})
            assert outcome.args == {"paths": ["a"], "kept": ["k"]}
            for changed in (outcome.args["paths"], outcome.args["kept"], score["points"]):
                assert isinstance(changed, list)
                changed.append("more")
        return records

    records = asyncio.run(main())
    (said,) = [record.detail for record in records if record.step is Step.COMPLETED and "effects" in record.detail]
    (effect,) = Verdict.rewrite({"paths": ["a"]}).effects
    assert said["effects"] == (effect,)
    assert said["metadata"] == {"points": [1]}
    assert records[0].detail["args"] == {"paths": [], "kept": ["k"]}


def test_what_a_hook_writes_into_an_event_without_arguments_nobody_else_sees() -> None:
    seen: list[tuple[Mapping[str, object], Mapping[str, object]]] = []

    def write(event: Event) -> None:
        seen.append((dict(event.args), dict(event.data)))
        for fields in (event.args, event.data):
            assert isinstance(fields, dict)
            fields["more"] = 1

    async def main() -> None:
        for _ in range(2):
            engine, records = engine_with(allow, write, write)
            async with engine:
                await engine.emit("before_tool")
            assert records[0].detail == {"data": {}}
        engine, records = engine_with(write)
        async with engine:
            await engine.emit("before_tool", tool="shell")
        assert records[0].detail == {"data": {}, "tool": "shell", "args": {}}

    asyncio.run(main())
    assert seen == [({}, {})] * 5


@pytest.mark.parametrize("calls", [(silent,), (silent, silent), (allow,)])
def test_a_loop_that_ended_too_early_does_not_keep_the_traces_of_later_events(
    calls: tuple[Callable[[Event], object], ...],
) -> None:
    engine, records = engine_with(*calls)
    ended = asyncio.new_event_loop()

    async def leave_behind() -> None:
        ended.stop()
        await engine.emit("before_tool", tool="first")
        await asyncio.Event().wait()

    async def go_on() -> None:
        told = asyncio.Event()
        engine.bus.subscribe(lambda record: told.set() if record.detail.get("tool") == "last" else None)
        for number in range(100):
            await engine.emit("before_tool", tool=f"t{number}")
            # another millisecond
            await asyncio.sleep(0.001)
        await engine.emit("before_tool", tool="last")
        # nobody drains
        async with asyncio.timeout(30):
            await told.wait()

    task = ended.create_task(leave_behind())
    ended.run_forever()
    assert records == []
    asyncio.run(go_on())
    begun = [record.detail["tool"] for record in records if record.step is Step.EVENT]
    assert begun == ["first", *(f"t{number}" for number in range(100)), "last"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        ended.run_until_complete(task)
    ended.close()
    engine.close_sync()


@pytest.mark.parametrize("calls", [(silent,), (silent, silent), (allow,)])
def test_a_caller_that_never_rests_does_not_pile_up_traces_without_end(
    calls: tuple[Callable[[Event], object], ...],
) -> None:
    engine, records = engine_with(*calls)
    told: dict[str, list[tuple[str, str]]] = {}

    async def main() -> int:
        most = 0
        async with engine:
            for _ in range(12_000):
                await engine.emit("before_tool", tool="shell")
                most = max(most, len(engine.bus._pending))  # noqa: SLF001 - what waits in it is seen nowhere else
        return most

    assert asyncio.run(main()) < 10_000
    for record in records:
        told.setdefault(record.trace, []).append((record.step, record.hook))
    assert len(told) == 12_000
    (same,) = {tuple(steps) for steps in told.values()}
    assert len(same) == 2 + 2 * len(calls)


@pytest.mark.spec("D-15")
def test_outcome_names_the_hooks_that_decided() -> None:
    def deny(_event: Event) -> Verdict:
        return Verdict.deny("no")

    for calls, deciders in (((silent,), None), ((allow, deny, silent, deny), ("h1", "h3")), ((allow,), ("h0",))):
        engine, records = engine_with(*calls)
        engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})
        (outcome,) = (record for record in records if record.step is Step.OUTCOME)
        assert outcome.detail.get("decided_by") == deciders
