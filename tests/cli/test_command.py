import argparse
import time

import pytest

from hookline.cli._command import parse_moment, parse_span


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
