import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.project import load_project
from hookline.user_dirs import UserDirs, find_repositories, find_user_dirs, parents_in_repository

OWN = Path(pwd.getpwuid(os.getuid()).pw_dir)


def git(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=60)
    return folder


def folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def find(project: Path, **environ: object) -> UserDirs:
    return find_user_dirs(project, environ={name: str(value) for name, value in environ.items()}, managed="")


def messages(folders: UserDirs) -> list[str]:
    return [problem.message for problem in folders.problems]


def test_without_variables_the_user_database_decides(tmp_path: Path) -> None:
    folders = find(tmp_path)

    assert (folders.home, folders.problems) == (OWN, ())
    assert folders.config.is_relative_to(OWN)
    assert folders.data.is_relative_to(OWN)


def test_folder_of_ones_own_outside_the_project_is_taken(tmp_path: Path) -> None:
    project = git(tmp_path / "project")
    home = folder(tmp_path / "home")
    folders = find(project, HOME=home, XDG_CONFIG_HOME=tmp_path / "home/conf", XDG_DATA_HOME=folder(tmp_path / "data"))

    assert folders.problems == ()
    assert (folders.home, folders.config) == (home, home / "conf/hookline")
    assert folders.data == tmp_path / "data/hookline"


@pytest.mark.spec("O-04", "D-07")
@pytest.mark.parametrize("variable", ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"])
@pytest.mark.parametrize("place", [".home", "not/there/yet", "."])
def test_workspace_cannot_move_a_folder_into_itself(tmp_path: Path, variable: str, place: str) -> None:
    project = folder(tmp_path / "project")
    folder(project / ".home")
    (message,) = messages(folders := find(project, **{variable: project / place}))

    assert message.startswith(f"{variable} points into this workspace ({project}")
    assert "your own folder" in message
    assert not any(path.is_relative_to(tmp_path) for path in (folders.home, folders.config, folders.data))


@pytest.mark.spec("O-04", "D-07")
def test_other_ways_to_spell_a_folder_of_the_workspace_do_not_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = git(tmp_path / "repository")
    project = folder(top / "deep/er")
    monkeypatch.chdir(project)
    link = tmp_path / "innocent"
    link.symlink_to(project)
    ways = [link, link / "new", "/proc/self/cwd", f"/proc/self/cwd/x/../../{project.name}/y", top / "other", top]
    for way in ways:
        folders = find(project, HOME=way)
        assert folders.home == OWN, way
        assert len(folders.problems) == 1


def test_work_tree_around_the_repository_is_foreign_too(tmp_path: Path) -> None:
    outer = git(tmp_path / "outer")
    project = git(outer / "vendored")

    assert find(project, HOME=folder(outer / "home")).home == OWN
    assert "git work tree" in messages(find(tmp_path / "elsewhere", HOME=outer / "home"))[0]


def test_relative_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder(tmp_path / "x"))

    assert messages(find(tmp_path / "project", XDG_DATA_HOME="data"))[0].startswith("XDG_DATA_HOME is no absolute path")


def test_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    home = folder(tmp_path / "home")
    home.chmod(0o777)
    (message,) = messages(find(tmp_path / "project", HOME=home))

    assert "others may write to" in message
    # a folder that is still to be made is as good as the one it would be made in
    assert "others may write to" in messages(find(tmp_path / "project", HOME=home / "new"))[0]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    home = folder(tmp_path / "home")
    os.chown(home, 65534, 65534)

    assert "belongs to another user" in messages(find(tmp_path / "project", HOME=home))[0]


def test_usual_folders_count_whatever_the_project_is() -> None:
    for project in (OWN, OWN.parent, Path("/")):
        folders = find(project, HOME=OWN, XDG_CONFIG_HOME=OWN / ".config", XDG_DATA_HOME=OWN / ".local/share")

        assert (folders.home, folders.problems) == (OWN, ())


def test_home_that_is_a_repository_is_no_repository_around_its_projects(tmp_path: Path) -> None:
    home = git(tmp_path / "home")
    project = folder(home / "src/project/deep")

    assert find_repositories(str(project), home=str(home)) == []
    assert parents_in_repository(project, home=home) == ()
    git(home / "src/project")
    assert parents_in_repository(project, home=home) == (home / "src/project",)


