"""Whatever the official library says of a condition, this reader says, too: value by value, and error by error."""

import math
import os
from collections.abc import Mapping
from typing import Final

import pytest
from cel_expr_python import cel  # type: ignore[import-untyped]
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hookline.conditions.compiler import BUDGET, EvaluationBudget, compile_node
from hookline.conditions.parser import BeyondError, parse
from hookline.errors import ConditionError, ConfigError
from tests.helpers.each import each

MANY: Final = int(os.environ.get("CONDITIONS", "1000"))
ENV: Final = cel.NewEnv()
ERROR: Final = "an error"
BEYOND: Final = "left to the library"

NAMES: Final = ("a", "b", "c", "tool", "args")
KEYS: Final = ("x", "y", "path", "if")
TEXTS: Final = ("", "a", "ab", "rm -rf", "é😀", "x", ".env", "a\nb", "1")
NUMBERS: Final = (0, 1, -1, 2, 3, 7, 2**53 + 1, 2**63 - 1, -(2**63))
DOUBLES: Final = (0.0, 1.0, -1.0, 0.5, 2.0, 1e300, 9007199254740992.0, 9.3e18)
PATTERNS: Final = ("a", "^a", "a$", "^$", ".", r"\\.env$", "(a|b)+", r"\\brm\\b", "[^a]", "(?i)A")

# One key in each map: in which order a loop looks at several, the library decides anew each time it is loaded.
values = st.recursive(
    st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(DOUBLES) | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=1),
    max_leaves=6,
)
contexts = st.dictionaries(st.sampled_from(NAMES), values, max_size=len(NAMES))


def quoted(text: str) -> str:
    return '"' + text.replace("\n", "\\n") + '"'


def joined(template: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda found: template.format(*found))


def signs(*known: str) -> st.SearchStrategy[str]:
    return st.sampled_from(known)


def loops(body: st.SearchStrategy[str], of: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    variable = signs("v", "a")
    plain = joined("({0}).{1}({2}, {3})", of, signs("all", "exists", "exists_one", "filter", "map"), variable, body)
    return plain | joined("({0}).map({1}, {2}, {3})", of, variable, body, body)


LEAVES: Final = (
    signs("true", "false", "null")
    | st.sampled_from(NUMBERS).map(str)
    | st.sampled_from(DOUBLES).map(repr)
    | st.sampled_from(TEXTS).map(quoted)
    | signs(*NAMES, "v", "args.x", "args.path", "args.if", "a.x.y", "a[0]", 'b["x"]', "[]", "{}")
)


def wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        joined("({0} {1} {2})", inner, signs("==", "!=", "<", "<=", ">", ">=", "in"), inner)
        | joined("({0} {1} {2})", inner, signs("&&", "||"), inner)
        | joined("({0} {1} {2} {1} {3})", inner, signs("&&", "||"), inner, inner)
        | joined("({0} {1} {2})", inner, signs("+", "-", "*", "/", "%"), inner)
        | joined("{0}({1})", signs("!", "-", "!!", "--"), inner)
        | joined("({0} ? {1} : {2})", inner, inner, inner)
        | joined("({0}).{1}({2})", inner, signs("contains", "startsWith", "endsWith"), inner)
        | joined("({0}).matches({1})", inner, st.sampled_from(PATTERNS).map(quoted) | inner)
        | joined("size({0})", inner)
        | joined("({0}).size()", inner)
        | joined("has(({0}).{1})", inner, signs(*KEYS))
        | joined("({0}).{1}", inner, signs(*KEYS))
        | joined("({0})[{1}]", inner, inner)
        | joined("[{0}, {1}]", inner, inner)
        | joined('{{"x": {0}}}', inner)
        | loops(inner, inner | joined("[{0}, {1}]", inner, inner))
    )


expressions = st.recursive(LEAVES, wider, max_leaves=12)


def told(value: object) -> object:
    """Tell a value with its type: 1, 1.0 and true are three things."""
    if isinstance(value, float):
        return ("double", "nan" if math.isnan(value) else value)
    if isinstance(value, list | tuple):
        return ("list", [told(item) for item in value])
    if isinstance(value, Mapping):
        return ("map", {key: told(item) for key, item in value.items()})
    return (type(value).__name__, value)


def ours(text: str, context: Mapping[str, object]) -> object:
    try:
        return told(compile_node(parse(text), text)({**context, BUDGET: EvaluationBudget()}))
    except BeyondError:
        return BEYOND
    except (ConditionError, ConfigError):
        return ERROR


