"""Approvals of a folder that becomes a repository, or gets another origin."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

HOOK = '[[hook]]\nname = "note"\non = "notification"\nrun = ["sh", "-c", "echo >> ran"]\n'


def git(project: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=project, check=True, capture_output=True, timeout=60)


def is_run(home: Path) -> bool:
    ran = home.parent / "project" / "ran"
    ran.unlink(missing_ok=True)
    hookline(home, "emit", "notification")
    return ran.exists()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    configure(home, "")
    (tmp_path / "project" / "hookline.toml").write_text(HOOK)
    return home


def test_approval_holds_when_its_folder_becomes_a_repository_and_gets_an_origin(home: Path) -> None:
    project = home.parent / "project"
    approved = hookline(home, "trust", "approve", "note", "--yes")
    assert approved.returncode == 0, approved.stderr
    assert is_run(home)

    git(project, "init", "-q")
    assert is_run(home)
    git(project, "remote", "add", "origin", "https://example.com/owner/project.git")
    assert is_run(home)


def test_changed_hook_is_not_covered_by_the_approval_of_its_folder(home: Path) -> None:
    hookline(home, "trust", "approve", "note", "--yes")
    git(home.parent / "project", "init", "-q")
    (home.parent / "project" / "hookline.toml").write_text(HOOK.replace("echo", "true; echo"))

    assert not is_run(home)


def test_origin_that_changed_is_named_with_the_one_that_was_approved(home: Path) -> None:
    project = home.parent / "project"
    git(project, "init", "-q")
    git(project, "remote", "add", "origin", "https://example.com/owner/project.git")
    hookline(home, "trust", "approve", "note", "--yes")
    assert is_run(home)

    git(project, "remote", "set-url", "origin", "https://example.com/other/project.git")

    assert not is_run(home)
    assert "it was approved in example.com/owner/project" in hookline(home, "check").stdout


def test_folder_that_claims_the_origin_of_another_repository_gets_nothing_but_what_was_approved_there(
    home: Path, tmp_path: Path
) -> None:
    project, other = home.parent / "project", tmp_path / "other"
    other.mkdir()
    for folder in (project, other):
        git(folder, "init", "-q")
        git(folder, "remote", "add", "origin", "https://example.com/owner/project.git")
    hookline(home, "trust", "approve", "note", "--yes")
    more = HOOK.replace('"note"', '"more"').replace("echo", "true; echo")
    (other / "hookline.toml").write_text(HOOK + more)

    listed = json.loads(hookline(home, "list", "--json", "--project", str(other)).stdout)

    assert {row["id"]: row["trust"] for row in listed} == {"note": "approved", "more": "needs approval"}
