"""Cursor: hooks under events, without groups; at a shell event the matcher looks at the command."""

from collections.abc import Mapping
from typing import Final

from hookline.config.formats.agents.spec import (
    COMMAND,
    IGNORED,
    MCP,
    PLAIN,
    READS,
    RUNS,
    SECONDS,
    WRITES,
    AgentEvent,
    AgentFileSpec,
    ConfigEntry,
    MatchTarget,
    is_blocking,
)
from hookline.config.keys import SHARED, Key, flag
from hookline.config.reader import FileReader
from hookline.model.hook import Layer, OnError

_CONSTANT: Final = MatchTarget.CONSTANT


def _read_fail_closed(value: object) -> OnError:
    return OnError.BLOCK if flag(value) else OnError.CONTINUE


KEYS: Final[Mapping[str, Key]] = {
    **PLAIN,
    "matcher": SHARED["matcher"],
    "failClosed": Key(_read_fail_closed, "on_error", about="Whether its failure blocks."),
    "loop_limit": IGNORED,
    "description": IGNORED,
}


def _finish(reader: FileReader, entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:  # noqa: ARG001
    # a project's hooks run in the project, a user's own beside their file
    origin = reader.origin
    folder = origin.root if origin.layer is Layer.PROJECT else origin.path.rpartition("/")[0]
    return {**fields, "working_directory": folder}


_BEFORE: Final = ("before_tool",)
_AFTER: Final = ("after_tool",)

SPEC: Final = AgentFileSpec(
    project=(".cursor/hooks.json",),
    home=(".cursor/hooks.json",),
    keys=KEYS,
    allows_ungrouped=True,
    agent_only={"prompt": "the agent asks a model of its own"},
    events={
        "beforeShellExecution": AgentEvent(on=_BEFORE, tools=RUNS, matches=MatchTarget.COMMAND),
        "afterShellExecution": AgentEvent(on=_AFTER, tools=RUNS, matches=MatchTarget.COMMAND),
        "beforeMCPExecution": AgentEvent(on=_BEFORE, tools=MCP),
        "afterMCPExecution": AgentEvent(on=_AFTER, tools=MCP),
        "beforeReadFile": AgentEvent(on=_BEFORE, tools=READS, matches=_CONSTANT, constant="Read"),
        "afterFileEdit": AgentEvent(on=_AFTER, tools=WRITES, matches=_CONSTANT, constant="Write"),
        "beforeSubmitPrompt": AgentEvent(on=("before_agent",), matches=_CONSTANT, constant="UserPromptSubmit"),
        "stop": AgentEvent(on=("after_agent",), matches=_CONSTANT, constant="Stop"),
    },
    finish=_finish,
    writers={"command": COMMAND, "timeout": SECONDS, "on_error": ("failClosed", is_blocking)},
    header={"version": 1},
)
