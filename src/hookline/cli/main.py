"""`hookline`: find the command, run it, and turn errors into exit codes.

0: done; 1: an error in the call or in Hookline; 2: hooks blocked the operation, or `emit` or `git run` could not ask
them because of a bug in Hookline; 130: the user interrupted.
"""

import argparse
import importlib
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn, cast

from hookline.cli._command import COLOR, CliCommand, ExitCode
from hookline.cli._loosening import refuse_agents
from hookline.cli._output import discard_output, print_error, print_json, print_line, set_color
from hookline.errors import EngineError
from hookline.model.installed_entry import PROOF, PROVE
from hookline.text import sanitize
from hookline.version import __version__

logger = logging.getLogger(__name__)

# after these commands, a hook may fail closed that did not exist when Hookline was installed for an agent
_CHANGING_HOOKS: Final = frozenset({"add", "edit", "enable", "init", "migrate", "new", "undo"})

# commands that agents and git start, in an environment that a project may have set, and variables that only tests set
_STARTED_BY_OTHERS: Final = frozenset({"hook", "daemon", "queue", "git", "watch"})
_LAYER_SWITCHES: Final = ("HOOKLINE_NATIVE", "HOOKLINE_WITHOUT")

_LONGEST_LOG: Final = 100_000


# Imported on demand: an agent that emits events does not wait for the editor of TOML files.
COMMANDS: Final = (
    *("init", "new", "list", "show", "add", "edit", "remove", "enable", "disable"),
    *("undo", "rollback", "test", "why", "limits", "state", "check", "trust", "sandbox"),
    *("trace", "replay", "stats", "top", "ui", "queue"),
    *("doctor", "migrate", "share", "hook", "install", "uninstall", "hosts", "daemon", "emit"),
    *("trigger", "agent", "mcp", "git", "watch", "events", "tools", "dialects", "schema", "completion"),
)

# the modules with several commands, in their COMMANDS; any other command has a module of its own, with a COMMAND
_SHARED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("init", "new"), "new"),
    **dict.fromkeys(("list", "show"), "list"),
    **dict.fromkeys(("edit", "enable", "disable", "remove", "undo"), "edit"),
    **dict.fromkeys(("limits", "state"), "state"),
    **dict.fromkeys(("trace", "stats"), "trace"),
    **dict.fromkeys(("top", "ui"), "ui"),
    **dict.fromkeys(("install", "uninstall"), "install"),
    **dict.fromkeys(("test", "trigger"), "test"),
    **dict.fromkeys(("check", "schema"), "check"),
    **dict.fromkeys(("events", "tools", "dialects"), "reference"),
}
_HELP: Final = (["-h"], ["--help"])


class CommandParser(argparse.ArgumentParser):
    """A parser with exit code 1 for usage errors, as 2 means blocked, and without abbreviated options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        """Print a usage error, and exit."""
        self.print_usage(sys.stderr)
        print_error(f"{self.prog}: {message}")
        raise UsageError(message)

    def parse_call(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse a call; unknown words are an error of the command they were given to."""
        parsed, unknown = self.parse_known_args(words)
        if unknown:
            _find_parser(self, parsed).refuse(unknown)
        return parsed

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Report unknown words of a call, with the nearest known options."""
        from hookline.text import quote, suggest  # noqa: PLC0415 - only a usage error needs it

        flags = [flag for action in self._actions for flag in action.option_strings]
        named = [
            f"{quote(word)}{suggest(word.partition('=')[0], flags) if word.startswith('-') else ''}" for word in words
        ]
        what = "options" if all(word.startswith("-") for word in words) else "words"
        self.error(
            f"unknown {what if len(words) > 1 else what[:-1]} {', '.join(named)}; `{self.prog} --help` lists them"
        )


class UsageError(SystemExit):
    """A usage error, which has been printed already."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(1)


def _find_parser(parser: CommandParser, parsed: argparse.Namespace) -> CommandParser:
    """Return the parser of the command, and of its action, that a call names."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to ask
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            name = getattr(parsed, str(action.dest), None)
            if name in action.choices:
                return _find_parser(cast("CommandParser", action.choices[name]), parsed)
    return parser


def import_command(name: str) -> CliCommand:
    """Import one command."""
    module = importlib.import_module(f"hookline.cli.{_SHARED.get(name, name)}")
    return cast("CliCommand", module.COMMANDS[name] if name in _SHARED else module.COMMAND)


def make_parser(names: Iterable[str] = COMMANDS) -> CommandParser:
    """Return the parser of these commands, which are imported for it."""
    top = CommandParser(prog="hookline", description="The hook engine for AI agents.")
    top.add_argument("--version", action="version", version=f"hookline {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in names:
        command = import_command(name)
        command.configure(commands.add_parser(name, help=command.about), (COLOR,))
    return top


def _flush_quietly(code: int) -> int:
    """Flush the streams; otherwise the interpreter would change the exit code if a reader is gone."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            discard_output(stream)
    return code


@contextmanager
def _default_interrupts() -> Iterator[None]:
    """Let SIGINT end the process at once while there is nothing to clean up."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        # the caller ignores or handles SIGINT
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _SafeFormatter(logging.Formatter):
    """Sanitizes log lines, which contain text of others."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the sanitized text of a record."""
        return sanitize(super().format(record), longest=_LONGEST_LOG)


