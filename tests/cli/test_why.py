import json
from pathlib import Path

import pytest

from tests.cli.program import hookline

CONFIG = """
[[hook]]
name = "guard"
on = "before_tool"
tools = ["shell"]
run = "python3 guard.py"

[[hook]]
name = "sleeping"
on = "session_start"
run = "python3 guard.py"
enabled = false

[[hook]]
name = "styled"
on = ["file_edited", "before_tool"]
files = ["*.css"]
run = "python3 guard.py"

[[hook]]
name = "lost"
on = "before_tool"
run = "python3 gone.py"

[[hook]]
name = "refused"
on = "before_tool"
run = "python3 -V; ls"

[[hook]]
name = "unloaded"
on = "before_tol"
run = "python3 guard.py"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / ".config" / "hookline"
    folder.mkdir(parents=True)
    (folder / "guard.py").write_text("input()\n")
    (folder / "hookline.toml").write_text(CONFIG)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "hookline.toml").write_text(
        '[[hook]]\nname = "foreign"\non = "before_tool"\nrun = "python3 x.py"\n'
    )
    (tmp_path / "project" / "x.py").write_text("")
    return tmp_path / "home"


def why(home: Path, *arguments: str, **env: str) -> list[dict[str, object]]:
    done = hookline(home, "why", *arguments, "--json", **env)
    assert done.returncode == 0, done.stderr
    events: list[dict[str, object]] = json.loads(done.stdout)["events"]
    return events


def closed(event: dict[str, object]) -> list[str]:
    gates: list[dict[str, object]] = event["gates"]  # type: ignore[assignment]
    return [str(gate["gate"]) for gate in gates if not gate["passed"]]


@pytest.mark.spec("D-19")
def test_every_gate_answers_with_yes_or_no_and_a_reason(home: Path) -> None:
    (event,) = why(home, "guard")

    gates: list[dict[str, object]] = event["gates"]  # type: ignore[assignment]
    names = ["hooks", "enabled", "event", "matcher", "files", "writes", "trust", "command", "file"]
    assert [gate["gate"] for gate in gates] == names
    assert all(gate["passed"] is True and gate["reason"] for gate in gates)
    assert (event["event"], event["tool"], event["runs"]) == ("before_tool", "shell", True)


@pytest.mark.spec("D-19")
@pytest.mark.parametrize(
    ("arguments", "gates"),
    [
        (["guard", "--tool", "read_file"], ["matcher"]),
        (["guard", "--event", "session_start"], ["event", "matcher"]),
        (["sleeping"], ["enabled"]),
        (["styled", "--event", "before_tool", "--tool", "write_file", "--args", '{"path": "a.py"}'], ["files"]),
        (["foreign"], ["trust"]),
        (["refused"], ["command"]),
        (["lost"], ["file"]),
    ],
)
def test_closed_gate_is_named(home: Path, arguments: list[str], gates: list[str]) -> None:
    (event,) = why(home, *arguments)

    assert event["runs"] is False
    assert closed(event) == gates


def test_hooks_that_are_all_switched_off_are_the_first_reason(home: Path) -> None:
    (event,) = why(home, "guard", HOOKS_ENABLED="false")

    assert closed(event) == ["hooks"]


def test_each_event_of_a_hook_is_asked_with_a_sample_that_fits(home: Path) -> None:
    edited, called = why(home, "styled")

    assert (edited["event"], edited["runs"]) == ("file_edited", True)
    assert (called["event"], called["runs"]) == ("before_tool", True)


def test_people_read_the_gates_and_what_to_do(home: Path) -> None:
    text = hookline(home, "why", "foreign").stdout

    assert "foreign: python3 " in text
    assert "project hook in hookline.toml:1, dialect hookline" in text
    assert "  yes  enabled   switched on\n" in text
    assert "  NO   trust " in text
    assert "hookline trust approve foreign" in text
    assert "no trace of it" in text


def test_what_is_wrong_with_its_definition_is_said(home: Path) -> None:
    path = home / ".config/hookline/hookline.toml"
    path.write_text(CONFIG.replace('tools = ["shell"]', 'tools = ["shell"]\ntimeut = 5'))

    assert ':6: error: unknown key "timeut"' in hookline(home, "why", "guard").stderr


def test_place_in_the_order_is_said(home: Path) -> None:
    assert "It would run, as number 1 of " in hookline(home, "why", "guard").stdout


@pytest.mark.spec("D-19")
def test_what_happened_lately_is_told_newest_first(home: Path) -> None:
    hookline(home, "emit", "before_tool", "--tool", "shell")
    hookline(home, "emit", "before_tool", "--tool", "shell")

    lately = json.loads(hookline(home, "why", "foreign", "--json").stdout)["lately"]

    assert [record["step"] for record in lately] == ["hook_skipped", "hook_skipped"]
    assert "not run, trust: " in lately[0]["said"]
    assert lately[0]["at"] >= lately[1]["at"]
    assert "just now, before_tool: not run, trust: " in hookline(home, "why", "foreign").stdout
    assert "just now, before_tool: ran, pass" in hookline(home, "why", "guard").stdout


@pytest.mark.spec("D-19")
def test_hook_that_a_file_spells_but_nobody_loaded_is_explained(home: Path) -> None:
    done = hookline(home, "why", "unloaded")

    path = home / ".config/hookline/hookline.toml"
    assert done.returncode == 1
    assert "~/.config/hookline/hookline.toml:31 spells it, but no hook of that name was loaded" in done.stderr
    assert f'{path}:32: error: unknown event "before_tol"' in done.stderr


def test_hook_nobody_ever_heard_of_is_an_error_with_the_nearest_name(home: Path) -> None:
    done = hookline(home, "why", "gard")

    assert (done.returncode, done.stdout) == (1, "")
    assert 'did you mean "guard"' in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["guard", "--event", "befor_tool"], 'did you mean "before_tool"'),
        (["guard", "--data", "{"], "--data is no JSON"),
        (["guard", "--args", "[]"], "--args must be a JSON object"),
        (["sleeping", "--tool", "shell"], "session_start is no tool call"),
    ],
)
def test_wrong_call_is_explained(home: Path, arguments: list[str], says: str) -> None:
    done = hookline(home, "why", *arguments)

    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def test_hook_that_got_another_id_is_found_by_it(home: Path) -> None:
    path = home.parent / "project" / "hookline.toml"
    path.write_text(path.read_text() + '\n[[hook]]\nname = "guard"\non = "before_agent"\nrun = "python3 x.py"\n')

    done = hookline(home, "why", "guard-2")
    both = hookline(home, "list", "--json").stdout

    assert done.returncode == 0
    assert {hook["id"] for hook in json.loads(both)} >= {"guard", "guard-2"}
