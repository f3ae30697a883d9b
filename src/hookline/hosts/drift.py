"""Compare the hooks of others in the settings of agents with those that were there when Hookline was installed.

A program, or an agent, that adds a hook to the settings of an agent has it run with the next session. What was changed by
commands of Hookline is not reported, and neither is what the user accepted since.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from hookline import json_codec
from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.undo_log import UndoLog, read_bytes
from hookline.errors import ConfigError
from hookline.hosts.backup import ForeignHook, load_backup
from hookline.hosts.host import EventLists, Host, HostEnvironment, OwnedFile, Scope, find_commands
from hookline.model.installed_entry import parse_entry

SYSTEM: Final = "system"
_HOOKS: Final = "hooks"
_SHOWN: Final = 200  # characters of a command

HooksByFile = Mapping[str, tuple[ForeignHook, ...]]


def list_files(host: Host, around: HostEnvironment) -> Iterator[tuple[str, str]]:
    """List the files that an agent takes hooks from, with the scope of each; those for the whole machine come last."""
    patterns = [(host.root(scope, around), one, str(scope)) for scope, some in host.reads.items() for one in some]
    for root, pattern, scope in [*patterns, *((Path("/"), one.removeprefix("/"), SYSTEM) for one in host.system)]:
        for path in sorted(root.glob(pattern)) if "*" in pattern else [os.path.normpath(root / pattern)]:
            yield str(path), scope


def list_hooks(host: Host, scope: Scope, around: HostEnvironment) -> HooksByFile:
    """Return the hooks of others in the files of a scope; what cannot be read is left out."""
    found: dict[str, tuple[ForeignHook, ...]] = {}
    for path, of in list_files(host, around):
        if of == scope:
            with suppress(ConfigError):
                found[path] = _read_hooks(host, (read_bytes(path) or b"").decode("utf-8", "replace"), path)
    return found


def load_known(host: Host, scope: Scope, around: HostEnvironment) -> HooksByFile | None:
    """Return the hooks of others that the user knows of; None where Hookline is not installed."""
    kept = (load_backup(around.data, path) for path in host.settings_paths(scope, around))
    return next((one.others for one in kept if one is not None and one.others is not None), None)


def find_drift(host: Host, around: HostEnvironment) -> Iterator[tuple[str, str]]:
    """Find hooks of others that were added, changed or removed since: what happened, and what to do about it."""
    for scope in host.files:
        known = load_known(host, scope, around)
        if known is None:
            continue
        now = list_hooks(host, scope, around)
        for path in dict.fromkeys((*known, *now)):
            if path not in now and os.path.lexists(path):
                # it cannot be read, which is said in other words
                continue
            for text in _compare(host, path, known.get(path, ()), now.get(path, ()), around):
                yield (
                    f"{path} {text}",
                    f"undo it there if you did not want it; `hookline doctor --accept {host.name}` takes it as it is",
                )


def _compare(
    host: Host, path: str, known: tuple[ForeignHook, ...], now: tuple[ForeignHook, ...], around: HostEnvironment
) -> Iterator[str]:
    """Describe how the hooks of a file differ; an old and a new one of the same event are a change."""
    gone = [one for one in known if one not in now]
    new = [one for one in now if one not in known]
    if gone or new:
        added, removed = _find_own_edits(host, path, around)
        gone = [one for one in gone if one.digest not in removed]
        new = [one for one in new if one.digest not in added]
    since = "since Hookline was installed"
    for one in new:
        before = next((old for old in gone if old.at == one.at), None)
        if before is None:
            yield f"has a new hook{_name_event(one)} {since}: {one.command}"
            continue
        gone.remove(before)
        what = "other options" if before.command == one.command else f"was {before.command}"
        yield f"has a changed hook{_name_event(one)} {since}: {one.command} ({what})"
    for one in gone:
        yield f"has lost a hook{_name_event(one)} {since}: {one.command}"


def _name_event(hook: ForeignHook) -> str:
    return f" at {hook.at}" if hook.at else ""


def _find_own_edits(host: Host, path: str, around: HostEnvironment) -> tuple[set[str], set[str]]:
    """Return the digests of the hooks that commands of Hookline added to a file, and of those that they removed."""
    added: set[str] = set()
    removed: set[str] = set()
    for _, *texts in UndoLog(around.data).list_edits({path, os.path.realpath(path)}):
        with suppress(ConfigError):
            before, after = ({one.digest for one in _read_hooks(host, text, path)} for text in texts)
            added |= after - before
            removed |= before - after
    return added, removed


def _read_hooks(host: Host, text: str, path: str) -> tuple[ForeignHook, ...]:
    if isinstance(host.shape, OwnedFile):
        is_other = bool(text.strip()) and host.shape.mark not in text
        return (ForeignHook("", "the whole file", _digest(text)),) if is_other else ()
    value = edit.value_of(text, path=path)
    is_ours = Path(path).name == Path(host.files[Scope.USER]).name
    place = host.shape.at if isinstance(host.shape, EventLists) and is_ours else (_HOOKS,)
    base: KeyPath = () if not isinstance(host.shape, EventLists) else tuple(step for step in place if step != "{event}")
    commands = find_commands(edit.value_at(value, base), base)
    return tuple(_describe(value, pointer, command) for pointer, command in commands if parse_entry(command) is None)


def _describe(value: object, pointer: KeyPath, command: str) -> ForeignHook:
    # without the places in lists, which change when an entry before it goes
    at = ".".join(step for step in pointer if isinstance(step, str) and step != _HOOKS)
    shown = command if len(command) <= _SHOWN else f"{command[:_SHOWN]}…"
    return ForeignHook(at, shown, _digest([at, edit.value_at(value, pointer), _find_matcher(value, pointer)]))


def _find_matcher(value: object, pointer: KeyPath) -> object:
    groups = (edit.value_at(value, pointer[:size]) for size in range(len(pointer), 0, -1))
    return next((group["matcher"] for group in groups if isinstance(group, Mapping) and "matcher" in group), None)


def _digest(said: object) -> str:
    return hashlib.sha256(json_codec.dump(said)).hexdigest()
