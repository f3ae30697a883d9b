"""A person's home and a project in it, with one background hook."""

import asyncio
import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from hookline.project import load_project
from hookline.project_cache import ProjectCache
from hookline.stores.queue import SqliteQueue
from hookline.worker import Result, Tally, Until, Worker, run_job
from tests.cli.program import configure, hookline


class Home:
    """Everything a worker finds; `out` is where hooks leave what the test looks at."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        # in the project, where its own hooks may write
        self.out = self.project / "out"
        configure(self.home, "")
        self.out.mkdir()
        monkeypatch.setenv("HOME", str(self.home))
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOOKLINE_WORKER", "off")
        monkeypatch.chdir(self.project)
        self.data = self.home / ".local" / "share" / "hookline"
        self.queue = SqliteQueue(self.data / "queue.db")

    def configure(self, *, run: str, id: str = "later", more: str = "", of_project: bool = False) -> None:  # noqa: A002 - the key's own name
        """Write the one hook there is, into the person's file or the project's."""
        text = f'[[hook]]\nid = "{id}"\non = "after_tool"\nrun = {json.dumps(run)}\nshell = true\nbackground = true\n{more}\n'
        if of_project:
            (self.project / "hookline.toml").write_text(text)
        else:
            configure(self.home, text)

    def put(self, data: dict[str, object] | None = None) -> str:
        """Emit an event, as an agent would, and give the job."""

        async def emit() -> str:
            async with load_project(self.project).engine as engine:
                outcome = await engine.emit("after_tool", data, tool="shell", args={"command": "ls"})
                return outcome.verdicts[0].job

        job = asyncio.run(emit())
        assert job
        return job

    def work(self) -> Tally:
        """Work until nothing is left that could still run."""
        worker = Worker(self.data)
        assert asyncio.run(worker.work(Until.EMPTY))
        return worker.tally

    def attempt(self) -> Result:
        """Try the next job once, and write down what became of it."""

        async def run() -> Result:
            [job] = self.queue.claim("test")
            projects = ProjectCache()
            result = await run_job(job, projects)
            await projects.close()
            Worker(self.data)._settle(job, result)  # noqa: SLF001 - what a worker does after each attempt
            return result

        return asyncio.run(run())

    def hurry(self) -> None:
        """Make everything that waits due now."""
        with closing(sqlite3.connect(self.queue.path)) as connection, connection:
            connection.execute("UPDATE jobs SET due = 0 WHERE state = 'waiting'")

    def hookline(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program in the project."""
        switch = {"HOOKLINE_WORKER": os.environ["HOOKLINE_WORKER"]} if "HOOKLINE_WORKER" in os.environ else {}
        return hookline(self.home, *words, **switch)
