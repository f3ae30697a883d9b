"""Which characters a part of a pattern accepts."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

Test: TypeAlias = Callable[[str], bool]

# RE2 knows only these behind a backslash: its words are ASCII words
ASCII: Final[Mapping[str, str]] = {"d": "0-9", "s": "\t\n\f\r ", "w": "0-9A-Za-z_"}
POSIX: Final[Mapping[str, str]] = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\0-\x7f",
    "blank": "\t ",
    "cntrl": "\0-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@[-`{-~",
    "space": "\t-\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
CATEGORIES: Final = frozenset(
    (
        *("C", "Cc", "Cf", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No"),
        *("P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"),
    )
)
# Python knows these only from their capital or small letter towards the other
_FAMILIES: Final[Mapping[str, str]] = {one: family for family in ("kK\u212a", "sS\u017f", "åÅ\u212b") for one in family}


def folded(test: Test) -> Test:
    """Accept a character in any case."""
    return lambda char: any(map(test, _family(char)))


def _family(char: str) -> Iterator[str]:
    """Give a character in every case it has."""
    yield char
    yield from _FAMILIES.get(char, "")
    yield from (other for other in (char.lower(), char.upper(), char.title(), char.casefold()) if len(other) == 1)
    # two small letters may share a capital one, as the sigmas do
    yield from (other for other in (char.upper().lower(), char.casefold().upper()) if len(other) == 1)


def pairs(text: str) -> list[tuple[str, str]]:
    """Read the ranges of our own tables."""
    return [(found[1], found[2] or found[1]) for found in re.finditer(r"(.)(?:-(.))?", text, re.DOTALL)]


def ranges(of: Sequence[tuple[str, str]]) -> Test:
    """Accept what lies in one of the ranges."""
    return lambda char: any(first <= char <= last for first, last in of)


def only(one: str) -> Test:
    """Accept one character."""
    return lambda char: char == one


def in_category(name: str) -> Test:
    """Accept what Unicode calls by this name, as `L` and `Lu`; what is not assigned has no name in RE2."""
    return lambda char: (found := unicodedata.category(char)).startswith(name) and found != "Cn"


def any_of(tests: Sequence[Test]) -> Test:
    """Accept what one of the tests accepts."""
    return lambda char: any(test(char) for test in tests)


def none_of(tests: Sequence[Test]) -> Test:
    """Accept what none of the tests accepts."""
    return lambda char: not any(test(char) for test in tests)


def anything(_char: str) -> bool:
    """Accept every character."""
    return True


def anything_in_a_line(char: str) -> bool:
    """Accept every character but the end of a line."""
    return char != "\n"
