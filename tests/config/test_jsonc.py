import json
from contextlib import suppress
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.config import jsonc
from hookline.errors import ConfigError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.spec("C-02")
def test_comments_and_trailing_commas_are_read() -> None:
    text = '{ // a comment with "quotes"\n "a": [1, 2, /* , */ ],\n "url": "http://x//y", /* two\nlines */\n}'

    assert jsonc.parse(text).value == {"a": [1, 2], "url": "http://x//y"}


def test_lines_stay_right_behind_comments() -> None:
    text = '{\n  /* one\n  two */\n  "hooks": [\n    {"a": 1},\n    // here\n    {"b": {"c": []}},\n  ],\n}'
    document = jsonc.parse(text)

    assert document.line_of(("hooks",)) == 4
    assert document.line_of(("hooks", 0)) == 5
    assert document.line_of(("hooks", 1, "b", "c")) == 7


def test_part_without_a_line_of_its_own_stands_where_its_owner_does() -> None:
    document = jsonc.parse('{\n "a":\n {"b": 1}}')

    assert document.line_of(("a", "missing", 3)) == 2
    assert document.line_of(("nothing",)) == 1
    assert document.line_of(()) == 1


def test_escaped_keys_are_found() -> None:
    assert jsonc.parse('{\n"a\\u0062\\"": 1}').line_of(('ab"',)) == 2


def test_repeated_keys_are_known() -> None:
    document = jsonc.parse('{"a": 1,\n "b": {"c": 1},\n "a": 2,\n "b": {"c": 3}}')

    assert document.repeated == ((("a",), 3), (("b",), 4), (("b", "c"), 4))


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{\n "a": 1\n "b": 2}', 3, 2),
        ('{\n "a": }', 2, 7),
        ("[\n,]", 2, 1),
        ('{"a": 1,,}', 1, 9),
        ("{,}", 1, 2),
        ('{\n "a": [1, 2}', 2, 12),
        ('{"a": 1}\n{"b": 2}', 2, 1),
        ("{'a': 1}", 1, 2),
        ('{"a": "x\ny"}', 1, 9),
        ("{}\n  /* never closed", 2, 3),
        ("{\n// only this\n", 3, 1),
    ],
)
def test_mistakes_are_found_by_line_and_column(text: str, line: int, column: int) -> None:
    with pytest.raises(ConfigError) as caught:
        jsonc.parse(text, path="settings.json")

    assert (caught.value.path, caught.value.line) == ("settings.json", line)
    assert f"(column {column})" in caught.value.message


@pytest.mark.parametrize(
    "text", ["", "  \n", "// nothing\n", '{"a": NaN}', "[" * 100_000, "[" * 100_000 + "]" * 100_000]
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        jsonc.parse(text)


@given(JSON)
def test_plain_json_reads_as_it_is(value: object) -> None:
    assert jsonc.parse(json.dumps(value, indent=1)).value == value


@given(JSON)
def test_blanking_leaves_plain_json_alone(value: object) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)

    assert jsonc.blank(text) == text


@given(JSON, st.sampled_from(["// x\n", '/* , ] } " */', "/**/", "\n"]))
def test_comments_anywhere_change_nothing(value: object, comment: str) -> None:
    plain = json.dumps(value, separators=("\n,\n", "\n:\n"), ensure_ascii=True)
    # a newline inside a string is always escaped, so every real one is between tokens
    assert jsonc.parse(plain.replace("\n", f"\n{comment}\n") + comment).value == value


@given(st.text(alphabet='{}[]",:/*\\ \n1a'))
def test_nothing_but_a_config_error_is_raised(text: str) -> None:
    with suppress(ConfigError):
        jsonc.parse(text)


@pytest.mark.parametrize(
    "unit", ["[", '"', ",", "/*", "/", "[,", "{", "//", '{"a":', "\\", '"\\', ", ", "/**/,", "\n", '"a",']
)
def test_a_megabyte_of_anything_is_read_in_linear_time(unit: str) -> None:
    text = "[" + unit * (1_000_000 // len(unit))
    started = perf_counter()

    with pytest.raises(ConfigError):
        jsonc.parse(text)

    assert perf_counter() - started < 10


def test_repeated_keys_are_found_however_deep_and_whatever_looks_like_a_key() -> None:
    plain = '{"a": {"b": [{"c": "x\\": y", "d": "{\\"e\\": 1}"}]}}'
    twice = '{"a": {"b": [{"c": 1,\n "c": 2}]}}'
    spaced = '{"a" : 1, "a": 2}'

    assert jsonc.parse(plain).repeated == ()
    assert jsonc.parse(spaced).repeated == ((("a",), 1),)
    assert jsonc.parse(twice).repeated == ((("a", "b", 0, "c"), 2),)


def test_document_nested_as_deeply_as_the_parser_allows_is_read() -> None:
    depth = 200
    document = jsonc.parse("[" * depth + '{"a": 1}' + "]" * depth)

    assert document.repeated == ()
    assert document.line_of((0,)) == 1
