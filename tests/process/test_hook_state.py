import os
from pathlib import Path

import pytest

from hookline.model.hook import Hook, Layer
from hookline.process import hook_state
from hookline.process.containment import Containment, find_layers, make_cell_key
from hookline.process.hook_state import folder_name, measure_state, prepare_state, remove_old_sessions

HOOK = Hook(id="Count It", command="true", source_path="/project/hookline.toml")


def test_folders_exist_and_are_private(tmp_path: Path) -> None:
    variables = prepare_state(str(tmp_path / "state"), HOOK, "one")
    folder, session = Path(variables["HOOKLINE_STATE"]), Path(variables["HOOKLINE_SESSION_STATE"])
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder, session)] == [0o700] * 3
    assert session.is_relative_to(folder)
    assert prepare_state(str(tmp_path / "state"), HOOK, "one") == variables


def test_hooks_of_two_projects_and_two_sessions_have_folders_of_their_own(tmp_path: Path) -> None:
    other = Hook(id="Count It", command="true", source_path="/other/hookline.toml")
    made = [prepare_state(str(tmp_path), hook, session) for hook in (HOOK, other) for session in ("one", "two")]
    assert len({one["HOOKLINE_STATE"] for one in made}) == 2
    assert len({one["HOOKLINE_SESSION_STATE"] for one in made}) == 4
    assert folder_name(HOOK).startswith("count-it-")


def test_event_without_a_session_and_a_persistent_hook_have_no_folder_for_the_session(tmp_path: Path) -> None:
    assert list(prepare_state(str(tmp_path), HOOK, "")) == ["HOOKLINE_STATE"]
    stays = Hook(id="stays", command="true", persistent=True)
    assert list(prepare_state(str(tmp_path), stays, "one")) == ["HOOKLINE_STATE"]


def test_old_sessions_are_removed_when_a_new_one_comes(tmp_path: Path) -> None:
    old = Path(prepare_state(str(tmp_path), HOOK, "old")["HOOKLINE_SESSION_STATE"])
    used = Path(prepare_state(str(tmp_path), HOOK, "used")["HOOKLINE_SESSION_STATE"])
    (used / "file").write_text("x")
    for path in (old, used):
        os.utime(path, (0, 0))
    fresh = prepare_state(str(tmp_path), HOOK, "new")
    assert (old.exists(), used.exists(), Path(fresh["HOOKLINE_SESSION_STATE"]).exists()) == (False, True, True)
    later = (used / "file").stat().st_mtime + hook_state.SESSION_AGE + 1
    assert remove_old_sessions(fresh["HOOKLINE_STATE"], later) == 2


def test_hook_that_keeps_too_much_is_told_how_to_clear_it(tmp_path: Path) -> None:
    folder = prepare_state(str(tmp_path), HOOK, "")["HOOKLINE_STATE"]
    with Path(folder, "large").open("wb") as file:
        file.truncate(hook_state.MOST_BYTES + 1)
    with pytest.raises(OSError, match="64 MB in 1 files, more than 64 MB"):
        prepare_state(str(tmp_path), HOOK, "")


def test_links_are_measured_and_not_followed(tmp_path: Path) -> None:
    folder = prepare_state(str(tmp_path / "state"), HOOK, "")["HOOKLINE_STATE"]
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "file").write_text("x" * 1000)
    Path(folder, "link").symlink_to(tmp_path / "far")
    Path(folder, "sessions").symlink_to(tmp_path)
    assert measure_state(folder).bytes < 1000
    assert remove_old_sessions(folder, 1e12) == 0


def test_folder_that_was_replaced_by_a_link_is_refused(tmp_path: Path) -> None:
    folder = Path(prepare_state(str(tmp_path / "state"), HOOK, "")["HOOKLINE_STATE"])
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(OSError, match="is a link"):
        prepare_state(str(tmp_path / "state"), HOOK, "")


def test_folder_of_sessions_that_is_a_link_is_refused_before_anything_is_made_behind_it(tmp_path: Path) -> None:
    folder = Path(prepare_state(str(tmp_path / "state"), HOOK, "")["HOOKLINE_STATE"])
    (tmp_path / "outside").mkdir()
    (folder / "sessions").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="is a link"):
        prepare_state(str(tmp_path / "state"), HOOK, "session")
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.skipif(not find_layers().can_contain, reason="this machine cannot contain files")
def test_cell_is_not_used_again_once_another_hook_keeps_state(tmp_path: Path) -> None:
    containment = Containment((), state_root=str(tmp_path / "state"))
    sandboxed = Hook(id="first", command="true", layer=Layer.PROJECT, root=str(tmp_path))
    folder = containment.prepare_state(sandboxed, "")["HOOKLINE_STATE"]
    key = make_cell_key(sandboxed, str(tmp_path), state=folder)
    assert key is not None
    try:
        first = containment.acquire(key)
        first.release()
        containment.prepare_state(HOOK, "")
        second = containment.acquire(key)
        second.release()
    finally:
        containment.close()
    assert second is not first
