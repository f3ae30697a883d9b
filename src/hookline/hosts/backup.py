"""Backups of agents' settings in the user's data folder, kept until `hookline uninstall`."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from hookline import json_codec
from hookline.config.undo_log import FileEdit, read_bytes


class SettingsBackup(Struct, frozen=True, kw_only=True):
    """One file: its bytes without us, None where there was none, what we made of it, and the folders we made for it.

    `events` are those at which the agent asks us since then; `approvals` are the keys and hashes that we wrote there.
    `mode` is the mode that the file had, where a token of ours made it private. `policy` is what happens when Hookline
    cannot answer, for the agent `host`; `is_automatic` says that the user did not choose it.
    """

    path: str
    before: bytes | None
    after: str
    folders: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    approvals: Mapping[str, str] = {}
    mode: int | None = None
    host: str = ""
    scope: str = ""
    policy: str = ""
    is_automatic: bool = False


def digest(raw: bytes | None) -> str:
    """Name a text; no file has no name."""
    return "" if raw is None else hashlib.sha256(raw).hexdigest()


def backup_path(data: Path, path: str) -> str:
    """Return the file that remembers another one."""
    return str(data / "hosts" / f"{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.json")


def load_backup(data: Path, path: str) -> SettingsBackup | None:
    """Return what is remembered of a file; what cannot be read is forgotten, and ours are then found by their mark."""
    found = _read_backup(backup_path(data, path))
    return found if found is not None and found.path == path else None


def created_folders(data: Path, path: str) -> tuple[str, ...]:
    """Name the folders around a file that are there only because of us, or will be, the innermost first.

    One that was made for another file of ours goes with whichever of the two is taken away last.
    """
    made = {
        folder
        for record in (data / "hosts").glob("*.json")
        if (kept := _read_backup(str(record))) is not None
        for folder in kept.folders
    }
    return tuple(str(folder) for folder in Path(path).parents if str(folder) in made or not folder.exists())


def list_automatic(data: Path, policy: str) -> list[SettingsBackup]:
    """Return the records of settings that have a policy which `hookline install` chose by itself."""
    records = (_read_backup(str(path)) for path in sorted((data / "hosts").glob("*.json")))
    return [kept for kept in records if kept is not None and kept.is_automatic and kept.policy == policy]


def _read_backup(record: str) -> SettingsBackup | None:
    raw = read_bytes(record)
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=SettingsBackup)
    except msgspec.DecodeError:
        return None


def plan_save(data: Path, kept: SettingsBackup) -> FileEdit | None:
    """Return the change that remembers a file; None when it is remembered like this already."""
    path = backup_path(data, kept.path)
    return _plan_change(path, json_codec.dump(kept))


def plan_delete(data: Path, path: str) -> FileEdit | None:
    """Return the change that forgets a file; None when nothing is remembered."""
    return _plan_change(backup_path(data, path), None)


def _plan_change(path: str, after: bytes | None) -> FileEdit | None:
    before = read_bytes(path)
    return None if before == after else FileEdit(path, before, after, mode=0o600)
