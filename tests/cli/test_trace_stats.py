import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

SLEEPER = """
import json, time
event = json.loads(input())
if event["args"]["command"] == "wait":
    time.sleep(0.1)
if event["args"]["command"] == "rm":
    print(json.dumps({"decision": "deny"}))
"""
CONFIG = """
[[hook]]
name = "sleeper"
on = "before_tool"
run = "python3 sleeper.py"

[[hook]]
name = "gone"
on = "before_tool"
run = "/no/such/program"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG, {"sleeper.py": SLEEPER})
    return tmp_path / "home"


def emit(home: Path, command: str) -> None:
    hookline(home, "emit", "before_tool", "--tool", "shell", "--args", json.dumps({"command": command}))


@pytest.mark.spec("D-15")
def test_runs_failures_blocks_and_times_of_each_hook_are_counted(home: Path) -> None:
    for command in ("ls", "rm", "wait"):
        emit(home, command)

    figures = json.loads(hookline(home, "stats", "--json").stdout)
    hooks = {one["id"]: one for one in figures["hooks"]}

    assert (hooks["sleeper"]["runs"], hooks["sleeper"]["denials"], hooks["sleeper"]["success_rate"]) == (3, 1, 1.0)
    assert hooks["sleeper"]["longest"] >= 0.1
    assert (hooks["gone"]["failures"], hooks["gone"]["success_rate"]) == ({"not_found": 3}, 0.0)
    assert "does not exist" in hooks["gone"]["last_error"]
    assert figures["events"] == {"before_tool": 6}


def test_slow_hooks_are_pointed_out_with_what_to_do(home: Path) -> None:
    emit(home, "wait")

    told = hookline(home, "stats", "--slow", "50ms").stdout

    assert 'hook "sleeper" is slow' in told
    assert "shorter `timeout`" in told
    assert 'hook "gone" failed once (not_found 1)' in told
    assert "is slow" not in hookline(home, "stats", "--slow", "60000").stdout


def test_figures_can_be_narrowed(home: Path) -> None:
    emit(home, "ls")

    only = json.loads(hookline(home, "stats", "--hook", "sleeper", "--json").stdout)

    assert [one["id"] for one in only["hooks"]] == ["sleeper"]
    assert json.loads(hookline(home, "stats", "--since", "2999-01-01", "--json").stdout)["hooks"] == []


def test_nothing_ran_yet_is_no_error(home: Path) -> None:
    assert (hookline(home, "stats").returncode, hookline(home, "stats").stdout) == (0, "no hook ran yet\n")


def test_wrong_limit_is_refused(home: Path) -> None:
    assert '"-1" is no number of milliseconds above 0' in hookline(home, "stats", "--slow=-1").stderr
