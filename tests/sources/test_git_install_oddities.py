"""Repositories and scripts that are not like most."""

import subprocess
import sys
from pathlib import Path

import pytest

from hookline.sources.git_install import HOOKS
from hookline.sources.git_repository import lock_repository
from tests.cli.program import environment
from tests.sources.repositories import THEIRS, Repository, picture

pytestmark = pytest.mark.slow

GUARDED = """#!/usr/bin/env bash
main() { echo "no from $(basename "$0")" >&2; exit 1; }
if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then main "$@"; fi
"""
SELF_READING = """#!/bin/sh
sed -n 's/^#says //p' "$0" >> "$HOME/theirs"
#says its own text
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_script_that_asks_whether_it_is_run_or_read_still_says_no(repository: Repository) -> None:
    repository.hook(".git/hooks/pre-commit", GUARDED)
    before = picture(repository.top / ".git/hooks"), (repository.top / ".git/config").read_bytes()
    repository.hookline("install")

    done = repository.commit("x", ok=False)
    assert (done.returncode, done.stderr) == (1, "no from pre-commit\n")

    repository.hookline("uninstall")
    assert (picture(repository.top / ".git/hooks"), (repository.top / ".git/config").read_bytes()) == before


def test_a_script_that_reads_itself_finds_itself(repository: Repository) -> None:
    repository.hook(".git/hooks/pre-commit", SELF_READING)
    repository.hookline("install")

    repository.commit("x")

    assert repository.theirs() == ["its own text"]
    assert len(repository.events("git_commit")) == 1


def test_a_hook_that_came_later_and_is_no_shell_script_does_not_make_ours_run_twice(repository: Repository) -> None:
    repository.hook(".git/hooks/commit-msg")
    repository.hookline("install")
    script = "#!/usr/bin/env python3\nimport os\nopen(os.environ['HOME'] + '/theirs', 'a').write('python\\n')\n"
    (repository.top / ".git/hooks/pre-commit").unlink()
    repository.hook(".git/hooks/pre-commit", script)
    repository.hookline("install")

    repository.commit("x")

    assert repository.theirs() == ["python", "commit-msg .git/COMMIT_EDITMSG"]
    assert len(repository.events("git_commit")) == 1
    repository.hookline("uninstall")
    left = {path.name for path in (repository.top / ".git/hooks").iterdir() if path.suffix != ".sample"}
    assert left == {"pre-commit", "commit-msg"}


def test_who_was_cut_short_after_setting_a_hook_aside_loses_nothing(repository: Repository) -> None:
    theirs = repository.hook(".git/hooks/pre-commit")
    aside = theirs.with_name("pre-commit.before-hookline")
    theirs.rename(aside)
    repository.hookline("install")
    repository.commit("x")
    assert repository.theirs() == ["pre-commit "]

    theirs.unlink()
    repository.hookline("uninstall")

    assert theirs.read_text() == THEIRS
    assert not aside.exists()


def test_installing_at_the_same_time_keeps_what_was_there(repository: Repository) -> None:
    theirs = [repository.hook(f".git/hooks/{hook}") for hook in HOOKS]
    before = picture(repository.top / ".git/hooks")
    words = [sys.executable, "-m", "hookline", "git", "install"]
    programs = [
        subprocess.Popen(words, cwd=repository.top, env=environment(repository.home), stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [program.wait(60) for program in programs] == [0] * 4

    assert [path.with_name(f"{path.name}.before-hookline").read_text() for path in theirs] == [THEIRS] * len(theirs)
    repository.hookline("uninstall")
    assert picture(repository.top / ".git/hooks") == before


def test_whoever_sets_one_aside_waits_for_the_one_who_does_so_now(repository: Repository) -> None:
    with lock_repository(repository.top):
        words = [sys.executable, "-m", "hookline", "git", "install"]
        program = subprocess.Popen(
            words, cwd=repository.top, env=environment(repository.home), stdout=subprocess.DEVNULL
        )
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(3)
        assert not (repository.top / ".git/hooks/pre-commit").exists()
    assert program.wait(60) == 0
    assert (repository.top / ".git/hooks/pre-commit").exists()


@pytest.mark.parametrize("path", ["", "their hooks"])
def test_a_folder_with_an_odd_name_is_a_folder_like_any_other(tmp_path: Path, path: str) -> None:
    repository = Repository(tmp_path, "two\nlines 'and' \"quotes\" é\n")
    if path:
        repository.git("config", "core.hooksPath", path)
    repository.hook(f"{path or '.git/hooks'}/pre-commit")
    before = picture(repository.top / ".git")
    here = ("--project", str(repository.top))
    repository.hookline("install", *here)

    repository.commit("x")
    repository.git("worktree", "add", "-q", str(tmp_path / "tree"))
    repository.commit("y", at=tmp_path / "tree")

    assert len(repository.events("git_commit")) == 2
    assert repository.theirs()[0] == "pre-commit "
    assert repository.hookline("status", *here).stdout.count("yes") == len(HOOKS)
    repository.hookline("uninstall", *here)
    after = picture(repository.top / ".git")
    assert all(after[name][:2] == before[name][:2] for name in before if name.startswith(("hooks", "config")))
    assert not any("hookline" in name for name in after)


def test_a_setting_that_is_read_after_ours_is_an_error_and_changes_nothing(repository: Repository) -> None:
    (repository.top / ".git/extra").write_text("[core]\n\thooksPath = elsewhere\n")
    config = repository.top / ".git/config"
    config.write_text(f"{config.read_text()}[include]\n\tpath = extra\n")
    before = config.read_bytes()

    done = repository.hookline("install", ok=False)

    assert done.returncode == 1
    assert "--show-origin" in done.stderr
    assert config.read_bytes() == before
    assert not (repository.top / ".git/hookline/state.json").exists()


def test_work_trees_that_each_have_their_own_folder_of_hooks_do_not_mix(repository: Repository, tmp_path: Path) -> None:
    repository.commit("first")
    tree = tmp_path / "tree"
    repository.git("config", "extensions.worktreeConfig", "true")
    repository.git("worktree", "add", "-q", str(tree))
    for place, name in ((repository.top, "one"), (tree, "two")):
        repository.git("config", "--worktree", "core.hooksPath", name, at=place)
        (place / name).mkdir()
        script = place / name / "pre-commit"
        script.write_text(f'#!/bin/sh\necho {name} >> "$HOME/theirs"\n')
        script.chmod(0o755)
    files = [repository.top / ".git/config.worktree", repository.top / ".git/worktrees/tree/config.worktree"]
    before = [file.read_bytes() for file in files]
    repository.hookline("install")
    repository.hookline("install", "--project", str(tree))

    repository.commit("x")
    repository.commit("y", at=tree)
    assert repository.theirs() == ["one", "two"]
    assert len(repository.events("git_commit")) == 2

    repository.hookline("uninstall")
    repository.commit("z", at=tree)
    assert repository.theirs() == ["one", "two", "two"]
    assert len(repository.events("git_commit")) == 3
    repository.hookline("uninstall", "--project", str(tree))
    assert [file.read_bytes() for file in files] == before
