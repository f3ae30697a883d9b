import subprocess
from pathlib import Path

import pytest

from hookline.trust.repository import find_top, identify_repository, normalise_url


def git(folder: Path, *words: str) -> None:
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, timeout=60)


def made(folder: Path, origin: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "file").write_text("1")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    if origin:
        git(folder, "remote", "add", "origin", origin)
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/owner/project.git",
        "https://user:secret@GitHub.com:443/owner/project",
        "ssh://git@github.com:22/owner/project.git/",
        "git@github.com:owner/project.git",
        "github.com:owner/project",
        "git://github.com/owner/project.git",
    ],
)
def test_origin_is_one_name_however_it_is_reached(url: str) -> None:
    assert normalise_url(url) == "github.com/owner/project"


@pytest.mark.parametrize(
    "url", ["", "x", "https://github.com/../../x", "https://h/a\nb", "file://host/x", "C:/x/y", "ext::sh -c x"]
)
def test_address_that_is_none_is_not_guessed(url: str) -> None:
    assert normalise_url(url) == ""


def test_another_port_is_another_host() -> None:
    assert normalise_url("https://git.example.org:8443/a/b.git") == "git.example.org:8443/a/b"


@pytest.mark.spec("D-07")
def test_worktree_and_clones_belong_to_the_same_repository(tmp_path: Path) -> None:
    main = made(tmp_path / "main")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", str(main), str(tmp_path / "clone"))
    git(tmp_path, "clone", "-q", f"file://{tmp_path / 'clone'}", str(tmp_path / "again"))
    git(tmp_path, "clone", "-q", "--bare", str(main), str(tmp_path / "bare.git"))
    git(tmp_path, "clone", "-q", str(tmp_path / "bare.git"), str(tmp_path / "of-bare"))

    name = f"file:{main}/.git"
    for folder in ("main", "tree", "clone", "again", "of-bare"):
        assert identify_repository(tmp_path / folder) == name


def test_origin_of_the_main_folder_counts_for_its_worktrees(tmp_path: Path) -> None:
    main = made(tmp_path / "main", "git@github.com:owner/project.git")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    (main / "packages" / "one").mkdir(parents=True)

    assert identify_repository(main) == identify_repository(tmp_path / "tree") == "github.com/owner/project"
    assert identify_repository(main / "packages" / "one") == "github.com/owner/project//packages/one"
    assert find_top(main / "packages" / "one") == str(main)


def test_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    main, part = made(tmp_path / "main", "https://h.org/a/main"), made(tmp_path / "part", "https://h.org/a/part")
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")

    assert identify_repository(main / "part") == "h.org/a/part"


def test_folder_without_git_is_its_own(tmp_path: Path) -> None:
    assert identify_repository(tmp_path) == f"file:{tmp_path}"
    assert find_top(tmp_path) == str(tmp_path)


def test_folder_that_only_claims_to_be_a_worktree_is_its_own(tmp_path: Path) -> None:
    main = made(tmp_path / "main", "https://github.com/owner/project")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    for name, claim in {
        "one": f"gitdir: {main}/.git",
        "two": f"gitdir: {main}/.git/worktrees/tree",
        "three": "gitdir: ../three",
        "four": "nonsense",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_text(claim)
        assert identify_repository(tmp_path / name) == f"file:{tmp_path / name}"
    (tmp_path / "five").mkdir()
    (tmp_path / "five" / ".git").symlink_to(main / ".git")
    assert identify_repository(tmp_path / "five") == f"file:{tmp_path / 'five'}"


def test_origins_that_lead_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one", "../two"), made(tmp_path / "two", "../one")

    assert identify_repository(one).startswith("file:")
    assert identify_repository(two).startswith("file:")


def test_configuration_without_end_or_with_inclusions_is_not_followed(tmp_path: Path) -> None:
    one = made(tmp_path / "one")
    (tmp_path / "more").write_text('[remote "origin"]\n url = https://github.com/owner/project\n')
    (one / ".git" / "config").write_text(f"[include]\n path = {tmp_path / 'more'}\n")
    assert identify_repository(one) == f"file:{one}/.git"

    (one / ".git" / "config").write_text('[remote "origin"]\n url = https://h.org/a/b\n' + "#" * 2_000_000)
    assert identify_repository(one) == f"file:{one}/.git"


@pytest.mark.parametrize("content", ["gitdir: a\0b\n", "gitdir: /dev/zero\n", "gitdir: " + "../" * 3_000])
def test_file_of_git_that_leads_nowhere_is_no_trouble(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)

    assert identify_repository(tmp_path) == f"file:{tmp_path}"


def test_address_that_no_path_can_be_is_no_trouble(tmp_path: Path) -> None:
    made(tmp_path / "a")
    (tmp_path / "a" / ".git" / "config").write_text('[remote "origin"]\n\turl = /a\0b\n')

    assert identify_repository(tmp_path / "a") == f"file:{tmp_path}/a/.git"


@pytest.mark.parametrize("is_cloned", [True, False])
def test_files_that_look_like_a_repository_are_none(tmp_path: Path, *, is_cloned: bool) -> None:
    folder = tmp_path / "a"
    if is_cloned:
        made(folder, origin="https://github.com/evil/project")
    (folder / "objects").mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text('[remote "origin"]\n\turl = https://github.com/good/project\n')

    assert identify_repository(folder) == ("github.com/evil/project" if is_cloned else f"file:{folder}")
