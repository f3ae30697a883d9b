"""A home folder, a project, agents that call hooks, and a running `hookline ui`."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from hookline.model.record import Record, Step
from hookline.stores.sqlite import SqliteTraces
from tests.cli.program import configure, environment, hookline
from tests.waiting import PATIENCE

RULES: Final = """
[[hook]]
name = "no-force-push"
on = "before_tool"
runs = ["git push --force"]
deny = "Force pushes rewrite shared history."

[[hook]]
name = "safer-install"
on = "before_tool"
runs = ["npm install"]
run = ["sh", "install.sh"]
"""
INSTALL: Final = """printf '%s' '{"decision": "allow", "args": {"command": "npm install --ignore-scripts"}}'\n"""
# a hook of the project: it runs only after an approval
PROJECT: Final = """
[[hook]]
name = "lint"
on = "before_tool"
runs = ["git commit"]
run = ["sh", "lint.sh"]
"""
# the agent's own name of the event before a tool call, and of its shell
AGENTS: Final = {
    "claude-code": ("PreToolUse", "Bash"),
    "codex-cli": ("PreToolUse", "Bash"),
    "gemini-cli": ("BeforeTool", "run_shell_command"),
}


class World(NamedTuple):
    """A home folder with rules of the user, and a project with a hook of its own."""

    home: Path

    @property
    def project(self) -> Path:
        """The folder in which agents work."""
        return self.home.parent / "project"

    @classmethod
    def build(cls, folder: Path) -> "World":
        """Write configuration and scripts."""
        world = cls(folder / "home")
        scripts = configure(world.home, RULES.replace("install.sh", str(world.home / ".config/hookline/install.sh")))
        (scripts / "install.sh").write_text(INSTALL, "utf-8")
        (world.project / "hookline.toml").write_text(PROJECT, "utf-8")
        (world.project / "lint.sh").write_text("echo checked\n", "utf-8")
        return world

    def run(self, *words: str, stdin: str = "") -> str:
        """Run `hookline` in the project, and return what it prints."""
        done = hookline(self.home, *words, stdin=stdin)
        assert done.returncode == 0, f"hookline {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def call(self, agent: str, command: str, session: str = "", *, cwd: Path | None = None) -> None:
        """Have an agent call its hooks before a shell command, as its settings would."""
        event, tool = AGENTS[agent]
        payload = {
            "session_id": session or f"{agent}-1",
            "cwd": str(cwd or self.project),
            "hook_event_name": event,
            "tool_name": tool,
            "tool_input": {"command": command},
        }
        hookline(self.home, "hook", agent, event, stdin=json.dumps(payload))

    def record(self, session: str, count: int) -> None:
        """Store calls of a long session, one second apart, the last one now."""
        store = SqliteTraces(self.home / ".local/share/hookline/traces.db")
        detail = {"decision": "pass", "reasons": (), "duration": 0.001, "ran": 0, "failed": 0, "skipped": 0}
        for number in range(count):
            at = time.time() - count + number
            store.write(
                Record(
                    f"trace-{number}",
                    Step.OUTCOME,
                    at,
                    "before_tool",
                    session,
                    detail=detail,
                    host="claude-code",
                    project=str(self.project),
                    tool="shell",
                    subject=f"make part-{number}",
                )
            )
        store.close()

    @contextmanager
    def serve(self, *options: str) -> Iterator[str]:
        """Run `hookline ui`, and give the address that signs a browser in."""
        with subprocess.Popen(
            [sys.executable, "-m", "hookline", "ui", "--no-open", "--json", *options],
            cwd=self.project,
            env=environment(self.home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as server:
            try:
                yield _read_address(server)
            finally:
                server.terminate()
                server.communicate(timeout=PATIENCE)


def _read_address(server: "subprocess.Popen[str]") -> str:
    """Read the JSON object that the server prints when it is ready."""
    assert server.stdout is not None
    text = ""
    while line := server.stdout.readline():
        text += line
        if line.rstrip() == "}" or (line.startswith("{") and line.rstrip().endswith("}")):
            return str(json.loads(text)["url"])
    raise AssertionError(f"hookline ui ended: {text}{server.communicate(timeout=PATIENCE)[1]}")
