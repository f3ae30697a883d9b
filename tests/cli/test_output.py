import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.cli._output import printable, table


@given(st.text())
def test_nothing_printable_can_steer_a_terminal(text: str) -> None:
    shown = printable(text)

    assert all(mark == "\n" or mark.isprintable() for mark in shown)
    assert "\u202e" not in shown


def test_long_text_is_cut_and_says_so() -> None:
    assert printable("x" * 3000) == "x" * 2000 + "… (3000 characters)"


def test_columns_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    table(["a", "name"], [["1", "x"], ["333", "line\nbreak"]])

    assert capsys.readouterr().out == "a    name\n---  ----------\n1    x\n333  line break\n"
