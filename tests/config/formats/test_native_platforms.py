import sys
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

HERE = {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
OTHER = "macos" if HERE != "macos" else "linux"
CALL = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')


def hook(table: str, more: str = "") -> str:
    return f'[[hook]]\nid = "h"\non = "before_tool"\nplain = true\nrun = {table}\n{more}'


@pytest.mark.parametrize(
    "table",
    [
        f'{{ {HERE} = "/bin/echo mine", default = "false" }}',
        f'{{ {HERE} = ["echo", "mine"], {OTHER} = "false" }}',
        f'{{ {OTHER} = "false", default = ["echo", "mine"] }}',
    ],
)
def test_command_of_this_platform_runs(tmp_path: Path, table: str) -> None:
    configure(tmp_path / "home", hook(table))
    assert hookline(tmp_path / "home", *CALL).stdout == "mine\n"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (f'{{ {OTHER} = "true" }}', f'there is no command for {HERE}: add {HERE} = "…", or default = "…"'),
        ('{ linus = "true" }', 'unknown platform "linus" (did you mean "linux"?)'),
        ("{ default = 3 }", "wanted a list of texts"),
        ("{}", f"there is no command for {HERE}"),
    ],
)
def test_table_without_a_command_for_this_platform_is_a_problem_and_a_guard_blocks(
    tmp_path: Path, table: str, message: str
) -> None:
    configure(tmp_path / "home", hook(table, 'on_error = "block"\n'))
    checked = hookline(tmp_path / "home", "check")
    assert message in checked.stdout
    assert "hookline.toml:5: error" in checked.stdout
    assert hookline(tmp_path / "home", *CALL).returncode == 2


def test_approval_covers_the_command_of_this_platform_and_shows_the_others(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    configure(home, "")
    table = '{{ {here} = "/bin/echo {own}", {other} = "/bin/echo {far}" }}'
    own = project / "hookline.toml"
    own.write_text(hook(table.format(here=HERE, other=OTHER, own="one", far="two")))
    assert f"{OTHER}: /bin/echo two" in hookline(home, "trust", "show", "h").stdout
    assert hookline(home, "trust", "approve", "h", "--yes").returncode == 0
    own.write_text(hook(table.format(here=HERE, other=OTHER, own="one", far="three")))
    assert "one" in hookline(home, *CALL).stdout
    own.write_text(hook(table.format(here=HERE, other=OTHER, own="other", far="three")))
    assert "other" not in hookline(home, *CALL).stdout


def test_commands_of_other_platforms_are_carried_to_another_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, hook(f'{{ {HERE} = ["echo", "one"], {OTHER} = "echo two" }}'))
    written = hookline(home, "migrate", "native", "native").stdout
    assert f'run = {{{HERE} = ["echo", "one"], {OTHER} = "echo two"}}\n' in written
