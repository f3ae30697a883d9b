"""What a hook does when the effects of a call cannot be known: skip, match or confirm."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hookline import Engine
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Unknown
from hookline.model.verdict import Decision

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.spec("U-03")

UNKNOWN = ("make test", "npm test", "python3 x.py", "git $SUB", "./run", "$CMD")
KNOWN = (
    "git status",
    "git commit -m x",
    "git push",
    "ls",
    "echo $HOME",
    "for i in 1 2; do echo $i; done",
    "cat a | head",
)


def asked(engine: Engine, command: str) -> Decision:
    return engine.emit_sync("before_tool", tool="shell", args={"command": command}).decision


def test_constant_answer_is_skipped_and_a_program_is_asked() -> None:
    assert Hook(id="a", deny="no").on_unknown is Unknown.SKIP
    assert Hook(id="a", tell="x").on_unknown is Unknown.SKIP
    assert Hook(id="a", command="x").on_unknown is Unknown.MATCH
    assert Hook(id="a", url="https://a.b").on_unknown is Unknown.MATCH
    assert Hook(id="a", command="x", unknown=Unknown.SKIP).on_unknown is Unknown.SKIP


def test_rule_stops_what_it_names_and_nothing_else() -> None:
    engine = Engine()
    engine.rule("no-force", on="before_tool", runs="git push --force", deny="no")

    assert [command for command in (*UNKNOWN, *KNOWN) if asked(engine, command) is not Decision.PASS] == []
    assert asked(engine, "sudo git -C x push -uf") is Decision.DENY


def test_function_is_asked_about_what_cannot_be_known() -> None:
    engine = Engine()
    heard: list[str] = []

    @engine.on("before_tool", runs="git push --force")
    def guard(payload: object) -> None:
        heard.append(str(payload))

    for command in KNOWN:
        asked(engine, command)
    assert heard == []
    for command in UNKNOWN:
        asked(engine, command)
    assert len(heard) == len(UNKNOWN)


def test_confirm_asks_the_user_in_place_of_the_action() -> None:
    questions: list[str] = []

    def answer(request: object) -> bool:
        questions.append(str(getattr(request, "reason", request)))
        return False

    engine = Engine(ask=answer)
    engine.rule("no-force", on="before_tool", runs="git push --force", deny="never", unknown="confirm")

    assert asked(engine, "git status") is Decision.PASS
    assert asked(engine, "git push -f") is Decision.DENY
    assert questions == []
    assert asked(engine, "make test") is Decision.DENY
    assert "no-force" in questions[0]
    assert "cannot be known" in questions[0]


def test_match_makes_a_rule_stop_everything_that_cannot_be_known() -> None:
    engine = Engine()
    engine.rule("strict", on="before_tool", runs="git push --force", deny="no", unknown="match")

    assert [command for command in UNKNOWN if asked(engine, command) is not Decision.DENY] == []
    assert [command for command in KNOWN if asked(engine, command) is not Decision.PASS] == []


def test_tools_that_are_not_known_do_not_trip_a_rule_unless_they_name_the_file() -> None:
    engine = Engine(cwd="/p")
    engine.rule("keep", on="before_tool", writes=[".env"], deny="no")

    def call(tool: str, **args: object) -> Decision:
        return engine.emit_sync("before_tool", tool=tool, args=args).decision

    assert call("mcp__db__query", sql="select 1") is Decision.PASS
    assert call("subagent", prompt="do it") is Decision.PASS
    assert call("write_file", path="a.txt") is Decision.PASS
    assert call("write_file", path=".env") is Decision.DENY
    assert call("mcp__fs__write", path="/p/.env") is Decision.DENY
    assert call("mcp__fs__write", file={"uri": "file:///p/.env"}) is Decision.DENY
    assert (
        call("apply_patch", patch="*** Begin Patch\n*** Update File: .env\n@@\n-a\n+b\n*** End Patch") is Decision.DENY
    )


@pytest.mark.parametrize(
    "padding",
    ["echo a; " * 9000, "true # " + "x" * 1_100_000 + "\n", "env " * 60, "eval " * 40, "( " * 200, "echo $(" * 60],
    ids=["many", "long", "wrappers", "evals", "subshells", "substitutions"],
)
def test_padding_does_not_hide_a_command(padding: str) -> None:
    engine = Engine()
    engine.rule("no-force", on="before_tool", runs="git push --force", deny="no")

    assert asked(engine, padding + "git push --force") is Decision.DENY


def test_a_wrong_value_is_an_error() -> None:
    with pytest.raises((ValueError, ConfigError, TypeError)):
        Engine().rule("x", on="before_tool", runs="a", deny="no", unknown="maybe")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".config" / "hookline").mkdir(parents=True)
    project.mkdir()

    def hookline(*words: str, rules: str = "") -> subprocess.CompletedProcess[str]:
        if rules:
            (home / ".config" / "hookline" / "hookline.toml").write_text(rules, "utf-8")
        env = {"HOME": str(home), "PATH": os.environ["PATH"]}
        return subprocess.run(
            [sys.executable, "-m", "hookline", *words],
            cwd=project,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    return hookline


RULES = """
[[hook]]
name = "no-force"
on = "before_tool"
runs = ["git push --force"]
deny = "no force pushes"
"""


def test_why_says_which_of_the_three_answers_it_was(run: Run) -> None:
    def why(command: str) -> str:
        args = json.dumps({"command": command})
        return str(
            run("why", "no-force", "--event", "before_tool", "--tool", "shell", "--args", args, rules=RULES).stdout
        )

    assert "match 'git push -f'" in why("git push -f")
    assert 'unknown = "skip"' in why("make")
    assert "do not match" in why("git status")


def test_the_trace_says_that_a_rule_was_left_out_because_nothing_can_be_known(run: Run) -> None:
    rules = RULES + '\n[[hook]]\nname = "note"\non = "before_tool"\ntell = "seen"\n'
    run("emit", "before_tool", "--tool", "shell", "--args", '{"command": "make"}', rules=rules)

    assert "unknown: it cannot be known which commands shell runs" in run("trace", "export").stdout


def test_add_writes_the_key(run: Run) -> None:
    done = run(
        "add",
        "strict",
        "--on",
        "before_tool",
        "--runs",
        "npm publish",
        "--deny",
        "no",
        "--unknown",
        "confirm",
        rules=RULES,
    )

    assert done.returncode == 0, done.stderr
    assert '"unknown":"confirm"' in run("show", "strict", "--json").stdout.replace(" ", "")


def test_check_names_a_wrong_value(run: Run) -> None:
    shown = run("check", rules=RULES + 'unknown = "maybe"\n')

    assert 'wanted "skip", "match" or "confirm"' in shown.stdout + shown.stderr
