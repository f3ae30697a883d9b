import re

import pytest

from hookline.conditions.compiler import PolicyCondition
from hookline.config.formats.agent_specs import parse_rule


def _runs(said: str, command: str, tool: str = "shell") -> bool:
    condition = str(parse_rule(said)["condition"])
    return PolicyCondition(condition)({"tool": tool, "args": {"command": command}})


@pytest.mark.parametrize(
    ("said", "command"),
    [
        ("Bash(git *)", "git push"),
        ("Bash(git *)", "git"),
        ("Bash(git:*)", "git push"),
        ("Bash(git *)", "cd x && git push"),
        ("Bash(git *)", "A=1 B=2 git push"),
        ("Bash(git *)", "echo $(git log)"),
        ("Bash(git *)", "ls | git hash-object --stdin"),
        ("Bash(git *)", "ls\ngit push"),
        ("Bash(git push *)", "git  push origin"),
        ("Bash(git push *)", "$TOOL push"),
        ("Bash(rm -rf /)", "rm -rf /"),
        ("Bash(rm -rf /)", "rm -rf `echo /`"),
        ("Bash(npm run test*)", "npm run test:unit"),
        ("Bash", "anything"),
        ("Bash(*)", "anything"),
    ],
)
def test_rule_for_commands_finds_every_part_of_a_line(said: str, command: str) -> None:
    assert _runs(said, command)


@pytest.mark.parametrize(
    ("said", "command"),
    [
        ("Bash(git *)", "legit x"),
        ("Bash(git *)", "gitk"),
        ("Bash(git *)", "echo git"),
        ("Bash(git push *)", "git pull"),
        ("Bash(git push *)", "git pushy"),
        ("Bash(rm -rf /)", "rm -rf /tmp/x"),
        ("Bash(a.c)", "abc"),
    ],
)
def test_rule_for_commands_is_no_wider_than_it_says(said: str, command: str) -> None:
    assert not _runs(said, command)


def test_rule_holds_for_its_tool_alone() -> None:
    assert not _runs("Bash(git *)", "git push", tool="write_file")


@pytest.mark.parametrize(
    ("said", "files"),
    [
        ("Edit(*.ts)", ("*.ts",)),
        ("Edit(./src/**)", ("src/**",)),
        ("Read(//etc/**)", ("/etc/**",)),
        ("Edit(~/x)", ("~/x",)),
    ],
)
def test_rule_for_files_becomes_patterns(said: str, files: tuple[str, ...]) -> None:
    assert parse_rule(said)["files"] == files


def test_rule_for_edits_is_about_every_tool_that_writes() -> None:
    condition = PolicyCondition(str(parse_rule("Edit(*.ts)")["condition"]))

    assert all(condition({"tool": tool}) for tool in ("edit_file", "write_file", "apply_patch", "notebook_edit"))
    assert not condition({"tool": "read_file"})


@pytest.mark.parametrize(
    ("said", "tool", "runs"),
    [
        ("mcp__github", "mcp__github__merge", True),
        ("mcp__github__*", "mcp__github__merge", True),
        ("mcp__github__merge", "mcp__github__merge", True),
        ("mcp__github__merge", "mcp__github__merged", False),
        ("mcp__github", "mcp__github2__merge", False),
    ],
)
def test_rule_for_mcp_names_a_server_or_a_tool(said: str, tool: str, *, runs: bool) -> None:
    assert PolicyCondition(str(parse_rule(said)["condition"]))({"tool": tool}) is runs


@pytest.mark.parametrize(
    "said", ["WebFetch(domain:x.org)", "Bash(a) Bash(b)", "", "Agent(x)", "mcp__a*__b", "Edit(../x)"]
)
def test_rule_that_cannot_be_said_here_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match=re.compile(r"wanted|known|star|out of")):
        parse_rule(said)
