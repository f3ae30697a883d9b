"""`hookline schema`: JSON Schemas of the configuration formats, for editors, and of events and answers, for hooks."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from hookline import json_codec
from hookline.cli._command import JSON, CliCommand, argument, flag
from hookline.cli._edit_session import load_known_names
from hookline.cli._output import Table, print_bytes, render
from hookline.cli._project import parse_dialect, parse_event
from hookline.config.schemas import ALL, schema
from hookline.debug.message_schemas import answer_schema, event_schema
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.model.hook import OWN_DIALECT
from hookline.text import quote, suggest
from hookline.wiring import native_names


def run(args: argparse.Namespace) -> int:
    """Print one schema, or the list of all.

    Raises:
        ConfigError: There is no such format, event or dialect, or the file cannot be written.
    """
    if args.list or args.name is None:
        if args.output is not None:
            raise ConfigError("--output: name the format to write, such as `hookline schema native --output FILE`")
        titles = [(name, named.title) for name, named in ALL.items()]
        titles += [
            ("event", "What a hook reads: `hookline schema event EVENT --dialect DIALECT`"),
            ("answer", "What a hook prints: `hookline schema answer EVENT --dialect DIALECT`"),
        ]
        value = [{"name": name, "title": title} for name, title in titles]
        return render(args, value, Table(["name", "what it describes"], titles))
    raw = msgspec.json.format(json_codec.dump(_make_schema(args)), indent=2) + b"\n"
    if args.output is None:
        print_bytes(raw)
        return 0
    try:
        args.output.write_bytes(raw)
    except OSError as problem:
        raise ConfigError(f"{args.output} cannot be written: {problem.strerror}") from None
    return render(args, {"written": str(args.output)}, f"wrote {args.output}")


def _make_schema(args: argparse.Namespace) -> Mapping[str, object]:
    if args.name in _MESSAGES:
        return _describe_message(args.name, args.event, args.dialect)
    if args.name not in ALL:
        known = (*ALL, *_MESSAGES)
        raise ConfigError(
            f"there is no format {quote(args.name)}{suggest(args.name, known)}; known are {', '.join(known)}"
        )
    if args.event is not None or args.dialect is not None:
        raise ConfigError("an event and --dialect go with `hookline schema event` and `hookline schema answer` only")
    return schema(args.name, load_known_names())


def _describe_message(kind: str, name: str | None, dialect: str | None) -> Mapping[str, object]:
    """Return the schema of an event or an answer; an event may have the dialect's own name."""
    if name is None:
        raise ConfigError(f"name the event: `hookline schema {kind} before_tool`; `hookline events` lists them")
    spec = DIALECTS[dialect or OWN_DIALECT].SPEC
    own = native_names().get(spec.name, {}).get(name, ())
    native = name if own or name in spec.abilities else ""
    event = EventName(own[0]) if own else EventName.CUSTOM if native else parse_event(name)
    if spec.is_agent and not native and event not in spec.events:
        raise ConfigError(f"{spec.title} has no event {event}; it has {', '.join(spec.events)}")
    return _MESSAGES[kind](event, spec.name, "" if native == spec.events.get(event) else native)


_MESSAGES: Final = {"event": event_schema, "answer": answer_schema}

COMMAND: Final = CliCommand(
    "print the JSON Schema of a configuration format, for editors, or of an event or its answer, for hooks",
    argument("name", "the format, `event` or `answer`; without it, all formats are listed", nargs="?"),
    argument("event", "the event, by its name in any dialect, for `event` and `answer`", nargs="?"),
    argument("--dialect", "whose event or answer; Hookline's own without it", type=parse_dialect, metavar="DIALECT"),
    flag("--list", "list the formats"),
    argument("--output", "write it to this file", type=Path, metavar="FILE"),
    JSON,
    example="event before_tool --dialect claude-code",
    run=run,
)
