"""A small private folder for each hook, and for each of its sessions, in which it keeps what it wants to find again."""

# paths are texts here: this runs before each call of such a hook
# ruff: noqa: PTH103, PTH112, PTH114, PTH118

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import UNDO_SUFFIX, Hook

# the variables that name the folders
STATE: Final = "HOOKLINE_STATE"
SESSION_STATE: Final = "HOOKLINE_SESSION_STATE"

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_FILES: Final = 10_000
# seconds after which the folder of a session is removed
SESSION_AGE: Final = 30 * 86_400.0
_SESSIONS: Final = "sessions"
_LONGEST_NAME: Final = 40


class StateUsage(Struct, frozen=True):
    """How much a folder holds, and when it was changed last, in seconds since the epoch."""

    files: int = 0
    bytes: int = 0
    sessions: int = 0
    changed: float = 0.0


def find_state_root(data: str | os.PathLike[str]) -> str:
    """Return the folder of all state, beside the user's data: contained hooks read neither, but for what is their own."""
    return f"{os.fspath(data).rstrip('/')}-state"


def folder_name(hook: Hook) -> str:
    """Return the name of a hook's folder; hooks of two projects may have the same id, and an undo finds its hook's files."""
    name = hook.id.removesuffix(UNDO_SUFFIX)
    digest = hashlib.sha256(f"{hook.source_path}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{re.sub(r'[^a-z0-9_.-]+', '-', name.lower())[:_LONGEST_NAME].strip('.-') or 'hook'}-{digest}"


def prepare_state(root: str, hook: Hook, session: str) -> Mapping[str, str]:
    """Make the folders of a hook, and return the variables that name them.

    A command that stays, or an event without a session, has none for the session.

    Raises:
        OSError: A folder cannot be made, or the hook keeps too much.
    """
    folder = os.path.join(root, folder_name(hook))
    for path in (root, folder):
        os.makedirs(path, mode=0o700, exist_ok=True)
    # a link that a hook put into the place of a folder would lead us astray
    for path in (folder, os.path.join(folder, _SESSIONS)):
        if os.path.islink(path):
            raise OSError(0, "is a link; remove it", path)
    variables = {STATE: folder}
    if session and not hook.persistent:
        digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        own = os.path.join(folder, _SESSIONS, digest)
        if not os.path.isdir(own):
            remove_old_sessions(folder, time.time())
            os.makedirs(own, mode=0o700, exist_ok=True)
        variables[SESSION_STATE] = own
    usage = measure_state(folder)
    if usage.bytes > MOST_BYTES or usage.files > MOST_FILES:
        kept = f"{usage.bytes // 1_048_576} MB in {usage.files} files"
        limit = f"{MOST_BYTES // 1_048_576} MB or {MOST_FILES} files"
        raise OSError(0, f"holds {kept}, more than {limit}; `hookline state clear {hook.id}` empties it", folder)
    return variables


def describe_state_problem(problem: OSError) -> Failure:
    """Return the failure of a hook whose folders cannot be made."""
    where = f"{problem.filename}: " if problem.filename else ""
    return Failure(FailureKind.UNAVAILABLE, f"its state cannot be kept: {where}{problem.strerror or problem}")


def measure_state(folder: str) -> StateUsage:
    """Return how much a folder holds; counting stops where it is too much."""
    files = size = 0
    changed = 0.0
    for entry in _walk(folder):
        with suppress(OSError):
            found = entry.stat(follow_symlinks=False)
            changed = max(changed, found.st_mtime)
            if not entry.is_dir(follow_symlinks=False):
                files, size = files + 1, size + found.st_size
        if files > MOST_FILES or size > MOST_BYTES:
            break
    return StateUsage(files, size, len(_list_sessions(folder)), changed)


def list_files(folder: str) -> list[tuple[str, int]]:
    """Return the files of a folder with their sizes, at most as many as a hook may keep."""
    found: list[tuple[str, int]] = []
    for entry in _walk(folder):
        if not entry.is_dir(follow_symlinks=False) and len(found) < MOST_FILES:
            found.append((os.path.relpath(entry.path, folder), entry.stat(follow_symlinks=False).st_size))
    return sorted(found)


def remove_old_sessions(folder: str, now: float) -> int:
    """Remove the folders of sessions that nothing was written to for a month, and return how many."""
    old = [
        path
        for path in _list_sessions(folder)
        if now - max(measure_state(path).changed, Path(path).stat().st_mtime) > SESSION_AGE
    ]
    for path in old:
        shutil.rmtree(path, ignore_errors=True)
    return len(old)


def _list_sessions(folder: str) -> list[str]:
    sessions = os.path.join(folder, _SESSIONS)
    # what the hook itself put there may be anything
    if os.path.islink(sessions):
        return []
    try:
        with os.scandir(sessions) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _walk(folder: str) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
