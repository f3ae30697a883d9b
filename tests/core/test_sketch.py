import asyncio
import logging
import threading

import pytest

from hookline import Event, EventName, Gate, Hook, Record, Session, Source, Step
from hookline.core.bus import MessageBus
from hookline.core.sketch import CUT, SEED, Silent, Sketch, rest, seed_of, written_out
from hookline.model.plan import Skip

AT = 1_700_000_000_123_456_789
HOOKS = tuple(Hook(id=name, on="after_tool", call=print, source=Source.BUILTIN) for name in "abc")


def sketch(*seconds: float, hooks: tuple[Hook, ...] = HOOKS, skipped: tuple[Skip, ...] = ()) -> Sketch:
    asked = Silent(hooks, tuple(hook.id == "b" for hook in hooks), skipped)
    session = Session(id="s")
    seed = [EventName.AFTER_TOOL, "shell", "Bash", {"result": 1}, {"command": "ls"}, session, "/p", AT, "t", asked]
    return [*seed, *seconds]


def steps(records: list[Record]) -> list[str]:
    return [f"{record.step} {record.hook}".strip() for record in records]


WHOLE = [
    "event",
    "hook_execution_start a",
    "hook_execution_complete a",
    "hook_execution_start b",
    "hook_execution_complete b",
    "hook_execution_start c",
    "hook_execution_complete c",
    "outcome",
]


def test_a_sketch_is_written_out_as_all_records_of_an_event() -> None:
    records = list(written_out(sketch(0.5, 0.25, 2.0)))
    assert steps(records) == WHOLE
    assert {(record.trace, record.event, record.session) for record in records} == {("t", "after_tool", "s")}
    details = [record.detail for record in records]
    assert details[0] == {"data": {"result": 1}, "tool": "shell", "args": {"command": "ls"}}
    assert details[1] == {"dialect": "hookline"}
    assert details[2] == {"decision": "pass", "duration": 0.5}
    assert details[4] == {"decision": "pass", "duration": 0.25, "observed": True}
    assert details[6] == {"decision": "pass", "duration": 2.0, "slow": True}
    assert details[7]["duration"] == 2.75
    assert [round(record.at - AT / 1e9, 3) for record in records] == [0, 0, 0.5, 0.5, 0.75, 0.75, 2.75, 2.75]


def test_a_sketch_gives_the_event_it_is_about() -> None:
    assert seed_of(sketch(0.5)).event() == Event(
        name=EventName.AFTER_TOOL,
        data={"result": 1},
        tool="shell",
        native_tool="Bash",
        args={"command": "ls"},
        session=Session(id="s"),
        cwd="/p",
        timestamp=1_700_000_000_123,
        id="t",
    )


def test_hooks_that_were_left_out_are_told_before_the_outcome() -> None:
    held = Skip(HOOKS[2], Gate.ENABLED, "switched off")
    records = list(written_out(sketch(0.1, hooks=HOOKS[:1], skipped=(held,))))
    assert steps(records) == [*WHOLE[:3], "hook_skipped c", "outcome"]
    assert records[3].detail == {"gate": Gate.ENABLED, "reason": "switched off"}


@pytest.mark.parametrize("read_after", [0, 1, 2])
@pytest.mark.parametrize("noticed_after", [0, 1, 2, 3])
def test_nothing_is_lost_or_told_twice_when_a_sketch_is_read_in_the_middle(read_after: int, noticed_after: int) -> None:
    seconds = (0.1, 0.2, 0.3)
    drawn = sketch(*seconds[:read_after])
    early = list(written_out(drawn))
    # whoever draws may notice at once, or only when all is done
    noticed = max(read_after, noticed_after)
    drawn.extend(seconds[read_after:noticed])
    more = rest(drawn)
    more.extend(seconds[noticed:])
    late = list(written_out(more))
    assert steps(early + late) == WHOLE
    whole = list(written_out(sketch(*seconds)))
    assert [record.detail for record in early + late] == [record.detail for record in whole]
    assert [record.at for record in early + late] == [record.at for record in whole]
    assert list(written_out(rest(more))) == []


def test_a_sketch_that_was_read_when_it_was_done_has_no_rest() -> None:
    drawn = sketch(0.1, 0.2, 0.3)
    assert steps(list(written_out(drawn))) == WHOLE
    assert drawn[SEED:] == [0.1, 0.2, 0.3, CUT]
    assert list(written_out(rest(drawn))) == []


def test_nothing_is_lost_or_told_twice_when_another_thread_reads_all_the_time() -> None:
    records: list[Record] = []
    done = threading.Event()
    drawn: list[Sketch] = []

    def read() -> None:
        while not done.is_set() or drawn:
            while drawn:
                records.extend(written_out(drawn.pop(0)))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(2_000):
            mine = sketch()
            mine[8] = f"t{number}"
            size = SEED
            drawn.append(mine)
            for seconds in (0.1, 0.2, 0.3):
                mine.append(seconds)
                size += 1
            if len(mine) != size:
                drawn.append(rest(mine))
    finally:
        done.set()
        reader.join()
    told: dict[str, list[Record]] = {}
    for record in records:
        told.setdefault(record.trace, []).append(record)
    assert len(told) == 2_000
    assert all(steps(found) == WHOLE for found in told.values())


def test_one_trace_that_cannot_be_written_does_not_cost_the_others(caplog: pytest.LogCaptureFixture) -> None:
    records: list[Record] = []

    async def main() -> None:
        bus = MessageBus()
        bus.subscribe(records.append)
        bus.put_aside(["broken"])
        bus.put_aside(sketch(0.1, 0.2, 0.3))
        bus.publish_soon(Record("last", Step.WARNING, 0.0, "custom"))
        await bus.drain()

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    assert steps(records) == [*WHOLE, "warning"]
    assert "could not be written out" in caplog.text


def test_sketches_and_records_keep_their_order_and_are_given_when_the_loop_has_time() -> None:
    records: list[Record] = []

    async def main() -> None:
        bus = MessageBus()
        bus.subscribe(records.append)
        late = bus.put_aside(sketch(0.1, hooks=HOOKS[:1]))
        assert bus.put_aside(sketch(hooks=HOOKS[:1])) is late
        bus.publish_soon(Record("last", Step.WARNING, 0.0, "custom"))
        assert records == []
        await asyncio.sleep(0)
        assert bus.late is not late

    asyncio.run(main())
    assert steps(records) == [*WHOLE[:3], "outcome", *WHOLE[:2], "warning"]
