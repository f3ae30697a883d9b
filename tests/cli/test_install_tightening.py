import json
import re
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

pytestmark = pytest.mark.slow

GUARD = ("add", "--deny", "not here", "--on", "before_tool", "--runs", "rm")
RULE = '[[hook]]\nid = "no-rm"\non = "before_tool"\ndeny = "not here"\nruns = ["rm"]\n'
CALL = json.dumps(
    {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    configure(made, "")
    return made


def policies(home: Path, path: str = ".claude/settings.json") -> set[str]:
    return set(re.findall(r"--if-broken[', ]+(\w+)", (home / path).read_text()))


@pytest.mark.parametrize(
    ("agent", "path"), [("claude-code", ".claude/settings.json"), ("codex-cli", ".codex/hooks.json")]
)
def test_guard_added_after_the_installation_has_a_broken_hookline_block(home: Path, agent: str, path: str) -> None:
    hookline(home, "install", agent)
    assert policies(home, path) == {"allow"}

    said = hookline(home, *GUARD)

    assert said.returncode == 0, said.stderr
    assert "now blocks where Hookline cannot be run" in said.stdout
    assert policies(home, path) == {"block"}
    installed = (home / path).read_text()
    hookline(home, "install", agent)
    assert (home / path).read_text() == installed
    assert "ERROR" not in hookline(home, "doctor").stdout


def test_undo_takes_back_the_guard_and_not_what_followed_from_it(home: Path) -> None:
    hookline(home, "install", "claude-code")
    hookline(home, *GUARD)

    assert "added" in hookline(home, "undo").stdout
    assert [row["id"] for row in json.loads(hookline(home, "list", "--json").stdout)] == ["builtin:self-guard"]


@pytest.mark.parametrize("is_first", [True, False])
def test_allow_that_the_person_chose_stays(home: Path, is_first: bool) -> None:  # noqa: FBT001
    if not is_first:
        hookline(home, "install", "claude-code")
    hookline(home, "install", "claude-code", "--if-broken", "allow")
    hookline(home, *GUARD)

    assert policies(home) == {"allow"}
    told = hookline(home, "hook", "--if-broken", "allow", "claude-code", "PreToolUse", stdin=CALL)
    assert "up to date" not in told.stdout


def test_hook_that_fails_open_changes_no_entries(home: Path) -> None:
    hookline(home, "install", "claude-code")
    added = hookline(home, "add", "log", "--on", "after_tool", "--run", "sh -c true", "--on-error", "continue")

    assert added.returncode == 0, added.stderr
    assert policies(home) == {"allow"}


def test_guard_written_by_hand_blocks_and_is_announced_once(home: Path) -> None:
    hookline(home, "install", "claude-code")
    configure(home, RULE)
    call = ("hook", "--if-broken", "allow", "claude-code", "PreToolUse")

    assert "`hookline install claude-code` brings them up to date" in hookline(home, *call, stdin=CALL).stdout
    assert "up to date" not in hookline(home, *call, stdin=CALL).stdout
    unreadable = hookline(home, *call, stdin="{")
    assert "deny" in unreadable.stdout or unreadable.returncode == 2
    hookline(home, "install", "claude-code")
    assert policies(home) == {"block"}
