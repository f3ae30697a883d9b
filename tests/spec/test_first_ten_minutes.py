"""A new user's first ten minutes with Claude Code: connect it, write one rule, see it block, see why, take it all back."""

import json
from pathlib import Path

import pytest

from tests.cli.program import hookline

pytestmark = pytest.mark.slow

SETTINGS = '{\n    "model": "opus",\n\t"permissions": {"allow": ["Bash(git status)"]}\n}'
RULE = ("add", "no-force-push", "--deny", "no force push: ask a person first", "--runs", "git push --force")
PAYLOAD = Path(__file__).parent.parent / "dialects" / "payloads" / "claude" / "PreToolUse.Bash.json"


def call(home: Path, command: str) -> dict[str, object]:
    """Have Claude Code ask about a command, in a payload that it sent, through the entry in its settings."""
    payload = json.loads(PAYLOAD.read_text())
    payload |= {"cwd": str(home.parent / "project"), "tool_name": "Bash", "tool_input": {"command": command}}
    done = hookline(home, "hook", "claude-code", "PreToolUse", stdin=json.dumps(payload))
    answer: dict[str, object] = json.loads(done.stdout or "{}").get("hookSpecificOutput", {})
    return answer


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a fresh home with settings of the person, and a project."""
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text(SETTINGS)
    (tmp_path / "project").mkdir()
    return home


@pytest.mark.spec("U-23")
def test_a_newcomer_guards_claude_code_sees_why_and_takes_everything_back(home: Path) -> None:
    before = {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}

    overview = hookline(home)
    assert "hookline install claude-code" in overview.stdout

    installed = hookline(home, "install", "claude-code")
    assert installed.returncode == 0, installed.stdout + installed.stderr
    assert "Claude Code asks the hooks at" in installed.stdout

    added = hookline(home, *RULE)
    assert added.returncode == 0, added.stdout + added.stderr

    for forced in ("git push --force", "git push -f origin main", "cd x && git push origin main --force"):
        answer = call(home, forced)
        assert answer.get("permissionDecision") == "deny", forced
        assert "no force push: ask a person first" in str(answer.get("permissionDecisionReason")), forced

    why = hookline(
        home, "why", "no-force-push", "--host", "claude", "--tool", "Bash", "--args", '{"command": "git push -f"}'
    )
    assert why.returncode == 0, why.stderr
    assert "It would" in why.stdout
    assert "It would not" not in why.stdout

    doctor = hookline(home, "doctor", "--json")
    assert doctor.returncode == 0, doctor.stdout
    assert [one["health"] for one in json.loads(doctor.stdout) if one["area"] == "agents"] == ["ok"]

    assert hookline(home, "remove", "no-force-push").returncode == 0
    assert hookline(home, "uninstall", "claude-code").returncode == 0
    after = {str(path): path.read_bytes() for path in (home / ".claude").rglob("*") if path.is_file()}
    assert after == before


@pytest.mark.spec("U-23")
@pytest.mark.parametrize("usual", ["git status", "git push", "make test", "pytest -q"])
def test_the_first_rule_stops_only_what_it_names(usual: str, home: Path) -> None:
    hookline(home, *RULE)

    assert call(home, usual).get("permissionDecision") != "deny"
