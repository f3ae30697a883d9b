"""`hookline schema`: JSON Schemas of the formats, for editors."""

import argparse
from pathlib import Path
from typing import Final

import msgspec

from hookline import wire
from hookline.cli._output import say, say_bytes, say_json, table
from hookline.cli._project import add_json
from hookline.config.schemas import ALL, schema
from hookline.config.vocabulary import Vocabulary, hint, quoted
from hookline.errors import ConfigError
from hookline.wiring import native_names, native_tools, shell_dialects

HELP: Final = "print the JSON Schema of a configuration format, for editors"
EXAMPLE: Final = "hookline schema native --output hookline.schema.json"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the format; without it, all of them are listed")
    parser.add_argument("--list", action="store_true", help="list the formats")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it to this file")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print one schema, or the list of all."""
    if args.list or args.name is None:
        if args.output is not None:
            raise ConfigError("--output: name the format to write, such as `hookline schema native --output FILE`")
        _list(as_json=args.json)
        return 0
    if args.name not in ALL:
        raise ConfigError(f"there is no format {quoted(args.name)}{hint(args.name, ALL)}; known are {', '.join(ALL)}")
    vocabulary = Vocabulary(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects())
    raw = msgspec.json.format(wire.dump(schema(args.name, vocabulary)), indent=2) + b"\n"
    if args.output is None:
        say_bytes(raw)
    else:
        _write(args.output, raw, as_json=args.json)
    return 0


def _list(*, as_json: bool) -> None:
    if as_json:
        say_json([{"name": name, "title": named.title} for name, named in ALL.items()])
    else:
        table(["name", "what it describes"], [[name, named.title] for name, named in ALL.items()])


def _write(path: Path, raw: bytes, *, as_json: bool) -> None:
    try:
        path.write_bytes(raw)
    except OSError as problem:
        raise ConfigError(f"{path} cannot be written: {problem.strerror}") from None
    if as_json:
        say_json({"written": str(path)})
    else:
        say(f"wrote {path}")
