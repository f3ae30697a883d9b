import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hookline.config.undo_log import MAX_ENTRIES, FileEdit, UndoEntry, UndoLog, read_bytes
from hookline.errors import ConfigError

WRITER = """
import sys
from pathlib import Path
from hookline.config.undo_log import FileEdit, UndoLog, read_bytes
path = sys.argv[2]
for number in range(10):
    with UndoLog(Path(sys.argv[1])).transaction() as apply:
        before = read_bytes(path) or b""
        apply([FileEdit(path, before, before + f"{sys.argv[3]}{number}\\n".encode())], "wrote a line")
"""


@pytest.fixture
def journal(tmp_path: Path) -> UndoLog:
    return UndoLog(tmp_path / "data")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hooks.json"
    path.write_bytes(b'{\r\n "a": 1}')
    return path


def changed(journal: UndoLog, path: Path, after: bytes | None) -> UndoEntry:
    with journal.transaction() as apply:
        return apply([FileEdit(str(path), read_bytes(str(path)), after)], f"made it {after!r}")


def test_a_change_is_taken_back_byte_for_byte(journal: UndoLog, file: Path) -> None:
    before = file.read_bytes()
    entry = changed(journal, file, b"other")

    assert file.read_bytes() == b"other"
    journal.undo(entry.id)

    assert file.read_bytes() == before


def test_taking_back_an_undo_does_the_change_again(journal: UndoLog, file: Path) -> None:
    _, undone = journal.undo(changed(journal, file, b"other").id)

    journal.undo(undone.id)

    assert file.read_bytes() == b"other"
    assert [entry.what for entry in journal.active()] == ["made it b'other'"]


def test_undoing_again_and_again_goes_back_step_by_step(journal: UndoLog, file: Path) -> None:
    texts = [file.read_bytes(), b"1", b"2", b"3"]
    for text in texts[1:]:
        changed(journal, file, text)

    for text in reversed(texts[:-1]):
        journal.undo()
        assert file.read_bytes() == text
    assert journal.active() == []


def test_a_file_that_was_changed_since_is_left_alone_unless_forced(journal: UndoLog, file: Path) -> None:
    before = file.read_bytes()
    entry = changed(journal, file, b"other")
    file.write_bytes(b"by hand")

    with pytest.raises(ConfigError, match=f"hookline undo {entry.id} --force"):
        journal.undo(entry.id)
    assert file.read_bytes() == b"by hand"

    journal.undo(entry.id, force=True)
    assert file.read_bytes() == before
    # what was there by hand is not lost either
    journal.undo(journal.entries()[0].id)
    assert file.read_bytes() == b"by hand"


def test_a_change_that_was_stopped_before_it_was_made_is_no_obstacle_to_undo(
    journal: UndoLog, file: Path, tmp_path: Path
) -> None:
    """Being killed between the note in the journal and the file, or between two files, must not block every undo."""
    first = file.read_bytes()
    changed(journal, file, b"1")
    other = tmp_path / "other.json"
    other.write_bytes(b"here")
    with journal.transaction() as apply:
        apply([FileEdit(str(file), b"1", b"2"), FileEdit(str(other), b"here", b"there")], "both")
    # as if the second file had never been reached
    other.write_bytes(b"here")

    journal.undo()
    assert (file.read_bytes(), other.read_bytes()) == (b"1", b"here")
    journal.undo()
    assert file.read_bytes() == first


def test_what_is_taken_back_already_is_not_taken_back_twice(journal: UndoLog, file: Path) -> None:
    entry = changed(journal, file, b"other")
    _, undone = journal.undo(entry.id)

    with pytest.raises(ConfigError, match=f"taken back already; `hookline undo {undone.id}`"):
        journal.undo(entry.id)


def test_two_who_take_back_at_once_take_back_one_change_each(journal: UndoLog, file: Path) -> None:
    first = file.read_bytes()
    changed(journal, file, b"1")
    changed(journal, file, b"2")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: journal.undo(), range(2)))

    assert file.read_bytes() == first
    assert journal.active() == []


