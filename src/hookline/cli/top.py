"""`hookline top`: what all hooks of all agents do, live in the terminal."""

import argparse
import importlib.util
import os
import sys
from typing import Final

from hookline.cli._command import JSON, PROJECT, CliCommand, argument, parse_span
from hookline.cli._project import load_from_args
from hookline.errors import ConfigError

_DAY: Final = 86_400.0


def run(args: argparse.Namespace) -> int:
    """Show the view until the user quits.

    Raises:
        ConfigError: There is no terminal, or textual is missing.
    """
    if args.json:
        raise ConfigError(
            "hookline top draws on a terminal and has no --json; `hookline trace tail --json` follows calls"
        )
    if importlib.util.find_spec("textual") is None:
        raise ConfigError("hookline top needs textual: pip install 'hookline[tui]'")
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise ConfigError("hookline top needs a terminal; `hookline trace tail` prints calls as they come")
    # a project that cannot be loaded is an error before the screen is taken over
    load_from_args(args)
    from hookline.cli._top_view import TopView  # noqa: PLC0415 - needs textual, which is an extra
    from hookline.ui.terminal import TopApp  # noqa: PLC0415 - as above

    if args.color == "never":
        os.environ["NO_COLOR"] = "1"
    app = TopApp(TopView(args))
    app.run()
    return app.return_code or 0


COMMAND: Final = CliCommand(
    "watch all agents and hooks live in the terminal: calls, blocked ones, slow hooks; approve and disable from there",
    argument("--since", "look back so far (default: 1d)", type=parse_span, default=_DAY, metavar="SPAN"),
    PROJECT,
    JSON,
    example="--since 2h",
    run=run,
)
