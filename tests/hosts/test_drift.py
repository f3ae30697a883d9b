"""Hooks in agents' settings that did not come by way of Hookline: `doctor` and `watch` report them."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline
from tests.cli.test_watch import come, watching

pytestmark = pytest.mark.slow

AGENTS = {
    "claude-code": (".claude/settings.json", "SessionStart", "PreToolUse"),
    "codex-cli": (".codex/hooks.json", "SessionStart", "PreToolUse"),
    "gemini-cli": (".gemini/settings.json", "SessionStart", "BeforeTool"),
}
MINE = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}]}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a home in which three agents have Hookline beside a hook of the user."""
    made = tmp_path / "home"
    configure(made, "")
    for file, _, _ in AGENTS.values():
        path = made / file
        path.parent.mkdir()
        path.write_text(json.dumps(MINE))
    for agent, (_, *events) in AGENTS.items():
        # `doctor` tries each entry, which takes a moment
        done = hookline(made, "install", agent, "--events", ",".join(events))
        assert done.returncode == 0, done.stderr
    return made


def plant(path: Path, event: str, command: str) -> None:
    document = json.loads(path.read_text())
    document["hooks"].setdefault(event, []).append({"hooks": [{"type": "command", "command": command}]})
    path.write_text(json.dumps(document))


def ask_doctor(home: Path) -> list[dict[str, str]]:
    findings = json.loads(hookline(home, "doctor", "--json").stdout)
    return [one for one in findings if one["area"] == "agents" and one["health"] != "ok"]


def drift(home: Path) -> list[str]:
    """Give what differs, from the command that does not try every entry."""
    hosts = json.loads(hookline(home, "hosts", "--json").stdout)
    return [f"{host['host']}: {text}" for host in hosts for text in host["problems"]]


def test_hook_that_nobody_added_by_way_of_hookline_is_reported_for_each_agent(home: Path) -> None:
    assert drift(home) == []
    for agent, (file, event, _) in AGENTS.items():
        plant(home / file, event, f"planted-{agent}")

    new = [one for one in ask_doctor(home) if "new hook" in one["text"]]
    assert [one["text"] for one in new] == [
        f"{agent}: {home / file} has a new hook at {event} since Hookline was installed: planted-{agent}"
        for agent, (file, event, _) in AGENTS.items()
    ]
    assert all("`hookline doctor --accept " in one["advice"] for one in new)


def test_changed_and_removed_hooks_are_reported(home: Path) -> None:
    claude, gemini = (home / AGENTS[agent][0] for agent in ("claude-code", "gemini-cli"))
    claude.write_text(claude.read_text().replace("notify-send done", "curl evil"))
    document = json.loads(gemini.read_text())
    document["hooks"]["Stop"] = []
    gemini.write_text(json.dumps(document))

    texts = [text.partition(";")[0] for text in drift(home)]
    changed = f"{claude} has a changed hook at Stop since Hookline was installed: curl evil (was notify-send done)"
    assert f"claude-code: {changed}" in texts
    assert f"gemini-cli: {gemini} has lost a hook at Stop since Hookline was installed: notify-send done" in texts


def test_narrowed_matcher_is_a_change(home: Path) -> None:
    path = home / AGENTS["claude-code"][0]
    document = json.loads(path.read_text())
    next(group for group in document["hooks"]["Stop"] if "notify" in json.dumps(group))["matcher"] = "Nothing"
    path.write_text(json.dumps(document))

    assert ["(other options)" in text for text in drift(home)] == [True]


@pytest.mark.parametrize("agent", AGENTS)
def test_removed_entry_of_ours_is_an_error_that_install_mends(home: Path, agent: str) -> None:
    file, _, event = AGENTS[agent]
    document = json.loads((home / file).read_text())
    del document["hooks"][event]
    (home / file).write_text(json.dumps(document))

    (found,) = drift(home)
    assert f"has no entry of ours at {event} any more" in found
    assert f"`hookline install {agent}` puts it back" in found
    assert hookline(home, "install", agent).returncode == 0
    assert drift(home) == []


def test_settings_that_cannot_be_read_any_more_are_reported(home: Path) -> None:
    (home / ".gemini/settings.json").write_text("{ broken")

    (found,) = [one for one in ask_doctor(home) if "gemini-cli: " in one["text"]]
    assert found["text"].startswith(f"gemini-cli: {home}/.gemini/settings.json: ")


def test_installing_again_does_not_hide_what_was_planted(home: Path) -> None:
    plant(home / AGENTS["claude-code"][0], "SessionStart", "planted")
    again = hookline(home, "install", "claude-code")

    assert "has a new hook at SessionStart" in again.stdout
    assert ["planted" in text for text in drift(home)] == [True]


def test_what_the_user_accepts_is_not_reported_again(home: Path) -> None:
    path = home / AGENTS["claude-code"][0]
    plant(path, "SessionStart", "mine")
    done = hookline(home, "doctor", "--accept", "claude")

    assert done.returncode == 0
    assert "1 change in the settings of Claude Code accepted" in done.stdout
    assert drift(home) == []
    plant(path, "SessionStart", "another")
    assert ["another" in text for text in drift(home)] == [True]
    hookline(home, "undo")
    assert len(drift(home)) == 2


def test_agent_does_not_accept_what_it_planted(home: Path) -> None:
    plant(home / AGENTS["claude-code"][0], "SessionStart", "planted")
    done = hookline(home, "doctor", "--accept", "claude-code", CLAUDECODE="1")

    assert done.returncode == 1
    assert "is refused" in done.stderr
    assert drift(home)


@pytest.mark.parametrize(
    ("agent", "told"), [("nobody", 'there is no agent "nobody"'), ("windsurf", "Hookline is not installed in Windsurf")]
)
def test_accepting_for_an_agent_that_is_not_there_is_told(home: Path, agent: str, told: str) -> None:
    done = hookline(home, "doctor", "--accept", agent)

    assert told in done.stdout + done.stderr


def test_what_a_command_of_hookline_changes_is_not_reported(home: Path) -> None:
    removed = hookline(home, "remove", "claude-code-user:Stop:1")
    assert removed.returncode == 0, removed.stderr

    assert drift(home) == []


def test_hook_in_another_file_that_the_agent_reads_is_reported(home: Path) -> None:
    with (home / ".codex/config.toml").open("a") as file:
        file.write('\n[[hooks.SessionStart]]\n[[hooks.SessionStart.hooks]]\ntype = "command"\ncommand = "planted"\n')

    (found,) = drift(home)
    assert "config.toml has a new hook at SessionStart" in found


def test_watch_notices_the_change_while_it_runs(home: Path) -> None:
    with watching(home) as program:
        for agent, (file, event, _) in AGENTS.items():
            plant(home / file, event, f"planted-{agent}")
        come(lambda: all(f"planted-{agent}; " in program.err for agent in AGENTS))
        document = json.loads((home / ".claude/settings.json").read_text())
        del document["hooks"]["PreToolUse"]
        (home / ".claude/settings.json").write_text(json.dumps(document))
        come(lambda: "has no entry of ours at PreToolUse any more" in program.err)
        assert program.err.count("planted-claude-code") == 1


def test_watch_reports_it_as_json(home: Path) -> None:
    plant(home / ".gemini/settings.json", "SessionStart", "planted")
    with watching(home, "--json", until="planted") as program:
        (found,) = [line for line in program.lines() if line["type"] == "settings"]

    assert found["agent"] == "gemini-cli"
    assert "has a new hook at SessionStart" in str(found["text"])
    assert "--accept gemini-cli" in str(found["fix"])
