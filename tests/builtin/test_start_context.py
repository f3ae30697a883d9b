"""What the model is told when a session begins: once, without what the agent reads itself, and nothing from elsewhere."""

import json
from pathlib import Path

import pytest

from tests.builtin.machine import Machine

pytestmark = pytest.mark.spec("C-19")


def _start(machine: Machine, agent: str = "claude-code") -> str:
    answer = machine.call(agent, "SessionStart.startup" if agent == "claude-code" else "SessionStart")
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def _write(machine: Machine, **files: str) -> None:
    for name, text in files.items():
        (machine.project / f"{name}.md").write_text(text)


@pytest.mark.parametrize(
    ("agent", "claude", "is_told"),
    [
        ("claude-code", "our rules", True),
        ("claude-code", "see @AGENTS.md for the rest", False),
        ("codex-cli", "our rules", False),
    ],
)
def test_file_that_the_agent_reads_is_not_told_again(
    machine: Machine, agent: str, claude: str, *, is_told: bool
) -> None:
    machine.switch_on("context-files")
    _write(machine, CLAUDE=claude, AGENTS="use tabs")

    assert ("use tabs" in _start(machine, agent)) is is_told


def test_link_to_the_file_that_the_agent_reads_is_the_same_file(machine: Machine) -> None:
    machine.switch_on("context-files")
    _write(machine, CLAUDE="use tabs")
    (machine.project / "AGENTS.md").symlink_to("CLAUDE.md")

    assert _start(machine) == ""


def test_link_that_leads_out_of_the_project_is_not_followed(machine: Machine) -> None:
    machine.switch_on("context-files")
    (machine.home / "secret").write_text("the user's own")
    (machine.project / "OLLAMA.md").symlink_to(machine.home / "secret")

    assert _start(machine) == ""


def test_secrets_are_masked_and_a_long_file_is_cut_and_fenced(machine: Machine) -> None:
    machine.switch_on("context-files", options='[builtin.context-files]\nmax_size = "1KB"\n')
    _write(machine, OLLAMA="password: hunter2!\n" + "line\n" * 1000)

    told = _start(machine)

    assert "hunter2" not in told
    assert "the file goes on" in told
    assert "is from OLLAMA.md, not from the user" in told
    assert len(told) < 2000


def test_session_that_was_set_up_is_told_once(machine: Machine) -> None:
    machine.switch_on("context-files")
    _write(machine, OLLAMA="use tabs")

    def raise_event(name: str, session: str) -> bool:
        payload = {"hook": name, "session_id": session, "data": {"trigger": "init", "source": "startup"}}
        done = machine.run("emit", name, "--dialect", "ollama-cli", "--data", json.dumps(payload))
        return "use tabs" in done.stdout

    assert [raise_event("Setup", "a"), raise_event("SessionStart", "a")] == [True, False]
    assert raise_event("SessionStart", "b")
    # after a compaction the model has forgotten it
    assert raise_event("SessionStart", "a")


def test_repository_that_could_have_git_run_a_program_is_left_alone(machine: Machine) -> None:
    machine.switch_on("git-status")
    machine.git("init", "-q")
    ran = machine.home / "ran"
    machine.git("config", "core.fsmonitor", f"touch {ran}; false")

    assert _start(machine) == ""
    assert not ran.exists()


def test_program_of_the_project_is_not_taken_for_git(machine: Machine) -> None:
    machine.switch_on("git-status")
    machine.git("init", "-q")
    ran = machine.home / "ran"
    theirs = machine.project / "bin" / "git"
    theirs.parent.mkdir()
    theirs.write_text(f"#!/bin/sh\ntouch {ran}\n")
    theirs.chmod(0o755)
    machine.bin = theirs.parent

    assert "?? bin/" in _start(machine)
    assert not ran.exists()


def test_folder_that_is_no_repository_says_nothing(machine: Machine) -> None:
    machine.switch_on("git-status", "context-files")
    assert _start(machine) == ""


def test_many_changed_files_are_counted(machine: Machine) -> None:
    machine.switch_on("git-status")
    machine.git("init", "-q")
    for number in range(100):
        Path(machine.project, f"file{number}").write_text("")

    assert "… and 41 more lines" in _start(machine)
