"""Inspect agents: which are on this machine, and in their settings our entries, entries of others, and obstacles."""

import json
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
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
from hookline.hosts.drift import SYSTEM, find_drift, list_files
from hookline.hosts.host import Host, HostEnvironment, OwnedFile, Scope, count_entries
from hookline.model.installed_entry import InstalledEntry, parse_entry

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
    owners = [host, *(HOSTS[name] for name in host.spec.runs_files_of if others and name in HOSTS)]
    files = (_read(owner, path, scope) for owner in owners for path, scope in list_files(owner, around))
    return [file for file in files if file is not None]


def find_installed(around: HostEnvironment) -> list[Host]:
    """Return the agents with entries of Hookline in their settings."""
    return [host for host in HOSTS.values() if any(file.ours for file in find_settings(host, around, others=False))]


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
    said += (Obstacle(text, fix, is_error=False) for text, fix in find_drift(host, around))
    if not files:
        return said
    said += [*_find_refused(host, around, files, ask=ask), *_find_switches(host, around, files)]
    if host.approval is not None:
        for file in files:
            path, hashes = host.approval(host.root(Scope.USER, around), Path(file.path), _text(file.path))
            try:
                is_approved = acceptance.are_approved(_text(str(path)), hashes, path=str(path))
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
            text = _text(path)
            try:
                there = {entry.event for entry in _find_entries(host, text, path)[0]} if text else set()
            except ConfigError:
                # this is said in other words
                continue
            if absent := [event for event in expected if event not in there]:
                missing[path] = absent
    return missing


def recorded_events(host: Host, scope: Scope, around: HostEnvironment) -> Iterator[tuple[str, tuple[str, ...]]]:
    """List the files of a scope that ours were written to, with the events that belong there."""
    for path in host.settings_paths(scope, around):
        kept = load_backup(around.data, path)
        if kept is not None:
            yield path, kept.events


def _find_missing(host: Host, around: HostEnvironment) -> Iterator[Obstacle]:
    """Compare settings with what was installed, event by event."""
    scopes = {path: scope for scope in host.files for path in host.settings_paths(scope, around)}
    for path, events in find_missing_events(host, around).items():
        text = f"{path} has no entry of ours at {', '.join(events)} any more, though it was installed there"
        forget = f"`hookline uninstall {host.name}{_scope_words(scopes[path])}` forgets it"
        yield Obstacle(text, f"{_install_command(host, scopes[path])} puts it back, {forget}")
    for path, scope in scopes.items():
        text = _text(path)
        again = f"{_install_command(host, scope)} writes it anew"
        if isinstance(host.shape, OwnedFile):
            kept = load_backup(around.data, path)
            is_ours = bool(host.shape.find_entries(text, path=path)[0])
            if kept is not None and is_ours and kept.after != digest(read_bytes(path)):
                yield Obstacle(f"{path} is not as it was installed", again)
            if is_ours and host.has_programs(scope) and not os.access(path, os.X_OK):
                yield Obstacle(f"{path} cannot be executed", again)
            continue
        with suppress(ConfigError):
            for event, what in host.shape.find_altered(text, path=path, seconds=host.seconds):
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
        if not called:
            continue
        if why := http_endpoint.find_endpoint_problem(around.data, file.path, called):
            yield Obstacle(why, f"`hookline install {host.name} --http` renews them")
        if Path(file.path).stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            text = f"{file.path} has the token of our daemon, and others on this machine can read it"
            yield Obstacle(text, f"chmod go= {file.path}", is_error=False)
        # any URL may be called unless settings list those that may
        values = [_value(path) for path, _ in list_files(host, around)]
        lists = [edit.value_at(value, pointer) for value in values for pointer in host.url_lists]
        patterns = [pattern for found in lists if isinstance(found, list) for pattern in found]
        is_limited = any(isinstance(found, list) for found in lists)
        if is_limited and not any(isinstance(one, str) and fnmatchcase(called[0], one) for one in patterns):
            yield Obstacle(
                f"settings of {host.title} list the URLs that hooks may call, and ours in {file.path} are not there",
                f"add {called[0].partition('?')[0]}* to {'.'.join(host.url_lists[0])}",
            )


def _find_refused(
    host: Host, around: HostEnvironment, files: Sequence[SettingsFile], *, ask: bool
) -> Iterator[Obstacle]:
    """Read the settings as strictly as the agent does."""
    ours = {file.path for file in files}
    for path in dict.fromkeys(path for path, scope in list_files(host, around) if scope != SYSTEM):
        raw = read_bytes(path) if path.endswith(".json") else None
        if raw is None or (path not in ours and not host.strictness.is_known):
            continue
        # only hooks have to be as the agent wants them in the file that is all about hooks
        reading = host.strictness if path in ours else replace(host.strictness, find_faults=None, ask=None)
        try:
            acceptance.check(raw.decode("utf-8", "replace"), reading, path=path, title=host.title, name=host.name)
        except ConfigError as problem:
            yield Obstacle(str(problem), is_error=path in ours)
            continue
        if not ask or path not in ours:
            continue
        for objection in acceptance.ask_program(
            host.programs, reading, raw, environ=around.environ, project=around.project
        ):
            what = f"{host.title} {reading.consequence}" if objection.whole else f"{host.title} ignores this entry"
            yield Obstacle(f"{path}: {objection.reason}: {what}", "mend it there", is_error=objection.whole)


