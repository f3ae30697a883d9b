import pytest

from hookline.config.vocabulary import Vocabulary, hint, quoted

WORDS = Vocabulary(
    names={
        "a": {"PreTool": ("before_tool",), "PostTool": ("after_tool", "tool_failed")},
        "b": {"toolStarting": ("before_tool",)},
        "c": {},
    }
)


@pytest.mark.parametrize(
    ("name", "dialect", "expected"),
    [
        ("PreTool", "a", ("before_tool",)),
        ("PostTool", "a", ("after_tool", "tool_failed")),
        ("before_tool", "a", ("before_tool",)),
        ("before_tool", "unheard-of", ("before_tool",)),
        ("custom:deploy", "c", ("custom:deploy",)),
        ("custom", "c", ("custom",)),
        ("custom:", "c", ()),
        ("pretool", "a", ()),
        ("PreTool", "b", ()),
    ],
)
def test_names_stand_for_canonical_events(name: str, dialect: str, expected: tuple[str, ...]) -> None:
    assert WORDS.events(name, dialect=dialect) == expected


@pytest.mark.parametrize(
    ("name", "dialect", "expected"),
    [
        ("pretool", "a", 'unknown event "pretool" (did you mean "PreTool"?)'),
        ("before-tool", "c", 'unknown event "before-tool" (did you mean "before_tool"?)'),
        ("PreTool", "b", 'unknown event "PreTool": that is its name in a, here it is "toolStarting"'),
        ("PreTool", "c", 'unknown event "PreTool": that is its name in a, here it is "before_tool"'),
        ("xyzzy", "c", 'unknown event "xyzzy"'),
    ],
)
def test_wrong_name_is_answered_with_the_right_one(name: str, dialect: str, expected: str) -> None:
    assert WORDS.about_unknown_event(name, dialect=dialect) == expected


def test_long_words_are_cut_and_not_compared() -> None:
    assert quoted("x" * 100_000) == f'"{"x" * 60}…"'
    assert hint("timeout" * 100_000, ["timeout"]) == ""
