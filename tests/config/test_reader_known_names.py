import pytest

from hookline.config.reader import KnownNames
from hookline.text import quote, suggest

WORDS = KnownNames(
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
        ("PreTolUse", "c", 'unknown event "PreTolUse" (did you mean "PreToolUse"?)'),
        ("xyzzy", "c", 'unknown event "xyzzy"'),
    ],
)
def test_wrong_name_is_answered_with_the_right_one(name: str, dialect: str, expected: str) -> None:
    assert WORDS.describe_unknown_event(name, dialect=dialect) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("PreTool", ("before_tool",)),
        ("PreToolUse", ("before_tool",)),
        ("BeforeTool", ("before_tool",)),
        ("preToolUse", ("before_tool",)),
        ("pre-tool-call", ("before_tool",)),
        ("PRE_TOOL_USE", ("before_tool",)),
        ("beforeShellExecution", ("before_tool",)),
        ("Stop", ("after_agent",)),
        ("UserPromptSubmit", ("before_agent",)),
        ("PostToolUse", ("after_tool", "tool_failed")),
        ("after_tool", ("after_tool",)),
        ("custom:deploy", ("custom:deploy",)),
        ("custom:", ()),
        ("nothing", ()),
    ],
)
def test_names_of_every_system_stand_for_canonical_events(name: str, expected: tuple[str, ...]) -> None:
    assert WORDS.events_in_any_dialect(name, dialect="a") == expected


def test_long_words_are_cut_and_not_compared() -> None:
    assert quote("x" * 100_000) == f'"{"x" * 60}…"'
    assert suggest("timeout" * 100_000, ["timeout"]) == ""
