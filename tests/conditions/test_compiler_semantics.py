"""What the words of a condition mean, written down: these hold also where the official library is not there."""

import math
from collections.abc import Mapping

import pytest

from hookline.conditions.compiler import BUDGET, EvaluationBudget, compile_node
from hookline.conditions.parser import parse
from hookline.errors import ConditionError
from tests.helpers.each import each

CONTEXT: Mapping[str, object] = {
    "t": True,
    "f": False,
    "n": None,
    "i": 7,
    "d": 2.5,
    "s": "héllo",
    "l": [1, 2.0, "a", None, True],
    "m": {"x": 1, "y": {"z": [10, 20]}, "a b": "c", "nothing": None},
    "deep": {"list": [{"k": 1}, {"k": 2}]},
}


def value(text: str) -> object:
    return compile_node(parse(text), text)({**CONTEXT, BUDGET: EvaluationBudget()})


def same(found: object, expected: object) -> bool:
    return type(found) is type(expected) and found == expected


@each(
    ("text", "expected"),
    [
        # equality looks at types, but not at those of numbers
        ("1 == 1.0", True),
        ("1 != 1.5", True),
        ('1 == "1"', False),
        ("true == 1", False),
        ("null == false", False),
        ("null == n", True),
        ("[1, 2] == [1.0, 2.0]", True),
        ("[1, 2] == [2, 1]", False),
        ('{"x": [1]} == {"x": [1.0]}', True),
        ('m != {"x": 1}', True),
        ('s == "héllo"', True),
        ("s == 5", False),
        # order
        ("1 < 2", True),
        ("2 <= 2.0", True),
        ("-1 > -2", True),
        ("2.5 >= 2", True),
        ('"a" < "b"', True),
        ('"Z" < "a"', True),
        ('"é" > "z"', True),
        ("false < true", True),
        # and, or, not
        ("t && !f", True),
        ("f || t", True),
        ("t && t && f", False),
        ("f || f || f", False),
        ("nobody || t", True),
        ("t || nobody", True),
        ("f && nobody", False),
        ("nobody && f", False),
        ("nobody && i && f", False),
        ("i || t", True),
        ("!!t", True),
        # choice looks only at the side it takes
        ("t ? 1 : nobody", 1),
        ("f ? nobody : 2", 2),
        ("f ? 1 : t ? 2 : 3", 2),
        # arithmetic
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 - 2 - 1", 4),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 % 2", -1),
        ("7 % -2", 1),
        ("7.0 / 2.0", 3.5),
        ("-i", -7),
        ("-d", -2.5),
        ("--i", 7),
        ("1.0 / 0.0", math.inf),
        ("-1.0 / 0.0", -math.inf),
        ("0.1 + 0.2", 0.1 + 0.2),
        ('"a" + "b" + "c"', "abc"),
        ("[1] + [2]", [1, 2]),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0xff", 255),
        # reaching
        ("m.x", 1),
        ('m["a b"]', "c"),
        ("m.y.z[1]", 20),
        ("l[0]", 1),
        ("l[1.0]", 2.0),
        ("deep.list[1].k", 2),
        ('{"a": {"b": 1}}.a.b', 1),
        ("[[1], [2, 3]][1][0]", 2),
        # has
        ("has(m.x)", True),
        ("has(m.nothing)", True),
        ("has(m.gone)", False),
        ("has(m.y.z)", True),
        ("has(m.y.gone)", False),
        # in
        ("1 in l", True),
        ("2 in l", True),
        ('"a" in l', True),
        ("null in l", True),
        ("false in l", False),
        ("[1] in [[1.0]]", True),
        ('"x" in m', True),
        ("1 in m", False),
        # texts
        ('s.contains("ll")', True),
        ('s.contains("")', True),
        ('s.startsWith("hé")', True),
        ('s.endsWith("LO")', False),
        ('s.matches("^h.llo$")', True),
        ('matches(s, "l{2}")', True),
        ("size(s)", 5),
        ("s.size()", 5),
        ("size(l)", 5),
        ("size(m)", 4),
        ("size([])", 0),
        # loops
        ("l.exists(x, x == 2)", True),
        ("l.exists(x, x > 1)", True),
        ("[].exists(x, true)", False),
        ("[].all(x, false)", True),
        ("[1, 2, 3].all(x, x > 0)", True),
        ('[1, "a"].all(x, x > 1)', False),
        ("[1, 2, 2].exists_one(x, x == 1)", True),
        ("[1, 2, 2].exists_one(x, x == 2)", False),
        ("[1, 2, 3].filter(x, x % 2 == 1)", [1, 3]),
        ("[1, 2, 3].map(x, x * i)", [7, 14, 21]),
        ("[1, 2, 3].map(x, x > 1, x * i)", [14, 21]),
        ('m.exists(k, k == "a b")', True),
        ("deep.list.map(e, e.k)", [1, 2]),
        ("[[1, 2], [3]].exists(row, row.exists(x, x == 3))", True),
        ("[1, 2].map(i, [3].map(j, i * j))", [[3], [6]]),
        # literals
        ("[1, 'a', true, null, 1.5,]", [1, "a", True, None, 1.5]),
        ('{"a": 1, "b": [2]}', {"a": 1, "b": [2]}),
        (r'"\u00e9\n\x41"', "é\nA"),
        (r"r'\d'", r"\d"),
    ],
)
def test_value_of(text: str, expected: object) -> None:
    found = value(text)

    assert same(found, expected), found


@each(
    "text",
    [
        '1 < "a"',
        "null < null",
        "[1] < [2]",
        "t < 1",
        "1 + 1.0",
        '"a" + 1',
        '"a" * 2',
        "5.0 % 2.0",
        "1 / 0",
        "1 % 0",
        "9223372036854775807 + 1",
        "-9223372036854775808 - 1",
        "9223372036854775807 * 2",
        "-9223372036854775808 / -1",
        "-9223372036854775808 % -1",
        "-(-9223372036854775808)",
        "-t",
        "!i",
        "!n",
        "i && t",
        "t && i",
        "f || i",
        "i ? t : f",
        "n ? t : f",
        "nobody",
        "m.gone",
        "m.x.y",
        "l.x",
        "n.x",
        "l[5]",
        "l[-1]",
        "l[0.5]",
        'l["0"]',
        "l[t]",
        "m[n]",
        "m[[1]]",
        "m[1]",
        "s[0]",
        "has(s.x)",
        "has(n.x)",
        "has(nobody.x)",
        '"h" in s',
        "1 in 5",
        "1 in n",
        "n in m",
        "size(i)",
        "size(n)",
        "i.size()",
        "i.contains('a')",
        "s.contains(i)",
        'l.contains("a")',
        "s.startsWith(n)",
        "s.matches(i)",
        "i.matches('a')",
        "s.matches(s + '[')",
        "s.exists(c, true)",
        "n.all(x, true)",
        "[1].all(x, x)",
        "[1].exists(x, x)",
        "[1].exists_one(x, x)",
        "[1].filter(x, x)",
        "[1].map(x, x, x)",
        "[1, 'a'].exists(x, x > 5)",
        "[1, 'a'].exists_one(x, x > 0)",
        "[0].map(x, 1 / x)",
    ],
)
def test_no_value_of(text: str) -> None:
    with pytest.raises(ConditionError):
        value(text)
