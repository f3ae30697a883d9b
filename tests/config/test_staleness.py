"""Whether what was loaded still is what is there."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hookline import caller_context, user_dirs
from hookline.caller_context import CallerContext
from hookline.config.staleness import FileStamps, capture
from hookline.project import Project, load_project
from hookline.user_dirs import UserDirs

pytestmark = pytest.mark.slow

HOOK = '[[hook]]\nid = "h"\non = "before_tool"\nrun = "true"\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give a folder with a home and a project in it, as old as if nobody had touched them for an hour."""
    for name in ("home", "home/.config/hookline", "home/.local/share/hookline", "project/.git", "project/hooks"):
        (tmp_path / name).mkdir(parents=True, mode=0o700)
    (tmp_path / "home/.config/hookline/hookline.toml").write_text(HOOK)
    (tmp_path / "project/hookline.toml").write_text(HOOK.replace('"h"', '"p"'))
    return tmp_path


def opened(place: Path, project: str = "project") -> Project:
    home = place / "home"
    own = UserDirs(home=home, config=home / ".config/hookline", data=home / ".local/share/hookline")
    return load_project(place / project, folders=own, traced=False)


def _is_old(moment: int) -> bool:
    return moment < time.time_ns() - 2_000_000_000


def settled(place: Path, opened: Callable[[Path], Project] = opened) -> Project:
    """Open the project when what is in it is old enough to be believed."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found = opened(place)
        stamps = found.stamps
        looked_at = (*stamps.files, *stamps.folders, *stamps.others)
        if all(not stamp or _is_old(stamp[-1]) for _, stamp in looked_at):
            return found
        time.sleep(0.2)
    raise AssertionError("it never settled")


def test_what_nobody_touched_holds(place: Path) -> None:
    found = settled(place)
    assert found.is_current()
    assert found.is_current()


def test_what_was_written_just_now_is_not_believed(place: Path) -> None:
    # a second change within the same tick of the clock would look like none
    assert not opened(place).is_current()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


CHANGES: dict[str, Callable[[Path], object]] = {
    "another text": lambda place: (place / "project/hookline.toml").write_text(HOOK.replace('"h"', '"q"')),
    "a file less": lambda place: (place / "project/hookline.toml").unlink(),
    "a file more": lambda place: _write(place / "project/.ollama/settings.json", "{}"),
    "the settings of an agent": lambda place: _write(place / "project/.claude/settings.json", "{}"),
    "another owner's rights": lambda place: (place / "home/.config/hookline").chmod(0o755),
    "a repository around it": lambda place: (place / ".git").mkdir(),
    "another origin": lambda place: _write(place / "project/.git/config", '[remote "origin"]\nurl = x:y/z\n'),
    "the same text, put there anew": lambda place: _put_anew(place / "project/hookline.toml"),
}


def _put_anew(path: Path) -> None:
    beside = path.with_name("beside")
    beside.write_text(path.read_text())
    beside.replace(path)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(place: Path, change: str) -> None:
    found = settled(place)
    CHANGES[change](place)
    assert not found.is_current()


def test_a_script_that_appears_where_a_command_looks_for_it_first_is_seen(place: Path) -> None:
    (place / "home/.config/hookline/check.sh").write_text("true")
    (place / "home/.config/hookline/hookline.toml").write_text(HOOK.replace('"true"', '["sh", "check.sh"]'))
    (place / "project/hookline.toml").write_text(HOOK.replace('"true"', '["sh", "check.sh"]').replace('"h"', '"p"'))
    found = settled(place)
    assert dict(found.stamps.scripts)[str(place / "project/check.sh")] is False
    (place / "project/check.sh").write_text("false")
    assert not found.is_current()


def test_a_project_that_is_a_link_and_leads_elsewhere_is_another_one(place: Path) -> None:
    (place / "next/.git").mkdir(parents=True)
    (place / "current").symlink_to("project")
    found = settled(place, partial(opened, project="current"))
    assert found.is_current()
    (place / "beside").symlink_to("next")
    (place / "beside").replace(place / "current")
    assert not found.is_current()


def test_a_worktree_that_becomes_one_of_another_repository_is_another_one(place: Path) -> None:
    (place / "tree").mkdir()
    (place / "tree/.git").write_text("gitdir: ../one\n")
    found = settled(place, partial(opened, project="tree"))
    assert found.is_current()
    (place / "tree/.git").write_text("gitdir: ../two\n")
    assert not found.is_current()


def test_the_folder_of_the_administrator_counts_as_soon_as_it_is_there(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = place / "etc"
    monkeypatch.setattr(user_dirs, "_MANAGED", str(system))
    found = settled(place)
    assert found.is_current()
    system.mkdir()
    assert not found.is_current()


def test_a_variable_that_names_a_link_means_what_that_leads_to_now(place: Path) -> None:
    for name in ("a", "b"):
        (place / name / "hookline").mkdir(parents=True, mode=0o700)
    (place / "chosen").symlink_to("a")

    def moved(place: Path) -> Project:
        variables = {"HOME": str(place / "home"), "XDG_CONFIG_HOME": str(place / "chosen")}
        with caller_context.use(CallerContext(variables, str(place / "project"))):
            return load_project(place / "project", traced=False)

    found = settled(place, moved)
    assert found.folders.config == place / "a/hookline"
    assert found.is_current()
    (place / "beside").symlink_to("b")
    (place / "beside").replace(place / "chosen")
    assert not found.is_current()
    # and in a work tree it could be anybody's
    again = settled(place, moved)
    (place / "b/.git").mkdir()
    assert not again.is_current()


def test_files_that_are_no_configuration_change_nothing(place: Path) -> None:
    found = settled(place)
    (place / "project/notes.txt").write_text("made by an agent")
    (place / "project/hooks/other.txt").write_text("made by an agent")
    assert found.is_current()


def test_stamps_of_what_is_not_there_hold_until_it_is(tmp_path: Path) -> None:
    stamps = capture([str(tmp_path / "a")], [str(tmp_path / "folder")], owners=[str(tmp_path / "x" / "y")])
    assert stamps.refresh(lambda _looked: [str(tmp_path / "a")]) is not None
    (tmp_path / "folder").mkdir()
    assert stamps.refresh(lambda _looked: []) is None


def test_a_file_whose_date_was_set_back_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    before = path.stat()
    stamps = FileStamps(capture([str(path)], []).files, at=time.time_ns() + 10_000_000_000)
    assert stamps.refresh(lambda _looked: []) is not None
    time.sleep(0.05)
    path.write_text("2")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert stamps.refresh(lambda _looked: []) is None


def test_a_folder_that_came_with_nothing_in_it_is_searched_from_then_on(place: Path) -> None:
    found = settled(place)
    (place / "project/.claude").mkdir()
    assert found.is_current()
    assert str(place / "project/.claude") in dict(found.stamps.folders)
    time.sleep(2.1)
    assert found.is_current()
    (place / "project/.claude/settings.json").write_text("{}")
    assert not found.is_current()
