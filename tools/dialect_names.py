"""Write the names that dialects have for events and tools into `src/hookline/model/dialect_names.json` and `docs/tools.md`.

    .venv/bin/python tools/dialect_names.py

Run it after a change of a dialect's table; `tests/model/test_names_of_dialects.py` fails until then.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hookline.dialects import DIALECTS
from hookline.dialects._tools import ToolMap
from hookline.model.event import TOOL_SPECS
from hookline.model.hook import OnError
from hookline.ports import Dialect

PAGE: Final = Path(__file__).parents[1] / "docs/tools.md"
TARGET: Final = Path(__file__).parents[1] / "src/hookline/model/dialect_names.json"


def tool_map_of(dialect: Dialect) -> ToolMap | None:
    """Return the table of a dialect's own tools."""
    found = getattr(dialect, "TOOLS", None) or getattr(dialect, "_TOOLS", None)
    return found if isinstance(found, ToolMap) else None


def event_names(dialect: Dialect) -> dict[str, tuple[str, ...]]:
    """Return a dialect's names of events, each with the canonical events it stands for."""
    names: dict[str, tuple[str, ...]] = {}
    for canonical, native in dialect.SPEC.events.items():
        names[native] = (*names.get(native, ()), str(canonical))
    for native, canonical in dialect.SPEC.more_events.items():
        names.setdefault(native, (str(canonical),))
    return names


def tool_names(dialect: Dialect) -> dict[str, tuple[str, ...]]:
    """Return the canonical tools that a dialect has, each with the dialect's names of it."""
    tools = tool_map_of(dialect)
    return tools.names_by_tool() if tools is not None else {}


def argument_names(dialect: Dialect) -> dict[str, dict[str, str]]:
    """Return what a dialect calls the arguments of its tools, where that differs from our names."""
    tools = tool_map_of(dialect)
    rows = tools.by_tool.items() if tools is not None else ()
    return {tool: dict(row.keys) for tool, row in rows if row.keys}


def render() -> str:
    """Return the text of the data file: a line for each dialect, so that a change shows in one place."""
    agents = {name: one.SPEC for name, one in DIALECTS.items() if one.SPEC.is_agent}
    tables: dict[str, Mapping[str, object] | list[str]] = {
        "closed_dialects": [name for name, one in DIALECTS.items() if one.SPEC.on_error is OnError.BLOCK],
        "agent_aliases": {alias: name for name, spec in agents.items() for alias in spec.aliases},
        "event_names": {name: event_names(one) for name, one in DIALECTS.items()},
        "event_tools": {event: tools for spec in agents.values() for event, tools in spec.event_tools.items()},
        "tool_names": {name: tool_names(one) for name, one in DIALECTS.items()},
        "argument_names": {name: argument_names(DIALECTS[name]) for name in agents},
        "mcp_forms": {name: spec.mcp for name, spec in agents.items()},
    }
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {_render_rows(rows)}" for name, rows in tables.items()) + "\n}\n"


def _render_rows(rows: Mapping[str, object] | list[str]) -> str:
    if isinstance(rows, list):
        return json.dumps(rows)
    return "{\n" + ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n}"


_BEGIN: Final = "<!-- written by tools/dialect_names.py -->"
_END: Final = "<!-- end -->"


def render_page(page: str) -> str:
    """Return the page with its tables as they are now."""
    before, _, rest = page.partition(_BEGIN)
    after = rest.partition(_END)[2]
    agents = [name for name, one in DIALECTS.items() if one.SPEC.is_agent]
    tables = [_tools_table(agents), *(_names_table(some) for some in (agents[:4], agents[4:8], agents[8:]))]
    return "\n".join([before + _BEGIN, "", *tables, _END + after])


def _tools_table(agents: list[str]) -> str:
    names = {agent: tool_names(DIALECTS[agent]) for agent in agents}
    lines = ["| tool | what it does | arguments | agents that have it |", "| --- | --- | --- | --- |"]
    for tool, spec in TOOL_SPECS.items():
        having = sum(tool in names[agent] for agent in agents)
        lines.append(f"| `{tool}` | {spec.does} | {', '.join(f'`{name}`' for name in spec.arguments)} | {having} |")
    return "\n".join([*lines, ""])


def _names_table(agents: list[str]) -> str:
    names = {agent: tool_names(DIALECTS[agent]) for agent in agents}
    lines = [f"| tool | {' | '.join(agents)} |", f"| --- | {' | '.join('---' for _ in agents)} |"]
    for tool in TOOL_SPECS:
        cells = [", ".join(f"`{name}`" for name in names[agent].get(tool, ())) for agent in agents]
        if any(cells):
            lines.append(f"| `{tool}` | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    TARGET.write_text(render())
    PAGE.write_text(render_page(PAGE.read_text()))
