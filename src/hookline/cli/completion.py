"""`hookline completion`: what a shell needs to finish what a person types."""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from hookline.cli import _bash, _fish, _zsh
from hookline.cli._grammar import LIVE, Command, Takes, grammar
from hookline.cli._output import say, say_bytes, say_json
from hookline.cli._project import add_json, add_project, opened
from hookline.cli._scaffold import LANGUAGES, TEMPLATES
from hookline.config.schemas import ALL
from hookline.debug.samples import TOOLS
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.event import EventName

HELP: Final = "print the completion script of a shell"
EXAMPLE: Final = "hookline completion bash > ~/.local/share/bash-completion/completions/hookline"

SHELLS: Final[Mapping[str, Callable[[Command], str]]] = {
    "bash": _bash.script,
    "zsh": _zsh.script,
    "fish": _fish.script,
}

# A hook may be called anything, and some shells read again what they complete: others are not offered.
_HARMLESS: Final = re.compile(r"\w[\w.:@+-]*", re.ASCII)


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("shell", choices=list(SHELLS), nargs="?", help="the shell")
    # for the scripts, which ask for what they cannot know beforehand
    parser.add_argument("--words", choices=list(LIVE), help=argparse.SUPPRESS)
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the script, or the words a script asks for."""
    if args.words is not None:
        found = sorted(word for word in _words(args) if _HARMLESS.fullmatch(word))
        if args.json:
            say_json(found)
        else:
            for word in found:
                say(word)
        return 0
    if args.shell is None:
        raise ConfigError(f"name the shell: hookline completion {'|'.join(SHELLS)}")
    from hookline.cli.main import parser  # noqa: PLC0415 - it imports every command, and is not needed for words

    text = SHELLS[args.shell](grammar(parser()))
    if args.json:
        say_json({"shell": args.shell, "script": text})
    else:
        say_bytes(text.encode())
    return 0


def _words(args: argparse.Namespace) -> Iterable[str]:
    if args.words == Takes.HOOKS:
        return {hook.id for hook in opened(args).loaded.hooks}
    return _KNOWN[args.words]


_KNOWN: Final[Mapping[str, Iterable[str]]] = {
    Takes.EVENTS: {name for dialect in DIALECTS.values() for name in (*EventName, *dialect.SPEC.events.values())},
    Takes.DIALECTS: DIALECTS,
    Takes.TOOLS: TOOLS,
    Takes.FORMATS: ALL,
    Takes.LANGUAGES: LANGUAGES,
    Takes.TEMPLATES: TEMPLATES,
}
