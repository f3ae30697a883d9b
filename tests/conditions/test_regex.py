import threading

import pytest

from hookline.conditions.regex import LONGEST_PATTERN, compile_regex
from hookline.errors import ConditionError, ConfigError


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?=a)", "invalid perl operator: (?="),
        (r"(a)\1", r"invalid escape sequence: \1"),
        ("a**", "bad repetition operator: **"),
        ("*a", "no argument for repetition operator: *"),
        ("(a", "missing ): (a"),
        ("[b-a]", "invalid character class range: b-a"),
        ("a{1001}", "invalid repetition size: {1001}"),
        ("\\", "trailing \\"),
        ("((a{100}){100}){100}", "invalid repetition size: {100}"),
        ("a\ud800", "it holds half of a surrogate pair"),
    ],
)
def test_pattern_that_re2_refuses_is_an_error_with_the_reason(pattern: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compile_regex(pattern)

    assert caught.value.message == f"{pattern!r} is no regular expression: {why}"


def test_length_of_a_pattern_is_limited() -> None:
    with pytest.raises(ConfigError, match=f"at most {LONGEST_PATTERN} characters"):
        compile_regex("a" * (LONGEST_PATTERN + 1))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 100_000 + "b"),
        ("^(a|a)*$", "a" * 100_000 + "b"),
        ("(.*)*x", "a" * 100_000),
        (r"^(\w+\s?)*$", "word " * 20_000 + "!"),
        ("(x+x+)+y", "x" * 100_000),
    ],
)
def test_patterns_that_backtrack_without_end_elsewhere_are_searched_in_linear_time(pattern: str, text: str) -> None:
    assert compile_regex(pattern).matches(text) is False


def test_search_that_would_take_seconds_is_refused() -> None:
    with pytest.raises(ConditionError, match="a text of 100000 characters is too long for this pattern"):
        compile_regex(".*a.{900}b.{900}c").matches("ab" * 50_000)


def test_text_with_half_of_a_surrogate_pair_is_searched() -> None:
    assert compile_regex("b$").matches("a\ud800b")
    assert not compile_regex("c").matches("a\ud800b")


def test_one_pattern_serves_many_threads() -> None:
    regex = compile_regex("(a|b)*c[^d]*d")
    answers: list[bool] = []

    def search(number: int) -> None:
        answers.append(regex.matches("ab" * number + "c" + chr(0x100 + number) + "d"))

    threads = [threading.Thread(target=search, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [True] * 50
