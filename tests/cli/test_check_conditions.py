import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

BROKEN = """\
# what the team agreed on
[[hook]]
name = "typo"
on = "before_tool"
run = ["sh", "-c", "exit 0"]
if = 'tool == "shell" && args.command.contians("rm")'

[[hook]]
name = "slip"
on = "before_tool"
run = ["sh", "-c", "exit 0"]
if = 'tol == "shell"'
"""

GUARD = """\
[[hook]]
name = "guard"
on = "before_tool"
run = "echo no deleting >&2; exit 2"
shell = true
if = '''
tool == "shell"
  && args.command.matches(r"\\brm\\s+-[a-z]*r")
'''
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.spec("A-21")
def test_broken_condition_is_told_with_file_and_line(home: Path) -> None:
    configure(home, BROKEN)

    done = hookline(home, "check")
    assert done.returncode == 1
    assert (
        'hookline.toml:2: error: hook "typo" is not loaded: if: unknown function "contians" '
        '(did you mean "contains"?), at column 33: tool == "shell" && args.command.-->contians("rm")\n'
    ) in done.stdout
    assert 'hookline.toml:8: warning: hook "slip" has an `if` that asks for "tol"' in done.stdout


@pytest.mark.spec("A-21")
@pytest.mark.parametrize(("command", "code"), [("rm -rf build", 2), ("ls", 0), ("charm -r", 0)])
def test_condition_decides_whether_a_guard_is_asked(home: Path, command: str, code: int) -> None:
    configure(home, GUARD)

    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", json.dumps({"command": command}))
    assert done.returncode == code
    assert ("no deleting" in done.stdout + done.stderr) is (code == 2)


@pytest.mark.spec("D-09")
def test_why_says_what_decided(home: Path) -> None:
    configure(home, GUARD)

    told = hookline(home, "why", "guard", "--tool", "shell", "--args", '{"command": "ls"}').stdout
    assert "is false (tool is 'shell', args.command is 'ls')" in told
    assert "What to do: change its condition: hookline edit guard" in told


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        ('"  "', 'if of hook "guard": wanted words, got nothing; the hook is not loaded'),
        ("true", 'if of hook "guard": wanted a text, got true; the hook is not loaded'),
        ("'size(tool)'", "a condition is true or false, but this is an int"),
    ],
)
def test_what_is_no_condition_at_all_is_told(home: Path, condition: str, what: str) -> None:
    configure(home, GUARD.split("if =", maxsplit=1)[0] + f"if = {condition}\n")

    done = hookline(home, "check")
    assert done.returncode == 1
    assert what in done.stdout


@pytest.mark.spec("U-04", "U-10")
def test_rule_with_a_misspelt_name_in_its_condition_blocks_instead_of_never_applying(home: Path) -> None:
    rule = 'name = "no-prod"\non = "before_tool"\ndeny = "not in production"\n'
    configure(home, f"[[hook]]\n{rule}if = \"arg.command.contains('prod')\"\n")

    checked = hookline(home, "check")
    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')

    assert checked.returncode == 1
    assert 'its `if` asks for "arg", and no event has that (did you mean "args"?' in checked.stdout
    assert (done.returncode, "hookline check" in done.stderr) == (2, True), done.stderr
    # a field that only some events have is named below `data`
    configure(home, f"[[hook]]\n{rule}if = \"data.arg == 'prod'\"\n")
    assert hookline(home, "check").returncode == 0
