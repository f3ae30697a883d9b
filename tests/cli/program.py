"""The real program, run as a person would: in a project, with a home of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.cli.forking import Server, is_forkable
from tests.waiting import PATIENCE

_server = cache(Server)


def environment(home: Path, **more: str) -> dict[str, str]:
    """Give what this machine has, without what could lead away from the home folder."""
    odd = ("XDG_", "HOOKS_", "HOOKLINE_")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(odd) and key != "CI"}
    # a test that wants a daemon, or the quick way of a call without one, says so: both leave somebody at work
    return {**clean, "HOME": str(home), "HOOKLINE_DAEMON": "off", **more}


def hookline(home: Path, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run `hookline` in the folder `project` beside the home folder."""
    cwd, variables = home.parent / "project", environment(home, **env)
    if is_forkable(variables):
        code, out, err = _server().run(list(arguments), cwd=cwd, env=variables, stdin=stdin.encode(), timeout=PATIENCE)
        return subprocess.CompletedProcess([*arguments], code, _text(out), _text(err))
    return subprocess.run(
        [sys.executable, "-m", "hookline", *arguments],
        cwd=cwd,
        env=variables,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def _text(printed: bytes) -> str:
    return printed.decode().replace("\r\n", "\n")


def configure(home: Path, text: str, files: Mapping[str, str] | None = None) -> Path:
    """Make a home folder with a configuration and the scripts beside it, and a project beside it; give the folder."""
    folder = home / ".config" / "hookline"
    folder.mkdir(parents=True, exist_ok=True)
    (home.parent / "project").mkdir(exist_ok=True)
    (folder / "hookline.toml").write_text(text)
    for name, content in (files or {}).items():
        (folder / name).write_text(content)
    return folder
