"""What a command is: its help, its arguments and its actions, as data for argparse."""

import argparse
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, EventName
from hookline.model.names import known_events, resolve_events
from hookline.text import quote, suggest

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


class ExitCode(IntEnum):
    """How a command ended, besides 0."""

    ERROR = 1
    BLOCKED = 2
    INTERRUPTED = 130
    TERMINATED = 143


class Argument(NamedTuple):
    """An argument or an option, with what `ArgumentParser.add_argument` takes."""

    names: tuple[str, ...]
    options: Mapping[str, Any]


class OneOf(NamedTuple):
    """Options of which one call may have only one."""

    arguments: Sequence[Argument]
    required: bool = False


class CliCommand:
    """A command, or an action of a command such as `list` of `hookline trust`.

    It runs `run`, or one of its actions; the default action if a call names none. The arguments of a command with
    actions are arguments of each of them.
    """

    def __init__(
        self,
        about: str,
        *arguments: Argument | OneOf,
        run: Callable[[argparse.Namespace], int] | None = None,
        example: str = "",
        actions: Mapping[str, "CliCommand"] | None = None,
        default_action: str = "",
    ) -> None:
        self.about = about
        self.default_action = default_action
        self._arguments = arguments
        self._run = run
        self._example = example
        self._actions = actions or {}

    def configure(self, parser: argparse.ArgumentParser, inherited: Sequence[Argument | OneOf] = ()) -> None:
        """Add the arguments and the actions to a parser; `args.act` is what to run."""
        parser.description = self.about
        parser.epilog = f"example:\n  {parser.prog} {self._example}".rstrip()
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        arguments = (*inherited, *self._arguments)
        if self._actions:
            parsers = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
            for name, action in self._actions.items():
                action.configure(parsers.add_parser(name, help=action.about), arguments)
            return
        parser.set_defaults(act=self._run)
        for item in arguments:
            if isinstance(item, OneOf):
                group = parser.add_mutually_exclusive_group(required=item.required)
                for one in item.arguments:
                    group.add_argument(*one.names, **one.options)
            else:
                parser.add_argument(*item.names, **item.options)


def argument(names: str, about: str | None = None, **options: Any) -> Argument:
    """Return an argument; `names` are separated by blanks, such as `-v --verbose`."""
    if not names.startswith("-") and "choices" not in options:
        options.setdefault("metavar", names.upper())
    return Argument(tuple(names.split()), {**options, "help": about})


def flag(names: str, about: str) -> Argument:
    """Return an option without a value."""
    return argument(names, about, action="store_true")


def repeatable(names: str, about: str, **options: Any) -> Argument:
    """Return an option that may be given several times; its value is a list."""
    return argument(names, about, action="append", default=[], **options)


PROJECT: Final = argument("--project", "the project, instead of this folder", type=Path, metavar="DIR")
JSON: Final = flag("--json", "print JSON")
COMMON: Final = (PROJECT, JSON)
DRY_RUN: Final = flag("--dry-run", "show what would change, and change nothing")
# an option of every command
COLOR: Final = argument(
    "--color",
    "use colours always, never, or in a terminal (auto, the default); NO_COLOR and FORCE_COLOR count as well",
    choices=("auto", "always", "never"),
    default="auto",
    metavar="WHEN",
)
# for lists with times
ABSOLUTE: Final = flag("--absolute", "show the time of the clock instead of how long ago it was")


def parse_span(text: str) -> float:
    """Parse a span of time, such as 90s, 15m, 2h or 30d; for argparse."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise argparse.ArgumentTypeError(f'"{text}" is no span of time; write it like 90s, 15m, 2h or 30d')
    return float(found[1]) * _SECONDS[found[2]]


def number(what: str, *, whole: bool = True, least: float = 1, most: float = math.inf) -> Callable[[str], float]:
    """Return a parser of numbers within bounds, for argparse; `what` completes the message "… is no"."""

    def parse(text: str) -> float:
        try:
            found = int(text) if whole and text.isdecimal() else math.nan if whole else float(text)
        except ValueError:
            found = math.nan
        if math.isfinite(found) and least <= found <= most:
            return found
        raise argparse.ArgumentTypeError(f'"{text}" is no {what}')

    return parse


parse_count: Final = number("whole number above 0")
# the smallest number above 0
TINY: Final = math.ulp(0.0)


def parse_moment(text: str) -> float:
    """Parse a moment: a span before now (2h), or a date with or without a time (2026-11-15T10:00); for argparse."""
    if _SPAN.fullmatch(text.strip().lower()):
        return time.time() - parse_span(text)
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        problem = f'"{text}" is neither a span like 2h or 30d nor a date like 2026-11-15 or 2026-11-15T10:00'
        raise argparse.ArgumentTypeError(problem) from None


def parse_events(name: str) -> tuple[EventName, ...]:
    """Return the canonical events of a name in any dialect; some dialects have one name for several.

    Raises:
        ConfigError: There is no such event.
    """
    events = resolve_events(name)
    if events and not events[0].startswith(CUSTOM_PREFIX):
        return tuple(EventName(event) for event in events)
    raise ConfigError(f"there is no event {quote(name)}{suggest(name, known_events())}; `hookline events` lists them")


def parse_event(name: str) -> EventName:
    """Return the one canonical event of a name in any dialect.

    Raises:
        ConfigError: There is no such event, or a dialect's name stands for several.
    """
    events = parse_events(name)
    if len(events) == 1:
        return events[0]
    raise ConfigError(f"{quote(name)} stands for {' and '.join(events)}; name one of them")


def parse_dialect(name: str) -> str:
    """Return the dialect of a name or of a short name of the agent; for `type` of an argument.

    Raises:
        argparse.ArgumentTypeError: There is none.
    """
    words = {word: own for own, dialect in DIALECTS.items() for word in (own, *dialect.SPEC.aliases)}
    if name.lower() in words:
        return words[name.lower()]
    nearest = suggest(name, words)
    known = "" if nearest else f": {', '.join(DIALECTS)}"
    raise argparse.ArgumentTypeError(
        f"there is no dialect {quote(name)}{nearest}; `hookline dialects` lists them{known}"
    )
