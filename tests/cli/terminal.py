"""The real program at a real terminal: a pseudo-terminal that is its controlling one."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import tty
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

SECONDS: Final = 30

# makes the terminal that is named first the controlling one, starts the program, and becomes it
LAUNCHER: Final = """
import fcntl, os, subprocess, sys, termios
handle = os.open(sys.argv[1], os.O_RDWR)
fcntl.ioctl(handle, termios.TIOCSCTTY, 0)
os.close(handle)
command = [sys.executable, "-m", "hookline", *sys.argv[3:]]
others = [subprocess.Popen(command) for _ in range(int(sys.argv[2]) - 1)]
if others:
    raise SystemExit(max([subprocess.call(command), *(other.wait() for other in others)]))
os.execv(sys.executable, command)
"""


def clean(home: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give an environment without anything that would change what is tested."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HOOK", "XDG_", "OLLAMA_", "CLAUDE_", "VIRTUAL_ENV")) and key != "CI"
    }
    return {**kept, "HOME": str(home), **(env or {})}


class Session:
    """One run of the program; what it writes to the terminal is in `screen`."""

    def __init__(
        self,
        home: Path,
        project: Path,
        *words: str,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        raw: bool = False,
        times: int = 1,
    ) -> None:
        self._master, self._slave = pty.openpty()
        # wide enough for the paths of temporary folders
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 240, 0, 0))
        if raw:
            tty.setraw(self._slave)
        self._raw = b""
        self._read = 0
        self._stdin = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the session
        self._stdin.write(stdin.encode())
        self._stdin.seek(0)
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, os.ttyname(self._slave), str(times), *words],
            cwd=project,
            env=clean(home, env),
            stdin=self._stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate(timeout=SECONDS)
        self._stdin.close()
        os.close(self._slave)
        os.close(self._master)

    @property
    def screen(self) -> str:
        """What reached the terminal so far."""
        return self._raw.decode("utf-8", "replace")

    def until(self, pattern: str) -> str:
        """Wait until this is on the screen; gives what came there since the last wait."""
        end = time.monotonic() + SECONDS
        while (found := re.compile(pattern).search(self.screen, self._read)) is None:
            assert time.monotonic() < end, f"{pattern!r} never came; the screen says:\n{self.screen}"
            if select.select([self._master], [], [], 0.1)[0]:
                self._raw += os.read(self._master, 65536)
            elif self._process.poll() is not None:
                errors = self._process.stderr.read() if self._process.stderr else b""
                raise AssertionError(f"it ended before {pattern!r} came: {self.screen}\n{errors.decode()}")
        start, self._read = self._read, found.end()
        return self.screen[start : found.end()]

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def answers(self, keys: str, *, after: str = r"\(n\) ") -> str:
        """Wait for the question, and answer it; gives what was on the screen."""
        shown = self.until(after)
        self.type(keys)
        return shown

    def signal(self, number: int) -> None:
        """Send a signal to the program."""
        self._process.send_signal(number)

    def end(self) -> subprocess.CompletedProcess[str]:
        """Wait for the end of the program."""
        out, errors = self._process.communicate(timeout=SECONDS)
        while select.select([self._master], [], [], 0)[0]:
            self._raw += os.read(self._master, 65536)
        return subprocess.CompletedProcess((), self._process.returncode, out.decode(), errors.decode())


def hookline(
    home: Path, project: Path, *words: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program without any terminal."""
    command: Sequence[str] = [sys.executable, "-m", "hookline", *words]
    return subprocess.run(
        command,
        cwd=project,
        env=clean(home, env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )
