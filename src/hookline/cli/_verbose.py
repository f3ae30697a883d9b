"""`--verbose` and `--debug`: show on stderr what hooks do while they run."""

import argparse
import os
from typing import Final

from msgspec.structs import replace

from hookline.cli._output import print_error
from hookline.engine.engine import Engine
from hookline.model.event import Event
from hookline.model.verdict import Outcome

# For users who cannot change how an agent calls Hookline. It only ever adds lines on stderr.
VARIABLE: Final = "HOOKLINE_DEBUG"
_NO: Final = frozenset({"", "0", "false", "no", "off"})


def add_verbose_options(parser: argparse.ArgumentParser) -> None:
    """Add `--verbose` and `--debug`."""
    parser.add_argument("-v", "--verbose", action="store_true", help="say on stderr when each hook starts and ends")
    parser.add_argument(
        "--debug",
        action="store_true",
        help=f"also say what each hook was given and gave back, and which were left out (or set {VARIABLE}=1)",
    )


def is_debug(args: argparse.Namespace) -> bool:
    """Return whether everything is to be shown."""
    return bool(args.debug) or os.environ.get(VARIABLE, "").strip().lower() not in _NO


def start_live_view(args: argparse.Namespace, engine: Engine) -> None:
    """Show what hooks do from now on, if the user asked for it."""
    if args.verbose or is_debug(args):
        from hookline.debug.live_view import attach_live_view  # noqa: PLC0415 - agents that emit events do without

        attach_live_view(engine, print_error, raw=is_debug(args))


def add_unmatched(args: argparse.Namespace, engine: Engine, event: Event, outcome: Outcome) -> Outcome:
    """Add hooks that do not match the event to the skipped ones, for `--json` and `--debug`."""
    if not args.json and not is_debug(args):
        return outcome
    known = {verdict.hook for verdict in outcome.verdicts} | {skip.hook.id for skip in outcome.skipped}
    unmatched = (skip for skip in engine.planner.list_unmatched(event) if skip.hook.id not in known)
    return replace(outcome, skipped=(*unmatched, *outcome.skipped))


async def finish_live_view(args: argparse.Namespace, engine: Engine, outcome: Outcome) -> None:
    """Show what is still pending, before the answer is printed."""
    if args.verbose or is_debug(args):
        await engine.drain()
    if is_debug(args):
        from hookline.debug.live_view import describe_skips  # noqa: PLC0415 - see above

        if not outcome.verdicts and not outcome.skipped:
            is_on = engine.settings.enabled and not engine.settings.guards_only
            print_error("no hook wants this event" if is_on else "hooks are switched off")
        for line in describe_skips(outcome.skipped):
            print_error(line)
