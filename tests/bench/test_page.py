"""The page says what was found, the same each time, and keeps nothing back."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench.page import BESIDES, FOR_GOALS, Result, goals_text, page, summary
from tests.bench.rows import GOALS, Row, Section, judge

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "benchmarks.md"


def result(*problems: str, **benches: tuple[Section, ...]) -> Result:
    return Result(
        machine={"cores": "2", "Python": "CPython 3.11.7"},
        rounds=100,
        versions={"pluggy": "1.0"},
        benches=benches,
        problems=problems,
    )


def section(title: str, *rows: Row) -> Section:
    return Section(title=title, about=f"How {title} is done.", rows=rows)


IDLE = Row(what="no hook", value=2e-7, median=3e-7, floor=1e-6, against="pluggy, no hook", rounds=200, goal="emit-idle")
GONE = Row(what="a warm hook", goal="warm", missing="not built: no warm hooks here")


def lines_with(text: str, word: str) -> list[str]:
    return [line for line in text.splitlines() if word in line]


def test_every_goal_has_a_line_whatever_was_run() -> None:
    text = page(result())

    assert all(f"| {goal.what} | {goal.against} | " in text for goal in GOALS)
    assert f"0 of {len(GOALS)} are met" in text
    assert len(lines_with(text, "| not run | MISSED |")) == len(GOALS)


def test_goals_that_are_met_and_missed_stand_in_one_table() -> None:
    text = page(result(emit=(section("emit", IDLE),), warm=(section("warm", GONE),)))

    assert f"1 of {len(GOALS)} are met" in text
    assert lines_with(text, "≥ 5 times faster | 5.0 times | met")
    assert lines_with(text, "≥ 40 times faster | not built: no warm hooks here | MISSED")


def test_figures_stand_below_with_how_they_were_measured() -> None:
    text = page(result(emit=(section("One emit", IDLE),)))

    assert "### One emit\n\nHow One emit is done.\n" in text
    assert "| no hook | 200 ns | 300 ns | 0.2 | pluggy, no hook | 200 |" in text


def test_columns_that_nobody_fills_are_left_out() -> None:
    text = page(result(queue=(section("queue", Row(what="lost", value=0.0, unit="")),)))

    assert "| what | p10 |\n| --- | --- |\n| lost | 0 |" in text


def test_order_is_that_of_the_table_and_what_serves_no_goal_comes_last() -> None:
    benches = {name: (section(f"title-{name}"),) for name in reversed((*FOR_GOALS, *BESIDES))}
    text = page(result(**benches))
    found = [line.removeprefix("### title-") for line in lines_with(text, "### title-")]

    assert found == [*FOR_GOALS, *BESIDES]
    assert text.index("## Besides") > text.index(f"title-{FOR_GOALS[-1]}")
    assert text.index("## Besides") < text.index(f"title-{BESIDES[0]}")


def test_what_could_not_be_installed_is_said() -> None:
    assert "- nah==1.0: could not be installed" in page(result("nah==1.0: could not be installed"))
    assert "could not be had" not in page(result())


def test_same_result_gives_the_same_page_also_out_of_a_file() -> None:
    made = result("x: there is no npm", emit=(section("emit", IDLE),), warm=(section("warm", GONE),))
    again = msgspec.json.decode(msgspec.json.encode(made), type=Result)

    assert again == made
    assert page(again) == page(made)


def test_quick_look_is_called_one() -> None:
    made = result()

    assert "A quick look" not in page(made)
    assert "**A quick look with 20 rounds only**" in page(replace(made, rounds=20))


def test_cell_with_a_bar_stays_one_cell() -> None:
    assert "| a &#124; b | 1 s |" in page(result(load=(section("load", Row(what="a | b", value=1.0)),)))


def test_terminal_shows_the_goals_of_what_was_run_only() -> None:
    made = result(emit=(section("emit", IDLE),))
    said = goals_text(made, ["emit"])

    assert "emit without a matching hook against pluggy's call without one" in said
    assert "1 of 4 met" in said
    assert "daemon" not in said
    assert goals_text(made, ["load"]) == ""


def test_verdicts_are_known_by_the_id_of_the_goal() -> None:
    verdicts = summary(result(emit=(section("emit", IDLE),)))

    assert set(verdicts) == {goal.id for goal in GOALS}
    assert [name for name, verdict in verdicts.items() if verdict == "met"] == ["emit-idle"]


def test_committed_page_has_the_goals_of_the_table() -> None:
    if not DOCUMENT.exists():
        pytest.skip("no run of everything has written one yet")
    text = DOCUMENT.read_text("utf-8")

    assert [
        each.goal.id for each in judge([]) if f"| {each.goal.what} | {each.goal.against} | {each.wanted} |" not in text
    ] == []
