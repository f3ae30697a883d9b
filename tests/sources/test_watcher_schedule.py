import asyncio
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hookline.model.hook import Hook
from hookline.sources.watcher import LONGEST_SLEEP, DueHook, Timetable, local_zone, run_schedule

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


class Clock:
    """A clock on the wall that goes when somebody sleeps."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now.timestamp()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)


def hook(name: str, schedule: str, **more: object) -> Hook:
    return Hook(id=name, on="scheduled", command="true", schedule=schedule, **more)  # type: ignore[arg-type]


def timetable(clock: Clock, *hooks: Hook, zone: ZoneInfo | None = None) -> Timetable:
    made = Timetable(clock=clock, zone=zone or UTC)
    made.set(hooks)
    return made


def test_a_hook_is_due_at_its_times_and_once_at_each() -> None:
    clock = Clock()
    times = timetable(clock, hook("five", "*/5 * * * *"))

    assert times.due() == []
    clock.now += timedelta(minutes=5)
    assert [due.at for due in times.due()] == [NOON + timedelta(minutes=5)]
    assert times.due() == []


def test_times_that_went_by_in_the_machines_sleep_count_once() -> None:
    clock = Clock()
    times = timetable(clock, hook("five", "*/5 * * * *"))
    clock.now += timedelta(days=400, minutes=2)

    assert [(due.hook.id, due.at) for due in times.due()] == [("five", NOON + timedelta(days=400))]
    assert times.times["five"] == NOON + timedelta(days=400, minutes=5)


def test_the_hook_that_is_due_first_comes_first() -> None:
    clock = Clock()
    times = timetable(clock, hook("late", "4 12 * * *"), hook("early", "3 12 * * *"))
    clock.now += timedelta(minutes=10)

    assert [due.hook.id for due in times.due()] == ["early", "late"]


def test_loading_again_neither_skips_a_time_nor_repeats_it() -> None:
    clock = Clock()
    times = timetable(clock, hook("five", "*/5 * * * *"), hook("gone", "* * * * *"))
    clock.now += timedelta(minutes=6)

    times.set(
        [hook("five", "*/5 * * * *", priority=7), hook("new", "*/5 * * * *"), hook("off", "* * * * *", enabled=False)]
    )

    assert set(times.times) == {"five", "new"}
    assert [due.hook.priority for due in times.due()] == [7]
    times.set([hook("five", "*/5 * * * *")])
    assert times.due() == []


def test_another_schedule_counts_from_now() -> None:
    clock = Clock()
    times = timetable(clock, hook("one", "*/5 * * * *"))
    clock.now += timedelta(minutes=6)

    times.set([hook("one", "0 13 * * *")])

    assert times.due() == []
    assert times.times["one"] == NOON + timedelta(hours=1)


def test_the_event_says_which_hook_which_schedule_and_when() -> None:
    assert DueHook(hook("five", "*/5 * * * *"), NOON).data() == {
        "hook": "five",
        "schedule": "*/5 * * * *",
        "due": int(NOON.timestamp() * 1000),
    }


def test_the_clock_is_looked_at_often_enough_to_notice_that_the_machine_slept() -> None:
    clock = Clock()

    assert timetable(clock).pause() == LONGEST_SLEEP
    assert timetable(clock, hook("later", "0 13 * * *")).pause() == LONGEST_SLEEP
    assert timetable(clock, hook("soon", "3,13,23 0 12 * * *")).pause() == pytest.approx(3)


def test_hooks_are_started_at_every_time_for_as_long_as_it_runs() -> None:
    clock = Clock()
    started: list[tuple[str, datetime]] = []

    async def scenario() -> None:
        times = timetable(clock, hook("a", "* * * * *"), hook("b", "*/2 * * * *"))
        running = asyncio.create_task(
            run_schedule(times, lambda due: started.append((due.hook.id, due.at)), sleep=clock.sleep)
        )
        while clock.now < NOON + timedelta(minutes=4, seconds=30):  # noqa: ASYNC110 - this clock goes by itself
            await asyncio.sleep(0)
        running.cancel()

    asyncio.run(scenario())

    minutes = [(name, (at - NOON).seconds // 60) for name, at in started]
    assert minutes == [("a", 1), ("a", 2), ("b", 2), ("a", 3), ("a", 4), ("b", 4)]
    assert max(clock.slept) <= LONGEST_SLEEP


def test_a_time_that_comes_twice_in_autumn_is_run_once() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    clock = Clock(datetime(2026, 10, 24, 22, 0, tzinfo=UTC))
    times = timetable(clock, hook("night", "30 2 * * *"), zone=berlin)

    found = []
    for _ in range(6):
        clock.now += timedelta(minutes=30)
        found += times.due()
    for _ in range(6):
        clock.now += timedelta(minutes=30)
        found += times.due()

    assert [due.at.astimezone(UTC) for due in found] == [datetime(2026, 10, 25, 0, 30, tzinfo=UTC)]


def test_the_time_zone_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    assert local_zone() == ZoneInfo("Asia/Kathmandu")
    monkeypatch.setenv("TZ", ":Europe/Berlin")
    assert local_zone() == ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize("name", ["", "No/Such/Zone", "../../etc/passwd", "CET-1CEST"])
def test_a_zone_that_is_none_still_gives_the_machines_time(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("TZ", name)

    assert datetime.now(local_zone()).utcoffset() is not None


def test_a_clock_that_was_years_ahead_keeps_no_hook_waiting() -> None:
    clock = Clock(NOON + timedelta(days=2000))
    times = timetable(clock, hook("five", "*/5 * * * *"))
    clock.now = NOON + timedelta(minutes=1)

    assert times.due() == []
    assert times.times["five"] == NOON + timedelta(minutes=5)


def test_a_clock_that_goes_back_a_little_runs_nothing_twice() -> None:
    clock = Clock()
    times = timetable(clock, hook("five", "*/5 * * * *"))
    clock.now += timedelta(minutes=5)
    assert len(times.due()) == 1
    clock.now -= timedelta(minutes=1)
    assert times.due() == []
    clock.now += timedelta(minutes=1)

    assert times.due() == []
