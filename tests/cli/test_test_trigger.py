import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

CONFIG = """
[[hook]]
name = "notes"
on = "user_triggered"
run = "python3 notes.py"
timeout = 30

[[hook]]
name = "also"
on = "user_triggered"
run = "python3 also.py"

[[hook]]
name = "guard"
on = "before_tool"
run = "python3 also.py"

[[hook]]
name = "broken"
on = "user_triggered"
run = "sh missing.sh"

[[hook]]
name = "bell"
on = "notification"
run = "python3 also.py"
"""

NOTES = """
import json
event = json.loads(input())
data = event["data"]
if data.get("input") == "bad":
    print(json.dumps({"decision": "deny", "reason": "not like this"}))
elif data.get("input") != "quiet":
    print(json.dumps({"message": json.dumps(data, sort_keys=True)}))
"""

ALSO = """
import os, pathlib
pathlib.Path(os.environ["HOME"], "also").write_text(input())
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG, {"notes.py": NOTES, "also.py": ALSO})
    return tmp_path / "home"


@pytest.mark.spec("D-04")
def test_one_hook_is_started_by_hand_and_no_other(home: Path) -> None:
    done = hookline(home, "trigger", "notes", "--input", "go")

    assert (done.returncode, done.stdout, done.stderr) == (0, '{"hook": "notes", "input": "go"}\n', "")
    assert not (home / "also").exists()


@pytest.mark.spec("D-04")
def test_a_notification_starts_the_hooks_that_want_it(home: Path) -> None:
    done = hookline(home, "emit", "notification", "--data", '{"message": "done", "type": "status"}')

    assert done.returncode == 0
    assert json.loads((home / "also").read_text())["data"] == {"message": "done", "type": "status"}


def test_a_hook_that_says_no_exits_with_2(home: Path) -> None:
    done = hookline(home, "trigger", "notes", "--input", "bad")

    assert (done.returncode, done.stdout, done.stderr) == (2, "", "not like this\n")


def test_a_hook_that_says_nothing_is_said_to_have_run(home: Path) -> None:
    done = hookline(home, "trigger", "notes", "--input", "quiet")

    assert (done.returncode, done.stdout) == (0, 'hook "notes" ran\n')


def test_input_may_come_from_stdin_and_further_fields_beside_it(home: Path) -> None:
    done = hookline(home, "trigger", "notes", "--input", "-", "--data", '{"depth": 2}', stdin="two\nlines")

    assert json.loads(done.stdout) == {"depth": 2, "hook": "notes", "input": "two\nlines"}


def test_json_is_the_outcome(home: Path) -> None:
    done = hookline(home, "trigger", "notes", "--input", "bad", "--json")

    outcome = json.loads(done.stdout)
    assert done.returncode == 2
    assert (outcome["blocked"], outcome["reasons"]) == (True, ["not like this"])
    assert [hook["id"] for hook in outcome["hooks"]] == ["notes"]


def test_a_hook_that_waits_for_something_else_is_not_started(home: Path) -> None:
    done = hookline(home, "trigger", "guard")

    assert done.returncode == 1
    assert 'hook "guard" waits for before_tool' in done.stderr
    assert "hookline test guard" in done.stderr


def test_a_hook_that_fell_over_is_an_error(home: Path) -> None:
    done = hookline(home, "trigger", "broken")

    assert done.returncode == 1
    assert 'hook "broken" failed' in done.stderr


def test_a_hook_that_nobody_approved_does_not_run(home: Path) -> None:
    project = home.parent / "project"
    (project / "hookline.toml").write_text('[[hook]]\nname = "theirs"\non = "user_triggered"\nrun = "sh ran.sh"\n')
    (project / "ran.sh").write_text("touch ran\n")

    done = hookline(home, "trigger", "theirs")

    assert done.returncode == 1
    assert 'hook "theirs" did not run' in done.stderr
    assert "hookline trust approve theirs" in done.stderr
    assert not (project / "ran").exists()


def test_a_switched_off_engine_starts_nothing_and_says_so(home: Path) -> None:
    done = hookline(home, "trigger", "notes", HOOKS_ENABLED="false")

    assert done.returncode == 1
    assert "hooks are switched off" in done.stderr


def test_a_disabled_hook_does_not_run(home: Path) -> None:
    hookline(home, "disable", "notes")

    done = hookline(home, "trigger", "notes")

    assert done.returncode == 1
    assert 'hook "notes" did not run' in done.stderr
    assert "notes" not in hookline(home, "trigger", "--list").stdout


def test_the_list_has_those_that_can_be_started(home: Path) -> None:
    names = [one["id"] for one in json.loads(hookline(home, "trigger", "--list", "--json").stdout)]

    assert names == ["notes", "also", "broken"]
    assert "~/.config/hookline/hookline.toml:2" in hookline(home, "trigger", "--list").stdout


def test_an_empty_list_says_what_to_write(tmp_path: Path) -> None:
    configure(tmp_path / "home", "")

    assert 'on = "user_triggered"' in hookline(tmp_path / "home", "trigger", "--list").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name the hook"),
        (("nots",), 'did you mean "notes"'),
        (("notes", "--data", "3"), "--data must be a JSON object"),
        (("notes", "--data", "{"), "--data is no JSON"),
        (("notes", "--data", "-", "--input", "-"), "cannot both be read from stdin"),
        (("notes", "--project", "/no/such"), "there is no folder"),
    ],
)
def test_a_slip_is_explained(home: Path, words: tuple[str, ...], said: str) -> None:
    done = hookline(home, "trigger", *words)

    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("once = true", ["ran", "ran"]),
        ('cache = "5m"', ["ran", "was not asked: it gave this answer before"]),
        (
            "background = true",
            ["was put into the queue: hookline queue show ", "was put into the queue: hookline queue "],
        ),
    ],
)
def test_way_in_which_a_quiet_hook_was_started_is_told(tmp_path: Path, key: str, said: list[str]) -> None:
    home = tmp_path / "home"
    text = f'[[hook]]\nname = "quiet"\non = "user_triggered"\nrun = ["python3", "quiet.py"]\n{key}\n'
    configure(home, text, {"quiet.py": ""})

    for told in said:
        done = hookline(home, "trigger", "quiet", HOOKLINE_WORKER="off")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f'hook "quiet" {told}')
