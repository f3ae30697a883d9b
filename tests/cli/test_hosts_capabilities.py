"""What agents make of answers, before it happens: `hosts show`, `hosts matrix`, `why --host`, `check`, and once at work."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

ASKS = """
[[hook]]
name = "careful"
on = ["before_tool", "notification"]
tools = ["shell"]
run = "python3 careful.py"
needs = { answers = ["ask"] }
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".config" / "hookline"
    folder.mkdir(parents=True)
    (folder / "careful.py").write_text('print(\'{"decision": "ask", "reason": "sure?"}\')\n')
    (folder / "hookline.toml").write_text(ASKS)
    (tmp_path / "project").mkdir()
    return tmp_path / "home"


def test_show_says_for_each_event_what_an_answer_can_do_and_what_the_rest_becomes(home: Path) -> None:
    done = hookline(home, "hosts", "show", "codex")
    assert done.returncode == 0
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line}
    assert "before_tool" in rows["PreToolUse"]
    assert "block" in rows["PreToolUse"]
    told = json.loads(hookline(home, "hosts", "show", "codex-cli", "--json").stdout)
    event = next(one for one in told["events"] if one["event"] == "PreToolUse")
    assert told["host"] == "codex-cli"
    assert "ask" not in event["can"]
    assert event["instead"]["ask"] == "block"


def test_show_names_the_agents_whose_settings_are_run_too(home: Path) -> None:
    assert "It also runs the hooks in the settings of claude-code" in hookline(home, "hosts", "show", "cursor").stdout


def test_an_agent_nobody_knows_is_an_error_with_the_nearest_name(home: Path) -> None:
    done = hookline(home, "hosts", "show", "gemnii")
    assert done.returncode == 1
    assert 'there is no agent "gemnii" (did you mean "gemini"?)' in done.stderr


def test_matrix_has_a_column_for_every_agent_and_every_language(home: Path) -> None:
    done = hookline(home, "hosts", "matrix")
    first, second = (line.split() for line in done.stdout.splitlines() if line.startswith("wish "))
    assert len(first) == 13
    assert set(first) < set(second)
    cells = json.loads(hookline(home, "hosts", "matrix", "--json").stdout)
    asked = {cell["host"]: cell["becomes"] for cell in cells if (cell["hook"], cell["wish"]) == ("ollm", "ask")}
    assert (asked["claude-code"], asked["codex-cli"]) == ("ask", "block")


def test_why_under_an_agent_says_what_it_makes_of_the_answers(home: Path) -> None:
    done = hookline(home, "why", "careful", "--event", "before_tool", "--host", "codex")
    assert done.returncode == 0
    assert "Its answers under codex-cli, at PreToolUse: " in done.stdout
    assert "ask, stop: becomes block" in done.stdout
    assert "It needs ask, and codex-cli cannot ask at before_tool: it becomes block." in done.stdout
    told = json.loads(hookline(home, "why", "careful", "--event", "before_tool", "--host", "codex", "--json").stdout)
    assert told["host"] == "codex-cli"
    assert told["events"][0]["becomes"]["ask"] == "block"
    assert told["events"][0]["becomes"]["block"] == "yes"


def test_why_says_that_an_agent_never_comes_to_an_event(home: Path) -> None:
    done = hookline(home, "why", "careful", "--event", "notification", "--host", "codex")
    assert "codex-cli has no notification: it never comes to this there." in done.stdout


def test_why_without_an_agent_says_nothing_of_agents(home: Path) -> None:
    done = hookline(home, "why", "careful", "--event", "before_tool")
    assert "answers under" not in done.stdout
    assert json.loads(hookline(home, "why", "careful", "--json").stdout)["host"] is None


def test_check_says_what_installed_agents_cannot_do_for_a_hook(home: Path) -> None:
    path = home / ".config/hookline/hookline.toml"
    assert "nothing to mend" in hookline(home, "check").stdout
    assert hookline(home, "install", "codex", "claude").returncode == 0
    done = hookline(home, "check")
    assert (
        f'{path}:2: note: hook "careful" wants to ask, and codex-cli cannot ask at before_tool: it becomes block'
        in done.stdout
    )
    assert "claude-code cannot ask at before_tool" not in done.stdout
    assert done.returncode == 0


def test_the_person_is_told_once_at_work(home: Path) -> None:
    call = json.dumps(
        {
            "session_id": "s1",
            "turn_id": "t1",
            "cwd": str(home.parent / "project"),
            "hook_event_name": "PreToolUse",
            "model": "m",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_use_id": "c1",
        }
    )
    first, second = (hookline(home, "hook", "codex", "PreToolUse", stdin=call) for _ in range(2))
    assert "needs to ask, and codex-cli cannot ask at before_tool" in json.loads(first.stdout)["systemMessage"]
    assert "systemMessage" not in json.loads(second.stdout)
    for done in (first, second):
        assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("wrong", ['needs = { answers = ["shout"] }', "needs = { answers = 3 }"])
def test_an_answer_that_does_not_exist_is_a_mistake_with_a_line(home: Path, wrong: str) -> None:
    path = home / ".config/hookline/hookline.toml"
    path.write_text(ASKS.replace('needs = { answers = ["ask"] }', wrong))
    done = hookline(home, "check")
    assert done.returncode == 1
    assert f"{path}:7: " in done.stdout


def test_what_depends_on_how_the_agent_was_started_is_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, '[[hook]]\nname = "again"\non = "after_agent"\nrun = "true"\n')

    shown = hookline(home, "hosts", "show", "opencode").stdout
    why = hookline(home, "why", "again", "--host", "opencode").stdout

    said = "only in the terminal program: `opencode run` ends with the turn and does not go back to work"
    assert f"session.idle: {said}" in shown
    assert f"This is so {said}" in why
