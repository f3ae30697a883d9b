"""Windsurf: hooks under events, without groups, matchers or times."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hookline.config.formats.agents.style import (
    ASIDE,
    COMMAND,
    MCP,
    READS,
    RUNS,
    WRITES,
    Aim,
    Moment,
    Style,
    as_said,
)
from hookline.config.values import Key, filled, text

KEYS: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "command": Key(filled, "command", vital=True, about="The line to run."),
        "working_directory": Key(text, "working_directory", vital=True, about="The folder it runs in."),
        **dict.fromkeys(("powershell", "show_output", "description"), ASIDE),
    }
)


def _tools(step: str, tools: tuple[str, ...]) -> Moment:
    return Moment(on=(f"{step}_tool",), tools=tools, aim=Aim.NOTHING)


STYLE: Final = Style(
    keys=KEYS,
    alone=True,
    moments=MappingProxyType(
        {
            "pre_read_code": _tools("before", READS),
            "post_read_code": _tools("after", READS),
            "pre_write_code": _tools("before", WRITES),
            "post_write_code": _tools("after", WRITES),
            "pre_run_command": _tools("before", RUNS),
            "post_run_command": _tools("after", RUNS),
            "pre_mcp_tool_use": _tools("before", MCP),
            "post_mcp_tool_use": _tools("after", MCP),
            "pre_user_prompt": Moment(on=("before_agent",), aim=Aim.NOTHING),
            "post_cascade_response": Moment(on=("after_agent",), aim=Aim.NOTHING),
        }
    ),
    spelled=MappingProxyType({"command": COMMAND, "working_directory": ("working_directory", as_said)}),
)
