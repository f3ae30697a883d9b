"""Cursor: hooks under events, without groups; at a shell event the matcher looks at the command."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats.agents.style import (
    ASIDE,
    COMMAND,
    MCP,
    PLAIN,
    READS,
    RUNS,
    SECONDS,
    WRITES,
    Aim,
    Entry,
    Moment,
    Style,
    is_blocking,
)
from hookline.config.reading import Reading
from hookline.config.values import SHARED, Key, flag
from hookline.model.hook import Layer, OnError

_CONSTANT: Final = Aim.CONSTANT


def _closed(value: object) -> OnError:
    return OnError.BLOCK if flag(value) else OnError.CONTINUE


KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        **PLAIN,
        "matcher": SHARED["matcher"],
        "failClosed": Key(_closed, "on_error", about="Whether its failure blocks."),
        "loop_limit": ASIDE,
        "description": ASIDE,
    }
)


def _finish(reading: Reading, entry: Entry, fields: dict[str, object]) -> dict[str, object] | None:  # noqa: ARG001
    # a project's hooks run in the project, a person's own beside their file
    origin = reading.origin
    folder = origin.root if origin.layer is Layer.PROJECT else origin.path.rpartition("/")[0]
    return {**fields, "working_directory": folder}


_BEFORE: Final = ("before_tool",)
_AFTER: Final = ("after_tool",)

STYLE: Final = Style(
    keys=KEYS,
    alone=True,
    elsewhere=MappingProxyType({"prompt": "the agent asks a model of its own"}),
    moments=MappingProxyType(
        {
            "beforeShellExecution": Moment(on=_BEFORE, tools=RUNS, aim=Aim.COMMAND),
            "afterShellExecution": Moment(on=_AFTER, tools=RUNS, aim=Aim.COMMAND),
            "beforeMCPExecution": Moment(on=_BEFORE, tools=MCP),
            "afterMCPExecution": Moment(on=_AFTER, tools=MCP),
            "beforeReadFile": Moment(on=_BEFORE, tools=READS, aim=_CONSTANT, constant="Read"),
            "afterFileEdit": Moment(on=_AFTER, tools=WRITES, aim=_CONSTANT, constant="Write"),
            "beforeSubmitPrompt": Moment(on=("before_agent",), aim=_CONSTANT, constant="UserPromptSubmit"),
            "stop": Moment(on=("after_agent",), aim=_CONSTANT, constant="Stop"),
        }
    ),
    finish=_finish,
    spelled=MappingProxyType({"command": COMMAND, "timeout": SECONDS, "on_error": ("failClosed", is_blocking)}),
    around=MappingProxyType({"version": 1}),
)
