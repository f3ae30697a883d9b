import pytest

from hookline.errors import ConfigError
from hookline.model import names


@pytest.mark.parametrize(
    ("name", "agent", "expected"),
    [
        ("Bash", "", {"shell"}),
        ("BASH", "gemini-cli", {"shell"}),
        ("builtin:Bash", "", {"shell"}),
        ("shell", "kiro", {"shell"}),
        # most systems write a whole file with it, and one edits as well
        ("Write", "gemini-cli", {"write_file"}),
        ("Write", "cursor", {"write_file", "edit_file", "multi_edit"}),
        # systems differ evenly
        ("exec", "", {"code", "shell"}),
        ("exec", "qwen-code", {"code"}),
        ("Bsah", "", set()),
    ],
)
def test_a_name_means_what_the_calling_agent_means_and_else_what_most_do(
    name: str, agent: str, expected: set[str]
) -> None:
    assert names.resolve_tools(name, agent) == expected


@pytest.mark.parametrize(
    ("tool", "agent", "asked", "not_asked"),
    [
        ("edit_file", "claude-code", {"Edit", "edit_file", "replace", "apply_patch"}, {"Write", "Bash"}),
        ("write_file", "claude-code", {"Write", "apply_patch"}, {"Edit", "TodoWrite"}),
        ("apply_patch", "codex-cli", {"Write", "Edit", "apply_patch", "delete_file"}, {"Bash", "Read"}),
        ("notebook_edit", "claude-code", {"NotebookEdit", "EditNotebook"}, {"Edit", "Write"}),
        # it has a tool of that name, which is another one
        ("write_file", "opencode", {"write", "Write"}, {"apply_patch"}),
        # it changes files with this one alone
        ("multi_edit", "windsurf", {"Write", "Edit", "write_code"}, {"run_command"}),
    ],
)
def test_a_tool_is_found_by_the_names_that_mean_it(tool: str, agent: str, asked: set[str], not_asked: set[str]) -> None:
    found = {name.casefold() for name in names.names_of_tool(tool, agent)}
    assert {name.casefold() for name in asked} <= found
    assert not {name.casefold() for name in not_asked} & found


def test_a_server_cannot_pass_for_a_tool_of_the_agent() -> None:
    assert "read_file" not in names.mcp_names("mcp__read__file")
    assert "mcp_github_issue" in names.mcp_names("mcp__github__issue")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (["before_tool"], ()),
        (["beforeShellExecution"], ("shell",)),
        (["before-shell-execution", "pre_run_command"], ("shell",)),
        (["beforeShellExecution", "beforeMCPExecution"], ("shell", "mcp__*")),
        (["PreToolUse", "Stop"], ()),
    ],
)
def test_some_names_of_events_say_the_tool(events: list[str], expected: tuple[str, ...]) -> None:
    assert names.tools_of_events(events) == expected


@pytest.mark.parametrize("events", [["beforeShellExecution", "PreToolUse"], ["beforeShellExecution", "afterFileEdit"]])
def test_events_about_different_tools_do_not_fit_one_hook(events: list[str]) -> None:
    with pytest.raises(ConfigError, match="write one hook for each"):
        names.tools_of_events(events)


def test_tools_beside_such_an_event_have_to_agree_with_it() -> None:
    assert names.narrow_matcher(["beforeShellExecution"], "Bash") == "Bash"
    assert names.narrow_matcher(["before_tool"], "Write") == "Write"
    with pytest.raises(ConfigError, match="name before_tool instead"):
        names.narrow_matcher(["beforeShellExecution"], "Write")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ('agent == "claude"', 'agent == "claude-code"'),
        ("agent != 'Codex'", "agent != 'codex-cli'"),
        ('agent in ["gemini", "cursor"]', 'agent in ["gemini-cli", "cursor"]'),
        ('agent == "nobody"', 'agent == "nobody"'),
        ('data.agent == "claude"', 'data.agent == "claude"'),
        ('args.command == "claude"', 'args.command == "claude"'),
    ],
)
def test_agents_in_conditions_may_be_called_by_another_word(condition: str, expected: str) -> None:
    assert names.spell_agents(condition) == expected
