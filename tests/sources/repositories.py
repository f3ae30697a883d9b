"""Real repositories of a person with hooks: everything git does here, it does for real."""

import json
import subprocess
from pathlib import Path

from tests.cli.program import configure, environment, hookline

RECORDER = """
import json, os, pathlib, sys
line = input()
event = json.loads(line)
with open(pathlib.Path(os.environ["HOME"]) / "log", "a") as log:
    log.write(line + "\\n")
message = event["data"].get("message", "")
if event["event"] == "git_commit" and "wip" in message:
    print(json.dumps({"decision": "deny", "reason": "finish it first"}))
elif event["event"] == "git_message" and "typo" in message:
    print(json.dumps({"output": message.replace("typo", "word")}))
elif event["event"] == "git_push" and any(ref["remote"] == "refs/heads/main" for ref in event["data"]["refs"]):
    print(json.dumps({"decision": "deny", "reason": "main is closed"}))
elif event["event"] == "git_checkout":
    print(json.dumps({"message": "welcome to " + event["data"]["branch"]}))
"""

CONFIG = """
[[hook]]
name = "recorder"
on = ["git_commit", "git_message", "git_push", "git_checkout", "custom:git_pre_commit"]
run = "python3 recorder.py"
timeout = 30
"""

THEIRS = """#!/bin/sh
echo "$(basename "$0") $*" >> "$HOME/theirs"
"""


class Repository:
    """A repository of a person whose hooks write down every event of git."""

    def __init__(self, tmp_path: Path, name: str = "project") -> None:
        self.home = tmp_path / "home"
        self.top = tmp_path / name
        self.top.mkdir(exist_ok=True)
        configure(self.home, CONFIG, {"recorder.py": RECORDER})
        settings = "[user]\n\tname = N\n\temail = n@example.com\n[init]\n\tdefaultBranch = trunk\n"
        (self.home / ".gitconfig").write_text(settings)
        self.git("init", "-q", ".")

    def git(self, *words: str, at: Path | None = None, ok: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        """Run git in the work tree, or in another folder."""
        clean = {key: value for key, value in environment(self.home).items() if not key.startswith("GIT_")}
        done = subprocess.run(
            ["git", *words],
            cwd=at or self.top,
            env={**clean, "GIT_CONFIG_NOSYSTEM": "1", **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0 or not ok, done.stderr
        return done

    def hookline(self, *words: str, ok: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        """Run `hookline git` in the work tree."""
        done = hookline(self.home, "git", *words, GIT_CONFIG_NOSYSTEM="1", **env)
        assert done.returncode == 0 or not ok, done.stderr
        return done

    def commit(
        self, message: str, *words: str, at: Path | None = None, ok: bool = True, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Commit what is staged, or nothing."""
        return self.git("commit", "--allow-empty", "-m", message, *words, at=at, ok=ok, **env)

    def stage(self, name: str, text: str = "x\n") -> None:
        """Put a file into the next commit."""
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "--", name)

    def hook(self, path: str, text: str = THEIRS, mode: int = 0o755) -> Path:
        """Write a hook of theirs."""
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def events(self, *names: str) -> list[dict[str, object]]:
        """Give the data of what our hook saw, only of these events if any are named."""
        log = self.home / "log"
        lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
        return [line["data"] for line in lines if not names or line["event"] in names]

    def theirs(self) -> list[str]:
        """Give what their hooks wrote down."""
        log = self.home / "theirs"
        return log.read_text().splitlines() if log.exists() else []


def picture(folder: Path) -> dict[str, tuple[int, bytes | str, int]]:
    """Say what lies in a folder: modes, contents, and when each was changed."""
    found: dict[str, tuple[int, bytes | str, int]] = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        is_dir = path.is_dir() and not path.is_symlink()
        found[str(path.relative_to(folder))] = (info.st_mode, content, 0 if is_dir else info.st_mtime_ns)
    return found
