"""The daemon keeps sessions with MCP servers between calls."""

import json
import re
import sys
import time
from pathlib import Path

import pytest

from tests.daemon.living import Living
from tests.waiting import PATIENCE

SERVER = Path(__file__).resolve().parent.parent / "hooks" / "mcp_plain_server.py"


@pytest.mark.slow
@pytest.mark.spec("D-18", "U-20")
def test_daemon_asks_the_same_process_of_a_server_again(living: Living) -> None:
    living.configure(
        f'[mcp.plain]\ncommand = "{sys.executable}"\nargs = ["{SERVER}"]\n'
        '[[hook]]\nname = "pid"\non = "before_agent"\nmcp = "plain/pid"\ntimeout = 60\n'
    )
    living.start()
    said = {"hook_event_name": "UserPromptSubmit", "prompt": "x", "session_id": "s", "cwd": str(living.project)}

    def read_pid() -> str:
        answer = living.ask(json.dumps(said).encode(), ("claude-code", "UserPromptSubmit"))
        found = re.search(r"\d+", answer.stdout.decode())
        assert found is not None, answer
        return found[0]

    # a file that was just written may have changed again unseen, so the daemon reads it once more for two seconds
    deadline, pids = time.monotonic() + PATIENCE, [read_pid(), read_pid()]
    while pids[-1] != pids[-2] and time.monotonic() < deadline:
        pids.append(read_pid())

    assert pids[-1] == pids[-2]
