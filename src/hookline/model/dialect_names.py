"""The names that every dialect has for events and tools, so that a lookup imports no dialect.

`tools/dialect_names.py` writes them into `dialect_names.json` from the tables of the dialects.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec


class _DialectNames(msgspec.Struct, frozen=True):
    closed_dialects: tuple[str, ...]
    agent_aliases: Mapping[str, str]
    event_names: Mapping[str, Mapping[str, tuple[str, ...]]]
    event_tools: Mapping[str, tuple[str, ...]]
    tool_names: Mapping[str, Mapping[str, tuple[str, ...]]]
    argument_names: Mapping[str, Mapping[str, Mapping[str, str]]]
    mcp_forms: Mapping[str, str]


_NAMES: Final = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_DialectNames)

# the dialects whose hooks fail closed unless they say otherwise
CLOSED_DIALECTS: Final = _NAMES.closed_dialects
# other words for an agent -> its name
AGENT_ALIASES: Final = _NAMES.agent_aliases
# dialect -> its name of an event -> the canonical events it stands for
EVENT_NAMES: Final = _NAMES.event_names
# an agent's name of an event -> the tools that the event is about
EVENT_TOOLS: Final = _NAMES.event_tools
# dialect -> canonical tool -> the dialect's names of it, the one it sends first
TOOL_NAMES: Final = _NAMES.tool_names
# agent -> canonical tool -> our name of an argument -> the agent's, where they differ
ARGUMENT_NAMES: Final = _NAMES.argument_names
# agent -> how it spells the tool of an MCP server
MCP_FORMS: Final = _NAMES.mcp_forms
