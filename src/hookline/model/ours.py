"""How our own entries in the settings of agents are told from everybody else's."""

import shlex
from typing import Final

from msgspec import Struct

# the variable in which hooks, and what they start, carry how many agents are around them
NESTING: Final = "HOOKLINE_NESTING"

_CALL: Final = ("-m", "hookline", "hook")
_SWITCHES: Final = frozenset({"-E", "-P"})
_POLICY: Final = "--if-broken"
# what may stand before all of it: in a program of its own, and in a comment that says what a plugin runs
_LEADS: Final = frozenset({"exec", "//"})
# our own way to start it, which has as many words before the Python as this: a script, its name, and three to fall back on
_SHELL: Final = ("/bin/sh", "-c")
_BEFORE: Final = 7


class Entry(Struct, frozen=True):
    """What an entry of ours says: who runs it, what happens when we are broken, for which agent and which event.

    `command` is the whole of it, as it stands there.
    """

    python: str
    policy: str
    host: str
    event: str
    command: str = ""


def entry_of(command: str) -> Entry | None:
    """Read a command from the settings of an agent; None when it is not a call of ours, and nothing but that."""
    # most commands are those of others, and an engine that loads them does not wait for their words
    if "hookline hook" not in command:
        return None
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return None
    for place in range(len(words) - len(_CALL), 0, -1):
        if words[place : place + len(_CALL)] == _CALL:
            return _read(words[:place], words[place + len(_CALL) :], command)
    return None


def _read(before: tuple[str, ...], after: tuple[str, ...], command: str) -> Entry | None:
    policy = ""
    if after[:1] == (_POLICY,):
        policy, after = after[1] if len(after) > 1 else "", after[2:]
    python = _alone(before)
    match after:
        case (host, event) if python:
            return Entry(python, policy, host, event, command)
        case _:
            return None


def _alone(before: tuple[str, ...]) -> str:
    """Give the Python that is run; empty where somebody has something else run before it, which is theirs."""
    words = [word for word in before if word not in _SWITCHES]
    if words[:1] and words[0] in _LEADS:
        del words[0]
    is_started = len(words) == _BEFORE + 1 and tuple(words[: len(_SHELL)]) == _SHELL and "hookline" in words
    return words[-1] if len(words) == 1 or is_started else ""


def is_ours(command: str) -> bool:
    """Say whether a command in the settings of an agent is an entry of ours, also an old one."""
    return entry_of(command) is not None
