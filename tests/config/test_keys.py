import re

import pytest

from hookline.config.keys import caching, count, needs, seconds
from hookline.model.requirements import Caching, Needs


@pytest.mark.parametrize(
    ("value", "expected"), [(5, 5.0), (0.5, 0.5), ("500ms", 0.5), ("2m", 120.0), ("1.5 h", 5400.0), ("10s", 10.0)]
)
def test_time_is_a_number_of_seconds_or_has_its_unit(value: object, expected: float) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize(
    "value", [0, -1, True, "5", "5 days", "", None, "1e3s", float("nan"), float("inf"), 40_000_000]
)
def test_what_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="wanted seconds above 0"):
        seconds(value)


@pytest.mark.parametrize("value", [0, -3, True, 1.0, "3", None, [3]])
def test_what_does_not_count_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="wanted a whole number above 0"):
        count(value)


def test_count_is_a_whole_number() -> None:
    assert count(30) == 30


@pytest.mark.spec("D-12")
def test_needs_are_lists_or_one_text_each() -> None:
    assert needs({"tools": ["git>=2.30", "node"], "files": "setup.cfg", "env": ["TOKEN"]}) == Needs(
        tools=("git>=2.30", "node"), files=("setup.cfg",), env=("TOKEN",)
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"tool": ["git"]}, 'unknown key "tool" (did you mean "tools"?)'),
        (["git"], "wanted a table with some of tools, files, services, env"),
        ({}, "wanted a table with some of tools, files, services, env, answers, got an empty one"),
        ({"tools": []}, "wanted at least one name"),
        ({"tools": [1]}, "wanted a text"),
        ({"tools": ["git>>2"]}, "wanted a version such as git>=2.30"),
        ({"services": "localhost"}, "wanted an address such as tcp://localhost:5432"),
        ({"env": ["API-KEY"]}, "wanted a variable's name such as API_KEY"),
    ],
)
def test_needs_that_cannot_be_meant_are_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        needs(value)


@pytest.mark.spec("O-24")
def test_caching_is_a_time_or_says_what_the_answer_depends_on() -> None:
    assert caching("10m") == Caching(seconds=600.0)
    assert caching({"for": 5, "by": "args.command", "files": ["a", "b"]}) == Caching(
        seconds=5.0, by=("args.command",), files=("a", "b")
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "wanted seconds above 0"),
        ({"by": "tool"}, "wanted `for`"),
        ({"for": "soon"}, "wanted seconds above 0"),
        ({"for": 5, "file": "x"}, 'unknown key "file" (did you mean "files"?)'),
        ({"for": 5, "by": []}, "wanted at least one name"),
        ({}, "wanted a table"),
    ],
)
def test_caching_that_cannot_be_meant_is_refused(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        caching(value)
