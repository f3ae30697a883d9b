"""The known entries in the user's files of other systems: an entry that appears later needs an approval.

An agent, or a script that it runs, can write `~/.cursor/hooks.json` or `~/.ollm/hooks/x.json`, and Hookline would run
that under every agent. So the first load records the entries that it finds in such files, and every entry that comes
later by another way than a command of Hookline has to be approved. `hookline.toml` is not concerned: guards protect it.
"""

import hashlib
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace

from hookline import json_codec
from hookline.config.discovery import DiscoveredFile, Root
from hookline.config.document import Problem, Severity
from hookline.config.undo_log import UndoLog, read_bytes
from hookline.errors import ConfigError
from hookline.files import replace_file
from hookline.model.hook import Hook, Source
from hookline.model.installed_entry import LAUNCHER
from hookline.model.sandbox import NONE

# reads the entries of a text as if it stood in the file
Read = Callable[[str, DiscoveredFile], list[Hook]]

# where an entry stands and what it is called says nothing about what it does
_DEFAULTS: Final = {
    field.name: field.default_factory() if callable(field.default_factory) else field.default
    for field in fields(Hook)
    if field.name not in {"id", "source", "layer", "root", "enabled", "run_by"}
    and field.name not in {"source_path", "source_line", "source_format", "source_pointer"}
}


class KnownEntries(Struct, frozen=True, kw_only=True):
    """The entries that are known, by their digest.

    `was_missing` says that Hookline was installed already when the record was made, so an earlier one was deleted.
    """

    made_at: float
    entries: tuple[str, ...] = ()
    was_missing: bool = False


def record_path(data: Path) -> Path:
    """Return the file of the record in the user's data folder."""
    return data / "known-hooks.json"


def read_record(data: Path) -> KnownEntries | None:
    """Return the record; None where there is none that can be read."""
    with suppress(ConfigError, msgspec.MsgspecError):
        raw = read_bytes(str(record_path(data)))
        return None if raw is None else msgspec.json.decode(raw, type=KnownEntries)
    return None


def confirm_record(data: Path) -> None:
    """Note that the user has seen that the record was made anew."""
    record = read_record(data)
    if record is not None and record.was_missing:
        _write(data, replace(record, was_missing=False))


def mark_new_entries(
    hooks: Sequence[Hook],
    texts: Mapping[str, tuple[DiscoveredFile, str]],
    data: Path,
    *,
    read: Read,
    writes: bool = True,
) -> tuple[list[Hook], list[Problem]]:
    """Return the hooks, with those of other systems' user files that are new as ones that need an approval.

    `texts` are the files that were read. Without a record, everything that is there now is known and recorded, unless
    the command `writes` nothing.
    """
    digests = {
        id(hook): digest_entry(hook)
        for hook in hooks
        if hook.source is Source.USER
        and hook.source_path in texts
        and texts[hook.source_path][0].location.root is Root.HOME
    }
    record = read_record(data)
    if record is None:
        return list(hooks), _make_record(hooks, digests, texts, data) if writes else []
    new = set(digests.values()).difference(record.entries)
    if not new:
        return list(hooks), []
    paths = {hook.source_path for hook in hooks if digests.get(id(hook)) in new}
    written = _find_own_edits(new, [texts[path] for path in sorted(paths)], data, read=read)
    if written and writes:
        _write(data, replace(record, entries=(*record.entries, *sorted(written))))
    new -= written
    # once it is approved, it is a hook of the user's own: it runs as its document says
    asked = {"source": Source.DOWNLOADED, "default_sandbox": NONE}
    return [replace(hook, **asked) if digests.get(id(hook)) in new else hook for hook in hooks], []


def digest_entry(hook: Hook) -> str:
    """Return the SHA-256 of what an entry says beyond the defaults, wherever it stands."""
    said = {name: getattr(hook, name) for name, default in _DEFAULTS.items() if getattr(hook, name) != default}
    return hashlib.sha256(json_codec.dump(said)).hexdigest()


def _make_record(
    hooks: Sequence[Hook], digests: Mapping[int, str], texts: Mapping[str, tuple[DiscoveredFile, str]], data: Path
) -> list[Problem]:
    """Record everything that is there; where an earlier record was deleted, say what is taken for known."""
    path = record_path(data)
    in_home = [text for file, text in texts.values() if file.location.root is Root.HOME]
    was_missing = os.path.lexists(path) or any("hookline hook" in text or LAUNCHER in text for text in in_home)
    entries = tuple(sorted(set(digests.values())))
    _write(data, KnownEntries(made_at=time.time(), entries=entries, was_missing=was_missing))
    if not was_missing:
        return []
    names = ", ".join(f'"{hook.id}"' for hook in hooks if id(hook) in digests) or "none"
    why = (
        "the record of the hooks in your home that Hookline knows was missing, although Hookline is installed; it was "
        f"made anew, and what is there now counts as known: {names}. Look at them with `hookline list`"
    )
    return [Problem(str(path), 0, why, Severity.WARNING)]


def _find_own_edits(
    wanted: Collection[str], files: Sequence[tuple[DiscoveredFile, str]], data: Path, *, read: Read
) -> set[str]:
    """Return which of the wanted entries a command of Hookline wrote: they are in a text after it, and not before."""
    journal = UndoLog(data)
    by_path = {file.path: file for file, _ in files}
    by_path |= {str(Path(path).resolve()): file for path, file in by_path.items()}
    found: set[str] = set()
    for entry in journal.entries():
        for step in entry.steps:
            file = by_path.get(step.path)
            if file is None:
                continue
            with suppress(ConfigError):
                texts = [
                    (journal.read_blob(name) or b"").decode("utf-8", "replace") for name in (step.before, step.after)
                ]
                before, after = ({digest_entry(hook) for hook in read(text, file)} if text else set() for text in texts)
                found |= (after - before) & set(wanted)
    return found


def _write(data: Path, record: KnownEntries) -> None:
    """Write the record; where nothing can be written, each load makes its own."""
    with suppress(OSError):
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(record_path(data), json_codec.dump(record), mode=0o600)
