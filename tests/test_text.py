import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.text import count_columns, escape, escape_all, sanitize, shell_quote, wrap

# what terminals obey, or show as nothing
HOSTILE = st.sampled_from(
    [
        *[
            "\x1b[2J",
            "\x1b]8;;https://evil.example\x07x\x1b]8;;\x07",
            "\x9b31m",
            "\r",
            "\b",
            "\x7f",
            "\u202e",
            "\u2066",
        ],
        *["\u200b", "\u200d", "\ufe0f", "\ufe01", "\U000e0041", "\U000e0100", "\u3164", "\u2800", "\u034f", "\ufeff"],
        *["\u2028", "\x85", "\0", "\ud800", "a", "é", "漢", "❤", "👩", "\n", "\t", " ", "\u0301"],
    ]
)
TEXTS = st.one_of(st.text(), st.lists(HOSTILE).map("".join))


def steers(text: str) -> list[str]:
    """Find what a terminal would obey: everything but the joiner inside an emoji is a matter of category."""
    return [
        mark
        for mark in text
        if mark not in {"\n", "\u200d"} and unicodedata.category(mark) in {"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"}
    ]


@pytest.mark.spec("P-19")
@given(TEXTS, st.integers(min_value=1, max_value=50))
def test_whatever_the_text_nothing_steers_the_terminal_and_the_length_is_bounded(text: str, longest: int) -> None:
    shown = sanitize(text, longest=longest)

    assert steers(shown) == []
    assert len(shown) <= longest + len(f"… ({len(text)} characters)")


@given(TEXTS)
def test_exact_text_is_one_line(text: str) -> None:
    shown = escape_all(text)

    assert steers(shown) == []
    assert "\n" not in shown


@given(TEXTS)
def test_escaping_twice_is_escaping_once(text: str) -> None:
    assert escape(escape(text)) == escape(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x\x1b[2K\r harmless", r"x\x1b[2K\r harmless"),
        ("\x1b]8;;http://evil\x07link\x1b]8;;\x07", r"\x1b]8;;http://evil\x07link\x1b]8;;\x07"),
        ("\x9b31m\x85", r"\x9b31m\x85"),
        ("abc\u202egpj.exe", r"abc\u202egpj.exe"),
        ("a\u200bb\ufeff", r"a\u200bb\ufeff"),
        ("hi\U000e0041\U000e0100", r"hi\U000e0041\U000e0100"),
        ("a\ufe0fb\ufe01", r"a\ufe0fb\ufe01"),
        ("a\u200db", r"a\u200db"),
        ("\u3164\u2800", r"\u3164\u2800"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + r"\u0301\u0301"),
        ("one\r\ntwo\tthree", "one\ntwo three"),
        ("a\u00a0b\u3000c", "a b c"),
    ],
)
def test_what_steers_or_hides_is_spelled_out(text: str, shown: str) -> None:
    assert escape(text) == shown


@pytest.mark.parametrize("text", ["naïve café", "漢字かな", "שלום", "❤️ 👍🏽 1️⃣ 👩‍👩‍👧", "e\u0301", "→ ✓ … “x”", ""])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert sanitize(text) == text


def test_long_text_is_cut_and_says_so() -> None:
    assert sanitize("x" * 3000) == "x" * 2000 + "… (3000 characters)"


def test_key_at_the_cut_is_masked_before_the_cut() -> None:
    shown = sanitize("x" * 1985 + " ghp_" + "a1" * 20)

    assert "a1a1" not in shown


def test_text_hidden_behind_blanks_is_in_sight() -> None:
    assert escape_all("ls" + " " * 10_000 + "; rm -rf ~") == "ls <10000 blanks> ; rm -rf ~"


def test_blanks_that_are_not_plain_ones_are_told_apart() -> None:
    assert escape_all("a\u00a0b\tc\nd") == r"a\xa0b\tc\nd"


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("👍", 2), ("", 0)])
def test_columns_are_counted_as_a_terminal_does(text: str, columns: int) -> None:
    assert count_columns(text) == columns


@given(st.text(alphabet="ab漢 \u0301"), st.integers(min_value=2, max_value=9))
def test_wrapping_loses_nothing_and_fits(text: str, columns: int) -> None:
    pieces = wrap(text, columns)

    assert "".join(pieces) == text
    assert all(count_columns(piece) <= columns for piece in pieces)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("lint", "lint"), ("x; touch pwned", "'x; touch pwned'"), ("--all", "-- --all"), ("a\nb", r"'a\nb'")],
)
def test_name_in_an_advice_is_one_word_for_a_shell(name: str, shown: str) -> None:
    assert shell_quote(name) == shown
