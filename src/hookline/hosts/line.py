"""The command that an agent runs: us, and where we cannot be run, the answer that was chosen for that."""

import shlex
from typing import Final

from hookline.dialects import DIALECTS
from hookline.model.ability import Ability
from hookline.model.event import Event, EventName
from hookline.model.exchange import Answer
from hookline.model.verdict import Decision, Outcome
from hookline.wiring import native_names

POLICIES: Final = ("block", "allow")

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


def words(host: str, event: str, *, python: str, policy: str) -> tuple[str, ...]:
    """Give the program that answers, word by word; the event comes last."""
    return (python, "-E", "-P", "-m", "hookline", "hook", "--if-broken", policy, host, event)


def line(host: str, event: str, *, python: str, policy: str, windows: bool = False) -> str:
    """Give the command line for the settings of an agent."""
    ours = words(host, event, python=python, policy=policy)
    if windows:
        # there is no shell to count on, so a Python that has gone is whatever the agent makes of it
        return " ".join(f'"{word}"' if " " in word else word for word in ours)
    spare = broken(host, event, policy=policy)
    said = (spare.stdout.decode().rstrip("\n"), spare.stderr.decode().rstrip("\n"), str(spare.exit_code))
    return shlex.join(("/bin/sh", "-c", _SCRIPT, "hookline", *said, *ours))


def broken(host: str, event: str, *, policy: str) -> Answer:
    """Give what an agent is told at an event when we cannot be asked, in its own bytes."""
    dialect = DIALECTS[host]
    names = moments(host, event)
    said = Event(name=names[0], native_name=event, host=host)
    able = dialect.SPEC.able(said) or frozenset()
    if policy == "block" and _HELD_UP & set(names) and able & {Ability.BLOCK, Ability.STOP}:
        decision = Decision.DENY if Ability.BLOCK in able else Decision.STOP
        return dialect.encode_outcome(Outcome(decision=decision, reasons=(_GONE,)), said)
    return dialect.encode_outcome(Outcome(), said)


def moments(host: str, event: str) -> tuple[EventName, ...]:
    """Say which moments an agent's own name of an event stands for."""
    known = native_names().get(host, {}).get(event, ())
    return tuple(EventName(name) for name in known) or (EventName.CUSTOM,)
