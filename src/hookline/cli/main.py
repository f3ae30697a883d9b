"""`hookline`: find the command, run it, turn what went wrong into an exit code.

0 is done, 1 an error of ours or in the call, 2 only ever means that hooks blocked the operation, or that `emit` or
`git run` could not ask them because of a bug of ours, 130 that the person interrupted.
"""

import argparse
import importlib
import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Final, NoReturn, Protocol, cast

from hookline.cli._output import complain, printable
from hookline.errors import EngineError
from hookline.version import __version__

logger = logging.getLogger(__name__)

_BLOCKED: Final = 2

_LONGEST_LOG: Final = 100_000


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


# Each is imported when it is called for: an agent that emits events does not wait for the editor of TOML files.
COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "init": "hookline.cli.init",
        "new": "hookline.cli.new",
        "list": "hookline.cli.list",
        "show": "hookline.cli.show",
        "add": "hookline.cli.add",
        "edit": "hookline.cli.edit",
        "remove": "hookline.cli.remove",
        "enable": "hookline.cli.enable",
        "disable": "hookline.cli.disable",
        "undo": "hookline.cli.undo",
        "test": "hookline.cli.test",
        "why": "hookline.cli.why",
        "limits": "hookline.cli.limits",
        "check": "hookline.cli.check",
        "trust": "hookline.cli.trust",
        "trace": "hookline.cli.trace",
        "stats": "hookline.cli.stats",
        "queue": "hookline.cli.queue",
        "doctor": "hookline.cli.doctor",
        "migrate": "hookline.cli.migrate",
        "share": "hookline.cli.share",
        "hook": "hookline.cli.hook",
        "install": "hookline.cli.install",
        "uninstall": "hookline.cli.uninstall",
        "hosts": "hookline.cli.hosts",
        "daemon": "hookline.cli.daemon",
        "emit": "hookline.cli.emit",
        "trigger": "hookline.cli.trigger",
        "git": "hookline.cli.git",
        "watch": "hookline.cli.watch",
        "events": "hookline.cli.events",
        "dialects": "hookline.cli.dialects",
        "schema": "hookline.cli.schema",
        "completion": "hookline.cli.completion",
    }
)


class Parser(argparse.ArgumentParser):
    """A parser whose usage errors do not look like a blocked operation."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the call, and end."""
        self.print_usage(sys.stderr)
        complain(f"{self.prog}: {message}")
        raise SystemExit(1)


def command(name: str) -> Command:
    """Import one command."""
    return cast("Command", importlib.import_module(COMMANDS[name]))


def parser(only: str = "") -> argparse.ArgumentParser:
    """Make the parser of all commands, or of one where the others are not needed."""
    top = Parser(prog="hookline", description="The hook engine for AI agents.")
    top.add_argument("--version", action="version", version=f"hookline {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in [only] if only else COMMANDS:
        chosen = command(name)
        one = commands.add_parser(
            name,
            help=chosen.HELP,
            description=chosen.HELP,
            epilog=f"example:\n  {chosen.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        chosen.configure(one)
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


@contextmanager
def _interrupt_ends_us() -> Iterator[None]:
    """Let an interrupt end the program at once: there is nothing yet to go on with, nor to clean up."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        # somebody else decides what an interrupt means
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Shown(logging.Formatter):
    """Log lines as they may be shown: names of others are in them, too."""

    def format(self, record: logging.LogRecord) -> str:
        """Give one line, or several with what a bug left behind."""
        return printable(super().format(record), longest=_LONGEST_LOG)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Shown("hookline: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _unknown(name: str) -> int:
    from hookline.config.vocabulary import hint, quoted  # noqa: PLC0415 - only a slip needs it

    complain(f"hookline: there is no command {quoted(name)}{hint(name, COMMANDS)}; `hookline --help` lists them")
    return 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["hook"] and not {"-h", "--help"} & set(words):
        # an agent calls, whose language has exit codes of its own
        from hookline.cli.hook import answer_agent  # noqa: PLC0415 - as every command

        return _left_quietly(answer_agent(words[1:]))
    _log_to_stderr()
    return _done(words)


def _done(words: list[str]) -> int:
    if words and words[0] not in COMMANDS and not words[0].startswith("-"):
        return _unknown(words[0])
    try:
        with _interrupt_ends_us():
            args = parser(words[0] if words and words[0] in COMMANDS else "").parse_args(words)
        return _left_quietly(command(args.command).run(args))
    except EngineError as problem:
        complain(f"hookline: {problem}")
        return 1
    except KeyboardInterrupt:
        return _left_quietly(130)
    except Exception as problem:
        # others wait for its answer, and take whatever it is for the hooks' own
        is_gate = words[:1] == ["emit"] or words[:2] == ["git", "run"]
        if isinstance(problem, BrokenPipeError) and not is_gate:
            # whoever read what we print has had enough
            return _left_quietly(0)
        logger.exception("this is a bug in hookline; please report it with the lines below")
        if is_gate:
            # nobody can say whether a guard would have objected: a bug of ours must not be its yes
            complain("the hooks could not be asked, so this is blocked; HOOKS_ENABLED=false goes without them")
        return _BLOCKED if is_gate else 1
