"""Reading untrusted documents."""

import pytest

from hookline.dialects import _json_reader
from hookline.errors import DialectError

READER = _json_reader.JsonReader("x")


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2026-01-16T11:05:30+01:00", 1768557930000),
        ("2026-01-16T10:05:30", 1768557930000),
        ("2026-01-16 10:05:30.123456", 1768557930123),
        ("20260116T100530Z", 1768557930000),
        ("2026-01-16", 1768521600000),
    ],
)
def test_times_in_any_iso_form_are_read(text: str, milliseconds: int) -> None:
    assert READER.read_time(text, "t") == milliseconds


@pytest.mark.parametrize("value", ["", "soon", "2026-13-01", "9999-12-31T23:59:59.9-23:59x", True, [], {}])
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(DialectError, match=r"^x at t: expected a time"):
        READER.read_time(value, "t")


def test_times_at_the_ends_of_the_calendar_are_read() -> None:
    assert READER.read_time("0001-01-01T00:00:00+23:59", "t") < 0
    assert READER.read_time("9999-12-31T23:59:59-23:59", "t") > 0


@pytest.mark.parametrize("value", [10**18, -(10**18), True, 1.5, "x", None])
def test_what_has_no_iso_form_stays_as_it_is(value: object) -> None:
    assert _json_reader.to_iso(value) is value


def test_times_are_written_as_they_are_read_whatever_was_written_before() -> None:
    times = [0, -1, -1000, 999, 1000, 1768557930000, 1768557930007, 1768557929999, 10**18, 1768557930050, 1768557930123]
    for _ in range(2):
        for time in times:
            text = _json_reader.to_iso(time)
            assert text == time or READER.read_time(text, "t") == time
    assert _json_reader.to_iso(1768557930007) == "2026-01-16T10:05:30.007Z"
    assert _json_reader.to_iso(-1) == "1969-12-31T23:59:59.999Z"


def test_number_may_count_seconds_only_where_that_is_said() -> None:
    assert READER.read_time(1768557930, "t", in_seconds=True) == 1768557930000
    assert READER.read_time(1768557930, "t", in_seconds=False) == 1768557930


def test_values_too_deep_to_compare_count_as_different() -> None:
    one: list[object] = []
    other: list[object] = []
    for _ in range(100_000):
        one, other = [one], [other]

    assert _json_reader.is_equal(one, other) is False


@pytest.mark.parametrize(
    ("raw", "repaired"),
    [
        (b'"\\ud83d\\ude00"', b'"\\ud83d\\ude00"'),
        (b'"\\ud83d"', b'"\\ufffd"'),
        (b'"\\ude00\\ud83d"', b'"\\ufffd\\ufffd"'),
        (b'"\\\\ud83d"', b'"\\\\ud83d"'),
        (b'"\\\\\\uD83D"', b'"\\\\\\ufffd"'),
        (b"\xef\xbb\xbf{}", b"{}"),
        (b'"\xff"', '"\ufffd"'.encode()),
    ],
)
def test_only_what_is_broken_is_repaired(raw: bytes, repaired: bytes) -> None:
    assert _json_reader.repair_utf8(raw) == repaired


def test_message_shows_the_beginning_of_what_came() -> None:
    with pytest.raises(DialectError) as caught:
        READER.load_object(b"Traceback (most recent call last):\n" + b"x" * 500)

    assert caught.value.message.startswith("expected one JSON object, got Traceback (most recent call last): xxx")
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (True, "a boolean"), (1, "a number"), (1.5, "a number"), ("", "a text"), ([], "a list"), ({}, "an object"), (b"", "bytes")],
)  # fmt: skip
def test_kinds_are_named_for_people(value: object, kind: str) -> None:
    assert _json_reader.json_type(value) == kind


@pytest.mark.parametrize(
    ("seconds", "milliseconds"), [(0, 0), (3, 3000), (1.5, 1500), (0.0004, 0.4), (True, True), ("3", "3"), (None, None)]
)
def test_durations_are_counted_in_milliseconds_and_back(seconds: object, milliseconds: object) -> None:
    assert _json_reader.to_ms(seconds) == milliseconds
    assert _json_reader.from_ms(milliseconds) == seconds
