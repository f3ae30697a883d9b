import pytest

from hookline.conditions.parser import Token, tokenize
from hookline.errors import ConfigError


def values(text: str) -> list[object]:
    return [token.value for token in tokenize(text)][:-1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a\"b'", 'a"b'),
        ('"it\'s"', "it's"),
        (r'"\a\b\f\n\r\t\v\\\?\"\'\`"', "\a\b\f\n\r\t\v\\?\"'`"),
        (r'"\x41\101\u00e9\U0001F600"', "AAé😀"),
        (r'r"\d\""', None),
        (r'r"\d+"', r"\d+"),
        (r"R'''a\n'b'''", r"a\n'b"),
        ('"""a\n"b\\n"""', 'a\n"b\n'),
        ("0x1f", 31),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("2E-1", 0.2),
    ],
)
def test_literals_are_read_as_cel_reads_them(text: str, value: object) -> None:
    if value is None:
        with pytest.raises(ConfigError, match="no end"):
            tokenize(text)
    else:
        assert values(text) == [value]


@pytest.mark.parametrize("text", [r'"\d"', r'"\ud800"', r'"\U00110000"', r'"\400"', r'"\x4"'])
def test_escape_that_is_no_character_is_refused_with_advice(text: str) -> None:
    with pytest.raises(ConfigError, match=r'is no character; write r"…"'):
        tokenize(text)


@pytest.mark.parametrize("text", ["'a", '"a\nb"', "'''a''", '"a\\'])
def test_text_without_an_end_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="this text has no end"):
        tokenize(text)


def test_comments_and_blanks_are_no_tokens() -> None:
    assert values("a // b\n\t&&\f c") == ["a", "&&", "c"]


def test_text_is_not_taken_for_a_sign() -> None:
    assert not tokenize('"("')[0].is_sign("(")
    assert tokenize("(")[0].is_sign("(", "[")


def test_end_is_a_token_behind_the_last_character() -> None:
    assert tokenize("a ") == [Token("name", 0, "a"), Token("end", 2)]


def test_number_that_does_not_fit_is_refused_where_it_stands() -> None:
    with pytest.raises(ConfigError, match="does not fit into 64 bits, at column 6"):
        tokenize("a == 0xffffffffffffffff")
