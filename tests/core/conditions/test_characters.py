import string
import unicodedata

import pytest

from hookline.core.conditions.characters import (
    ASCII,
    CATEGORIES,
    POSIX,
    any_of,
    anything,
    anything_in_a_line,
    folded,
    in_category,
    none_of,
    only,
    pairs,
    ranges,
)


def accepted(text: str) -> str:
    """Give the ASCII characters that a row of our tables stands for."""
    test = ranges(pairs(text))
    return "".join(char for char in map(chr, range(128)) if test(char))


@pytest.mark.parametrize(
    ("name", "characters"),
    [
        ("alnum", string.digits + string.ascii_letters),
        ("alpha", string.ascii_letters),
        ("ascii", "".join(map(chr, range(128)))),
        ("blank", "\t "),
        ("cntrl", "".join(map(chr, (*range(32), 127)))),
        ("digit", string.digits),
        ("graph", string.digits + string.ascii_letters + string.punctuation),
        ("lower", string.ascii_lowercase),
        ("print", string.digits + string.ascii_letters + string.punctuation + " "),
        ("punct", string.punctuation),
        ("space", string.whitespace),
        ("upper", string.ascii_uppercase),
        ("word", string.digits + string.ascii_letters + "_"),
        ("xdigit", string.hexdigits),
    ],
)
def test_classes_of_posix_have_their_characters(name: str, characters: str) -> None:
    assert accepted(POSIX[name]) == "".join(sorted(characters))


def test_every_class_of_posix_is_tested() -> None:
    assert len(POSIX) == 14


def test_letters_behind_a_backslash_mean_ascii() -> None:
    assert accepted(ASCII["d"]) == string.digits
    assert accepted(ASCII["s"]) == "\t\n\f\r "
    assert accepted(ASCII["w"]) == "".join(sorted(string.digits + string.ascii_letters + "_"))


@pytest.mark.parametrize(
    ("one", "others"),
    [
        ("a", "A"),
        ("É", "é"),
        ("k", "K\u212a"),
        ("\u017f", "sS"),
        ("\u03c3", "\u03a3\u03c2"),
        ("å", "Å\u212b"),
        ("ß", "ẞ"),
        ("1", ""),
    ],
)
def test_case_is_looked_over_in_every_direction(one: str, others: str) -> None:
    test = folded(only(one))

    assert all(map(test, one + others))
    assert not test("x")


def test_categories_are_those_of_unicode() -> None:
    # surrogates are no characters, and what is not assigned has no category in RE2
    known = {unicodedata.category(chr(code)) for code in range(0x110000)} - {"Cs", "Cn"}

    assert {name for name in CATEGORIES if len(name) == 2} == known
    assert {name for name in CATEGORIES if len(name) == 1} == {name[0] for name in known}
    assert in_category("L")("é")
    assert in_category("Lu")("É")
    assert not in_category("Lu")("é")
    assert in_category("C")("\0")
    assert not in_category("C")("\u0378")


def test_tests_are_combined() -> None:
    either = any_of([only("a"), ranges([("x", "z")])])

    assert [either(char) for char in "axyzb"] == [True, True, True, True, False]
    assert [none_of([either])(char) for char in "ab"] == [False, True]
    assert anything("\n")
    assert not anything_in_a_line("\n")
    assert anything_in_a_line("a")
