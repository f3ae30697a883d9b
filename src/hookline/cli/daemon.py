"""`hookline daemon`: the program that answers agents without starting a Python for each call."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from hookline.bridge.daemon.client import NoDaemonError, ask
from hookline.bridge.daemon.place import Place, place_of
from hookline.bridge.daemon.waking import IDLE, spawn
from hookline.cli._output import complain, counted, say, say_json
from hookline.cli._times import ago, span
from hookline.errors import EngineError, StoreError

HELP: Final = "start, stop and look at the program that answers agents without starting a Python for each call"
EXAMPLE: Final = "hookline daemon status"

_PATIENCE: Final = 30.0  # seconds for it to come, or to go
_PAUSE: Final = 0.02
_LINES: Final = 50
_MEGABYTE: Final = 1024 * 1024


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="say whether it runs, since when, and what it did")
    status.add_argument("--json", action="store_true", help="print JSON")
    start = actions.add_parser("start", help="start it in the background; the launcher does so by itself")
    stop = actions.add_parser("stop", help="have it answer the calls that run, and end")
    stop.add_argument("--json", action="store_true", help="print JSON")
    actions.add_parser("restart", help="stop it and start it again")
    log = actions.add_parser("log", help="show what it wrote down")
    log.add_argument("-n", "--lines", type=_count, default=_LINES, metavar="N", help=f"the last N lines ({_LINES})")
    log.add_argument("-f", "--follow", action="store_true", help="go on showing what is added")
    run = actions.add_parser("run", help="be it, in the foreground")
    for one in (start, run):
        one.add_argument(
            "--idle",
            type=_seconds,
            default=IDLE,
            metavar="SECONDS",
            help=f"end after so long without a call ({IDLE:.0f})",
        )


def run(args: argparse.Namespace) -> int:
    """Do what was asked for."""
    if os.name == "nt":
        raise EngineError("there is no daemon on Windows: every call is answered by a program of its own")
    return _ACTIONS[args.action](args, place_of(os.environ))


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if 0 < number < float("inf"):
        return number
    raise argparse.ArgumentTypeError(f'"{text}" is no number of seconds above 0')


def _count(text: str) -> int:
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f'"{text}" is no number of lines')


def _asked(place: Place, word: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(ask(place, ("daemon", word)).stdout, type=dict[str, object])
    except msgspec.DecodeError:
        raise NoDaemonError("it said something else") from None


def _status(args: argparse.Namespace, place: Place) -> int:
    try:
        found = _asked(place, "status")
    except NoDaemonError as problem:
        if args.json:
            say_json({"running": False, "reason": str(problem), "socket": str(place.socket)})
        else:
            say(f"not running: {problem}")
        return 1
    if args.json:
        say_json({"running": True, **found})
        return 0
    memory = int(str(found["memory"])) // _MEGABYTE
    since = float(str(found["started"]))
    say(f"running since {ago(since)}: process {found['pid']}, hookline {found['version']}, {memory} MB")
    calls = counted(int(str(found["answered"])), "call")
    projects = counted(int(str(found["projects"])), "project")
    say(f"answered {calls}, left {found['declined']} to others, {found['under_way']} under way")
    say(f"open: {projects}; it listens at {found['socket']}")
    if found.get("http"):
        say(f"agents may call {found['http']}, so it does not end when nobody does")
    return 0


def _start(args: argparse.Namespace, place: Place) -> int:
    try:
        found = _asked(place, "status")
        say(f"already running: process {found['pid']}")
    except NoDaemonError:
        found = _arrived(place, _started(place, args.idle))
        say(f"started: process {found['pid']}")
    return 0


def _started(place: Place, idle: float) -> int:
    place.made()
    try:
        return spawn(sys.executable, os.environ, log=str(place.log), words=("--idle", str(idle)))
    except OSError as problem:
        raise StoreError(f"no daemon can be started that writes to {place.log}: {problem.strerror}") from None


def _arrived(place: Place, child: int) -> dict[str, object]:
    until = time.monotonic() + _PATIENCE
    why = f"it did not answer within {span(_PATIENCE)}"
    while time.monotonic() < until:
        try:
            return _asked(place, "status")
        except NoDaemonError as problem:
            if _fell_over(child):
                why = str(problem)
                break
        time.sleep(_PAUSE)
    raise StoreError(f"the daemon did not start: {why}; `hookline daemon log` says more")


def _fell_over(child: int) -> bool:
    """Say whether a daemon that was to come has failed; one that finds another on its way ends in peace."""
    try:
        return os.waitpid(child, os.WNOHANG)[1] != 0
    except ChildProcessError:
        # it has ended, and that is known
        return False


def _stop(args: argparse.Namespace, place: Place) -> int:
    try:
        found = _asked(place, "stop")
    except NoDaemonError as problem:
        if getattr(args, "json", False):
            say_json({"stopped": False, "reason": str(problem)})
        else:
            say(f"not running: {problem}")
        return 0
    until = time.monotonic() + _PATIENCE
    pid = int(str(found["pid"]))
    while time.monotonic() < until and _lives(pid):
        time.sleep(_PAUSE)
    is_gone = not _lives(pid)
    if getattr(args, "json", False):
        say_json({"stopped": is_gone, "pid": pid})
    else:
        say(f"stopped: process {pid}" if is_gone else f"process {pid} ends when its last call is answered")
    return 0


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    try:
        # one that has ended and that nobody has taken note of
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return Path("/proc/self").exists() is False


def _restart(args: argparse.Namespace, place: Place) -> int:
    _stop(args, place)
    args.idle = IDLE
    return _start(args, place)


def _log(args: argparse.Namespace, place: Place) -> int:
    try:
        with place.log.open("rb") as opened:
            lines = opened.read().decode("utf-8", "replace").splitlines()
            for line in lines[len(lines) - args.lines if args.lines < len(lines) else 0 :]:
                say(line)
            while args.follow:
                line = opened.readline().decode("utf-8", "replace")
                if line:
                    say(line.rstrip("\n"))
                else:
                    if os.fstat(opened.fileno()).st_size < opened.tell():
                        # it was long, and has begun anew
                        opened.seek(0)
                    time.sleep(0.2)
    except OSError as problem:
        complain(f"hookline: {place.log}: {problem.strerror}: no daemon has run yet")
        return 1
    return 0


def _run(args: argparse.Namespace, place: Place) -> int:
    from hookline.bridge.daemon.life import run as live  # noqa: PLC0415 - the others only talk to it

    return live(place, idle=args.idle)


_ACTIONS: Final[Mapping[str, Callable[[argparse.Namespace, Place], int]]] = {
    "status": _status,
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "log": _log,
    "run": _run,
}