def _find_switches(host: Host, around: HostEnvironment, files: Sequence[SettingsFile]) -> Iterator[Obstacle]:
    """Find settings that switch hooks off: all of them, those that are not the administrator's, or ours by name."""
    listed = list(list_files(host, around))
    # the last file that says something wins
    read = [(path, scope, value) for path, scope in listed if (value := _value(path)) is not None]
    for pointer, off in host.switches:
        said = [(path, found) for path, _, value in read if (found := edit.value_at(value, pointer)) is not None]
        if said and said[-1][1] == off:
            what = f"{said[-1][0]} switches all hooks of {host.title} off ({'.'.join(pointer)})"
            yield Obstacle(what, f"take {'.'.join(pointer)} out of it")
    for path, scope, value in read:
        for pointer, only in host.managed_only if scope == SYSTEM else ():
            if edit.value_at(value, pointer) == only and any(file.scope != SYSTEM for file in files):
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
    return "" if scope in {Scope.USER, SYSTEM} else f" --scope {scope}"


def _value(path: str) -> object:
    try:
        return edit.value_of(_text(path), path=path)
    except ConfigError:
        return None


def _text(path: str) -> str:
    return (read_bytes(path) or b"").decode("utf-8", "replace")


def _read(host: Host, path: str, scope: str) -> SettingsFile | None:
    """Read one file; None where it has no hooks."""
    try:
        raw = read_bytes(path)
        ours, foreign = ((), 0) if raw is None else _find_entries(host, raw.decode("utf-8", "replace"), path)
    except ConfigError as problem:
        return SettingsFile(path=path, scope=scope, of=host.name, problem=problem.message)
    return SettingsFile(path=path, scope=scope, of=host.name, ours=ours, foreign=foreign) if ours or foreign else None


def _find_entries(host: Host, text: str, path: str) -> tuple[tuple[InstalledEntry, ...], int]:
    ours, foreign = host.shape.find_entries(text, path=path)
    if not ours and not foreign and not isinstance(host.shape, OwnedFile):
        # settings that are not the file that ours go into have their hooks under the usual key
        return count_entries(edit.value_of(text, path=path), ("hooks",))
    return ours, foreign


# which agents are on this machine: their program, its version, their folder of settings

_SECONDS: Final = 10
_LONGEST: Final = 40
# how far above a program the description of its package is looked for
_UP: Final = 4
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


class DetectedAgent(Struct, frozen=True, kw_only=True):
    """An agent on this machine; an editor may have a settings folder and no program on PATH."""

    program: str = ""
    version: str = ""
    folder: str = ""

    @property
    def is_there(self) -> bool:
        """Whether the agent seems to be installed."""
        return bool(self.program or self.folder)


def detect(hosts: Iterable[Host], around: HostEnvironment, *, versions: bool = True) -> Mapping[str, DetectedAgent]:
    """Look for agents, and ask their programs for their versions, all at the same time."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only the list of agents needs it

    path = around.environ.get("PATH", os.defpath)

    def detect_one(host: Host) -> tuple[str, DetectedAgent]:
        program = next((found for name in host.programs if (found := shutil.which(name, path=path))), "")
        folder = host.root(Scope.USER, around)
        # a program that a project brings along is not run to find out how old it is
        is_foreign = Path(os.path.realpath(program)).is_relative_to(os.path.realpath(around.project))
        version = _version(program, around.environ) if versions and program and not is_foreign else ""
        return host.name, DetectedAgent(program=program, version=version, folder=str(folder) if folder.is_dir() else "")

    chosen = list(hosts)
    with ThreadPoolExecutor(max_workers=len(chosen) or 1) as pool:
        return dict(pool.map(detect_one, chosen))


def _version(program: str, environ: Mapping[str, str]) -> str:
    """Find out the version of a program; one that does not say it, or takes too long, has none."""
    import subprocess  # noqa: PLC0415 - as above

    packaged = _package_version(program)
    if packaged:
        return packaged
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env=dict(environ),
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _NUMBER.search(done.stdout.decode("utf-8", "replace"))
    return found.group()[:_LONGEST] if found else ""


def _package_version(program: str) -> str:
    """Read the version from the package that a program came with: some take seconds to say it, and leave files behind.

    Empty where it came in another way.
    """
    name = Path(program).name
    for folder in list(Path(os.path.realpath(program)).parents)[:_UP]:
        try:
            package = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        match package:
            case {"version": str(version), "bin": dict(programs)} if name in programs:
                return version[:_LONGEST]
            case _:
                continue
    return ""
