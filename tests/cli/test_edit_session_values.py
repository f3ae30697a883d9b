import pytest

from hookline.cli._edit_session import parse_value, split_assignment
from hookline.config.keys import SHARED
from hookline.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [
        ("timeout", "5", 5),
        ("timeout", "500ms", "500ms"),
        ("version", "1", 1),
        ("matcher", "1", "1"),
        ("enabled", "true", True),
        ("files", '["*.py"]', ["*.py"]),
        ("files", "*.py", "*.py"),
        ("if", "true", "true"),
        ("needs", '{"env": ["A"]}', {"env": ["A"]}),
        ("needs", '{env = ["A"]}', {"env": ["A"]}),
        ("cache", '{for = "10m", by = ["tool"]}', {"for": "10m", "by": ["tool"]}),
        ("files", "['*.py']", ["*.py"]),
        ("files", "[ab].py", "[ab].py"),
    ],
)
def test_value_is_json_where_the_key_takes_it_so(name: str, word: str, value: object) -> None:
    assert parse_value(name, word, SHARED[name]) == value


def test_value_of_an_unknown_key_is_what_it_looks_like() -> None:
    assert parse_value("x", "NaN", None) == "NaN"
    assert parse_value("x", "[1]", None) == [1]
    assert parse_value("x", "[" * 100_000, None) == "[" * 100_000


def test_value_no_key_takes_is_refused_with_what_was_wanted() -> None:
    with pytest.raises(ConfigError, match="enabled: wanted true or false"):
        parse_value("enabled", "perhaps", SHARED["enabled"])


@pytest.mark.parametrize("word", ['{for = "10m"', '{for = "10m"}\nother = 1', "{" * 100_000])
def test_table_that_cannot_be_read_is_called_so(word: str) -> None:
    with pytest.raises(ConfigError, match="which is neither JSON nor TOML"):
        parse_value("cache", word, SHARED["cache"])


def test_key_ends_at_the_first_equals() -> None:
    assert split_assignment("env.A=b=c") == ("env.A", "b=c")
    assert split_assignment("a=") == ("a", "")


@pytest.mark.parametrize("word", ["a", "=a", ""])
def test_what_assigns_nothing_is_refused(word: str) -> None:
    with pytest.raises(ConfigError, match="wanted KEY=VALUE"):
        split_assignment(word)
