from pathlib import Path

import pytest

from hookline.errors import HostError
from hookline.sources.git_repository import open_repository
from tests.sources.repositories import Repository


def test_a_linked_work_tree_shares_the_folder_of_the_repository(tmp_path: Path) -> None:
    made = Repository(tmp_path)
    made.commit("first")
    made.git("worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "tree" / "below").mkdir()

    found = open_repository(tmp_path / "tree" / "below")

    assert (found.top, found.common) == (tmp_path / "tree", made.top / ".git")
    assert found.own_hooks == made.top / ".git" / "hooks"


def test_where_git_looks_is_known_with_who_says_so(tmp_path: Path) -> None:
    made = Repository(tmp_path)
    made.git("config", "core.hooksPath", "~/hooks")

    found = open_repository(made.top).hooks_path

    assert found is not None
    assert (found.written, found.scope) == ("~/hooks", "local")
    assert found.path == str(Path("~/hooks").expanduser())


def test_the_inside_of_a_repository_is_no_work_tree(tmp_path: Path) -> None:
    made = Repository(tmp_path)

    with pytest.raises(HostError, match="inside the repository's own folder"):
        open_repository(made.top / ".git")
