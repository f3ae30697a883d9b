"""A home folder, a project and the calls of an agent, for the built-in hooks."""

import gzip
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.cli.program import configure, hookline

PAYLOADS: Final = Path(__file__).parent.parent / "dialects" / "payloads"
_FOLDERS: Final = {"claude-code": "claude", "codex-cli": "codex", "gemini-cli": "gemini"}
# shows, plays and says what it is given by writing it down
_PROGRAM: Final = '#!/bin/sh\nprintf "%s\\n" "${0##*/} $*" >> "$SHOWN"\n'
PROGRAMS: Final = ("notify-send", "canberra-gtk-play", "spd-say")


class Machine:
    """What a user has."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.data = self.home / ".local/share/hookline"
        self.shown = folder / "shown"
        self.bin = folder / "bin"
        self.bin.mkdir()
        configure(self.home, "")

    def switch_on(self, *names: str, options: str = "") -> None:
        """Switch built-in hooks on, as a user does."""
        configure(self.home, options)
        done = self.run("enable", *(f"builtin:{name}" for name in names))
        assert done.returncode == 0, done.stderr
        checked = self.run("check")
        assert checked.returncode == 0, checked.stdout

    def install_programs(self, *names: str) -> None:
        """Add programs that show, play and say something."""
        for name in names or PROGRAMS:
            (self.bin / name).write_text(_PROGRAM)
            (self.bin / name).chmod(0o755)

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run `hookline`; what goes to the queue stays there."""
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        mine = {"PATH": path, "SHOWN": str(self.shown), "HOOKLINE_WORKER": "off", "GIT_CONFIG_GLOBAL": "/dev/null"}
        return hookline(self.home, *words, stdin=stdin, **{**mine, **env})

    def call(self, agent: str, payload: str, /, **changes: object) -> dict[str, Any]:
        """Make a call of an agent, with a recorded payload, and return the answer."""
        text = (PAYLOADS / _FOLDERS[agent] / f"{payload}.json").read_text()
        text = text.replace("$CWD_SLUG", "slug").replace("$CWD", str(self.project)).replace("$HOME", str(self.home))
        document = {**json.loads(text), **changes}
        done = self.run("hook", agent, payload.partition(".")[0], stdin=json.dumps(document))
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout or "{}")
        return answer

    def emit(self, event: str, data: Mapping[str, object] | None = None, **call: object) -> dict[str, Any]:
        """Raise an event as a script does, and return the outcome."""
        words = ["--data", json.dumps(data)] if data is not None else []
        words += ["--tool", str(call["tool"]), "--args", json.dumps(call["args"])] if call else []
        done = self.run("emit", event, *words, "--json")
        outcome: dict[str, Any] = json.loads(done.stdout)
        return outcome

    def work(self, **env: str) -> str:
        """Run what waits in the queue."""
        done = self.run("queue", "work", "--until-empty", **env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def log(self, name: str) -> list[dict[str, Any]]:
        """Return the records of a log."""
        path = self.data / "logs" / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def backups(self) -> list[bytes]:
        """Return the transcripts that were saved."""
        return [gzip.decompress(path.read_bytes()) for path in sorted((self.data / "transcripts").glob("*.gz"))]

    def git(self, *words: str) -> None:
        """Run git in the project."""
        who = ("-c", "user.name=a", "-c", "user.email=a@invalid", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *who, *words], cwd=self.project, check=True, capture_output=True)
