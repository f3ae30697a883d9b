import json
import os
from pathlib import Path

import pytest

from hookline.facts import LONGEST_MESSAGE, MOST_MESSAGES
from tests.test_facts_git import gather

LINES: dict[str, list[dict[str, object]]] = {
    "claude-code": [
        {"type": "user", "sessionId": "s", "message": {"role": "user", "content": "do it"}},
        {"type": "user", "isMeta": True, "message": {"role": "user", "content": "meta"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "done"}]}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "out"}]}},
    ],
    "codex-cli": [
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "do it"}]}},
        {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": [{"text": "done"}]}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "shell"}},
    ],
    "gemini-cli": [
        {"id": "1", "type": "user", "content": [{"text": "do it"}]},
        {"id": "2", "type": "gemini", "content": "done"},
    ],
    "qwen-code": [
        {"type": "user", "message": {"role": "user", "parts": [{"text": "do it"}]}},
        {"type": "assistant", "message": {"role": "model", "parts": [{"text": "done"}]}},
    ],
}
WANTED = [{"role": "user", "text": "do it"}, {"role": "assistant", "text": "done"}]


@pytest.mark.parametrize("agent", LINES)
def test_messages_are_read_from_every_shape_of_transcripts(tmp_path: Path, agent: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in LINES[agent]) + '\n{"half')
    assert gather(tmp_path, "transcript", transcript_path=str(path))["transcript"] == {
        "path": str(path),
        "messages": WANTED,
    }


def test_only_the_last_messages_of_a_long_transcript_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    line = json.dumps({"type": "user", "content": "x" * 10_000})
    path.write_text("\n".join([line] * 300 + [json.dumps({"type": "user", "content": "last"})]))
    fact = gather(tmp_path, "transcript", transcript_path=str(path))["transcript"]
    assert isinstance(fact, dict)
    assert len(fact["messages"]) == MOST_MESSAGES
    assert (len(fact["messages"][0]["text"]), fact["messages"][-1]["text"]) == (LONGEST_MESSAGE, "last")


def test_event_without_a_transcript_has_no_messages(tmp_path: Path) -> None:
    assert gather(tmp_path, "transcript") == {"transcript": {"path": "", "messages": []}, "notes": []}


def test_file_that_cannot_be_read_is_none_with_a_note(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = gather(tmp_path, "transcript", transcript_path=str(pipe))
    assert (found["transcript"], found["notes"]) == (None, [f"transcript: {pipe} cannot be read"])
