"""Who wrote a document: agents run each other's settings, and the command line then names the wrong one."""

import json
from pathlib import Path

import pytest

from hookline.dialects import DIALECTS, detect_agent
from hookline.errors import DialectError
from hookline.model.dialect import FILE_READERS
from tests.helpers.each import each

FILES = sorted((Path(__file__).parent / "payloads").glob("*/*.json"))
BY_WORD = {word: name for name, dialect in DIALECTS.items() for word in (name, *dialect.SPEC.aliases)}

every_payload = each("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")

CLAUDE: dict[str, object] = {
    "session_id": "1",
    "transcript_path": "/home/me/.claude/projects/x/1.jsonl",
    "cwd": "/project",
    "hook_event_name": "PreToolUse",
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
}


READERS = {name for name, dialect in DIALECTS.items() if "claude-code" in dialect.SPEC.runs_files_of}


@every_payload
def test_nobody_is_taken_for_another_who_is_named_rightly(file: Path) -> None:
    agent = BY_WORD[file.parent.name]

    assert detect_agent(json.loads(file.read_bytes()), named=agent) is None


@every_payload
def test_an_agent_that_runs_files_of_claude_code_is_seen_and_no_other(file: Path) -> None:
    agent = BY_WORD[file.parent.name]

    assert detect_agent(json.loads(file.read_bytes()), named="claude-code") == (agent if agent in READERS else None)


def test_every_agent_that_runs_files_of_another_has_a_signature() -> None:
    having = {name for name, dialect in DIALECTS.items() if dialect.SPEC.signature is not None}
    listed = {(reader, agent) for agent, readers in FILE_READERS.items() for reader in readers}

    assert listed == {(name, agent) for name, dialect in DIALECTS.items() for agent in dialect.SPEC.runs_files_of}
    assert having == {reader for reader, _ in listed}


STRANGERS: dict[str, dict[str, object]] = {
    "OpenHands": {"event_type": "PreToolUse", "working_dir": "/project", "tool_name": "terminal"},
    "Goose": {"event": "PreToolUse", "session_id": "1", "matcher_context": "shell"},
    "Crush": {"event": "PreToolUse", "session_id": "1", "tool_name": "bash"},
    "Grok": {"hookEventName": "pre_tool_use", "sessionId": "1", "toolName": "run_terminal_command"},
    "VS Code": {"hookEventName": "PreToolUse", "sessionId": "1", "timestamp": "2026-01-01T00:00:00.000Z"},
    "VS Code in snake case": {
        **CLAUDE,
        "permission_mode": None,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "tool_name": "run_in_terminal",
    },
    "Augment": {"hook_event_name": "PreToolUse", "conversation_id": "1", "workspace_roots": ["/project"]},
    "Devin": {"hook_event_name": "PreToolUse", "prompt_id": "1", "session_id": "1", "tool_name": "exec"},
}
del STRANGERS["VS Code in snake case"]["permission_mode"]


@pytest.mark.parametrize("document", STRANGERS.values(), ids=list(STRANGERS))
def test_agents_without_a_dialect_are_answered_as_the_one_that_is_named(document: dict[str, object]) -> None:
    assert detect_agent(document, named="claude-code") is None


OLD_CURSOR = {"hook_event_name": "beforeShellExecution", "conversation_id": "1", "command": "ls"}
NEW_CURSOR = {**{key: value for key, value in CLAUDE.items() if key != "permission_mode"}, "cursor_version": "2.4"}


@pytest.mark.parametrize(
    ("document", "agent"),
    [
        (OLD_CURSOR, "cursor"),
        (NEW_CURSOR, "cursor"),
        # its own key says that Claude Code wrote it, whatever else there is
        ({**NEW_CURSOR, "permission_mode": "default"}, None),
        (CLAUDE, None),
        ({**CLAUDE, "transcript_path": "/x/.codex/1"}, None),
    ],
)
def test_what_no_recording_shows(document: dict[str, object], agent: str | None) -> None:
    assert detect_agent(document, named="claude-code") == agent
    assert detect_agent(document, named="codex-cli") is None


@pytest.mark.parametrize(
    "document", [{}, {"hook_event_name": 7}, {"hook_event_name": "not a name"}, {"timestamp": True}]
)
def test_document_that_says_nothing_is_of_the_agent_that_is_named(document: dict[str, object]) -> None:
    assert detect_agent(document, named="claude-code") is None
    assert detect_agent(document, named="kiro") is None


@every_payload
def test_the_agent_that_is_found_can_read_the_document(file: Path) -> None:
    raw = file.read_bytes()
    agent = BY_WORD[file.parent.name]
    found = detect_agent(json.loads(raw), named="claude-code") or agent
    try:
        event = DIALECTS[found].decode_event(raw, file.stem.partition(".")[0])
    except DialectError as problem:  # pragma: no cover - says which one
        pytest.fail(str(problem))

    assert event.host == found
