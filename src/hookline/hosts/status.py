"""Inspect the settings of agents: our entries, entries of others, and obstacles."""

import os
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.config import edit
from hookline.config.undo_log import read_bytes
from hookline.errors import ConfigError
from hookline.hosts import HOSTS, acceptance, http_endpoint
from hookline.hosts.backup import digest, load_backup
from hookline.hosts.codex_approvals import are_approved
from hookline.hosts.host import Host, HostEnvironment, Scope
from hookline.hosts.settings_shapes import OwnedFile, count_entries
from hookline.model.installed_entry import InstalledEntry, parse_entry

_SYSTEM: Final = "system"
# the name that entries have in agents that give them one
_NAME: Final = "hookline"


class SettingsFile(Struct, frozen=True, kw_only=True):
    """One file that an agent takes hooks from; `of` is the agent whose settings it is."""

    path: str
    scope: str
    of: str
    ours: tuple[InstalledEntry, ...] = ()
    foreign: int = 0
    problem: str = ""


def find_settings(host: Host, around: HostEnvironment, *, others: bool = True) -> list[SettingsFile]:
    """List every file with hooks that an agent reads: its own, and those of the agents whose settings it runs."""
    files = list(_own_files(host, around))
    for name in host.spec.runs_files_of if others else ():
        files += _own_files(HOSTS[name], around) if name in HOSTS else ()
    return files


class Obstacle(Struct, frozen=True):
    """One reason why an agent does not call Hookline; `fix` is usually a command."""

    text: str
    fix: str = ""
    is_error: bool = True

    def __str__(self) -> str:
        """Return the obstacle as one line."""
        return f"{self.text}; {self.fix}" if self.fix else self.text


def find_obstacles(host: Host, around: HostEnvironment, *, ask: bool = False, approvals: bool = True) -> list[Obstacle]:
    """Find out what keeps an agent from running ours, where they are installed; with `ask`, from the agent itself, too.

    Without `approvals`, the user wants to approve ours in the agent, and that this is still to be done is no error.
    """
    files = [file for file in find_settings(host, around, others=False) if file.ours]
    said = [*_find_missing(host, around), *_find_gone_programs(host, files), *_find_url_troubles(host, around, files)]
    if not files:
        return said
    said += [*_find_refused(host, around, files, ask=ask), *_find_switches(host, around, files)]
    if host.approval is not None:
        for file in files:
            path, hashes = host.approval(host.root(Scope.USER, around), Path(file.path), _text(Path(file.path)))
            try:
                is_approved = are_approved(_text(path), hashes, path=str(path))
            except ConfigError:
                is_approved = False
            if not is_approved:
                text = f"{host.title} does not run ours in {file.path} before you approve them there: /hooks"
                said.append(Obstacle(text, f"{_install_command(host, file.scope)} approves them", is_error=approvals))
    return said


def find_missing_events(host: Host, around: HostEnvironment) -> dict[str, list[str]]:
    """Find the events that an agent was to ask us about and that are not in its settings any more, by file."""
    missing: dict[str, list[str]] = {}
    for scope in host.files:
        for path, expected in recorded_events(host, scope, around):
            text = _text(Path(path))
            try:
                there = {entry.event for entry in _entries(host, text, path)[0]} if text else set()
            except ConfigError:
                # this is said in other words
                continue
            absent = [event for event in expected if event not in there]
            if absent:
                missing.setdefault(path, []).extend(absent)
    return missing


def recorded_events(host: Host, scope: Scope, around: HostEnvironment) -> Iterator[tuple[str, tuple[str, ...]]]:
    """List the files of a scope that ours were written to, with the events that belong there."""
    place = host.settings_path(scope, around)
    is_folder = host.files[scope].endswith("/")
    for path in [str(place / event) for event in host.events] if is_folder else [str(place)]:
        kept = load_backup(around.data, path)
        if kept is not None:
            # records of older versions do not name them
            yield path, kept.events or (() if is_folder else host.usual_events)


