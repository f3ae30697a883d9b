"""The table of goals, and how a figure is held against it."""

from pathlib import Path

import pytest

from tests.bench.page import BESIDES, FOR_GOALS
from tests.bench.rows import GOALS, Goal, Row, Section, Way, judge, text_of

HERE = Path(__file__).parent

WANTED = {
    "launcher-idle": "≤ 1.6",
    "launcher-command": "≤ 4",
    "launcher-warm": "≤ 0.25",
    "launcher-first": "≤ 1.3",
    "emit-command": "≤ 1.35",
    "emit-gemini": "≥ 4 times faster",
    "emit-idle": "≥ 5 times faster",
    "emit-function": "≤ 12",
    "throughput": "≥ 1.6",
    "warm": "≥ 40 times faster",
    "trace": "≤ 1 µs",
    "trace-unasked": "≤ 1 µs",
    "many-hooks": "≤ 1.5",
    "daemon-memory": "≤ 1.1",
    "contained-start": "≤ 1.9",
    "contained-emit": "≤ 1.6",
    "contained-call": "≤ 1.3",
}


def goal(way: Way, bound: float) -> Goal:
    return Goal(id="g", bench="emit", what="this", against="that", way=way, bound=bound)


def section(*rows: Row) -> Section:
    return Section(title="t", about="a", rows=rows)


def test_every_goal_is_in_the_table_with_its_bound() -> None:
    assert {each.goal.id: each.wanted for each in judge([])} == WANTED


def test_every_goal_is_measured_by_the_benchmark_it_names() -> None:
    texts = {each.bench: (HERE / f"bench_{each.bench}.py").read_text("utf-8") for each in GOALS}

    assert [each.id for each in GOALS if f'"{each.id}"' not in texts[each.bench]] == []


def test_every_benchmark_file_belongs_to_a_run() -> None:
    assert {path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py")} == {*FOR_GOALS, *BESIDES}


@pytest.mark.parametrize(
    ("way", "bound", "value", "floor", "found", "verdict"),
    [
        ("at most", 1.5, 3.0, 2.0, "1.50", "met"),
        ("at most", 1.5, 3.1, 2.0, "1.55", "MISSED"),
        ("at least", 1.6, 320.0, 200.0, "1.60", "met"),
        ("at least", 1.6, 300.0, 200.0, "1.50", "MISSED"),
        ("times faster", 4, 1.0, 4.0, "4.0 times", "met"),
        ("times faster", 4, 1.0, 3.9, "3.9 times", "MISSED"),
        ("microseconds", 1, 1e-6, None, "1.00 µs", "met"),
        ("microseconds", 1, 1.2e-6, None, "1.20 µs", "MISSED"),
    ],
)
def test_goal_is_met_up_to_its_bound(
    way: Way, bound: float, value: float, floor: float | None, found: str, verdict: str
) -> None:
    (judged,) = judge([section(Row(what="w", value=value, floor=floor, goal="g"))], [goal(way, bound)])

    assert (judged.found, judged.verdict) == (found, verdict)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ((), "not run"),
        ((Row(what="w", goal="g", missing="not built: no daemon here"),), "not built: no daemon here"),
        ((Row(what="w", goal="g", value=1.0),), "no figure"),
        ((Row(what="w", goal="g", value=1.0, floor=0.0),), "no figure"),
    ],
)
def test_goal_without_a_figure_is_missed(rows: tuple[Row, ...], found: str) -> None:
    (judged,) = judge([section(*rows)], [goal("at most", 1.0)])

    assert (judged.found, judged.verdict) == (found, "MISSED")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "s", ""),
        (2.0, "s", "2 s"),
        (0.00123, "s", "1.23 ms"),
        (0.123456, "s", "123 ms"),
        (4.32e-8, "s", "43.2 ns"),
        (0.0, "s", "0 ns"),
        (-2.5e-6, "s", "-2.5 µs"),
        (52_428_800, "bytes", "52.4 MB"),
        (1234.5, "per s", "1,234 per s"),
        (10_000, "", "10,000"),
    ],
)
def test_figure_is_written_with_a_unit_that_suits_it(value: float | None, unit: str, text: str) -> None:
    assert text_of(value, unit) == text
