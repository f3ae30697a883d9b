"""Cline: no configuration, but a program for each event, called like it."""

from types import MappingProxyType
from typing import Final

from hookline.config.document import Document
from hookline.config.formats.agents.entries import add, moment_of
from hookline.config.formats.agents.style import Aim, Entry, Moment, Style
from hookline.config.problem import Problem
from hookline.config.reading import Origin, Reading
from hookline.config.scripts import command_of
from hookline.config.vocabulary import quoted
from hookline.model.hook import Hook
from hookline.model.ours import is_ours

STYLE: Final = Style(
    keys=MappingProxyType({}),
    moments=MappingProxyType(
        {
            "TaskStart": Moment(on=("session_start",), aim=Aim.NOTHING),
            "TaskResume": Moment(on=("session_start",), aim=Aim.NOTHING),
            "TaskComplete": Moment(on=("after_agent",), aim=Aim.NOTHING),
            "TaskError": Moment(on=("error",), aim=Aim.NOTHING),
            "PreToolUse": Moment(on=("before_tool",), aim=Aim.NOTHING),
            "PostToolUse": Moment(on=("after_tool", "tool_failed"), aim=Aim.NOTHING),
            "UserPromptSubmit": Moment(on=("before_agent",), aim=Aim.NOTHING),
            "PreCompact": Moment(on=("pre_compress",), aim=Aim.NOTHING),
            "SessionShutdown": Moment(on=("session_end",), aim=Aim.NOTHING),
            "Notification": Moment(on=("notification",), aim=Aim.NOTHING),
        }
    ),
)


def read(document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
    """Make a hook of a program; its text is only looked at to know our own."""
    reading = Reading(document, origin)
    name = origin.path.rpartition("/")[2]
    said = document.value
    if "." in name:
        # PowerShell's twin of a program, or something to read
        return [], []
    ours = isinstance(said, str) and any(map(is_ours, said.splitlines()))
    moment = None if ours else moment_of(reading, name, (), style=STYLE)
    if moment is not None:
        entry = Entry(event=name, values={}, where=(), owner=f"hook {quoted(name)}")
        program = {"command": command_of(origin.path, ()), "shell": False}
        add(reading, entry, style=STYLE, moment=moment, shared=program)
    return reading.hooks, reading.problems
