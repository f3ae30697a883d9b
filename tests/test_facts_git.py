import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from hookline.facts import MOST_DIFF, gather_facts
from hookline.model.event import Event, EventName


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Ann", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, timeout=60)


def gather(folder: Path, *names: str, **data: object) -> dict[str, object]:
    event = Event(name=EventName.BEFORE_TOOL, cwd=str(folder), data=data)
    return dict(asyncio.run(gather_facts(names, event)))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first words")
    return folder


def test_git_tells_branch_status_changed_files_and_last_commit(repository: Path) -> None:
    (repository / "a.txt").write_text("two\n")
    (repository / "new file").write_text("x")
    git(repository, "mv", "b.txt", "c.txt")
    found = gather(repository, "git")
    fact = found["git"]
    assert isinstance(fact, dict)
    commit = fact.pop("last_commit")
    assert fact == {
        "branch": "main",
        "root": str(repository),
        "status": " M a.txt\nR  c.txt\n?? new file",
        "changed": ["a.txt", "c.txt", "new file"],
        "staged": ["c.txt"],
        "untracked": ["new file"],
    }
    assert (commit["author"], commit["subject"], len(commit["id"])) == ("Ann", "first words", 40)
    assert found["notes"] == []


def test_diff_is_that_to_the_last_commit(repository: Path) -> None:
    (repository / "a.txt").write_text("two\n")
    diff = gather(repository, "diff")["diff"]
    assert isinstance(diff, str)
    assert "-one\n+two\n" in diff


def test_repository_without_commits_has_no_last_one(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a").write_text("x\n")
    git(tmp_path, "add", "a")
    found = gather(tmp_path, "git", "diff")
    assert isinstance(found["git"], dict)
    assert (found["git"]["last_commit"], found["git"]["staged"], found["notes"]) == (None, ["a"], [])
    assert "+x\n" in str(found["diff"])


def test_folder_outside_of_a_repository_has_empty_facts_and_no_note(tmp_path: Path) -> None:
    found = gather(tmp_path, "git", "diff")
    assert isinstance(found["git"], dict)
    assert (found["git"]["branch"], found["git"]["changed"], found["diff"], found["notes"]) == ("", [], "", [])


def test_git_is_not_asked_where_the_repository_would_start_a_program(repository: Path) -> None:
    script, mark = repository / "evil.sh", repository / "started"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(script))
    mark.unlink(missing_ok=True)
    found = gather(repository, "git", "diff")
    assert (found["git"], found["diff"], mark.exists()) == (None, None, False)
    assert [note.partition(":")[0] for note in found["notes"]] == ["git", "diff"]  # type: ignore[attr-defined]
    assert "may start programs" in str(found["notes"])


def test_diff_that_is_too_large_is_none_rather_than_half(repository: Path) -> None:
    (repository / "a.txt").write_text("x" * (MOST_DIFF + 1))
    found = gather(repository, "diff")
    assert found["diff"] is None
    assert "more than 256" in str(found["notes"])


def test_git_that_hangs_is_ended(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 100\n")
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    found = gather(repository, "diff")
    assert found["diff"] is None
    assert "took longer than 3 seconds" in str(found["notes"])
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_git_of_the_project_is_never_started(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "git").write_text("#!/bin/sh\ntouch started\n")
    (repository / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(repository))
    found = gather(repository, "diff")
    assert (found["diff"], (repository / "started").exists()) == (None, False)
    assert "git is not on the PATH" in str(found["notes"])


def test_variable_cannot_name_another_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "other")
    (repository / "a.txt").write_text("two\n")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    found = gather(repository, "git")
    assert isinstance(found["git"], dict)
    assert found["git"]["changed"] == ["a.txt"]
