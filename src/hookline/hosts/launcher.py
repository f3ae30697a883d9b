"""The native program that agents run before any Python, where there is one."""

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hookline.model.ours import LAUNCHER
from hookline.version import __version__

# what the launcher has a Python run when there is no daemon to ask
COLD: Final = str(Path(__file__).parent.parent / "bridge" / "cold" / "start.py")

_SCRIPT: Final = b"#!"
_SECONDS: Final = 10


def native(python: str) -> str:
    """Find the launcher that came with us for a Python; empty where it is a script, of another version, or not there."""
    if os.name != "posix" or not os.access(COLD, os.R_OK):
        return ""
    return next((path for path in _places(python) if _is_native(path)), "")


def _places(python: str) -> Iterator[str]:
    """List where installers put programs: beside the Python, beside `hookline`, where this Python's scripts go."""
    folders = [os.path.dirname(python), sysconfig.get_path("scripts")]  # noqa: PTH120 - a link stays a link
    if os.path.basename(sys.argv[0]) == "hookline":  # noqa: PTH119
        folders.insert(1, os.path.dirname(os.path.abspath(sys.argv[0])))  # noqa: PTH100, PTH120
    yield from (f"{folder}/{LAUNCHER}" for folder in dict.fromkeys(folders) if folder.startswith("/"))


def _is_native(path: str) -> bool:
    """Say whether it is a program of this version that runs here: it may have been built for another machine."""
    import subprocess  # noqa: PLC0415 - only an installation needs it

    try:
        with open(path, "rb") as file:  # noqa: PTH123
            if file.read(len(_SCRIPT)) == _SCRIPT:
                return False
        done = subprocess.run([path, "--version"], capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout == f"{LAUNCHER} {__version__} native\n".encode()
