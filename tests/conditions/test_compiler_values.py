from collections.abc import Mapping
from enum import IntEnum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType

import pytest

from hookline.conditions.compiler import (
    LARGEST,
    are_equal,
    format_value,
    is_contained,
    item_at,
    kind_of,
    make_arithmetic,
    make_comparison,
    size_of,
)
from hookline.errors import ConditionError

YES: object = True


class Word(StrEnum):
    A = "a"


class Count(IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"),
        (True, "bool"),
        (1, "int"),
        (1.0, "double"),
        ("a", "string"),
        ([], "list"),
        ((), "list"),
        ({}, "map"),
        (MappingProxyType({}), "map"),
        (Word.A, "string"),
        (Count.ONE, "int"),
        (PurePosixPath("a"), "PurePosixPath"),
    ],
)
def test_python_values_have_the_types_of_cel(value: object, kind: str) -> None:
    assert kind_of(value) == kind


def test_values_of_other_types_are_not_equal_but_numbers_are() -> None:
    assert are_equal(1, 1.0)
    assert are_equal([1, {"x": (2,)}], (1.0, {"x": [2.0]}))
    assert not are_equal(YES, 1)
    assert not are_equal(None, 0)
    assert not are_equal([1], [1, 1])
    assert not are_equal({"x": 1}, {"y": 1})
    assert are_equal(Word.A, "a")


def test_python_takes_true_for_one_and_a_map_does_not() -> None:
    of: Mapping[object, object] = {True: "yes", 2: "two"}

    assert item_at(of, YES) == "yes"
    assert item_at(of, 2.0) == "two"
    assert not is_contained(1, of)
    with pytest.raises(ConditionError, match="there is no key"):
        item_at(of, 1)


def test_number_that_no_computer_has_is_an_error_and_no_crash() -> None:
    with pytest.raises(ConditionError, match="does not fit into a double"):
        are_equal(10**400, 1.0)
    with pytest.raises(ConditionError, match="does not fit into 64 bits"):
        make_arithmetic("*")(10**400, 2)


@pytest.mark.parametrize(
    ("sign", "left", "right", "why"),
    [
        ("<", 1, "a", "< does not compare an int (1) with a string ('a')"),
        (">=", None, None, ">= does not compare null (null) with null (null)"),
        ("<", [1], [2], "< does not compare a list (a list of 1) with a list (a list of 1)"),
    ],
)
def test_what_has_no_order_is_not_compared(sign: str, left: object, right: object, why: str) -> None:
    with pytest.raises(ConditionError) as caught:
        make_comparison(sign)(left, right)

    assert str(caught.value) == why


def test_types_are_not_mixed_in_sums() -> None:
    with pytest.raises(ConditionError, match=r"\+ does not take an int and a double; write 1.0 for a double"):
        make_arithmetic("+")(1, 1.0)
    with pytest.raises(ConditionError, match="% does not take a double and a double"):
        make_arithmetic("%")(1.0, 1.0)


def test_sums_cannot_fill_the_memory() -> None:
    half = "a" * (LARGEST // 2)

    assert len(str(make_arithmetic("+")(half, half))) == LARGEST
    with pytest.raises(ConditionError, match="more than"):
        make_arithmetic("+")(half, half + "a")


def test_part_of_a_text_is_looked_for_with_contains() -> None:
    with pytest.raises(ConditionError, match=r'"in" does not look for a string in a string; .* "contains"'):
        is_contained("a", "abc")


def test_what_has_no_size_is_not_counted() -> None:
    assert [size_of(value) for value in ("é😀", [1], {"x": 1})] == [2, 1, 1]
    with pytest.raises(ConditionError, match='"size" does not count null'):
        size_of(None)


def test_values_are_shown_short_and_without_secrets() -> None:
    assert format_value("x" * 100) == f"'{'x' * 60}'…"
    assert format_value({"a": 1}) == "a map of 1"
    assert format_value(None) == "null"
    assert format_value(YES) == "true"
    # a key that is cut would no longer look like one
    assert "sk-abcdefg" not in format_value(f"{'x' * 48} sk-abcdefghij0123456789abcdefghij")
