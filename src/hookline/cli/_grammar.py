"""The commands as data, read off the parser: what a shell can complete where."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct


class Takes(StrEnum):
    """What stands after an option, or as an argument.

    The last ones are words that `hookline completion --words` lists when they are asked for.
    """

    NOTHING = "nothing"
    TEXT = "text"
    CHOICE = "choice"
    FILE = "file"
    FOLDER = "folder"
    HOOKS = "hooks"
    EVENTS = "events"
    DIALECTS = "dialects"
    TOOLS = "tools"
    FORMATS = "formats"
    LANGUAGES = "languages"
    TEMPLATES = "templates"


LIVE: Final = (
    Takes.HOOKS,
    Takes.EVENTS,
    Takes.DIALECTS,
    Takes.TOOLS,
    Takes.FORMATS,
    Takes.LANGUAGES,
    Takes.TEMPLATES,
)

_BY_NAME: Final[Mapping[str, Takes]] = MappingProxyType(
    {
        "hook": Takes.HOOKS,
        "hooks": Takes.HOOKS,
        "event": Takes.EVENTS,
        "on": Takes.EVENTS,
        "dialect": Takes.DIALECTS,
        "tool": Takes.TOOLS,
        "tools": Takes.TOOLS,
        "lang": Takes.LANGUAGES,
        "template": Takes.TEMPLATES,
    }
)
# arguments whose own name says nothing
_BY_COMMAND: Final[Mapping[tuple[str, str], Takes]] = MappingProxyType(
    {
        ("schema", "name"): Takes.FORMATS,
        ("migrate", "source"): Takes.FORMATS,
        ("migrate", "goal"): Takes.FORMATS,
    }
)


class Value(Struct, frozen=True):
    """What is taken, and the words where they are known beforehand."""

    takes: Takes
    choices: tuple[str, ...] = ()


class Option(Struct, frozen=True, kw_only=True):
    """One option: how it is spelled, and what it takes."""

    flags: tuple[str, ...]
    help: str
    value: Value


class Argument(Struct, frozen=True, kw_only=True):
    """One argument without an option; `repeats` when there may be several."""

    name: str
    value: Value
    repeats: bool = False


class Command(Struct, frozen=True, kw_only=True):
    """One command: the words that call it, and everything that may follow."""

    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    commands: tuple["Command", ...]

    def all(self) -> Iterator["Command"]:
        """Give this command and every one below it."""
        yield self
        for command in self.commands:
            yield from command.all()


def grammar(parser: argparse.ArgumentParser, path: tuple[str, ...] = (), about: str = "") -> Command:
    """Read a parser, with all parsers below it."""
    options: list[Option] = []
    arguments: list[Argument] = []
    commands: list[Command] = []
    # argparse has no public way to ask a parser what it takes; every completion library reads these two names
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            helps = {choice.dest: choice.help or "" for choice in action._get_subactions()}  # noqa: SLF001
            commands += [grammar(one, (*path, name), helps.get(name, "")) for name, one in action.choices.items()]
        elif action.help == argparse.SUPPRESS:
            continue
        elif action.option_strings:
            options.append(
                Option(flags=tuple(action.option_strings), help=_plain(action.help), value=_value(action, path))
            )
        else:
            repeats = action.nargs in {"*", "+"}
            name = str(action.metavar or action.dest)
            arguments.append(Argument(name=name, value=_value(action, path), repeats=repeats))
    return Command(
        path=path,
        help=_plain(about),
        options=tuple(options),
        arguments=tuple(arguments),
        commands=tuple(commands),
    )


def _plain(text: str | None) -> str:
    """Give help without what a shell or argparse would take for more than a letter."""
    return " ".join((text or "").replace("%%", "%").replace("`", "").split())


def _value(action: argparse.Action, path: Iterable[str]) -> Value:
    if action.nargs == 0:
        return Value(Takes.NOTHING)
    if action.choices is not None:
        return Value(Takes.CHOICE, tuple(str(choice) for choice in action.choices))
    named = _BY_COMMAND.get((" ".join(path), action.dest)) or _BY_NAME.get(action.dest)
    if named is not None:
        return Value(named)
    metavar = str(action.metavar or "")
    if metavar == "DIR":
        return Value(Takes.FOLDER)
    return Value(Takes.FILE if "FILE" in metavar else Takes.TEXT)
