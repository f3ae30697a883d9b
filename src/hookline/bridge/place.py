"""Which project an agent works on: where its hooks are looked for."""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from hookline.folders import here
from hookline.model.event import Event

# What agents call the folder they were started in. Where they are now may be far below it, and a project that is no
# repository could not be found from there.
VARIABLES: Final[Mapping[str, str]] = {
    "claude-code": "CLAUDE_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",
    "factory-droid": "FACTORY_PROJECT_DIR",
    "gemini-cli": "GEMINI_PROJECT_DIR",
    "qwen-code": "QWEN_PROJECT_DIR",
}


def project_of(event: Event | None, *, host: str, environ: Mapping[str, str]) -> Path:
    """Give the folder of the project: the one the agent names, if it works in it, else where it works."""
    at = event.cwd if event is not None and os.path.isdir(event.cwd) else str(here())  # noqa: PTH112 - texts of others
    named = environ.get(VARIABLES.get(host, ""), "")
    if named and os.path.isabs(named) and os.path.isdir(named) and _is_around(named, at):  # noqa: PTH112, PTH117
        return _path(named)
    return _path(at)


# an agent works in one folder for long, and to take a path apart costs more than to find it here
_path = lru_cache(maxsize=64)(Path)


def _is_around(folder: str, place: str) -> bool:
    return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder))
