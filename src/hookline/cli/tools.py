"""`hookline tools`: every tool, what each agent calls it, and which tools a name means."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Final

from hookline.cli._command import JSON, CliCommand, argument
from hookline.cli._output import Table, render
from hookline.errors import ConfigError
from hookline.model.dialect import AGENTS
from hookline.model.event import TOOL_SPECS
from hookline.model.names import (
    ARGUMENT_NAMES,
    TOOL_NAMES,
    is_mcp_name,
    known_tools,
    names_of_tool,
    resolve_agent,
    resolve_tools,
)
from hookline.text import quote, suggest


def run(args: argparse.Namespace) -> int:
    """Print the tools, or explain one name."""
    agent = resolve_agent(args.agent) if args.agent else ""
    if args.agent and not agent:
        known = f"{suggest(args.agent, AGENTS)}; there are {', '.join(AGENTS)}"
        raise ConfigError(f"there is no agent {quote(args.agent)}{known}")
    agents = (agent,) if agent else AGENTS
    meant = resolve_tools(args.name, agent) if args.name else TOOL_SPECS
    tools = [tool for tool in TOOL_SPECS if tool in meant]
    if not meant and is_mcp_name(args.name):
        what = "is a tool of an MCP server; rules name it mcp__SERVER__TOOL, or with a star"
        raise ConfigError(f"{quote(args.name)} {what}")
    if not meant:
        near = suggest(args.name, known_tools().values())
        raise ConfigError(f"no agent has a tool {quote(args.name)}{near}; `hookline tools` lists them")
    return render(args, [_tool_to_json(tool, agents) for tool in tools], *_lay_out(args, tools, agents))


def _lay_out(args: argparse.Namespace, tools: Sequence[str], agents: Sequence[str]) -> Iterator[str | Table]:
    if args.name:
        yield from _explain(args.name, tools, agents)
    elif args.agent:
        rows = [_make_row(tool, agents[0]) for tool in tools if tool in TOOL_NAMES[agents[0]]]
        yield Table(("tool", "names", "arguments"), rows)
    else:
        rows = []
        for tool in tools:
            # the first name in each agent, without repetition
            names = (TOOL_NAMES[agent][tool][0] for agent in agents if tool in TOOL_NAMES[agent])
            rows.append((tool, TOOL_SPECS[tool].does, ", ".join({name.casefold(): name for name in names}.values())))
        yield Table(("tool", "what it does", "what agents call it"), rows)


def _make_row(tool: str, agent: str) -> tuple[str, str, str]:
    """Return a tool, its names in an agent, and the arguments that have another name there."""
    arguments = (f"{ours} is {theirs}" for ours, theirs in ARGUMENT_NAMES.get(agent, {}).get(tool, {}).items())
    return tool, ", ".join(TOOL_NAMES[agent].get(tool, ())), ", ".join(arguments)


def _tool_to_json(tool: str, agents: Sequence[str]) -> dict[str, object]:
    spec = TOOL_SPECS[tool]
    return {
        "tool": tool,
        "does": spec.does,
        "arguments": [name.removesuffix("?") for name in spec.arguments],
        "names": {agent: list(TOOL_NAMES[agent][tool]) for agent in agents if tool in TOOL_NAMES[agent]},
        "argument_names": {
            agent: dict(ARGUMENT_NAMES[agent][tool]) for agent in agents if tool in ARGUMENT_NAMES.get(agent, {})
        },
        "asked_under": {agent: sorted(names_of_tool(tool, agent)) for agent in agents},
    }


def _explain(name: str, tools: Sequence[str], agents: Sequence[str]) -> Iterator[str | Table]:
    for number, tool in enumerate(tools):
        if number:
            yield ""
        spec = TOOL_SPECS[tool]
        yield f"{name} is the tool {tool}: {spec.does}" if name != tool else f"{tool}: {spec.does}"
        yield f"  arguments: {', '.join(spec.arguments)}"
        rows = [(f"  {agent}", *_make_row(tool, agent)[1:]) for agent in agents if tool in TOOL_NAMES[agent]]
        yield Table(("  agent", "name there", "arguments there"), rows)
        if without := [agent for agent in agents if tool not in TOOL_NAMES[agent]]:
            yield f"  no such tool: {', '.join(without)}"
    yield ""
    yield f'In a rule: tools = ["{name}"], which means the same under every agent.'


COMMAND: Final = CliCommand(
    "list the tools, what agents call them, and which tool a name means",
    argument("name", "only what this name means, in any agent's words", nargs="?", default=""),
    argument("--agent", "only what this agent calls them", default=""),
    JSON,
    example="Bash",
    run=run,
)
