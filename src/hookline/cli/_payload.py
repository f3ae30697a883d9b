"""An event as a person gives it on the command line: its fields, and the tool call."""

import argparse
import json
import sys
from pathlib import Path

from hookline import wire
from hookline.errors import ConfigError


def add_payload(parser: argparse.ArgumentParser) -> None:
    """Let the person say what the event is about."""
    parser.add_argument("--data", metavar="JSON|@FILE|-", help="the event's fields: JSON, a file, or - for stdin")
    parser.add_argument("--tool", default="", help="the tool that is called")
    parser.add_argument("--args", metavar="JSON|@FILE|-", help="the tool's arguments")


def payload(args: argparse.Namespace) -> tuple[dict[str, object] | None, dict[str, object] | None]:
    """Read `--data` and `--args`.

    Raises:
        ConfigError: One of them is no JSON object, or both are to be read from stdin.
    """
    if args.data == args.args == "-":
        raise ConfigError("--data and --args cannot both be read from stdin")
    return fields(args.data, "--data"), fields(args.args, "--args")


def fields(given: str | None, option: str) -> dict[str, object] | None:
    """Read what one option gives: JSON, a file, or stdin; None when it was not given.

    Raises:
        ConfigError: It is no JSON object, or cannot be read.
    """
    if given is None:
        return None
    raw = _raw(given, option)
    try:
        document = wire.load(raw)
    except ValueError as problem:
        document = _loosely(raw)
        if document is None:
            raise ConfigError(f"{option} is no JSON: {problem}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{option} must be a JSON object, not {type(document).__name__}")
    return document


def _loosely(raw: bytes) -> object:
    """Read what other programs take for JSON: NaN, and half a character where a text was cut."""
    try:
        return wire.load(wire.dump(json.loads(raw.decode("utf-8", "replace"), parse_constant=lambda _: None)))
    except (ValueError, RecursionError):
        return None


def _raw(given: str, option: str) -> bytes:
    if given == "-":
        if sys.stdin is None:
            raise ConfigError(f"{option} is to be read from stdin, which is closed")
        return sys.stdin.buffer.read()
    if not given.startswith("@"):
        return given.encode("utf-8", "surrogateescape")
    try:
        return Path(given[1:]).read_bytes()
    except OSError as problem:
        raise ConfigError(f"{option}: cannot read {given[1:]}: {problem.strerror}") from None
