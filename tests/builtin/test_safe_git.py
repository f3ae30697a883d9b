import os
import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.builtin._boundaries import Boundaries
from hookline.builtin._safe_git import is_harmless
from hookline.builtin.allow_readonly import list_readers
from tests.builtin.bounds import make_project, run

LINES = ["git status", "git diff", "git log -p", "git show", "git describe --always --dirty"]
HARMLESS = """\
# a comment
[core]
\trepositoryformatversion = 0
\tfilemode = true ; a comment
\tbare = false
\tlogallrefupdates
\tfsmonitor = true
\thooksPath = .husky/_
\tsshCommand = ssh -i key
[remote "origin"]
\turl = https://example.com/x.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"] remote = origin
\tmerge = refs/heads/main
\tvscode-merge-base = origin/main
[user]
\temail = someone@example.com
[alias]
\tst = "!rm -rf /"
"""
# each runs a program, or reads files of others, with at least one command that only reads
HARMFUL = [
    "[core]\n\tfsmonitor = ./evil",
    "[core]fsmonitor = ./evil",
    "[CORE]\n\tFsMonitor=./evil",
    "[core]\r\n\tfsmonitor = ./evil\r",
    '[core "x"]\n\tunknown = 1',
    "[core]\n\tpager = ./evil",
    "[pager]\n\tlog = ./evil",
    "[diff]\n\texternal = ./evil",
    '[diff "x"]\n\ttextconv = ./evil',
    '[diff "x"]\n\tcommand = ./evil',
    '[filter "x"]\n\tclean = ./evil',
    '[filter "x"]\n\tprocess = ./evil',
    "[include]\n\tpath = ../evil.conf",
    '[includeIf "gitdir:/"]\n\tpath = ../evil.conf',
    "[core]\n\tworktree = /",
    "[core]\n\tattributesFile = ../evil",
    "[core]\n\talternateRefsCommand = ./evil",
    "[gpg]\n\tprogram = ./evil",
    "[log]\n\tshowSignature = true",
    "[format]\n\tpretty = %G?",
    '[pretty]\n\tx = "%G?"',
    '[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\turl = ext::./evil',
    '[remote "origin"]\n\tpromisor = true',
    '[remote "origin"]\n\tuploadpack = ./evil',
    '[hook "x"]\n\tcommand = ./evil',
    '[lfs "extension.x"]\n\tclean = ./evil',
    "[status]\n\tsubmoduleSummary = true",
    "[submodule]\n\trecurse = true",
    "[user]\n\tname = a\\\n[core]\n\tfsmonitor = ./evil",
    "[user]\n\tname = \\",
    "[core\n\tfsmonitor = ./evil",
    "[ core ]\n\tbare = false",
    "[core.x]\n\tfsmonitor = ./evil",
    "fsmonitor = ./evil",
    "\ufeff[core]\n\tbare = false",
    "[core]\n\thooksPath = ~/hooks",
    '[core]\n\thooksPath = "a\\"b"',
]


@pytest.fixture
def bounds(tmp_path: Path) -> Boundaries:
    return make_project(tmp_path)


def _asked(bounds: Boundaries) -> list[str]:
    return [line for line in LINES if list_readers(line, bounds)]


def test_the_settings_that_everybody_has_are_harmless(bounds: Boundaries) -> None:
    (Path(bounds.root) / ".git/config").write_text(HARMLESS)

    assert _asked(bounds) == LINES
    assert run(["git", "status"], Path(bounds.root), Path(bounds.home)).returncode == 0


def test_a_repository_without_settings_of_its_own_is_harmless(bounds: Boundaries) -> None:
    (Path(bounds.root) / ".git/config").unlink()

    assert _asked(bounds) == LINES


@pytest.mark.spec("C-12")
@pytest.mark.parametrize("text", HARMFUL)
def test_settings_that_may_run_a_program_are_no_reading(bounds: Boundaries, text: str) -> None:
    (Path(bounds.root) / ".git/config").write_text(f"{text}\n", newline="")

    assert _asked(bounds) == []


@pytest.mark.spec("C-12")
def test_a_repository_that_was_unpacked_and_not_cloned_runs_nothing(bounds: Boundaries) -> None:
    root = Path(bounds.root)
    run(["git", "config", "core.fsmonitor", "touch evil; false"], root, Path(bounds.home))

    run(["git", "status"], root, Path(bounds.home))
    assert (root / "evil").exists(), "git runs what the settings name: this is what is kept from happening"

    assert _asked(bounds) == []


def test_the_settings_of_one_work_tree_count_too(bounds: Boundaries) -> None:
    (Path(bounds.root) / ".git/config.worktree").write_text("[core]\n\tfsmonitor = ./evil\n")

    assert _asked(bounds) == []


def test_settings_that_are_too_long_or_no_text_are_not_trusted(bounds: Boundaries) -> None:
    config = Path(bounds.root) / ".git/config"
    config.write_text("[user]\n" + "\tname = x\n" * 10_000)
    assert _asked(bounds) == []

    config.write_bytes(b"[user]\n\tname = \xff\xfe\n")
    assert _asked(bounds) == []

    config.unlink()
    config.mkdir()
    assert _asked(bounds) == []


