"""`hookline events`: every event, what hooks may do there, and what each dialect calls it."""

import argparse
from collections.abc import Iterator
from typing import Final

from hookline.cli._command import JSON, CliCommand, argument
from hookline.cli._output import Table, render
from hookline.cli._project import parse_dialect, parse_events
from hookline.dialects import DIALECTS
from hookline.model.event import EVENTS, EventName
from hookline.model.names import EVENT_NAMES, tools_of_event


def run(args: argparse.Namespace) -> int:
    """Print the table, or explain one name."""
    if args.name:
        events = parse_events(args.name)
        dialects = [args.dialect] if args.dialect else [name for name in DIALECTS if name != "hookline"]
        value = [_event_to_json(name, dialects) for name in events]
        return render(args, value, *_explain(args.name, events, dialects))
    # the canonical names are the first column; agents are too many for one line
    wide = [name for name, one in DIALECTS.items() if name != "hookline" and (args.json or not one.SPEC.is_agent)]
    dialects = [args.dialect] if args.dialect else wide
    shown = [name for name in EventName if not args.dialect or name in DIALECTS[args.dialect].SPEC.events]
    rows = [
        [name, EVENTS[name].when, _describe_rights(name), *_get_native_names(name, dialects).values()] for name in shown
    ]
    value = [_event_to_json(name, dialects) for name in shown]
    return render(args, value, Table(["event", "when", "may", *dialects], rows))


def _explain(word: str, events: tuple[EventName, ...], dialects: list[str]) -> Iterator[str | Table]:
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


COMMAND: Final = CliCommand(
    "list the events and what each dialect calls them",
    argument("name", "only what this name means, in any agent's words", nargs="?", default=""),
    argument("--dialect", "only the events this dialect has a name for", type=parse_dialect),
    JSON,
    example="--dialect ollama-cli",
    run=run,
)
