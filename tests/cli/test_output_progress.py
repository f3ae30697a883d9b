import os
import pty
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest

from hookline.cli._output import progress
from tests.cli.program import environment
from tests.waiting import PATIENCE
from tests.worker_home import Home

pytestmark = pytest.mark.slow

# works until the test has seen the bar
PROGRAM = """
import sys
from hookline.cli._output import progress
with progress(3, "looking") as bar:
    bar.advance("looked at [red]one\\x1b[2J")
    sys.stdin.readline()
    bar.advance("looked at two")
print("done")
"""


def read_until(handle: int, text: str) -> str:
    """Read from a terminal until this is there."""
    end, raw = time.monotonic() + PATIENCE, b""
    while text.encode() not in raw:
        assert time.monotonic() < end, f"{text!r} never came: {raw!r}"
        raw += os.read(handle, 65536)
    return raw.decode("utf-8", "replace")


def read_rest(handle: int) -> str:
    raw = b""
    try:
        while piece := os.read(handle, 65536):
            raw += piece
    except OSError:
        # the last program at this terminal has ended
        pass
    return raw.decode("utf-8", "replace")


def test_bar_is_drawn_on_stderr_and_leaves_nothing_behind(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environment(tmp_path, TERM="xterm"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
    )
    os.close(slave)

    shown = read_until(master, "33%")
    out, _ = process.communicate("\n", timeout=PATIENCE)
    rest = read_rest(master)
    os.close(master)

    assert r"looked at [red]one\x1b[2J" in shown
    assert out == "done\n"
    # the line is erased, and the cursor is shown again
    assert rest.rstrip().endswith("\x1b[2K")
    assert "\x1b[?25h" in rest


def test_nothing_is_drawn_where_stderr_is_no_terminal_or_the_user_wants_json(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, time\nsys.stdin.readline = lambda: time.sleep(1.2)\n" + PROGRAM],
        env=environment(tmp_path, TERM="xterm"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("done\n", "")


def test_quick_work_imports_no_library_that_draws(tmp_path: Path) -> None:
    program = (
        "import sys, threading, argparse; from hookline.cli._output import progress\n"
        "with progress(1, 'x', args=argparse.Namespace(json=True)): silent = threading.active_count()\n"
        "with progress(1, 'x') as bar: bar.advance(); shown = threading.active_count()\n"
        "print(shown, silent, 'rich' in sys.modules)"
    )
    master, slave = pty.openpty()

    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(tmp_path, TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    os.close(slave)

    assert done.stdout == "2 1 False\n"
    assert read_rest(master) == ""
    os.close(master)


def test_error_inside_comes_out() -> None:
    with pytest.raises(ValueError, match="inside"), progress(1, "x", args=Namespace(json=False)):
        raise ValueError("inside")


def test_worker_shows_how_many_jobs_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path, monkeypatch)
    # works until the test has seen the bar
    gate = home.out / "gate"
    os.mkfifo(gate)
    home.configure(run=f"cat {gate} > /dev/null")
    home.put()
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hookline", "queue", "work", "--until-empty"],
        env=environment(home.home, TERM="xterm", HOOKLINE_WORKER="off"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
    )
    os.close(slave)

    shown = read_until(master, "0%")
    gate.write_text("go on\n")
    # a terminal that is not read would stop the program
    read_rest(master)
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(master)

    assert "jobs" in shown
    assert out == "1 done, 0 put back, 0 given up\n"
