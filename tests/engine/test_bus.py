import asyncio
import gc
import logging
import os
import threading

import pytest

from hookline.engine.bus import MessageBus
from hookline.errors import EngineError
from hookline.model.event import EventName
from hookline.model.record import Record, Step
from hookline.ports import Sink

RECORD = Record("one", Step.STARTED, 1.0, "before_tool")


def shout(topic: str, data: object) -> str:
    return f"{topic} {data}!"


async def whisper(topic: str, data: object) -> str:
    await asyncio.sleep(0)
    return f"{topic} {data}…"


def fail(topic: str, data: object) -> None:
    raise LookupError(f"{topic} {data}")


@pytest.mark.spec("A-13")
def test_every_sink_gets_every_record_until_it_unsubscribes() -> None:
    bus = MessageBus()
    first: list[Record] = []
    second: list[Record] = []
    unsubscribe = bus.subscribe(first.append)
    bus.subscribe(second.append)
    steps = [Step.STARTED, Step.COMPLETED, Step.FAILED]

    for step in steps:
        bus.publish(Record("one", step, 1.0, "before_tool", hook="lint"))
    unsubscribe()
    bus.publish(RECORD)

    assert [record.step for record in first] == steps
    assert [record.step for record in second] == [*steps, Step.STARTED]
    assert [str(step) for step in steps] == [
        "hook_execution_start",
        "hook_execution_complete",
        "hook_execution_error",
    ]


def test_bus_says_whether_anybody_listens() -> None:
    bus = MessageBus()
    assert not bus.listening

    unsubscribe = bus.subscribe(print)
    also = bus.subscribe(print)
    assert bus.listening

    unsubscribe()
    assert bus.listening
    also()
    assert not bus.listening
    bus.publish(RECORD)


def test_sink_that_fails_is_logged_and_the_others_still_get_the_record(caplog: pytest.LogCaptureFixture) -> None:
    bus = MessageBus()
    taken: list[Record] = []

    def broken(_record: Record) -> None:
        raise ValueError("no disk")

    bus.subscribe(broken)
    bus.subscribe(taken.append)

    bus.publish(RECORD)

    assert taken == [RECORD]
    (logged,) = caplog.records
    assert logged.levelno == logging.ERROR
    assert "no disk" in caplog.text
    assert "broken" in logged.getMessage()


def test_unsubscribing_twice_leaves_the_same_sink_of_somebody_else() -> None:
    bus = MessageBus()
    taken: list[Record] = []
    unsubscribe = bus.subscribe(taken.append)
    bus.subscribe(taken.append)

    unsubscribe()
    unsubscribe()
    bus.publish(RECORD)

    assert taken == [RECORD]


def test_sinks_may_come_and_go_while_a_record_is_passed_around() -> None:
    bus = MessageBus()
    seen: list[str] = []

    def leaver(_record: Record) -> None:
        seen.append("leaver")
        leave()
        bus.subscribe(lambda _record: seen.append("newcomer"))

    leave = bus.subscribe(leaver)
    bus.subscribe(lambda _record: seen.append("stayer"))

    bus.publish(RECORD)
    bus.publish(RECORD)

    assert seen == ["leaver", "stayer", "stayer", "newcomer"]


