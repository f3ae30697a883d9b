import os
import subprocess
from pathlib import Path

import pytest

from hookline.errors import HostError
from hookline.sources.git_repository import find_git, run_git


def test_a_git_that_the_project_brings_along_is_not_run(tmp_path: Path) -> None:
    project = tmp_path / "project"
    tools = project / "bin"
    tools.mkdir(parents=True)
    (project / ".git").mkdir()
    fake = tools / "git"
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)

    assert find_git(str(project), f"{tools}{os.pathsep}{os.environ['PATH']}") != str(fake)
    with pytest.raises(HostError, match="git is not on the PATH"):
        find_git(str(project), str(tools))


def test_what_git_says_is_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"git rev-parse did not work in .*not a git repository"):
        run_git("rev-parse", "--git-dir", folder=str(tmp_path))


def test_a_no_may_be_an_answer(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, env={**os.environ, "HOME": str(tmp_path)})

    assert run_git("config", "--get", "no.such", folder=str(tmp_path), may_fail=True) is None


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="did not work"):
        run_git("--version", folder=str(tmp_path / "gone"))
