import pytest

from hookline.core.effects.commands import command_patterns
from hookline.errors import ConfigError


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("git push", "git push", True),
        ("git push", "git push --force origin", True),
        ("git  push", "git push", True),
        ("git push", "git pushy", False),
        ("git push", "git pull", False),
        ("git push", "echo git push", False),
        ("* push", "git push", True),
        ("git * --force", "git push origin --force", True),
        ("git * --force", "git push --force origin", True),
        ("git *--force*", "git push --force origin", True),
        ("rm", "rm -rf /", True),
        ("*", "anything\nat all", True),
    ],
)
def test_pattern_means_commands_that_begin_so(pattern: str, command: str, *, expected: bool) -> None:
    assert command_patterns([pattern])(command) is expected


def test_empty_pattern_is_refused() -> None:
    with pytest.raises(ConfigError, match="empty"):
        command_patterns(["git", "  "])
