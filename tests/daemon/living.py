"""A person, and the real daemon that answers their agents: a process of its own, real sockets, real hooks."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hookline.bridge.daemon_socket import SocketDir, find_socket_dir
from hookline.daemon.protocol import NoDaemonError, ask
from hookline.model.exchange import Answer
from tests.cli.program import environment
from tests.waiting import PATIENCE, until

WORDS: Final = ("--if-broken", "block", "claude-code", "PreToolUse")
CODEX: Final = ("--if-broken", "block", "codex-cli", "PreToolUse")


def payload(project: Path, command: str = "ls", **more: object) -> bytes:
    """Say what Claude Code says before it runs a command."""
    said = {
        "session_id": "one",
        "transcript_path": "",
        "cwd": str(project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
    }
    return json.dumps(said | more).encode()


def codex_payload(project: Path, **more: object) -> bytes:
    """Say what Codex CLI says before it runs a command."""
    said = {
        "session_id": "two",
        "turn_id": "t",
        "transcript_path": None,
        "cwd": str(project),
        "hook_event_name": "PreToolUse",
        "model": "m",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "u",
    }
    return json.dumps(said | more).encode()


def git(folder: Path, *words: str) -> None:
    """Run git as a person who has a name."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, timeout=PATIENCE)


@contextmanager
def short_folder() -> Iterator[Path]:
    """Give a folder that is gone afterwards, for sockets: the path of one has to be short."""
    folder = Path(tempfile.mkdtemp(prefix="hkl-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


class Living:
    """A home, a project beside it, a folder for sockets, and the daemons that were started there."""

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.config = self.home / ".config" / "hookline"
        self.data = self.home / ".local" / "share" / "hookline"
        self.config.mkdir(parents=True)
        self.data.mkdir(parents=True, mode=0o700)
        self.project.mkdir()
        self.runtime = runtime
        self.started: list[subprocess.Popen[bytes]] = []

    @property
    def env(self) -> dict[str, str]:
        """What the person's agents have."""
        given = environment(self.home, XDG_RUNTIME_DIR=str(self.runtime))
        # other tests go without one
        del given["HOOKLINE_DAEMON"]
        return given

    @property
    def place(self) -> SocketDir:
        """Where the daemon is."""
        return find_socket_dir(self.env)

    def configure(self, text: str, files: Mapping[str, str] | None = None) -> None:
        """Write the person's configuration, and scripts beside it."""
        (self.config / "hookline.toml").write_text(text)
        for name, content in (files or {}).items():
            (self.config / name).write_text(content)

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a daemon in the foreground, and wait until it answers."""
        process = subprocess.Popen(
            [sys.executable, "-m", "hookline", "daemon", "run", *words],
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.started.append(process)
        until(lambda: self.is_there() or process.poll() is not None, "the daemon answers")
        return process

    def is_there(self) -> bool:
        """Say whether somebody answers."""
        try:
            self.status()
        except NoDaemonError:
            return False
        return True

    def status(self) -> dict[str, object]:
        """Ask the daemon how it is."""
        found = json.loads(ask(self.place, ("daemon", "status")).stdout)
        assert isinstance(found, dict)
        return found

    def ask(self, stdin: bytes, words: tuple[str, ...] = WORDS, **env: str) -> Answer:
        """Have the daemon answer a call."""
        return ask(self.place, words, environ={**self.env, **env}, stdin=stdin)

    def hookline(self, *words: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
        """Run the real program in the project."""
        return subprocess.run(
            [sys.executable, "-m", "hookline", *words],
            cwd=self.project,
            env={**self.env, **env},
            input=stdin,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )

    def directly(self, stdin: bytes, words: tuple[str, ...] = WORDS, **env: str) -> Answer:
        """Have a program of its own answer the same call."""
        done = self.hookline("hook", *words, stdin=stdin, **env)
        return Answer(stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode)

    def end(self) -> None:
        """End everything that was started."""
        with suppress(NoDaemonError):
            ask(self.place, ("daemon", "stop"))
        for process in self.started:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=PATIENCE)
        until(lambda: not self.is_there(), "the daemon is gone")


@contextmanager
def lived(folder: Path) -> Iterator[Living]:
    """Give a person whose agents are answered by a daemon of their own, which ends with the test."""
    with short_folder() as runtime:
        living = Living(folder, runtime)
        try:
            yield living
        finally:
            living.end()


def is_alive(pid: int) -> bool:
    """Say whether a process runs."""
    try:
        os.kill(pid, 0)
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except (ProcessLookupError, FileNotFoundError):
        return False
