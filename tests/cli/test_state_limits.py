import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import configure, environment, hookline

CONFIG = """
[settings]
per_minute = 100

[[hook]]
id = "note"
on = "after_tool"
run = ["python3", "note.py"]
per_minute = 3

[[hook]]
id = "broken"
on = "before_agent"
run = ["python3", "broken.py"]
breaker = 2
retry_after = "10m"

[[hook]]
id = "plain"
on = "session_end"
run = ["python3", "note.py"]
"""
NOTE = "import pathlib\nwith (pathlib.Path(__file__).parent / 'ran').open('a') as file:\n    file.write('x')\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    folder = home / ".config" / "hookline"
    text = CONFIG.replace("note.py", str(folder / "note.py")).replace("broken.py", str(folder / "broken.py"))
    configure(home, text.replace("python3", sys.executable), {"note.py": NOTE, "broken.py": "raise SystemExit(3)\n"})
    return home


def runs(home: Path) -> int:
    file = home / ".config" / "hookline" / "ran"
    return len(file.read_text()) if file.exists() else 0


def standing(home: Path, *arguments: str) -> dict[tuple[str | None, str], tuple[bool, str]]:
    said = json.loads(hookline(home, "limits", *arguments, "--json").stdout)
    return {(one["hook"], one["limit"]): (one["passed"], one["reason"]) for one in said["limits"]}


@pytest.mark.spec("D-11")
def test_programs_of_many_agents_share_one_limit(home: Path) -> None:
    command = [sys.executable, "-m", "hookline", "emit", "after_tool", "--tool", "shell"]
    project = home.parent / "project"
    agents = [subprocess.Popen(command, cwd=project, env=environment(home)) for _ in range(6)]

    assert [agent.wait(timeout=60) for agent in agents] == [0] * 6
    assert runs(home) == 3


def test_limits_are_shown_as_they_stand(home: Path) -> None:
    hookline(home, "emit", "after_tool", "--tool", "shell")

    assert standing(home) == {
        ("note", "rate"): (True, "1 of 3 runs in the last minute"),
        ("broken", "breaker"): (True, "no failure the last time"),
        (None, "rate"): (True, "all hooks together: 1 of 100 runs in the last minute"),
    }
    shown = hookline(home, "limits").stdout
    assert "note" in shown
    assert "plain" not in shown


def test_limits_of_one_hook_are_its_own_and_those_of_all(home: Path) -> None:
    assert set(standing(home, "plain")) == {("plain", "rate")}
    wrong = hookline(home, "limits", "plian")
    assert wrong.returncode == 1
    assert 'did you mean "plain"' in wrong.stderr


def test_looking_makes_no_file_but_the_record_of_known_entries(home: Path) -> None:
    assert hookline(home, "limits").returncode == 0
    assert hookline(home, "why", "note").returncode == 0

    assert [path.name for path in (home / ".local").rglob("*") if path.is_file()] == ["known-hooks.json"]


def test_event_without_limited_hooks_makes_no_state(home: Path) -> None:
    folder = home / ".config" / "hookline"
    (folder / "hookline.toml").write_text('[[hook]]\nname = "plain"\non = "session_end"\nrun = "true"\n')

    assert hookline(home, "emit", "session_end").returncode == 0

    assert not (home / ".local" / "share" / "hookline" / "state.db").exists()


def test_paused_hook_is_reported_explained_and_started_afresh(home: Path) -> None:
    assert "is paused after 2 failures in a row" not in hookline(home, "emit", "before_agent").stderr
    assert 'hook "broken" is paused after 2 failures in a row' in hookline(home, "emit", "before_agent").stderr
    third = json.loads(hookline(home, "emit", "before_agent", "--json").stdout)
    assert [(one["gate"], one["id"]) for one in third["skipped"]] == [("breaker", "broken")]

    said = hookline(home, "why", "broken").stdout
    assert "NO   breaker   paused after 2 failures in a row, tried again in 10 min" in said
    assert "hookline limits broken --reset" in said
    assert hookline(home, "limits", "broken", "--reset").stdout == "forgotten: what was remembered of 1 hook\n"

    assert standing(home)["broken", "breaker"] == (True, "no failure the last time")


def test_reset_of_everything_has_to_be_said(home: Path) -> None:
    hookline(home, "emit", "after_tool", "--tool", "shell")

    unsaid = hookline(home, "limits", "--reset")
    assert (unsaid.returncode, unsaid.stderr) == (1, "hookline: name the hooks to reset, or say --all\n")
    both = hookline(home, "limits", "note", "--reset", "--all")
    assert both.returncode == 1
    assert standing(home)["note", "rate"] == (True, "1 of 3 runs in the last minute")

    done = json.loads(hookline(home, "limits", "--reset", "--all", "--json").stdout)
    assert done == {"reset": ["note", "broken", "plain"], "forgotten": 2}
    assert standing(home)[None, "rate"] == (True, "all hooks together: 0 of 100 runs in the last minute")


def test_without_limits_it_says_how_to_set_one(home: Path) -> None:
    folder = home / ".config" / "hookline"
    (folder / "hookline.toml").write_text('[[hook]]\nname = "plain"\non = "session_end"\nrun = "true"\n')

    shown = hookline(home, "limits")

    assert (shown.returncode, shown.stdout) == (
        0,
        "no limit: set once, per_minute, cooldown, debounce, breaker or budget of a hook\n",
    )


def test_damaged_state_is_an_error_here_and_a_warning_for_events(home: Path) -> None:
    place = home / ".local" / "share" / "hookline" / "state.db"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"nothing that SQLite wrote" * 200)

    shown = hookline(home, "limits")
    assert shown.returncode == 1
    assert "move the file away" in shown.stderr
    emitted = hookline(home, "emit", "after_tool", "--tool", "shell")
    assert emitted.returncode == 0
    assert "hooks run without them" in emitted.stderr
    assert runs(home) == 1
    assert "not known, so it runs without them" in hookline(home, "why", "note").stdout
