import tomllib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.config import toml
from hookline.errors import ConfigError

TEXT = '''# [[hook]]
title = """
[[hook]]
name = "not one"
"""

[[hook]]
name = 'a # b'          # [[hook]]
on = [
  "before_tool",
  "x = 1",
]
[hook.env]
A = "1"

[[ hook ]]  # second
"name" = "b"
env.B = "2"
quoted = "say \\"[[hook]]\\""

[[other]]
[[hook]]
name = "c"'''


def test_every_table_and_key_knows_its_line() -> None:
    document = toml.parse(TEXT)
    places = [("hook", 0), ("hook", 0, "name"), ("hook", 0, "on"), ("hook", 0, "env"), ("hook", 0, "env", "A")]
    places += [("hook", 1), ("hook", 1, "name"), ("hook", 1, "env", "B"), ("hook", 2), ("hook", 2, "name")]

    assert [document.line_of(place) for place in places] == [7, 8, 9, 13, 14, 16, 17, 18, 22, 23]
    assert document.value == tomllib.loads(TEXT)


def test_keys_of_inline_tables_stand_where_the_statement_does() -> None:
    document = toml.parse('a = 1\nhook = [{ on = "x" }, { on = "y" }]\n')

    assert document.line_of(("hook", 1, "on")) == 2


def test_header_in_the_last_line_is_found() -> None:
    assert toml.parse("a = 1\n[[hook]]").line_of(("hook", 0)) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb = \n", 2), ("[[hook]\n", 1), ("a = 1\na = 2\n", 2), ('x = 1\na = """\n\n', 2), ("a = 1\n[", 2)],
)
def test_mistakes_are_found_by_line(text: str, line: int) -> None:
    with pytest.raises(ConfigError) as caught:
        toml.parse(text, path="hookline.toml")

    assert caught.value.path == "hookline.toml"
    assert caught.value.line == line


def test_tables_nested_too_deeply_are_refused() -> None:
    with pytest.raises(ConfigError, match="deep"):
        toml.parse("a = " + "[" * 100_000)


@given(st.text(alphabet="[]{}=\"'#.ab1 \n\\,"))
def test_nothing_but_a_config_error_is_raised(text: str) -> None:
    with suppress(ConfigError):
        document = toml.parse(text)
        assert all(1 <= line <= text.count("\n") + 1 for line in document.lines.values())


def test_what_a_header_stands_in_has_the_line_of_the_first_header() -> None:
    document = toml.parse("a = 1\n\n[[hooks]]\nx = 1\n[[hooks]]\nx = 2\n[deep.er]\ny = 1\n")

    assert [document.line_of(path) for path in [("hooks",), ("hooks", 1), ("deep",), ("deep", "er", "y")]] == [
        3,
        5,
        7,
        8,
    ]
