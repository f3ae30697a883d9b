"""What stands in the settings of agents now: our entries, and those of others."""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.config import edit
from hookline.config.journal import read_bytes
from hookline.errors import ConfigError
from hookline.hosts import HOSTS, urls
from hookline.hosts.host import Around, Host, Scope, Shape
from hookline.hosts.shapes import Script, census
from hookline.model.ours import Entry

_SYSTEM: Final = "system"


class SettingsFile(Struct, frozen=True, kw_only=True):
    """One file that an agent takes hooks from; `of` is the agent whose settings it is."""

    path: str
    scope: str
    of: str
    ours: tuple[Entry, ...] = ()
    foreign: int = 0
    problem: str = ""


def found(host: Host, around: Around, *, others: bool = True) -> list[SettingsFile]:
    """List every file with hooks that an agent reads: its own, and those of the agents whose settings it runs."""
    files = list(_own(host, around))
    for name in host.spec.runs_files_of if others else ():
        files += _own(HOSTS[name], around) if name in HOSTS else ()
    return files


def obstacles(host: Host, around: Around) -> list[str]:
    """Say what in an agent's settings keeps it from running ours, where they are installed."""
    files = [file for file in found(host, around, others=False) if file.ours]
    said = [
        f"{program}, which ours in {file.path} run, is gone; `hookline install {host.name}` renews them"
        for file in files
        for program in dict.fromkeys(each for entry in file.ours for each in (entry.launcher, entry.python) if each)
        if not os.access(program, os.X_OK)
    ]
    for file in files:
        called = [entry.command for entry in file.ours if entry.is_url]
        if called and (why := urls.obstacle(around.data, file.path, called)):
            said.append(f"{why}; `hookline install {host.name} --http` renews them")
        if called and not _is_allowed(host, around, called[0]):
            said.append(
                f"settings of {host.title} list the URLs that hooks may call, and ours in {file.path} are not there"
            )
    for path in _settings(host, around):
        value = _value(path)
        for pointer, off in host.switches:
            if files and value is not None and edit.at(value, pointer) == off:
                said.append(f"{path} switches all hooks of {host.title} off ({'.'.join(pointer)})")
    if host.approval is not None:
        for file in files:
            path, shape = host.approval(host.root(Scope.USER, around), Path(file.path), _text(Path(file.path)))
            if not _is_approved(shape, path):
                said.append(f"{host.title} does not run ours in {file.path} before you approve them there: /hooks")
    return said


def _is_allowed(host: Host, around: Around, url: str) -> bool:
    """Say whether an agent may call a URL: whatever no settings list is allowed, and so is what one of them lists."""
    system = [path for pattern in host.system for path in _paths(Path("/"), pattern.removeprefix("/"))]
    values = [_value(path) for path in (*_settings(host, around), *system)]
    lists = [edit.at(value, pointer) for value in values for pointer in host.url_lists]
    patterns = [pattern for found in lists if isinstance(found, list) for pattern in found]
    is_limited = any(isinstance(found, list) for found in lists)
    return not is_limited or any(isinstance(one, str) and fnmatchcase(url, one) for one in patterns)


def _is_approved(shape: Shape, path: Path) -> bool:
    try:
        return shape.holds(_text(path), (), path=str(path))
    except ConfigError:
        return False


def _settings(host: Host, around: Around) -> Iterator[Path]:
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


def _own(host: Host, around: Around) -> Iterator[SettingsFile]:
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
    """Look into one file; one without a hook is not worth a line."""
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


def _entries(host: Host, text: str, path: str) -> tuple[tuple[Entry, ...], int]:
    if isinstance(host.shape, Script):
        return host.shape.entries(text, path=path)
    ours, foreign = host.shape.entries(text, path=path)
    if not ours and not foreign:
        # settings that are not the file that ours go into have their hooks under the usual key
        return census(edit.value_of(text, path=path), ("hooks",))
    return ours, foreign
