"""`hookline ui` and `hookline top`: what all hooks of all agents do, live, on a page in the browser or in the terminal."""

import argparse
import asyncio
import importlib.util
import os
import signal
import sys
from contextlib import suppress
from typing import Final

from hookline.cli._command import COMMON, JSON, PROJECT, CliCommand, argument, flag, number, parse_span
from hookline.cli._loosening import find_refused_agent
from hookline.cli._output import print_bytes, print_error, print_line, to_json_line
from hookline.cli._project import find_root, load_from_args
from hookline.cli._run_hooks import run_until_terminated
from hookline.errors import ConfigError

_HIGHEST_PORT: Final = 65_535


async def _serve(args: argparse.Namespace) -> int:
    """Serve the page until the user ends it."""
    from hookline.ui.server import UiServer, bind  # noqa: PLC0415 - starlette and uvicorn take 0.1 s to load

    project = find_root(args)
    agent = find_refused_agent(os.environ)
    reason = (
        f"{agent} started this page, so it only shows: approving, disabling and running hooks would loosen what guards "
        "that agent. Run `hookline ui` in a terminal of your own"
        if agent
        else ""
    )
    server = UiServer(project, read_only_reason=reason)
    ended = asyncio.Event()
    with suppress(NotImplementedError):
        # a second SIGINT must not interrupt the clean-up
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, ended.set)
    try:
        await server.start(bind(args.port))
        if args.json:
            print_bytes(to_json_line({"url": server.url, "read_only": bool(agent)}))
        else:
            # not masked: the user needs the token
            print_line(f"open {server.url}", masked=False)
            print_line("The link works once, in one browser. Ctrl-C ends the page.")
        if agent and not args.json:
            print_error(f"read-only: {agent} runs this command")
        if not args.no_open and not os.environ.get("CI") and sys.stdout is not None and sys.stdout.isatty():
            import webbrowser  # noqa: PLC0415 - only a user at a terminal needs it

            await asyncio.to_thread(webbrowser.open, server.url)
        await ended.wait()
    finally:
        await server.close()
    return 0


_DAY: Final = 86_400.0


def _top(args: argparse.Namespace) -> int:
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


COMMANDS: Final = {
    "ui": CliCommand(
        "show what all hooks of all agents do, live, on a page in the browser, until it is stopped",
        argument(
            "--port",
            "the port on this machine (4600, or a free one; 0: a free one)",
            type=number(f"port; wanted 0 to {_HIGHEST_PORT}", least=0, most=_HIGHEST_PORT),
            metavar="N",
        ),
        flag("--no-open", "only print the link, and open no browser"),
        *COMMON,
        example="--no-open",
        run=lambda args: run_until_terminated(_serve(args)),
    ),
    "top": CliCommand(
        "watch all agents and hooks live in the terminal: calls, blocked ones, slow hooks; approve and disable from there",
        argument("--since", "look back so far (default: 1d)", type=parse_span, default=_DAY, metavar="SPAN"),
        PROJECT,
        JSON,
        example="--since 2h",
        run=_top,
    ),
}
