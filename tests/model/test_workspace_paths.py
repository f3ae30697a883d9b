import os
import pwd
from pathlib import Path

import pytest

from hookline.model.hook import Hook, Source
from hookline.model.workspace_paths import is_inside, real_path, workspace_roots


def hook(source: Source, root: Path) -> Hook:
    return Hook(id="h", command="node", source=source, root=str(root))


def test_folder_of_a_project_is_foreign_and_the_home_of_a_person_is_not(tmp_path: Path) -> None:
    home = Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
    work, other = tmp_path / "work", tmp_path / "other"
    for folder in (work, other):
        folder.mkdir()

    assert workspace_roots(hook(Source.WORKSPACE, work), str(work)) == (str(work),)
    assert workspace_roots(hook(Source.EXTENSION, other), str(work)) == (str(work), str(other))
    assert workspace_roots(hook(Source.USER, home), str(work)) == (str(work),)
    assert workspace_roots(hook(Source.USER, home), str(home)) == ()
    assert workspace_roots(hook(Source.USER, home), "/") == ()


def test_project_is_foreign_though_the_environment_calls_it_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in (tmp_path, tmp_path / "inside"):
        monkeypatch.setenv("HOME", str(home))
        assert workspace_roots(hook(Source.USER, tmp_path), str(tmp_path)) == (str(tmp_path),)


def test_folder_is_known_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")
    assert workspace_roots(hook(Source.WORKSPACE, link), str(link)) == (str(tmp_path / "one"),)

    link.unlink()
    link.symlink_to(tmp_path / "two")

    assert workspace_roots(hook(Source.WORKSPACE, link), str(link)) == (str(tmp_path / "two"),)


def test_path_that_cannot_be_is_left_as_it_is(tmp_path: Path) -> None:
    assert real_path("a\0b") == "a\0b"
    assert real_path(str(tmp_path / "gone")) == str(tmp_path / "gone")


@pytest.mark.parametrize(
    ("path", "folder", "wanted"),
    [("/a/b", "/a", True), ("/a", "/a", True), ("/ab", "/a", False), ("/a", "/a/b", False), ("/a", "/", True)],
)
def test_inside_is_told_by_whole_names(path: str, folder: str, *, wanted: bool) -> None:
    assert is_inside(path, (folder,)) is wanted


def test_who_works_inside_a_repository_works_in_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "project" / "inner" / "deep").mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    # a submodule, whose link to the outer repository is a file
    (tmp_path / "project" / "inner" / ".git").write_text("gitdir: ../.git/modules/inner\n")
    own = Hook(id="h", command="x", source=Source.USER)

    found = workspace_roots(own, str(tmp_path / "project" / "inner" / "deep"))

    assert found == (str(tmp_path / "project"), str(tmp_path / "project" / "inner" / "deep"))
