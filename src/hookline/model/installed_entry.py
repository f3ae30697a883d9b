"""Recognise the entries of `hookline install` in the settings of agents."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

# the variable in which hooks, and what they start, carry how many agents are around them
NESTING: Final = "HOOKLINE_NESTING"
# the variable with the token that a user gives an agent which may loosen guards
PERSON_TOKEN: Final = "HOOKLINE_PERSON_TOKEN"  # noqa: S105 - the name of the variable

# With this option an answer ends with PROOF plus its exit code: a damaged program may end with 0 or 2 by accident.
PROVE: Final = "--prove"
PROOF: Final = 100

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
_TESTED: Final = 4  # as many words stand before it: it is there, and has something in it
_LAUNCHED: Final = 7  # the launcher, the Python, and the call
_PRINT: Final = "printf"

# what agents call instead of a command, where they can and the user wants it: a daemon of ours on this machine
URL: Final = "http://127.0.0.1:{port}/hookline/v1/hook/{host}/{event}?if-broken={policy}"
_URL: Final = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}/hookline/v1/hook/([a-z-]+)/([A-Za-z]+)\?if-broken=([a-z]+)")


class InstalledEntry(Struct, frozen=True):
    """One of our entries: its Python, its failure policy, its agent and its event.

    `command` is the whole of it, as it stands there; `launcher` is the program before the Python, if there is one. Where it
    is a URL, no program runs, and there is no Python.
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


def launcher_line(words: Sequence[str], spare: tuple[str, str, str]) -> str:
    """Return the words of a launcher as a line for a shell, with what to print and the exit code where there is no answer.

    The line means the same in every shell, fish too, which has no `$?`. So it fits events whose answers all end with 0:
    anything else that the launcher ends with, also because it cannot be executed, leads to the spare answer.
    """
    launcher, (out, err, code) = _quote(words[0]), spare
    said = [f"{_PRINT} '%s\\n' {_quote(text)}{where}" for text, where in ((out, ""), (err, " >&2")) if text]
    # a shell takes an empty file, as a full disk or a power cut leaves it, for a script that does nothing and means yes
    start = f"test -s {launcher} && {' '.join(map(_quote, words))} && exit 0"
    # the rest of the event is read, because some agents fail where it is not
    return "; ".join([start, "cat >/dev/null", *said, f"exit {_quote(code)}"])


def _quote(word: str) -> str:
    """Quote a word for every shell: fish alone takes a backslash between single quotes for more than itself."""
    return '"\\\\"'.join(shlex.quote(part) if part else "" for part in word.split("\\")) or "''"


def parse_entry(command: str) -> InstalledEntry | None:
    """Read a command from the settings of an agent; None when it is not a call of ours, and nothing but that."""
    # most commands are those of others, and an engine that loads them does not wait for their words
    if "hookline hook" not in command and LAUNCHER not in command:
        called = _URL.fullmatch(command)
        return InstalledEntry("", called[3], called[1], called[2], command) if called else None
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return None
    if LAUNCHER in command and (found := _parse_launched(words, command)):
        return found
    for place in range(len(words) - len(_CALL), 0, -1):
        if words[place : place + len(_CALL)] == _CALL:
            return _parse_call(words[:place], words[place + len(_CALL) :], command)
    return None


def _parse_launched(words: tuple[str, ...], command: str) -> InstalledEntry | None:
    """Read a call through the launcher: its words alone, behind our script, or the whole line to the last byte."""
    said = command.strip()
    if words[: len(_TEST)] == _TEST:
        ours = words[_TESTED:][:_LAUNCHED]
        is_exact = len(ours) == _LAUNCHED and said == launcher_line(ours, _parse_fallback(words))
    else:
        plain = words[1:] if words[:1] and words[0] in _LEADS else words
        ours = plain[_BEFORE:] if plain[: len(_SHELL)] == _SHELL else plain
        is_exact = said.removeprefix(f"{_COMMENT} ").removeprefix("exec ") == shlex.join(plain)
    match tuple(word for word in ours if word != PROVE):
        case (launcher, python, "hook", "--if-broken", policy, host, event) if is_exact:
            is_ours = launcher.rpartition("/")[2] == LAUNCHER
            return InstalledEntry(python, policy, host, event, command, launcher) if is_ours else None
        case _:
            return None


def _parse_fallback(words: tuple[str, ...]) -> tuple[str, str, str]:
    """Read what a line prints where the launcher does not answer, and its exit code."""
    out = err = ""
    number = 0
    while number < len(words):
        if words[number] != _PRINT:
            number += 1
            continue
        text, rest = (*words[number + 2 : number + 4], "", "")[:2]
        out, err = (out, text) if rest == ">&2;" else (text.removesuffix(";"), err)
        number += 3
    return out, err, words[-1]


def _parse_call(before: tuple[str, ...], after: tuple[str, ...], command: str) -> InstalledEntry | None:
    words = [word for word in before if word not in _SWITCHES]
    if words[:1] and words[0] in _LEADS:
        del words[0]
    is_started = len(words) == _BEFORE + 1 and tuple(words[: len(_SHELL)]) == _SHELL and "hookline" in words
    if len(words) != 1 and not is_started:
        # another program runs before the Python, so the entry is not ours
        return None
    policy = ""
    after = after[1:] if after[:1] == (PROVE,) else after
    if after[:1] == (_POLICY,):
        policy, after = after[1] if len(after) > 1 else "", after[2:]
    match after:
        case (host, event) if words[-1]:
            return InstalledEntry(words[-1], policy, host, event, command)
        case _:
            return None


def is_ours(command: str) -> bool:
    """Return whether a command in the settings of an agent is an entry of ours, also an old one."""
    return parse_entry(command) is not None
