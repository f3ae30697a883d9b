"""`hookline`: find the command, run it, turn what went wrong into an exit code.

0 is done, 1 an error of ours or in the call, 2 only ever means that hooks blocked the operation, 130 that
the person interrupted.
"""

import argparse
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Final, NoReturn, Protocol

from hookline.cli import dialects, emit, events
from hookline.cli._output import complain
from hookline.errors import EngineError
from hookline.version import __version__

logger = logging.getLogger(__name__)


class Command(Protocol):
    """A command is a module: a line of help, its arguments, and what it does."""

    @property
    def HELP(self) -> str:  # noqa: N802 - a module's constant
        """What the command does, in one line."""

    @property
    def EXAMPLE(self) -> str:  # noqa: N802 - a module's constant
        """A call that works."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Say which arguments it takes."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it, and return the exit code."""


COMMANDS: Final[Mapping[str, Command]] = MappingProxyType({"emit": emit, "events": events, "dialects": dialects})


class _Parser(argparse.ArgumentParser):
    """A parser whose usage errors do not look like a blocked operation."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        complain(f"{self.prog}: {message}")
        raise SystemExit(1)


def parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    top = _Parser(prog="hookline", description="The hook engine for AI agents.")
    top.add_argument("--version", action="version", version=f"hookline {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        one = commands.add_parser(
            name,
            help=command.HELP,
            description=command.HELP,
            epilog=f"example:\n  {command.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(one)
    return top


def _left_quietly(code: int) -> int:
    """Keep the interpreter from changing the exit code because it could not flush what nobody reads."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    logging.basicConfig(level=logging.WARNING, format="hookline: %(message)s")
    args = parser().parse_args(argv)
    try:
        return _left_quietly(COMMANDS[args.command].run(args))
    except EngineError as problem:
        complain(f"hookline: {problem}")
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception:
        logger.exception("this is a bug in hookline; please report it with the lines below")
        return 1
