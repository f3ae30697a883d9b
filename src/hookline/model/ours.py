"""How our own entries in the settings of agents are told from everybody else's."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

# the variable in which hooks, and what they start, carry how many agents are around them
NESTING: Final = "HOOKLINE_NESTING"

_CALL: Final = ("-m", "hookline", "hook")
_SWITCHES: Final = frozenset({"-E", "-P"})
_POLICY: Final = "--if-broken"
# what may stand before all of it: in a program of its own, and in a comment that says what a plugin runs
_COMMENT: Final = "//"
_LEADS: Final = frozenset({"exec", _COMMENT})
# our own way to start it, which has as many words before the Python as this: a script, its name, and three to fall back on
_SHELL: Final = ("/bin/sh", "-c")
_BEFORE: Final = 7

# the program that agents run where it could be built, and how its words stand in a line for a shell
LAUNCHER: Final = "hookline-hook"
_TEST: Final = ("test", "-s")
_TESTED: Final = 9  # as many words stand before it: it is there, has something in it, and may be run
_SPARE: Final = 4  # itself, and what to say without it
_LAUNCHED: Final = 11  # and the Python, its script, and the call

# what agents call instead of a command, where they can and the person wants it: a daemon of ours on this machine
URL: Final = "http://127.0.0.1:{port}/hookline/v1/hook/{host}/{event}?if-broken={policy}"
_URL: Final = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}/hookline/v1/hook/([a-z-]+)/([A-Za-z]+)\?if-broken=([a-z]+)")


class Entry(Struct, frozen=True):
    """What an entry of ours says: who runs it, what happens when we are broken, for which agent and which event.

    `command` is the whole of it, as it stands there; `launcher` is the program before the Python, if there is one. Where it
    is a URL, nobody runs anything, and there is no Python.
    """

    python: str
    policy: str
    host: str
    event: str
    command: str = ""
    launcher: str = ""

    @property
    def is_url(self) -> bool:
        """Whether a daemon is called, and nothing is run."""
        return not self.python


def launcher_line(words: Sequence[str]) -> str:
    """Give the words of a launcher (itself, what to say without it, the Python and so on) as a line for a shell.

    Where the launcher is gone, the line says what it would have said. It means the same in every shell, fish too.
    """
    launcher, out, err, code = words[:_SPARE]
    said = [f"printf '%s\\n' {_quoted(text)}{where}" for text, where in ((out, ""), (err, " >&2")) if text]
    # an empty file, as a full disk or a power cut leaves it, is a script to a shell, which does nothing and means yes
    tested = f"test -s {_quoted(launcher)} && test -x {_quoted(launcher)}"
    start = f"{tested} && exec {' '.join(map(_quoted, words))}"
    # what is left of the event is read, because some agents do not expect that nobody does
    return "; ".join([start, "cat >/dev/null", *said, f"exit {_quoted(code)}"])


def _quoted(word: str) -> str:
    """Quote a word for every shell: fish alone takes a backslash between single quotes for more than itself."""
    return '"\\\\"'.join(shlex.quote(part) if part else "" for part in word.split("\\")) or "''"


def entry_of(command: str) -> Entry | None:
    """Read a command from the settings of an agent; None when it is not a call of ours, and nothing but that."""
    # most commands are those of others, and an engine that loads them does not wait for their words
    if "hookline hook" not in command and LAUNCHER not in command:
        called = _URL.fullmatch(command)
        return Entry("", called[3], called[1], called[2], command) if called else None
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return None
    if LAUNCHER in command and (found := _launched(words, command)):
        return found
    for place in range(len(words) - len(_CALL), 0, -1):
        if words[place : place + len(_CALL)] == _CALL:
            return _read(words[:place], words[place + len(_CALL) :], command)
    return None


def _launched(words: tuple[str, ...], command: str) -> Entry | None:
    """Read a call through the launcher: its words alone, or the whole line, which is ours only to the last byte."""
    said = command.strip()
    if words[: len(_TEST)] == _TEST:
        first = words[_TESTED:][:_LAUNCHED]
        ours = (*first[:-1], *(word.removesuffix(";") for word in first[-1:]))
        is_exact = len(ours) == _LAUNCHED and said == launcher_line(ours)
    else:
        ours = words[1:] if words[:1] == (_COMMENT,) else words
        is_exact = said.removeprefix(f"{_COMMENT} ") == shlex.join(ours)
    match ours:
        case (launcher, _, _, _, python, _, "hook", "--if-broken", policy, host, event) if is_exact:
            is_ours = launcher.rpartition("/")[2] == LAUNCHER
            return Entry(python, policy, host, event, command, launcher) if is_ours else None
        case _:
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
