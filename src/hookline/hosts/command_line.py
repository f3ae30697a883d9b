"""The command that an agent runs: Hookline, with a fallback answer for the case that it cannot run."""

import os
import shlex
import sys
import sysconfig
from typing import Final

from hookline.dialects import DIALECTS
from hookline.model.event import Ability, Event, EventName
from hookline.model.exchange import Answer
from hookline.model.installed_entry import LAUNCHER, PROVE, launcher_line
from hookline.model.names import EVENT_NAMES
from hookline.model.verdict import Decision, Outcome
from hookline.version import __version__

POLICIES: Final = ("block", "allow")

# Where a failure of ours may hold the agent up. The end of a turn is not among them: an agent that can never end its
# turn because we are gone is worse than a check that was missed.
_HELD_UP: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.BEFORE_AGENT})

_GONE: Final = (
    "hookline could not be run, so this is blocked; run hookline install again, or take the entries of hookline out of "
    "the settings of this agent"
)

# The shell of the agent passes these scripts on unchanged, fish too: they have no quote and no backslash but for one that
# stands for itself in all of them. A proven answer ends with 100 or 102; with anything else there was none. What is left
# of the event is read then, because some agents fail where it is not.
_SPARE: Final = 'cat >/dev/null;[ -z "$o" ]||printf "%s\\n" "$o";[ -z "$r" ]||printf "%s\\n" "$r" >&2;exit $c'
# The launcher prints a whole answer or nothing.
_BY_LAUNCHER: Final = f'o=$1 r=$2 c=$3;shift 3;[ -s "$1" ]&&"$@";case $? in 100)exit 0;;102)exit 2;;esac;{_SPARE}'
# A Python may fails with half of an answer printed. So everything is held back until the end.
_BY_PYTHON: Final = (
    'o=$1 r=$2 c=$3;shift 3;a=$(exec 3>&1;e=$({ "$@" 3>&-;} 2>&1 >&3);x=$?;'
    'case $x in 100|102)[ -z "$e" ]||printf "%s\\n" "$e" >&2;;esac;exit $x);x=$?;'
    f'case $x in 100|102)[ -z "$a" ]||printf "%s\\n" "$a";exit $((x-100));;esac;{_SPARE}'
)


def command_words(host: str, event: str, *, python: str, policy: str, launcher: str = "") -> tuple[str, ...]:
    """Return the program that answers, word by word; the event comes last.

    A program that runs it sees by the exit code 100 or 102 that there was an answer, and has its own answer for all else.
    """
    call = ("--if-broken", policy, host, event)
    if launcher:
        return (launcher, PROVE, python, "hook", *call)
    return (python, "-E", "-P", "-m", "hookline", "hook", PROVE, *call)


def command_line(host: str, event: str, *, python: str, policy: str, launcher: str = "", windows: bool = False) -> str:
    """Return the command line for the settings of an agent; through the launcher where there is one."""
    if windows:
        # there is no shell to count on, so a Python that has gone is whatever the agent makes of it
        ours = [word for word in command_words(host, event, python=python, policy=policy) if word != PROVE]
        return " ".join(f'"{word}"' if " " in word else word for word in ours)
    spare = fallback_answer(host, event, policy=policy)
    said = (spare.stdout.decode().rstrip("\n"), spare.stderr.decode().rstrip("\n"), str(spare.exit_code))
    ours = list(command_words(host, event, python=python, policy=policy, launcher=launcher))
    # whether an answer at this event may be said by an exit code
    dialect, moment = DIALECTS[host], _make_event(host, event)
    answers = (Outcome(decision=decision, reasons=("no",)) for decision in Decision)
    if launcher and not any(dialect.encode_outcome(answer, moment).exit_code for answer in answers):
        return launcher_line([word for word in ours if word != PROVE], said)
    script = _BY_LAUNCHER if launcher else _BY_PYTHON
    # in the place of the agent's shell, so that a signal reaches it
    return shlex.join(("exec", "/bin/sh", "-c", script, "hookline", *said, *ours))


def fallback_answer(host: str, event: str, *, policy: str) -> Answer:
    """Return the answer to an agent at an event when Hookline cannot run, in the agent's own bytes."""
    dialect, said = DIALECTS[host], _make_event(host, event)
    able = dialect.SPEC.able(said) or frozenset()
    if policy == "block" and waits_for_decision(host, event) and able & {Ability.BLOCK, Ability.STOP}:
        decision = Decision.DENY if Ability.BLOCK in able else Decision.STOP
        return dialect.encode_outcome(Outcome(decision=decision, reasons=(_GONE,)), said)
    return dialect.encode_outcome(Outcome(), said)


def _make_event(host: str, event: str) -> Event:
    return Event(name=canonical_events(host, event)[0], native_name=event, host=host)


def waits_for_decision(host: str, event: str) -> bool:
    """Return whether an agent waits at an event for a no."""
    return bool(_HELD_UP & set(canonical_events(host, event)))


def canonical_events(host: str, event: str) -> tuple[EventName, ...]:
    """Return which moments an agent's own name of an event stands for."""
    known = EVENT_NAMES.get(host, {}).get(event, ())
    return tuple(EventName(name) for name in known) or (EventName.CUSTOM,)


_SECONDS: Final = 10


def find_launcher(python: str) -> str:
    """Find the launcher that came with us for a Python; empty where it is a script, of another version, or not there."""
    if os.name != "posix":
        return ""
    # where installers put programs: beside the Python, beside `hookline`, where this Python's scripts go
    folders = [os.path.dirname(python), sysconfig.get_path("scripts")]  # noqa: PTH120 - a link stays a link
    if os.path.basename(sys.argv[0]) == "hookline":  # noqa: PTH119
        folders.insert(1, os.path.dirname(os.path.abspath(sys.argv[0])))  # noqa: PTH100, PTH120
    paths = (f"{folder}/{LAUNCHER}" for folder in dict.fromkeys(folders) if folder.startswith("/"))
    return next(filter(_is_native, paths), "")


def _is_native(path: str) -> bool:
    """Return whether it is a program of this version that runs here: it may have been built for another machine."""
    import subprocess  # noqa: PLC0415 - only an installation needs it

    try:
        with open(path, "rb") as file:  # noqa: PTH123
            if file.read(2) == b"#!":
                return False
        done = subprocess.run([path, "--version"], capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout == f"{LAUNCHER} {__version__} native\n".encode()
