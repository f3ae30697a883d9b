"""Split the text of a condition into tokens."""

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from hookline.conditions.errors import make_error, make_unsupported_error

# a condition is a few lines; longer policies belong into a hook
LONGEST: Final = 4096
_LARGEST: Final = 2**63

_TOKEN: Final = re.compile(
    r"""
    (?P<space>(?:[\ \t\r\n\f]|//[^\n]*)+)
    |(?P<raw>[rR](?:'''(?P<raw_long1>.*?)'''|\"\"\"(?P<raw_long2>.*?)\"\"\"|'(?P<raw1>[^'\r\n]*)'|"(?P<raw2>[^"\r\n]*)"))
    |(?P<bytes>(?:[bB][rR]?|[rR][bB])(?=['"]))
    |(?P<text>'''(?P<long1>(?:[^\\]|\\.)*?)'''|\"\"\"(?P<long2>(?:[^\\]|\\.)*?)\"\"\"
        |'(?P<short1>(?:[^'\\\r\n]|\\.)*)'|"(?P<short2>(?:[^"\\\r\n]|\\.)*)")
    |(?P<double>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<unsigned>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[<>+\-*/%!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_RAW: Final = ("raw_long1", "raw_long2", "raw1", "raw2")
_PLAIN: Final = ("long1", "long2", "short1", "short2")
_ESCAPE: Final = re.compile(
    r"\\(?:(?P<letter>[abfnrtv\\?\"'`])|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<bad>.|\Z))",
    re.DOTALL,
)
_SURROGATES: Final = range(0xD800, 0xE000)
_LETTERS: Final[Mapping[str, str]] = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_BASES: Final = {"x": 16, "u": 16, "U": 16, "octal": 8}
_SLIPS: Final[Mapping[str, str]] = {
    "=": '"=" alone is no operator; "==" compares',
    "&": '"&" alone is no operator; "&&" means and',
    "|": '"|" alone is no operator; "||" means or',
    "'": "this text has no end; it needs a closing '",
    '"': 'this text has no end; it needs a closing "',
}


class Token(Struct, frozen=True):
    """One token: its kind, position and value; `kind` is "end" after the last one."""

    kind: str
    at: int
    value: object = None

    def is_sign(self, *signs: str) -> bool:
        """Return whether it is one of these signs or words."""
        return self.kind in {"sign", "name"} and self.value in signs


def tokenize(text: str) -> list[Token]:
    """Split a text into tokens.

    Raises:
        ConfigError: A character that no token begins with, or a text that does not end.
        BeyondError: A number or text of a type that is not supported.
    """
    if len(text) > LONGEST:
        raise make_error(
            text, LONGEST, f"a condition has at most {LONGEST} characters; write a hook that decides instead"
        )
    return [*_scan(text), Token("end", len(text))]


def _scan(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise make_error(text, at, _SLIPS.get(text[at], f"{text[at]!r} has no meaning here"))
        kind = str(found.lastgroup)
        if kind != "space":
            yield _make_token(text, found, kind=kind)
        at = found.end()


def _make_token(text: str, found: re.Match[str], *, kind: str) -> Token:
    at, spelling = found.start(), found[0]
    match kind:
        case "int":
            number = int(spelling, 16 if spelling.startswith("0x") else 10)
            # one more than fits, because a minus may stand before it
            if number > _LARGEST:
                raise make_error(text, at, f"{spelling} does not fit into 64 bits")
            return Token(kind, at, number)
        case "double":
            return Token(kind, at, float(spelling))
        case "raw":
            return Token("text", at, next(found[group] for group in _RAW if found[group] is not None))
        case "text":
            group = next(group for group in _PLAIN if found[group] is not None)
            return Token(kind, at, _unescape(text, found[group], found.start(group)))
        case "bytes":
            raise make_unsupported_error(text, at, "bytes are not read here; write the text without the b")
        case "unsigned":
            raise make_unsupported_error(text, at, "unsigned numbers are not read here; write the number without the u")
        case _:
            return Token(kind, at, spelling)


def _unescape(text: str, content: str, start: int) -> str:
    if "\\" not in content:
        return content

    def replace_escape(found: re.Match[str]) -> str:
        group = str(found.lastgroup)
        if group == "letter":
            return _LETTERS.get(found[group], found[group])
        number = int(found[group], _BASES[group]) if group in _BASES else -1
        if not 0 <= number <= sys.maxunicode or number in _SURROGATES:
            advice = 'write r"…" for a text in which backslashes are just that'
            raise make_error(text, start + found.start(), f"{found[0]} is no character; {advice}")
        return chr(number)

    return _ESCAPE.sub(replace_escape, content)
