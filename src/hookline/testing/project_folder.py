"""The folder of a project in a test."""

from pathlib import Path

from hookline.model.event import Event
from hookline.testing.hook_run import HookRun, run_hook
from hookline.testing.recording_engine import RecordingEngine, load_hooks


class HooklineProject:
    """A project in a test: `path` is its folder, `write` writes its files, `run` asks one of its hooks."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, text: str, name: str = "hookline.toml") -> Path:
        """Write a file of the project, the configuration unless it is named, and return its path."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def run(self, event: Event, *, name: str = "", agent: str = "") -> HookRun:
        """Run a hook of the project for an event; `name` chooses it where there are several.

        Raises:
            ConfigError: There is no such hook, or a definition has a mistake.
        """
        return run_hook(self.path, event, name=name, agent=agent, cwd=self.path)

    def engine(self) -> RecordingEngine:
        """Return a recording engine with all hooks of the project; the test closes it.

        Raises:
            ConfigError: A definition has a mistake.
        """
        made = RecordingEngine(cwd=str(self.path))
        made.add(*load_hooks(self.path))
        return made
