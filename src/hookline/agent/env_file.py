"""The file named by OLLAMA_ENV_FILE: hooks write variables there for everything that runs later."""

import os
import re
import shlex
from pathlib import Path
from typing import Final

from hookline.process.environment import ENV_FILE_VARIABLE as VARIABLE
from hookline.process.environment import is_loader_variable, is_search_path

_LINE: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_OURS: Final = ("HOOKLINE_", VARIABLE)


class EnvFile:
    """Lines such as `NAME=value` and `export NAME='a value'`, put into the environment of this process.

    It lies in the project, where hooks in a sandbox may write. A hook cannot set what would change Hookline itself, nor a
    variable by which programs load other code; a contained hook cannot set either where programs are searched.
    """

    def __init__(self, root: Path, session: str) -> None:
        self._path = root / f".ollama-env-{session}"
        self._applied = ""

    def open(self) -> None:
        """Create the file, empty and readable by the user alone, and name it in the environment."""
        os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.environ[VARIABLE] = str(self._path)

    def apply(self, *, is_contained: bool = False) -> list[str]:
        """Set what hooks, also contained ones, wrote since the last call; return a line for each that is refused."""
        text = self._path.read_text("utf-8", "replace") if self._path.is_file() else self._applied
        fresh = text.removeprefix(self._applied) if text.startswith(self._applied) else text
        self._applied = text
        refused: list[str] = []
        for line in fresh.splitlines():
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if reason := _apply_line(line.strip(), is_contained=is_contained):
                refused.append(f"{VARIABLE}: {reason}")
        return refused

    def close(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)
        os.environ.pop(VARIABLE, None)


def _apply_line(line: str, *, is_contained: bool) -> str:
    """Set a variable; return why it was not set."""
    found = _LINE.fullmatch(line)
    if found is None:
        return f'"{line[:80]}" is not NAME=value'
    name, written = found.groups()
    if name.startswith(_OURS) or is_loader_variable(name):
        return f"{name} cannot be set by a hook"
    if is_contained and is_search_path(name):
        return f"{name} cannot be set by a hook in a sandbox; a hook of your own can"
    try:
        words = shlex.split(written)
    except ValueError as problem:
        return f"{name}: {problem}"
    value = words[0] if len(words) == 1 else written.strip() if words else ""
    if "\0" in value:
        return f"{name}: its value has a NUL in it"
    os.environ[name] = value
    return ""
