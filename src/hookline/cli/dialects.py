"""`hookline dialects`: the hook languages this engine speaks."""

import argparse
from typing import Final

from hookline.cli._output import say_json, table
from hookline.dialects import DIALECTS
from hookline.model.dialect import DialectSpec

HELP: Final = "list the hook languages this engine speaks"
EXAMPLE: Final = "hookline dialects --json"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    specs = [dialect.SPEC for dialect in DIALECTS.values()]
    if args.json:
        say_json([_described(spec) for spec in specs])
        return 0
    head = ["dialect", "what it is", "events", "timeout", "a failing hook", "commands", "matchers"]
    table(head, [_row(spec) for spec in specs])
    return 0


def _row(spec: DialectSpec) -> list[str]:
    failing = {"block": "blocks", "continue": "is passed over"}[spec.on_error]
    commands = "shell lines" if spec.shell else "programs"
    return [
        spec.name,
        spec.title,
        str(len(spec.events)),
        f"{spec.timeout:g} s",
        failing,
        commands,
        spec.matcher,
    ]


def _described(spec: DialectSpec) -> dict[str, object]:
    return {
        "dialect": spec.name,
        "title": spec.title,
        "events": dict(spec.events),
        "tools": dict(spec.tools),
        "timeout": spec.timeout,
        "on_error": spec.on_error,
        "shell": spec.shell,
        "templates": spec.templates,
        "matcher": spec.matcher,
    }
