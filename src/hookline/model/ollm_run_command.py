"""OLLM's action `runCommand`: a few programs, by name, at two moments.

Said here once, because it counts twice: when a file is read or written, and again when a hook is to run, which may
have been changed in between, or started by hand.
"""

import shlex
from collections.abc import Mapping
from typing import Final

from hookline.model.event import EventName
from hookline.model.hook import Hook

FORMAT: Final = "when_then"
"""Hooks read from `when/then` files, where every command is a `runCommand`."""

# "Only valid with promptSubmit and agentStop", says OLLM's document
EVENTS: Final[Mapping[EventName, str]] = {EventName.BEFORE_AGENT: "promptSubmit", EventName.AFTER_AGENT: "agentStop"}
_SHOWN: Final = 80
PROGRAMS: Final = ("node", "python", "python3", "bash", "sh", "npx", "uvx")


def why_refused(hook: Hook, *, at: str = "") -> str:
    """Return why a hook may not run its command, at this event or at all; empty when it may, or is no `runCommand`."""
    if hook.source_format != FORMAT or not hook.command:
        return ""
    wrong = [name for name in (at, *hook.on) if name and name not in EVENTS]
    if wrong:
        return describe_wrong_event(wrong[0])
    if hook.shell:
        return "runCommand has no shell: leave shell out, or run a script with bash"
    return why_command_refused(shlex.join((hook.command, *hook.args)) if hook.args else hook.command)


def describe_wrong_event(event: str) -> str:
    """Return the message for a `runCommand` at the wrong event."""
    allowed = " and ".join(sorted(EVENTS.values()))
    return f'runCommand is for {allowed} only, not for "{event}"; use askAgent'


def why_command_refused(command: str) -> str:
    """Return why `runCommand` may not run a command; empty when it may."""
    try:
        words = shlex.split(command)
    except ValueError:
        return f'runCommand cannot run "{_shorten(command)}": a quote is never closed'
    if words and words[0] in PROGRAMS:
        return ""
    known = f"{', '.join(PROGRAMS[:-1])} and {PROGRAMS[-1]}"
    name = _shorten(words[0]) if words else ""
    return f'runCommand may only run {known}, by name, not "{name}"'


def _shorten(text: str) -> str:
    from hookline.text import escape_all  # noqa: PLC0415 - for those that are refused only

    return escape_all(text[:_SHOWN])
