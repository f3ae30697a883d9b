"""The programs outside of the workspace that a hook is run with: where they are, and whether they are still the same."""
# asked before each run, where pathlib costs many times more
# ruff: noqa: PTH113, PTH116, PTH118, PTH120

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from os.path import dirname, isfile, join, normpath, realpath
from stat import S_ISREG
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.core.contents import SETTLED, Fingerprint, fingerprint
from hookline.model.workspace import inside

# To the superuser everything is writable; these are the folders of whoever installs the system.
_OF_THE_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/System")
LONGEST_LINE: Final = 256
_OPTION: Final = re.compile(r"-.*|\w+=.*")


class Program(Struct, frozen=True, omit_defaults=True):
    """A program as it was found.

    One that the person could not change has no hash, so that an update of the system asks nobody again. `seen`
    are the numbers of the file when it was hashed: as long as they are the same, so is the content.
    """

    name: str
    path: str
    sha256: str = ""
    seen: Fingerprint = ()


class About(Struct, frozen=True):
    """What is known of a program as long as the numbers of its file are the same."""

    state: Fingerprint
    real: str
    is_fixed: bool
    is_text: bool
    interpreters: tuple[str, ...]


class Programs:
    """Find programs and compare them, remembering what cannot have changed."""

    def __init__(self) -> None:
        self._about: dict[str, About] = {}
        self._hashes: dict[str, tuple[str, Fingerprint]] = {}

    def find(self, name: str, path: str, *, base: str = "") -> str:
        """Find a program on a search path as a shell would; empty when it is not there."""
        return next(self.candidates(name, path, base=base), "")

    def candidates(
        self, name: str, path: str, looked: Callable[[str], None] | None = None, *, base: str = ""
    ) -> Iterator[str]:
        """Give each program of this name on a search path; relative folders are counted from `base`, if at all.

        `looked` is told every place at which it was looked for.
        """
        for folder in path.split(os.pathsep):
            if not folder.startswith("/") and not base:
                continue
            candidate = normpath(join(base, folder, name))
            if looked is not None:
                looked(candidate)
            if isfile(candidate) and os.access(candidate, os.X_OK):
                yield candidate

    def look(self, path: str) -> About | None:
        """Say what stands at a path now, without reading all of it; None when there is no such file."""
        try:
            info = os.stat(path)
        except (OSError, ValueError):
            return None
        # to open anything else could wait for ever, or take what was meant for others
        if not S_ISREG(info.st_mode):
            return None
        state = fingerprint(info)
        about = self._about.get(path)
        if about is None or about.state != state:
            real, first = realpath(path), _first_line(path)
            # as shells tell them apart
            is_text = b"\0" not in first.partition(b"\n")[0]
            about = About(state, real, _is_fixed(path, real), is_text, interpreters(first))
            self._about[path] = about
        return about

    def hashed(self, program: Program) -> Program:
        """Add the hash to a program that the person could change."""
        if not program.seen:
            return program
        digest, state = self._hash(program.path)
        return replace(program, sha256=digest, seen=state)

    def same(self, now: Program, approved: Program) -> bool:
        """Say whether a program is the one that was approved."""
        if now.path != approved.path:
            return False
        if not approved.sha256:
            return not now.seen
        return (bool(now.seen) and now.seen == approved.seen) or self._hash(now.path)[0] == approved.sha256

    def _hash(self, path: str) -> tuple[str, Fingerprint]:
        """Hash a program, and give the numbers by which it can be known again; none while it may still change."""
        known = self._hashes.get(path)
        try:
            if known is not None and known[1] == fingerprint(os.stat(path)):
                return known
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - no pathlib here
                info = os.fstat(file.fileno())
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                state = fingerprint(info) if fingerprint(os.fstat(file.fileno())) == fingerprint(info) else ()
        except OSError as problem:
            return f"unreadable: {problem.strerror}", ()
        if time.time_ns() - info.st_ctime_ns <= SETTLED:
            return digest, ()
        self._hashes[path] = (digest, state)
        return digest, state


def interpreters(first_line: bytes) -> tuple[str, ...]:
    """Read an interpreter line: the program it names and, behind `env`, the one that is looked for."""
    if not first_line.startswith(b"#!"):
        return ()
    words = first_line[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    if not words or words[0].rpartition("/")[2] != "env":
        return tuple(words[:1])
    return (words[0], *[word for word in words[1:] if not _OPTION.fullmatch(word)][:1])


def line_words(first_line: bytes) -> tuple[str, ...]:
    """Give the words of an interpreter line that could be files counted from the folder a hook runs in."""
    if not first_line.startswith(b"#!"):
        return ()
    words = first_line[2:].split(b"\n", 1)[0].decode("utf-8", "replace").replace("=", " ").split()
    return tuple(word for word in words if not word.startswith(("/", "-")))


def _is_fixed(path: str, real: str) -> bool:
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        return inside(real, _OF_THE_SYSTEM) and inside(path, _OF_THE_SYSTEM)
    return not any(os.access(one, os.W_OK) for one in (real, dirname(real), dirname(path)))


def _first_line(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a regular file: it was found as one
            return file.read(LONGEST_LINE)
    except OSError:
        return b""


def changed(programs: Programs, now: Iterable[Program], approved: Iterable[Program]) -> list[str]:
    """Name the programs that are not what they were when the hook was approved."""
    known = {program.name: program for program in approved}
    return [
        program.name for program in now if program.name not in known or not programs.same(program, known[program.name])
    ]
