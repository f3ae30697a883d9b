import json
import os
import subprocess
from pathlib import Path

import pytest

from hookline.errors import HostError
from hookline.sources.git_events import GIT_EVENTS, GitCall
from tests.sources.repositories import Repository

pytestmark = pytest.mark.slow


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path)
    made.hookline("install")
    return made


def editor(tmp_path: Path, text: str) -> str:
    """Give an editor that writes a text above what git put there."""
    message = tmp_path / "message"
    message.write_text(text)
    script = tmp_path / "editor.sh"
    script.write_text(f'cat "{message}" "$1" > "$1.new" && mv "$1.new" "$1"\n')
    return f"sh {script}"


@pytest.mark.spec("P-11")
def test_a_blocked_commit_shows_who_said_no_and_why(repository: Repository) -> None:
    repository.stage("a.txt")

    done = repository.commit("wip", ok=False)

    assert done.returncode == 1
    assert 'hookline: this commit is blocked by "recorder":\nfinish it first\n' in done.stderr
    assert repository.git("rev-parse", "HEAD", ok=False).returncode != 0
    assert repository.git("diff", "--cached", "--name-only").stdout == "a.txt\n"


@pytest.mark.spec("P-11")
def test_a_commit_is_asked_about_with_its_files_its_message_and_its_branch(repository: Repository) -> None:
    repository.stage("plain.txt")
    repository.stage("with space and \n line.txt")
    repository.stage("ümlaut/ß.txt")

    repository.commit("A subject\n\nA body.", HOOKLINE_SESSION="s-1")

    (event,) = repository.events("git_commit")
    assert event["message"] == "A subject\n\nA body."
    assert event["branch"] == "trunk"
    assert event["files"] == ["plain.txt", "with space and \n line.txt", "ümlaut/ß.txt"]
    assert repository.events("custom") == [{"files": event["files"], "branch": "trunk", "event_name": "git_pre_commit"}]
    assert '"session":{"id":"s-1"}' in (repository.home / "log").read_text()


def test_a_moved_and_a_removed_file_are_both_among_the_files(repository: Repository) -> None:
    repository.stage("old.txt", "a text\n" * 20)
    repository.stage("gone.txt")
    repository.commit("first")
    repository.git("mv", "old.txt", "new.txt")
    repository.git("rm", "-q", "gone.txt")

    repository.commit("second")

    assert repository.events("git_commit")[-1]["files"] == ["gone.txt", "new.txt", "old.txt"]


def test_files_that_are_committed_without_being_staged_are_known(repository: Repository) -> None:
    repository.stage("a.txt")
    repository.stage("b.txt")
    repository.commit("first")
    for name in ("a.txt", "b.txt"):
        (repository.top / name).write_text("changed\n")

    repository.git("commit", "-m", "only one", "a.txt")
    repository.git("commit", "-a", "-m", "all")

    assert [event["files"] for event in repository.events("git_commit")[1:]] == [["a.txt"], ["b.txt"]]


def test_a_commit_from_a_folder_below_names_files_from_the_top(repository: Repository) -> None:
    repository.git("config", "diff.relative", "true")
    repository.stage("a.txt")
    repository.stage("below/b.txt")

    repository.commit("first", at=repository.top / "below")

    assert repository.events("git_commit")[0]["files"] == ["a.txt", "below/b.txt"]


def test_a_merge_is_asked_about_with_its_message(repository: Repository) -> None:
    repository.commit("first")
    repository.git("checkout", "-q", "-b", "side")
    repository.stage("side.txt")
    repository.commit("on the side")
    repository.git("checkout", "-q", "trunk")
    repository.stage("trunk.txt")
    repository.commit("on the trunk")

    repository.git("merge", "-q", "--no-edit", "side")

    assert repository.events("git_commit")[-1] == {
        "files": ["side.txt"],
        "message": "Merge branch 'side' into trunk",
        "branch": "trunk",
    }


def test_an_amended_commit_is_asked_about_again(repository: Repository) -> None:
    repository.commit("first")

    repository.git("commit", "-q", "--allow-empty", "--amend", "--no-edit")

    assert [event["message"] for event in repository.events("git_commit")] == ["first", "first"]


def test_without_a_branch_the_branch_is_empty(repository: Repository) -> None:
    repository.commit("first")
    repository.git("checkout", "-q", "--detach")

    repository.commit("second")

    assert repository.events("git_commit")[-1]["branch"] == ""
    assert repository.events("git_checkout")[-1]["branch"] == ""


