"""`hookline daemon`: control the daemon, which answers agents without starting a Python for each call."""

import argparse
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from hookline.bridge.daemon_socket import IDLE, SocketDir, claim, find_socket_dir, spawn, usual_idle
from hookline.cli._command import JSON, TINY, CliCommand, argument, flag, number
from hookline.cli._output import format_ago, format_span, pluralise, print_error, print_line, render
from hookline.daemon.protocol import NoDaemonError, ask, end_hung, find_hung
from hookline.errors import EngineError, StoreError

_PATIENCE: Final = 30.0  # seconds for it to start or stop
_PAUSE: Final = 0.02
_LONGEST_ANSWER: Final = 5.0  # seconds until a daemon counts as hung
_LINES: Final = 50
_MEGABYTE: Final = 1024 * 1024


def _find_socket_dir() -> SocketDir:
    if os.name == "nt":
        raise EngineError("there is no daemon on Windows: every call is answered by a program of its own")
    return find_socket_dir(os.environ)


def _ask(place: SocketDir, word: str) -> dict[str, object]:
    try:
        answer = ask(place, ("daemon", word), patience=_LONGEST_ANSWER)
        return msgspec.json.decode(answer.stdout, type=dict[str, object])
    except msgspec.DecodeError:
        raise NoDaemonError("it said something else") from None


def _status(args: argparse.Namespace) -> int:
    place = _find_socket_dir()
    try:
        status = _ask(place, "status")
    except NoDaemonError as problem:
        hung = find_hung(place, patience=_PAUSE)
        reason = f"process {hung} does not answer; `hookline daemon stop` ends it" if hung else str(problem)
        value = {"running": False, "reason": reason, "socket": str(place.socket), "hung": hung}
        render(args, value, f"hangs: {reason}" if hung else f"not running: {problem}")
        return 1
    memory = int(str(status["memory"])) // _MEGABYTE
    since = format_ago(float(str(status["started"])))
    calls = pluralise(int(str(status["answered"])), "call")
    projects = pluralise(int(str(status["projects"])), "project")
    lines = [
        f"running since {since}: process {status['pid']}, hookline {status['version']}, {memory} MB",
        f"answered {calls}, left {status['declined']} to others, {status['under_way']} under way",
        f"open: {projects}; it listens at {status['socket']}",
    ]
    if status.get("http"):
        lines.append(f"agents may call {status['http']}, so it also runs while there are no calls")
    return render(args, {"running": True, **status}, *lines)


def _start(args: argparse.Namespace) -> int:
    place = _find_socket_dir()
    try:
        print_line(f"already running: process {_ask(place, 'status')['pid']}")
    except NoDaemonError:
        place.create()
        try:
            child = spawn(sys.executable, os.environ, log=str(place.log), words=("--idle", str(args.idle)))
        except OSError as problem:
            raise StoreError(f"no daemon can be started that writes to {place.log}: {problem.strerror}") from None
        until, why = time.monotonic() + _PATIENCE, f"it did not answer within {format_span(_PATIENCE)}"
        while time.monotonic() < until:
            try:
                print_line(f"started: process {_ask(place, 'status')['pid']}")
            except NoDaemonError as problem:
                # one that finds another daemon exits with 0
                with suppress(ChildProcessError):  # an earlier call has seen its exit
                    if os.waitpid(child, os.WNOHANG)[1] != 0:
                        why = str(problem)
                        break
            else:
                return 0
            time.sleep(_PAUSE)
        raise StoreError(f"the daemon did not start: {why}; `hookline daemon log` says more") from None
    return 0


def _stop(args: argparse.Namespace) -> int:
    place = _find_socket_dir()
    try:
        pid = int(str(_ask(place, "stop")["pid"]))
    except NoDaemonError as problem:
        hung = find_hung(place, patience=_PAUSE)
        if hung:
            end_hung(hung)
        value = {"stopped": bool(hung), "reason": str(problem), **({"pid": hung} if hung else {})}
        text = f"stopped: process {hung}, which did not answer" if hung else f"not running: {problem}"
        return render(args, value, text)
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and _is_alive(pid):
        time.sleep(_PAUSE)
    is_gone = not _is_alive(pid)
    text = f"stopped: process {pid}" if is_gone else f"process {pid} ends when its last call is answered"
    return render(args, {"stopped": is_gone, "pid": pid}, text)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    try:
        # a zombie has ended
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return Path("/proc/self").exists() is False


def _restart(args: argparse.Namespace) -> int:
    _stop(args)
    args.idle = usual_idle(os.environ)
    return _start(args)


def _log(args: argparse.Namespace) -> int:
    place = _find_socket_dir()
    try:
        with place.log.open("rb") as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
            for line in lines[len(lines) - args.lines if args.lines < len(lines) else 0 :]:
                print_line(line)
            while args.follow:
                line = file.readline().decode("utf-8", "replace")
                if line:
                    print_line(line.rstrip("\n"))
                else:
                    if os.fstat(file.fileno()).st_size < file.tell():
                        # the daemon truncated it
                        file.seek(0)
                    time.sleep(0.2)
    except OSError as problem:
        print_error(f"hookline: {place.log}: {problem.strerror}: no daemon has run yet")
        return 1
    return 0


def _run(args: argparse.Namespace) -> int:
    place = _find_socket_dir()
    claimed = claim(place)
    if claimed is None:
        return 0
    # after the claim: this import takes long, and the launcher already waits at the socket
    from hookline.daemon.lifecycle import run as live  # noqa: PLC0415

    return live(place, claimed, idle=args.idle, auto=args.auto)


_IDLE: Final = argument(
    "--idle",
    f"end after so long without a call ({IDLE:.0f}, less in a build service)",
    type=number("number of seconds above 0", whole=False, least=TINY),
    default=usual_idle(os.environ),
    metavar="SECONDS",
)
COMMAND: Final = CliCommand(
    "start, stop and inspect the daemon, which answers agents without starting Python for each call",
    example="status",
    default_action="status",
    actions={
        "status": CliCommand("show whether it runs, since when, and what it did", JSON, run=_status),
        "start": CliCommand("start it in the background; the launcher does so by itself", _IDLE, run=_start),
        "stop": CliCommand("stop it after the calls that are running", JSON, run=_stop),
        "restart": CliCommand("stop it and start it again", run=_restart),
        "log": CliCommand(
            "show its log",
            argument(
                "-n --lines",
                f"the last N lines ({_LINES})",
                type=number("number of lines", least=0),
                default=_LINES,
                metavar="N",
            ),
            flag("-f --follow", "go on showing what is added"),
            example="--follow",
            run=_log,
        ),
        "run": CliCommand(
            "run it in the foreground",
            _IDLE,
            flag("--auto", "end where the settings want no daemon, as the launcher has it"),
            run=_run,
        ),
    },
)