def _find_missing(host: Host, around: HostEnvironment) -> Iterator[Obstacle]:
    """Compare settings with what was installed, event by event."""
    places = {str(host.settings_path(scope, around)): scope for scope in host.files}
    for path, events in find_missing_events(host, around).items():
        scope = places.get(path) or next(scope for place, scope in places.items() if path.startswith(place))
        text = f"{path} has no entry of ours at {', '.join(events)} any more, though it was installed there"
        forget = f"`hookline uninstall {host.name}{_scope_words(scope)}` forgets it"
        yield Obstacle(text, f"{_install_command(host, scope)} puts it back, {forget}")
    for scope, place in ((scope, path) for path, scope in places.items()):
        for path in [place] if not host.files[scope].endswith("/") else [f"{place}/{event}" for event in host.events]:
            yield from _find_altered(host, scope, path, around)


def _find_altered(host: Host, scope: Scope, path: str, around: HostEnvironment) -> Iterator[Obstacle]:
    raw = read_bytes(path)
    kept = load_backup(around.data, path)
    if raw is None:
        return
    again = f"{_install_command(host, scope)} writes it anew"
    if isinstance(host.shape, OwnedFile):
        is_ours = bool(host.shape.find_entries(raw.decode("utf-8", "replace"), path=path)[0])
        if kept is not None and is_ours and kept.after != digest(raw):
            yield Obstacle(f"{path} is not as it was installed", again)
        if is_ours and host.files[scope].endswith("/") and not os.access(path, os.X_OK):
            yield Obstacle(f"{path} cannot be executed", again)
        return
    try:
        altered = host.shape.find_altered(raw.decode("utf-8", "replace"), path=path, seconds=host.seconds)
    except ConfigError:
        return
    for event, what in altered:
        yield Obstacle(f"our entry for {event} in {path} is not as it was installed: {what}", again)


def _find_gone_programs(host: Host, files: Sequence[SettingsFile]) -> Iterator[Obstacle]:
    for file in files:
        programs = dict.fromkeys(each for entry in file.ours for each in (entry.launcher, entry.python) if each)
        for program in programs:
            if not os.access(program, os.X_OK):
                text = f"{program}, which ours in {file.path} run, is gone"
                yield Obstacle(text, f"{_install_command(host, file.scope)} renews them")


def _find_url_troubles(host: Host, around: HostEnvironment, files: Sequence[SettingsFile]) -> Iterator[Obstacle]:
    for file in files:
        called = [entry.command for entry in file.ours if entry.is_url]
        if called and (why := http_endpoint.find_endpoint_problem(around.data, file.path, called)):
            yield Obstacle(why, f"`hookline install {host.name} --http` renews them")
        if called and Path(file.path).stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            text = f"{file.path} has the token of our daemon, and others on this machine can read it"
            yield Obstacle(text, f"chmod go= {file.path}", is_error=False)
        if called and not _is_allowed(host, around, called[0]):
            yield Obstacle(
                f"settings of {host.title} list the URLs that hooks may call, and ours in {file.path} are not there",
                f"add {called[0].partition('?')[0]}* to {'.'.join(host.url_lists[0])}",
            )


def _find_refused(
    host: Host, around: HostEnvironment, files: Sequence[SettingsFile], *, ask: bool
) -> Iterator[Obstacle]:
    """Read the settings as strictly as the agent does."""
    ours = {file.path for file in files}
    for path in dict.fromkeys(map(str, _settings(host, around))):
        raw = read_bytes(path) if edit.syntax_of(path) == "json" and path.endswith(".json") else None
        if raw is None or (path not in ours and not host.strictness.is_known):
            continue
        # only hooks have to be as the agent wants them in the file that is all about hooks
        reading = host.strictness if path in ours else replace(host.strictness, find_faults=None, ask=None)
        text = raw.decode("utf-8", "replace")
        why = acceptance.why_rejected(text, reading, path=path, title=host.title, name=host.name)
        if why:
            yield Obstacle(why, is_error=path in ours)
        elif ask and path in ours:
            for objection in acceptance.ask_program(
                host.programs, reading, raw, environ=around.environ, project=around.project
            ):
                what = f"{host.title} {reading.consequence}" if objection.whole else f"{host.title} ignores this entry"
                yield Obstacle(f"{path}: {objection.reason}: {what}", "mend it there", is_error=objection.whole)


