"""What a person sees who types half a command, or none."""

import json
import tempfile
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

HOOK = '[[hook]]\nname = "guard"\non = "before_tool"\nrun = "true"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", HOOK)
    return tmp_path / "home"


def test_without_a_command_it_says_what_there_is_and_what_to_type_next(home: Path) -> None:
    (home / ".gemini").mkdir()
    before = hookline(home)
    hookline(home, "install", "claude-code", "--events", "before_tool")
    after = hookline(home)

    assert (before.returncode, before.stderr) == (0, "")
    assert "agents that ask the hooks: none yet" in before.stdout
    assert "agents that do not: Gemini CLI" in before.stdout
    assert "hookline install gemini-cli" in before.stdout
    assert "1 hook (guard)" in before.stdout
    assert "agents that ask the hooks: Claude Code" in after.stdout


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["trust"], ["trust", "list"]),
        (["queue"], ["queue", "list"]),
        (["trust", "--json"], ["trust", "list", "--json"]),
    ],
)
def test_a_command_without_an_action_does_the_usual_one(words: list[str], same: list[str], home: Path) -> None:
    short, whole = hookline(home, *words), hookline(home, *same)

    assert short.returncode == 0
    assert short.stdout == whole.stdout


def test_daemon_alone_says_whether_it_runs(home: Path) -> None:
    # a short folder, and no other test's: a daemon that another test has started there would be found
    with tempfile.TemporaryDirectory(prefix="hkl-") as runtime:
        assert "not running" in hookline(home, "daemon", XDG_RUNTIME_DIR=runtime).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "--jsn"], 'hookline list: unknown option "--jsn" (did you mean "--json"?)'),
        (
            ["trust", "approve", "x", "--yess"],
            'hookline trust approve: unknown option "--yess" (did you mean "--yes"?)',
        ),
        (
            ["install", "claude", "--dry-rum"],
            'hookline install: unknown option "--dry-rum" (did you mean "--dry-run"?)',
        ),
        (["list", "extra"], 'hookline list: unknown word "extra"'),
    ],
)
def test_an_unknown_option_shows_the_usage_of_its_own_command_and_the_nearest(
    words: list[str], said: str, home: Path
) -> None:
    done = hookline(home, *words)

    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.startswith(f"usage: {said.partition(':')[0]} ")


def test_half_an_option_is_not_completed(home: Path) -> None:
    assert hookline(home, "install", "claude", "--dry").returncode == 1
    assert not (home / ".claude").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show", "nope", "--json"], "config_error"),
        (["hosts", "show", "nope", "--json"], "config_error"),
        (["install", "nope", "--json"], "host_error"),
        (["list", "--json", "--nope"], "usage"),
        (["nope", "--json"], "usage"),
        (["list", "--json", "--dialect", "nope"], "usage"),
    ],
)
def test_an_error_is_json_for_whoever_asked_for_json(words: list[str], code: str, home: Path) -> None:
    done = hookline(home, *words)

    error = json.loads(done.stdout)["error"]
    assert done.returncode == 1
    assert sorted(error) == ["code", "hint", "message"]
    assert error["code"] == code
    assert "nope" in error["message"]


@pytest.mark.parametrize("words", [["list", "--dialect"], ["events", "--dialect"], ["hosts", "show"]])
@pytest.mark.parametrize(
    ("alias", "name"), [("claude", "claude-code"), ("codex", "codex-cli"), ("droid", "factory-droid")]
)
def test_short_names_of_agents_are_understood(words: list[str], alias: str, name: str, home: Path) -> None:
    short, whole = hookline(home, *words, alias), hookline(home, *words, name)

    assert short.returncode == 0
    assert short.stdout == whole.stdout


def test_an_unknown_dialect_gets_the_nearest(home: Path) -> None:
    assert '(did you mean "claude"?)' in hookline(home, "list", "--dialect", "clade").stderr


def test_all_agents_of_this_machine_are_installed_at_once(home: Path) -> None:
    for folder in (".claude", ".gemini"):
        (home / folder).mkdir()

    done = hookline(home, "install", "--all", "--json", PATH="/usr/bin:/bin")

    assert [host["host"] for host in json.loads(done.stdout)["hosts"]] == ["claude-code", "gemini-cli"]
    assert (home / ".gemini" / "settings.json").exists()
    assert not (home / ".codex").exists()
    assert hookline(home, "install", "--all", "claude").returncode == 1


def test_an_agent_that_is_not_here_is_installed_all_the_same_and_said(home: Path) -> None:
    done = hookline(home, "install", "codex", PATH="/usr/bin:/bin")

    assert done.returncode == 0
    assert "Codex CLI was not found on this machine" in done.stdout
    assert (home / ".codex" / "hooks.json").exists()
