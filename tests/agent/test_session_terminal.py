"""`hookline agent` at a real terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agent.scripted import scripted
from tests.agent.world import World
from tests.agents.speech import Call, Turn
from tests.cli.program import environment
from tests.cli.terminal import LAUNCHER
from tests.waiting import PATIENCE

UNDO = """[[hook]]
id = "note"
on = "before_agent"
run = ["touch", "noted"]
undo = ["rm", "noted"]
"""


@pytest.mark.slow
def test_user_is_asked_for_permission_and_ends_with_ctrl_d(tmp_path: Path) -> None:
    world = World(tmp_path, UNDO)
    master, slave = pty.openpty()
    screen = everything = ""

    def wait_for(pattern: str) -> None:
        nonlocal screen, everything
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, screen)):
            assert time.monotonic() < end, screen
            if select.select([master], [], [], 0.1)[0]:
                read = os.read(master, 65536).decode("utf-8", "replace")
                screen, everything = screen + read, everything + read
        screen = screen[found.end() :]

    def press(keys: str) -> None:
        os.write(master, keys.encode())

    with scripted(Turn("", [Call("shell", {"command": "touch made"})]), Turn("it is made")) as (_script, url):
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, os.ttyname(slave), "1", "agent", "-m", "ollama:scripted"],
            cwd=world.project,
            env=environment(world.home, OLLAMA_HOST=url, TERM="dumb"),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        try:
            wait_for(r"/help lists commands")
            wait_for("> ")
            press("/help\n")
            wait_for("/compact ")
            wait_for("> ")
            press("make it\n")
            wait_for(r"May the agent run shell touch made\?")
            wait_for(r"\(n\) ")
            press("y\n")
            wait_for("it is made")
            wait_for("> ")
            press("/rollback\n")
            wait_for(r"note: rm noted")
            wait_for(r"\(n\) ")
            press("y\n")
            wait_for("note: taken back")
            wait_for("> ")
            press("\x04")
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait()
            os.close(master)
            os.close(slave)
    # the answer was shown once, while it was written, and the library showed nothing of its own
    assert everything.count("it is made") == 1
    assert "pydantic" not in everything.lower()
    assert (world.project / "made").exists()
    assert not (world.project / "noted").exists()
    assert world.events()[-1] == "session_end"
