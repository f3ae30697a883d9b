import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import configure, environment, hookline
from tests.sources.repositories import Repository

pytestmark = pytest.mark.slow


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def message_file(repository: Repository, text: str) -> str:
    path = repository.top / ".git" / "COMMIT_EDITMSG"
    path.write_text(text)
    return str(path)


def test_run_says_no_with_exit_code_2(repository: Repository) -> None:
    file = message_file(repository, "wip\n")

    done = repository.hookline("run", "commit-msg", file, ok=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith('hookline: this commit is blocked by "recorder":\nfinish it first\n')
    assert f"git commit -eF {file} takes it up again" in done.stderr


def test_run_says_nothing_when_nobody_objects(repository: Repository) -> None:
    done = repository.hookline("run", "commit-msg", message_file(repository, "fine\n"))

    assert (done.stdout, done.stderr) == ("", "")


def test_run_does_not_ask_git_when_nobody_listens(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, '[[hook]]\nname = "other"\non = "before_tool"\nrun = "/bin/true"\n')

    done = hookline(home, "git", "run", "commit-msg", "no-such-file", PATH="/nowhere")

    assert (done.returncode, done.stderr) == (0, "")


def test_run_without_git_is_an_error_and_no_yes(repository: Repository) -> None:
    done = repository.hookline("run", "pre-commit", ok=False, PATH="/nowhere")

    assert done.returncode == 1
    assert "git is not on the PATH" in done.stderr


def test_run_with_switched_off_hooks_lets_everything_through(repository: Repository) -> None:
    done = repository.hookline("run", "commit-msg", message_file(repository, "wip\n"), HOOKS_ENABLED="false")

    assert done.returncode == 0


def test_a_bug_of_ours_blocks(repository: Repository) -> None:
    # a broken installation: the module that knows the events raises something nobody expects
    program = (
        "import sys; from hookline.sources import git_events; git_events.GIT_EVENTS = None; "
        "from hookline.cli import git; git.raise_events = git_events.GIT_EVENTS; "
        "from hookline.cli.main import main; sys.exit(main(['git', 'run', 'commit-msg', 'x']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=repository.top,
        env=environment(repository.home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "the hooks could not be asked, so this is blocked" in done.stderr


def test_a_hook_of_the_project_that_nobody_approved_has_no_effect(repository: Repository) -> None:
    text = '[[hook]]\nname = "theirs"\non = "git_commit"\nrun = "sh ran.sh"\n'
    (repository.top / "hookline.toml").write_text(text)
    (repository.top / "ran.sh").write_text("touch ran\n")

    done = repository.hookline("run", "commit-msg", message_file(repository, "fine\n"))

    assert not (repository.top / "ran").exists()
    assert 'hook "theirs" did not run' in done.stderr
    assert "hookline trust approve theirs" in done.stderr


def test_what_is_wrong_with_the_configuration_is_said_once_for_a_commit(repository: Repository) -> None:
    with (repository.home / ".config" / "hookline" / "hookline.toml").open("a") as file:
        file.write('\n[[hook]]\nname = "odd"\non = "git_comit"\nrun = "/bin/true"\n')
    repository.hookline("install")

    done = repository.commit("first")

    assert done.stderr.count("git_comit") == 1


def test_a_hook_that_commits_in_a_commit_comes_to_an_end(repository: Repository) -> None:
    folder = repository.home / ".config" / "hookline"
    (folder / "hookline.toml").write_text(
        '[[hook]]\nname = "again"\non = "git_commit"\nrun = "sh again.sh"\ntimeout = 60\n'
    )
    (folder / "again.sh").write_text(
        'echo >> "$HOME/log"\ncd "$HOME/../project" && git commit -q --allow-empty -m again 2>> "$HOME/said"\nexit 0\n'
    )
    repository.hookline("install")

    # git itself refuses the outer ones: the branch has moved below them
    repository.commit("first", ok=False)

    assert len((repository.home / "log").read_text().splitlines()) == 5
    assert "a hook calls git, which asks the same hook again" in (repository.home / "said").read_text()


@pytest.mark.parametrize("depth", ["", "x", "-1", "4"])
def test_a_depth_that_is_none_does_not_matter(repository: Repository, depth: str) -> None:
    words = ("run", "commit-msg", message_file(repository, "fine\n"))

    assert repository.hookline(*words, HOOKLINE_GIT_DEPTH=depth).stderr == ""


def test_json_lists_the_steps(repository: Repository) -> None:
    dry = json.loads(repository.hookline("install", "--dry-run", "--json").stdout)
    done = json.loads(repository.hookline("install", "--json").stdout)
    gone = json.loads(repository.hookline("uninstall", "--json").stdout)

    hooks = repository.top / ".git" / "hooks"
    assert (dry["changed"], done["changed"], gone["changed"]) == (False, True, True)
    assert dry["steps"] == done["steps"]
    assert done["folder"] == str(hooks)
    assert done["redirected"] is False
    assert [step.split()[0] for step in done["steps"]] == ["write"] * 4
    assert f"remove {hooks / 'pre-commit'}" in gone["steps"]


def test_status_is_a_table(repository: Repository) -> None:
    repository.hookline("install")

    lines = repository.hookline("status").stdout.splitlines()

    assert lines[0].split() == ["hook", "events", "ours", "theirs"]
    assert lines[2].split() == ["pre-commit", "custom:git_pre_commit", "yes", "-"]
    assert len(lines) == 6


def test_status_names_a_python_that_is_another_one(repository: Repository) -> None:
    repository.hookline("install")
    path = repository.top / ".git" / "hooks" / "pre-push"
    path.write_text(path.read_text().replace(sys.executable, "/old/python"))

    assert "made for another Python" in repository.hookline("status").stdout
    repository.hookline("install")
    assert "made for another Python" not in repository.hookline("status").stdout


def test_an_unknown_hook_of_git_is_a_slip(repository: Repository) -> None:
    done = repository.hookline("run", "pre-comit", ok=False)

    assert done.returncode == 1
    assert "pre-commit" in done.stderr


def test_a_folder_that_cannot_be_written_is_named(repository: Repository) -> None:
    hooks = repository.top / ".git" / "hooks"
    for path in hooks.iterdir():
        path.unlink()
    hooks.rmdir()
    hooks.write_text("")

    done = repository.hookline("install", ok=False)

    assert done.returncode == 1
    assert str(hooks) in done.stderr
    assert "Traceback" not in done.stderr