def theirs(text: str, context: Mapping[str, object]) -> object:
    try:
        result = ENV.compile(text, disable_check=True).eval(data=context)
    except RuntimeError:
        return ERROR
    return ERROR if result.type().name() == "ERROR" else told(result.plain_value())


@pytest.mark.slow
@pytest.mark.spec("A-21")
@settings(max_examples=MANY)
@given(text=expressions, context=contexts)
@example(text="-9223372036854775808 % -1", context={})
@example(text="2.0 > 1 && a[0] < 3", context={"a": [2.5]})
def test_generated_conditions_mean_what_the_official_library_says(text: str, context: dict[str, object]) -> None:
    assert ours(text, context) == theirs(text, context)


@settings(max_examples=MANY)
@given(text=st.text(st.sampled_from("ab.()[]{}!&|=<>+-*/%?:,'\"\\rnux01 \n"), max_size=12))
@example(text="1.5.x")
@example(text="'a\\")
def test_what_is_no_condition_is_none_for_the_official_library_either(text: str) -> None:
    assert ours(text, {}) in (BEYOND, theirs(text, {}))


# Written by hand, because nobody would generate them.
@each(
    "text",
    [
        '1 == "1"',
        "1 == 1.0",
        "true == 1",
        "null == 0",
        "[1] == [1.0]",
        '{"x": 1} == {"x": 1.0}',
        "9007199254740993 == 9007199254740992.0",
        "9007199254740993 > 9007199254740992.0",
        "1 + 1.0",
        "-9223372036854775808",
        "9223372036854775808",
        "-(-9223372036854775808)",
        "9223372036854775807 + 1",
        "-9223372036854775808 / -1",
        "-7 / 2 == -3 && -7 % 2 == -1",
        "1.0 / 0.0 > 1.0e308",
        "0.0 / 0.0 == 0.0 / 0.0",
        "0x1F == 31",
        "1e3 == 1000",
        ".5 == 0.5",
        "5.",
        "l[1.0]",
        "l[1.5]",
        "l[-1]",
        "l[true]",
        "m[null]",
        "null in m",
        "1.0 in m",
        '"a" in "abc"',
        '"\\x41\\u00e9\\U0001F600\\101\\n\\"\\`\\?"',
        '"\\ud800"',
        '"\\d"',
        r'r"\d" + R"""a"b\c"""',
        "'''it's\nlong'''",
        '"a\nb"',
        "// nothing\n1 == 1 // really",
        "m.in",
        "m.if",
        "if",
        "1 < 2 < 3",
        "1 < 2 == true",
        "true ? 1 : 1/0",
        "true ? false ? 1 : 2 : 3",
        "1/0 == 1 || true",
        "false && 1",
        "1 && false",
        "1 || false",
        "!!5",
        "--s",
        "s.exists(x, true)",
        "[1, 'a', true].exists(x, x > 'A')",
        "[true, 1].exists_one(x, x)",
        "[[1, 2], [3]].exists(l, l.exists(x, x == 3)) && size(l) == 5",
        "size(m.map(k, m[k])) == 2 && m.all(k, m[k] in m.map(k, m[k]))",
        '{"x": 1, "if": 2.0} == m && m != {"x": 1, "y": 2}',
        "[1, 2, 3].map(x, x > 1, x * x)",
        "[3, 1].filter(x, x in [1, 2])",
        "[1,]",
        "[,]",
        "{,}",
        "{,'a': 1}",
        '{"a": 1,}',
        '{"a": 1, "a": 2}',
        'matches(s, "b")',
        "s.matches(1)",
        'size("é😀")',
        "has(s.x)",
        "has(m.x) && !has(m.z)",
        "has(m)",
    ],
)
def test_fine_points_are_those_of_the_official_library(text: str) -> None:
    context = {"m": {"x": 1, "if": 2}, "l": [1, 2.0, "a", None, True], "s": "abc"}

    assert ours(text, context) == theirs(text, context)


def test_loops_stop_where_those_of_the_official_library_do() -> None:
    text = "a.exists(x, x == 1)"

    assert ours(text, {"a": [0] * 9_999}) == theirs(text, {"a": [0] * 9_999}) == ("bool", False)
    assert ours(text, {"a": [0] * 10_001}) == theirs(text, {"a": [0] * 10_001}) == ERROR
    assert ours(f"{text} || {text}", {"a": [0] * 6_000}) == theirs(f"{text} || {text}", {"a": [0] * 6_000}) == ERROR
