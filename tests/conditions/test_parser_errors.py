import itertools

from hookline.conditions.parser import BeyondError, format_message, make_error, make_unsupported_error, suggest_name


def test_place_is_shown_with_an_arrow_in_one_line() -> None:
    assert format_message("a && b", 5, "odd") == "if: odd, at column 6: a && -->b"


def test_line_is_counted_where_there_are_several() -> None:
    assert format_message("a &&\n  b\n", 7, "odd") == "if: odd, at line 2, column 3:   -->b"


def test_long_line_is_cut_around_the_place() -> None:
    told = format_message("x" * 200 + "!" + "y" * 200, 200, "odd")

    assert told == f"if: odd, at column 201: …{'x' * 60}-->!{'y' * 59}…"


def test_what_cel_may_know_is_an_error_of_its_own() -> None:
    assert isinstance(make_unsupported_error("a", 0, "odd"), BeyondError)
    assert not isinstance(make_error("a", 0, "odd"), BeyondError)


def test_hint_looks_over_case_and_underscores() -> None:
    assert suggest_name("toolName", ["tool_name", "args"]) == ' (did you mean "tool_name"?)'
    assert suggest_name("zebra", ["tool_name", "args"]) == ""


def test_event_with_endless_names_makes_no_endless_hint() -> None:
    names = (f"name{number}" for number in itertools.count())

    assert suggest_name("nome1", names) == ' (did you mean "name1"?)'
    assert suggest_name("x" * 10_000, ["y" * 10_000_000]) == ""
