"""`hookline events`, `tools` and `dialects`: the names that hooks may use, and what each agent calls them."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Final

from hookline.cli._command import JSON, CliCommand, argument, parse_dialect, parse_events
from hookline.cli._output import Table, render
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.dialect import AGENTS
from hookline.model.event import EVENTS, TOOL_SPECS, EventName
from hookline.model.names import (
    ARGUMENT_NAMES,
    EVENT_NAMES,
    TOOL_NAMES,
    is_mcp_name,
    known_tools,
    names_of_tool,
    resolve_agent,
    resolve_tools,
    tools_of_event,
)
from hookline.text import quote, suggest


def _list_events(args: argparse.Namespace) -> int:
    if args.name:
        events = parse_events(args.name)
        dialects = [args.dialect] if args.dialect else [name for name in DIALECTS if name != "hookline"]
        value = [_event_to_json(name, dialects) for name in events]
        return render(args, value, *_explain_event(args.name, events, dialects))
    # the canonical names are the first column; agents are too many for one line
    wide = [name for name, one in DIALECTS.items() if name != "hookline" and (args.json or not one.SPEC.is_agent)]
    dialects = [args.dialect] if args.dialect else wide
    shown = [name for name in EventName if not args.dialect or name in DIALECTS[args.dialect].SPEC.events]
    rows = [
        [name, EVENTS[name].when, _describe_rights(name), *_get_native_names(name, dialects).values()] for name in shown
    ]
    value = [_event_to_json(name, dialects) for name in shown]
    return render(args, value, Table(["event", "when", "may", *dialects], rows))


def _explain_event(word: str, events: tuple[EventName, ...], dialects: list[str]) -> Iterator[str | Table]:
    """Yield which events a name means, and what every agent calls them."""
    for number, name in enumerate(events):
        if number:
            yield ""
        yield f"{word} is the event {name}: {EVENTS[name].when}" if word != name else f"{name}: {EVENTS[name].when}"
        rights = _describe_rights(name)
        yield f"  a hook may {rights}" if rights else "  a hook cannot change what happens"
        if tools := tools_of_event(word):
            yield f"  by its name only for the tools {', '.join(tools)}"
        names = {
            dialect: natives
            for dialect in dialects
            if (natives := [native for native, meant in EVENT_NAMES[dialect].items() if name in meant])
        }
        yield Table(("  dialect", "name there"), [(f"  {one}", ", ".join(native)) for one, native in names.items()])
        if without := [dialect for dialect in dialects if dialect not in names]:
            yield f"  never raised by: {', '.join(without)}"


def _event_to_json(name: EventName, dialects: list[str]) -> dict[str, object]:
    spec = EVENTS[name]
    return {
        "event": name,
        "when": spec.when,
        "can_block": spec.can_block,
        "rewrites": spec.rewrites or None,
        "matcher": spec.subject or None,
        "fields": spec.fields,
        "names": {dialect: native for dialect, native in _get_native_names(name, dialects).items() if native},
    }


def _get_native_names(name: EventName, dialects: list[str]) -> dict[str, str]:
    return {dialect: DIALECTS[dialect].SPEC.events.get(name, "") for dialect in dialects}


def _describe_rights(name: EventName) -> str:
    spec = EVENTS[name]
    return ", ".join(
        filter(None, ["block" if spec.can_block else "", f"rewrite {spec.rewrites}" if spec.rewrites else ""])
    )


def _list_tools(args: argparse.Namespace) -> int:
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
    return render(args, [_tool_to_json(tool, agents) for tool in tools], *_lay_out_tools(args, tools, agents))


def _lay_out_tools(args: argparse.Namespace, tools: Sequence[str], agents: Sequence[str]) -> Iterator[str | Table]:
    if args.name:
        yield from _explain_tool(args.name, tools, agents)
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


def _explain_tool(name: str, tools: Sequence[str], agents: Sequence[str]) -> Iterator[str | Table]:
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


def _list_dialects(args: argparse.Namespace) -> int:
    specs = [dialect.SPEC for dialect in DIALECTS.values()]
    names = ("title", "timeout", "on_error", "shell", "templates", "matcher")
    value = [
        {
            "dialect": spec.name,
            **{name: getattr(spec, name) for name in names},
            "events": dict(spec.events),
            "tools": dict(spec.tools),
        }
        for spec in specs
    ]
    failing = {"block": "blocks", "continue": "is passed over"}
    rows = [
        [
            *(spec.name, spec.title, str(len(spec.events)), f"{spec.timeout:g} s", failing[spec.on_error]),
            *("shell lines" if spec.shell else "programs", spec.matcher),
        ]
        for spec in specs
    ]
    head = ["dialect", "what it is", "events", "timeout", "a failing hook", "commands", "matchers"]
    return render(args, value, Table(head, rows))


COMMANDS: Final = {
    "events": CliCommand(
        "list the events and what each dialect calls them",
        argument("name", "only what this name means, in any agent's words", nargs="?", default=""),
        argument("--dialect", "only the events this dialect has a name for", type=parse_dialect),
        JSON,
        example="--dialect ollama-cli",
        run=_list_events,
    ),
    "tools": CliCommand(
        "list the tools, what agents call them, and which tool a name means",
        argument("name", "only what this name means, in any agent's words", nargs="?", default=""),
        argument("--agent", "only what this agent calls them", default=""),
        JSON,
        example="Bash",
        run=_list_tools,
    ),
    "dialects": CliCommand("list the hook dialects of this engine", JSON, example="--json", run=_list_dialects),
}
