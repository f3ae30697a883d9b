"""A configured command as it is written: a program and its words, a line for a shell, or neither."""

import re
import shlex
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.model.run_command import PROGRAMS

WHITELIST: Final = PROGRAMS
"""Programs a hook may name without their path."""

METACHARACTERS: Final = ";&|`$(){}[]<>"
"""What a shell would give a meaning to; refused where there is no shell."""

# patterns that stand here as they are, are compiled ahead for calls without a daemon
_META: Final = re.compile(r"[;&|`$(){}\[\]<>\0]")

# A line that may mean the same to a shell and to us: so it does if its first word is a path, or a program no shell has built in.
_SIMPLE: Final = re.compile(r"([\w.,:@%+/-]+)(?:[ \t]+[\w./,:=@%+-]+)*", re.ASCII)


class Line(Struct, frozen=True, kw_only=True):
    """A configured command as read: its words, the text for a shell, or why it may not run."""

    words: tuple[str, ...] = ()
    script: str = ""
    refusal: str = ""


@lru_cache(maxsize=512)
def shell_line(command: str, args: tuple[str, ...]) -> Line:
    """Read a line for a shell."""
    if args:
        return Line(refusal="a shell line has no args: write them into the line, or leave shell out")
    if "\0" in command:
        return Line(refusal="the command holds a NUL character")
    return Line(script=command, words=tuple(command.split()) if _is_plain(command) else ())


def _is_plain(command: str) -> bool:
    found = _SIMPLE.fullmatch(command)
    return found is not None and ("/" in found[1] or found[1] in WHITELIST)


def _split(command: str) -> tuple[str, ...]:
    # reading a line as a shell does takes its time, and most have nothing a shell would read
    return tuple(command.split() if _is_plain(command) else shlex.split(command))


@lru_cache(maxsize=512)
def plain_line(command: str, args: tuple[str, ...]) -> Line:
    """Read a program and its words, which no shell will see."""
    for what, text in (("command", command), *(("args", arg) for arg in args)):
        found = _META.search(text)
        if found:
            return Line(refusal=_metacharacter(what, text=text, found=found[0]))
    try:
        words = (command, *args) if args else _split(command)
    except ValueError:
        return Line(refusal=f"the command has a quote that is not closed: {command}")
    if not words or not words[0]:
        return Line(refusal="the command is empty")
    if words[0] in WHITELIST or Path(words[0]).is_absolute():
        return Line(words=words)
    return Line(refusal=_unknown_program(words[0]))


def _metacharacter(what: str, *, text: str, found: str) -> str:
    if found == "\0":
        return f"{what} holds a NUL character"
    advice = "templates are filled in shell lines only; read" if "{{" in text else "set shell: true, or read"
    return f'{what} holds "{found}", which is refused without a shell: {advice} what is needed from stdin'


def _unknown_program(name: str) -> str:
    if "/" in name:
        return f'program "{name}" is a relative path: write the absolute one'
    return f'program "{name}" is none of {", ".join(WHITELIST)}: write its absolute path, or let a shell find it (shell = true)'
