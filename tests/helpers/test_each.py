"""The decorator that runs a test over a table."""

import pytest

from tests.helpers.each import each


def test_every_row_is_tried_and_failing_rows_are_named() -> None:
    tried = []

    @each("number, name", [(1, "one"), (2, "two"), (3, "three")])
    def check(number: int, name: str) -> None:
        tried.append(name)
        assert number == 2, "not two"

    with pytest.raises(AssertionError, match=r"2 of 3 rows failed\n\(1, 'one'\): AssertionError: not two") as caught:
        check()

    assert tried == ["one", "two", "three"]
    assert "(3, 'three')" in str(caught.value)


@each("left", [1, 2])
@each("right", [3, 4])
def test_tables_can_be_stacked_and_share_fixtures(left: int, right: int, tmp_path: object) -> None:
    assert (left < right, bool(tmp_path)) == (True, True)
