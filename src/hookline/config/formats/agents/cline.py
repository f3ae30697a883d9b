"""Cline: a program for each event, named after it."""

from typing import Final

from hookline.config.document import Document, Problem
from hookline.config.formats.agents.reader import add_entry, resolve_event
from hookline.config.formats.agents.spec import AgentEvent, AgentFileSpec, ConfigEntry, MatchTarget
from hookline.config.known_names import quote
from hookline.config.reader import FileOrigin, FileReader
from hookline.config.script_paths import quote_program
from hookline.model.hook import Hook
from hookline.model.installed_entry import is_ours


def read(document: Document, *, origin: FileOrigin) -> tuple[list[Hook], list[Problem]]:
    """Make a hook of a program; its text is only looked at to know our own."""
    reader = FileReader(document, origin)
    name = origin.path.rpartition("/")[2]
    said = document.value
    if "." in name:
        # PowerShell's twin of a program, or something to read
        return [], []
    ours = isinstance(said, str) and any(map(is_ours, said.splitlines()))
    agent_event = None if ours else resolve_event(reader, name, (), spec=SPEC)
    if agent_event is not None:
        entry = ConfigEntry(event=name, values={}, where=(), owner=f"hook {quote(name)}")
        program = {"command": quote_program(origin.path, ()), "shell": False}
        add_entry(reader, entry, spec=SPEC, agent_event=agent_event, shared=program)
    return reader.hooks, reader.problems


SPEC: Final = AgentFileSpec(
    read=read,
    is_program=True,
    project=(".clinerules/hooks/*",),
    home=("Documents/Cline/Hooks/*",),
    keys={},
    events={
        "TaskStart": AgentEvent(on=("session_start",), matches=MatchTarget.NOTHING),
        "TaskResume": AgentEvent(on=("session_start",), matches=MatchTarget.NOTHING),
        "TaskComplete": AgentEvent(on=("after_agent",), matches=MatchTarget.NOTHING),
        "TaskError": AgentEvent(on=("error",), matches=MatchTarget.NOTHING),
        "PreToolUse": AgentEvent(on=("before_tool",), matches=MatchTarget.NOTHING),
        "PostToolUse": AgentEvent(on=("after_tool", "tool_failed"), matches=MatchTarget.NOTHING),
        "UserPromptSubmit": AgentEvent(on=("before_agent",), matches=MatchTarget.NOTHING),
        "PreCompact": AgentEvent(on=("pre_compress",), matches=MatchTarget.NOTHING),
        "SessionShutdown": AgentEvent(on=("session_end",), matches=MatchTarget.NOTHING),
        "Notification": AgentEvent(on=("notification",), matches=MatchTarget.NOTHING),
    },
)
