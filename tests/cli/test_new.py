import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.cli.new import LANGUAGES, TEMPLATES
from tests.cli.program import environment, hookline

CONFIG = """\
# mine, and dear to me
[[hook]]
name   =   "older"   # odd, but so be it
on = "session_end"
run = ["python3", "older.py"]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def made(home: Path, *words: str) -> dict[str, str]:
    """Write a hook, and give what the program says about it."""
    done = hookline(home, "new", *words, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    said: dict[str, str] = json.loads(done.stdout)
    return said


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.spec("O-34")
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_new_hook_runs_without_any_change(home: Path, language: str, template: str) -> None:
    if shutil.which(LANGUAGES[language].program) is None:
        pytest.skip(f"{LANGUAGES[language].program} is not installed")
    said = made(home, "mine", "--event", "before_tool", "--lang", language, "--template", template)

    event = ["emit", "before_tool", "--dialect", "hookline", "--data", f"@{said['payload']}", "--json"]
    outcome = json.loads(hookline(home, *event).stdout)

    [verdict] = outcome["hooks"]
    assert verdict["failure"] is None
    assert verdict["verdict"] == ("deny" if template in {"validation", "policy"} else "pass")
    assert bool(outcome["context"]) == (template == "context")
    assert any((home / ".local/share/hookline-state").glob("mine-*/log.jsonl")) == (template == "logging")


def test_every_command_it_tells_to_try_works(home: Path) -> None:
    tries = made(home, "mine", "--event", "before_tool")["try"]

    for line in tries:
        done = subprocess.run(
            [
                "bash",
                "-c",
                line.replace("hookline ", f"{sys.executable} -m hookline ", 1) if line.startswith("hookline") else line,
            ],
            cwd=home.parent / "project",
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "deleting whole folders is not allowed" in done.stdout or line.startswith("hookline test"), line
        assert done.returncode == (2 if "emit" in line else 0), done.stderr


def test_harmless_event_goes_on(home: Path) -> None:
    made(home, "mine", "--event", "before_tool")

    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}', "--json")

    assert (done.returncode, json.loads(done.stdout)["hooks"][0]["verdict"]) == (0, "pass")


def test_hook_is_added_to_what_is_there(home: Path) -> None:
    config = home / ".config/hookline/hookline.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)

    said = made(home, "mine", "--event", "before_tool")

    assert said["config"] == str(config)
    assert config.read_text().startswith(CONFIG)
    assert 'run = ["python3", "hooks/mine.py"]' in config.read_text().removeprefix(CONFIG)


def test_hook_of_a_project_waits_for_approval(home: Path) -> None:
    project = home.parent / "project"

    done = hookline(home, "new", "mine", "--event", "before_tool", "--to", "project")

    assert "it runs once you approved it: hookline trust approve mine" in done.stdout
    assert sorted(everything(project)) == ["hookline.toml", "hooks/mine.event.json", "hooks/mine.py"]
    event = ["emit", "before_tool", "--dialect", "hookline", "--data", "@hooks/mine.event.json"]
    assert hookline(home, *event).returncode == 0
    assert hookline(home, "trust", "approve", "mine", "--yes").returncode == 0
    assert hookline(home, *event).returncode == 2


def test_undo_takes_everything_back(home: Path) -> None:
    config = home / ".config/hookline/hookline.toml"
    config.parent.mkdir(parents=True)
    config.write_text(CONFIG)
    before = everything(config.parent)
    made(home, "mine", "--event", "before_tool")

    done = hookline(home, "undo")

    assert done.returncode == 0
    assert everything(config.parent) == before


def test_hook_that_is_there_is_left_alone_unless_told_otherwise(home: Path) -> None:
    made(home, "mine", "--event", "before_tool", "--to", "project")
    project = home.parent / "project"
    before = everything(project)

    again = hookline(home, "new", "mine", "--event", "before_model", "--to", "project")

    assert again.returncode == 1
    assert 'hookline.toml:1: there is a hook "mine" already' in again.stderr
    assert everything(project) == before

    made(home, "mine", "--event", "before_model", "--to", "project", "--force")
    assert (project / "hookline.toml").read_text().count("[[hook]]") == 1
    assert 'on = "before_model"' in (project / "hookline.toml").read_text()


def test_file_that_is_there_is_left_alone(home: Path) -> None:
    script = home.parent / "project" / "hooks" / "mine.py"
    script.parent.mkdir()
    script.write_text("dear to me")

    done = hookline(home, "new", "mine", "--event", "before_tool", "--to", "project")

    assert done.returncode == 1
    assert "mine.py: there is such a file already; write over it with --force" in done.stderr
    assert everything(home.parent / "project") == {"hooks/mine.py": b"dear to me"}


def test_broken_configuration_is_not_touched(home: Path) -> None:
    config = home.parent / "project" / "hookline.toml"
    config.write_text("[[hook]\n")

    done = hookline(home, "new", "mine", "--event", "before_tool", "--to", "project")

    assert done.returncode == 1
    assert "hookline.toml:1:" in done.stderr
    assert everything(home.parent / "project") == {"hookline.toml": b"[[hook]\n"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x", "--event", "befor_tool"], 'unknown event "befor_tool" (did you mean "before_tool"?)'),
        (["x", "--event", "PreTolUse"], 'did you mean "PreToolUse"?'),
        (["x", "--event", "custom:a\nb"], "unknown event"),
        (["x", "--event", "before_tool", "--lang", "pyton"], 'no language "pyton" (did you mean "python"?)'),
        (["x", "--event", "before_tool", "--template", "log"], 'no template "log" (did you mean "logging"?)'),
        (["x", "--event", "before_tool", "--dialect", "olm"], 'no dialect "olm" (did you mean "ollm"?)'),
        (["../x", "--event", "before_tool"], '"../x" is no name for a hook'),
        (["", "--event", "before_tool"], "is no name for a hook"),
        (["x"], "--event"),
    ],
)
def test_wrong_words_get_the_nearest_right_one_and_nothing_is_written(
    home: Path, words: list[str], message: str
) -> None:
    done = hookline(home, "new", *words)

    assert done.returncode == 1
    assert message in done.stderr
    assert everything(home.parent / "project") == {}
    assert not (home / ".config").exists()


def test_event_may_be_said_in_the_words_of_the_dialect(home: Path) -> None:
    said = made(home, "mine", "--event", "PreToolUse", "--dialect", "ollama-cli")

    done = hookline(home, "emit", "PreToolUse", "--dialect", "ollama-cli", "--data", f"@{said['payload']}")

    assert done.returncode == 2
    assert json.loads(done.stdout)["permissionDecision"] == "deny"


def test_custom_event_has_a_hook_like_any_other(home: Path) -> None:
    said = made(home, "mine", "--event", "custom:deploy")

    done = hookline(home, "emit", "custom", "--dialect", "hookline", "--data", f"@{said['payload']}")

    assert (done.returncode, done.stderr) == (2, "not on production\n")


def test_program_that_is_missing_is_said(home: Path, tmp_path: Path) -> None:
    done = hookline(home, "new", "mine", "--event", "before_tool", "--lang", "node", PATH=str(tmp_path))

    assert done.returncode == 0
    assert "node is not on your PATH: install it before the hook is to run" in done.stdout


def test_agents_languages_have_no_templates_and_need_none(home: Path) -> None:
    done = hookline(home, "new", "guard", "--event", "PreToolUse", "--dialect", "claude-code")

    assert done.returncode == 1
    assert "templates do not speak claude-code; without --dialect the hook speaks our own words" in done.stderr