def test_a_new_file_goes_and_a_removed_one_comes_back_with_its_mode(journal: UndoLog, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "new.toml"
    made = changed(journal, path, b"x = 1\n")
    _, undone = journal.undo(made.id)
    assert not (tmp_path / "deep").exists()
    journal.undo(undone.id)
    assert path.read_bytes() == b"x = 1\n"

    path.write_bytes(b"y")
    path.chmod(0o750)
    removed = changed(journal, path, None)
    assert not path.exists()
    journal.undo(removed.id)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"y", 0o750)


def test_the_mode_of_a_file_stays(journal: UndoLog, file: Path) -> None:
    file.chmod(0o640)

    changed(journal, file, b"x")

    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_of_somebody_else_stays_theirs(journal: UndoLog, file: Path) -> None:
    os.chown(file, 65534, 65534)

    changed(journal, file, b"x")

    assert (file.stat().st_uid, file.stat().st_gid) == (65534, 65534)


def test_a_link_stays_a_link(journal: UndoLog, file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(file)

    changed(journal, link, b"x")

    assert link.is_symlink()
    assert file.read_bytes() == b"x"


def test_the_journal_is_for_its_owner_only(journal: UndoLog, file: Path, tmp_path: Path) -> None:
    changed(journal, file, b"x")

    folder = tmp_path / "data" / "journal"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(journal: UndoLog, file: Path) -> None:
    with journal.transaction() as apply, pytest.raises(ConfigError, match="changed meanwhile"):
        apply([FileEdit(str(file), b"what it was", b"what it shall be")], "a change")

    assert file.read_bytes() == b'{\r\n "a": 1}'
    assert journal.entries() == []


def test_of_several_files_all_change_or_none(journal: UndoLog, file: Path, tmp_path: Path) -> None:
    impossible = tmp_path / "b.json"
    impossible.symlink_to("/dev/null/nowhere/b.json")

    with journal.transaction() as apply, pytest.raises(ConfigError, match="nothing was changed"):
        apply([FileEdit(str(file), file.read_bytes(), b"x"), FileEdit(str(impossible), None, b"y")], "two files")

    assert file.read_bytes() == b'{\r\n "a": 1}'
    assert journal.entries() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.json", "data", "hooks.json"]


def test_without_a_place_for_the_journal_nothing_is_changed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")

    with pytest.raises(ConfigError, match="nothing was changed"):
        changed(UndoLog(tmp_path / "data"), file, b"x")
    assert file.read_bytes() == b'{\r\n "a": 1}'


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_file_stays_as_it_is(journal: UndoLog, file: Path) -> None:
    file.chmod(0o400)

    with pytest.raises(ConfigError, match="read-only"):
        changed(journal, file, b"x")


def test_two_writers_lose_no_change(tmp_path: Path) -> None:
    path = tmp_path / "shared.txt"
    path.write_bytes(b"")
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "data"), str(path), name]) for name in "ab"
    ]

    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    assert sorted(path.read_text().split()) == sorted(f"{name}{number}" for name in "ab" for number in range(10))
    assert len(UndoLog(tmp_path / "data").entries()) == 20


def test_only_so_many_changes_are_kept(journal: UndoLog, file: Path, tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES + 5):
        changed(journal, file, f"{number}".encode())

    assert [entry.id for entry in journal.entries()] == list(range(MAX_ENTRIES + 5, 5, -1))
    texts = list((tmp_path / "data" / "journal").glob("*.text"))
    assert len(texts) == MAX_ENTRIES + 1


def test_a_kept_text_that_was_tampered_with_is_not_used(journal: UndoLog, file: Path, tmp_path: Path) -> None:
    entry = changed(journal, file, b"x")
    for path in (tmp_path / "data" / "journal").glob("*.text"):
        path.write_bytes(b"evil")

    with pytest.raises(ConfigError, match="not used"):
        journal.undo(entry.id)


def test_an_entry_that_cannot_be_read_is_passed_over(journal: UndoLog, file: Path, tmp_path: Path) -> None:
    changed(journal, file, b"x")
    (tmp_path / "data" / "journal" / "00000007.json").write_text("{")

    assert [entry.id for entry in journal.entries()] == [1]


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.mkdir() if kind == "folder" else os.mkfifo(path)

    with pytest.raises(ConfigError):
        read_bytes(str(path))
