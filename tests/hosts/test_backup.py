"""What settings were like before us, and what is made of it."""

from pathlib import Path

import pytest

from hookline.config.undo_log import FileEdit
from hookline.hosts.backup import (
    SettingsBackup,
    backup_path,
    created_folders,
    digest,
    load_backup,
    plan_record,
)


def keep(data: Path, kept: SettingsBackup) -> None:
    (change,) = plan_record(data, kept.path, kept)
    assert change.after is not None
    Path(change.path).parent.mkdir(parents=True, exist_ok=True)
    Path(change.path).write_bytes(change.after)


@pytest.mark.parametrize("before", [None, b"", b"{}\r\n", b"\xef\xbb\xbf{}", b"\xff\x00"])
def test_what_was_there_comes_back_as_it_was(before: bytes | None, tmp_path: Path) -> None:
    kept = SettingsBackup(path="/a/settings.json", before=before, after=digest(b"ours"), folders=("/a",))

    keep(tmp_path, kept)

    assert load_backup(tmp_path, "/a/settings.json") == kept
    assert plan_record(tmp_path, kept.path, kept) == ()


def test_what_nobody_kept_is_nothing(tmp_path: Path) -> None:
    assert load_backup(tmp_path, "/a") is None
    assert plan_record(tmp_path, "/a", None) == ()


def test_forgetting_removes_what_was_kept(tmp_path: Path) -> None:
    keep(tmp_path, SettingsBackup(path="/a", before=None, after=""))
    raw = Path(backup_path(tmp_path, "/a")).read_bytes()

    change = FileEdit(backup_path(tmp_path, "/a"), raw, None, mode=0o600)
    assert plan_record(tmp_path, "/a", None) == (change,)


@pytest.mark.parametrize("raw", [b"", b"{", b'{"path": "/a"}', b'{"path": 5, "before": null, "after": ""}'])
def test_what_cannot_be_read_is_forgotten(raw: bytes, tmp_path: Path) -> None:
    path = Path(backup_path(tmp_path, "/a"))
    path.parent.mkdir()
    path.write_bytes(raw)

    assert load_backup(tmp_path, "/a") is None


def test_what_was_kept_of_another_file_is_not_taken_for_this_one(tmp_path: Path) -> None:
    keep(tmp_path, SettingsBackup(path="/a", before=b"x", after=""))
    Path(backup_path(tmp_path, "/a")).rename(backup_path(tmp_path, "/b"))

    assert load_backup(tmp_path, "/b") is None


def test_a_folder_that_we_made_for_one_file_is_ours_for_the_next(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "project" / ".claude"
    first = created_folders(data, str(folder / "settings.json"))
    keep(data, SettingsBackup(path=str(folder / "settings.json"), before=None, after="", folders=first))
    folder.mkdir(parents=True)

    assert first == (str(folder), str(folder.parent))
    assert created_folders(data, str(folder / "settings.local.json")) == first
    assert created_folders(data, str(tmp_path / "other" / "x.json")) == (str(tmp_path / "other"),)


def test_a_path_that_is_no_text_is_kept_all_the_same(tmp_path: Path) -> None:
    assert Path(backup_path(tmp_path, "/a\udcff")).parent == tmp_path / "hosts"
