"""Percentiles, turns and rows."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.bench import harness
from tests.bench.rows import Row, Section


@pytest.mark.parametrize(("count", "tenth", "middle"), [(1, 0, 0), (9, 0, 4), (10, 1, 5), (100, 10, 50), (101, 10, 50)])
def test_percentiles_of_unordered_figures(count: int, tenth: int, middle: int) -> None:
    figures = [float(number) for number in reversed(range(count))]

    assert (harness.p10(figures), harness.median(figures)) == (tenth, middle)


def test_candidates_take_turns_and_warming_up_does_not_count() -> None:
    calls: list[str] = []

    async def waiting() -> None:
        await asyncio.sleep(0)
        calls.append("b")

    timings = asyncio.run(harness.interleave({"a": lambda: calls.append("a"), "b": waiting}, 3, warm_up=2))

    assert "".join(calls) == "ab" * 5
    assert {name: len(figures) for name, figures in timings.items()} == {"a": 3, "b": 3}
    assert all(figure > 0 for figures in timings.values() for figure in figures)


def test_candidate_that_timed_itself_is_believed() -> None:
    async def itself() -> float:
        return 42.0

    assert asyncio.run(harness.interleave({"a": itself}, 2, warm_up=0)) == {"a": [42.0, 42.0]}


def test_loops_are_divided_by_how_often_they_ran() -> None:
    times: list[int] = []
    ticks: Iterator[int] = iter(range(0, 10_000, 100))

    async def loop(inner: int) -> None:
        times.append(inner)

    timings = asyncio.run(harness.interleave_loops({"a": loop}, 3, inner=50, clock=lambda: float(next(ticks))))

    assert times == [50] * 5
    assert timings == {"a": [2.0] * 3}


def test_row_has_the_figures_of_one_candidate_against_another() -> None:
    timings = {"floor": [2.0] * 20, "ours": [4.0, 3.0] * 10}
    row = harness.row(timings, "ours", floor="floor", goal="g", who="ours")

    assert row == Row(what="ours", value=3.0, median=4.0, floor=2.0, against="floor", rounds=20, goal="g", who="ours")
    assert row.ratio == 1.5


def test_rows_say_who_is_who() -> None:
    timings = {"floor": [1.0], "ours": [1.5], "theirs": [3.0]}
    rows = harness.rows(timings, floor="floor", goals={"ours": "g"}, most={"ours": 1.2}, peers=("theirs",))

    assert [(row.who, row.goal, row.most, row.ratio) for row in rows] == [
        ("floor", "", None, 1.0),
        ("ours", "g", 1.2, 1.5),
        ("peer", "", None, 3.0),
    ]


def test_report_shows_figures_bounds_and_what_is_missing() -> None:
    rows = (
        Row(what="ours", value=0.003, median=0.004, floor=0.002, most=1.2),
        Row(what="good", value=0.002, floor=0.002, most=1.2),
        Row(what="gone", missing="not installed here"),
    )
    said = harness.report(Section(title="Title", about="", rows=rows)).splitlines()

    assert said[1] == "Title"
    assert said[3].split() == ["ours", "3", "ms", "4", "ms", "1.50", "<=", "1.2", "MISSED"]
    assert said[4].split() == ["good", "2", "ms", "1.00", "<=", "1.2", "met"]
    assert said[5].split(maxsplit=1) == ["gone", "not installed here"]


def test_rounds_are_as_usual_or_as_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_ROUNDS", raising=False)
    assert harness.rounds(400) == 400

    monkeypatch.setenv("BENCH_ROUNDS", "7")
    assert harness.rounds(400) == 7

    monkeypatch.setenv("BENCH_ROUNDS", "0")
    assert harness.rounds() == 1


def test_variable_that_holds_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_ROUNDS", "many")

    with pytest.raises(SystemExit, match="BENCH_ROUNDS is 'many', wanted a number"):
        harness.rounds()