def test_folders_between_the_project_and_the_top_of_its_repository_are_listed_nearest_first(tmp_path: Path) -> None:
    top = git(tmp_path / "repository")
    project = folder(top / "a/b/c")

    assert parents_in_repository(project, home=tmp_path / "home") == (top / "a/b", top / "a", top)
    assert parents_in_repository(top, home=tmp_path / "home") == ()
    assert parents_in_repository(folder(tmp_path / "plain/x"), home=tmp_path / "home") == ()


@pytest.mark.skipif(os.getuid() != 0, reason="a managed folder belongs to root")
def test_managed_folder_counts_only_when_nobody_else_can_change_it(tmp_path: Path) -> None:
    managed = folder(tmp_path / "managed")
    good = find_user_dirs(tmp_path, environ={}, managed=str(managed))
    managed.chmod(0o775)
    writable = find_user_dirs(tmp_path, environ={}, managed=str(managed))
    managed.chmod(0o755)
    os.chown(managed, 65534, 65534)
    given_away = find_user_dirs(tmp_path, environ={}, managed=str(managed))

    assert (good.managed, good.problems) == (managed, ())
    for folders in (writable, given_away):
        assert folders.managed is None
        assert messages(folders)[0].startswith(f"the managed hooks are not loaded: {managed} can be changed by others")


def test_managed_folder_that_leads_nowhere_is_reported(tmp_path: Path) -> None:
    link = tmp_path / "managed"
    link.symlink_to("missing")
    folders = find_user_dirs(tmp_path, environ={}, managed=str(link))

    assert folders.managed is None
    assert "No such file" in messages(folders)[0]


def test_no_managed_folder_is_no_problem(tmp_path: Path) -> None:
    folders = find_user_dirs(tmp_path, environ={}, managed=str(tmp_path / "none"))

    assert (folders.managed, folders.problems) == (None, ())


def emit(project: Path, **environ: object) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "HOOKS_", "HOOKLINE_"))}
    return subprocess.run(
        [sys.executable, "-m", "hookline", "emit", "before_tool", "--tool", "shell", "--no-input"],
        cwd=project,
        env={**clean, **{name: str(value) for name, value in environ.items()}},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.spec("O-04", "O-11", "D-07")
def test_project_that_brings_its_own_approvals_and_a_variable_that_points_to_them_gets_nothing_run(
    tmp_path: Path,
) -> None:
    project, home = folder(tmp_path / "clone"), folder(tmp_path / "home")
    (project / "evil.sh").write_text("cat >/dev/null; touch pwned\n")
    (project / "hookline.toml").write_text('[[hook]]\nname = "evil"\non = "before_tool"\nrun = "bash evil.sh"\n')
    shipped = UserDirs(home=home, config=home / ".config/hookline", data=project / ".data/hookline")
    opened = load_project(project, folders=shipped, traced=False)
    opened.trust.approve(opened.hooks[0], cwd=str(project))
    refused = emit(project, HOME=home, XDG_DATA_HOME=project / ".data")

    assert "XDG_DATA_HOME points into this workspace" in refused.stderr
    assert not (project / "pwned").exists()
    # the very same approvals count where only the person can have put them
    (project / ".data").rename(tmp_path / "data")
    emit(project, HOME=home, XDG_DATA_HOME=tmp_path / "data")
    assert (project / "pwned").exists()


@pytest.mark.spec("O-04")
def test_project_cannot_make_the_persons_guards_disappear_by_moving_their_configuration(tmp_path: Path) -> None:
    project, home = folder(tmp_path / "clone"), folder(tmp_path / "home")
    config = folder(home / ".config/hookline")
    (config / "guard.sh").write_text("cat >/dev/null; echo no removing >&2; exit 2\n")
    guard = f'[[hook]]\nname = "guard"\non = "before_tool"\ndialect = "cli-agent"\nrun = "bash {config}/guard.sh"\n'
    (config / "hookline.toml").write_text(guard)
    done = emit(project, HOME=home, XDG_CONFIG_HOME=folder(project / "empty"))

    assert done.returncode == 2
    assert "XDG_CONFIG_HOME points into this workspace" in done.stderr
