import time

import pytest

from hookline.cli._output import format_ago, format_clock, format_span


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
