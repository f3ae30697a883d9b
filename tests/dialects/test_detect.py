"""Who wrote a document: agents run each other's settings, and the command line then names the wrong one."""

import json
from pathlib import Path

import pytest

from hookline.dialects import DIALECTS
from hookline.dialects._detect import ENVIRONMENT, detect_agent
from hookline.errors import DialectError
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


@every_payload
def test_every_document_tells_its_agent(file: Path) -> None:
    assert detect_agent(json.loads(file.read_bytes())) == BY_WORD[file.parent.name]


@every_payload
def test_nobody_is_taken_for_another_who_is_named_rightly(file: Path) -> None:
    agent = BY_WORD[file.parent.name]

    assert detect_agent(json.loads(file.read_bytes()), named=agent) == agent


@every_payload
def test_an_agent_of_its_own_language_that_runs_files_of_claude_code_is_seen(file: Path) -> None:
    agent = BY_WORD[file.parent.name]
    if agent in {"codex-cli", "factory-droid"}:
        # of some of its events it says nothing that Claude Code would not
        return

    assert detect_agent(json.loads(file.read_bytes()), named="claude-code") == agent


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
def test_agents_without_a_dialect_are_nobody_we_know(document: dict[str, object]) -> None:
    assert detect_agent(document) is None
    assert detect_agent(document, named="claude-code") is None


DROID = {**CLAUDE, "permission_mode": "auto-low", "transcript_path": ""}
OLD_DROID = {"hookEventName": "PreToolUse", "sessionId": "1", "transcriptPath": "/t", "permissionMode": "auto-high"}
OLD_CURSOR = {"hook_event_name": "beforeShellExecution", "conversation_id": "1", "command": "ls"}


@pytest.mark.parametrize(
    ("document", "agent"),
    [
        (DROID, "factory-droid"),
        (OLD_DROID, "factory-droid"),
        (OLD_CURSOR, "cursor"),
        ({**CLAUDE, "cursor_version": "2.4"}, "cursor"),
        ({**CLAUDE, "hook_event_name": "SessionEnd", "transcript_path": "/home/me/.codex/sessions/1.jsonl"}, "codex-cli"),
        ({**CLAUDE, "transcript_path": "C:\\Users\\me\\.factory\\1.jsonl"}, "factory-droid"),
        ({"toolCall": {"name": "run_command", "args": {}}}, "antigravity"),
        ({"hook": "tool.execute.before", "input": {"tool": "bash"}, "output": {"args": {}}}, "opencode"),
    ],
)  # fmt: skip
def test_what_no_recording_shows(document: dict[str, object], agent: str) -> None:
    assert detect_agent(document) == agent


def test_what_sounds_like_claude_code_overrules_nobody() -> None:
    assert detect_agent(CLAUDE) == "claude-code"
    assert detect_agent(CLAUDE, named="codex-cli") == "codex-cli"
    assert detect_agent({**CLAUDE, "transcript_path": "/x/.codex/1"}, named="claude-code") == "claude-code"


@pytest.mark.parametrize(("name", "agent"), ENVIRONMENT.items())
def test_environment_counts_where_the_document_does_not_tell(name: str, agent: str) -> None:
    assert detect_agent(CLAUDE, {name: "1"}) == agent
    assert detect_agent({}, {name: "1"}) == agent


def test_environment_overrules_neither_the_document_nor_the_command_line() -> None:
    leaked = {"CURSOR_VERSION": "2.4", "CLAUDECODE": "1"}

    assert detect_agent({"agent_action_name": "pre_run_command"}, leaked) == "windsurf"
    assert detect_agent(CLAUDE, leaked, named="claude-code") == "claude-code"


def test_empty_variable_is_none() -> None:
    assert detect_agent(CLAUDE, {"CURSOR_VERSION": ""}) == "claude-code"


@pytest.mark.parametrize(
    "document", [{}, {"hook_event_name": 7}, {"hook_event_name": "not a name"}, {"timestamp": True}]
)
def test_document_that_says_nothing_is_nobodys(document: dict[str, object]) -> None:
    assert detect_agent(document) is None
    assert detect_agent(document, named="kiro") == "kiro"


@every_payload
def test_the_agent_that_is_found_can_read_the_document(file: Path) -> None:
    raw = file.read_bytes()
    found = detect_agent(json.loads(raw), named="claude-code") or "claude-code"
    try:
        event = DIALECTS[found].decode_event(raw, file.stem.partition(".")[0])
    except DialectError as problem:  # pragma: no cover - says which one
        pytest.fail(str(problem))

    assert event.host == found
