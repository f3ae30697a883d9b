"""`hookline schema`: JSON Schemas of the configuration formats, for editors."""

import argparse
from pathlib import Path
from typing import Final

import msgspec

from hookline import json_codec
from hookline.cli._command import JSON, CliCommand, argument, flag
from hookline.cli._edit_session import load_known_names
from hookline.cli._output import Table, print_bytes, render
from hookline.config.known_names import quote, suggest
from hookline.config.schemas import ALL, schema
from hookline.errors import ConfigError


def run(args: argparse.Namespace) -> int:
    """Print one schema, or the list of all."""
    if args.list or args.name is None:
        if args.output is not None:
            raise ConfigError("--output: name the format to write, such as `hookline schema native --output FILE`")
        titles = [(name, named.title) for name, named in ALL.items()]
        value = [{"name": name, "title": title} for name, title in titles]
        return render(args, value, Table(["name", "what it describes"], titles))
    if args.name not in ALL:
        raise ConfigError(f"there is no format {quote(args.name)}{suggest(args.name, ALL)}; known are {', '.join(ALL)}")
    raw = msgspec.json.format(json_codec.dump(schema(args.name, load_known_names())), indent=2) + b"\n"
    if args.output is None:
        print_bytes(raw)
        return 0
    try:
        args.output.write_bytes(raw)
    except OSError as problem:
        raise ConfigError(f"{args.output} cannot be written: {problem.strerror}") from None
    return render(args, {"written": str(args.output)}, f"wrote {args.output}")


COMMAND: Final = CliCommand(
    "print the JSON Schema of a configuration format, for editors",
    argument("name", "the format; without it, all of them are listed", nargs="?"),
    flag("--list", "list the formats"),
    argument("--output", "write it to this file", type=Path, metavar="FILE"),
    JSON,
    example="native --output hookline.schema.json",
    run=run,
)
