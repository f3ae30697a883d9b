"""`hookline dialects`: the hook dialects of this engine."""

import argparse
from typing import Final

from hookline.cli._command import JSON, CliCommand
from hookline.cli._output import Table, render
from hookline.dialects import DIALECTS


def run(args: argparse.Namespace) -> int:
    """Print the table."""
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


COMMAND: Final = CliCommand(
    "list the hook dialects of this engine",
    JSON,
    example="--json",
    run=run,
)
