import json
from pathlib import Path

import pytest

from tests.sources.repositories import THEIRS, Repository, picture

pytestmark = pytest.mark.slow

# As husky 9 has it: a stub for each hook in `.husky/_`, and one file that finds the person's script by the stub's name.
HUSKY_STUB = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"'
HUSKY_H = """#!/usr/bin/env sh
name=$(basename "$0")
script=$(dirname "$(dirname "$0")")/$name
[ -f "$script" ] || exit 0
sh -e "$script" "$@"
exit $?
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.mark.spec("P-11")
def test_plain_hooks_run_beside_ours_and_uninstall_restores_every_byte(repository: Repository) -> None:
    for name in ("pre-commit", "commit-msg", "post-commit"):
        repository.hook(f".git/hooks/{name}")
    repository.hook(".git/hooks/pre-push", mode=0o644)
    before = picture(repository.top / ".git" / "hooks")
    config = (repository.top / ".git" / "config").read_bytes()

    repository.hookline("install")
    repository.stage("a.txt")
    repository.commit("first")

    assert repository.theirs() == ["pre-commit ", "commit-msg .git/COMMIT_EDITMSG", "post-commit "]
    assert repository.events("git_commit") == [{"files": ["a.txt"], "message": "first", "branch": "trunk"}]

    repository.hookline("uninstall")

    assert picture(repository.top / ".git" / "hooks") == before
    assert (repository.top / ".git" / "config").read_bytes() == config
    assert not (repository.top / ".git" / "hookline").exists()


@pytest.mark.spec("P-11")
def test_husky_hooks_run_beside_ours_and_uninstall_restores_every_byte(repository: Repository) -> None:
    for name in ("pre-commit", "commit-msg", "pre-push", "post-checkout", "post-commit", "post-merge"):
        repository.hook(f".husky/_/{name}", HUSKY_STUB)
    repository.hook(".husky/_/h", HUSKY_H, mode=0o644)
    repository.hook(".husky/_/.gitignore", "*", mode=0o644)
    repository.hook(".husky/pre-commit", 'echo "husky pre-commit" >> "$HOME/theirs"\n', mode=0o644)
    repository.hook(".husky/post-commit", 'echo "husky post-commit" >> "$HOME/theirs"\n', mode=0o644)
    repository.git("config", "core.hooksPath", ".husky/_")
    before = picture(repository.top)

    repository.hookline("install")
    repository.commit("first")

    assert repository.theirs() == ["husky pre-commit", "husky post-commit"]
    assert repository.events("git_commit") == [{"files": [], "message": "first", "branch": "trunk"}]
    assert repository.git("status", "--porcelain").stdout == "?? .husky/\n"

    repository.git("update-ref", "-d", "HEAD")
    repository.hookline("uninstall")

    after = picture(repository.top)
    assert {path: after[path] for path in before if path.startswith(".husky")} == {
        path: before[path] for path in before if path.startswith(".husky")
    }
    assert {path: after[path][:2] for path in before if path == ".git/config" or "hooks" in path} == {
        path: before[path][:2] for path in before if path == ".git/config" or "hooks" in path
    }
    assert not (repository.top / ".git" / "hookline").exists()


def test_hooks_under_version_control_are_not_touched(repository: Repository) -> None:
    repository.hook(".githooks/pre-commit")
    repository.git("add", ".githooks")
    repository.commit("hooks")
    repository.git("config", "core.hooksPath", ".githooks")

    repository.hookline("install")
    repository.commit("second")

    assert repository.git("status", "--porcelain").stdout == ""
    assert repository.theirs() == ["pre-commit "]
    assert [event["message"] for event in repository.events("git_commit")] == ["second"]


def test_hooks_of_the_person_for_all_repositories_still_run_and_get_no_company(repository: Repository) -> None:
    shared = repository.home / "my hooks"
    shared.mkdir()
    for name in ("pre-commit", "post-commit"):
        (shared / name).write_text(THEIRS)
        (shared / name).chmod(0o755)
    repository.git("config", "--global", "core.hooksPath", "~/my hooks")
    before = picture(shared)

    repository.hookline("install")
    repository.commit("first")
    moved = shared.rename(repository.home / "other hooks")
    repository.git("config", "--global", "core.hooksPath", str(moved))
    repository.commit("second")

    assert picture(moved) == before
    assert repository.theirs() == ["pre-commit ", "post-commit "] * 2
    assert len(repository.events("git_commit")) == 2
    repository.hookline("uninstall")
    assert repository.git("config", "core.hooksPath").stdout.strip() == str(moved)


def test_hook_of_theirs_that_comes_later_runs_as_well(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".husky")
    repository.hookline("install")

    repository.hook(".husky/post-commit")
    repository.hook(".husky/commit-msg")
    repository.commit("first")

    assert repository.theirs() == ["commit-msg .git/COMMIT_EDITMSG", "post-commit "]


def test_their_no_is_a_no_and_ours_is_not_asked(repository: Repository) -> None:
    repository.hook(".git/hooks/commit-msg", "#!/bin/bash\necho not like this >&2\nexit 3\n")
    repository.hookline("install")

    done = repository.commit("first", ok=False)

    assert done.returncode == 1
    assert "not like this" in done.stderr
    assert repository.events("git_commit") == []


def test_a_shell_script_of_theirs_keeps_its_name_its_arguments_and_its_options(repository: Repository) -> None:
    text = '#!/usr/bin/env bash\nset -eu\necho "$(dirname "$0")/$(basename "$0")|$#|$1|${2-}|$3" >> "$HOME/theirs"\n'
    repository.hook(".git/hooks/post-checkout", text)
    repository.commit("first", "--no-verify")
    repository.hookline("install")

    repository.git("checkout", "-q", "-b", "side")

    commit = repository.git("rev-parse", "HEAD").stdout.strip()
    assert repository.theirs() == [f".git/hooks/post-checkout|3|{commit}|{commit}|1"]


def test_a_hook_that_is_no_shell_script_stays_where_it_is(repository: Repository) -> None:
    text = (
        "#!/usr/bin/env python3\nimport os, sys\n"
        'open(os.environ["HOME"] + "/theirs", "a").write(os.path.basename(sys.argv[0]) + "\\n")\n'
    )
    hook = repository.hook(".git/hooks/pre-commit", text)
    before = picture(hook.parent)
    config = (repository.top / ".git" / "config").read_bytes()

    repository.hookline("install")
    repository.commit("first")

    assert picture(hook.parent) == before
    assert repository.theirs() == ["pre-commit"]
    assert len(repository.events("git_commit")) == 1
    repository.hookline("uninstall")
    assert (repository.top / ".git" / "config").read_bytes() == config


def test_a_link_to_a_script_of_the_project_is_set_aside_as_a_link(repository: Repository) -> None:
    repository.hook("tools/check.sh")
    link = repository.top / ".git" / "hooks" / "pre-commit"
    link.symlink_to("../../tools/check.sh")

    repository.hookline("install")
    repository.commit("first")

    assert repository.theirs() == ["pre-commit "]
    repository.hookline("uninstall")
    assert str(link.readlink()) == "../../tools/check.sh"


def test_a_hooks_folder_that_is_a_link_is_not_written_to(repository: Repository) -> None:
    repository.hook("githooks/pre-commit")
    hooks = repository.top / ".git" / "hooks"
    for path in hooks.iterdir():
        path.unlink()
    hooks.rmdir()
    hooks.symlink_to("../githooks")
    before = picture(repository.top / "githooks")

    repository.hookline("install")
    repository.commit("first")

    assert picture(repository.top / "githooks") == before
    assert repository.theirs() == ["pre-commit "]
    assert len(repository.events("git_commit")) == 1


def test_installing_twice_is_installing_once(repository: Repository) -> None:
    repository.hook(".git/hooks/pre-commit")
    repository.hookline("install")
    before = picture(repository.top / ".git")

    done = repository.hookline("install")

    assert done.stdout == "nothing to change\n"
    assert picture(repository.top / ".git") == before


def test_installing_twice_beside_husky_is_installing_once(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".husky/_")
    repository.hookline("install")
    before = picture(repository.top / ".git")

    assert repository.hookline("install").stdout == "nothing to change\n"
    assert picture(repository.top / ".git") == before


def test_uninstalling_what_is_not_installed_changes_nothing(repository: Repository) -> None:
    repository.hook(".git/hooks/pre-commit")
    before = picture(repository.top / ".git")

    assert repository.hookline("uninstall").stdout == "nothing to change\n"
    assert picture(repository.top / ".git") == before


@pytest.mark.parametrize("path", ["", ".husky"])
def test_a_dry_run_writes_nothing(repository: Repository, path: str) -> None:
    repository.hook(".git/hooks/pre-commit")
    if path:
        repository.git("config", "core.hooksPath", path)
    before = picture(repository.top / ".git")

    done = repository.hookline("install", "--dry-run")

    assert done.stdout.startswith("would ")
    assert picture(repository.top / ".git") == before


def test_settings_that_were_changed_since_stay_changed(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".husky")
    repository.hookline("install")
    repository.git("config", "core.editor", "ed")

    repository.hookline("uninstall")

    assert repository.git("config", "core.editor").stdout == "ed\n"
    assert repository.git("config", "core.hooksPath").stdout == ".husky\n"


def test_a_folder_that_another_program_sent_git_to_since_stays(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".husky/_")
    repository.hookline("install")
    repository.git("config", "core.hooksPath", ".husky/_")

    status = json.loads(repository.hookline("status", "--json").stdout)
    assert status["installed"] is False
    assert "git looks into .husky/_ now" in status["problems"][0]

    repository.hookline("install")
    repository.commit("again")
    assert len(repository.events("git_commit")) == 1

    repository.git("config", "core.hooksPath", ".mine")
    repository.hookline("uninstall")
    assert repository.git("config", "core.hooksPath").stdout == ".mine\n"
    assert not (repository.top / ".git" / "hookline").exists()


def test_a_hook_that_replaced_ours_is_not_lost(repository: Repository) -> None:
    repository.hook(".git/hooks/pre-commit", "#!/bin/sh\n# the first\n")
    repository.hookline("install")
    later = repository.hook(".git/hooks/pre-commit", "#!/bin/sh\n# the second\n")

    done = repository.hookline("install", ok=False)
    assert done.returncode == 1
    assert "was replaced by another program" in done.stderr

    gone = repository.hookline("uninstall")
    assert "what was there before us is kept in" in gone.stdout
    assert later.read_text() == "#!/bin/sh\n# the second\n"
    assert later.with_name("pre-commit.before-hookline").read_text() == "#!/bin/sh\n# the first\n"


def test_a_program_that_installs_itself_again_does_no_harm(repository: Repository) -> None:
    hook = repository.hook(".git/hooks/pre-commit")
    before = picture(hook.parent)
    repository.hookline("install")
    # it keeps what it finds under another name and runs it, as the pre-commit program does
    hook.rename(hook.with_name("pre-commit.legacy"))
    hook.write_text(THEIRS)
    hook.chmod(0o755)

    repository.hookline("install")
    repository.commit("first")

    assert repository.theirs() == ["pre-commit "]
    assert len(repository.events("custom")) == 1
    assert not hook.with_name("pre-commit.legacy").exists()
    repository.hookline("uninstall")
    assert {name: found[:2] for name, found in picture(hook.parent).items()} == {
        name: found[:2] for name, found in before.items()
    }


def test_what_a_program_put_back_itself_is_not_kept_twice(repository: Repository) -> None:
    hook = repository.hook(".git/hooks/pre-commit")
    repository.hookline("install")
    hook.write_text(THEIRS)

    repository.hookline("uninstall")

    assert hook.read_text() == THEIRS
    assert not hook.with_name("pre-commit.before-hookline").exists()


def test_what_another_program_put_into_our_folder_is_not_removed(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".husky")
    repository.hookline("install")
    theirs = repository.hook(".git/hookline/hooks/post-commit")

    done = repository.hookline("uninstall")

    assert theirs.read_text() == THEIRS
    assert f"another program put {theirs} there; move it to {repository.top / '.husky'}" in done.stdout


@pytest.mark.parametrize("path", ["", ".husky"])
def test_linked_work_trees_are_asked_about_as_well(repository: Repository, tmp_path: Path, path: str) -> None:
    if path:
        repository.git("config", "core.hooksPath", path)
    repository.commit("first")
    repository.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"))

    repository.hookline("install", "--project", str(tmp_path / "tree"))
    repository.commit("in the tree", at=tmp_path / "tree")
    repository.commit("in the project")

    assert [(event["message"], event["branch"]) for event in repository.events("git_commit")] == [
        ("in the tree", "side"),
        ("in the project", "trunk"),
    ]
    repository.hookline("uninstall")
    repository.commit("unseen", at=tmp_path / "tree")
    assert len(repository.events("git_commit")) == 2


def test_a_work_tree_with_settings_of_its_own_gets_them_back(repository: Repository, tmp_path: Path) -> None:
    repository.git("config", "extensions.worktreeConfig", "true")
    repository.commit("first")
    tree = tmp_path / "tree"
    repository.git("worktree", "add", "-q", "-b", "side", str(tree))
    repository.git("config", "--worktree", "core.hooksPath", ".mine", at=tree)
    file = Path(repository.git("rev-parse", "--git-path", "config.worktree", at=tree).stdout.strip())
    before = file.read_bytes()

    repository.hookline("install", "--project", str(tree))
    repository.commit("in the tree", at=tree)
    assert [event["message"] for event in repository.events("git_commit")] == ["in the tree"]

    repository.hookline("uninstall", "--project", str(tree))
    assert file.read_bytes() == before


def test_a_submodule_has_hooks_of_its_own(repository: Repository, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    repository.git("init", "-q", ".", at=library)
    repository.commit("library", at=library)
    allowed = ("-c", "protocol.file.allow=always")
    repository.git(*allowed, "submodule", "--quiet", "add", str(library), "lib")

    repository.hookline("install", "--project", str(repository.top / "lib"))
    repository.commit("above", "--no-verify")
    repository.commit("below", at=repository.top / "lib")

    assert [event["message"] for event in repository.events("git_commit")] == ["below"]


def test_a_moved_repository_keeps_its_guard(repository: Repository, tmp_path: Path) -> None:
    repository.hook(".git/hooks/pre-commit")
    repository.hookline("install")
    moved = repository.top.rename(tmp_path / "moved")

    repository.commit("first", at=moved)

    assert repository.theirs() == ["pre-commit "]
    assert len(repository.events("git_commit")) == 1


def test_what_has_no_work_tree_is_refused(repository: Repository, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    repository.git("init", "-q", "--bare", ".", at=bare)
    (tmp_path / "empty").mkdir()

    for folder, words in ((bare, "bare repository"), (tmp_path / "empty", "in no git repository")):
        done = repository.hookline("install", "--project", str(folder), ok=False)

        assert done.returncode == 1
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_settings_of_one_command_are_no_place_to_install_to(repository: Repository) -> None:
    done = repository.hookline(
        "install",
        ok=False,
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="core.hooksPath",
        GIT_CONFIG_VALUE_0=".elsewhere",
    )

    assert done.returncode == 1
    assert "set by the command line or the environment" in done.stderr


def test_status_names_what_runs(repository: Repository) -> None:
    theirs = repository.hook(".git/hooks/pre-commit")

    before = json.loads(repository.hookline("status", "--json").stdout)
    repository.hookline("install")
    after = json.loads(repository.hookline("status", "--json").stdout)

    assert (before["installed"], after["installed"]) == (False, True)
    assert before["problems"] == ["ours do not run; `hookline git install` changes that"]
    assert after["problems"] == []
    assert after["hooks"][0] == {
        "hook": "pre-commit",
        "events": ["custom:git_pre_commit"],
        "path": str(theirs),
        "ours": True,
        "theirs": f"{theirs}.before-hookline",
    }


def test_state_that_cannot_be_read_is_named(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".husky")
    repository.hookline("install")
    (repository.top / ".git" / "hookline" / "state.json").write_text("{")

    done = repository.hookline("uninstall", ok=False)

    assert done.returncode == 1
    assert "state.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_locked_configuration_is_left_alone(repository: Repository) -> None:
    repository.git("config", "core.hooksPath", ".husky")
    repository.hookline("install")
    lock = repository.top / ".git" / "config.lock"
    lock.touch()

    done = repository.hookline("uninstall", ok=False)

    assert done.returncode == 1
    assert "another program is changing" in done.stderr
    lock.unlink()
    repository.hookline("uninstall")
    assert repository.git("config", "core.hooksPath").stdout == ".husky\n"
