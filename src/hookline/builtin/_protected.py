"""What the built-in guards share about the files and commands that decide which hooks run."""
# ruff: noqa: PTH118 - plain strings, as in command lines

import os
import re
from collections.abc import Iterator
from typing import Final

from hookline.builtin._boundaries import Boundaries

OF_HOOKS: Final = "decides which hooks run"
# commands that take a guard away, as patterns of `compile_commands`, and the options with which they only explain themselves
LOOSENING: Final = (
    "hookline {disable,remove,uninstall,undo,edit}",
    "hookline trust {approve,import,revoke,token,workspace}",
    "hookline {git uninstall,daemon stop,doctor --accept,trace prune}",
    "{pkill,killall} *hookline*",
    "{pip,pipx} uninstall hookline",
    "uv tool uninstall hookline",
    "uv pip uninstall hookline",
    "{brew,conda,mamba} {uninstall,remove} hookline",
)
ASKS_FOR_HELP: Final = ("--help", "-h")
# a glob for everything in a directory means the directory
ALL_IN_IT: Final = re.compile(r"(?:(?:^|(?<=/))(?:\*\*?|\.\*|\.\?\?\*|\.\[!\.\]\*)/?)+$")
_LONGEST_PATH: Final = 4096


def expand_home(path: str, bounds: Boundaries) -> str:
    """Return a path with the home directory in place of `~`."""
    return bounds.home + path[1:] if path == "~" or path.startswith("~/") else path


def show_path(path: str, bounds: Boundaries) -> str:
    """Return a path relative to the project, or with `~` for the home directory."""
    base = bounds.bases[0] if bounds.bases else ""
    if base and path.startswith(f"{base}/"):
        return path[len(base) + 1 :]
    return f"~{path[len(bounds.home) :]}" if path.startswith(f"{bounds.home}/") else path


def list_paths(name: str, bounds: Boundaries) -> Iterator[str]:
    """Yield the paths that a name may mean: as it is written, and with symbolic links resolved; none for an invalid name."""
    if len(name) > _LONGEST_PATH or "\0" in name:
        return
    for base in bounds.bases if not name.startswith("/") else ("/",):
        path = os.path.normpath(os.path.join(base, name))
        # normpath keeps two leading slashes, which mean one on every supported system
        yield "/" + path.lstrip("/")
        yield os.path.realpath(path)
