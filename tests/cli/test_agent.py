"""`hookline agent` at a real terminal."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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


class Screen:
    """A terminal that an agent runs at, and everything that it has shown."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self._master = master
        self._process = process
        self._unread = ""
        self.shown = ""

    def wait_for(self, pattern: str) -> None:
        """Wait until the terminal shows something behind what was waited for before."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self._unread)):
            assert time.monotonic() < end, self.shown
            if select.select([self._master], [], [], 0.1)[0]:
                text = os.read(self._master, 65536).decode("utf-8", "replace")
                self._unread, self.shown = self._unread + text, self.shown + text
        self._unread = self._unread[found.end() :]

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def wait_for_end(self) -> int:
        """Return the exit code of the agent."""
        return self._process.wait(PATIENCE)


@contextmanager
def start_agent(world: World, url: str, *words: str) -> Iterator[Screen]:
    """Run the agent at a terminal, and wait for its first prompt."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, os.ttyname(slave), "1", "agent", "-m", "ollama:scripted", *words],
        cwd=world.project,
        env=environment(world.home, OLLAMA_HOST=url, TERM="dumb"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    screen = Screen(master, process)
    try:
        screen.wait_for(r"/help lists commands")
        screen.wait_for("> ")
        yield screen
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


@pytest.mark.slow
def test_user_is_asked_for_permission_and_ends_with_ctrl_d(tmp_path: Path) -> None:
    world = World(tmp_path, UNDO)
    turns = (Turn("", [Call("shell", {"command": "true\ntouch made"})]), Turn("it is made"))
    with scripted(*turns) as (_script, url), start_agent(world, url) as screen:
        screen.press("/help\n")
        screen.wait_for("/compact ")
        screen.wait_for("> ")
        screen.press("make it\n")
        screen.wait_for(r"May the agent run shell true\\ntouch made\?")
        screen.wait_for(r"\(n\) ")
        screen.press("y\n")
        screen.wait_for("it is made")
        screen.wait_for("> ")
        screen.press("/rollback\n")
        screen.wait_for(r"note: rm noted")
        screen.wait_for(r"\(n\) ")
        screen.press("y\n")
        screen.wait_for("note: taken back")
        screen.wait_for("> ")
        screen.press("\x04")
        assert screen.wait_for_end() == 0
    # the answer was shown once, while it was written, and the library showed nothing of its own
    assert screen.shown.count("it is made") == 1
    assert "pydantic" not in screen.shown.lower()
    assert (world.project / "made").exists()
    assert not (world.project / "noted").exists()
    assert world.events()[-1] == "session_end"


@pytest.mark.slow
def test_interrupted_turn_is_remembered(tmp_path: Path) -> None:
    world = World(tmp_path)
    turns = (
        Turn("", [Call("shell", {"command": "echo the-$((40 + 2))"})]),
        Turn("", [Call("shell", {"command": "touch started; sleep 600"})]),
        Turn("went on"),
    )
    with scripted(*turns) as (script, url), start_agent(world, url, "--yes") as screen:
        screen.press("do it\n")
        screen.wait_for("sleep 600")
        # the command is shown before it runs
        end = time.monotonic() + PATIENCE
        while not (world.project / "started").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        screen.press("\x03")
        screen.wait_for("stopped")
        screen.wait_for("> ")
        screen.press("go on\n")
        screen.wait_for("went on")
        screen.wait_for("> ")
        sent = script.last_texts
    assert "the-42" in sent
    assert "do it" in sent


@pytest.mark.slow
def test_model_that_went_away_does_not_end_the_session(tmp_path: Path) -> None:
    world = World(tmp_path)
    with ExitStack() as server:
        _script, url = server.enter_context(scripted(Turn("hello you")))
        with start_agent(world, url) as screen:
            screen.press("hello\n")
            screen.wait_for("hello you")
            screen.wait_for("> ")
            server.close()
            for prompt in ("/compact\n", "hello again\n"):
                screen.press(prompt)
                screen.wait_for(r"cannot be reached: .*; `ollama serve` starts Ollama")
                screen.wait_for("> ")
            screen.press("\x04")
            assert screen.wait_for_end() == 0
    assert world.events().count("error") == 2