def _print_error_as_json(words: Sequence[str], message: str, code: str) -> None:
    """Print an error as JSON on stdout if `--json` was given; stderr has the line for people anyway."""
    if "--json" not in words:
        return
    _, _, hint = sanitize(message).partition("; ")
    print_json({"error": {"message": sanitize(message), "code": code, "hint": hint or None}})


def _skip_repeats() -> Callable[[logging.LogRecord], bool]:
    """Return a filter against the same message twice in a row: several parts of a command may report one problem."""
    last = ""

    def is_new(record: logging.LogRecord) -> bool:
        nonlocal last
        before, last = last, record.getMessage()
        return last != before

    return is_new


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    words = sys.argv[1:] if argv is None else list(argv)
    if _STARTED_BY_OTHERS.intersection(words[:1]):
        # no project switches off what contains its hooks
        for name in _LAYER_SWITCHES:
            os.environ.pop(name, None)
    if words[:1] == ["hook"] and not {"-h", "--help"} & set(words):
        # an agent calls; its dialect defines the exit codes
        from hookline.cli.hook import answer_agent  # noqa: PLC0415 - see COMMANDS

        return _flush_quietly(answer_agent(words[1:]))
    handler = logging.StreamHandler()
    handler.setFormatter(_SafeFormatter("hookline: %(message)s"))
    handler.addFilter(_skip_repeats())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    return _run(words)


def _dispatch(words: list[str]) -> int:
    """Run the command that a call names; without one, print the overview."""
    if not words:
        from hookline.cli.hosts import print_overview  # noqa: PLC0415 - see COMMANDS

        return print_overview()
    if words[0] not in COMMANDS and not words[0].startswith("-"):
        from hookline.text import quote, suggest  # noqa: PLC0415 - only a usage error needs it

        nearest = suggest(words[0], COMMANDS)
        message = f"there is no command {quote(words[0])}{nearest}; `hookline --help` lists them"
        print_error(f"hookline: {message}")
        _print_error_as_json(words, message, "usage")
        return 1
    with _default_interrupts():
        # the parser of one command is enough, and of none to print the version
        names = [name for name in words[:1] if name in COMMANDS]
        default = import_command(names[0]).default_action if names else ""
        if default and (len(words) == 1 or words[1].startswith("-")) and words[1:2] not in _HELP:
            words = [words[0], default, *words[1:]]
        args = make_parser(names if names or words[0] == "--version" else COMMANDS).parse_call(words)
    refuse_agents(words, os.environ)
    set_color(args.color)
    code: int = args.act(args)
    if code == 0 and args.command in _CHANGING_HOOKS:
        from hookline.cli.install import tighten_entries  # noqa: PLC0415 - only after a change

        tighten_entries(args)
    return code


def _run(words: list[str]) -> int:
    try:
        return _flush_quietly(_dispatch(words))
    except UsageError as problem:
        _print_error_as_json(words, problem.message, "usage")
        raise
    except EngineError as problem:
        print_error(f"hookline: {problem}")
        # ConfigError is config_error
        code = re.sub(r"(?<!^)(?=[A-Z])", "_", type(problem).__name__).lower()
        _print_error_as_json(words, str(problem), code)
        return 1
    except KeyboardInterrupt:
        return _flush_quietly(ExitCode.INTERRUPTED)
    except Exception as problem:
        # the caller takes the exit code for the answer of the hooks
        is_gate = words[:1] == ["emit"] or words[:2] == ["git", "run"]
        if isinstance(problem, BrokenPipeError) and not is_gate:
            # the reader of stdout has closed the pipe
            return _flush_quietly(0)
        logger.exception("this is a bug in hookline; please report it with the lines below")
        if is_gate:
            # fail closed: a bug must not allow what a guard might have denied
            print_error("the hooks could not be asked, so this is blocked; HOOKS_ENABLED=false goes without them")
        return ExitCode.BLOCKED if is_gate else 1


def launch(words: Sequence[str]) -> int:
    """Do what the native launcher does with these arguments: `hookline-hook` where it could not be built.

    An entry in the settings of an agent is run by the Python that it names; 1 if that gives no answer.
    """
    if list(words) == ["--version"]:
        print_line(f"hookline-hook {__version__} python")
        return 0
    installed = [word for word in words if word != PROVE]
    if installed[1:2] != ["hook"]:
        is_by_hand = [word for word in words if word.startswith("-")] in ([], ["--if-broken"])
        if len(words) not in {2, 4} or not is_by_hand:
            print_error(
                "hookline-hook: wanted: hookline-hook [--if-broken block|allow] HOST EVENT, with the event on stdin"
            )
            return 1
        from hookline.cli.hook import answer_agent  # noqa: PLC0415 - a usage error does without

        return answer_agent(words)
    import subprocess  # noqa: PLC0415 - as above

    python, command, *rest = installed
    try:
        line = [python, "-E", "-P", "-m", "hookline", command, PROVE, *rest]
        done = subprocess.run(line, capture_output=True, check=False)
    except OSError:
        return 1
    if done.returncode not in {PROOF, PROOF + ExitCode.BLOCKED}:
        return 1
    # stderr first: some agents stop reading after the answer on stdout
    for stream, raw in ((sys.stderr, done.stderr), (sys.stdout, done.stdout)):
        if raw and stream is not None:
            stream.buffer.write(raw)
            stream.flush()
    return done.returncode if PROVE in words else done.returncode - PROOF
