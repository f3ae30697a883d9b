from datetime import UTC, datetime

import pytest

from hookline.model.scope import find_agent, is_for_agent, match_branch, parse_window

# 2026-11-16 is a Monday
MONDAY = 16


@pytest.mark.parametrize(
    ("window", "day", "clock", "expected"),
    [
        ("09:00-18:00", 0, (9, 0), True),
        ("09:00-18:00", 6, (17, 59), True),
        ("09:00-18:00", 0, (18, 0), False),
        ("9:00 - 18:00", 0, (12, 0), True),
        ("mon-fri 09:00-18:00", 4, (12, 0), True),
        ("mon-fri 09:00-18:00", 5, (12, 0), False),
        ("MON-FRI 9:00 - 18:00", 0, (12, 0), True),
        ("22:00-06:00", 2, (23, 0), True),
        ("22:00-06:00", 2, (5, 59), True),
        ("22:00-06:00", 2, (12, 0), False),
        ("fri 22:00-06:00", 4, (23, 0), True),
        ("fri 22:00-06:00", 5, (5, 0), True),
        ("fri 22:00-06:00", 4, (5, 0), False),
        ("sun 22:00-06:00", 0, (5, 0), True),
        ("fri-mon", 6, (0, 0), True),
        ("fri-mon", 2, (12, 0), False),
        ("mon,wed,friday", 2, (12, 0), True),
        ("mon, wed 08:00-09:00", 1, (8, 30), False),
        ("18:00-24:00", 0, (23, 59), True),
        ("18:00-24:00", 1, (0, 0), False),
        ("00:00-24:00", 1, (0, 0), True),
    ],
)
def test_window_includes_its_hours_on_its_days(
    window: str, day: int, clock: tuple[int, int], *, expected: bool
) -> None:
    assert parse_window(window).includes(datetime(2026, 11, MONDAY + day, *clock, tzinfo=UTC)) is expected


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("", "got nothing"),
        ("9-18", 'no day "9"'),
        ("09:00", "wanted hours such as"),
        ("25:00-26:00", "wanted hours such as"),
        ("09:60-10:00", "wanted hours such as"),
        ("24:30-25:00", "wanted hours such as"),
        ("09:00-09:00", "ends when it starts"),
        ("mno-fri 09:00-18:00", 'did you mean "mon"?'),
        ("09:00-18:00 mon", "wanted hours such as"),
    ],
)
def test_misspelt_window_says_what_was_wanted(window: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"wanted|ends") as caught:
        parse_window(window)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("patterns", "branch", "expected"),
    [
        (["main"], "main", True),
        (["main"], "mainline", False),
        (["main", "release/*"], "release/1.0/fix", True),
        (["!main"], "main", False),
        (["!main"], "dev", True),
        (["release/*", "!release/old"], "release/old", False),
        (["release/*", "!release/old"], "release/new", True),
        (["HEAD"], "HEAD", True),
    ],
)
def test_branch_is_compared_with_patterns(patterns: list[str], branch: str, *, expected: bool) -> None:
    assert match_branch(patterns, branch) is expected


def test_agent_is_known_by_its_short_name_and_other_systems_by_theirs() -> None:
    assert [find_agent(name) for name in ("claude", "codex", "Gemini CLI", "ollm")] == [
        "claude-code",
        "codex-cli",
        "gemini-cli",
        "ollm",
    ]
    with pytest.raises(ValueError, match='did you mean "claude-code"'):
        find_agent("claud-code")


def test_hook_without_agents_is_for_all_of_them() -> None:
    assert is_for_agent((), "") is True
    assert is_for_agent(("claude",), "claude-code") is True
    assert is_for_agent(("claude-code",), "") is False
