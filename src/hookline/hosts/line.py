"""The command that an agent runs: us, and where we cannot be run, the answer that was chosen for that."""

import shlex
from typing import Final

from hookline.dialects import DIALECTS
from hookline.hosts.launcher import COLD
from hookline.model.ability import Ability
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer
from hookline.model.ours import launcher_line
from hookline.model.verdict import Decision, Outcome
from hookline.wiring import native_names

POLICIES: Final = ("block", "allow")

# what a launcher says where nobody answers and whoever runs it has an answer of their own: nothing, and a code for it
_UNANSWERED: Final = ("", "", "1")

# Where a failure of ours may hold the agent up. The end of a turn is not among them: an agent that can never end its
# turn because we are gone is worse than a check that was missed.
_HELD_UP: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.BEFORE_AGENT})

_GONE: Final = (
    "hookline could not be run, so this is blocked; run hookline install again, or take the entries of hookline out of "
    "the settings of this agent"
)

# Every shell reads it alike, fish too: it has no quote and no backslash but for one that stands for itself in all of
# them. An answer of ours ends with 0 or 2; with anything else we did not get to answer, or fell over with half of one
# said. So everything is held back until the end, and then it is all of ours or all of the spare answer. What is left of
# the event is read, because some agents do not expect that nobody does.
_SCRIPT: Final = (
    'o=$1 r=$2 c=$3;shift 3;a=$(exec 3>&1;e=$({ "$@" 3>&-;} 2>&1 >&3);x=$?;'
    'case $x in 0|2)[ -z "$e" ]||printf "%s\\n" "$e" >&2;;esac;exit $x);x=$?;'
    "case $x in 0|2)o=$a r= c=$x;;*)cat >/dev/null;;esac;"
    '[ -z "$o" ]||printf "%s\\n" "$o";[ -z "$r" ]||printf "%s\\n" "$r" >&2;exit $c'
)


def words(host: str, event: str, *, python: str, policy: str, launcher: str = "") -> tuple[str, ...]:
    """Give the program that answers, word by word; the event comes last.

    There is no spare answer in it: whoever runs it sees by its exit code that nobody answered, and knows what to do.
    """
    before = (launcher, *_UNANSWERED, python, COLD) if launcher else (python, "-E", "-P", "-m", "hookline")
    return (*before, *_call(host, event, policy))


def line(host: str, event: str, *, python: str, policy: str, launcher: str = "", windows: bool = False) -> str:
    """Give the command line for the settings of an agent; through the launcher where there is one."""
    if windows:
        # there is no shell to count on, so a Python that has gone is whatever the agent makes of it
        ours = words(host, event, python=python, policy=policy)
        return " ".join(f'"{word}"' if " " in word else word for word in ours)
    spare = broken(host, event, policy=policy)
    said = (spare.stdout.decode().rstrip("\n"), spare.stderr.decode().rstrip("\n"), str(spare.exit_code))
    if launcher:
        return launcher_line((launcher, *said, python, COLD, *_call(host, event, policy)))
    return shlex.join(("/bin/sh", "-c", _SCRIPT, "hookline", *said, *words(host, event, python=python, policy=policy)))


def _call(host: str, event: str, policy: str) -> tuple[str, ...]:
    return ("hook", "--if-broken", policy, host, event)


def broken(host: str, event: str, *, policy: str) -> Answer:
    """Give what an agent is told at an event when we cannot be asked, in its own bytes."""
    dialect = DIALECTS[host]
    names = moments(host, event)
    said = Event(name=names[0], native_name=event, host=host)
    able = dialect.SPEC.able(said) or frozenset()
    if policy == "block" and is_held_up(host, event) and able & {Ability.BLOCK, Ability.STOP}:
        decision = Decision.DENY if Ability.BLOCK in able else Decision.STOP
        return dialect.encode_outcome(Outcome(decision=decision, reasons=(_GONE,)), said)
    return dialect.encode_outcome(Outcome(), said)


def is_held_up(host: str, event: str) -> bool:
    """Say whether an agent waits at an event for a no."""
    return bool(_HELD_UP & set(moments(host, event)))


def moments(host: str, event: str) -> tuple[EventName, ...]:
    """Say which moments an agent's own name of an event stands for."""
    known = native_names().get(host, {}).get(event, ())
    return tuple(EventName(name) for name in known) or (EventName.CUSTOM,)
