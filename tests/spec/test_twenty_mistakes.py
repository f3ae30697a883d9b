"""Twenty and more mistakes, planted into the files of all systems: `hookline check` finds each, with file and line.

A mistake stands in the line that ends in a comment `!word`; that line is the one to be reported.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = {
    "hookline.toml": """\
[settings]
trust_workspace = true  #!workspace-trusts-itself

[[hook]]
name = "typo"
on = "before_tool"
run = "python3 fine.py"
timeut = 5  #!unknown-key

[[hook]]
name = "event"
on = "before_tol"  #!unknown-event
run = "python3 fine.py"

[[hook]]  #!two-targets
name = "both"
on = "before_tool"
run = "python3 fine.py"
post = "http://127.0.0.1:9/"

[[hook]]
name = "policy"
on = "before_tool"
run = "python3 fine.py"
on_error = "deny"  #!wrong-value

[[hook]]  #!broken-matcher
name = "matcher"
on = "before_tool"
matcher = "(shell"
run = "python3 fine.py"

[[hook]]
name = "dialect"
on = "before_tool"
dialect = "olm"  #!unknown-dialect
run = "python3 fine.py"

[[hook]]  #!files-without-a-file
name = "files"
on = "before_agent"
files = ["*.py"]
run = "python3 fine.py"

[[hook]]  #!no-script
name = "gone"
on = "session_end"
run = "python3 hooks/gone.py"

[[hook]]  #!cannot-block
name = "late"
on = "session_end"
run = "python3 fine.py"
on_error = "block"
""",
    "fine.py": "",
    ".ollm/hooks/broken.json": """\
{
  "id": "broken",
  "event": "before_tool"
  "command": "python3"  //!broken-json
}
""",
    ".ollm/hooks/key.json": """\
{
  "id": "key",
  "event": "before_tool",
  "command": "python3",
  "args": ["fine.py"],
  "timout": 3,  //!unknown-json-key
  "command": "python3"  //!repeated-key
}
""",
    ".ollm/hooks/when.json": """\
{
  "name": "When",
  "when": { "type": "fileSaved", "patterns": ["*.py"] },  //!unknown-trigger
  "then": { "type": "askAgent", "prompt": "Look at it" }
}
""",
    ".ollama/settings.json": """\
{
  "hooks": {
    "PreToolUsee": [],  //!unknown-grouped-event
    "PostToolUse": [
      { "matcher": "bash",
        "hooks": [
          { "type": "comand",  //!unknown-type
            "command": "python3 fine.py" }
        ] }
    ]
  }
}
""",
    ".config/agent/settings.json": """\
{
  "hooks": {
    "PreToolUse": [
      { "matcher": "bash_execute",
        "hooks": [
          { "type": "command", "command": "bash -c \\"echo {{tool_name}}\\"" },  //!template-in-a-program
          { "type": "command" }  //!no-command
        ] },
      { "matcher": "*", "command": "true" }  //!no-group
    ]
  }
}
""",
    ".config/agent/hooks/during-tools.json": """\
{ "command": "true" }
""",
}
HOME = {
    ".config/hookline/hookline.toml": """\
[[hooks]]  #!wrong-table
name = "table"
on = "before_tool"
run = "python3 fine.py"

[[hook]]
name = "milliseconds"
on = "session_start"
run = "python3 -V"
timeout = 30000  #!milliseconds
""",
    ".ollm/hooks/meta.json": """\
