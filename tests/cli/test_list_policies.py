"""Keys that say when, how often and in which way a hook runs, as commands show them."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

CONFIG = """
[[hook]]
id = "all"
on = "before_tool"
steps = ["seldom", "later", "picky"]

[[hook]]
id = "seldom"
on = "user_triggered"
run = "python3 say.py"
per_minute = 1
cooldown = "90s"
breaker = 1
retry_after = "2h"
needs = { tools = ["python3"], env = ["HOME"] }
cache = { for = "10m", by = ["args.command"] }

[[hook]]
id = "later"
on = ["user_triggered", "after_tool"]
run = "python3 say.py"
background = true
debounce = "5s"

[[hook]]
id = "picky"
on = ["user_triggered", "before_tool"]
if = 'args.command.contains("--force")'
run = "python3 say.py"

[[hook]]
id = "nightly"
schedule = "30 2 * * *"
raise = "custom:night"

[[hook]]
id = "listener"
on = "custom:night"
run = "python3 say.py"
once = true
background = true
"""
SAY = """
import json, pathlib

with pathlib.Path("said").open("a") as file:
    file.write("x")
print(json.dumps({"message": "done"}))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG, {"say.py": SAY})
    return tmp_path / "home"


def shown(home: Path, *arguments: str) -> object:
    done = hookline(home, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_programs_get_each_key_in_a_shape_that_stays(home: Path) -> None:
    listed = shown(home, "list")
    assert isinstance(listed, list)
    by_id = {hook["id"]: hook for hook in listed}

    seldom, nightly = by_id["seldom"], by_id["nightly"]

    assert seldom["per_minute"] == 1
    assert (seldom["cooldown"], seldom["breaker"], seldom["retry_after"]) == (90, 1, 7200)
    assert seldom["needs"] == {"tools": ["python3"], "files": [], "services": [], "env": ["HOME"], "answers": []}
    assert seldom["cache"] == {"for": 600, "by": ["args.command"], "files": [], "env": []}
    assert (by_id["later"]["background"], by_id["later"]["debounce"]) == (True, 5)
    assert by_id["all"]["steps"] == ["seldom", "later", "picky"]
    assert (nightly["schedule"], nightly["raise"], nightly["if"]) == ("30 2 * * *", "custom:night", None)
    assert {frozenset(hook) for hook in listed} == {frozenset(seldom)}


@pytest.mark.parametrize(
    ("hook", "lines"),
    [
        (
            "seldom",
            [
                "  per_minute  at most 1 run in any minute",
                "  cooldown    not within 90 s of its last run",
                "  breaker     pauses for 2 h after each failure",
                "  needs       tools python3; env HOME",
                "  cache       an answer holds for 10 min; by args.command",
            ],
        ),
        (
            "later",
            [
                "  debounce    after 5 s without another event about the same thing",
                "  background  from the queue, and nobody waits for it",
            ],
        ),
        ("picky", ['  if        args.command.contains("--force")']),
        ("nightly", ["  schedule  30 2 * * *"]),
        ("all", ["  timeout   each step has its own"]),
    ],
)
def test_people_read_each_key_in_words(home: Path, hook: str, lines: list[str]) -> None:
    text = hookline(home, "show", hook).stdout.splitlines()

    assert [line for line in lines if line not in text] == []


def test_table_says_what_narrows_a_hook_down(home: Path) -> None:
    rows = {line.split()[1]: line for line in hookline(home, "list").stdout.splitlines() if "  " in line}

    assert "  30 2 * * *  " in rows["nightly"]
    assert "  if args.command.contain…  " in rows["picky"]
    assert "  *  " in rows["seldom"]


def test_time_of_a_list_is_null_for_programs(home: Path) -> None:
    document = shown(home, "show", "all")
    assert isinstance(document, dict)

    assert document["timeout"] == {"seconds": None, "from": "each step"}


def test_reasons_of_the_steps_are_told_with_the_list(home: Path) -> None:
    text = hookline(home, "why", "all", "--tool", "shell", "--args", '{"command": "ls"}').stdout
    document = shown(home, "why", "all", "--tool", "shell", "--args", '{"command": "ls"}')

    assert "  yes  step seldom: python3 " in text
    assert '  NO   step picky: if `args.command.contains("--force")` is false' in text
    assert isinstance(document, dict)
    assert [(step["id"], step["runs"]) for step in document["events"][0]["steps"]] == [
        ("seldom", True),
        ("later", True),
        ("picky", False),
    ]


def test_hook_for_the_background_would_be_put_into_the_queue(home: Path) -> None:
    assert "It would be put into the queue, as number 1 of 1." in hookline(home, "why", "later").stdout


def test_gates_stand_in_columns(home: Path) -> None:
    lines = hookline(home, "why", "picky").stdout.splitlines()
    gates = [line for line in lines if line.startswith(("  yes  ", "  NO   "))]

    assert len({len(line) - len(line[7:].split(maxsplit=1)[1]) for line in gates}) == 1


def test_try_of_a_list_uses_up_no_limit_and_leaves_no_job(home: Path) -> None:
    for _ in range(2):
        tried = shown(home, "test", "all", "--no-input")
        assert isinstance(tried, dict)
        assert [one["value"] for one in tried["effects"]] == ["done", "done"]

    limits = shown(home, "limits", "seldom")
    jobs = shown(home, "queue", "list", "--all")

    assert isinstance(limits, dict)
    assert all(one["passed"] for one in limits["limits"])
    assert isinstance(jobs, dict)
    assert jobs["jobs"] == []


def test_try_of_a_raised_event_leaves_no_job(home: Path) -> None:
    tried = shown(home, "test", "nightly", "--no-input")
    jobs = shown(home, "queue", "list", "--all")

    assert isinstance(tried, dict)
    assert (tried["ran"], tried["failure"]) == (True, None)
    assert tried["event"]["data"]["schedule"] == "30 2 * * *"
    assert isinstance(jobs, dict)
    assert jobs["jobs"] == []


def test_try_says_what_a_condition_would_have_said(home: Path) -> None:
    tried = shown(home, "test", "picky", "--event", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')

    assert isinstance(tried, dict)
    assert tried["ran"] is True
    assert any("is false" in reason for reason in tried["would_not_run"])