def test_sinks_from_many_threads_are_all_kept() -> None:
    bus = MessageBus()
    counts = [0] * 8

    def counter(index: int) -> Sink:
        def count(_record: Record) -> None:
            counts[index] += 1

        return count

    def subscribe(index: int) -> None:
        for _ in range(100):
            bus.subscribe(counter(index))()
            bus.subscribe(counter(index))

    threads = [threading.Thread(target=subscribe, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    bus.publish(RECORD)

    assert counts == [100] * 8


@pytest.mark.spec("O-02", "O-01")
def test_emitting_calls_sync_and_async_handlers_in_order_and_gives_their_answers() -> None:
    bus = MessageBus()
    bus.on("status", whisper)
    bus.on("*", lambda topic, _data: topic.upper())
    bus.on("error", shout)
    bus.on("status", shout)

    assert asyncio.run(bus.emit("status", 1)) == ["status 1…", "STATUS", "status 1!"]
    assert asyncio.run(bus.emit("error", 2)) == ["ERROR", "error 2!"]
    assert asyncio.run(bus.emit("other")) == ["OTHER"]


def test_emitting_to_nobody_gives_no_answers() -> None:
    bus = MessageBus()
    forget = bus.on("status", shout)
    forget()
    forget()

    assert asyncio.run(bus.emit("status")) == []


def test_handler_that_fails_is_reported_after_all_were_called() -> None:
    bus = MessageBus()
    called: list[object] = []
    bus.on("status", fail)
    bus.on("status", lambda _topic, data: called.append(data))
    bus.on("*", fail)

    with pytest.raises(ExceptionGroup, match='handlers of "status" failed') as caught:
        asyncio.run(bus.emit("status", 7))

    assert called == [7]
    assert [str(problem) for problem in caught.value.exceptions] == ["status 7", "status 7"]


@pytest.mark.spec("A-15")
def test_posting_does_not_wait_for_the_handlers() -> None:
    bus = MessageBus()
    done: list[object] = []

    async def scenario() -> None:
        gate = asyncio.Event()

        async def slow(_topic: str, data: object) -> None:
            await gate.wait()
            done.append(data)

        bus.on("system_message", slow)
        for number in range(3):
            bus.post("system_message", number)
        gc.collect()
        assert done == []
        gate.set()
        async with asyncio.timeout(30):
            await bus.drain()

    asyncio.run(scenario())
    assert done == [0, 1, 2]


def test_posted_event_whose_handler_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    bus = MessageBus()
    bus.on("error", fail)

    async def scenario() -> None:
        bus.post("error", "boom")
        await bus.drain()

    asyncio.run(scenario())

    assert 'posted "error" failed' in caplog.text
    assert "LookupError: error boom" in caplog.text


def test_draining_waits_for_what_posted_handlers_post_in_turn() -> None:
    bus = MessageBus()
    seen: list[object] = []

    async def relay(_topic: str, data: object) -> None:
        seen.append(data)
        if isinstance(data, int) and data:
            bus.post("count", data - 1)
            await bus.drain()

    async def scenario() -> None:
        bus.on("count", relay)
        bus.post("count", 3)
        async with asyncio.timeout(30):
            await bus.drain()

    asyncio.run(scenario())

    assert seen == [3, 2, 1, 0]


def test_posting_outside_an_event_loop_says_what_to_do() -> None:
    bus = MessageBus()

    with pytest.raises(EngineError, match=r'cannot post "status": no event loop .* "await bus\.emit'):
        bus.post("status")


def test_drain_leaves_the_tasks_of_another_event_loop_alone() -> None:
    bus = MessageBus()
    posted = threading.Event()
    release = threading.Event()
    done: list[object] = []

    async def slow(_topic: str, data: object) -> None:
        await asyncio.to_thread(release.wait, 30)
        done.append(data)

    async def elsewhere() -> None:
        bus.post("slow", 1)
        posted.set()
        await bus.drain()

    bus.on("slow", slow)
    other = threading.Thread(target=lambda: asyncio.run(elsewhere()))
    other.start()
    assert posted.wait(30)

    asyncio.run(asyncio.wait_for(bus.drain(), 30))
    assert done == []

    release.set()
    other.join(30)
    assert done == [1]


def test_records_that_are_written_later_keep_their_place_and_a_broken_one_takes_no_other_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def line(trace: str) -> Record:
        return Record(trace, Step.WARNING, 0.0, EventName.BEFORE_TOOL, "", "", {})

    def broken() -> list[Record]:
        raise RuntimeError("cannot be written")

    async def scenario() -> list[str]:
        bus = MessageBus()
        seen: list[str] = []
        bus.subscribe(lambda record: seen.append(record.trace))
        bus.enqueue(line("first"))
        bus.enqueue_lazily(lambda name: (line(name), line("third")), "second")
        bus.enqueue_lazily(broken)
        bus.enqueue(line("fourth"))
        assert seen == []
        await asyncio.sleep(0)
        return seen

    assert asyncio.run(scenario()) == ["first", "second", "third", "fourth"]
    assert "could not be written out" in caplog.text


def record(number: int) -> Record:
    return Record(f"t{number}", Step.WARNING, float(number), "custom")


def test_a_loop_that_ended_too_early_does_not_keep_what_comes_after_it() -> None:
    bus = MessageBus()
    taken: list[Record] = []
    bus.subscribe(taken.append)
    ended = asyncio.new_event_loop()

    async def leave_behind() -> None:
        ended.stop()
        bus.enqueue(record(0))
        await asyncio.Event().wait()

    async def go_on() -> None:
        whole = asyncio.Event()
        bus.subscribe(lambda one: whole.set() if one == record(199) else None)
        for number in range(1, 200):
            bus.enqueue(record(number))
        # nobody drains
        async with asyncio.timeout(30):
            await whole.wait()

    task = ended.create_task(leave_behind())
    ended.run_forever()
    asyncio.run(go_on())
    assert taken == [record(number) for number in range(200)]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        ended.run_until_complete(task)
    ended.close()


def test_an_interrupt_in_a_sink_costs_no_record_behind_it() -> None:
    bus = MessageBus()
    taken: list[Record] = []

    def interrupted(one: Record) -> None:
        taken.append(one)
        if one.trace == "t1":
            raise KeyboardInterrupt

    bus.subscribe(interrupted)

    async def main() -> None:
        for number in range(4):
            bus.enqueue(record(number))
        with pytest.raises(KeyboardInterrupt):
            bus.publish(record(4))
        bus.enqueue(record(5))
        await bus.drain()

    asyncio.run(main())
    assert [one.trace for one in taken] == ["t0", "t1", "t2", "t3", "t4", "t5"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_what_waits_when_a_program_forks_is_given_by_the_parent_alone() -> None:
    bus = MessageBus()
    taken: list[Record] = []
    bus.subscribe(taken.append)

    async def main() -> int:
        bus.enqueue(record(1))
        child = os.fork()
        if child == 0:
            # the child has nothing to wait for, and gives only what is its own
            bus.publish(record(2))
            os._exit(0 if taken == [record(2)] else 1)
        return child

    _, status = os.waitpid(asyncio.run(main()), 0)
    assert status == 0
    assert taken == [record(1)]


def test_threads_that_give_records_at_once_keep_their_order() -> None:
    bus = MessageBus()
    taken: list[Record] = []
    begun, go_on, is_under_way = threading.Event(), threading.Event(), threading.Event()

    def slow(one: Record) -> None:
        if one == record(0):
            begun.set()
            assert go_on.wait(30)
        taken.append(one)

    bus.subscribe(slow)

    async def first() -> None:
        bus.enqueue(record(0))
        bus.enqueue(record(1))
        await bus.drain()

    async def second() -> None:
        bus.enqueue(record(2))
        is_under_way.set()
        await bus.drain()

    threads = [threading.Thread(target=asyncio.run, args=(work(),)) for work in (first, second)]
    threads[0].start()
    assert begun.wait(30)
    threads[1].start()
    assert is_under_way.wait(30)
    # the second one would be done by now if it did not wait
    threads[1].join(0.1)
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert taken == [record(0), record(1), record(2)]


def test_a_loop_that_was_woken_is_woken_once_for_all_that_waits() -> None:
    class Counting(asyncio.SelectorEventLoop):
        woken = 0

        def call_soon(self, callback: object, *args: object, **more: object) -> asyncio.Handle:
            self.woken += "MessageBus" in str(callback)
            return super().call_soon(callback, *args, **more)  # type: ignore[arg-type]

    async def scenario() -> int:
        bus = MessageBus()
        bus.subscribe(lambda _record: None)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Counting)
        for number in range(30):
            bus.enqueue(record(number))
        return loop.woken

    with asyncio.Runner(loop_factory=Counting) as runner:
        assert runner.run(scenario()) == 1


def test_who_never_lets_its_loop_do_anything_else_does_not_fill_the_memory() -> None:
    async def scenario() -> tuple[int, int]:
        bus = MessageBus()
        taken: list[Record] = []
        bus.subscribe(taken.append)
        most = 0
        for number in range(20_000):
            bus.enqueue(record(number))
            most = max(most, len(bus._pending))  # noqa: SLF001 - what waits in it is seen nowhere else
        await bus.drain()
        return most, len(taken)

    most, given = asyncio.run(scenario())

    assert most < 6_000
    assert given == 20_000


def test_a_record_does_not_wait_for_a_loop_that_is_gone() -> None:
    bus = MessageBus()
    told = asyncio.Event()
    bus.subscribe(lambda one: told.set() if one == record(2) else None)

    async def short() -> None:
        bus.enqueue(record(1))

    async def long() -> None:
        bus.enqueue(record(2))
        async with asyncio.timeout(30):
            await told.wait()

    asyncio.run(short())
    asyncio.run(long())
