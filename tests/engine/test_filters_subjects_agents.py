"""Format what an agent edited: one hook without a script, with payloads that real agents sent."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

PAYLOADS = Path(__file__).parent.parent / "dialects" / "payloads"
HOOK = """
[[hook]]
name = "format"
on = "after_tool"
writes = ["*.py"]
run = ["ruff", "format", "--no-cache", "--quiet", "{{file.path}}"]
background = true
"""
UGLY, NEAT = "x = {  'a':1 }\n", 'x = {"a": 1}\n'
PATCH = "".join(f"*** Update File: {name}\n@@\n-1\n+2\n" for name in ("one.py", "two.py", "sub/three.py", "notes.md"))


def payload(agent: str, name: str, project: Path, **tool_input: str) -> str:
    text = (PAYLOADS / agent / f"{name}.json").read_text().replace("$CWD", str(project))
    event = json.loads(text)
    event["tool_input"] = {**event["tool_input"], **tool_input}
    return json.dumps(event)


def formatted(project: Path) -> list[str]:
    return sorted(str(file.relative_to(project)) for file in project.rglob("*.*") if file.read_text() == NEAT)


@pytest.mark.spec("U-08")
@pytest.mark.parametrize(
    ("agent", "folder", "name", "tool_input", "edited"),
    [
        ("claude-code", "claude", "PostToolUse.Write", {"file_path": "$P/one.py"}, ["one.py"]),
        ("claude-code", "claude", "PostToolUse.Write", {"file_path": "$P/notes.md"}, []),
        ("claude-code", "claude", "PostToolUse.Bash", {"command": "cat x > 'two.py'; rm gone.py"}, ["two.py"]),
        ("claude-code", "claude", "PostToolUse.Bash", {"command": "make"}, []),
        (
            *("codex-cli", "codex", "PostToolUse.apply_patch"),
            {"command": f"*** Begin Patch\n{PATCH}*** Delete File: gone.py\n*** End Patch\n"},
            ["one.py", "sub/three.py", "two.py"],
        ),
        ("gemini-cli", "gemini", "AfterTool.write_file", {"file_path": "$P/sub/three.py"}, ["sub/three.py"]),
        ("gemini-cli", "gemini", "AfterTool.run_shell_command", {"command": "echo x | tee one.py"}, ["one.py"]),
    ],
)
def test_files_that_the_call_wrote_are_formatted_and_no_others(
    tmp_path: Path, agent: str, folder: str, name: str, tool_input: dict[str, str], edited: list[str]
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    configure(home, HOOK)
    (project / "sub").mkdir()
    for file in ("one.py", "two.py", "sub/three.py", "other.py", "notes.md"):
        (project / file).write_text(UGLY)
    given = {key: value.replace("$P", str(project)) for key, value in tool_input.items()}
    event = payload(folder, name, project, **given)
    env = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOOKLINE_WORKER": "off"}

    asked = hookline(home, "hook", agent, name.partition(".")[0], stdin=event, **env)
    worked = hookline(home, "queue", "work", "--until-empty", **env)

    assert (asked.returncode, worked.returncode) == (0, 0), asked.stderr + worked.stderr
    assert "0 put back, 0 given up" in worked.stdout or (not edited and worked.stdout == "nothing to do\n")
    assert formatted(project) == edited
