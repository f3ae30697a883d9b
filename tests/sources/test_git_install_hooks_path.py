from pathlib import Path

import pytest

from hookline.errors import HostError
from hookline.sources import git_install
from hookline.sources.git_repository import open_repository
from tests.sources.repositories import THEIRS, Repository

pytestmark = pytest.mark.slow


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.mark.parametrize("written", ["~/my hooks", 'HOME/it\'s "odd" $HOME `x`', "below/./hooks"])
def test_their_folder_is_found_however_it_is_written(repository: Repository, written: str) -> None:
    value = written.replace("HOME", str(repository.home), 1) if written.startswith("HOME") else written
    folder = repository.home / value[2:] if value.startswith("~/") else repository.top / value
    folder.mkdir(parents=True)
    (folder / "pre-commit").write_text(THEIRS)
    (folder / "pre-commit").chmod(0o755)
    repository.git("config", "core.hooksPath", value)
    config = (repository.top / ".git" / "config").read_bytes()

    repository.hookline("install")
    repository.commit("first")

    assert repository.theirs() == ["pre-commit "]
    assert len(repository.events("git_commit")) == 1
    repository.hookline("uninstall")
    assert (repository.top / ".git" / "config").read_bytes() == config


def test_a_setting_that_is_there_twice_comes_back_twice(repository: Repository) -> None:
    repository.git("config", "--add", "core.hooksPath", ".one")
    repository.git("config", "--add", "core.hooksPath", ".two")
    repository.hook(".two/pre-commit")
    config = (repository.top / ".git" / "config").read_bytes()

    repository.hookline("install")
    repository.commit("first")

    assert repository.theirs() == ["pre-commit "]
    repository.hookline("uninstall")
    assert (repository.top / ".git" / "config").read_bytes() == config


def test_the_mode_of_the_configuration_stays(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".husky")
    config = repository.top / ".git" / "config"
    config.chmod(0o664)

    repository.hookline("install")
    repository.hookline("uninstall")

    assert config.stat().st_mode & 0o777 == 0o664


def test_a_configuration_that_is_a_link_stays_one(repository: Repository) -> None:
    config = repository.top / ".git" / "config"
    repository.git("config", "core.hooksPath", ".husky")
    config.rename(repository.home / "shared")
    config.symlink_to(repository.home / "shared")
    before = config.read_bytes()

    repository.hookline("install")
    repository.hookline("uninstall")

    assert config.is_symlink()
    assert config.read_bytes() == before


def test_an_installation_that_was_cut_short_can_be_gone_on_with_or_taken_back(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".husky")
    config = (repository.top / ".git" / "config").read_bytes()
    repository.hookline("install")
    # as if the program had been killed before git was told
    (repository.top / ".git" / "config").write_bytes(config)

    repository.hookline("uninstall")
    assert (repository.top / ".git" / "config").read_bytes() == config
    assert not (repository.top / ".git" / "hookline").exists()

    repository.hookline("install")
    (repository.top / ".git" / "config").write_bytes(config)
    repository.hookline("install")
    repository.commit("first")
    assert len(repository.events("git_commit")) == 1


def test_hooks_that_do_something_by_being_there_are_passed_on_only_where_they_are(repository: Repository) -> None:
    repository.hook(".husky/post-index-change")
    repository.git("config", "core.hooksPath", ".husky")

    repository.hookline("install")

    ours = {path.name for path in (repository.top / ".git" / "hookline" / "hooks").iterdir()}
    assert "post-index-change" in ours
    assert not {"push-to-checkout", "proc-receive", "reference-transaction"} & ours


def test_only_a_plain_file_with_our_mark_is_ours(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.write_text("#!/bin/sh\n# Made by `hookline git install`. And so on.\n")
    (tmp_path / "link").symlink_to(ours)
    (tmp_path / "theirs").write_text("#!/bin/sh\n")

    assert git_install.is_ours(ours)
    assert not any(git_install.is_ours(tmp_path / name) for name in ("link", "theirs", "missing", "."))


def test_state_of_somebody_else_is_refused(repository: Repository) -> None:
    folder = repository.top / ".git" / "hookline"
    folder.mkdir()
    (folder / "state.json").write_text('{"file": 3}')

    with pytest.raises(HostError, match=r"cannot read .*state\.json"):
        git_install.read_state(open_repository(repository.top))
