"""Check installed entries: run each entry of ours as the agent would, and see whether the call arrives."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.bridge.call import PROBE_VARIABLE, event_from_name, new_probe, read_reports
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError, EngineError
from hookline.hosts import HOSTS, http_endpoint, status
from hookline.hosts.backup import load_backup
from hookline.hosts.command_line import POLICIES, command_line, command_words, find_launcher
from hookline.hosts.host import HostEnvironment, Scope
from hookline.hosts.status import Obstacle, SettingsFile
from hookline.model.event import EventName, Session
from hookline.model.hook import Hook
from hookline.model.installed_entry import InstalledEntry

GONE: Final = " is gone: "  # stands before the program

_PATIENCE: Final = 60.0  # seconds
_AT_ONCE: Final = 4
_SHOWN: Final = 300  # characters of what a program complained
_NOT_FOUND: Final = 127

_TOOLS: Final = frozenset(
    {EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED, EventName.PERMISSION_REQUEST}
)
# agents that run one file per event
_OWN_FILES: Final = frozenset({"cline"})
# before our words in a plugin of another language, which starts us without a shell
_IN_COMMENTS: Final = "// "
# the shell by which agents run a command, if not sh
_SHELLS: Final[Mapping[str, str]] = {"gemini-cli": "bash", "copilot-cli": "bash"}


class EntryCheck(Struct, frozen=True, kw_only=True):
    """The check of one entry: whether its call reached us, and why not; `called` if it is a URL rather than a command."""

    host: str
    event: str
    path: str
    arrived: bool
    why: str = ""
    called: bool = False


class AgentCheck(Struct, frozen=True, kw_only=True):
    """The check of one agent: its entries, obstacles that keep the agent from running them, unreadable settings."""

    host: str
    tried: tuple[EntryCheck, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    problems: tuple[str, ...] = ()


def check_agents(around: HostEnvironment) -> Iterator[AgentCheck]:
    """Check every agent whose settings have entries of ours."""
    for name, host in HOSTS.items():
        files = status.find_settings(host, around, others=False)
        entries = [(file, entry) for file in files for entry in file.ours if entry.host == name]
        obstacles = tuple(status.find_obstacles(host, around, ask=True))
        # settings that cannot be read any more have lost our entries
        is_damaged = any(file.problem and load_backup(around.data, file.path) is not None for file in files)
        if not entries and not obstacles and not is_damaged:
            continue
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            whys = pool.map(lambda pair: _find_why(pair[0], pair[1], around), entries)
            tried = tuple(
                EntryCheck(host=name, event=entry.event, path=file.path, arrived=not why, why=why, called=entry.is_url)
                for (file, entry), why in zip(entries, whys, strict=True)
            )
        yield AgentCheck(
            host=name,
            tried=tried,
            obstacles=obstacles,
            problems=tuple(f"{file.path}: {file.problem}" for file in files if file.problem),
        )


def _find_why(file: SettingsFile, entry: InstalledEntry, around: HostEnvironment) -> str:
    """Run the command of an entry with a probe, or call its URL; return why the call did not arrive, empty when it did."""
    if entry.is_url:
        return _call_url(file, entry, around)
    command = _list_words(file, entry)
    if not command:
        return "it is in this project and is not what Hookline writes there, so it was not tried"
    try:
        with new_probe(around.data) as token:
            done = subprocess.run(
                command,
                input=_make_payload(entry, around.project),
                env={**around.environ, PROBE_VARIABLE: token},
                cwd=around.project,
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
            )
            reports = read_reports(around.data, token)
    except subprocess.TimeoutExpired:
        return f"it did not answer within {_PATIENCE:.0f} seconds"
    except (OSError, ValueError) as problem:
        return f"it cannot be run: {problem}"
    if reports:
        return "" if reports[0].startswith(f"{entry.host} ") else f"it was not understood: {reports[0]}"
    return _find_reason(entry, done)


def _call_url(file: SettingsFile, entry: InstalledEntry, around: HostEnvironment) -> str:
    """Call the URL of an entry with a probe and its headers."""
    if file.scope != Scope.USER:
        return "it is not in your own settings, where Hookline writes URLs, so it was not tried"
    from http.client import HTTPConnection, HTTPException  # noqa: PLC0415 - most agents have no URL of ours

    port, _, target = entry.command.removeprefix("http://127.0.0.1:").partition("/")
    try:
        headers = http_endpoint.read_headers(file.path, entry.command)
        with new_probe(around.data) as token:
            connection = HTTPConnection("127.0.0.1", int(port), timeout=_PATIENCE)
            try:
                connection.request(
                    "POST", f"/{target}", _make_payload(entry, around.project), {**headers, http_endpoint.CANARY: token}
                )
                answer = connection.getresponse()
                body = answer.read(_SHOWN).decode("utf-8", "replace").strip()
            finally:
                connection.close()
            reports = read_reports(around.data, token)
    except TimeoutError:
        return f"it did not answer within {_PATIENCE:.0f} seconds"
    except (OSError, ValueError, HTTPException, ConfigError) as problem:
        return f"there is no answer at port {port} ({problem}); `hookline daemon status` says whether there is a daemon"
    if reports:
        return "" if reports[0].startswith(f"{entry.host} ") else f"it was not understood: {reports[0]}"
    return f"the program that answers at port {port} says {answer.status}{f': {body}' if body else ''}"


def _list_words(file: SettingsFile, entry: InstalledEntry) -> list[str]:
    """Return the words that the agent runs; of an entry in a project, which a stranger may have written, only if it is ours."""
    if file.scope in {Scope.PROJECT, Scope.LOCAL}:
        launcher = find_launcher(sys.executable) if entry.launcher else ""
        if entry.policy not in POLICIES or launcher != entry.launcher:
            return []
        plain = command_words(entry.host, entry.event, python=sys.executable, policy=entry.policy, launcher=launcher)
        whole = command_line(entry.host, entry.event, python=sys.executable, policy=entry.policy, launcher=launcher)
        is_exact = entry.command in {whole, f"{_IN_COMMENTS}{shlex.join(plain)}", f"exec {whole}"}
        return list(plain) if is_exact else []
    if entry.host in _OWN_FILES:
        return [file.path]
    if entry.command.startswith(_IN_COMMENTS):
        return shlex.split(entry.command.removeprefix(_IN_COMMENTS))
    if os.name == "nt":
        return ["cmd", "/c", entry.command]
    return [_SHELLS.get(entry.host, "sh"), "-c", entry.command]


def _make_payload(entry: InstalledEntry, project: Path) -> bytes:
    """Return a payload that the agent might send; its content does not matter."""
    dialect = DIALECTS[entry.host]
    event = replace(event_from_name(dialect, entry.event), session=Session(id="hookline-doctor"), cwd=str(project))
    if event.name in _TOOLS:
        event = replace(event, tool="shell", args={"command": "true"})
    try:
        return dialect.encode_event(event, Hook(id="doctor", kind="host", native_event=entry.event)).body
    except (EngineError, KeyError, ValueError):
        return b"{}\n"


def _find_reason(entry: InstalledEntry, done: "subprocess.CompletedProcess[bytes]") -> str:
    """Return why the call of a command that ran did not reach us."""
    if entry.launcher and not os.access(entry.launcher, os.X_OK):
        return f"its launcher{GONE}{entry.launcher}"
    if os.path.isabs(entry.python) and not os.access(entry.python, os.X_OK):  # noqa: PTH117 - a text of a settings file
        return f"its Python{GONE}{entry.python}"
    with_us = [entry.python, "-E", "-P", "-c", "import hookline.cli.hook"]
    try:
        found = subprocess.run(with_us, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        return f"its Python cannot be run: {problem}"
    if found.returncode:
        last = found.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        why = last[:_SHOWN] or f"it ended with {found.returncode}"
        return f"{entry.python} has no hookline that can answer: {why}"
    output = done.stderr.decode("utf-8", "replace").strip()[:_SHOWN]
    missing = "; a program in it is not there" if done.returncode == _NOT_FOUND else ""
    return f"it ended with {done.returncode} and did not reach us{missing}{f': {output}' if output else ''}"
