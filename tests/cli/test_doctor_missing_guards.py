"""What the command line says of guards that are not there."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

GUARD = '[[hook]]\nid = "guard"\non = "before_tool"\non_error = "block"\n'
EMIT = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("run", ['["/opt/nowhere/guard"]', '["sh", "/opt/nowhere/guard.sh"]'])
def test_list_does_not_call_a_hook_trusted_that_cannot_start(home: Path, run: str) -> None:
    configure(home, f"{GUARD}run = {run}\n")

    assert "broken (" in hookline(home, "list").stdout
    (described,) = json.loads(hookline(home, "list", "--json").stdout)
    assert "does not exist" in described["trouble"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/usr/local/bin/missing --strict", "does not exist"),
        ("cat | /usr/local/bin/missing", "/usr/local/bin/missing does not exist"),
        ("grep -q x || no-such-program-here", "no-such-program-here"),
        ("if no-such-program-here; then exit 2; fi", "no-such-program-here"),
    ],
)
def test_check_looks_into_shell_lines(home: Path, line: str, told: str) -> None:
    configure(home, f"{GUARD}run = '{line}'\nshell = true\n")
    done = hookline(home, "check")

    assert done.returncode == 1
    assert told in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "grep -q x && exit 2; true",
        "command -v no-such-program-here && no-such-program-here; exit 0",
        "f() { exit 2; }; f",
        "for x in 1 2; do echo $x; done; test -f x || printf y; [ 1 = 1 ]",
    ],
)
def test_check_has_nothing_against_a_line_that_works(home: Path, line: str) -> None:
    configure(home, f"{GUARD}run = '{line}'\nshell = true\n")

    assert "not on PATH" not in hookline(home, "check").stdout


@pytest.mark.spec("U-10")
def test_guard_of_a_project_that_waits_for_approval_fails_check_doctor_and_trust_list(home: Path) -> None:
    configure(home, "")
    project = home.parent / "project"
    (project / "hookline.toml").write_text(f'{GUARD}run = ["sh", "guard.sh"]\n')
    (project / "guard.sh").write_text("exit 0\n")

    assert [hookline(home, *words).returncode for words in (("check",), ("doctor",), ("trust", "list"))] == [1, 1, 1]
    told = hookline(home, *EMIT)
    assert told.returncode == 0
    assert "did not run" in told.stderr


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("on_error", ['on_error = "block"\n', ""])
def test_setting_of_the_person_has_unapproved_hooks_block(home: Path, on_error: str) -> None:
    configure(home, '[settings]\nunapproved = "block"\n')
    hook = GUARD.replace('on_error = "block"\n', on_error)
    (home.parent / "project" / "hookline.toml").write_text(f'{hook}run = ["sh", "guard.sh"]\n')
    done = hookline(home, *EMIT)

    assert done.returncode == 2
    assert "`hookline trust approve guard` allows it" in done.stderr


def test_project_cannot_have_its_unapproved_hooks_block(home: Path) -> None:
    configure(home, "")
    text = f'[settings]\nunapproved = "block"\n{GUARD}run = ["sh", "guard.sh"]\n'
    (home.parent / "project" / "hookline.toml").write_text(text)

    assert hookline(home, *EMIT).returncode == 0


@pytest.mark.spec("U-10")
def test_file_of_the_project_does_not_switch_a_guard_off(home: Path) -> None:
    configure(home, f'{GUARD}run = ["python3", "guard.py", "check"]\n', {"guard.py": "raise SystemExit(2)\n"})
    for name in ("check.sh", "check.js", "check.py", "check"):
        (home.parent / "project" / name).write_text("")
        (home.parent / "project" / name).chmod(0o755)

    assert hookline(home, *EMIT).returncode == 2


def test_hook_is_not_tried_at_an_event_it_is_not_for(home: Path) -> None:
    configure(home, f'{GUARD}run = ["/bin/true"]\n')
    done = hookline(home, "test", "guard", "--event", "after_tool")

    assert done.returncode == 1
    assert 'hook "guard" is not for after_tool; it is for before_tool' in done.stderr
    assert hookline(home, "test", "guard", "--event", "PreToolUse").returncode == 0


@pytest.mark.spec("O-12")
@pytest.mark.parametrize("name", ["Dropbox (Work)", "a&b", "[x]", "{y}", "a$b", "c;d", "e f"])
@pytest.mark.parametrize("dialect", ["hookline", "ollm", "cli-agent"])
def test_odd_names_of_folders_are_no_metacharacters(tmp_path: Path, name: str, dialect: str) -> None:
    home = tmp_path / name / "home"
    keys = f'dialect = "{dialect}"\nrun = ["sh", "guard.sh"]\n'
    says = "echo '{\"continue\": true}'\n" if dialect == "ollm" else "exit 0\n"
    configure(home, GUARD + keys, {"guard.sh": says})
    done = hookline(home, *EMIT)

    assert (done.returncode, done.stderr) == (0, "")
