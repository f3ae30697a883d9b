import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", "")
    return tmp_path / "home"


@pytest.mark.spec("U-01")
def test_a_name_is_explained_with_what_every_agent_calls_the_tool(home: Path) -> None:
    said = hookline(home, "tools", "Bash").stdout

    assert said.startswith("Bash is the tool shell: run a command line\n")
    assert "gemini-cli     run_shell_command" in said


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run_shell_command"], ["shell"]),
        (["Write", "--agent", "cursor"], ["write_file", "edit_file", "multi_edit"]),
        (["Write", "--agent", "claude"], ["write_file"]),
    ],
)
def test_a_name_means_the_tools_of_the_agent(words: list[str], expected: list[str], home: Path) -> None:
    found = json.loads(hookline(home, "tools", *words, "--json").stdout)
    assert [one["tool"] for one in found] == expected


def test_all_tools_are_listed_and_those_of_one_agent(home: Path) -> None:
    assert len(json.loads(hookline(home, "tools", "--json").stdout)) == 29
    one = hookline(home, "tools", "--agent", "codex").stdout
    assert "apply_patch" in one
    assert "write_file" not in one


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Bsah"], 'no agent has a tool "Bsah" (did you mean "Bash"?)'),
        (["mcp__a__b"], "is a tool of an MCP server"),
        (["--agent", "cluade"], 'there is no agent "cluade" (did you mean "claude-code"?)'),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(words: list[str], message: str, home: Path) -> None:
    said = hookline(home, "tools", *words)
    assert (said.returncode, message in said.stderr) == (1, True), said


def test_an_event_is_explained_in_any_agents_words(home: Path) -> None:
    said = hookline(home, "events", "beforeShellExecution").stdout

    assert said.startswith("beforeShellExecution is the event before_tool: a tool is about to run\n")
    assert "by its name only for the tools shell" in said
    assert [one["event"] for one in json.loads(hookline(home, "events", "PostToolUse", "--json").stdout)] == [
        "after_tool",
        "tool_failed",
    ]


def test_completion_knows_the_words_of_all_agents(home: Path) -> None:
    assert {"shell", "Bash", "run_shell_command"} <= set(
        hookline(home, "completion", "--words", "tools").stdout.splitlines()
    )
    assert {"before_tool", "PreToolUse", "BeforeTool", "beforeShellExecution"} <= set(
        hookline(home, "completion", "--words", "events").stdout.splitlines()
    )