@pytest.mark.parametrize("comment", ["#", ";"])
def test_comments_and_the_diff_below_are_no_part_of_the_message(
    repository: Repository, tmp_path: Path, comment: str
) -> None:
    repository.git("config", "core.commentChar", comment)
    repository.stage("a.txt")

    repository.git("commit", "-q", "-v", GIT_EDITOR=editor(tmp_path, "A subject\n\n\n"))

    assert repository.events("git_commit")[0]["message"] == "A subject"


def test_a_message_that_was_not_edited_keeps_its_numbers(repository: Repository) -> None:
    repository.commit("A subject\n\n#12 is fixed")

    assert repository.events("git_commit")[0]["message"] == "A subject\n\n#12 is fixed"


@pytest.mark.parametrize(
    ("cleanup", "message"),
    [("verbatim", "  kept  \n\n\n# kept\n"), ("whitespace", "  kept\n\n# kept"), ("strip", "  kept")],
)
def test_the_message_is_what_git_is_going_to_keep(repository: Repository, cleanup: str, message: str) -> None:
    repository.git("config", "commit.cleanup", cleanup)
    (repository.home / "message").write_text("  kept  \n\n\n# kept\n")

    repository.git("commit", "-q", "--allow-empty", "-F", str(repository.home / "message"))

    assert repository.events("git_commit")[0]["message"] == message


def test_a_hook_may_change_the_message(repository: Repository, tmp_path: Path) -> None:
    repository.commit("a typo here")
    assert repository.git("log", "-1", "--format=%B").stdout.strip() == "a word here"

    repository.git("commit", "-q", "--allow-empty", GIT_EDITOR=editor(tmp_path, "another typo\n"))
    assert repository.git("log", "-1", "--format=%B").stdout.strip() == "another word"


def test_a_message_nobody_changes_is_kept_byte_for_byte(repository: Repository) -> None:
    repository.git("config", "i18n.commitEncoding", "latin-1")
    (repository.home / "message").write_bytes(b"latin \xe4\n\nbody\n")

    repository.git("commit", "-q", "--allow-empty", "-F", str(repository.home / "message"))

    raw = subprocess.run(
        ["git", "-C", str(repository.top), "cat-file", "commit", "HEAD"], capture_output=True, check=True
    ).stdout
    assert raw.endswith(b"latin \xe4\n\nbody\n")


def test_a_push_is_asked_about_before_theirs_and_with_what_is_pushed(repository: Repository, tmp_path: Path) -> None:
    repository.hookline("uninstall")
    repository.hook(".git/hooks/pre-push", '#!/bin/sh\necho "$@" >> "$HOME/theirs"\ncat >> "$HOME/theirs"\n')
    repository.hookline("install")
    (tmp_path / "there").mkdir()
    repository.git("init", "-q", "--bare", ".", at=tmp_path / "there")
    repository.git("remote", "add", "origin", str(tmp_path / "there"))
    repository.commit("first")
    commit = repository.git("rev-parse", "HEAD").stdout.strip()

    done = repository.git("push", "-q", "origin", "trunk:main", ok=False)
    assert done.returncode != 0
    assert 'this push is blocked by "recorder":\nmain is closed\n' in done.stderr
    assert repository.theirs() == []

    repository.git("push", "-q", "origin", "trunk", "trunk:other")
    zeros = "0" * 40
    assert repository.theirs() == [
        f"origin {tmp_path / 'there'}",
        f"refs/heads/trunk {commit} refs/heads/trunk {zeros}",
        f"refs/heads/trunk {commit} refs/heads/other {zeros}",
    ]
    assert repository.events("git_push")[-1] == {
        "remote": "origin",
        "url": str(tmp_path / "there"),
        "refs": [
            {"local": "refs/heads/trunk", "remote": f"refs/heads/{name}", "from_commit": "", "to_commit": commit}
            for name in ("trunk", "other")
        ],
        "branch": "trunk",
    }

    repository.git("push", "-q", "origin", ":other")
    assert repository.events("git_push")[-1]["refs"] == [
        {"local": "(delete)", "remote": "refs/heads/other", "from_commit": commit, "to_commit": ""}
    ]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:secret@example.com/x.git", "https://example.com/x.git"),
        ("https://token@example.com/x.git", "https://example.com/x.git"),
        ("https://me:s@cret@example.com/x@y.git", "https://example.com/x@y.git"),
        ("ssh://git:secret@example.com:22/x.git", "ssh://git@example.com:22/x.git"),
        ("ssh://git@example.com:22/x.git", "ssh://git@example.com:22/x.git"),
        ("git@example.com:x.git", "git@example.com:x.git"),
        ("/a/path@x", "/a/path@x"),
    ],
)
def test_a_password_in_an_address_is_not_shown_to_hooks(repository: Repository, url: str, shown: str) -> None:
    (moment,) = GIT_EVENTS["pre-push"]

    fields = moment.read_fields(GitCall(folder=str(repository.top), words=(url, url)))

    assert fields["url"] == fields["remote"] == shown


