"""Windsurf: hooks under events, without groups, matchers or times."""

from collections.abc import Mapping
from typing import Final

from hookline.config.formats.agents.spec import (
    COMMAND,
    IGNORED,
    MCP,
    READS,
    RUNS,
    WRITES,
    AgentEvent,
    AgentFileSpec,
    MatchTarget,
    as_is,
)
from hookline.config.keys import Key, nonempty_text, text

KEYS: Final[Mapping[str, Key]] = {
    "command": Key(nonempty_text, "command", vital=True, about="The line to run."),
    "working_directory": Key(text, "working_directory", vital=True, about="The folder it runs in."),
    **dict.fromkeys(("powershell", "show_output", "description"), IGNORED),
}


def _tools(step: str, tools: tuple[str, ...]) -> AgentEvent:
    return AgentEvent(on=(f"{step}_tool",), tools=tools, matches=MatchTarget.NOTHING)


SPEC: Final = AgentFileSpec(
    project=(".windsurf/hooks.json",),
    home=(".codeium/windsurf/hooks.json",),
    keys=KEYS,
    allows_ungrouped=True,
    events={
        "pre_read_code": _tools("before", READS),
        "post_read_code": _tools("after", READS),
        "pre_write_code": _tools("before", WRITES),
        "post_write_code": _tools("after", WRITES),
        "pre_run_command": _tools("before", RUNS),
        "post_run_command": _tools("after", RUNS),
        "pre_mcp_tool_use": _tools("before", MCP),
        "post_mcp_tool_use": _tools("after", MCP),
        "pre_user_prompt": AgentEvent(on=("before_agent",), matches=MatchTarget.NOTHING),
        "post_cascade_response": AgentEvent(on=("after_agent",), matches=MatchTarget.NOTHING),
    },
    writers={"command": COMMAND, "working_directory": ("working_directory", as_is)},
)
