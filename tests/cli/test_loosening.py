import subprocess
import sys
from pathlib import Path

import pytest

from hookline.cli._loosening import TOKEN
from tests.cli.program import configure, environment, hookline

GUARD = '[[hook]]\nid = "guard"\non = "before_tool"\nrun = ["sh", "guard.sh"]\non_error = "block"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    configure(made, GUARD, {"guard.sh": "exit 0\n"})
    (tmp_path / "project" / "hookline.toml").write_text(GUARD.replace("guard", "theirs"))
    (tmp_path / "project" / "theirs.sh").write_text("exit 0\n")
    return made


COMMANDS = [
    ("trust", "approve", "theirs", "--yes"),
    ("trust", "approve", "--all", "--yes"),
    ("trust", "import", "approvals.json"),
    ("trust", "revoke", "theirs"),
    ("trust", "token"),
    ("disable", "guard"),
    ("remove", "guard"),
    ("edit", "guard", "on_error=continue"),
    ("uninstall", "claude-code"),
    ("undo",),
    ("add", "--allow", "all is well", "--on", "before_tool"),
    ("add", "fine", "--on", "before_tool", "--set", "allow=yes"),
    ("install", "claude-code", "--if-broken", "allow"),
    ("install", "claude-code", "--if-broken=allow"),
    ("install", "claude-code", "--events", "Stop"),
    ("daemon", "stop"),
    ("trace", "prune", "--keep", "1"),
]


@pytest.mark.parametrize(
    "words",
    [
        ("add", "--deny", "not here", "--on", "before_tool", "--runs", "rm"),
        ("install",),
        ("install", "claude-code", "--dry-run"),
        ("install", "claude-code", "--dry-run", "--if-broken", "block"),
        ("install", "claude-code", "--dry-run", "--events", "+SessionStart"),
    ],
    ids=" ".join,
)
def test_command_that_only_tightens_may_come_from_an_agent(home: Path, words: tuple[str, ...]) -> None:
    done = hookline(home, *words, CLAUDECODE="1")

    assert done.returncode == 0, done.stderr


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("variable", ["CLAUDECODE", "GEMINI_CLI", "CODEX_SANDBOX", "CURSOR_AGENT", "QWEN_CODE"])
def test_command_that_loosens_is_refused_where_an_agent_runs_it(
    home: Path, words: tuple[str, ...], variable: str
) -> None:
    before = (home / ".config" / "hookline" / "hookline.toml").read_text()
    done = hookline(home, *words, **{variable: "1"})

    assert done.returncode == 1
    assert "is refused" in done.stderr
    assert "hookline trust token" in done.stderr
    assert (home / ".config" / "hookline" / "hookline.toml").read_text() == before
    assert "needs approval" in hookline(home, "list").stdout


def test_command_that_loosens_is_refused_below_the_program_of_an_agent(home: Path) -> None:
    agent = home / "bin" / "gemini"
    agent.parent.mkdir()
    agent.write_text(
        f"import subprocess, sys\nsys.exit(subprocess.run({[sys.executable, '-m', 'hookline']} + sys.argv[1:]).returncode)\n"
    )
    done = subprocess.run(
        [sys.executable, str(agent), "trust", "approve", "theirs", "--yes"],
        cwd=home.parent / "project",
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "Gemini CLI runs it" in done.stderr


def test_commands_that_tighten_or_show_are_left_to_agents(home: Path) -> None:
    for words in (("list",), ("check",), ("trust", "list"), ("trust", "show", "theirs"), ("enable", "guard")):
        assert "is refused" not in hookline(home, *words, CLAUDECODE="1").stderr


def test_person_without_an_agent_approves_without_a_terminal(home: Path) -> None:
    assert hookline(home, "trust", "approve", "theirs", "--yes").returncode == 0


def test_token_of_a_person_lets_an_agent_approve(home: Path) -> None:
    token = hookline(home, "trust", "token").stdout.strip().partition("=")[2]
    wrong = hookline(home, "trust", "approve", "theirs", "--yes", **{"CLAUDECODE": "1", TOKEN: "guess"})
    right = hookline(home, "trust", "approve", "theirs", "--yes", **{"CLAUDECODE": "1", TOKEN: token})

    assert (wrong.returncode, right.returncode) == (1, 0)
    kept = home / ".local" / "share" / "hookline" / "person-token.sha256"
    assert token not in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
