import json
from pathlib import Path

import pytest

from hookline.config.formats.native import KEYS
from tests.cli.program import hookline


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_first_hook_of_a_person_works_at_once(home: Path) -> None:
    done = hookline(home, "init", "--user")

    assert done.returncode == 0
    assert "hookline test hello" in done.stdout
    assert hookline(home, "emit", "session_start").stdout == "Hello from Hookline.\n"


def test_first_hook_of_a_project_works_once_it_is_approved(home: Path) -> None:
    done = hookline(home, "init")

    assert "hookline trust approve hello" in done.stdout
    assert hookline(home, "emit", "session_start").stdout == ""
    assert hookline(home, "trust", "approve", "hello", "--yes").returncode == 0
    assert hookline(home, "emit", "session_start").stdout == "Hello from Hookline.\n"


def test_file_explains_every_key_and_has_no_problem(home: Path) -> None:
    hookline(home, "init")

    text = (home.parent / "project" / "hookline.toml").read_text()
    for name, key in KEYS.items():
        assert f"#   {name} " in text
        assert key.about.split()[0] in text
    assert max(map(len, text.splitlines())) <= 120
    assert json.loads(hookline(home, "list", "--json").stdout)
    assert "error" not in hookline(home, "emit", "session_start").stderr


def test_file_that_is_there_stays_as_it_is(home: Path) -> None:
    config = home.parent / "project" / "hookline.toml"
    config.write_text("# mine\n")

    done = hookline(home, "init")

    assert done.returncode == 0
    assert "is there already, with no hook; it was left as it is" in done.stdout
    assert config.read_text() == "# mine\n"


def test_link_that_leads_nowhere_is_not_written_through(home: Path) -> None:
    config = home.parent / "project" / "hookline.toml"
    config.symlink_to(home / "elsewhere.toml")

    done = hookline(home, "init")

    assert "is there already" in done.stdout
    assert not (home / "elsewhere.toml").exists()


def test_hooks_of_other_systems_are_named(home: Path) -> None:
    settings = home.parent / "project" / ".ollama" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "python3 x.py"}]}]}}')

    done = hookline(home, "init")

    assert f"Found, too: {settings.resolve()} (ollama-cli, 1 hook)" in done.stdout


def test_json_says_what_was_made(home: Path) -> None:
    said = json.loads(hookline(home, "init", "--json").stdout)

    assert said == {
        "path": str(home.parent / "project" / "hookline.toml"),
        "created": True,
        "hooks": 1,
        "others": [],
        "next": [
            "hookline trust approve hello",
            "hookline test hello",
            "hookline list",
            "hookline new NAME --event before_tool",
        ],
    }


def test_undo_takes_the_file_back(home: Path) -> None:
    hookline(home, "init")

    assert hookline(home, "undo").returncode == 0
    assert list((home.parent / "project").iterdir()) == []


def test_project_that_is_not_there_is_an_error(home: Path) -> None:
    done = hookline(home, "init", "--project", "nowhere")

    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no folder nowhere" in done.stderr


def test_folder_that_cannot_be_written_is_an_error(home: Path) -> None:
    (home / ".config").write_text("a file where the folder would be")

    done = hookline(home, "init", "--user")

    assert done.returncode == 1
    assert "hookline.toml" in done.stderr
    assert "Traceback" not in done.stderr
