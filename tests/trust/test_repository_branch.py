import subprocess
from pathlib import Path

import pytest

from hookline.trust.repository import read_branch


def git(folder: Path, *words: str, may_fail: bool = False) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=folder, check=not may_fail, capture_output=True, timeout=60)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_branch_is_read_in_every_folder_of_the_repository(repository: Path) -> None:
    (repository / "a" / "b").mkdir(parents=True)
    git(repository, "checkout", "-q", "-b", "release/1.0")
    assert read_branch(str(repository / "a" / "b")) == "release/1.0"


def test_worktree_has_a_branch_of_its_own(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "feature", "../tree")
    assert (read_branch(str(repository)), read_branch(str(repository.parent / "tree"))) == ("main", "feature")


def test_branch_without_commits_is_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "fresh")
    assert read_branch(str(tmp_path)) == "fresh"


def test_detached_head_is_called_head(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert read_branch(str(repository)) == "HEAD"


def test_branch_that_is_being_rebased_is_still_the_branch(repository: Path) -> None:
    (repository / "file").write_text("main")
    git(repository, "add", "file")
    git(repository, "commit", "-q", "-m", "main")
    git(repository, "checkout", "-q", "-b", "topic", "HEAD~1")
    (repository / "file").write_text("topic")
    git(repository, "add", "file")
    git(repository, "commit", "-q", "-m", "topic")
    git(repository, "rebase", "main", may_fail=True)
    assert not (repository / ".git" / "HEAD").read_text().startswith("ref:")
    assert read_branch(str(repository)) == "topic"


def test_folder_outside_of_a_repository_has_no_branch(tmp_path: Path) -> None:
    assert read_branch(str(tmp_path)) == ""


@pytest.mark.parametrize("head", ["ref: refs/heads/.invalid\n", "", None])
def test_branch_that_cannot_be_read_is_an_error(repository: Path, head: str | None) -> None:
    path = repository / ".git" / "HEAD"
    path.unlink()
    if head is not None:
        path.write_text(head)
    with pytest.raises((OSError, ValueError), match="HEAD"):
        read_branch(str(repository))
