"""Backups of agents' settings in the user's data folder, kept until `hookline uninstall`."""

import hashlib
from collections.abc import Iterator, Mapping
from glob import escape, iglob
from pathlib import Path

import msgspec
from msgspec import Struct

from hookline import json_codec
from hookline.config.undo_log import FileEdit, read_bytes


class ForeignHook(Struct, frozen=True):
    """A hook of another program in the settings of an agent: its event, its command, and the digest of all it says."""

    at: str
    command: str
    digest: str


class SettingsBackup(Struct, frozen=True, kw_only=True):
    """One file: its bytes without us, None where there was none, what we made of it, and the folders we made for it.

    `events` are those at which the agent asks us since then; `approvals` are the keys and hashes that we wrote there.
    `mode` is the mode that the file had, where a token of ours made it private. `policy` is what happens when Hookline
    cannot answer, for the agent `host`; `is_automatic` says that the user did not choose it. `others` are the hooks of others
    that the user knows of, in every file of the scope that the agent reads.
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
    others: Mapping[str, tuple[ForeignHook, ...]] | None = None


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
    made = {folder for kept in _list_backups(data) for folder in kept.folders}
    return tuple(str(folder) for folder in Path(path).parents if str(folder) in made or not folder.exists())


def list_automatic(data: Path, policy: str) -> list[SettingsBackup]:
    """Return the records of settings that have a policy which `hookline install` chose by itself."""
    return [kept for kept in _list_backups(data) if kept.is_automatic and kept.policy == policy]


def has_backups(data: Path) -> bool:
    """Return whether Hookline was installed into any agent, and not taken out since."""
    # unlike Path.glob, this never raises
    return any(True for _ in iglob(f"{escape(str(data / 'hosts'))}/*.json"))  # noqa: PTH207


def _list_backups(data: Path) -> Iterator[SettingsBackup]:
    for record in sorted((data / "hosts").glob("*.json")):
        if (kept := _read_backup(str(record))) is not None:
            yield kept


def _read_backup(record: str) -> SettingsBackup | None:
    try:
        return msgspec.json.decode(read_bytes(record) or b"", type=SettingsBackup)
    except msgspec.DecodeError:
        return None


def plan_record(data: Path, path: str, kept: SettingsBackup | None) -> tuple[FileEdit, ...]:
    """Return the change that remembers a file, or forgets it without `kept`; none when nothing changes."""
    record = backup_path(data, path)
    before, after = read_bytes(record), None if kept is None else json_codec.dump(kept)
    return () if before == after else (FileEdit(record, before, after, mode=0o600),)