def _find_switches(host: Host, around: HostEnvironment, files: Sequence[SettingsFile]) -> Iterator[Obstacle]:
    """Find settings that switch hooks off: all of them, those that are not the administrator's, or ours by name."""
    system = [path for pattern in host.system for path in _paths(Path("/"), pattern.removeprefix("/"))]
    # the last file that says something wins
    read = [(path, value) for path in (*_settings(host, around), *system) if (value := _value(path)) is not None]
    for pointer, off in host.switches:
        said = [(path, found) for path, value in read if (found := edit.value_at(value, pointer)) is not None]
        if said and said[-1][1] == off:
            what = f"{said[-1][0]} switches all hooks of {host.title} off ({'.'.join(pointer)})"
            yield Obstacle(what, f"take {'.'.join(pointer)} out of it")
    for path, value in read:
        for pointer, only in host.managed_only if path in system else ():
            if edit.value_at(value, pointer) == only and any(file.scope != _SYSTEM for file in files):
                what = f"{path} lets {host.title} run hooks of the administrator only ({'.'.join(pointer)})"
                yield Obstacle(what, "ask the administrator to add ours there")
        names = edit.value_at(value, host.disabled_names) if host.disabled_names else None
        for name in names if isinstance(names, list) else ():
            if name == _NAME or (isinstance(name, str) and parse_entry(name) is not None):
                what = f"{path} switches our hook off by name ({'.'.join(host.disabled_names)})"
                yield Obstacle(what, f"take {_NAME} out of the list, or type `/hooks enable {_NAME}` in {host.title}")


def _install_command(host: Host, scope: str) -> str:
    return f"`hookline install {host.name}{_scope_words(scope)}`"


def _scope_words(scope: str) -> str:
    return "" if scope in {Scope.USER, _SYSTEM} else f" --scope {scope}"


def _is_allowed(host: Host, around: HostEnvironment, url: str) -> bool:
    """Return whether an agent may call a URL: whatever no settings list is allowed, and so is what one of them lists."""
    system = [path for pattern in host.system for path in _paths(Path("/"), pattern.removeprefix("/"))]
    values = [_value(path) for path in (*_settings(host, around), *system)]
    lists = [edit.value_at(value, pointer) for value in values for pointer in host.url_lists]
    patterns = [pattern for found in lists if isinstance(found, list) for pattern in found]
    is_limited = any(isinstance(found, list) for found in lists)
    return not is_limited or any(isinstance(one, str) and fnmatchcase(url, one) for one in patterns)


def _settings(host: Host, around: HostEnvironment) -> Iterator[Path]:
    for scope, patterns in host.reads.items():
        for pattern in patterns:
            yield from _paths(host.root(scope, around), pattern)


def _value(path: Path) -> object:
    try:
        return edit.value_of(_text(path), path=str(path))
    except ConfigError:
        return None


def _text(path: Path) -> str:
    return (read_bytes(str(path)) or b"").decode("utf-8", "replace")


def _own_files(host: Host, around: HostEnvironment) -> Iterator[SettingsFile]:
    for scope, patterns in host.reads.items():
        root = host.root(scope, around)
        for pattern in patterns:
            for path in _paths(root, pattern):
                yield from _read(host, path, scope)
    for pattern in host.system:
        for path in _paths(Path("/"), pattern.removeprefix("/")):
            yield from _read(host, path, _SYSTEM)


def _paths(root: Path, pattern: str) -> list[Path]:
    return sorted(root.glob(pattern)) if "*" in pattern else [Path(os.path.normpath(root / pattern))]


def _read(host: Host, path: Path, scope: str) -> Iterator[SettingsFile]:
    """Read one file; a file without hooks is left out."""
    try:
        raw = read_bytes(str(path))
        if raw is None:
            return
        ours, foreign = _entries(host, raw.decode("utf-8", "replace"), str(path))
    except ConfigError as problem:
        yield SettingsFile(path=str(path), scope=scope, of=host.name, problem=problem.message)
        return
    if ours or foreign:
        yield SettingsFile(path=str(path), scope=scope, of=host.name, ours=ours, foreign=foreign)


def _entries(host: Host, text: str, path: str) -> tuple[tuple[InstalledEntry, ...], int]:
    if isinstance(host.shape, OwnedFile):
        return host.shape.find_entries(text, path=path)
    ours, foreign = host.shape.find_entries(text, path=path)
    if not ours and not foreign:
        # settings that are not the file that ours go into have their hooks under the usual key
        return count_entries(edit.value_of(text, path=path), ("hooks",))
    return ours, foreign
