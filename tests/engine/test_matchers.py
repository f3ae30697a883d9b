import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookline.engine.matchers import matcher_for, matcher_prefixes
from hookline.errors import ConfigError
from hookline.model.dialect import MatcherStyle
from tests.helpers.each import each

PATTERN, REGEX = MatcherStyle.PATTERN, MatcherStyle.REGEX


@pytest.mark.spec("A-03")
@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ("", "anything", True),
        ("*", "anything", True),
        ("bash_execute", "bash_execute", True),
        ("bash_execute", "bash_execute_all", False),
        ("edit", "notebook_edit", False),
        ("write_file|replace_in_file", "replace_in_file", True),
        ("write_file | replace_in_file", "replace_in_file", True),
        ("write_file|replace_in_file", "read_file", False),
        ("mcp__*", "mcp__files__write", True),
        ("mcp__*", "shell", False),
        ("builtin:*", "builtin:shell", True),
        ("builtin:*", "mcp__files__write", False),
        ("Bash", "bash", True),
        ("mcp__.*", "mcp__files__write", True),
        ("^Notebook.*$", "NotebookEdit", True),
    ],
)
def test_pattern_matches_whole_names(text: str, name: str, *, wanted: bool) -> None:
    assert matcher_for(PATTERN, text)(name) is wanted


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [("Edit|Write", "Write", True), ("mcp__.*", "mcp__a__b", True), ("Ed", "Edit", False), ("mcp__*", "mcp__a", False)],
)
def test_regular_expression_matches_whole_names(text: str, name: str, *, wanted: bool) -> None:
    assert matcher_for(REGEX, text)(name) is wanted


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ("Bash", "bash", True),
        ("Edit", "NotebookEdit", False),
        ("Edit|Write", "Write", True),
        ("Edit, Write", "Write", True),
        ("Edit|", "NotebookEdit", False),
        ("mcp__brave-search__web", "mcp__brave-search__web", True),
        ("^Notebook", "NotebookEdit", True),
        ("mcp__.*", "my_mcp__a", True),
        ("Ed.t", "NotebookEdit", True),
        ("|", "Bash", False),
    ],
)
@pytest.mark.parametrize("is_untrusted", [False, True])
def test_names_are_whole_and_everything_else_is_searched_for(
    text: str, name: str, *, wanted: bool, is_untrusted: bool
) -> None:
    assert matcher_for(MatcherStyle.NAMES, text, is_untrusted=is_untrusted)(name) is wanted


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [("write", "write_file", True), ("^write$", "write_file", False), ("shell|exec", "run_shell_command", True)],
)
@pytest.mark.parametrize("is_untrusted", [False, True])
def test_a_search_finds_plain_words_anywhere(text: str, name: str, *, wanted: bool, is_untrusted: bool) -> None:
    assert matcher_for(MatcherStyle.SEARCH, text, is_untrusted=is_untrusted)(name) is wanted


@pytest.mark.parametrize("style", MatcherStyle)
@each("text", ["a(b|c)*d.*e.*f.*g.*h.*i", "Edit|W.*", "(x+)+y", "", "*", "Bash"])
@each("name", ["abcd", "edit", "Write", "xxy", "bash", "my_bash_tool", "aced-e-f-g-h-i"])
def test_a_strangers_matcher_means_the_same_as_a_persons(style: MatcherStyle, text: str, name: str) -> None:
    try:
        own = matcher_for(style, text)(name)
    except ConfigError:
        return
    assert matcher_for(style, text, is_untrusted=True)(name) is own


def test_broken_regular_expression_is_refused_and_not_taken_literally() -> None:
    with pytest.raises(ConfigError, match=r"matcher '\(a' is no regular expression"):
        matcher_for(REGEX, "(a")


@given(st.text(max_size=20))
def test_any_text_compiles_or_is_a_config_error(text: str) -> None:
    for style in MatcherStyle:
        try:
            matcher_for(style, text)("name")
        except ConfigError:
            continue


@pytest.mark.parametrize(
    ("style", "text", "expected"),
    [
        (PATTERN, "", (("", False),)),
        (PATTERN, "Shell | edit_file", (("shell", True), ("edit_file", True))),
        (PATTERN, "mcp__files__*", (("mcp__files_", False),)),
        (PATTERN, "*_file", (("", False),)),
        (PATTERN, "^Note.*$", (("note", False),)),
        (REGEX, "Edit|Write", (("edit", True), ("write", True))),
        (REGEX, "^Bash$", (("bash", True),)),
        (REGEX, "mcp__a__.*|Edit", (("mcp__a__", False), ("edit", True))),
        (REGEX, "colou?r", (("colo", False),)),
        (REGEX, "ab{0}c", (("a", False),)),
        (REGEX, "(Edit|Write)", (("", False),)),
        (REGEX, "Note(book)?", (("note", False),)),
        (REGEX, r"a\|b", (("", False),)),
        (REGEX, "Edit|", (("edit", True), ("", False))),
        (REGEX, "größe", (("gr", False),)),
    ],
)
def test_matcher_says_how_the_names_begin_that_it_wants(
    style: MatcherStyle, text: str, expected: tuple[tuple[str, bool], ...]
) -> None:
    assert matcher_prefixes(style, text) == expected


PIECES = st.sampled_from(
    [*"aAbk_:-*.|?+^$()[]{}\\ 0", "ab", "mcp__", ".*", "(?:", "(?i)", "|a", "\u212a", "\u017f", "K", "s"]
)


@given(
    st.sampled_from(MatcherStyle), st.lists(PIECES, max_size=7).map("".join), st.lists(PIECES, max_size=4).map("".join)
)
@example(PATTERN, "k", "\u212a")
@example(REGEX, "k", "\u212a")
# which Python warns of
@example(REGEX, "[[]", "[")
def test_no_matching_name_begins_in_another_way(style: MatcherStyle, text: str, name: str) -> None:
    try:
        matches = matcher_for(style, text)
    except ConfigError:
        return
    if name.isascii() and matches(name):
        small = name.lower()
        assert any(
            small == begin if is_whole else small.startswith(begin) for begin, is_whole in matcher_prefixes(style, text)
        )


@given(
    st.lists(st.sampled_from(["ab", "K", "s_x", "b-c", "a:b"]), min_size=1, max_size=3),
    st.text("abkKs_x-c:\u212a\u017f", max_size=4),
)
def test_plain_names_are_compared_as_the_expression_would(words: list[str], name: str) -> None:
    text = "|".join(words)

    expected = re.fullmatch(text, name, re.IGNORECASE) is not None
    assert matcher_for(REGEX, text)(name) is expected
    assert matcher_for(PATTERN, text)(name) is expected
