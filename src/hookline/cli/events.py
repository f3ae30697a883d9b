"""`hookline events`: every moment, what may be done there, and what each dialect calls it."""

import argparse
from typing import Final

from hookline.cli._output import say_json, table
from hookline.dialects import DIALECTS
from hookline.model.event import EVENTS, EventName

HELP: Final = "list the events and what each dialect calls them"
EXAMPLE: Final = "hookline events --dialect ollama-cli"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("--dialect", choices=sorted(DIALECTS), help="only the events this dialect has a name for")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    # our own names are the canonical ones, which stand first anyway; agents are too many for one line
    wide = [name for name, one in DIALECTS.items() if name != "hookline" and (args.json or not one.SPEC.is_agent)]
    chosen = [args.dialect] if args.dialect else wide
    shown = [name for name in EventName if not args.dialect or name in DIALECTS[args.dialect].SPEC.events]
    if args.json:
        say_json([_described(name, chosen) for name in shown])
        return 0
    head = ["event", "when", "may", *chosen]
    table(head, [[name, EVENTS[name].when, _may(name), *_natives(name, chosen).values()] for name in shown])
    return 0


def _described(name: EventName, dialects: list[str]) -> dict[str, object]:
    spec = EVENTS[name]
    return {
        "event": name,
        "when": spec.when,
        "can_block": spec.can_block,
        "rewrites": spec.rewrites or None,
        "matcher": spec.subject or None,
        "fields": spec.fields,
        "names": {dialect: native for dialect, native in _natives(name, dialects).items() if native},
    }


def _natives(name: EventName, dialects: list[str]) -> dict[str, str]:
    return {dialect: DIALECTS[dialect].SPEC.events.get(name, "") for dialect in dialects}


def _may(name: EventName) -> str:
    spec = EVENTS[name]
    return ", ".join(
        filter(None, ["block" if spec.can_block else "", f"rewrite {spec.rewrites}" if spec.rewrites else ""])
    )
