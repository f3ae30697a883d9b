"""Try out what stands in the settings of agents: run each entry of ours as the agent would, and see what arrives."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.bridge import canary
from hookline.bridge.call import moment
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError, EngineError
from hookline.hosts import HOSTS, status, urls
from hookline.hosts.host import Around, Scope
from hookline.hosts.launcher import native
from hookline.hosts.line import POLICIES, line, words
from hookline.hosts.status import SettingsFile
from hookline.model.event import EventName
from hookline.model.hook import Hook
from hookline.model.ours import Entry
from hookline.model.session import Session

GONE: Final = " is gone: "  # stands before the program

_PATIENCE: Final = 60.0  # seconds
_AT_ONCE: Final = 4
_SHOWN: Final = 300  # characters of what a program complained
_NOT_FOUND: Final = 127

_TOOLS: Final = frozenset(
    {EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED, EventName.PERMISSION_REQUEST}
)
# a file for each event, which the agent runs itself
_OWN_FILES: Final = frozenset({"cline"})
# a program in another language, which starts us without a shell; our words stand in its comments
_IN_COMMENTS: Final = "// "
# how agents run a command; most of them with the shell that is everywhere
_SHELLS: Final[Mapping[str, str]] = {"gemini-cli": "bash", "copilot-cli": "bash"}


class Tried(Struct, frozen=True, kw_only=True):
    """One entry that was tried: whether it reached us, and why not; whether a URL was called, or something was run."""

    host: str
    event: str
    path: str
    arrived: bool
    why: str = ""
    called: bool = False


class Standing(Struct, frozen=True, kw_only=True):
    """How it stands with one agent: what was tried, what keeps the agent from running it, what cannot be read."""

    host: str
    tried: tuple[Tried, ...] = ()
    obstacles: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def try_out(around: Around) -> Iterator[Standing]:
    """Try every agent whose settings have us."""
    for name, host in HOSTS.items():
        files = status.found(host, around, others=False)
        entries = [(file, entry) for file in files for entry in file.ours if entry.host == name]
        if not entries:
            continue
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            tried = tuple(pool.map(partial(_fire, around), entries))
        yield Standing(
            host=name,
            tried=tried,
            obstacles=tuple(status.obstacles(host, around)),
            problems=tuple(f"{file.path}: {file.problem}" for file in files if file.problem),
        )


def _fire(around: Around, what: tuple[SettingsFile, Entry]) -> Tried:
    file, entry = what
    why = _called(file, entry, around) if entry.is_url else _fired(file, entry, around)
    return Tried(host=entry.host, event=entry.event, path=file.path, arrived=not why, why=why, called=entry.is_url)


def _fired(file: SettingsFile, entry: Entry, around: Around) -> str:
    """Run one entry with a canary; say why it did not arrive, empty when it did."""
    command = _words(file, entry)
    if not command:
        return "it stands in this project and is not what we write there, so it was not tried"
    try:
        with canary.released(around.data) as token:
            done = subprocess.run(
                command,
                input=_payload(entry, around.project),
                env={**around.environ, canary.MARK: token},
                cwd=around.project,
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
            )
            heard = canary.heard(around.data, token)
    except subprocess.TimeoutExpired:
        return f"it did not answer within {_PATIENCE:.0f} seconds"
    except (OSError, ValueError) as problem:
        return f"it cannot be run: {problem}"
    if heard:
        return "" if heard[0].startswith(f"{entry.host} ") else f"it was not understood: {heard[0]}"
    return _reason(entry, done)


def _called(file: SettingsFile, entry: Entry, around: Around) -> str:
    """Call one URL with a canary, and the headers that stand beside it; say why it did not arrive."""
    if file.scope != Scope.USER:
        return "it does not stand in your own settings, where we write URLs, so it was not tried"
    from http.client import HTTPConnection, HTTPException  # noqa: PLC0415 - most agents have no URL of ours

    port, _, target = entry.command.removeprefix("http://127.0.0.1:").partition("/")
    try:
        headers = urls.headers(file.path, entry.command)
        with canary.released(around.data) as token:
            line = HTTPConnection("127.0.0.1", int(port), timeout=_PATIENCE)
            try:
                line.request("POST", f"/{target}", _payload(entry, around.project), {**headers, urls.CANARY: token})
                answer = line.getresponse()
                said = answer.read(_SHOWN).decode("utf-8", "replace").strip()
            finally:
                line.close()
            heard = canary.heard(around.data, token)
    except TimeoutError:
        return f"it did not answer within {_PATIENCE:.0f} seconds"
    except (OSError, ValueError, HTTPException, ConfigError) as problem:
        return f"nobody answers at port {port} ({problem}); `hookline daemon status` says whether there is a daemon"
    if heard:
        return "" if heard[0].startswith(f"{entry.host} ") else f"it was not understood: {heard[0]}"
    return f"whoever answers at port {port} says {answer.status}{f': {said}' if said else ''}"


def _words(file: SettingsFile, entry: Entry) -> list[str]:
    """Give what the agent runs; nothing where a project could have made it up."""
    if file.scope in {Scope.PROJECT, Scope.LOCAL}:
        return _own_words(entry)
    if entry.host in _OWN_FILES:
        return [file.path]
    if entry.command.startswith(_IN_COMMENTS):
        return shlex.split(entry.command.removeprefix(_IN_COMMENTS))
    if os.name == "nt":
        return ["cmd", "/c", entry.command]
    return [_SHELLS.get(entry.host, "sh"), "-c", entry.command]


def _own_words(entry: Entry) -> list[str]:
    """Give the command of an entry in a project, which anybody may have written: only if it is exactly ours."""
    if entry.policy not in POLICIES:
        return []
    launcher = native(sys.executable) if entry.launcher else ""
    if launcher != entry.launcher:
        return []
    plain = words(entry.host, entry.event, python=sys.executable, policy=entry.policy, launcher=launcher)
    whole = line(entry.host, entry.event, python=sys.executable, policy=entry.policy, launcher=launcher)
    if entry.command in {whole, f"{_IN_COMMENTS}{shlex.join(plain)}", f"exec {whole}"}:
        return list(plain)
    return []


def _payload(entry: Entry, project: Path) -> bytes:
    """Make a call that the agent might make, in its words; what it is about does not matter."""
    dialect = DIALECTS[entry.host]
    event = replace(moment(dialect, entry.event), session=Session(id="hookline-doctor"), cwd=str(project))
    if event.name in _TOOLS:
        event = replace(event, tool="shell", args={"command": "true"})
    try:
        return dialect.encode_event(event, Hook(id="doctor", kind="host", native_event=entry.event)).body
    except (EngineError, KeyError, ValueError):
        return b"{}\n"


def _reason(entry: Entry, done: "subprocess.CompletedProcess[bytes]") -> str:
    """Find out why a command that ran did not reach us."""
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
    said = done.stderr.decode("utf-8", "replace").strip()[:_SHOWN]
    missing = "; a program in it is not there" if done.returncode == _NOT_FOUND else ""
    return f"it ended with {done.returncode} and did not reach us{missing}{f': {said}' if said else ''}"
