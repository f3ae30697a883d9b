"""Agents that run the settings of others: answered in their own words, and once."""

import json
import sys
from pathlib import Path

import pytest

from hookline.bridge.coverage_check import calls_directly
from hookline.dialects import DIALECTS
from hookline.hosts.command_line import command_line
from hookline.user_dirs import find_user_dirs
from tests.bridge.agents import GUARD, Person, document, is_neutral, is_refused

# what these agents say at `PreToolUse` of a file that is Claude Code's
CURSOR: dict[str, object] = {
    "conversation_id": "c1",
    "generation_id": "g1",
    "model": "auto",
    "hook_event_name": "preToolUse",
    "cursor_version": "2.6.0",
    "workspace_roots": ["PROJECT"],
    "user_email": None,
    "transcript_path": None,
    "tool_name": "Shell",
    "tool_input": {"command": "rm -rf /"},
    "tool_use_id": "t1",
    "cwd": "PROJECT",
}
COPILOT: dict[str, object] = {
    "sessionId": "s1",
    "timestamp": 1794769914784,
    "cwd": "PROJECT",
    "toolName": "bash",
    "toolArgs": '{"command": "rm -rf /"}',
}


def _raw(payload: dict[str, object], person: Person) -> bytes:
    return json.dumps(payload).replace("PROJECT", str(person.project)).encode()


def _install(host: str, path: Path, event: str) -> None:
    command = command_line(host, event, python=sys.executable, policy="block")
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = {"type": "command", "command": command} if host == "cursor" else {"type": "command", "bash": command}
    path.write_text(json.dumps({"version": 1, "hooks": {event: [entry]}}))


@pytest.mark.parametrize(("host", "payload"), [("cursor", CURSOR), ("copilot-cli", COPILOT)])
def test_who_reads_the_file_of_another_is_answered_in_its_own_words(
    person: Person, host: str, payload: dict[str, object]
) -> None:
    person.configure(GUARD)
    answer = person.ask("claude-code", raw=_raw(payload, person))
    assert is_refused(host, answer)
    assert "hookSpecificOutput" not in document(answer)


@pytest.mark.parametrize(
    ("host", "payload", "event", "file"),
    [
        ("cursor", CURSOR, "preToolUse", ".cursor/hooks.json"),
        ("copilot-cli", COPILOT, "preToolUse", ".copilot/hooks/hookline.json"),
    ],
)
def test_who_asks_us_by_itself_is_not_answered_twice(
    person: Person, host: str, payload: dict[str, object], event: str, file: str
) -> None:
    person.configure(GUARD)
    _install(host, person.home / file, event)
    raw = _raw(payload, person)
    assert is_neutral(host, person.ask("claude-code", raw=raw))
    # nothing of it was counted, or written down
    assert list((person.data / "sessions").glob("*")) == []
    # through its own file it is
    assert is_refused(host, person.ask(host, raw=raw))
    assert len(list((person.data / "sessions").glob("*.calls"))) == 1


def test_a_guess_at_who_calls_keeps_no_guard_from_being_asked(person: Person) -> None:
    # nobody knows Qwen Code to run the settings of Claude Code: a field more of the latter must not look like the former
    person.configure(GUARD)
    _install("qwen-code", person.home / ".qwen" / "settings.json", "PreToolUse")
    payload: dict[str, object] = {
        "session_id": "s1",
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
        "timestamp": "2026-11-16T05:00:00Z",
        "cwd": "PROJECT",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /"},
    }
    assert b"deny" in person.ask("claude-code", raw=_raw(payload, person)).stdout


def test_a_project_cannot_make_us_believe_that_somebody_else_answers(person: Person) -> None:
    person.configure(GUARD)
    _install("cursor", person.project / ".cursor" / "hooks.json", "preToolUse")
    assert is_refused("cursor", person.ask("claude-code", raw=_raw(CURSOR, person)))


def test_entries_of_another_python_do_not_count(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    _install("cursor", person.home / ".cursor" / "hooks.json", "preToolUse")

    def asks() -> bool:
        folders = find_user_dirs(person.project)
        return calls_directly("cursor", "preToolUse", folders=folders, project=person.project, environ={})

    assert asks()
    monkeypatch.setattr(sys, "executable", "/usr/bin/other")
    assert not asks()


def test_settings_that_cannot_be_read_answer_nobody(person: Person) -> None:
    path = person.home / ".cursor" / "hooks.json"
    path.parent.mkdir()
    path.write_text("{")
    folders = find_user_dirs(person.project)
    assert not calls_directly("cursor", "preToolUse", folders=folders, project=person.project, environ={})
    assert not calls_directly("nobody", "preToolUse", folders=folders, project=person.project, environ={})


def test_an_agent_nobody_knows_is_answered_as_it_was_told_to_speak(person: Person) -> None:
    person.configure(GUARD)
    raw = json.loads(person.said(DIALECTS["claude-code"], person.event(command="rm -rf /"))[0])
    odd = {**raw, "hook_event_name": "PreToolUse", "timestamp": 17, "hookEventName": "PreToolUse"}
    assert is_refused("claude-code", person.ask("claude-code", raw=json.dumps(odd).encode()))