@pytest.mark.parametrize("folder", ["", ".husky"])
def test_the_hook_that_looking_at_files_starts_is_no_reading(bounds: Boundaries, folder: str) -> None:
    root = Path(bounds.root)
    if folder:
        run(["git", "config", "core.hooksPath", folder], root, Path(bounds.home))
    hook = root / (folder or ".git/hooks") / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch evil\n")
    hook.chmod(0o755)
    os.utime(root / "README.md", (1, 1))

    run(["git", "status"], root, Path(bounds.home))

    assert (root / "evil").exists(), "git starts this hook: this is what is kept from happening"
    assert _asked(bounds) == []


def test_hooks_that_only_changes_start_are_harmless(bounds: Boundaries) -> None:
    (Path(bounds.root) / ".git/hooks").mkdir(exist_ok=True)
    (Path(bounds.root) / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")

    assert _asked(bounds) == LINES


def _make_nested(root: Path, home: Path) -> None:
    for folder, *words in (
        (root, "init", "-q", "nested"),
        (root / "nested", "commit", "-q", "--allow-empty", "-m", "x"),
        (root, "add", "nested"),
        (root / "nested", "config", "core.fsmonitor", "touch ../evil; false"),
    ):
        run(["git", *words], folder, home)


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_repository_inside_of_another_has_settings_of_its_own(bounds: Boundaries, version: str) -> None:
    root = Path(bounds.root)
    _make_nested(root, Path(bounds.home))
    run(["git", "update-index", "--index-version", version], root, Path(bounds.home))

    run(["git", "status"], root, Path(bounds.home))

    assert (root / "evil").exists(), "git looks into it: this is what is kept from happening"
    assert [line for line in _asked(bounds) if line.split()[1] in {"status", "diff", "describe"}] == []
    assert list_readers("git log --oneline", bounds)


def test_an_index_in_two_parts_is_looked_at_in_both(bounds: Boundaries) -> None:
    root = Path(bounds.root)
    _make_nested(root, Path(bounds.home))
    run(["git", "update-index", "--split-index"], root, Path(bounds.home))

    assert list_readers("git status", bounds) == ()


def test_a_further_work_tree_is_asked_with_the_settings_of_its_repository(bounds: Boundaries, tmp_path: Path) -> None:
    run(["git", "worktree", "add", "-q", "../tree"], Path(bounds.root), Path(bounds.home))
    tree = os.path.realpath(tmp_path / "tree")
    there = replace(bounds, root=tree, bases=(tree,))
    assert _asked(there) == LINES

    run(["git", "config", "core.pager", "./evil"], Path(bounds.root), Path(bounds.home))

    assert _asked(there) == []


def test_a_file_that_leads_to_the_repository_of_somebody_else_is_not_followed(
    bounds: Boundaries, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {bounds.root}/.git\n")
    there = replace(bounds, root=str(other), bases=(str(other),))
    assert subprocess.run(["git", "log"], cwd=other, capture_output=True, check=False).returncode == 0

    assert _asked(there) == []

    (other / ".git").unlink()
    (other / ".git").symlink_to(f"{bounds.root}/.git")
    assert _asked(there) == []


def test_a_folder_that_only_is_called_like_a_repository_hides_no_other_one(tmp_path: Path) -> None:
    """Git passes by an empty .git folder, and then takes the folder around it for a bare repository."""
    for name in (".git", "objects", "refs"):
        (tmp_path / name).mkdir()
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "config").write_text("[core]\n\tfsmonitor = ./evil\n")

    assert not is_harmless(str(tmp_path), looks_inside=True)
    assert not is_harmless(str(tmp_path / "nowhere"), looks_inside=False)


@pytest.mark.spec("C-12")
@pytest.mark.parametrize("head", ["garbage\n", "ref: nowhere\n", "ref:\n", ""])
def test_a_repository_with_a_damaged_head_hides_no_bare_one_beside_it(bounds: Boundaries, head: str) -> None:
    root = Path(bounds.root)
    (root / ".git/HEAD").write_text(head)
    (root / "HEAD").write_text("ref: refs/heads/main\n")
    settings = "repositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch evil; false"
    (root / "config").write_text(f"[core]\n\t{settings}\n")
    for name in ("objects", "refs"):
        shutil.copytree(root / ".git" / name, root / name)
    shutil.copy(root / ".git/index", root / "index")

    run(["git", "status"], root, Path(bounds.home))

    assert (root / "evil").exists(), "git takes the folder itself: this is what is kept from happening"
    assert _asked(bounds) == []

    (root / "HEAD").unlink()
    assert _asked(bounds) == []


def test_a_bare_repository_beside_a_whole_one_is_not_guessed_about(bounds: Boundaries) -> None:
    root = Path(bounds.root)
    (root / "HEAD").write_text("ref: refs/heads/main\n")
    assert _asked(bounds) == LINES

    (root / "objects").mkdir()
    assert _asked(bounds) == []
