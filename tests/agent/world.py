"""A home, a project and a scripted model: `hookline agent` as a user runs it."""

import json
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess

from tests.cli.program import configure, hookline

# keeps every payload that it is given, one to a line
KEEP = """
import json, os, sys
payload = json.loads(sys.stdin.read())
payload["environment"] = {key: os.environ[key] for key in os.environ if key.startswith(("OLLAMA_", "TEAM"))}
with open(os.path.expanduser("~/seen.jsonl"), "a") as file:
    file.write(json.dumps(payload) + "\\n")
"""


class World:
    """The folders of one test."""

    def __init__(self, folder: Path, rules: str = "") -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        configure(self.home, rules.replace("KEEP", str(self.home / "keep.py")))
        self.write({"keep.py": KEEP}, self.home)

    def write(self, files: Mapping[str, str], folder: Path | None = None) -> None:
        """Write files of the project, or of another folder."""
        for name, text in files.items():
            path = (folder or self.project) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(self, url: str, *words: str, stdin: str = "", **env: str) -> CompletedProcess[str]:
        """Run the agent with the model at an address."""
        return hookline(self.home, "agent", "-m", "ollama:scripted", *words, stdin=stdin, OLLAMA_HOST=url, **env)

    def ask(self, url: str, prompt: str, *words: str) -> dict[str, object]:
        """Run the agent for a prompt, and give what it prints as JSON."""
        done = self.run(url, "-p", prompt, "--json", *words)
        assert done.returncode == 0, done.stderr
        report: dict[str, object] = json.loads(done.stdout)
        return report

    def events(self, session: object = "") -> list[str]:
        """Give the events of a session in the order of the trace."""
        words = ("--session", str(session)) if session else ()
        done = hookline(self.home, "trace", "list", "--json", "--limit", "500", *words)
        return [row["event"] for row in reversed(json.loads(done.stdout))]

    def seen(self) -> list[dict[str, object]]:
        """Give the payloads that the script kept."""
        path = self.home / "seen.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
