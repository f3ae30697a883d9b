import itertools

from hookline.core.conditions.problems import BeyondError, beyond, hint, placed, wrong


def test_place_is_shown_with_an_arrow_in_one_line() -> None:
    assert placed("a && b", 5, "odd") == "if: odd, at column 6: a && -->b"


def test_line_is_counted_where_there_are_several() -> None:
    assert placed("a &&\n  b\n", 7, "odd") == "if: odd, at line 2, column 3:   -->b"


def test_long_line_is_cut_around_the_place() -> None:
    told = placed("x" * 200 + "!" + "y" * 200, 200, "odd")

    assert told == f"if: odd, at column 201: …{'x' * 60}-->!{'y' * 59}…"


def test_what_cel_may_know_is_an_error_of_its_own() -> None:
    assert isinstance(beyond("a", 0, "odd"), BeyondError)
    assert not isinstance(wrong("a", 0, "odd"), BeyondError)


def test_hint_looks_over_case_and_underscores() -> None:
    assert hint("toolName", ["tool_name", "args"]) == ' (did you mean "tool_name"?)'
    assert hint("zebra", ["tool_name", "args"]) == ""


def test_event_with_endless_names_makes_no_endless_hint() -> None:
    names = (f"name{number}" for number in itertools.count())

    assert hint("nome1", names) == ' (did you mean "name1"?)'
    assert hint("x" * 10_000, ["y" * 10_000_000]) == ""
