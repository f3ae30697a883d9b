"""The summary of a session, and the removal of old files of built-in hooks."""

import json
import os
import time

import pytest

from tests.builtin.machine import Machine

pytestmark = pytest.mark.spec("C-19")


def test_end_of_a_session_removes_old_files_and_nothing_else(machine: Machine) -> None:
    machine.switch_on("session-summary", "tool-log", options="[builtin.session-summary]\ndays = 7\n")
    old = time.time() - 8 * 86_400
    files = {
        "logs/tool-log.jsonl": True,
        "logs/tool-log.jsonl.1": False,
        "transcripts/20200101T000000-000-s.jsonl.gz": False,
        "setups/git-status-0": False,
        "traces.old": True,
        "logs/tool-log.jsonl.2": True,
    }
    for name in files:
        path = machine.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        if name != "logs/tool-log.jsonl.2":
            os.utime(path, (old, old))

    machine.call("claude-code", "SessionEnd")

    assert {name: (machine.data / name).exists() for name in files} == files


def test_summary_of_a_session_without_calls_says_so(machine: Machine) -> None:
    machine.switch_on("session-summary")
    machine.call("claude-code", "SessionEnd")

    (found,) = machine.log("session-summary")
    assert (found["prompts"], found["tools"], found["blocked"]) == (0, {}, [])


def test_summary_masks_secrets(machine: Machine) -> None:
    machine.switch_on("session-summary")
    machine.call(
        "claude-code", "PostToolUse.Bash", tool_input={"command": "curl -u me:hunter2! https://example.invalid"}
    )
    machine.call("claude-code", "SessionEnd")

    assert "hunter2" not in json.dumps(machine.log("session-summary"))
