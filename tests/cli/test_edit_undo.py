import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

CONFIG = '[[hook]]\nname = "a"\non = "before_tool"\nrun = "python3 a.py"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG)
    return tmp_path / "home"


def text(home: Path) -> str:
    return (home / ".config" / "hookline" / "hookline.toml").read_text()


@pytest.mark.spec("D-16")
def test_the_last_change_is_taken_back_and_then_the_one_before(home: Path) -> None:
    hookline(home, "disable", "a")
    off = text(home)
    hookline(home, "edit", "a", "timeout=5")

    first = hookline(home, "undo")
    assert (first.returncode, text(home)) == (0, off)
    assert 'taken back: changed timeout of "a"' in first.stdout
    hookline(home, "undo")
    assert text(home) == CONFIG


def test_an_undo_can_be_undone(home: Path) -> None:
    hookline(home, "disable", "a")
    off = text(home)
    number = json.loads(hookline(home, "undo", "--json").stdout)["undo"]

    hookline(home, "undo", str(number))

    assert text(home) == off


def test_a_file_that_was_changed_by_hand_is_left_alone(home: Path) -> None:
    hookline(home, "disable", "a")
    path = home / ".config" / "hookline" / "hookline.toml"
    path.write_text("# all new\n")

    refused = hookline(home, "undo")
    assert (refused.returncode, text(home)) == (1, "# all new\n")
    assert "hookline undo 1 --force" in refused.stderr

    assert hookline(home, "undo", "1", "--force").returncode == 0
    assert text(home) == CONFIG


def test_the_list_says_what_is_in_force(home: Path) -> None:
    hookline(home, "disable", "a")
    hookline(home, "undo")

    rows = json.loads(hookline(home, "undo", "--list", "--json").stdout)

    assert [(row["id"], row["what"], row["undoes"], row["in_force"]) for row in rows] == [
        (2, 'undo: switched off "a"', 1, False),
        (1, 'switched off "a"', None, False),
    ]
    assert rows[0]["files"] == [str(home / ".config" / "hookline" / "hookline.toml")]
    assert "took back 1" in hookline(home, "undo", "--list").stdout


def test_nothing_to_take_back_is_an_error_that_says_so(home: Path) -> None:
    assert hookline(home, "undo", "--list").stdout == "hookline has changed no file yet\n"
    done = hookline(home, "undo")
    assert (done.returncode, "there is no change to take back" in done.stderr) == (1, True)
    done = hookline(home, "undo", "7")
    assert (done.returncode, "there is no change 7" in done.stderr) == (1, True)
