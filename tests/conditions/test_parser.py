import pytest

from hookline.conditions.parser import (
    DEEPEST,
    BeyondError,
    Chain,
    Literal,
    Name,
    Node,
    Operation,
    Select,
    list_children,
    parse,
    spell_path,
)
from hookline.errors import ConfigError


def complaint(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert not isinstance(caught.value, BeyondError)
    return caught.value.message


def grouped(text: str) -> str:
    """Write a condition with every parenthesis that it means."""

    def written(node: Node) -> str:
        if isinstance(node, Chain | Operation):
            return f"({f' {node.operator} '.join(map(written, list_children(node)))})"
        return spell_path(node)

    return written(parse(text))


@pytest.mark.spec("A-21")
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('tool = "x"', 'if: "=" alone is no operator; "==" compares, at column 6: tool -->= "x"'),
        ("a & b", 'if: "&" alone is no operator; "&&" means and, at column 3: a -->& b'),
        ("tool and x", 'if: "and" is Python; a condition says "&&", at column 6: tool -->and x'),
        ("not x", 'if: "not" is Python; a condition says "!", at column 1: -->not x'),
        ("x == True", 'if: "True" is Python; a condition says "true", at column 6: x == -->True'),
        ("", "if: the condition is empty; leave the key out, or say when the hook is meant, at column 1: -->"),
        ("a.", "if: the name of a field is missing before the end, at column 3: a.-->"),
        ("a.in", 'if: the name of a field is missing before "in", at column 3: a.-->in'),
        ("(a", 'if: ")" is missing before the end, at column 3: (a-->'),
        ("[a b]", 'if: "]" is missing before "b", at column 4: [a -->b]'),
        ("a)", 'if: an operator such as && is missing before ")", at column 2: a-->)'),
        ('a "x"', 'if: an operator such as && is missing before this text, at column 3: a -->"x"'),
        ("a ==", "if: a value is missing before the end, at column 5: a ==-->"),
        ("a ? b", 'if: ":" is missing before the end, at column 6: a ? b-->'),
        ("has(a)", 'if: "has" asks for a field, as in has(args.timeout), at column 1: -->has(a)'),
        ("a.contains()", 'if: "contains" takes 1 argument, not 0, at column 3: a.-->contains()'),
        ("size()", 'if: "size" takes 1 argument, not 0, at column 1: -->size()'),
        ("a.size(1)", 'if: "size" takes no arguments, not 1, at column 3: a.-->size(1)'),
        (
            "contains(a, b)",
            'if: "contains" comes after a dot, as in args.x.contains(…), at column 1: -->contains(a, b)',
        ),
        ("a.all(1, b)", 'if: "all" begins with a name, as in all(x, x == 1), at column 7: a.all(-->1, b)'),
        ("for", 'if: CEL keeps the word "for" for itself; write data.for, at column 1: -->for'),
        ("{'a': 1, 'a': 2}", "if: \"a\" is a key of this map already, at column 10: {'a': 1, -->'a': 2}"),
        ("a\n  && b =", 'if: "=" alone is no operator; "==" compares, at line 2, column 8:   && b -->='),
        (
            "9223372036854775808",
            "if: 9223372036854775808 does not fit into 64 bits, at column 1: -->9223372036854775808",
        ),
    ],
)
def test_what_is_no_condition_is_told_with_its_place(text: str, what: str) -> None:
    assert complaint(text) == what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('tool.contians("x")', 'unknown function "contians" (did you mean "contains"?), at column 6'),
        ("lenght(tool)", 'unknown function "lenght", at column 1'),
        ("hass(a.b)", 'unknown function "hass" (did you mean "has"?), at column 1'),
        ("a.startswith('x')", 'unknown function "startswith" (did you mean "startsWith"?), at column 3'),
        ("a.exist(x, x)", 'unknown function "exist" (did you mean "exists"?), at column 3'),
        ("1u", "unsigned numbers are not read here"),
        ("b'x'", "bytes are not read here"),
        ("a.?b", "optional fields are not read here"),
        ("a[?0]", "optional indexes are not read here"),
        ("[?a]", "optional values are not read here"),
        ("{1: 2}", "only texts are read here as keys of a map"),
        ("a.B{}", "messages are not read here"),
        ("a.all(i, v, v > i)", '"all" takes a name and what to ask'),
    ],
)
def test_more_of_cel_is_told_apart_from_what_is_wrong(text: str, what: str) -> None:
    with pytest.raises(BeyondError) as caught:
        parse(text)

    assert caught.value.message.startswith(f"if: {what}")


def test_operators_hold_together_as_in_cel() -> None:
    assert grouped("a || b && c == d + e * f") == "(a || (b && (c == (d + (e * f)))))"
    assert grouped("a - b - c < d") == "(((a - b) - c) < d)"
    assert grouped("a && b || c && d || e") == "((a && b) || (c && d) || e)"
    assert grouped("a in b == c") == "((a in b) == c)"
    assert grouped("a * (b + c) % d") == "((a * (b + c)) % d)"


def test_long_rows_are_not_deep() -> None:
    row = parse(" && ".join(["a"] * 500))

    assert isinstance(row, Chain)
    assert len(row.parts) == 500


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1000 + "a" + ")" * 1000,
        "[" * 1000 + "]" * 1000,
        "!(" * 500 + "a" + ")" * 500,
        "a" + ".b" * 500,
        "a" + "[0]" * 500,
        "1" + "+1" * 1000,
        "a ? b : " * 400 + "c",
        "a" + ".map(x, x)" * 200,
    ],
)
def test_depth_is_bounded_whatever_makes_it(text: str) -> None:
    assert f"more than {DEEPEST} levels inside each other" in complaint(text)


def test_length_is_bounded() -> None:
    assert "a condition has at most 4096 characters" in complaint("a" * 4097)


def test_sign_belongs_to_the_number() -> None:
    assert parse("-9223372036854775808") == Literal(1, -(2**63))
    assert parse("--1") == Literal(2, 1)


def test_name_is_spelled_with_the_fields_behind_it() -> None:
    assert spell_path(parse('args.list[0]["a b"].c')) == "args.list[0]['a b'].c"
    assert spell_path(parse("[1].x")) == ""


def test_every_word_gives_what_stands_inside_it() -> None:
    node = parse('{"k": a.exists(v, v[i] ? [size(b)] : has(c.d) && -e)}')
    names: list[str] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        names += [one.name] if isinstance(one, Name) else []
        waiting += list_children(one)

    assert sorted(names) == ["a", "b", "c", "e", "i", "v"]


def test_reserved_word_may_be_a_field() -> None:
    assert parse("args.function") == Select(4, Name(0, "args"), "function")