[
  { "id": "meta", "event": "before_tool", "command": "python3 -V; rm x" },  //!metacharacters
  { "id": "plain", "event": "before_tool", "command": "HOME/plain.sh" }  //!not-executable
]
""",
    "plain.sh": "#!/bin/sh\n",
    ".ollama/settings.json": """\
{
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bassh",
        "hooks": [
          { "type": "command", "command": "python3 -V" }  //!no-such-tool
        ] }
    ],
    "UserPromptSubmit": [
      { "matcher": "deploy",
        "hooks": [ { "type": "command", "command": "python3 -V" } ] }  //!nothing-to-match
    ]
  }
}
""",
    ".config/agent/settings.json": """\
{
  "hook": {  //!wrong-key
  }
}
""",
}
MISTAKES = {
    "workspace-trusts-itself": "trust_workspace",
    "unknown-key": 'did you mean "timeout"',
    "unknown-event": 'did you mean "before_tool"',
    "two-targets": "run and post",
    "wrong-value": 'wanted "block" or "continue"',
    "broken-matcher": "no regular expression",
    "unknown-dialect": 'did you mean "ollm"',
    "files-without-a-file": "names no file",
    "no-script": "gone.py does not exist",
    "cannot-block": "cannot be blocked",
    "broken-json": "nothing in this file is in force",
    "unknown-json-key": 'did you mean "timeout"',
    "repeated-key": "a second time",
    "unknown-trigger": "fileSaved",
    "unknown-grouped-event": 'did you mean "PreToolUse"',
    "unknown-type": 'did you mean "command"',
    "template-in-a-program": "will not be run",
    "no-command": "has no command",
    "no-group": 'has no "hooks"',
    "wrong-table": "[[hook]]",
    "milliseconds": "30000 seconds",
    "metacharacters": 'holds ";"',
    "not-executable": "may not be executed",
    "no-such-tool": 'did you mean "bash"',
    "nothing-to-match": "nothing that a matcher could look at",
    "wrong-key": 'hooks belong under "hooks"',
}


def plant(folder: Path, files: dict[str, str], home: Path) -> dict[str, tuple[str, int]]:
    """Write the files; give for each mistake the file and the line where it stands."""
    places = {}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("HOME", str(home)))
        for number, line in enumerate(text.splitlines(), start=1):
            for sign in ("#!", "//!"):
                _, found, word = line.partition(sign)
                if found and word in MISTAKES:
                    places[word] = (str(path), number)
    return places


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, tuple[str, int]]]:
    folder = tmp_path_factory.mktemp("mistakes")
    home, project = folder / "home", folder / "project"
    places = plant(project, PROJECT, home) | plant(home, HOME, home)
    (project / ".git").mkdir()
    return home, project, places


def check(home: Path, project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "HOOK"))}
    return subprocess.run(
        [sys.executable, "-m", "hookline", "check", *arguments],
        cwd=project,
        env={**clean, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def found(planted: tuple[Path, Path, dict[str, tuple[str, int]]]) -> list[dict[str, object]]:
    home, project, _ = planted
    done = check(home, project, "--json")

    assert done.returncode == 1, done.stderr
    problems: list[dict[str, object]] = json.loads(done.stdout)["problems"]
    return problems


@pytest.mark.spec("D-19")
@pytest.mark.parametrize("mistake", sorted(MISTAKES))
def test_planted_mistake_is_found_with_file_and_line(
    planted: tuple[Path, Path, dict[str, tuple[str, int]]], found: list[dict[str, object]], mistake: str
) -> None:
    path, line = planted[2][mistake]
    here = [str(problem["message"]) for problem in found if (problem["path"], problem["line"]) == (path, line)]

    assert any(MISTAKES[mistake] in message for message in here), [
        problem for problem in found if problem["path"] == path
    ]


def test_file_with_an_unknown_prefix_is_found(
    planted: tuple[Path, Path, dict[str, tuple[str, int]]], found: list[dict[str, object]]
) -> None:
    path = str(planted[1] / ".config/agent/hooks/during-tools.json")

    assert any(problem["path"] == path for problem in found)


def test_more_than_twenty_mistakes_are_planted_over_all_five_systems_and_ours(
    planted: tuple[Path, Path, dict[str, tuple[str, int]]],
) -> None:
    home, project, places = planted
    files = {os.path.relpath(path, home.parent) for path, _ in places.values()}

    assert len(places) == len(MISTAKES) >= 20
    assert {name.split("/", 1)[1].split("/")[0] for name in files} == {"hookline.toml", ".ollm", ".ollama", ".config"}
    assert any("agent" in name for name in files)
    assert project.is_dir()


def test_people_read_the_same_as_compilers_print_it(planted: tuple[Path, Path, dict[str, tuple[str, int]]]) -> None:
    home, project, places = planted
    done = check(home, project)

    assert done.returncode == 1
    assert f"hookline.toml:{places['unknown-key'][1]}: error: " in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("hookline.toml:")]
    numbers = [int(line.split(":")[1]) for line in lines]
    assert numbers == sorted(numbers)
