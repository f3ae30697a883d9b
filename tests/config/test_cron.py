from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hookline.config.cron import last_time, next_time
from hookline.errors import ConfigError

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "minutes"), [("*/5 * * * *", 5), ("30 12 * * *", 30), ("@hourly", 60), ("@DAILY", 12 * 60)]
)
def test_the_next_time_is_after_the_moment(line: str, minutes: int) -> None:
    assert next_time(line, NOON) == NOON + timedelta(minutes=minutes)


def test_the_last_time_may_be_the_moment_itself() -> None:
    assert last_time("*/5 * * * *", NOON) == NOON
    assert last_time("*/5 * * * *", NOON + timedelta(seconds=299, microseconds=5)) == NOON
    assert last_time("*/5 * * * *", NOON + timedelta(minutes=5)) == NOON + timedelta(minutes=5)


def test_an_hour_that_summer_time_leaves_out_is_not_left_out() -> None:
    eve = datetime(2026, 3, 29, 1, 0, tzinfo=BERLIN)

    # at two o'clock the clocks were put to three
    assert next_time("30 2 * * *", eve).astimezone(UTC) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


def test_an_hour_that_comes_twice_in_autumn_counts_once() -> None:
    first = next_time("30 2 * * *", datetime(2026, 10, 25, 1, 0, tzinfo=BERLIN))
    second = next_time("30 2 * * *", first)

    assert first.astimezone(UTC) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert second.date() == datetime(2026, 10, 26, tzinfo=BERLIN).date()


@pytest.mark.parametrize(
    "line", ["", "every day", "61 * * * *", "* * * *", "* * * * * * *", "@sometimes", "*/0 * * * *"]
)
def test_a_line_that_means_nothing_is_told_with_a_line_that_does(line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        next_time(line, NOON)

    assert f'schedule "{line}" cannot be read' in refused.value.message
    assert '"*/5 * * * *"' in refused.value.message


def test_a_day_that_never_comes_is_told() -> None:
    with pytest.raises(ConfigError, match="bad day-of-month"):
        next_time("0 0 31 2 *", NOON)
