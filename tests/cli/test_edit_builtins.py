import json
from pathlib import Path

import pytest

from hookline.builtin.catalogue import BUILTINS
from tests.cli.program import configure, hookline

CONFIG = """# mine
[[hook]]
name = "a"
on = "before_tool"
run = "python3 a.py"
"""


def _file(home: Path) -> Path:
    return home / ".config" / "hookline" / "hookline.toml"


@pytest.mark.spec("C-12")
def test_they_are_switched_on_and_off_in_the_settings_and_undo_takes_it_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, CONFIG)

    on = hookline(home, "enable", "builtin:read-only", "builtin:dangerous")
    assert (on.returncode, on.stderr) == (0, "")
    assert _file(home).read_text() == f'{CONFIG}\n[settings]\nbuiltins = ["dangerous", "read-only"]\n'

    asked = hookline(home, "emit", "permission_request", "--tool", "shell", "--args", '{"command": "ls"}', "--json")
    assert json.loads(asked.stdout)["decision"] == "allow"

    off = hookline(home, "disable", "builtin:read-only")
    assert off.returncode == 0
    assert _file(home).read_text() == f'{CONFIG}\n[settings]\nbuiltins = ["dangerous"]\n'

    hookline(home, "undo")
    assert '["dangerous", "read-only"]' in _file(home).read_text()


def test_where_there_is_no_file_one_is_made(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "project").mkdir()

    hookline(home, "enable", "builtin:dangerous")
    assert _file(home).read_text() == '[settings]\nbuiltins = ["dangerous"]\n'

    hookline(home, "undo")
    assert not _file(home).exists()


@pytest.mark.parametrize("value", ['"dangerous"', '[1, "dangerous"]', "{}"])
def test_value_that_cannot_be_read_is_not_written_over(tmp_path: Path, value: str) -> None:
    home = tmp_path / "home"
    text = f"[settings]\nbuiltins = {value} # mine\n"
    configure(home, text)

    done = hookline(home, "enable", "builtin:read-only")

    assert done.returncode == 1
    assert 'hookline.toml: builtins in [settings] is no list of names such as ["read-only"]' in done.stderr
    assert _file(home).read_text() == text


def test_other_settings_stay_as_they_are(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "[settings]\ntimeout = 5 # seconds\n")

    hookline(home, "enable", "builtin:dangerous")

    assert _file(home).read_text() == '[settings]\ntimeout = 5 # seconds\nbuiltins = ["dangerous"]\n'
    hookline(home, "disable", "builtin:dangerous")
    assert _file(home).read_text() == "[settings]\ntimeout = 5 # seconds\n"


def test_only_trying_writes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, CONFIG)

    tried = hookline(home, "enable", "builtin:dangerous", "--dry-run")

    assert '+builtins = ["dangerous"]' in tried.stdout
    assert _file(home).read_text() == CONFIG


def test_what_is_on_already_is_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, '[settings]\nbuiltins = ["builtin:dangerous"]\n')

    done = hookline(home, "enable", "builtin:dangerous")

    assert '"builtin:dangerous" is switched on already' in done.stdout
    assert hookline(home, "disable", "builtin:dangerous").returncode == 0
    assert "dangerous" not in _file(home).read_text()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("enable", "builtin:danger"), 'did you mean "builtin:dangerous"?'),
        (("enable", "builtin:dangerous", "a"), "name them in two calls"),
        (("remove", "builtin:dangerous"), "`hookline disable builtin:dangerous` switches it off"),
        (("edit", "builtin:dangerous", "timeout=5"), "comes with hookline"),
    ],
)
def test_what_cannot_be_done_is_explained(tmp_path: Path, arguments: tuple[str, ...], part: str) -> None:
    home = tmp_path / "home"
    configure(home, CONFIG)

    done = hookline(home, *arguments)

    assert done.returncode == 1
    assert part in done.stderr
    assert _file(home).read_text() == CONFIG


def test_the_list_of_built_in_hooks_shows_which_are_off(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, '[settings]\nbuiltins = ["read-only"]\n')

    listed = json.loads(hookline(home, "list", "--source", "builtin", "--json").stdout)
    usual = json.loads(hookline(home, "list", "--json").stdout)

    assert {one["id"]: one["enabled"] for one in listed} == {
        f"builtin:{name}": name == "read-only" for name in BUILTINS
    }
    assert [one["id"] for one in usual] == ["builtin:read-only"]


@pytest.mark.parametrize("command", ["show", "why"])
def test_one_that_is_off_can_be_looked_at(tmp_path: Path, command: str) -> None:
    home = tmp_path / "home"
    configure(home, "")

    done = hookline(home, command, "builtin:dangerous")

    assert done.returncode == 0
    assert "off" in done.stdout


def test_one_can_be_tried_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")

    done = hookline(home, "test", "builtin:dangerous", "--tool", "shell", "--args", '{"command": "rm -rf /"}', "--json")

    assert json.loads(done.stdout)["verdict"] == "deny"


@pytest.mark.spec("C-19")
def test_all_are_switched_with_one_pattern_and_the_default_guard_stays(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")
    names = [name for name, one in BUILTINS.items() if not one.is_default]

    on = hookline(home, "enable", "builtin:*")
    assert on.returncode == 0
    assert f"these {len(names)} hooks run from now on" in on.stdout
    listed = json.loads(hookline(home, "list", "--json").stdout)
    assert {one["id"] for one in listed} >= {f"builtin:{name}" for name in names}

    off = hookline(home, "disable", "builtin:*")
    assert '"builtin:self-guard" stays on, as it is by default' in off.stdout
    assert "builtins" not in _file(home).read_text()


def test_pattern_names_some_of_them(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")

    hookline(home, "enable", "builtin:*-log")

    logs = sorted(name for name in BUILTINS if name.endswith("-log"))
    assert _file(home).read_text() == f"[settings]\nbuiltins = {json.dumps(logs)}\n"


def test_part_of_a_hook_is_switched_with_the_whole(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, '[settings]\nbuiltins = ["notification"]\n')
    assert "builtin:notification:desktop" in hookline(home, "list").stdout

    done = hookline(home, "disable", "builtin:notification:desktop")

    assert done.returncode == 1
    assert "is a part of builtin:notification, which is switched as a whole" in done.stderr
