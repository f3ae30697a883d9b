import json
from pathlib import Path

import pytest

from tests.cli.program import hookline

FINE = """
[[hook]]
name = "fine"
on = "before_tool"
run = "python3 fine.py"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".config" / "hookline"
    folder.mkdir(parents=True)
    (folder / "fine.py").write_text("")
    (folder / "hookline.toml").write_text(FINE)
    (tmp_path / "project").mkdir()
    return tmp_path / "home"


@pytest.mark.spec("C-17")
def test_configuration_without_mistakes_exits_with_0(home: Path) -> None:
    done = hookline(home, "check")

    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing to mend; 1 hook in 1 file\n", "")


def test_warning_exits_with_1_and_names_file_and_line(home: Path) -> None:
    path = home / ".config/hookline/hookline.toml"
    path.write_text(FINE + "timeout = 30000\n")

    done = hookline(home, "check")

    assert done.returncode == 1
    assert done.stdout.startswith(f'{path}:6: warning: timeout of hook "fine" is 30000 seconds')
    assert done.stdout.endswith("1 warning; 1 hook in 1 file\n")


def test_notes_alone_exit_with_0_unless_they_count(home: Path) -> None:
    (home.parent / "project/hookline.toml").write_text(FINE.replace("fine", "other").replace("other.py", "x.py"))
    (home.parent / "project/x.py").write_text("")

    done = hookline(home, "check")

    assert (done.returncode, hookline(home, "check", "--strict").returncode) == (0, 1)
    assert done.stdout.startswith('hookline.toml:2: note: hook "other" does not run yet: ')


def test_json_has_everything(home: Path) -> None:
    path = home / ".config/hookline/hookline.toml"
    path.write_text(FINE + "timeut = 3\n")

    done = hookline(home, "check", "--json")
    document = json.loads(done.stdout)

    assert done.returncode == 1
    assert (document["hooks"], document["files"]) == (0, 1)
    (problem,) = document["problems"]
    assert (problem["path"], problem["line"], problem["severity"]) == (str(path), 6, "error")
    assert problem["message"].startswith("unknown key")


@pytest.mark.parametrize("name", ["npx prettier", "uvx ruff"])
def test_launcher_without_a_version_is_noted(home: Path, name: str) -> None:
    path = home / ".config/hookline/hookline.toml"
    path.write_text(FINE.replace("python3 fine.py", name))

    done = hookline(home, "check", "--json")

    messages = [problem for problem in json.loads(done.stdout)["problems"] if problem["severity"] == "note"]
    assert any(problem["line"] == 2 and name.split(maxsplit=1)[0] in problem["message"] for problem in messages)


def test_hook_that_is_switched_off_may_be_unfinished(home: Path) -> None:
    path = home / ".config/hookline/hookline.toml"
    path.write_text(FINE.replace("fine.py", "gone.py") + "enabled = false\n")

    assert hookline(home, "check").returncode == 0


def test_project_that_is_not_there_is_an_error(home: Path) -> None:
    done = hookline(home, "check", "--project", "gone")

    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no folder gone" in done.stderr


def test_approvals_that_cannot_be_read_are_one_problem_and_the_rest_is_still_checked(home: Path) -> None:
    book = home / ".local/share/hookline/approvals.json"
    book.parent.mkdir(parents=True)
    book.write_text("nonsense")
    book.chmod(0o600)
    (home.parent / "project/hookline.toml").write_text(FINE + "timeut = 3\n")

    document = json.loads(hookline(home, "check", "--json").stdout)

    messages = [problem["message"] for problem in document["problems"]]
    assert sum("no list of approvals" in message for message in messages) == 1
    assert any("timeut" in message for message in messages)


def test_python_hook_without_its_module_or_its_function_is_found(home: Path) -> None:
    folder = home / ".config/hookline"
    (folder / "mine.py").write_text("def guard(event): ...\n")
    calls = ("mine:guard", "mine:gard", "nowhere:guard")
    (folder / "hookline.toml").write_text(
        "".join(
            f'[[hook]]\nname = "h{place}"\non = "before_tool"\ncall = "{call}"\n' for place, call in enumerate(calls)
        )
    )

    problems = json.loads(hookline(home, "check", "--json").stdout)["problems"]

    assert [(one["line"], one["severity"]) for one in problems] == [(5, "error"), (9, "error")]
    assert problems[0]["message"] == f'hook "h1" cannot start: {folder}/mine.py has no "gard" (did you mean "guard"?)'
    assert hookline(home, "why", "h2", "--json").stdout.count('"runs": false') == 1
    assert hookline(home, "why", "h0", "--json").stdout.count('"runs": true') == 1


@pytest.mark.parametrize("name", [".hookline.toml", "hookline.yaml", ".hookline/hooks.toml"])
def test_file_whose_name_is_nearly_right_is_pointed_at(home: Path, name: str) -> None:
    path = home.parent / "project" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(FINE)

    done = hookline(home, "check")

    assert done.returncode == 1
    assert f"{name}: warning: this file is not read: hooks are defined in hookline.toml" in done.stdout
