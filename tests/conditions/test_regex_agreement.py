"""Patterns match what they match for RE2, which the official library searches with."""

import os
from typing import Final

import pytest
from cel_expr_python import cel  # type: ignore[import-untyped]
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hookline.conditions.regex import compile_regex
from hookline.errors import ConfigError

MANY: Final = int(os.environ.get("CONDITIONS", "1000"))
ENV: Final = cel.NewEnv()
SEARCH: Final = ENV.compile("text.matches(pattern)", disable_check=True)
ERROR: Final = "an error"

ATOMS: Final = (
    *("a", "b", "A", "k", "s", "é", "É", " ", "1", "_", ".", "-", "\\n", "^", "$", "{", "}", ",", "]", "#"),
    *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", r"\A", r"\z", r"\.", r"\\", r"\x41", r"\x{e9}", r"\101"),
    *(r"\pL", r"\p{Lu}", r"\PN", r"\p{^Ll}", r"\Qa.b\E", r"\Q*", r"\0", r"\a", r"\-", r"\_"),
    *("[ab]", "[^ab]", "[a-c]", "[^a-c\\d]", "[]a]", "[^]]", "[a-]", "[-a]", "[[:alpha:]]", "[[:^digit:]_]", r"[\w.]"),
    *("(?i)", "(?s)", "(?m)", "(?-i)", "(?U)"),
)
WRONG: Final = (
    r"\1",
    r"\8",
    r"\Z",
    r"\G",
    "(?=a)",
    "(?!a)",
    "(?<=a)",
    "(?>a)",
    "(?#a)",
    "a*+",
    "a**",
    "(",
    ")",
    "[",
    "[b-a]",
)

patterns = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: (
        st.lists(inner, max_size=4).map("".join)
        | st.tuples(inner, inner).map("|".join)
        | st.tuples(
            st.sampled_from(("({})", "(?:{})", "(?i:{})", "(?P<n>{})", "(?<m>{})", "(?s-i:{})", "(?m:{})")), inner
        ).map(lambda two: two[0].format(two[1]))
        | st.tuples(
            inner, st.sampled_from(("*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{1,2}", "{2,}", "{,2}", "{0,3}?"))
        ).map("".join)
    ),
    max_leaves=8,
)
texts = st.text(st.sampled_from("aAbBckKsS\u212a\u017féÉ 1_.-\n\r\t]{}\\#^$"), max_size=10)


def ours(pattern: str, text: str) -> object:
    try:
        return compile_regex(pattern).matches(text)
    except ConfigError:
        return ERROR


def theirs(pattern: str, text: str) -> object:
    result = SEARCH.eval(data={"text": text, "pattern": pattern})
    return ERROR if result.type().name() == "ERROR" else result.value()


@settings(max_examples=MANY)
@given(pattern=patterns, text=texts)
@example(pattern="(?i)k", text="\u212a")
@example(pattern="(?i)[^s]", text="\u017f")
@example(pattern=r"(?m)^b$", text="a\nb\nc")
def test_generated_patterns_match_what_they_match_for_re2(pattern: str, text: str) -> None:
    assert ours(pattern, text) == theirs(pattern, text)


@pytest.mark.slow
@settings(max_examples=MANY)
@given(pattern=st.text(st.sampled_from("ab()[]{}^$|*+?.\\-:=!<>Pims012,dwzQE"), max_size=8), text=texts)
def test_any_text_is_a_pattern_for_both_or_for_none(pattern: str, text: str) -> None:
    assert ours(pattern, text) == theirs(pattern, text)


@pytest.mark.parametrize("pattern", WRONG)
def test_what_re2_refuses_is_refused(pattern: str) -> None:
    assert ours(pattern, "a") == theirs(pattern, "a") == ERROR
