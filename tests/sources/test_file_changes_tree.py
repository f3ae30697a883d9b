import os
from pathlib import Path

import pytest

from hookline.sources.file_changes import FileTree, is_rules_file
from hookline.sources.gitignore import GitIgnore


def tree_of(root: Path, *paths: str) -> FileTree:
    return FileTree(str(root), GitIgnore(str(root)), paths)


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def known(tree: FileTree) -> None:
    seen = tree.walk()
    tree.known, tree.folders = dict(seen.files), seen.folders


def test_a_walk_finds_every_file_and_folder_that_is_not_ignored(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "src/b.py", "src/deep/c.py", "build/d.py", ".git/config", "x.log")
    (tmp_path / ".gitignore").write_text("build/\n*.log\n")

    seen = tree_of(tmp_path).walk()

    assert sorted(seen.files) == [".gitignore", "a.py", "src/b.py", "src/deep/c.py"]
    assert seen.folders == {"", "src", "src/deep"}
    assert seen.files["a.py"].size == 4


def test_links_are_not_followed_out_of_the_project_nor_in_circles(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    write(outside, "secret")
    write(project, "a", "sub/b")
    (project / "out").symlink_to(outside)
    (project / "round").symlink_to(project)
    (project / "file").symlink_to(outside / "secret")
    (project / "nowhere").symlink_to(tmp_path / "nothing")

    tree = tree_of(project)
    seen = tree.walk()

    assert sorted(seen.files) == ["a", "sub/b"]
    assert seen.folders == {"", "sub"}
    assert tree.stamp("file") is None
    assert not tree.is_new_folder("out")


def test_pipes_and_sockets_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert tree_of(tmp_path).walk().files == {}


def test_a_folder_that_may_not_be_entered_does_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path, "a", "locked/b")
    (tmp_path / "locked").chmod(0)
    try:
        assert "a" in tree_of(tmp_path).walk().files
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_what_is_different_is_named(tmp_path: Path) -> None:
    write(tmp_path, "same", "edited", "gone")
    tree = tree_of(tmp_path)
    known(tree)

    (tmp_path / "edited").write_text("something else")
    (tmp_path / "gone").unlink()
    write(tmp_path, "new/file")

    assert tree.find_changed(tree.walk()) == {"edited", "gone", "new/file"}


def test_a_hint_about_a_folder_that_went_is_about_everything_in_it(tmp_path: Path) -> None:
    write(tmp_path, "src/a", "src/deep/b", "src2/c")
    tree = tree_of(tmp_path)
    known(tree)

    assert tree.find_suspects(["src"]) == {"src/a", "src/deep/b"}


def test_a_hint_about_what_is_ignored_or_elsewhere_is_about_nothing(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")
    write(tmp_path, "a.log", "other/x", "src/y")
    tree = tree_of(tmp_path, "src")
    known(tree)

    assert tree.find_suspects(["a.log", "other/x", "never-there"]) == set()
    assert tree.find_suspects(["src/y"]) == {"src/y"}


def test_a_single_file_is_watched_through_its_folder(tmp_path: Path) -> None:
    write(tmp_path, "src/a", "src/b")
    tree = tree_of(tmp_path, "src/a")
    known(tree)

    assert list(tree.known) == ["src/a"]
    assert tree.folders == {"src"}
    assert tree.find_suspects(["src/a", "src/b"]) == {"src/a"}


def test_a_folder_is_news_unless_it_is_ignored(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("build/\n")
    for name in ("src", "build"):
        (tmp_path / name).mkdir()
    write(tmp_path, "file")
    tree = tree_of(tmp_path)

    assert [tree.is_new_folder(name) for name in ("src", "build", "file", "nothing")] == [True, False, False, False]


def test_other_rules_make_no_file_new_and_none_gone(tmp_path: Path) -> None:
    rules = tmp_path / ".gitignore"
    rules.write_text("*.log\n")
    write(tmp_path, "a.log", "b.tmp", "c")
    tree = tree_of(tmp_path)
    known(tree)

    rules.write_text("*.tmp\n")
    tree.set_rules(GitIgnore(str(tmp_path)))

    assert tree.find_changed(tree.walk()) == {".gitignore"}
    assert "a.log" in tree.known
    assert "b.tmp" not in tree.known


@pytest.mark.parametrize(("path", "expected"), [(".gitignore", True), ("a/.gitignore", True), ("a.gitignore", False)])
def test_files_of_rules_are_told_by_their_name(path: str, expected: bool) -> None:  # noqa: FBT001 - a table
    assert is_rules_file(path) is expected
