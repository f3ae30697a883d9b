"""What patterns match, written down: these hold also where RE2 is not there to compare with."""

import pytest

from hookline.conditions.regex import compile_regex

YES = [
    # literals and escapes
    ("abc", "xxabcxx"),
    (r"a\.b", "a.b"),
    (r"\x41\x{e9}\101", "AéA"),
    (r"\t\n\r\f\v\a", "\t\n\r\f\v\a"),
    (r"\Qa.b*\Ec", "a.b*c"),
    (r"\Q(((", "((("),
    ("a{,2}", "a{,2}"),
    ("a{", "a{"),
    ("}]", "}]"),
    # sets
    ("[abc]", "c"),
    ("[^abc]", "d"),
    ("[a-cx-z]", "y"),
    ("[]]", "]"),
    ("[^]]", "a"),
    ("[a-]", "-"),
    ("[-a]", "-"),
    (r"[\]\\]", "\\"),
    (r"[\d.]+$", "1.2"),
    (r"[^\D]", "5"),
    ("[[:alpha:]_]", "_"),
    ("[[:^alpha:]]", "1"),
    (r"[\pL]", "é"),
    (r"\PL", "1"),
    (r"\p{^L}", "1"),
    (r"\p{Any}", "\n"),
    ("[^a]", "\n"),
    # places
    ("^a", "ab"),
    ("b$", "ab"),
    (r"\Aa\z", "a"),
    (r"\bword\b", "a word here"),
    (r"\Bor\B", "word"),
    ("(?m)^b$", "a\nb\nc"),
    ("(?m)a$", "a\nb"),
    # repetition
    ("^a*$", ""),
    ("^a+$", "aaa"),
    ("^a?b$", "b"),
    ("^a{3}$", "aaa"),
    ("^a{2,}$", "aaaa"),
    ("^a{1,2}$", "aa"),
    ("^(ab)+?$", "abab"),
    ("^(a|b)*c$", "abbac"),
    ("^(a*)*$", "aaa"),
    ("^(|a)+$", "aa"),
    ("x{0}y", "y"),
    # alternatives
    ("cat|dog", "hotdog"),
    ("^(cat|)$", ""),
    ("a||b", ""),
    # flags
    ("(?i)HELLO", "hello"),
    ("(?i:h)ELLO", "hELLO"),
    ("a(?i)b", "aB"),
    ("(?s)a.b", "a\nb"),
    ("(?is)A.B", "a\nb"),
    ("(?i-i)a", "a"),
    ("((?i)a)b", "Ab"),
    ("(?U)a+", "a"),
    # groups
    ("(?P<year>[0-9]{4})-(?<month>[0-9]{2})", "2026-11"),
    ("((((a))))", "a"),
    ("()", ""),
]
NO = [
    ("abc", "ab"),
    (r"a\.b", "axb"),
    ("[abc]", "d"),
    ("[^abc]", "abc"),
    (r"\d", "٣"),
    (r"\w", "é"),
    (r"\s", "\v"),
    ("^a", "ba"),
    ("a$", "ab"),
    ("a$", "a\n"),
    ("^b$", "a\nb\nc"),
    (r"\bword\b", "swordfish"),
    ("^a+$", ""),
    ("^a{3}$", "aa"),
    ("^a{1,2}$", "aaa"),
    ("a.b", "a\nb"),
    ("(?i:h)ELLO", "hello"),
    ("((?i)a)b", "AB"),
    ("(?i)(?-i)a", "A"),
    ("cat|dog", "bird"),
    (r"\Qa.b\E", "axb"),
    (r"\pL", "1"),
    ("[[:alpha:]]", "é"),
]


@pytest.mark.parametrize(("pattern", "text"), YES)
def test_pattern_is_found(pattern: str, text: str) -> None:
    assert compile_regex(pattern).matches(text)


@pytest.mark.parametrize(("pattern", "text"), NO)
def test_pattern_is_not_found(pattern: str, text: str) -> None:
    assert not compile_regex(pattern).matches(text)