def test_a_checkout_is_told_about_and_cannot_fail_because_of_us(repository: Repository) -> None:
    repository.commit("first")
    first = repository.git("rev-parse", "HEAD").stdout.strip()
    repository.commit("second")
    second = repository.git("rev-parse", "HEAD").stdout.strip()

    done = repository.git("checkout", "-q", "-b", "side", first)

    assert "welcome to side" in done.stderr
    assert repository.events("git_checkout") == [
        {"branch": "side", "from_commit": second, "to_commit": first, "is_branch": True}
    ]


def test_words_of_git_that_nobody_knows_are_no_yes(tmp_path: Path) -> None:
    (push,) = GIT_EVENTS["pre-push"]
    _, commit = GIT_EVENTS["commit-msg"]

    with pytest.raises(HostError, match="what is pushed"):
        push.read_fields(GitCall(folder=str(tmp_path), stdin=b"refs/heads/a b\n"))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, env={**os.environ, "HOME": str(tmp_path)})
    with pytest.raises(HostError, match="which file the message"):
        commit.read_fields(GitCall(folder=str(tmp_path)))


def test_a_message_that_is_no_text_is_no_message(tmp_path: Path) -> None:
    message, _ = GIT_EVENTS["commit-msg"]
    assert message.apply_output is not None
    (tmp_path / "message").touch()
    call = GitCall(folder=str(tmp_path), words=("message",))

    with pytest.raises(HostError, match="must be text"):
        message.apply_output(call, {"subject": "x"})
    with pytest.raises(HostError, match="half a character"):
        message.apply_output(call, "\ud800")


def test_a_commit_is_judged_with_the_message_that_hooks_made_of_it(repository: Repository) -> None:
    repository.commit("a typo here")
    assert [event["message"] for event in repository.events("git_message", "git_commit")] == [
        "a typo here",
        "a word here",
    ]


def test_a_blocked_commit_in_a_linked_work_tree_names_the_file_with_the_message(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit("first")
    repository.git("worktree", "add", "-q", str(tmp_path / "tree"))

    done = repository.commit("wip", at=tmp_path / "tree", ok=False)

    (line,) = [line for line in done.stderr.splitlines() if "git keeps your message" in line]
    file = Path(line.partition(" -eF ")[2].partition(" takes ")[0])
    assert (tmp_path / "tree" / file).read_text() == "wip\n"


@pytest.mark.spec("P-11")
def test_a_hook_of_the_protocol_gets_on_git_commit_as_its_document_says(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    folder = repository.home / ".config" / "hookline"
    (folder / "hookline.toml").write_text(
        '[[hook]]\nname = "theirs"\non = "on-git-commit"\ndialect = "ollm-protocol"\nrun = "python3 theirs.py"\n'
        "timeout = 30\n"
    )
    (folder / "theirs.py").write_text(
        "import json, os, pathlib\nline = input()\npathlib.Path(os.environ['HOME'], 'log').write_text(line)\n"
        "print(json.dumps({'allow': False, 'message': 'no commits today'}))\n"
    )
    repository.hookline("install")
    repository.stage("a.txt")

    done = repository.commit("first", ok=False, HOOKLINE_SESSION="s-1")

    assert done.returncode == 1
    assert "no commits today" in done.stderr
    said = json.loads((repository.home / "log").read_text())
    context = said.get("context", said)
    assert (said["event"], context["files"], context["message"], context["branch"]) == (
        "on-git-commit",
        ["a.txt"],
        "first",
        "trunk",
    )
    assert context["session"]["id"] == "s-1"
