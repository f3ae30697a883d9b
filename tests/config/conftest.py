import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hookline.config import jsonc
from hookline.config.document import Document
from hookline.config.loader import LoadResult, SearchPaths, load
from hookline.config.reader import FileOrigin, KnownNames
from hookline.model.hook import Hook, Source

NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "hookline": {},
    "ollm": {"before_tool": ("before_tool",), "after_tool": ("after_tool", "tool_failed")},
    "ollm-rpc": {"fileEdited": ("file_edited",), "promptSubmit": ("before_agent",), "agentStop": ("after_agent",)},
    "ollama-cli": {
        "SessionStart": ("session_start",),
        "PreToolUse": ("before_tool",),
        "PostToolUse": ("after_tool",),
        "Stop": ("after_agent",),
    },
    "cli-agent": {
        "PreToolUse": ("before_tool",),
        "PostToolUse": ("after_tool", "tool_failed"),
        "Notification": ("notification",),
        "Stop": ("after_agent",),
    },
}


class Desk:
    """A project, a home, a config and a managed folder to put configurations into."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.config = folder / "config"
        self.managed = folder / "managed"
        for path in (self.project, self.home, self.config, self.managed):
            path.mkdir()

    def put(self, path: Path, content: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
        return path

    def load(
        self,
        *,
        unusable: Callable[[Hook], str] | None = None,
        refusal: Callable[[Hook], str] | None = None,
    ) -> LoadResult:
        search = SearchPaths(
            project=self.project,
            home=self.home,
            config=self.config,
            managed=self.managed,
            known_names=KnownNames(names=NAMES, shell_dialects={"cli-agent"}),
        )
        return load(search, unusable=unusable, refusal=refusal)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def origin() -> Callable[..., FileOrigin]:
    def make(dialect: str = "ollm", source: Source = Source.WORKSPACE) -> FileOrigin:
        vocabulary = KnownNames(names=NAMES, shell_dialects={"cli-agent"})
        return FileOrigin(path="hooks.json", dialect=dialect, source=source, known_names=vocabulary)

    return make


@pytest.fixture
def document() -> Callable[[object], Document]:
    return lambda value: jsonc.parse(value if isinstance(value, str) else json.dumps(value, indent=1))
