"""`hookline completion`: print the completion script of a shell."""

import argparse
import re
from collections.abc import Iterable, Mapping
from typing import Final

from hookline.cli._completion_scripts import LIVE, SHELLS, Takes, read_parser
from hookline.cli._output import print_bytes, print_json, render
from hookline.cli._project import add_json_option, add_project_option, load_from_args
from hookline.cli._templates import LANGUAGES, TEMPLATES
from hookline.config.schemas import ALL
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.names import known_events, known_tools

HELP: Final = "print the completion script of a shell"
EXAMPLE: Final = "hookline completion bash > ~/.local/share/bash-completion/completions/hookline"

# Some shells evaluate completed words, and a hook may have any name: other names are not offered.
_HARMLESS: Final = re.compile(r"\w[\w.:@+-]*", re.ASCII)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=list(SHELLS), nargs="?", help="the shell")
    # called by the scripts for values that change, such as the names of hooks
    parser.add_argument("--words", choices=list(LIVE), help=argparse.SUPPRESS)
    add_project_option(parser)
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print the script, or the words a script asks for."""
    if args.words is not None:
        words = sorted(word for word in _list_words(args) if _HARMLESS.fullmatch(word))
        return render(words, *words, as_json=args.json)
    if args.shell is None:
        raise ConfigError(f"name the shell: hookline completion {'|'.join(SHELLS)}")
    from hookline.cli.main import make_parser  # noqa: PLC0415 - an import cycle

    text = SHELLS[args.shell](read_parser(make_parser()))
    if args.json:
        print_json({"shell": args.shell, "script": text})
    else:
        print_bytes(text.encode())
    return 0


def _list_words(args: argparse.Namespace) -> Iterable[str]:
    if args.words == Takes.HOOKS:
        return {hook.id for hook in load_from_args(args).hooks}
    return _KNOWN[args.words]


_KNOWN: Final[Mapping[str, Iterable[str]]] = {
    Takes.EVENTS: known_events(),
    Takes.DIALECTS: DIALECTS,
    Takes.TOOLS: known_tools().values(),
    Takes.FORMATS: ALL,
    Takes.LANGUAGES: LANGUAGES,
    Takes.TEMPLATES: TEMPLATES,
}
