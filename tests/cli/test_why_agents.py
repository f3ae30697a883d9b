"""`hookline why` knows what agents raise and what they have."""

from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

RULE = '[[hook]]\nid = "x"\non = "{0}"\ntell = "hello"\n{1}'


def test_an_event_that_no_connected_agent_raises_is_no_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, RULE.format("after_model", ""))
    (home / ".claude").mkdir()
    assert hookline(home, "install", "claude-code").returncode == 0

    said = hookline(home, "why", "x").stdout
    assert "It would not run: after_model never comes from claude-code." in said


@pytest.mark.parametrize(
    ("host", "tools", "runs"),
    [
        ("claude-code", '"Bash"', True),
        ("gemini-cli", '"Bash"', True),
        ("codex-cli", '"Write"', True),
        ("claude-code", '"apply_patch"', True),
        ("codex-cli", '"Grep"', False),
        ("claude-code", '"Bsah"', False),
        ("claude-code", '"mcp__github__*"', True),
        ("claude-code", '"other:deploy"', True),
    ],
)
def test_why_under_an_agent_says_what_the_agent_does(host: str, tools: str, runs: bool, tmp_path: Path) -> None:  # noqa: FBT001
    home = tmp_path / "home"
    configure(home, RULE.format("before_tool", f"tools = [{tools}]\n"))

    said = hookline(home, "why", "x", "--host", host).stdout
    assert ("It would run" in said) is runs, said


def test_an_event_that_the_agent_does_not_have_is_no_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, RULE.format("before_model", ""))

    assert "It would not run" in hookline(home, "why", "x", "--host", "claude-code").stdout
    assert "It would run" in hookline(home, "why", "x", "--host", "gemini").stdout
