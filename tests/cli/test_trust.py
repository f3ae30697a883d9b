import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import Session, hookline

EMIT = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the hooks are sh scripts")

HOOKS = """
[[hook]]
name = "guard"
on = "before_tool"
run = ["sh", "guard.sh"]

[[hook]]
name = "line"
on = "before_tool"
run = "sh guard.sh | cat"
shell = true
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "guard.sh").write_text("cat > /dev/null\ntouch ran\necho '{}'\n")
    (project / "hookline.toml").write_text(HOOKS)
    return project


def trust(home: Path, project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return hookline(home, project, "trust", *words)


def answer(home: Path, project: Path, *words: str) -> dict[str, object]:
    done = trust(home, project, *words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def standings(home: Path, project: Path) -> dict[str, str]:
    hooks = answer(home, project, "list")["hooks"]
    assert isinstance(hooks, list)
    return {hook["id"]: hook["standing"] for hook in hooks}


def uses(home: Path, project: Path) -> list[tuple[str, str]]:
    approvals = answer(home, project, "list")["approvals"]
    assert isinstance(approvals, list)
    return [(approval["hook"], approval["use"]) for approval in approvals]


def test_list_says_which_hooks_wait_for_approval(home: Path, project: Path) -> None:
    shown = trust(home, project, "list").stdout

    assert "waiting for you" in shown
    assert "guard" in shown
    assert "hookline.toml:2" in shown
    assert standings(home, project) == {"guard": "not approved", "line": "not approved"}


def test_list_of_nothing_says_so(home: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()

    assert trust(home, empty, "list").stdout == "nothing was approved, and nothing waits for approval\n"
    assert answer(home, empty, "list") == {"hooks": [], "approvals": []}


@pytest.mark.spec("D-16", "O-10")
def test_approved_hook_runs_and_is_listed_with_who_and_why(home: Path, project: Path) -> None:
    done = trust(home, project, "approve", "guard", "--yes", "--note", "looked at it")

    assert done.stdout.startswith("approved guard  ")
    assert "guard.sh" in done.stdout
    assert standings(home, project) == {"guard": "approved", "line": "not approved"}
    (approval,) = json.loads(trust(home, project, "list", "--json").stdout)["approvals"]
    assert approval["note"] == "looked at it"
    assert approval["at"] > 0
    assert approval["imported"] is False
    assert uses(home, project) == [("guard", "in use")]
    hookline(home, project, *EMIT)
    assert (project / "ran").exists()


def test_all_approves_what_waits_and_nothing_twice(home: Path, project: Path) -> None:
    first = answer(home, project, "approve", "--all", "--yes")["approved"]
    second = answer(home, project, "approve", "--all", "--yes")["approved"]

    assert isinstance(first, list)
    assert [approval["hook"] for approval in first] == ["guard", "line"]
    assert second == []


def test_digest_that_is_no_longer_the_hooks_is_refused(home: Path, project: Path) -> None:
    digest = str(answer(home, project, "show", "guard")["digest"])
    (project / "guard.sh").write_text("echo evil\n")

    done = trust(home, project, "approve", "guard", "--digest", digest)

    assert done.returncode == 1
    assert "no longer what you looked at" in done.stderr
    assert standings(home, project)["guard"] == "not approved"


def test_digest_that_still_is_the_hooks_approves_it(home: Path, project: Path) -> None:
    digest = str(answer(home, project, "show", "guard")["digest"])

    assert trust(home, project, "approve", "guard", "--digest", digest).returncode == 0
    assert standings(home, project)["guard"] == "approved"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["approve", "guard"], "no terminal"),
        (["approve"], "name the hooks"),
        (["approve", "guard", "--all"], "name the hooks"),
        (["approve", "nope", "--yes"], 'no hook "nope"'),
        (["approve", "guard", "line", "--digest", "x"], "exactly one hook"),
        (["revoke"], "name what to take back"),
        (["revoke", "guard"], "no approval of guard"),
        (["show", "nope"], 'no hook "nope"'),
        (["diff", "nope"], 'no hook "nope"'),
        (["import", "/nowhere.json"], "nowhere.json"),
        (["export", "--output", "hookline.toml"], "is there already"),
        (["export", "--output", "no/such/folder"], "cannot write"),
        (["list", "--project", "nowhere"], "no folder"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    home: Path, project: Path, words: list[str], said: str
) -> None:
    done = trust(home, project, *words)

    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert (project / "hookline.toml").read_text() == HOOKS
    assert uses(home, project) == []


def test_answers_at_the_terminal_decide_hook_by_hook(home: Path, project: Path) -> None:
    with Session(home, project, "trust", "approve", "--all") as session:
        session.answers("y\n")
        session.answers("n\n")
        done = session.end()

    assert done.returncode == 0
    assert done.stdout.startswith("approved guard")
    assert done.stderr == "line: not approved\n"
    assert standings(home, project) == {"guard": "approved", "line": "not approved"}


def test_no_to_the_only_hook_is_an_error_for_whoever_wanted_it(home: Path, project: Path) -> None:
    with Session(home, project, "trust", "approve", "guard") as session:
        session.answers("\n")

        assert session.end().returncode == 1


def test_interrupting_the_question_exits_with_130_and_approves_nothing(home: Path, project: Path) -> None:
    with Session(home, project, "trust", "approve", "guard") as session:
        session.answers("\x03")

        assert session.end().returncode == 130
    assert uses(home, project) == []


def test_show_has_what_the_question_has(home: Path, project: Path) -> None:
    shown = trust(home, project, "show", "line", "--script").stdout

    for words in ("a shell, with this line:", "| sh guard.sh | cat", "beware", "guard.sh", "| touch ran", "digest"):
        assert words in shown
    assert shown.endswith("It does not run: workspace hook that is not approved.\n")


def test_show_masks_nothing_of_what_would_run(home: Path, project: Path) -> None:
    (project / "hookline.toml").write_text('[[hook]]\nname = "x"\non = "before_tool"\nrun = ["sh", "token=abc12345"]\n')

    assert "[1] token=abc12345" in trust(home, project, "show", "x").stdout


def test_show_of_a_hook_of_the_person_says_why_it_may_run(home: Path, project: Path) -> None:
    own = home / ".config" / "hookline" / "hookline.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[[hook]]\nname = "mine"\non = "before_tool"\nrun = ["true"]\n')

    shown = trust(home, project, "show", "mine").stdout

    assert "digest" in shown
    assert shown.endswith("It may run: hooks from there are trusted.\n")


def test_show_finds_an_approval_by_the_beginning_of_its_digest(home: Path, project: Path) -> None:
    trust(home, project, "approve", "guard", "--yes")
    (approval,) = json.loads(trust(home, project, "list", "--json").stdout)["approvals"]
    (project / "hookline.toml").unlink()

    assert "guard" in trust(home, project, "show", approval["digest"][:10]).stdout
    assert answer(home, project, "show", approval["digest"])["hook"] == "guard"
    assert uses(home, project)[0][0] == "guard"


@pytest.mark.spec("O-10", "O-15")
def test_edited_script_does_not_run_and_diff_shows_the_change(home: Path, project: Path) -> None:
    trust(home, project, "approve", "guard", "--yes")
    assert "nothing changed" in trust(home, project, "diff", "guard").stdout
    (project / "guard.sh").write_text("cat > /dev/null\ntouch evil\necho '{}'\n")

    done = trust(home, project, "diff", "guard")

    assert done.returncode == 0
    assert "| -touch ran" in done.stdout
    assert "| +touch evil" in done.stdout
    assert standings(home, project)["guard"] == "changed"
    assert uses(home, project) == [("guard", "the hook changed")]
    changes = answer(home, project, "diff", "guard")["changes"]
    assert isinstance(changes, list)
    assert [(change["kind"], change["name"]) for change in changes] == [("file", "guard.sh")]
    hookline(home, project, *EMIT)
    assert not (project / "evil").exists()


def test_diff_of_a_hook_nobody_ever_approved_says_so(home: Path, project: Path) -> None:
    assert "never approved" in trust(home, project, "diff", "guard").stdout


@pytest.mark.parametrize("how", ["hook", "digest", "all"])
def test_revoked_hook_does_not_run(home: Path, project: Path, how: str) -> None:
    trust(home, project, "approve", "guard", "--yes")
    (approval,) = json.loads(trust(home, project, "list", "--json").stdout)["approvals"]
    words = {"hook": "guard", "digest": approval["digest"][:12], "all": "--all"}

    done = trust(home, project, "revoke", words[how])

    assert done.stdout.startswith("revoked guard")
    assert standings(home, project)["guard"] == "not approved"


def test_exported_approvals_count_on_another_machine(home: Path, project: Path, tmp_path: Path) -> None:
    trust(home, project, "approve", "--all", "--yes")
    carried = tmp_path / "approvals.json"
    exported = trust(home, project, "export", "guard", "--output", str(carried))
    assert exported.returncode == 0, exported.stderr
    assert carried.stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other-home"
    other.mkdir(mode=0o700)

    done = trust(other, project, "import", str(carried))

    assert done.returncode == 0, done.stderr
    assert "imported guard" in done.stdout
    assert standings(other, project) == {"guard": "approved", "line": "not approved"}
    (approval,) = json.loads(trust(other, project, "list", "--json").stdout)["approvals"]
    assert approval["imported"] is True


def test_export_without_a_file_is_the_document_itself(home: Path, project: Path) -> None:
    trust(home, project, "approve", "guard", "--yes")

    document = json.loads(trust(home, project, "export").stdout)

    assert [approval["hook"] for approval in document["approvals"]] == ["guard"]


def test_approval_of_one_repository_is_not_for_another(home: Path, project: Path, tmp_path: Path) -> None:
    trust(home, project, "approve", "guard", "--yes")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(project, elsewhere)

    assert standings(home, elsewhere)["guard"] == "not approved"
    assert uses(home, elsewhere) == [("guard", "another repository")]


def test_workspace_says_whether_it_is_trusted_and_by_what(home: Path, project: Path) -> None:
    assert "is not trusted as a whole" in trust(home, project, "workspace").stdout

    own = home / ".config" / "hookline" / "hookline.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'[settings]\ntrusted_workspaces = ["{project}"]\n')

    assert answer(home, project, "workspace") == {"root": str(project), "trusted": True, "by": "trusted_workspaces"}
    assert "is trusted as a whole, by trusted_workspaces" in trust(home, project, "workspace").stdout
    assert standings(home, project) == {"guard": "trusted", "line": "trusted"}
