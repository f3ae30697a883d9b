"""Where the daemon of a person is reached: a socket in a folder that nobody else can enter.

The launcher finds the same place by itself, so whatever changes here changes there.
"""
# the launcher compares texts, and so do we
# ruff: noqa: PTH116, PTH117

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.errors import StoreError

_FOLDER: Final = "hookline"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_FNV_START: Final = 0xCBF29CE484222325
_FNV_STEP: Final = 0x100000001B3
_64_BITS: Final = (1 << 64) - 1
# bytes that the address of a socket has for a path
_LONGEST: Final = 107 if sys.platform == "linux" else 103


class Place(Struct, frozen=True):
    """The folder of the daemon, and the name that everything of the daemon of one interpreter has in it."""

    folder: Path
    name: str

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / f"{self.name}.sock"

    @property
    def lock(self) -> Path:
        """What one daemon holds as long as it lives."""
        return self.folder / f"{self.name}.lock"

    @property
    def log(self) -> Path:
        """What it says."""
        return self.folder / f"{self.name}.log"

    @property
    def starting(self) -> Path:
        """What says that one is on its way."""
        return self.folder / f"{self.name}.starting"

    def made(self) -> "Place":
        """Make the folder where there is none.

        Raises:
            StoreError: It cannot be made, or others could reach into it.
        """
        if len(os.fsencode(self.socket)) > _LONGEST:
            raise StoreError(f"{self.socket}: too long for a socket; the daemon needs a shorter XDG_RUNTIME_DIR")
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as problem:
            raise StoreError(f"{self.folder}: {problem.strerror}: the daemon has no place for its socket") from None
        if objection := self.objection():
            raise StoreError(objection)
        return self

    def objection(self) -> str:
        """Say why the folder cannot be trusted; empty when it can, or is not there."""
        try:
            found = os.lstat(self.folder)
        except FileNotFoundError:
            return ""
        except OSError as problem:
            return f"{self.folder}: {problem.strerror}"
        if not stat.S_ISDIR(found.st_mode):
            return f"{self.folder} is no folder; remove it, it stands where the daemon has its socket"
        if found.st_uid != os.geteuid():
            return f"{self.folder} belongs to somebody else, so no daemon is used; ask them to remove it"
        if found.st_mode & _OTHERS:
            return f"{self.folder} is open to others, so no daemon is used: chmod 700 {self.folder}"
        return ""


def place_of(environ: Mapping[str, str], python: str = "") -> Place:
    """Find the place of the daemon that runs with an interpreter, by default our own."""
    return Place(_folder(environ), _name(python or sys.executable))


def _folder(environ: Mapping[str, str]) -> Path:
    user = os.geteuid()
    named = environ.get("XDG_RUNTIME_DIR", "")
    for folder in (named, f"/run/user/{user}"):
        if os.path.isabs(folder) and _is_own(folder):
            return Path(folder, _FOLDER)
    return Path(f"/tmp/{_FOLDER}-{user}")  # noqa: S108 - whoever made it first is looked at


def _is_own(folder: str) -> bool:
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _name(python: str) -> str:
    """Name an interpreter in 16 letters: each has libraries, and a Hookline, of its own."""
    number = _FNV_START
    for byte in os.fsencode(python):
        number = ((number ^ byte) * _FNV_STEP) & _64_BITS
    return f"{number:016x}"
