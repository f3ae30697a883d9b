import pytest

from hookline.core.conditions.automaton import Automaton
from hookline.core.conditions.characters import only
from hookline.core.conditions.patterns import program
from hookline.core.conditions.steps import (
    MOST_STEPS,
    Char,
    Emit,
    Found,
    Look,
    Program,
    Split,
    char,
    in_row,
    look,
    one_of,
    repeated,
)
from hookline.errors import ConfigError

A, B = char(only("a")), char(only("b"))


def found(emit: Emit, *texts: str) -> list[bool]:
    """Say of each text whether it is matched as a whole."""
    made = Program()
    made.add(Split((in_row([look("start"), emit, look("end")])(made, 0),)))
    return [Automaton(made.steps).found_in(text) for text in texts]


def test_steps_are_written_from_the_last_to_the_first() -> None:
    made = Program()
    first = in_row([look("start"), A])(made, 0)

    end, taken, looked = made.steps
    assert isinstance(end, Found)
    assert isinstance(taken, Char)
    assert taken.then == 0
    assert looked == Look("start", 1)
    assert first == 2


def test_parts_follow_each_other() -> None:
    assert found(in_row([A, B]), "ab", "a", "ba", "abb") == [True, False, False, False]
    assert found(in_row([]), "", "a") == [True, False]


def test_any_of_several_parts_will_do() -> None:
    assert found(one_of([A, in_row([B, B]), in_row([])]), "a", "bb", "", "b") == [True, True, True, False]


@pytest.mark.parametrize(
    ("least", "most", "matched"),
    [
        (0, None, {0, 1, 2, 3, 4}),
        (1, None, {1, 2, 3, 4}),
        (3, None, {3, 4}),
        (0, 1, {0, 1}),
        (2, 2, {2}),
        (0, 0, {0}),
        (1, 3, {1, 2, 3}),
    ],
)
def test_part_is_taken_as_often_as_said(least: int, most: int | None, matched: set[int]) -> None:
    answers = found(repeated(A, least, most), *("a" * count for count in range(5)))

    assert {count for count, answer in enumerate(answers) if answer} == matched


def test_repetition_of_nothing_comes_to_an_end() -> None:
    nothing = in_row([])

    assert found(repeated(repeated(nothing, 0, None), 1, None), "", "a") == [True, False]


@pytest.mark.parametrize(
    "pattern", ["(" * 40 + "a" + ")+" * 40, "(" * 40 + "a" + ")*" * 40, "(" * 40 + "a" + ")?" * 40]
)
def test_repetitions_inside_each_other_do_not_multiply(pattern: str) -> None:
    assert len(program(pattern)) < 100


def test_copies_of_nothing_count() -> None:
    nothing = in_row([])
    thousand = repeated(nothing, 1000, 1000)

    with pytest.raises(ConfigError, match="too large"):
        found(repeated(thousand, 1000, 1000), "")


def test_program_has_an_end() -> None:
    made = Program()
    for _ in range(MOST_STEPS - 1):
        made.add(Found())

    with pytest.raises(ConfigError, match="too large"):
        made.add(Found())
