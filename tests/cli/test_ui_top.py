import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import configure, environment, hookline
from tests.waiting import PATIENCE

RULE = '[[hook]]\nname = "no-push"\non = "before_tool"\nruns = ["git push"]\ndeny = "ask first"\n'
_ESCAPES = re.compile(r"\x1b\[[0-9;?<>=$]*[a-zA-Z]|\x1b[()=>][B0]?")


class Top:
    """`hookline top` at a pseudo-terminal that is its stdin, stdout and stderr."""

    def __init__(self, home: Path) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hookline", "top"],
            cwd=home.parent / "project",
            env=environment(home, TERM="xterm-256color"),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._raw = b""

    def until(self, text: str) -> None:
        """Wait until this was drawn."""
        end = time.monotonic() + PATIENCE
        while text not in _ESCAPES.sub("", self._raw.decode("utf-8", "replace")):
            assert time.monotonic() < end, f"{text!r} never came"
            assert self.read() or self.process.poll() is None, f"it ended before {text!r} came: {self._raw!r}"

    def read(self) -> bool:
        """Read what was drawn meanwhile."""
        if not select.select([self._master], [], [], 0.1)[0]:
            return False
        try:
            self._raw += os.read(self._master, 65536)
        except OSError:
            return False
        return True

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """Wait for the end."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, "it never ended"
            self.read()
        return self.process.returncode

    def close(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self._master)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", RULE)
    return tmp_path / "home"


@pytest.fixture
def top(home: Path) -> Iterator[Top]:
    running = Top(home)
    yield running
    running.close()


@pytest.mark.spec("U-14")
def test_call_of_another_process_appears_and_q_quits(home: Path, top: Top) -> None:
    top.until("no-push")

    hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "git push origin x"}')
    top.until("git push origin x")
    top.until("✗ deny")
    top.press("?")
    top.until("go to the next or the previous pane")
    top.press("q")
    top.press(" ")
    top.until("paused")
    top.press("q")

    assert top.end() == 0


def test_without_a_terminal_or_with_json_it_names_the_command_to_use(home: Path) -> None:
    done, machine = hookline(home, "top"), hookline(home, "top", "--json")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "hookline: hookline top needs a terminal; `hookline trace tail` prints calls as they come\n"
    assert machine.returncode == 1
    assert "`hookline trace tail --json` follows calls" in machine.stderr


def test_missing_textual_is_named_with_its_extra(home: Path, tmp_path: Path) -> None:
    # an environment in which textual cannot be found
    program = (
        "import sys, importlib.util as util; find = util.find_spec; "
        "util.find_spec = lambda name, *rest: None if name == 'textual' else find(name, *rest); "
        "from hookline.cli.main import main; sys.exit(main(['top']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, "hookline: hookline top needs textual: pip install 'hookline[tui]'\n")
