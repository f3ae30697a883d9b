"""A person's machine for one test: a home folder, a git project beside it, and agents that run there."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tests.agents.agents import Agent
from tests.agents.speech import Turn

REPOSITORY: Final = Path(__file__).resolve().parents[2]
SECONDS: Final = 150
SETTLE: Final = 20


@dataclass(frozen=True, slots=True)
class Report:
    """What a run left: how it ended, what it wrote, the requests the model got and the results of its tools."""

    code: int | None
    seconds: float
    stdout: str
    stderr: str
    bodies: Sequence[Mapping[str, Any]]
    results: Sequence[str]

    @property
    def heard(self) -> str:
        """Everything the model was told, as JSON text."""
        return json.dumps(self.bodies)


@dataclass(frozen=True, slots=True)
class World:
    """The folders of one test."""

    root: Path

    @classmethod
    def make(cls, root: Path, agent: Agent) -> "World":
        """Make the folders, the agent's settings, and a repository with one commit."""
        world = cls(root)
        for folder in (world.home, world.project, world.temporary):
            folder.mkdir(parents=True)
        agent.settle(world.home)
        (world.project / "README.md").write_text("# a project\n", "utf-8")
        world.git("init", "-q", "-b", "main")
        world.git("add", "-A")
        world.git("commit", "-q", "-m", "first")
        return world

    @property
    def home(self) -> Path:
        """The person's home."""
        return self.root / "home"

    @property
    def project(self) -> Path:
        """The folder the agent works in."""
        return self.root / "project"

    @property
    def temporary(self) -> Path:
        """Where temporary files go."""
        return self.root / "tmp"

    def environment(self, **more: str) -> dict[str, str]:
        """Give an environment made from nothing: no key, no setting of whoever runs the tests."""
        return {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SHELL": "/bin/bash",
            "USER": "somebody",
            "TMPDIR": str(self.temporary),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            # a test that wants one says so, and where
            "HOOKLINE_DAEMON": "off",
            **{
                f"GIT_{who}_{what}": "somebody@invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
            },
            **more,
        }

    def git(self, *words: str) -> str:
        """Run git in the project, and give what it says."""
        return subprocess.run(
            ["git", *words], cwd=self.project, env=self.environment(), capture_output=True, text=True, check=True
        ).stdout

    def hookline(self, *words: str, python: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run `hookline` in the project, as the person would; with another interpreter, if one is named."""
        return subprocess.run(
            [python or sys.executable, "-E", "-P", "-m", "hookline", *words],
            cwd=self.project,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def configure(self, text: str, files: Mapping[str, str] | None = None) -> Path:
        """Write the person's own hooks, which need no approval; give their folder."""
        folder = self.home / ".config" / "hookline"
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in {"hookline.toml": text, **(files or {})}.items():
            (folder / name).write_text(content, "utf-8")
        checked = self.hookline("check")
        assert checked.returncode == 0, checked.stdout
        return folder

    def install(self, agent: Agent, *words: str, python: Path | None = None) -> str:
        """Install Hookline for an agent, and give what the command said."""
        done = self.hookline("install", agent.name, *words, python=python)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(
        self,
        agent: Agent,
        turns: Sequence[Turn],
        *,
        settle: float = SETTLE,
        more: Sequence[str] = (),
        full: Path | None = None,
    ) -> Report:
        """Let an agent work through a script of its model, and report.

        `more` are further words of its command line. Hooks that outlive it have `settle` seconds to finish. A disk
        without any room is put in place of the folder `full`.

        Raises:
            AssertionError: the jail could not be built, or the agent did not end.
        """
        order = {
            "command": [*agent.command, *more],
            "env": self.environment(**{"PATH": agent.path, **agent.env}),
            "cwd": str(self.project),
            "turns": [asdict(turn) for turn in turns],
            "seconds": SECONDS,
            "settle": settle,
            "full": str(full) if full else "",
        }
        done = subprocess.run(
            [sys.executable, "-m", "tests.agents.jail"],
            cwd=REPOSITORY,
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=SECONDS * 2,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        report = Report(**json.loads(done.stdout))
        assert report.code is not None, f"{agent.name} did not end\n{report.stdout[-2000:]}\n{report.stderr[-2000:]}"
        return report
