"""What settings were like before us, kept in the person's data folder until we are taken away again."""

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from hookline import wire
from hookline.config.journal import Change, read_bytes


class Kept(Struct, frozen=True, kw_only=True):
    """One file: its bytes without us, None where there was none, what we made of it, and the folders we made for it."""

    path: str
    before: bytes | None
    after: str
    folders: tuple[str, ...] = ()


def digest(raw: bytes | None) -> str:
    """Name a text; no file has no name."""
    return "" if raw is None else hashlib.sha256(raw).hexdigest()


def place(data: Path, path: str) -> str:
    """Give the file that remembers another one."""
    return str(data / "hosts" / f"{hashlib.sha256(path.encode('utf-8', 'surrogateescape')).hexdigest()[:24]}.json")


def recall(data: Path, path: str) -> Kept | None:
    """Give what is remembered of a file; what cannot be read is forgotten, and ours are then found by their mark."""
    found = _decoded(place(data, path))
    return found if found is not None and found.path == path else None


def folders_for(data: Path, path: str) -> tuple[str, ...]:
    """Name the folders around a file that are there only because of us, or will be, the innermost first.

    One that was made for another file of ours goes with whichever of the two is taken away last.
    """
    made = {
        folder
        for record in (data / "hosts").glob("*.json")
        if (kept := _decoded(str(record))) is not None
        for folder in kept.folders
    }
    return tuple(str(folder) for folder in Path(path).parents if str(folder) in made or not folder.exists())


def _decoded(record: str) -> Kept | None:
    raw = read_bytes(record)
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=Kept)
    except msgspec.DecodeError:
        return None


def remember(data: Path, kept: Kept) -> Change | None:
    """Give the change that remembers a file; None when it is remembered like this already."""
    path = place(data, kept.path)
    return _changed(path, wire.dump(kept))


def forget(data: Path, path: str) -> Change | None:
    """Give the change that forgets a file; None when nothing is remembered."""
    return _changed(place(data, path), None)


def _changed(path: str, after: bytes | None) -> Change | None:
    before = read_bytes(path)
    return None if before == after else Change(path, before, after, mode=0o600)
