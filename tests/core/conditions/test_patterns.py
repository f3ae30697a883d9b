import pytest

from hookline.core.conditions.automaton import automaton
from hookline.core.conditions.patterns import LONGEST, program
from hookline.core.conditions.steps import MOST_STEPS
from hookline.errors import ConfigError


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?=a)", "it looks around or back, or begins a group in a way that RE2 does not have, at character 1"),
        (r"(a)\1", r"RE2 has no references back to a group, as \1 is, at character 6"),
        (r"\Z", r"RE2 has no \Z, at character 3"),
        ("a**", "a repetition cannot be repeated, at character 4"),
        ("*a", "there is nothing to repeat, at character 2"),
        ("(a", '")" is missing, at character 3'),
        ("a)", '")" closes nothing, at character 2'),
        ("[a", "it ends too early, at character 3"),
        ("[b-a]", "the range b-a is the wrong way round, at character 5"),
        ("[[:nope:]]", '"nope" is no class of characters, at character 2'),
        (r"\p{Greek}", '"Greek" is no category of characters that is known here, at character 2'),
        ("a{1001}", "{1001} cannot be counted, at character 2"),
        ("a{2,1}", "{2,1} cannot be counted, at character 2"),
        (r"\x{110000}", "there is no character 110000, at character 2"),
        ("\\", "it ends too early, at character 2"),
        ("(" * 60 + ")" * 60, "more than 50 groups inside each other, at character 51"),
    ],
)
def test_what_is_no_pattern_is_told_with_its_place(pattern: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        program(pattern)

    assert caught.value.message == f"{pattern!r} is no regular expression: {why}"


@pytest.mark.parametrize(
    "pattern", ["((a{100}){100}){100}", "(((){1000}){1000}){1000}", "(a|b){999}(a|b){999}(c|d){999}"]
)
def test_pattern_that_would_grow_without_end_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="the pattern is too large"):
        program(pattern)


def test_length_is_bounded() -> None:
    with pytest.raises(ConfigError, match=f"at most {LONGEST} characters"):
        program("a" * (LONGEST + 1))


def test_program_is_bounded_by_its_steps() -> None:
    assert len(program("a{1000}b{1000}c{1000}")) < MOST_STEPS


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
def test_patterns_that_hang_elsewhere_come_to_an_end(pattern: str, text: str) -> None:
    # these take longer than the universe with a search that tries one way after the other
    assert automaton(pattern).found_in(text) is False
