import argparse
import time

import pytest

from hookline.cli._time import format_ago, format_clock, format_span, parse_moment, parse_span


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("1.5h", 5400), ("2D", 172_800), ("1 w", 604_800)]
)
def test_span_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_span(text) == seconds


def test_moment_is_a_span_before_now_or_a_date() -> None:
    before = time.time()
    assert before - 3601 < parse_moment("1h") <= time.time() - 3600
    assert parse_moment("2026-11-15T10:00:00+00:00") == 1_794_736_800


@pytest.mark.parametrize("text", ["", "h", "5", "-5m", "tomorrow", "2026-13-01", "99999999999999999999999999-01-01"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="neither a span"):
        parse_moment(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 µs"), (0.00025, "250 µs"), (0.0123, "12.3 ms"), (0.9999, "999.9 ms"), (12.345, "12.35 s")],
)
def test_duration_is_told_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert format_span(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3, "just now"), (61, "1 minute ago"), (7300, "2 hours ago"), (90_000, "1 day ago"), (-50, "just now")],
)
def test_past_is_told_in_the_largest_unit(seconds: float, text: str) -> None:
    assert format_ago(time.time() - seconds) == text


def test_impossible_time_is_no_crash() -> None:
    assert format_clock(1e300) == "at no known time"
    assert format_clock(0).startswith("19")
