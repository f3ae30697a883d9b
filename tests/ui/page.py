"""A real `hookline ui`, and a client that does what the page does."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from hookline.model.record import Record, Step
from hookline.stores.sqlite import SqliteTraces
from tests.cli.program import environment
from tests.waiting import PATIENCE


class Page:
    """A server in a process of its own, and a client that opened its link."""

    def __init__(self, process: subprocess.Popen[str], started: dict[str, object]) -> None:
        self.process = process
        self.url = str(started["url"])
        self.base, self.token = self.url.split("/?token=")
        self.read_only = started["read_only"]
        self.client = httpx2.Client(base_url=self.base, timeout=PATIENCE)

    def enter(self) -> None:
        """Exchange the token for the cookie."""
        answer = self.client.get("/", params={"token": self.token})
        assert answer.status_code == 303, answer.text

    def get(self, path: str, **params: object) -> dict[str, Any]:
        """Return the answer to a question."""
        answer = self.client.get(path, params={name: str(value) for name, value in params.items()})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def post(self, path: str, **fields: object) -> httpx2.Response:
        """Send what the page sends."""
        return self.client.post(path, json=fields, headers={"Origin": self.base})

    def stop(self) -> int:
        """End the server as Ctrl-C does, and return its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@contextmanager
def open_page(home: Path, *options: str, enters: bool = True, **env: str) -> Iterator[Page]:
    """Start `hookline ui` in the folder `project` beside the home folder."""
    (home.parent / "project").mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-m", "hookline", "ui", "--json", "--port", "0", *options],
        cwd=home.parent / "project",
        env=environment(home, **env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            page = Page(process, json.loads(line))
            with page.client:
                if enters:
                    page.enter()
                yield page
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(PATIENCE)


def find_traces(home: Path) -> Path:
    """Return the trace file of a user."""
    return home / ".local" / "share" / "hookline" / "traces.db"


def write_call(home: Path, number: int, **more: object) -> str:
    """Write the records of one call as an agent's process does, and return its trace."""
    given = {"agent": "claude-code", "session": "s1", "hook": "guard", "decision": "pass", "subject": "ls", **more}
    trace = f"trace-{os.getpid()}-{number}"
    store = SqliteTraces(find_traces(home))

    def record(step: Step, detail: dict[str, object], hook: str = "") -> Record:
        return Record(
            *(trace, step, 1_000_000.0 + number, "before_tool", str(given["session"]), hook, detail),
            *(str(given["agent"]), str(given.get("project", "/p")), "shell", str(given["subject"])),
        )

    decided = {"decision": given["decision"], "duration": 0.25}
    effects = {"effects": given["effects"]} if "effects" in given else {}
    reasons = [given["reason"]] if "reason" in given else []
    command = {"command": given["subject"]}
    store.write(record(Step.EVENT, {"data": {}, "tool": "shell", "args": command, "version": "1.2.3"}))
    store.write(record(Step.COMPLETED, {**decided, **effects}, str(given["hook"])))
    store.write(record(Step.OUTCOME, {**decided, "reasons": reasons, "ran": 1, "rewrote": bool(effects)}))
    store.close()
    return trace
